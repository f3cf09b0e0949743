"""Every interleaving within a bound keeps every promise, and the search would see a broken one."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import pytest

from cronce.protocol.records import Liveness, RunRecord
from cronce.vocabulary.policy import ConcurrencyPolicy
from cronce.vocabulary.states import Status
from tests.simulation import processes
from tests.simulation.exhaustive import FINE, QUIET, Scenario, default_plan, group_plan, quick_plan, wide_plan
from tests.simulation.interleavings import Bound
from tests.simulation.rules import BrokenRuleError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime, timedelta


@pytest.mark.parametrize(("scenario", "bound"), list(quick_plan()), ids=str)
def test_no_interleaving_breaks_a_promise(scenario: Scenario, bound: Bound) -> None:
    """Two claimants and an observer, with a fault at every step where there is room for one."""
    figures = scenario.search(bound).explore()

    assert figures.schedules > figures.closings > 0


@pytest.mark.prove
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("scenario", "bound"), [*default_plan(), *group_plan(), *wide_plan()], ids=str)
def test_no_interleaving_breaks_a_promise_within_the_wide_bound(
    scenario: Scenario, bound: Bound, record_property: Callable[[str, object], None]
) -> None:
    """The longer scenarios, exclusion groups, then each policy with each observer."""
    figures = scenario.search(bound).explore()

    for name, covered in (("scenarios", 1), ("states", figures.states), ("schedules", figures.schedules)):
        record_property(name, covered)


@pytest.mark.slow
@pytest.mark.parametrize("same", [True, False])
def test_remembering_a_process_by_its_frames_loses_nothing(monkeypatch: pytest.MonkeyPatch, *, same: bool) -> None:
    """Told apart by their whole history instead, the processes reach the very same rows."""
    scenario = Scenario(concurrency=ConcurrencyPolicy.FORBID, same=same)
    by_frames = scenario.search(QUIET)
    by_frames.explore()
    numbers = count()
    monkeypatch.setattr(processes, "_frames", lambda _generator: next(numbers))
    by_history = scenario.search(QUIET)
    by_history.explore()

    assert by_frames.reached() == by_history.reached()


def test_both_ends_of_a_race_are_reached() -> None:
    """The search sees what it should: take-overs, losses, skipped runs and successes."""
    search = Scenario(concurrency=ConcurrencyPolicy.FORBID, same=False).search(QUIET)
    search.explore()

    assert search.statuses() == {Status.RUNNING, Status.SUCCEEDED, Status.FAILED, Status.SKIPPED}


def test_a_broken_promise_is_told_as_the_shortest_way_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the lease in the decision, the second claimant takes over at once; the ladder shows how."""

    def expired(run: RunRecord, _now: datetime, **_: timedelta) -> Liveness:
        return Liveness.EXPIRED if run.status is Status.RUNNING else Liveness.ENDED

    monkeypatch.setattr(RunRecord, "liveness", expired)
    search = Scenario(concurrency=ConcurrencyPolicy.ALLOW, same=True).search(FINE)

    with pytest.raises(BrokenRuleError) as broken:
        search.explore()

    lines = str(broken.value).splitlines()
    assert lines[0].startswith("a trusted claim stands in its row")
    assert len(lines) <= 10
    assert "b          writes" in lines[-1]
