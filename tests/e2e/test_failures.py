"""Tasks that never claim their run: the ledger still shows what happened to the tick."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cronce import Reason, Status
from tests.e2e.names import CHORE, GONE, UNGUARDED

if TYPE_CHECKING:
    from tests.e2e.world import World

pytestmark = pytest.mark.usefixtures("docker")

_LAUNCHES = ["2", "3", "4", "5"]
"""Besides the first one: after five the recorder leaves it to a person."""


@pytest.mark.parametrize(
    ("job", "because"),
    [
        (GONE, ("TaskFailedToStart: ", "gone")),
        (UNGUARDED, ("EssentialContainerExited: ", "CannotStartContainerError: dependency graph: ")),
    ],
    ids=["its image does not exist", "the container before it failed"],
)
def test_a_task_whose_job_never_ran_is_a_failed_run_without_a_claim(
    world: World, job: str, because: tuple[str, str]
) -> None:
    """The row has ECS's reason. A few more tasks are tried, with growing delays; then a person must act."""
    tick = world.latest_tick()
    first = world.deliver(job, tick)
    world.stopped([first])
    assert world.answers(first) == [{"status": "FAILED", "relaunched": {"attempt": 1, "launch": 2}}]
    world.eventually(lambda: len(world.relaunches(job, tick)) == len(_LAUNCHES), "as many relaunches as there are")
    relaunches = world.relaunches(job, tick)
    assert [fired.environment["CRONCE_LAUNCH"] for fired in relaunches] == _LAUNCHES
    (last,) = relaunches[-1].tasks
    [stopped] = world.stopped([last])
    assert world.answers(last) == [{"status": "FAILED", "left": "5 tasks of it stopped before they claimed it"}]
    run = world.settled(job, tick)
    assert (run.status, run.reason, run.attempt, run.failures) == (Status.FAILED, Reason.LAUNCH_FAILED, 0, 0)
    assert run.error is not None
    assert run.error.startswith(because[0])
    assert because[1] in run.error
    if job == UNGUARDED:  # as the agent reports it: with the exit code of a container that was stopped
        assert {each["name"]: each.get("exitCode") for each in stopped["containers"]}["work"] == 143
        assert world.printed(last) == []


def test_a_task_that_ecs_refuses_to_start_is_a_missed_run(world: World) -> None:
    """RunTask answered 200 with failures; EventBridge Scheduler gave up, and its dead letter became the row."""
    tick = world.new_tick()
    world.fail_to_deliver(CHORE, tick, reason="AGENT")
    run = world.settled(CHORE, tick)
    assert (run.status, run.attempt) == (Status.MISSED, 0)
    assert run.reason is not None
    assert run.reason.startswith(f"{Reason.LAUNCH_FAILED}: ")
    assert run.error is not None
    assert "AGENT" in run.error
    world.eventually(lambda: world.dead_letters() == 0, "an empty dead-letter queue")


def test_a_tick_that_comes_after_all_still_runs(world: World) -> None:
    """A dead letter is no verdict on the work: a later delivery of the tick gets the run."""
    tick = world.new_tick()
    world.fail_to_deliver(CHORE, tick, reason="RESOURCE:MEMORY")
    assert world.settled(CHORE, tick).status is Status.MISSED
    world.deliver(CHORE, tick)
    run = world.done(CHORE, tick)
    assert (run.attempt, run.attempts[0].status) == (1, Status.MISSED)
