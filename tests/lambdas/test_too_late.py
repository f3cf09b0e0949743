"""A run that its own task did not start, because it came after its starting deadline."""

from __future__ import annotations

from datetime import timedelta

from cronce import Policy, Reason, Refusal, Status
from tests.lambdas.events import JOB, OTHER, PERIOD, World, stopped
from tests.support.cloud import T0

STRICT = Policy(starting_deadline=timedelta(minutes=10))


def late() -> World:
    """A task has asked an hour after its tick, and was refused."""
    world = World(policy=STRICT)
    world.clock.advance(timedelta(hours=1))
    refused = world.ledger().claim(JOB, PERIOD, policy=STRICT, scheduled_at=T0)
    assert isinstance(refused, Refusal)
    assert world.standing().reason == Reason.TOO_LATE
    return world


def test_people_are_told_once_when_its_task_stops() -> None:
    """Whatever is delivered again."""
    world = late()
    for _ in range(3):
        assert world.settle(stopped(exit_code=0)) == {"status": "MISSED"}
    (event,) = world.events.sent
    assert (event["type"], event["job"], event["period"], event["reason"]) == (
        "Cronce Run Missed",
        JOB,
        PERIOD,
        Reason.TOO_LATE,
    )
    run = world.standing()
    assert (run.status, run.note) == (
        Status.MISSED,
        "no machine starts it again: it came after its starting deadline",
    )


def test_another_task_that_stops_tells_nobody() -> None:
    """Its event is only a hint."""
    world = late()
    world.settle(stopped(OTHER, exit_code=0))
    assert world.events.sent == []
