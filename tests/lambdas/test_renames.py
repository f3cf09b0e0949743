"""The procedures of docs/constructs.md for another name of a job, and for another ledger, step by step."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from cronce import CatchUp, Policy, Status
from cronce.vocabulary.names import period_of
from tests.lambdas.events import ARN, JOB, OTHER, World
from tests.support.cloud import T0

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
NEW = "morning-digest"
ALL = Policy(catch_up=CatchUp.ALL)


def deploy(world: World, job: str = JOB, **changes: Any) -> None:  # noqa: ANN401
    """Deploy the job, daily at 06:00 UTC, now."""
    now = world.clock.now()
    standing = world.scheduler.schedules.get(f"{job}-0123456789ab", {})
    made = {"CreationDate": standing.get("CreationDate", now), "LastModificationDate": now}
    world.define(job, policy=ALL, **made | changes)


def run_day(world: World, at: datetime, job: str = JOB, task: str = ARN) -> None:
    """Let the day's task do its work, with a look before and after it."""
    world.look(at - MINUTE)
    world.clock.advance(at - world.clock.now())
    claim = world.ledger(task).claim(job, period_of(at), policy=ALL)
    assert claim, claim
    claim.complete()
    world.look(at + 10 * MINUTE)


def done(world: World, job: str) -> list[str]:
    """The periods that ran, oldest first."""
    return sorted(run.period for run in world.ledger().runs(job) if run.status is Status.SUCCEEDED)


@pytest.mark.parametrize("with_start", [True, False])
def test_a_renamed_job_keeps_its_history_and_runs_no_day_twice(*, with_start: bool) -> None:
    """Disable, wait, replace. Also a new schedule that says nothing about the past does not catch it up."""
    world = World(policy=ALL)
    world.clock.advance(-HOUR)
    deploy(world)
    run_day(world, T0)
    world.clock.advance(HOUR)
    deploy(world, State="DISABLED")
    world.look()
    world.clock.advance(HOUR)
    del world.scheduler.schedules[f"{JOB}-0123456789ab"]
    deploy(world, NEW, **({"StartDate": T0 + MINUTE} if with_start else {}))
    assert world.look()["gone"] == 1
    assert "gone" not in world.look(world.clock.now() + MINUTE)
    run_day(world, T0 + DAY, NEW, OTHER)
    assert (done(world, JOB), done(world, NEW)) == ([period_of(T0)], [period_of(T0 + DAY)])
    assert world.launches() == []
    assert [event["type"] for event in world.events.sent] == ["Cronce Schedule Gone"]


def test_a_tick_while_neither_name_is_enabled_is_neither_missed_nor_run() -> None:
    """It is left to `cronce backfill` of the new name, which is why `start` is before it."""
    world = World(policy=ALL)
    world.clock.advance(-HOUR)
    deploy(world)
    run_day(world, T0)
    world.clock.advance(HOUR)
    deploy(world, State="DISABLED")
    world.look(T0 + DAY + HOUR)
    del world.scheduler.schedules[f"{JOB}-0123456789ab"]
    deploy(world, NEW, StartDate=T0 + MINUTE)
    for minute in range(20):
        assert "missed" not in world.look(T0 + DAY + HOUR + minute * MINUTE)
    assert (done(world, NEW), world.launches()) == ([], [])
    assert world.launcher.find(NEW).schedule.previous(T0 + DAY + HOUR) == T0 + DAY


def test_a_job_that_moves_to_another_ledger_runs_no_day_twice() -> None:
    """The new table is empty; ticks from before it was created are neither missed nor caught up."""
    old = World(policy=ALL)
    old.clock.advance(-HOUR)
    deploy(old)
    run_day(old, T0)
    old.clock.advance(HOUR)
    deploy(old, State="DISABLED")
    for minute in range(20):
        assert "missed" not in old.look(T0 + DAY + minute * MINUTE)
    moved_at = old.clock.now()
    new = World(policy=ALL, created_at=moved_at)
    new.clock.advance(moved_at - T0)
    deploy(new, StartDate=T0 + MINUTE)
    for minute in range(20):
        found = new.look(moved_at + minute * MINUTE)
        assert not {"missed", "caught_up", "gone"} & found.keys()
    run_day(new, T0 + 2 * DAY)
    assert (done(old, JOB), done(new, JOB)) == ([period_of(T0)], [period_of(T0 + 2 * DAY)])
    assert new.launches() == []
