"""An attempt that was started, one look at a time."""

from __future__ import annotations

from datetime import timedelta

import pytest

from cronce.cli.actions.follow import AttemptResult, StartedAttempt, result_of_attempt
from cronce.ecs import CallRefusedError, CallUnavailableError
from cronce.protocol.records import RunRecord
from cronce.vocabulary.errors import LedgerUnavailableError
from cronce.vocabulary.states import Reason, Status
from tests.support.builders import JOB, LEASE_IS_OVER_AT, PERIOD, T0, TICK, run

FAILED_BEFORE = run(status=Status.FAILED, reason=Reason.EXIT_CODE, exit_code=3, version=2)


class Scripted:
    """A ledger and an ECS with scripted answers."""

    def __init__(self, *runs: RunRecord | Exception | None, stopped: str | Exception | None = None) -> None:
        self._runs = list(runs)
        self._stopped = stopped
        self.questions = 0

    def run(self, _job: str, _period: str) -> RunRecord | None:
        """The next answer; the last one stays."""
        answer = self._runs.pop(0) if len(self._runs) > 1 else self._runs[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def stop_with(self, stopped: str | Exception | None) -> None:
        """Let ECS answer so from now on."""
        self._stopped = stopped

    def stop_reason(self, _task_arn: str) -> str | None:
        """Always the same."""
        self.questions += 1
        if isinstance(self._stopped, Exception):
            raise self._stopped
        return self._stopped


def looks(
    world: Scripted, count: int, *, before: RunRecord | None = None, task: str | None = "task"
) -> list[AttemptResult | None]:
    """What that many looks at attempt 2, or at 1 of a new run, find."""
    attempt = (before.attempt if before else 0) + 1
    started = StartedAttempt(world, world, job=JOB, period=PERIOD, attempt=attempt, before=before, task=task)
    return [started.look(T0) for _ in range(count)]


@pytest.mark.parametrize(
    ("standing", "expected"),
    [
        (None, None),
        (FAILED_BEFORE, None),
        (run(attempt=2), None),
        (run(attempt=2, status=Status.SUCCEEDED), AttemptResult(ok=True, text="SUCCEEDED, took 0.0s")),
        (run(attempt=3, status=Status.SUCCEEDED), AttemptResult(ok=True, text="SUCCEEDED, took 0.0s")),
        (
            run(attempt=2, status=Status.FAILED, reason=Reason.EXIT_CODE, exit_code=3),
            AttemptResult(ok=False, text="FAILED: exit code 3, took 0.0s"),
        ),
        (
            run(attempt=2, status=Status.FAILED, reason=Reason.ERROR, error="no\nway"),
            AttemptResult(ok=False, text="FAILED: error, no ..., took 0.0s"),
        ),
        (
            run(attempt=2, status=Status.SKIPPED, reason=Reason.OVERLAP, blocked_by="2026-11-28"),
            AttemptResult(ok=False, text="SKIPPED: overlap with 2026-11-28"),
        ),
        (
            run(attempt=1, version=3, status=Status.FAILED, reason="launch_failed: no capacity"),
            AttemptResult(ok=False, text="FAILED: launch_failed: no capacity, took 0.0s"),
        ),
        # The watchdog tidies up what stood before, while the task still comes up.
        (run(attempt=1, version=3, status=Status.FAILED, reason=Reason.LEASE_LOST), None),
    ],
)
def test_only_the_started_attempt_or_a_later_one_is_the_outcome(
    standing: RunRecord | None, expected: AttemptResult | None
) -> None:
    """What stood before is not news."""
    assert result_of_attempt(standing, attempt=2, before=FAILED_BEFORE, now=T0) == expected


def test_an_owner_that_falls_silent_is_an_outcome() -> None:
    """When its lease has expired, and not before."""
    claimed = run(attempt=2)
    assert result_of_attempt(claimed, attempt=2, before=FAILED_BEFORE, now=LEASE_IS_OVER_AT) is None
    lost = result_of_attempt(claimed, attempt=2, before=FAILED_BEFORE, now=LEASE_IS_OVER_AT + TICK)
    assert lost is not None
    assert not lost.ok


def test_a_missed_mark_of_the_watchdog_is_not_the_end_of_a_task_that_comes_up() -> None:
    """The watchdog may mark the tick MISSED while the person's task is starting."""
    missed = run(attempt=0, status=Status.MISSED, reason=Reason.NEVER_DELIVERED)
    assert result_of_attempt(missed, attempt=1, before=None, now=T0) is None


def test_a_task_that_stops_before_it_claims_is_found() -> None:
    """It leaves the row as it was, so ECS is asked; the recorder gets a few looks to say it better."""
    world = Scripted(FAILED_BEFORE, stopped="CannotPullContainerError")
    found = looks(world, 10, before=FAILED_BEFORE)
    assert found[:7] == [None] * 7
    assert found[7] == AttemptResult(
        ok=False, text="not claimed: its task stopped before it claimed the run: CannotPullContainerError"
    )
    assert world.questions == 1


def test_a_task_that_claimed_is_not_asked_for() -> None:
    """The ledger has it from then on."""
    world = Scripted(run(attempt=1), stopped="Essential container in task exited")
    assert looks(world, 20) == [None] * 20
    assert world.questions == 0


def test_a_task_that_claims_and_ends_between_two_looks_is_a_success() -> None:
    """Although ECS says by then that it stopped."""
    world = Scripted(None, None, None, None, None, run(status=Status.SUCCEEDED), stopped="exited")
    assert looks(world, 6)[-1] == AttemptResult(ok=True, text="SUCCEEDED, took 0.0s")


def test_ecs_is_not_asked_about_the_attempt_of_another_start() -> None:
    """Only its row is read."""
    world = Scripted(run(), stopped="exited")
    looks(world, 20, task=None)
    assert world.questions == 0


def test_a_short_outage_is_sat_out() -> None:
    """The task works on, so there is no reason to give up at once."""
    away = LedgerUnavailableError("table runs", "throttled", transient=True)
    stopped = CallUnavailableError("DescribeTasks", "busy")
    world = Scripted(*[away] * 29, run(status=Status.SUCCEEDED), stopped=stopped)
    assert looks(world, 30)[-1] == AttemptResult(ok=True, text="SUCCEEDED, took 0.0s")


@pytest.mark.parametrize(("transient", "survived"), [(True, 29), (False, 0)])
def test_a_long_outage_is_an_error(*, transient: bool, survived: int) -> None:
    """And one that does not pass by itself, at once."""
    world = Scripted(LedgerUnavailableError("table runs", "gone", transient=transient))
    started = StartedAttempt(world, world, job=JOB, period=PERIOD, attempt=1, before=None, task="task")
    for _ in range(survived):
        assert started.look(T0) is None
    with pytest.raises(LedgerUnavailableError):
        started.look(T0)


def test_ecs_that_does_not_answer_is_no_outcome() -> None:
    """It is asked again later."""
    world = Scripted(None, stopped=CallUnavailableError("DescribeTasks", "busy"))
    assert looks(world, 20) == [None] * 20
    assert world.questions == 4


def test_a_task_that_ecs_does_not_show_is_said_and_not_waited_for_without_end() -> None:
    """For want of `ecs:DescribeTasks`, for instance: the claim may still come, for ten minutes."""
    denied = CallRefusedError("describe_tasks for task", "AccessDeniedException: no", code="AccessDeniedException")
    world = Scripted(None, stopped=denied)
    started = StartedAttempt(world, world, job=JOB, period=PERIOD, attempt=1, before=None, task="task")
    assert [started.look(T0) for _ in range(5)] == [None] * 5
    assert started.warning is not None
    assert "AccessDeniedException" in started.warning
    assert started.look(T0 + timedelta(minutes=10)) is None
    result = started.look(T0 + timedelta(minutes=10, seconds=1))
    assert result is not None
    assert not result.ok
    assert "no claim came within 10m" in result.text


def test_work_that_never_asks_the_ledger_is_said_to_be_waited_for() -> None:
    """A target of a clock, which has no task: the claim may still come, for ten minutes."""
    world = Scripted(None)
    started = StartedAttempt(world, None, job=JOB, period=PERIOD, attempt=1, before=None, task="command ./work")
    warnings = []
    for seconds in (0, 15):
        assert started.look(T0 + timedelta(seconds=seconds)) is None
        warnings.append(started.warning or "")
    assert ["this waits 10m at most" in warning for warning in warnings] == [False, True]
    result = started.look(T0 + timedelta(minutes=10, seconds=1))
    assert result is not None
    assert "Its work was not started, or did not ask the ledger." in result.text


@pytest.mark.parametrize(
    "unseen",
    [
        CallRefusedError("describe_tasks for task", "ECS does not list it"),
        CallUnavailableError("describe_tasks for task", "busy"),
    ],
    ids=["not listed", "no answer"],
)
def test_a_task_that_ecs_never_shows_ends_the_wait_with_the_next_step(unseen: Exception) -> None:
    """One answer among them that shows it begins the ten minutes anew, and is no warning."""
    world = Scripted(None, stopped=unseen)
    started = StartedAttempt(world, world, job=JOB, period=PERIOD, attempt=1, before=None, task="task")
    assert [started.look(T0) for _ in range(5)] == [None] * 5
    world.stop_with(None)
    assert [started.look(T0 + timedelta(minutes=9)) for _ in range(5)] == [None] * 5
    assert started.warning is None
    world.stop_with(unseen)
    assert [started.look(T0 + timedelta(minutes=18)) for _ in range(5)] == [None] * 5
    assert started.look(T0 + timedelta(minutes=28)) is None
    result = started.look(T0 + timedelta(minutes=28, seconds=1))
    assert result is not None
    assert not result.ok
    assert "Look for task in ECS" in result.text
    assert f"cronce show {JOB} {PERIOD}" in result.text


def test_a_task_that_ecs_shows_is_waited_for_however_long_its_image_takes() -> None:
    """It is pending."""
    world = Scripted(None, stopped=None)
    started = StartedAttempt(world, world, job=JOB, period=PERIOD, attempt=1, before=None, task="task")
    assert [started.look(T0 + timedelta(minutes=minute)) for minute in range(60)] == [None] * 60
    assert started.warning is None


def test_a_task_that_ended_well_without_a_claim_may_have_done_its_work() -> None:
    """Its image may lack the guard."""
    world = Scripted(FAILED_BEFORE, stopped="Essential container in task exited; digest: exit code 0")
    result = looks(world, 10, before=FAILED_BEFORE)[-1]
    assert result is not None
    assert "its work may be done" in result.text
    assert "not run" not in result.text


def test_a_run_that_the_recorder_marked_unclaimed_is_an_end() -> None:
    """No attempt began, so its number does not tell."""
    marked = run(attempt=0, status=Status.FAILED, reason=Reason.UNCLAIMED, exit_code=0)
    result = result_of_attempt(marked, attempt=1, before=None, now=T0)
    assert result is not None
    assert not result.ok
