"""A fleet with the real recorder and watchdog keeps every promise, and the checks catch a machine that fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cronce import Policy
from cronce.protocol.records import RunRecord
from cronce.protocol.retrying import Leave
from cronce.watch import look_at_job, lost_runs
from cronce.watch.due_ticks import TickVerdict
from cronce_lambdas import recorder
from tests.simulation.machines import Machines
from tests.simulation.rules import BrokenRuleError
from tests.support.quick import quick

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.simulation.fleet import Job
    from tests.simulation.kernel import Proc

SEEDS = (2, 3)
DAYS = 0.2


@pytest.mark.parametrize("seed", quick(SEEDS, only=SEEDS[:1]))
def test_hours_of_a_fleet_with_its_machines_break_no_promise(seed: int) -> None:
    """Missed ticks are found and caught up, crashed and failed runs are started again; each tick ends in one state."""
    fleet = Machines(seed, days=DAYS)

    fleet.run()

    needed = {"dead letters", "never ran", "recorder: relaunched", "watchdog: missed", "launched: retry"}
    needed |= {"deployments", "moved", "renamed", "forged", "unreadable", "refused: old revision"}
    assert min(fleet.counts[what] for what in needed) > 0
    assert fleet.counts["SUCCEEDED"] > 0.8 * fleet.counts["ticks"]


@pytest.mark.prove
@pytest.mark.parametrize("seed", range(1, 11))
def test_a_day_with_its_machines_breaks_no_promise(seed: int, record_property: Callable[[str, object], None]) -> None:
    """The same, longer."""
    fleet = Machines(seed, days=1.0)

    fleet.run()

    covered = {"fleets": 1, "virtual days": 1, "ticks": fleet.counts["ticks"], "tasks": fleet.counts["tasks"]}
    for name, number in covered.items():
        record_property(name, number)


def _forget(_run: RunRecord, *, policy: Policy, enabled: bool) -> Leave:
    return Leave(f"{policy.lease} {enabled}")


def _never_missed(_run: RunRecord | None) -> TickVerdict:
    return TickVerdict.DELIVERED


@pytest.mark.slow
def test_a_recorder_that_starts_nothing_again_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Failed and crashed runs are not started again."""
    monkeypatch.setattr(recorder, "after_attempt", _forget)
    with pytest.raises(BrokenRuleError, match="no run is forgotten: after hours of calm"):
        Machines(1, days=DAYS).run()


@pytest.mark.slow
def test_a_watchdog_that_finds_no_tick_missing_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missed tick gets no row."""
    monkeypatch.setattr(look_at_job, "verdict", _never_missed)
    with pytest.raises(BrokenRuleError, match=r"every tick ends in one visible state: .* is no row"):
        Machines(1, days=DAYS).run()


class HastyAdmin(Machines):
    """Jobs are renamed without the order of docs/constructs.md."""

    def _rename(self, job: Job, proc: Proc) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self._deployments, "stand_down", lambda _job: 1)
            self._deployments.rename(job, proc, removed_after=2 * job.every)


def test_a_job_that_is_renamed_without_being_disabled_does_its_work_twice() -> None:
    """Both schedules have the tick in between; the rows of two names do not know each other."""
    with pytest.raises(BrokenRuleError, match="a success is never repeated"):
        HastyAdmin(1, days=0.1).run()


class ImpatientAdmin(Machines):
    """Jobs are disabled, and replaced before their last tick has a row."""

    def _rename(self, job: Job, proc: Proc) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self._deployments, "_is_at_rest", lambda _job, **_: True)
            self._deployments.rename(job, proc)


def test_a_job_that_is_replaced_before_its_last_tick_has_a_row_loses_it() -> None:
    """Nobody judges the ticks of a schedule that is gone."""
    with pytest.raises(BrokenRuleError, match=r"every tick ends in one visible state: .* is no row"):
        ImpatientAdmin(1, days=0.1).run()


class Silent(Machines):
    """ECS sends no event of a stopped task."""

    told = (1, 0, 0, 0)


def test_without_a_word_of_ecs_the_watchdog_finds_every_crash() -> None:
    """And starts the runs that died."""
    fleet = Silent(3, days=DAYS)

    fleet.run()

    assert fleet.counts["watchdog: lost"] > 0
    assert fleet.counts["recorder: relaunched"] < fleet.counts["launched: retry"]  # a few, once all is calm


@pytest.mark.slow
def test_a_watchdog_that_finds_no_lost_run_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run always looks alive."""
    monkeypatch.setattr(lost_runs.LostRuns, "_settle_if_lost", lambda _look, _job, run: run is None)
    with pytest.raises(BrokenRuleError, match="a crash is noticed within"):
        Silent(3, days=DAYS).run()
