"""What each state means, and the command that it calls for."""

from __future__ import annotations

import shlex
from datetime import timedelta
from typing import Any

import pytest

from cronce.operate.advice import Commands, advise, deserves_a_look, may_be_run_again
from cronce.operate.look_up import UNKNOWN, About
from cronce.vocabulary.policy import CatchUp, OnLost, Policy
from cronce.vocabulary.states import Reason, Status
from tests.support.builders import JOB, LEASE, LEASE_IS_OVER_AT, PERIOD, T0, TICK, run

COMMANDS = Commands(JOB, PERIOD)
RELEASE = f"cronce release --reason WHY {JOB} {PERIOD}"
AGAIN = f"cronce rerun {JOB} {PERIOD} -- COMMAND"


def commands_of(advice_of: object) -> list[str]:
    """The lines that an advice gives to type."""
    return [step.command for step in advice_of.steps if step.command]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("status", "reason", "begins", "commands"),
    [
        (Status.SUCCEEDED, None, "Succeeded.", [f"cronce rerun --force --reason WHY {JOB} {PERIOD} -- COMMAND"]),
        (Status.FAILED, Reason.EXIT_CODE, "Failed;", [AGAIN]),
        (Status.FAILED, Reason.LEASE_LOST, "Lost:", [AGAIN, RELEASE]),
        (Status.FAILED, Reason.TASK_STOPPED, "Lost:", [AGAIN, RELEASE]),
        (Status.FAILED, Reason.RELEASED, "Released by a person.", [AGAIN]),
        (Status.FAILED, Reason.INTERRUPTED, "Interrupted from outside,", [AGAIN]),
        (Status.FAILED, "a foreign writer's own", "Failed;", [AGAIN]),
        (Status.SKIPPED, Reason.SUSPENDED, "Not run: the job was suspended.", [AGAIN]),
        (Status.SKIPPED, Reason.OVERLAP, "Not run: another run", [AGAIN]),
        (Status.MISSED, Reason.TOO_LATE, "Not run: its start came after", [AGAIN]),
        (Status.MISSED, Reason.NEVER_DELIVERED, "Not run: no claim came for its tick", [AGAIN]),
        (Status.MISSED, Reason.NEVER_CLAIMED, "A task of its tick was at work and has not claimed", [AGAIN]),
        (Status.MISSED, "launch_failed: no capacity", "Not run: nothing started it", [AGAIN]),
        (Status.FAILED, Reason.LAUNCH_FAILED, "Not run: its task stopped before", [AGAIN]),
        (Status.FAILED, "launch_failed: CannotPullContainerError", "Not run: its task stopped before", [AGAIN]),
    ],
)
def test_every_final_state_has_its_meaning_and_its_command(
    status: Status, reason: str | None, begins: str, commands: list[str]
) -> None:
    """As the on-call reads it at nine."""
    advice = advise(run(status=status, reason=reason), T0, COMMANDS)
    assert advice.meaning.startswith(begins)
    assert commands_of(advice) == commands


def test_a_row_without_a_lease_is_held_for_a_person() -> None:
    """Nothing takes it over by itself, so `release` is the one step."""
    advice = advise(run(lease_until=None), T0, COMMANDS)
    assert advice.meaning.startswith("HELD")
    assert commands_of(advice) == [RELEASE]


@pytest.mark.parametrize(
    ("at", "begins"),
    [
        (T0 + LEASE, "Running"),
        (T0 + LEASE + TICK, "Its lease has expired"),
        (LEASE_IS_OVER_AT, "Its lease has expired"),
        (LEASE_IS_OVER_AT + TICK, "Lost"),
    ],
)
def test_a_running_row_means_what_the_protocol_would_do(at: object, begins: str) -> None:
    """At the end of the lease, and at the end of the allowed clock difference."""
    assert advise(run(), at, COMMANDS).meaning.startswith(begins)  # type: ignore[arg-type]


def test_the_blocking_run_is_one_command_away() -> None:
    """A skipped run leads to the one that blocked it."""
    skipped = run(status=Status.SKIPPED, reason=Reason.OVERLAP, blocked_by="2026-11-28")
    assert commands_of(advise(skipped, T0, COMMANDS))[0] == f"cronce show {JOB} 2026-11-28"


def test_the_blocking_run_of_another_job_of_the_group_is_one_command_away() -> None:
    """It is named with its job."""
    blocked = {"blocked_by": "2026-11-28", "blocked_by_job": "daily-close"}
    skipped = run(status=Status.SKIPPED, reason=Reason.OVERLAP, **blocked)
    advice = advise(skipped, T0, COMMANDS)
    assert advice.meaning.startswith("Not run: a run of its exclusion group (daily-close 2026-11-28) was active")
    assert commands_of(advice)[0] == "cronce show daily-close 2026-11-28"


def test_a_command_can_be_pasted_whatever_the_names_are() -> None:
    """Quotes, spaces, and names that look like options."""
    line = Commands("-f it's", "2026 $(reboot)", "sqlite:///my runs.db").release()
    options = ["cronce", "release", "--ledger=sqlite:///my runs.db", "--reason", "WHY"]
    assert shlex.split(line) == [*options, "--", "-f it's", "2026 $(reboot)"]


def test_a_command_does_not_repeat_a_password() -> None:
    """Whoever pastes it fills it in."""
    line = Commands(JOB, PERIOD, "postgresql://ada:secret@db/shop").runs()
    assert shlex.split(line) == ["cronce", "runs", "--ledger=postgresql://ada:***@db/shop", JOB]


def test_where_there_are_schedules_a_run_is_started_through_its_own() -> None:
    """With the group, where it was given; the reason of a force is recorded."""
    commands = Commands(JOB, PERIOD, "dynamodb://runs?region=eu-west-1", group="other", has_schedules=True)
    failed = advise(run(status=Status.FAILED, reason=Reason.EXIT_CODE), T0, commands)
    options = "--ledger='dynamodb://runs?region=eu-west-1' --schedule-group=other"
    assert [shlex.split(line) for line in commands_of(failed)] == [
        shlex.split(f"cronce rerun {options} {JOB} {PERIOD}"),
    ]
    done = advise(run(status=Status.SUCCEEDED), T0, Commands(JOB, PERIOD, has_schedules=True))
    assert commands_of(done) == [f"cronce rerun --force --reason WHY {JOB} {PERIOD}"]


@pytest.mark.parametrize(
    ("changes", "looked_at", "run_again"),
    [
        ({"status": Status.SUCCEEDED}, False, False),
        ({"lease_until": T0}, False, False),
        ({"lease_until": T0 - timedelta(seconds=6)}, True, True),
        ({"lease_until": None}, True, False),
        ({"status": Status.FAILED}, True, True),
        ({"status": Status.SKIPPED}, True, True),
        ({"status": Status.MISSED}, True, True),
    ],
)
def test_a_run_that_neither_succeeded_nor_is_active_deserves_a_look(
    changes: dict[str, object], *, looked_at: bool, run_again: bool
) -> None:
    """Under the table of runs; one that is held is not offered to be run again."""
    assert deserves_a_look(run(**changes), T0) is looked_at
    assert may_be_run_again(run(**changes), T0, UNKNOWN) is run_again


def test_a_requested_stop_is_shown() -> None:
    """With who asked."""
    asked = run(cancel_requested="replaced by 2026-11-30")
    assert "asked to stop: replaced by 2026-11-30" in advise(asked, T0 + timedelta(seconds=1), COMMANDS).meaning


LOST = {"status": Status.FAILED, "reason": Reason.TASK_STOPPED}
EXITED = {"status": Status.FAILED, "reason": Reason.EXIT_CODE, "exit_code": 3}
UNCLAIMED = {"status": Status.FAILED, "reason": Reason.UNCLAIMED, "attempt": 0, "exit_code": 0}
MISSED = {"status": Status.MISSED, "reason": Reason.NEVER_DELIVERED, "attempt": 0}
AT_WORK = MISSED | {"reason": Reason.NEVER_CLAIMED}


@pytest.mark.parametrize(
    ("changes", "policy", "says", "commands"),
    [
        (EXITED | {"failures": 1}, {}, "No machine starts it again: no retry is left (backoff_limit=0)", [AGAIN]),
        (EXITED | {"failures": 1}, {"backoff_limit": 2}, "A machine starts attempt 2 10s after it ended", [AGAIN]),
        (EXITED | {"failures": 3}, {"backoff_limit": 2}, "no retry is left (backoff_limit=2)", [AGAIN]),
        (EXITED, {"suspend": True}, "No machine starts it again: the job is suspended", [AGAIN]),
        (LOST, {}, "A machine starts attempt 2 10s after it ended", [AGAIN]),
        (LOST, {"on_lost": OnLost.HOLD}, "only a person may start it again (on_lost=HOLD)", [RELEASE]),
        ({"lease_until": T0 - timedelta(minutes=1)}, {"on_lost": OnLost.HOLD}, "HELD", [RELEASE]),
        ({"lease_until": T0 - timedelta(minutes=1)}, {}, "The watchdog or the next start begins attempt 2", [AGAIN]),
        (UNCLAIMED, {}, "the work may be done. No machine repeats it", [RELEASE]),
        (MISSED, {}, "No machine starts it (catch_up=NONE)", [AGAIN]),
        (MISSED, {"catch_up": CatchUp.LATEST}, "The watchdog may catch it up (catch_up=LATEST)", [AGAIN]),
        (MISSED, {"catch_up": CatchUp.LATEST, "suspend": True}, "No machine starts it", [AGAIN]),
        (AT_WORK, {"catch_up": CatchUp.LATEST}, "No machine repeats it", [AGAIN]),
    ],
)
def test_with_the_jobs_policy_the_page_says_who_does_what_next(
    changes: dict[str, object], policy: dict[str, Any], says: str, commands: list[str]
) -> None:
    """And offers only commands that the protocol accepts."""
    about = About(policy=Policy(**policy))
    advice = advise(run(**changes), T0, COMMANDS, about)
    assert says in advice.meaning
    assert commands_of(advice) == commands
    offered = commands == [AGAIN] and changes not in (
        MISSED,
        AT_WORK,
    )  # a tick that nobody claimed has to be checked first
    assert may_be_run_again(run(**changes), T0, about) is offered


@pytest.mark.parametrize("missed", [MISSED, AT_WORK])
def test_a_tick_that_nobody_claimed_is_not_repeated_before_somebody_has_checked(missed: dict[str, Any]) -> None:
    """The work of a job without the guard may be done."""
    first, _ = advise(run(**missed), T0, COMMANDS).steps
    assert "check that first" in first.text
    assert first.command is None
