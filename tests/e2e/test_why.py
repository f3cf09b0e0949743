"""Thirteen breakages, really made.

Of each:

- the first sentence of `cronce why` is the true cause, and its last step is the command to type;
- `cronce doctor` names it, or the test says why it cannot;
- the event for people has the job and the period, or the test says why there is none;
- the board shows it in the cell of its tick.
"""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from cronce import Reason, Status
from cronce.vocabulary.names import period_of
from tests.e2e.names import BARE, CHORE, CLOCK, GONE, LATE, MISTYPED, OLD, SLEEPER

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from tests.e2e.world import World

pytestmark = pytest.mark.usefixtures("docker")


def _runs(world: World, job: str) -> str:
    """What the doctor says of the job's newest run."""
    return next(sentence for _, sentence in world.doctor("runs") if job in sentence.partition(":")[0].split(", "))


def _again(job: str, tick: datetime) -> str:
    return f"cronce rerun {job} {period_of(tick)}"


def test_a_disabled_schedule(world: World) -> None:
    """Somebody switched it off in the console. That is no event: it may be meant so."""
    world.turn(LATE, "DISABLED")
    try:
        cause = world.why(LATE)["cause"]
        (off, _) = world.doctor("schedules")
        shown = world.on_the_board(LATE)
    finally:
        world.turn(LATE, "ENABLED")
    assert cause["sentence"].startswith("Its schedule is disabled, so nothing starts it; it was last changed ")
    assert "enable the schedule" in cause["next"][0]["text"]
    assert off[0] == "warning"
    assert LATE in off[1]
    assert shown == "disabled"
    assert world.why(LATE)["cause"]["code"] != "schedule-disabled"


def test_an_image_that_does_not_exist(world: World) -> None:
    """The reason of ECS is in the row, so it is known for as long as the row is."""
    tick = world.new_tick()
    world.stopped([world.deliver(GONE, tick)])
    world.settled(GONE, tick)
    cause = world.why(GONE, tick)["cause"]
    assert cause["sentence"].startswith("Its image cannot be pulled")
    assert cause["next"][-1]["command"] == _again(GONE, tick)
    assert "Its image cannot be pulled" in _runs(world, GONE)
    assert world.event("Cronce Run Given Up", GONE, tick)["reason"] == Reason.LAUNCH_FAILED
    assert world.on_the_board(GONE, tick).startswith("failed, launch_failed, ")


def test_a_permission_that_somebody_took_away(world: World) -> None:
    """RunTask is refused, and the dead letter has the action. The doctor sees it before the next tick does."""
    tick = world.new_tick()
    role = ("ok", "and pass both of its roles")
    assert any(state == role[0] and sentence.endswith(role[1]) for state, sentence in world.doctor("roles"))
    with world.without_permissions(CHORE):
        world.schedules.deliver(world.schedule_of[CHORE], tick)
        lacking = world.doctor("roles")
    world.settled(CHORE, tick)
    cause = world.why(CHORE, tick)["cause"]
    assert cause["sentence"] == (
        "The permission ecs:RunTask is missing, so EventBridge Scheduler could not start its task."
    )
    assert cause["next"][-1]["command"] == _again(CHORE, tick)
    told = f"the role of the schedule lacks ecs:RunTask ({CHORE}), iam:PassRole ({CHORE})"
    assert ("problem", told) in lacking
    assert "AccessDenied" in world.event("Cronce Run Missed", CHORE, tick)["reason"]
    assert world.on_the_board(CHORE, tick).startswith("missed, launch_failed: AccessDenied")


def test_a_killed_container_a_held_run_and_the_run_that_it_blocked(world: World) -> None:
    """While it works, the next tick is skipped; then its container is killed.

    An overlap is no event, and nothing for the doctor: the policy wants it. The board has it.
    """
    first, second = world.new_tick(), world.new_tick()
    task = world.deliver(SLEEPER, first)

    def is_running() -> bool:
        run = world.run(SLEEPER, first)
        return run is not None and run.status is Status.RUNNING

    world.eventually(is_running, "the sleeper works")
    running = world.why(SLEEPER, first)["cause"]
    assert running["sentence"].startswith("It has run for ")
    world.deliver(SLEEPER, second)
    assert world.settled(SLEEPER, second).reason == Reason.OVERLAP
    blocked = world.why(SLEEPER, second)["cause"]
    assert blocked["sentence"] == (
        f"It was skipped because another run of the job ({period_of(first)}) was active when it was due."
    )
    assert blocked["more"].startswith("That run is still active for ")
    assert blocked["next"][-1]["command"] == _again(SLEEPER, second)
    assert world.on_the_board(SLEEPER, second).startswith("skipped, ")
    world.kill(task)
    world.stopped([task])
    world.settled(SLEEPER, first)
    killed = world.why(SLEEPER, first)["cause"]
    assert killed["sentence"] == "It was killed (SIGKILL, exit code 137)."
    assert "HELD" in killed["more"]
    assert task in json.dumps(killed["evidence"])
    assert killed["next"][-1]["command"] == f"cronce release --reason WHY {SLEEPER} {period_of(first)}"
    assert "It was killed" in _runs(world, SLEEPER)
    assert world.event("Cronce Run Held", SLEEPER, first)["reason"] == Reason.TASK_STOPPED
    assert world.on_the_board(SLEEPER, first).startswith("failed, 1 attempt, ")


def test_a_table_that_is_gone(world: World, tmp_path: Path) -> None:
    """Restore it, instead of making an empty one.

    This ledger has no functions; the errors of those that a stack has are an alarm. The board says what it cannot read.
    """
    url = "dynamodb://broken-runs?region=eu-west-1"
    assert world.type("init", "--ledger", url).returncode == 0
    with closing(world.aws.client("dynamodb")) as dynamodb:
        dynamodb.update_table(TableName="broken-runs", DeletionProtectionEnabled=False)
        dynamodb.delete_table(TableName="broken-runs")
    answer = world.type("why", CHORE, "--ledger", url, "--json")
    assert answer.returncode == 69
    cause = json.loads(answer.stdout)["cause"]
    assert cause["sentence"] == "The ledger's table does not exist, so no task can claim a run and no work starts."
    assert "init" not in json.dumps(cause["next"])
    assert cause["next"][-1]["command"].startswith("aws dynamodb list-backups")
    checked = json.loads(world.type("doctor", "--ledger", url, "--json").stdout)["checks"]
    (ledger,) = _checks_of(checked, "ledger")
    assert (ledger["state"], "does not exist" in ledger["sentence"]) == ("problem", True)
    board = world.type("board", "--ledger", url, "-o", str(tmp_path / "runs.html"))
    assert board.returncode == 69
    assert "ResourceNotFoundException" in board.stderr


def _checks_of(found: list[dict[str, str]], name: str) -> list[dict[str, str]]:
    """The doctor's checks of that name."""
    return [check for check in found if check["name"] == name]


def test_a_dead_letter(world: World) -> None:
    """ECS answered 200 with a failure at every try."""
    tick = world.new_tick()
    world.fail_to_deliver(CHORE, tick, reason="RESOURCE:MEMORY")
    world.settled(CHORE, tick)
    cause = world.why(CHORE, tick)["cause"]
    assert cause["sentence"] == "ECS had no capacity for its task (RESOURCE:MEMORY)."
    assert cause["next"][-1]["command"] == _again(CHORE, tick)
    assert "ECS had no capacity for its task (RESOURCE:MEMORY)" in _runs(world, CHORE)
    assert "RESOURCE:MEMORY" in world.event("Cronce Run Missed", CHORE, tick)["error"]
    assert world.on_the_board(CHORE, tick).startswith("missed, launch_failed: ECS.Failures, ")


def test_a_clock_at_zero(world: World) -> None:
    """Its service still exists. The board is about jobs; what says that a clock is stopped is the event."""
    clock = world.pinned(CLOCK)
    clock.want(0)
    try:
        world.eventually(lambda: world.why(CLOCK)["cause"]["code"] == "clock-stopped", "the clock is stopped")
        cause = world.why(CLOCK)["cause"]
        states = world.doctor("clock")
        world.watch()
    finally:
        clock.want(1)
    assert ("problem", "the service of the clock clock has a desired count of 0 instead of 1") in states
    assert cause["sentence"].startswith("The clock is stopped: its service ")
    assert cause["next"][0]["command"].endswith("--desired-count 1")
    told = [each for each in world.told("Cronce Pinned Count Wrong") if each["desiredCount"] == 0]
    assert clock.service in json.dumps(told)


def test_an_image_without_the_guard(world: World) -> None:
    """Its work may be done, so nothing suggests to run it again."""
    tick = world.new_tick()
    world.stopped([world.deliver(BARE, tick)])
    world.settled(BARE, tick)
    cause = world.why(BARE, tick)["cause"]
    assert cause["sentence"] == "Its image has no guard: a task ran to its end and never claimed the run."
    assert "rerun" not in json.dumps(cause["next"])
    assert cause["next"][0]["command"] == f"cronce release --reason WHY {BARE} {period_of(tick)}"
    assert ("problem", f"the image has no guard: {BARE}") in world.doctor("guard")
    assert world.event("Cronce Run Unclaimed", BARE, tick)["reason"] == Reason.UNCLAIMED
    assert world.on_the_board(BARE, tick).startswith("failed, unclaimed (exit code 0)")


def test_a_paused_job(world: World) -> None:
    """A person paused it, and forgot. That is no event: a person wanted it so."""
    tick = world.new_tick()
    assert world.type("pause", CHORE, "--why", "month end", "--actor", "ann").returncode == 0
    try:
        world.deliver(CHORE, tick)
        world.settled(CHORE, tick)
        cause = world.why(CHORE, tick)["cause"]
        coming = world.why(CHORE)["cause"]
        remark = world.on_the_board(CHORE)
    finally:
        assert world.type("resume", CHORE).returncode == 0
    assert cause["sentence"] == "It was skipped because ann had paused the job: month end."
    assert cause["next"][-1]["command"] == _again(CHORE, tick)
    assert coming["sentence"].startswith("The job is paused by ann ")
    assert coming["next"][0]["command"] == f"cronce resume {CHORE}"
    assert "It was skipped because ann had paused the job: month end" in _runs(world, CHORE)
    assert remark.startswith("paused by ann ")
    assert world.on_the_board(CHORE, tick).startswith("skipped, paused")


def test_an_expired_deadline(world: World) -> None:
    """The tick is from long ago. The event comes from the recorder, which sees the task that gave up stop."""
    tick = world.new_tick()
    world.stopped([world.deliver(LATE, tick)])
    world.settled(LATE, tick)
    cause = world.why(LATE, tick)["cause"]
    assert cause["sentence"] == "It was not started because it came after its starting deadline."
    assert cause["next"][-1]["command"] == _again(LATE, tick)
    assert "it came after its starting deadline" in _runs(world, LATE)
    assert world.event("Cronce Run Missed", LATE, tick)["reason"] == Reason.TOO_LATE
    assert world.on_the_board(LATE, tick).startswith("missed, too_late")


def test_a_command_that_does_not_exist(world: World) -> None:
    """127, in words."""
    tick = world.new_tick()
    world.stopped([world.deliver(MISTYPED, tick)])
    world.settled(MISTYPED, tick)
    cause = world.why(MISTYPED, tick)["cause"]
    assert cause["sentence"] == "Its command does not exist in the image (exit code 127)."
    assert cause["next"][-1]["command"] == _again(MISTYPED, tick)
    assert "Its command does not exist in the image" in _runs(world, MISTYPED)
    assert world.event("Cronce Run Given Up", MISTYPED, tick)["reason"] == Reason.ERROR
    assert world.on_the_board(MISTYPED, tick).startswith("failed, 1 attempt, ")


def test_a_revision_that_was_deregistered(world: World) -> None:
    """By a clean-up that did not know the schedule; before the next tick, and after it."""
    revision = world.schedules.revision_of(world.schedule_of[OLD])
    world.ecs.deregister_task_definition(taskDefinition=revision)
    assert world.why(OLD)["cause"]["sentence"] == (
        "The revision that its schedule starts is INACTIVE: its next tick cannot start."
    )
    assert ("problem", f"{revision} of {OLD} is INACTIVE") in world.doctor("revision")
    tick = world.new_tick()
    world.fail_to_deliver_with(OLD, tick, code="ClientException", message="TaskDefinition is inactive")
    world.settled(OLD, tick)
    cause = world.why(OLD, tick)["cause"]
    assert cause["sentence"] == (
        "The revision of the task definition that its schedule starts does not exist any more."
    )
    assert cause["next"][-1]["command"] == _again(OLD, tick)
    assert "inactive" in world.event("Cronce Run Missed", OLD, tick)["error"]
    assert world.on_the_board(OLD, tick).startswith("missed, launch_failed: ClientException")


def test_what_the_doctor_says_of_the_stack(world: World) -> None:
    """All of it is known, and nothing was written for the test of the write."""
    answer = world.type("doctor", "--json")
    checks = json.loads(answer.stdout)["checks"]
    states = {(check["name"], check["state"]) for check in checks}
    expected = "ledger clock-skew functions rules dead-letters logs clusters roles"
    assert {(name, "ok") for name in expected.split()} <= states
    assert [check["sentence"] for check in checks if check["name"] == "network" and check["state"] != "ok"] == []
    assert [check for check in checks if check["state"] == "not known"] == []
    assert list(world.ledger.rows("cronce:doctor")) == []
