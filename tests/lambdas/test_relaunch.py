"""Whether a run gets another task after one that never claimed: every rule, on both sides of its boundary."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from cronce import Policy, Reason, Status, Trigger
from cronce.protocol.records import RunRecord
from cronce.protocol.retrying import MOST_LAUNCHES, Leave, Relaunch
from cronce_lambdas.relaunch import LAUNCH_WITHIN, FailedLaunch, after_launch
from cronce_lambdas.stopped_task import stopped_task
from tests.lambdas.events import stopped
from tests.support.builders import run
from tests.support.cloud import T0

RETRIES = Policy(backoff_limit=2)
SECOND = timedelta(seconds=1)


def failed(reason: Reason | str, **changes: Any) -> RunRecord:  # noqa: ANN401
    """A failed run."""
    return run(**{"status": Status.FAILED, "reason": reason, "scheduled_at": T0} | changes)


def unclaimed(*, known: bool = True, **changes: Any) -> FailedLaunch:  # noqa: ANN401
    """The launch of a task whose image could not be pulled."""
    task = stopped_task(stopped(**{"exit_code": None, "stop_code": "TaskFailedToStart"} | changes))
    assert task is not None
    return FailedLaunch.of_task(task, known=known)


NOBODY = failed(Reason.LAUNCH_FAILED, attempt=0)
MISSED = run(status=Status.MISSED, reason=Reason.NEVER_DELIVERED, attempt=0)
REFUSED = run(status=Status.MISSED, reason="launch_failed: AccessDeniedException", attempt=0)


def decide(
    failed_launch: FailedLaunch, standing: RunRecord, policy: Policy = RETRIES, *, at: datetime = T0
) -> Relaunch | Leave:
    """What follows the task."""
    return after_launch(failed_launch, standing, policy=policy, enabled=True, now=at)


@pytest.mark.parametrize("standing", [NOBODY, MISSED, REFUSED])
def test_a_tick_that_no_task_claimed_is_launched_again(standing: RunRecord) -> None:
    """The same attempt, the next launch; the first attempt is not counted."""
    assert decide(unclaimed(), standing, Policy()) == Relaunch(attempt=1, launch=2, delay=10 * SECOND)


def test_launches_have_a_bound_of_their_own() -> None:
    """The last that is made, and the first that is not."""
    last = decide(unclaimed(CRONCE_LAUNCH=str(MOST_LAUNCHES - 1)), NOBODY)
    assert last == Relaunch(attempt=1, launch=MOST_LAUNCHES, delay=80 * SECOND)
    over = decide(unclaimed(CRONCE_LAUNCH=str(MOST_LAUNCHES)), NOBODY)
    assert over == Leave("5 tasks of it stopped before they claimed it", for_person=True)


@pytest.mark.parametrize(("seconds", "goes_on"), [(49, True), (50, True), (51, False)])
def test_a_run_that_never_began_is_not_launched_after_its_starting_deadline(
    seconds: int,
    goes_on: bool,  # noqa: FBT001  # a column
) -> None:
    """The delay counts, because its task would be refused."""
    policy = Policy(starting_deadline=60 * SECOND)
    decision = decide(unclaimed(), NOBODY, policy, at=T0 + seconds * SECOND)
    assert isinstance(decision, Relaunch) is goes_on


@pytest.mark.parametrize(("seconds", "goes_on"), [(-10, True), (-9, False)])
def test_a_tick_of_which_only_its_task_speaks_is_launched_within_a_day(seconds: int, goes_on: bool) -> None:  # noqa: FBT001
    """A forged event may name every past tick; the watchdog's own marks have no such limit."""
    at = T0 + LAUNCH_WITHIN + seconds * SECOND
    assert isinstance(decide(unclaimed(known=False), NOBODY, at=at), Relaunch) is goes_on
    assert isinstance(decide(unclaimed(), NOBODY, at=at), Relaunch)


def test_the_retry_of_a_failed_run_that_did_not_start_is_launched_again() -> None:
    """However late: the run did start."""
    standing = failed(Reason.EXIT_CODE, failures=1)
    policy = Policy(backoff_limit=2, starting_deadline=SECOND)
    decision = decide(unclaimed(CRONCE_TRIGGER="retry"), standing, policy, at=T0 + timedelta(days=1))
    assert decision == Relaunch(attempt=2, launch=2, delay=10 * SECOND)


LEFT = {
    "a repeated delivery that did not start": (unclaimed(), failed(Reason.EXIT_CODE, failures=1), "FAILED, attempt 1"),
    "a retry, and no retry is left": (
        unclaimed(CRONCE_TRIGGER="retry"),
        failed(Reason.EXIT_CODE, failures=3),
        "FAILED, attempt 1",
    ),
    "another task works": (unclaimed(), run(), "RUNNING"),
    "another task is done": (unclaimed(CRONCE_TRIGGER="catch_up"), run(status=Status.SUCCEEDED), "SUCCEEDED"),
    "skipped": (unclaimed(), run(status=Status.SKIPPED), "SKIPPED"),
    "too late": (unclaimed(), run(status=Status.MISSED, reason=Reason.TOO_LATE, attempt=0), "MISSED"),
    "a person's": (unclaimed(CRONCE_TRIGGER="manual"), NOBODY, "a person"),
    "a backfill's": (unclaimed(CRONCE_TRIGGER="backfill"), NOBODY, "a person"),
    "it ran without asking": (unclaimed(exit_code=1, stop_code="EssentialContainerExited"), NOBODY, "by itself"),
    "it is done without asking": (unclaimed(exit_code=0, stop_code="EssentialContainerExited"), NOBODY, "by itself"),
}


@pytest.mark.parametrize(("task", "standing", "why"), LEFT.values(), ids=LEFT)
def test_any_other_task_that_never_claimed_is_left(task: FailedLaunch, standing: RunRecord, why: str) -> None:
    """With the reason."""
    decision = decide(task, standing)
    assert isinstance(decision, Leave)
    assert why in decision.why


def test_a_retry_that_died_before_it_asked_is_launched_again() -> None:
    """An earlier attempt claimed, so the job's work begins after the claim. One that exited with 0 is left."""
    standing = failed(Reason.INTERRUPTED)
    died_early: dict[str, Any] = {"stop_code": "EssentialContainerExited", "CRONCE_TRIGGER": "retry"}
    assert decide(unclaimed(exit_code=137, **died_early), standing) == Relaunch(attempt=2, launch=2, delay=10 * SECOND)
    assert isinstance(decide(unclaimed(exit_code=0, **died_early), standing), Leave)


@pytest.mark.parametrize(
    "task",
    [
        unclaimed(exit_code=69, stop_code="EssentialContainerExited"),
        unclaimed(exit_code=143, stop_code="SpotInterruption"),
        unclaimed(exit_code=137, stop_code="UserInitiated"),
    ],
    ids=["the ledger was away", "Spot", "stopped"],
)
def test_a_task_that_cannot_have_worked_is_launched_again(task: FailedLaunch) -> None:
    """Whatever its exit code says."""
    assert isinstance(decide(task, NOBODY), Relaunch)


@pytest.mark.parametrize(
    ("policy", "enabled", "why"),
    [(Policy(suspend=True), True, "suspended"), (Policy(), False, "disabled")],
)
def test_a_job_that_is_switched_off_is_not_launched(policy: Policy, enabled: bool, why: str) -> None:  # noqa: FBT001
    """By either switch."""
    decision = after_launch(unclaimed(), NOBODY, policy=policy, enabled=enabled, now=T0)
    assert isinstance(decision, Leave)
    assert why in decision.why


def test_a_catch_up_that_did_not_start_is_launched_again() -> None:
    """The row has the watchdog's mark."""
    task = unclaimed(CRONCE_TRIGGER=Trigger.CATCH_UP.value)
    assert isinstance(decide(task, MISSED), Relaunch)
