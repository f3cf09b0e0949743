"""The story on the emulated AWS, with real containers: what one tick does, however it is delivered and cut short."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from cronce import Reason, Status, Trigger
from cronce.vocabulary.names import period_of
from tests.e2e.names import DIGESTS, FIRSTS

if TYPE_CHECKING:
    from tests.e2e.world import World

CUSTOMERS = 3_100
BATCHES = {"daily-digest": 100, "shell-digest": 500}
"""How many mails each digest sends between two checkpoints."""

pytestmark = pytest.mark.usefixtures("docker")


@pytest.mark.parametrize("job", DIGESTS)
def test_a_tick_that_is_delivered_four_times_at_once_is_one_digest(world: World, job: str) -> None:
    """Twice by each schedule that has it: four tasks run, one sends every mail once, three say "already" and end."""
    tick = world.new_tick()
    with ThreadPoolExecutor(4) as deliveries:
        tasks = list(deliveries.map(lambda by: world.deliver(job, tick, further=by), (None, FIRSTS, None, FIRSTS)))
    stopped = world.stopped(tasks)
    assert [container["exitCode"] for task in stopped for container in task["containers"]] == [0, 0, 0, 0]
    assert (world.mails(job, tick), world.sends(job, tick)) == (CUSTOMERS, CUSTOMERS)
    logs = [world.log(task) for task in tasks]
    events = sorted([line["cronce.event"] for line in log] for log in logs)
    assert events == [["claimed", "succeeded"], ["refused"], ["refused"], ["refused"]]
    refusals = [line["cronce.message"] for log in logs for line in log if line["cronce.event"] == "refused"]
    assert all("already" in refusal for refusal in refusals)
    run = world.settled(job, tick)
    assert (run.status, run.attempt) == (Status.SUCCEEDED, 1)
    assert world.relaunches(job, tick) == []


def test_the_next_tick_is_skipped_while_the_first_still_runs(world: World) -> None:
    """The skipped run names the one that was in its way, and sends nothing."""
    job, first, second = "daily-digest", world.new_tick(), world.new_tick()
    world.deliver(job, first)
    world.working(job, first, sent=BATCHES[job])
    task = world.deliver(job, second)
    skipped = world.settled(job, second)
    assert (skipped.status, skipped.reason, skipped.blocked_by) == (
        Status.SKIPPED,
        Reason.OVERLAP,
        period_of(first),
    )
    assert world.settled(job, first).status is Status.SUCCEEDED
    assert world.stopped([task])[0]["containers"][0]["exitCode"] == 0
    assert (world.mails(job, first), world.mails(job, second)) == (CUSTOMERS, 0)


@pytest.mark.parametrize("job", DIGESTS)
def test_a_killed_container_is_recorded_and_the_recorder_has_the_next_attempt_resume(world: World, job: str) -> None:
    """Nobody helps: every customer has a mail; at most one batch was sent twice."""
    tick = world.new_tick()
    killed = world.deliver(job, tick)
    world.working(job, tick, sent=2 * BATCHES[job])
    world.kill(killed)
    failed = world.attempt(job, tick, 1)
    assert (failed.status, failed.reason, failed.exit_code) == (Status.FAILED, Reason.TASK_STOPPED, 137)
    assert failed.error == "EssentialContainerExited: Essential container exited"
    world.stopped([killed])
    assert world.answers(killed) == [{"status": "FAILED", "relaunched": {"attempt": 2, "launch": 1}}]

    run = world.done(job, tick)
    assert (run.attempt, run.trigger, run.failures) == (2, Trigger.RETRY, 0)
    assert len(world.relaunches(job, tick)) == 1
    assert world.mails(job, tick) == CUSTOMERS
    assert world.sends(job, tick) - CUSTOMERS <= BATCHES[job]


@pytest.mark.parametrize("job", DIGESTS)
def test_a_stopped_task_is_interrupted_and_relaunched_and_does_not_count(world: World, job: str) -> None:
    """StopTask's SIGTERM frees the slot at once; the next attempt finishes the work."""
    tick = world.new_tick()
    interrupted = world.deliver(job, tick)
    world.working(job, tick, sent=2 * BATCHES[job])
    world.stop(interrupted)
    ended = world.attempt(job, tick, 1)
    assert (ended.status, ended.reason) == (Status.FAILED, Reason.INTERRUPTED)

    run = world.done(job, tick)
    assert (run.attempt, run.trigger, run.failures) == (2, Trigger.RETRY, 0)
    assert len(world.relaunches(job, tick)) == 1
    assert world.mails(job, tick) == CUSTOMERS
    assert world.sends(job, tick) - CUSTOMERS <= BATCHES[job]
