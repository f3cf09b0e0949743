"""Whether a machine tries a run again: every rule, on both sides of its boundary."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from cronce import OnLost, Policy, Reason, Status
from cronce.protocol.records import PastAttempt, RunRecord
from cronce.protocol.retrying import (
    MOST_CRASHES,
    MOST_LAUNCHES,
    Leave,
    Relaunch,
    after_attempt,
    delay_after,
    launch_due,
)
from tests.support.builders import T0, run

RETRIES = Policy(backoff_limit=2)


def failed(reason: Reason | str, **changes: Any) -> RunRecord:  # noqa: ANN401
    """A failed run."""
    return run(**{"status": Status.FAILED, "reason": reason, "scheduled_at": T0} | changes)


def died(times: int) -> tuple[PastAttempt, ...]:
    """Earlier attempts that died."""
    return tuple(
        PastAttempt(attempt=n, status=Status.FAILED, owner="other", reason=Reason.TASK_STOPPED) for n in range(times)
    )


@pytest.mark.parametrize(
    ("times", "seconds"),
    [(0, 10), (1, 10), (2, 20), (3, 40), (4, 80), (5, 160), (6, 320), (7, 360), (8, 360), (1000, 360)],
)
def test_delays_double_up_to_six_minutes(times: int, seconds: int) -> None:
    """As Kubernetes has it."""
    assert delay_after(times) == timedelta(seconds=seconds)


GOES_ON = {
    "failed once of three times": (failed(Reason.EXIT_CODE, failures=1), RETRIES, 10),
    "failed twice of three times": (failed(Reason.EXIT_CODE, failures=2), RETRIES, 20),
    "raised": (failed(Reason.ERROR, failures=1), RETRIES, 10),
    "took too long": (failed(Reason.ACTIVE_DEADLINE, failures=1), RETRIES, 10),
    "interrupted, without a retry to spend": (failed(Reason.INTERRUPTED), Policy(), 10),
    "interrupted under HOLD": (failed(Reason.INTERRUPTED), Policy(on_lost=OnLost.HOLD), 10),
    "crashed": (failed(Reason.TASK_STOPPED), Policy(), 10),
    "its lease ran out": (failed(Reason.LEASE_LOST), Policy(), 10),
    "its host's clock was off": (failed(Reason.CLOCK_SKEW), Policy(), 10),
    "crashed as often as it may": (failed(Reason.TASK_STOPPED, attempts=died(MOST_CRASHES - 1)), Policy(), 160),
    "failed once and crashed once": (failed(Reason.EXIT_CODE, failures=1, attempts=died(1)), RETRIES, 20),
}


@pytest.mark.parametrize(("standing", "policy", "seconds"), GOES_ON.values(), ids=GOES_ON)
def test_a_run_that_may_be_tried_again_is(standing: RunRecord, policy: Policy, seconds: int) -> None:
    """As the first launch of its next attempt."""
    expected = Relaunch(attempt=2, launch=1, delay=timedelta(seconds=seconds))
    assert after_attempt(standing, policy=policy, enabled=True) == expected


ENDS = {
    "no retry": (failed(Reason.EXIT_CODE, failures=1), Policy(), "backoff_limit=0"),
    "no retry left": (failed(Reason.EXIT_CODE, failures=3), RETRIES, "backoff_limit=2"),
    "crashed with no retry left": (failed(Reason.TASK_STOPPED, failures=3), RETRIES, "backoff_limit=2"),
    "held": (failed(Reason.TASK_STOPPED), Policy(on_lost=OnLost.HOLD), "HOLD"),
    "held after its lease": (failed(Reason.LEASE_LOST), Policy(on_lost=OnLost.HOLD), "HOLD"),
    "crashed too often": (failed(Reason.TASK_STOPPED, attempts=died(MOST_CRASHES)), Policy(), "died 6 times"),
    "unclaimed": (failed(Reason.UNCLAIMED, attempt=0), RETRIES, "may be done"),
    "replaced": (failed(Reason.REPLACED), RETRIES, "replaced"),
    "released": (failed(Reason.RELEASED), RETRIES, "released"),
    "suspended": (failed(Reason.INTERRUPTED), Policy(suspend=True), "suspended"),
    "done": (run(status=Status.SUCCEEDED), RETRIES, "SUCCEEDED"),
    "running": (run(), RETRIES, "RUNNING"),
    "skipped": (run(status=Status.SKIPPED, reason=Reason.OVERLAP), RETRIES, "SKIPPED"),
    "too late": (run(status=Status.MISSED, reason=Reason.TOO_LATE), RETRIES, "MISSED"),
}


@pytest.mark.parametrize(("standing", "policy", "why"), ENDS.values(), ids=ENDS)
def test_any_other_run_is_left(standing: RunRecord, policy: Policy, why: str) -> None:
    """With the reason."""
    decision = after_attempt(standing, policy=policy, enabled=True)
    assert isinstance(decision, Leave)
    assert why in decision.why


@pytest.mark.parametrize("name", ENDS)
def test_a_run_that_failed_for_good_waits_for_a_person(name: str) -> None:
    """Not one that a person ended, switched off, or that did not fail."""
    standing, policy, _ = ENDS[name]
    decision = after_attempt(standing, policy=policy, enabled=True)
    assert isinstance(decision, Leave)
    for_person = name.startswith(("no retry", "crashed", "held", "unclaimed"))
    assert decision.for_person is for_person


def test_a_disabled_schedule_starts_nothing() -> None:
    """A person has switched it off."""
    assert after_attempt(failed(Reason.INTERRUPTED), policy=RETRIES, enabled=False) == Leave("the schedule is disabled")


ENDED = failed(Reason.EXIT_CODE, failures=1, finished_at=T0)
SIX = timedelta(minutes=6)


@pytest.mark.parametrize(
    ("since", "now", "launch"),
    [
        (timedelta(seconds=-1), timedelta(0), 1),
        (timedelta(0), timedelta(minutes=1), None),
        (timedelta(minutes=5), SIX, 2),
        (SIX, SIX + timedelta(minutes=1), None),
        (timedelta(minutes=-9), timedelta(minutes=19), 4),
        (3 * SIX, 5 * SIX - timedelta(seconds=1), 5),
        (None, timedelta(0), 1),
        (None, 5 * SIX - timedelta(seconds=1), 5),
        (None, 5 * SIX, None),
        (5 * SIX, 5 * SIX + timedelta(days=1), None),
        (timedelta(minutes=-2), timedelta(minutes=-1), 1),
    ],
)
def test_a_launch_is_due_once_and_again_every_six_minutes(
    since: timedelta | None, now: timedelta, launch: int | None
) -> None:
    """The first one waits as after any failure. A look that comes late makes one launch, and not all that were due."""
    due = launch_due(ENDED, policy=RETRIES, enabled=True, since=None if since is None else T0 + since, now=T0 + now)
    if launch is None:
        assert due is None
    else:
        delay = timedelta(seconds=10 if launch == 1 else 0)
        assert due == Relaunch(attempt=2, launch=launch, delay=delay)


@pytest.mark.parametrize("late", [timedelta(0), timedelta(days=1)])
def test_after_five_launches_a_person_has_to_look(late: timedelta) -> None:
    """Once, also if the look comes a day later."""
    due = launch_due(ENDED, policy=RETRIES, enabled=True, since=T0 + 4 * SIX, now=T0 + MOST_LAUNCHES * SIX + late)
    assert isinstance(due, Leave)
    assert due.for_person


@pytest.mark.parametrize(
    ("standing", "policy", "enabled"),
    [
        (ENDED, Policy(), True),
        (ENDED, RETRIES, False),
        (ENDED, Policy(backoff_limit=2, suspend=True), True),
        (run(status=Status.SUCCEEDED, finished_at=T0), RETRIES, True),
        (run(), RETRIES, True),
    ],
)
def test_nothing_is_due_for_a_run_that_no_machine_starts(standing: RunRecord, policy: Policy, enabled: bool) -> None:  # noqa: FBT001
    """No retry, disabled, suspended, done, or at work."""
    assert launch_due(standing, policy=policy, enabled=enabled, since=None, now=T0) is None
