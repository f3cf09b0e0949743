"""The pytest plugin of `make prove`: prints what its tests covered, in one line at the end.

A test reports what it covered with `record_property`: numbers of one name are added up, texts are printed.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

FIGURES = (
    "scenarios",
    "states",
    "schedules",
    "fleets",
    "virtual days",
    "ticks",
    "tasks",
    "mutants caught",
    "seconds of chaos",
    "clock steps",
    "programs",
    "blows",
    "attempts at work",
)


def pytest_configure(config: pytest.Config) -> None:
    """Register in the process that gets all reports."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Proof(config), "proof")


class Proof:
    """Adds up what was covered."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._began = time.monotonic()
        self._covered: Counter[str] = Counter()
        self._said: list[str] = []
        self._failed = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the figures of a test."""
        self._failed += report.failed
        if report.when != "call":
            return
        for name, value in report.user_properties:
            if isinstance(value, str):
                self._said.append(f"{name}: {value}")
            elif isinstance(value, int):
                self._covered[name] += value

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        """Print the texts."""
        for line in sorted(self._said):
            terminalreporter.write_line(line)

    def pytest_unconfigure(self) -> None:
        """Print the one line."""
        figures = [f"{_short(self._covered[name])} {name}" for name in FIGURES if self._covered[name]]
        minutes = (time.monotonic() - self._began) / 60
        reporter: TerminalReporter | None = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter:
            reporter.write_line(f"prove: {', '.join(figures)}; {self._failed} failed; {minutes:.0f} min")


def _short(number: int) -> str:
    return f"{number:,}" if number < 10**9 else f"{float(number):.1e}"
