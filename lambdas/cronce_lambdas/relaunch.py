"""Whether a machine starts the next task of a run, and how soon. Pure.

Two things are bounded on their own. Attempts that failed by their own doing: by the job's
`backoff_limit`. What the platform does to a job, and what `backoff_limit` therefore does not
count: crashes by `MOST_CRASHES`, launches whose task never claimed by `MOST_LAUNCHES`; a job that
runs out of memory every time, or whose image is gone, would else be started every minute for ever.
Interruptions have no bound: each is the act of a person or of the platform.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from cronce import OnLost, Policy, Reason, Status
from cronce.protocol.observing import LOST_REASONS
from cronce.protocol.records import RunRecord
from cronce_lambdas.stopped import StoppedTask

MOST_CRASHES = 5
"""So many attempts of a run may die without a word before a person has to look."""

MOST_LAUNCHES = 5
"""So many tasks may be started for an attempt without one of them claiming it."""

_SHORTEST = timedelta(seconds=10)
_LONGEST = timedelta(minutes=6)
"""Kubernetes' figures for the retries of a Job. EventBridge Scheduler rounds them up to a minute."""

_CRASHES = LOST_REASONS | {Reason.CLOCK_SKEW}


@dataclass(frozen=True, slots=True, kw_only=True)
class Relaunch:
    """Start a task for the run.

    Attributes:
        attempt: The number that the attempt will have.
        launch: Which launch of that attempt it is.
        delay: How long to wait first.
    """

    attempt: int
    launch: int
    delay: timedelta


@dataclass(frozen=True, slots=True)
class Leave:
    """Start nothing; `why` is for the log."""

    why: str


def after_attempt(run: RunRecord, *, policy: Policy, enabled: bool) -> Relaunch | Leave:
    """What follows on an attempt that has ended.

    Args:
        run: The run as it stands.
        policy: The job's, as it is defined now.
        enabled: True if the job's schedule is; one that a person switched off starts nothing.
    """
    if run.status is not Status.FAILED:
        return Leave(f"the run is {run.status}")
    if not enabled:
        return Leave("the schedule is disabled")
    if policy.suspend:
        return Leave("the job is suspended")
    if run.reason in (Reason.REPLACED, Reason.RELEASED):
        return Leave(f"the run was {run.reason}")
    if run.reason in LOST_REASONS and policy.on_lost is OnLost.HOLD:
        return Leave("the run is held for a person (on_lost=HOLD)")
    if run.failures > policy.backoff_limit:
        return Leave(f"no retry is left (backoff_limit={policy.backoff_limit})")
    crashes = sum(each.reason in _CRASHES for each in (*run.attempts, run.past()))
    if crashes > MOST_CRASHES:
        return Leave(f"it died {crashes} times")
    return Relaunch(attempt=run.attempt + 1, launch=1, delay=delay_after(run.failures + crashes))


def after_launch(
    task: StoppedTask, run: RunRecord, *, policy: Policy, enabled: bool, now: datetime
) -> Relaunch | Leave:
    """What follows on a task that stopped before it claimed its run.

    Args:
        task: The task.
        run: The run as it stands, another task's or nobody's.
        policy: The job's, as it is defined now.
        enabled: True if the job's schedule is.
        now: Aware.
    """
    if task.trigger.by_person:
        return Leave("a person started it, and sees that it did not run")
    if task.may_have_worked and (task.exit_code == 0 or run.attempt == 0):
        # With an attempt in the row, the job is known to ask; then one that failed cannot have got as far as its work.
        return Leave("it ran to an end of its own without asking the ledger")
    if not enabled:
        return Leave("the schedule is disabled")
    if policy.suspend:
        return Leave("the job is suspended")
    if not never_began(run) and not (task.launched_by_machine and _may_go_on(run, policy)):
        return Leave(f"the run is {run.status}, attempt {run.attempt}")
    if task.launch >= MOST_LAUNCHES:
        return Leave(f"{task.launch} tasks of it stopped before they claimed it")
    delay = delay_after(task.launch)
    if never_began(run) and too_late(task.scheduled_at, policy, now + delay):
        return Leave("its starting deadline is over")
    return Relaunch(attempt=run.attempt + 1, launch=task.launch + 1, delay=delay)


def never_began(run: RunRecord) -> bool:
    """True if the row only says that no task claimed the tick."""
    unclaimed = (Reason.NEVER_DELIVERED, Reason.LAUNCH_FAILED)
    return run.attempt == 0 and (run.reason or "").partition(":")[0] in unclaimed


def too_late(scheduled_at: datetime | None, policy: Policy, at: datetime) -> bool:
    """True if a run that never began may not begin at `at` any more."""
    deadline = policy.starting_deadline
    return deadline is not None and scheduled_at is not None and at - scheduled_at > deadline


def delay_after(times: int) -> timedelta:
    """10 s after the first time, then twice as long each time, at most 6 minutes."""
    return min(_SHORTEST * (1 << min(max(times - 1, 0), 10)), _LONGEST)


def _may_go_on(run: RunRecord, policy: Policy) -> bool:
    return isinstance(after_attempt(run, policy=policy, enabled=True), Relaunch)
