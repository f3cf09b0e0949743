"""Runs, skips or fails the tests of a lane, and reports at the end of the session which of these happened.

A test joins a lane by `@pytest.mark.lane("dynamodb-local")` (also on a `pytest.param`), or by using
the lane's fixture. Where a lane cannot run, its tests are skipped with the reason; with `CI=true` or
`CRONCE_REQUIRE_LANES=1` they fail.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.support.lanes import lanes_are_required

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.support.lanes import Lane


class LanePlugin:
    """The lanes of one session; works under pytest-xdist, whose workers only send reports."""

    def __init__(self, lanes: Sequence[Lane]) -> None:
        self._lanes = {lane.name: lane for lane in lanes}
        self._ran: Counter[str] = Counter()
        self._missing: dict[str, str] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Skip or fail the test if one of its lanes cannot run."""
        for lane in self._lanes_of(item):
            item.user_properties.append(("lane", lane.name))
            reason = lane.missing()
            if reason is None:
                continue
            item.user_properties.append(("lane-missing", (lane.name, reason)))
            message = f"lane {lane.name} cannot run: {reason}"
            if lanes_are_required():
                pytest.fail(message, pytrace=False)
            pytest.skip(message)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count what ran; the reports of all workers arrive here."""
        for key, value in report.user_properties:
            if key == "lane" and report.when == "call" and isinstance(value, str):
                self._ran[value] += 1
            if key == "lane-missing" and isinstance(value, (list, tuple)):
                name, reason = value
                self._missing[name] = reason

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Report which lanes ran."""
        for name in self._lanes:
            if name in self._missing:
                terminalreporter.write_line(f"lane {name}: did NOT run: {self._missing[name]}", red=True, bold=True)
            elif self._ran[name]:
                terminalreporter.write_line(f"lane {name}: ran {self._ran[name]} tests")
            else:
                terminalreporter.write_line(f"lane {name}: no test of it was selected", yellow=True)

    def _lanes_of(self, item: pytest.Item) -> list[Lane]:
        marked = {mark.args[0] for mark in item.iter_markers("lane")}
        fixtures = getattr(item, "fixturenames", ())
        if unknown := marked - self._lanes.keys():
            pytest.fail(f"unknown lane {unknown}; there are {list(self._lanes)}", pytrace=False)
        return [lane for lane in self._lanes.values() if lane.name in marked or lane.fixture in fixtures]
