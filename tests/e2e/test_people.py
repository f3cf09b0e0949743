"""A person on call at 09:00, with the real command and a role of their own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from cronce import Status, Trigger
from cronce.vocabulary.names import period_of
from tests.e2e.names import CHORE

if TYPE_CHECKING:
    from tests.e2e.world import World

CUSTOMERS = 3_100

pytestmark = pytest.mark.usefixtures("docker")


def test_yesterdays_period_is_run_again_through_the_jobs_own_schedule(world: World) -> None:
    """A run that nobody started runs; a success is refused, and repeated with --force and a reason."""
    job, tick = "daily-digest", world.new_tick()
    period = period_of(tick)
    world.fail_to_deliver(job, tick, reason="AGENT")
    assert world.settled(job, tick).status is Status.MISSED

    answer = world.type_as_on_call("rerun", job, period, "--follow", "--json", "--actor", "ada")
    assert answer.returncode == 0, answer
    document = json.loads(answer.stdout)
    run = world.settled(job, tick)
    assert (run.status, run.attempt, run.trigger, run.actor) == (Status.SUCCEEDED, 1, Trigger.MANUAL, "ada")
    assert (document["started"], document["task"]) == (True, run.owner)
    assert (world.mails(job, tick), world.sends(job, tick)) == (CUSTOMERS, CUSTOMERS)

    refused = world.type_as_on_call("rerun", job, period)
    assert refused.returncode == 1, refused
    assert "it has succeeded" in refused.stderr
    assert world.type_as_on_call("rerun", job, period, "--force").returncode == 64

    forced = world.type_as_on_call("rerun", job, period, "--force", "--reason", "half of it went to spam", "--follow")
    assert forced.returncode == 0, forced
    again = world.settled(job, tick)
    assert (again.status, again.attempt, again.note) == (Status.SUCCEEDED, 2, "half of it went to spam")
    assert (world.mails(job, tick), world.sends(job, tick)) == (CUSTOMERS, 2 * CUSTOMERS)


def test_a_gap_of_three_days_is_filled_and_what_is_done_is_left(world: World) -> None:
    """Without --yes nothing is started."""
    days = [world.new_tick() for _ in range(3)]
    world.deliver(CHORE, days[1])
    done = world.done(CHORE, days[1])
    words = ("backfill", CHORE, "--from", period_of(days[0]), "--to", period_of(days[2]))
    shown = world.type_as_on_call(*words)
    assert shown.returncode == 0, shown
    assert world.run(CHORE, days[0]) is None

    filled = world.type_as_on_call(*words, "--yes")
    assert filled.returncode == 0, filled
    runs = [world.settled(CHORE, day) for day in days]
    assert [run.status for run in runs] == [Status.SUCCEEDED] * 3
    assert [run.trigger for run in runs] == [Trigger.BACKFILL, Trigger.SCHEDULE, Trigger.BACKFILL]
    assert runs[1] == done
