"""What did not happen: ticks that nobody delivers, in real minutes, found by the deployed watchdog.

The harness plays EventBridge, which invokes it each minute; here a scenario decides when a minute has passed.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from cronce import Reason, Status, Trigger
from cronce.vocabulary.names import period_of
from tests.e2e.names import CAUGHT_UP, CLOCK, PAUSED, UNWATCHED

if TYPE_CHECKING:
    from tests.e2e.world import World

pytestmark = pytest.mark.usefixtures("docker")

_MINUTE = timedelta(minutes=1)


def test_ticks_that_nobody_delivered_are_missed_and_only_the_latest_is_caught_up(world: World) -> None:
    """Each tick since the deployment has its row and its event; `catch_up=LATEST` runs the newest one."""
    world.two_minutes_after_deployment()
    found = world.watch()
    runs = {run.scheduled_at: run for run in world.ledger.runs(UNWATCHED)}
    ticks = sorted(tick for tick in runs if tick)
    assert ticks, found
    assert ticks == [ticks[0] + number * _MINUTE for number in range(len(ticks))]
    assert all((run.status, run.reason) == (Status.MISSED, Reason.NEVER_DELIVERED) for run in runs.values())
    told = world.told("Cronce Run Missed")
    assert {period_of(tick) for tick in ticks} == {each["period"] for each in told if each["job"] == UNWATCHED}

    caught_up = world.done(CAUGHT_UP, ticks[-1])
    assert (caught_up.trigger, caught_up.attempt) == (Trigger.CATCH_UP, 1)
    assert caught_up.attempts[0].reason == Reason.NEVER_DELIVERED
    (fired,) = world.relaunches(CAUGHT_UP, ticks[-1])
    assert fired.expression.startswith("at(")
    assert {world.settled(CAUGHT_UP, tick).status for tick in ticks[:-1]} <= {Status.MISSED}


def test_a_schedule_that_was_disabled_for_a_while_missed_nothing(world: World) -> None:
    """It was due each minute, was disabled since shortly after the deployment, and is enabled again now."""
    world.two_minutes_after_deployment()
    world.watch()
    world.turn(PAUSED, "ENABLED")
    enabled_at = datetime.now(UTC)
    found = world.watch()
    world.turn(PAUSED, "DISABLED")
    assert enabled_at - world.paused_at > _MINUTE
    meanwhile = [
        run.period
        for run in world.ledger.runs(PAUSED)
        if run.scheduled_at and world.paused_at < run.scheduled_at < enabled_at
    ]
    assert (meanwhile, found.get("failed")) == ([], None)


def test_a_pinned_service_with_another_count_than_one_is_reported_once(world: World) -> None:
    """Somebody sets it to two: the watchdog counts it each minute, and puts one event on the bus."""
    clock = world.pinned(CLOCK)
    assert "pinned_count_wrong" not in world.watch()
    clock.want(2)
    try:
        assert world.watch()["pinned_count_wrong"] == 1
        assert world.watch()["pinned_count_wrong"] == 1
        (told,) = world.told("Cronce Pinned Count Wrong")
        assert (told["job"], told["desiredCount"]) == (CLOCK, 2)
    finally:
        clock.want(1)
    assert "pinned_count_wrong" not in world.watch()
