"""Whether a machine starts another task for a run whose task stopped before it claimed. Pure."""

from __future__ import annotations

from datetime import datetime

from cronce import Policy
from cronce.protocol.records import RunRecord
from cronce.protocol.requests import too_late
from cronce.protocol.retrying import MOST_LAUNCHES, Leave, Relaunch, after_attempt, delay_after, never_began
from cronce_lambdas.stopped import StoppedTask


def after_launch(
    task: StoppedTask, run: RunRecord, *, policy: Policy, enabled: bool, now: datetime
) -> Relaunch | Leave:
    """What follows a task that stopped before it claimed its run.

    Args:
        task: The task.
        run: The run as its row says; another task's or nobody's.
        policy: The job's current policy.
        enabled: True if the job's schedule is enabled.
        now: Aware.
    """
    if task.trigger.by_person:
        return Leave("a person started it, and sees that it did not run")
    if task.may_have_worked and (task.exit_code == 0 or run.attempt == 0):
        # With an attempt in the row, the job is known to ask; then one that failed cannot have got as far as its work.
        return Leave("its command ended by itself without asking the ledger")
    if not enabled:
        return Leave("the schedule is disabled")
    if policy.suspend:
        return Leave("the job is suspended")
    if not never_began(run) and not (task.launched_by_machine and _may_go_on(run, policy)):
        return Leave(f"the run is {run.status}, attempt {run.attempt}")
    if task.launch >= MOST_LAUNCHES:
        return Leave(f"{task.launch} tasks of it stopped before they claimed it")
    delay = delay_after(task.launch)
    if never_began(run) and too_late(task.scheduled_at, policy.starting_deadline, now + delay):
        return Leave("its starting deadline has passed")
    return Relaunch(attempt=run.attempt + 1, launch=task.launch + 1, delay=delay)


def _may_go_on(run: RunRecord, policy: Policy) -> bool:
    return isinstance(after_attempt(run, policy=policy, enabled=True), Relaunch)
