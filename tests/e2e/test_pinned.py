"""Pinned clocks: replaced, killed and started twice, while the ticks on their queue are counted.

The emulator runs the services: it starts stopped tasks again, and a deployment stops the old task before it starts the
new one. It never runs both for a moment, as ECS does: `start_one_more` adds that. It runs no health checks and no init
process.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from tests.e2e.names import BEATS, CLOCK, CLOCK_JOB, CLOCK_SECONDS

if TYPE_CHECKING:
    from tests.e2e.pinned import Message, Pinned
    from tests.e2e.world import World

pytestmark = pytest.mark.usefixtures("docker")

_ENOUGH = 10
"""So many ticks at least; the clock has sent them since the deployment."""

_EVERY = timedelta(seconds=CLOCK_SECONDS)


def test_a_clock_that_is_replaced_killed_and_doubled_loses_no_tick_and_sends_none_twice(world: World) -> None:
    """All ticks from the first to the last, each once: across a deployment, a crash, a gap and an overlap."""
    clock = world.pinned(CLOCK)
    first = clock.leader()
    clock.deploy_again()
    second = clock.leader(other_than={first})
    world.kill(second)
    third = clock.leader(other_than={first, second})
    clock.want(0)
    world.eventually(lambda: not clock.tasks(), "no clock")
    gap_until = datetime.now(UTC) + 2 * _EVERY
    world.eventually(lambda: datetime.now(UTC) > gap_until, "a gap of two ticks")
    clock.want(1)
    fourth = clock.leader(other_than={first, second, third})
    extra = clock.start_one_more()
    world.eventually(lambda: "standby" in clock.events(extra), "a standby")
    assert world.is_healthy(fourth)
    assert world.is_healthy(extra)
    world.stop(fourth)
    clock.leader(other_than={first, second, third, fourth})
    world.eventually(lambda: len(clock.read()) >= _ENOUGH, "enough ticks")
    clock.until_after(datetime.now(UTC) + 2 * _EVERY)
    # A tick that the killed clock had begun is sent when the lease of its row has expired.
    world.eventually(lambda: not _missing(clock.read()), "every tick")
    world.stop(extra)

    assert {json.loads(message.body)["job"] for message in clock.messages} == {CLOCK_JOB}
    ticks = _ticks(clock.messages)
    assert ticks == [ticks[0] + number * _EVERY for number in range(len(ticks))]


def _ticks(messages: list[Message]) -> list[datetime]:
    return sorted(datetime.fromisoformat(json.loads(message.body)["period"]) for message in messages)


def _missing(messages: list[Message]) -> list[datetime]:
    """The ticks between the first and the last that have not come."""
    ticks = _ticks(messages)
    expected = [ticks[0] + number * _EVERY for number in range((ticks[-1] - ticks[0]) // _EVERY)]
    return [tick for tick in expected if tick not in ticks]


def test_of_two_tasks_with_a_foreign_clock_one_beats(world: World) -> None:
    """Celery's beat, unmodified, under `cronce pin`: one beats, one stands by and takes over from a killed one."""
    beats = world.pinned(BEATS)
    leader = beats.leader()
    extra = beats.start_one_more()
    world.eventually(lambda: "standby" in beats.events(extra), "a standby")
    assert world.is_healthy(leader)
    assert world.is_healthy(extra)
    _beats_once_a_second(beats, timedelta(seconds=8))
    assert not [line for line in beats.log(extra) if "beat: Starting" in line]

    world.kill(leader)
    successor = beats.leader(other_than={leader})
    _beats_once_a_second(beats, timedelta(seconds=5))
    assert [line for line in beats.log(successor) if "beat: Starting" in line]
    world.stop(extra)


def _beats_once_a_second(beats: Pinned, span: timedelta) -> None:
    """Watch the queue for a while; two beats at once would send twice as much."""
    began = beats.until_after(datetime.now(UTC))[-1].at
    sent = [message.at for message in beats.until_after(began + span) if message.at >= began]
    assert abs(len(sent) - (sent[-1] - sent[0]).total_seconds() - 1) <= 2, sent
