"""A seeded fleet keeps every promise, is the same each time, and would tell a broken one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from cronce.protocol import overlap
from cronce.protocol.records import GroupSlotRecord, Liveness, RunRecord
from cronce.vocabulary.states import Status
from tests.simulation.fleet import Fleet, changing_jobs, grouped_jobs
from tests.simulation.rules import BrokenRuleError
from tests.support.quick import quick

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime, timedelta

    from cronce.protocol.operations import Steps


@pytest.mark.parametrize("seed", quick(range(1, 5), only=[1, 2]))
def test_half_a_day_of_a_fleet_breaks_no_promise(seed: int) -> None:
    """Hundreds of tasks that crash, pause and lose their way to the table; each tick ends in one state."""
    fleet = Fleet(seed, days=0.5)

    fleet.run()

    assert fleet.counts["tasks"] > fleet.counts["ticks"] > 200
    assert min(fleet.counts[what] for what in ("crashes", "pauses", "stops", "leases lost", "woken", "unavailable")) > 0
    assert min(fleet.counts[what] for what in ("forged", "unreadable")) > 0


@pytest.mark.prove
@pytest.mark.parametrize("seed", range(1, 21))
def test_a_day_of_a_fleet_breaks_no_promise(seed: int, record_property: Callable[[str, object], None]) -> None:
    """The same, longer."""
    fleet = Fleet(seed, days=1.0)

    fleet.run()

    covered = {"fleets": 1, "virtual days": 1, "ticks": fleet.counts["ticks"], "tasks": fleet.counts["tasks"]}
    for name, number in covered.items():
        record_property(name, number)


def test_the_same_seed_is_the_same_fleet() -> None:
    """Otherwise a failure could not be replayed."""
    first, again, other = Fleet(7, days=0.1), Fleet(7, days=0.1), Fleet(8, days=0.1)
    for fleet in (first, again, other):
        fleet.run()

    assert first.history() == again.history()
    assert first.history() != other.history()


def test_a_broken_promise_is_told_with_its_seed_and_what_happened(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the lease in the decision, duplicates take over living runs."""

    def expired(run: RunRecord, _now: datetime, **_: timedelta) -> Liveness:
        return Liveness.EXPIRED if run.status is Status.RUNNING else Liveness.ENDED

    monkeypatch.setattr(RunRecord, "liveness", expired)

    with pytest.raises(BrokenRuleError, match=r"^seed 3, 29 .*") as broken:
        Fleet(3, days=0.5).run()

    assert re.search(r"^  29 .* RUNNING attempt \d of task-\d+", str(broken.value), re.MULTILINE)


@pytest.mark.parametrize("seed", quick([1, 2], only=[1]))
def test_deployments_that_change_the_policy_break_no_promise(seed: int) -> None:
    """From each policy to others and back, while runs are alive; rows that cannot be read are among the others."""
    fleet = Fleet(seed, days=0.5, jobs=changing_jobs())
    fleet.run()
    assert fleet.counts["completed"] > 20


@pytest.mark.parametrize(
    "seed", [1, pytest.param(2, marks=pytest.mark.prove), pytest.param(3, marks=pytest.mark.prove)]
)
def test_jobs_of_a_group_never_overlap_in_a_fleet(seed: int) -> None:
    """They are due at the same moments, crash, freeze and lose their way to the table; all of them get their turn."""
    fleet = Fleet(seed, days=0.5, jobs=grouped_jobs())
    fleet.run()
    assert fleet.counts["completed"] > 20
    assert fleet.counts["leases lost"] > 0


def test_a_fleet_whose_groups_have_no_lease_overlaps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fleet sees what the lease is for."""
    monkeypatch.setattr(GroupSlotRecord, "liveness", lambda *_, **__: Liveness.EXPIRED)
    with pytest.raises(BrokenRuleError, match="group"):
        Fleet(1, days=0.5, jobs=grouped_jobs()).run()


def test_without_the_look_for_runs_of_allow_a_change_of_the_policy_breaks_a_promise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The fleet sees what the rule is for."""

    def nobody(_job: str) -> Steps[tuple[RunRecord, ...]]:
        yield from ()
        return ()

    monkeypatch.setattr(overlap, "get_running", nobody)

    with pytest.raises(BrokenRuleError, match="one live run a job"):
        Fleet(1, days=0.5, jobs=changing_jobs()).run()
