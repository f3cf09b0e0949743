"""Whether a machine starts another task for a run whose task never claimed it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from cronce import Policy, Trigger
from cronce.protocol.records import RunRecord
from cronce.protocol.requests import too_late
from cronce.protocol.retrying import MOST_LAUNCHES, Leave, Relaunch, after_attempt, delay_after, never_began
from cronce.vocabulary.states import Reason
from cronce_lambdas.dead_letters import DeadLetter
from cronce_lambdas.stopped_task import StoppedTask

LAUNCH_WITHIN = timedelta(days=1)
"""How late a tick without a row may be launched again if the job has no starting deadline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedLaunch:
    """A task that did not claim its run: it stopped before, or could not be started.

    Attributes:
        scheduled_at: The nominal time of the period, if it has one.
        launch: Number of this launch within the attempt.
        ended_by_itself: True if its command ran to an end, and not because the ledger was unavailable.
        exit_code: Exit code of the job's container; None if it never ran or was lost.
        known: True if the run had a row before; else only the launch itself says that there is one.
    """

    scheduled_at: datetime | None
    trigger: Trigger
    launch: int
    ended_by_itself: bool = False
    exit_code: int | None = None
    known: bool = True

    @classmethod
    def of_task(cls, task: StoppedTask, *, known: bool = True) -> FailedLaunch:
        """The launch of a task that has stopped."""
        return cls(
            scheduled_at=task.scheduled_at,
            trigger=task.trigger,
            launch=task.launch,
            ended_by_itself=task.may_have_worked,
            exit_code=task.exit_code,
            known=known,
        )

    @classmethod
    def of_letter(cls, letter: DeadLetter, *, known: bool = True) -> FailedLaunch:
        """The launch that EventBridge Scheduler could not carry out."""
        return cls(scheduled_at=letter.scheduled_at, trigger=letter.trigger, launch=letter.launch, known=known)

    @property
    def by_machine(self) -> bool:
        """True if the recorder or the watchdog started it, rather than the schedule or a person."""
        return self.trigger in (Trigger.RETRY, Trigger.CATCH_UP)


def after_launch(
    failed: FailedLaunch, run: RunRecord, *, policy: Policy, enabled: bool, now: datetime
) -> Relaunch | Leave:
    """What follows a launch whose task did not claim its run.

    Args:
        failed: The launch.
        run: The run as its row says; another task's or nobody's.
        policy: The job's current policy.
        enabled: True if the job's schedule is enabled.
        now: Aware.
    """
    if run.reason == Reason.UNCLAIMED:
        return after_attempt(run, policy=policy, enabled=enabled)
    if failed.trigger.by_person:
        return Leave("a person started it, and sees that it did not run")
    began = not never_began(run)
    if began and not (failed.by_machine and _may_go_on(run, policy)):
        return Leave(f"the run is {run.status}, attempt {run.attempt}")
    if failed.ended_by_itself and (failed.exit_code == 0 or not began):
        # An attempt in the row shows that the job asks. A later task that failed did not get as far as its work.
        return Leave("its command ended by itself without asking the ledger", for_person=True)
    if not enabled:
        return Leave("the schedule is disabled")
    if policy.suspend:
        return Leave("the job is suspended")
    if failed.launch >= MOST_LAUNCHES:
        return Leave(f"{failed.launch} tasks of it stopped before they claimed it", for_person=True)
    delay = delay_after(failed.launch)
    deadline = policy.starting_deadline or (None if failed.known else LAUNCH_WITHIN)
    if not began and too_late(run.scheduled_at or failed.scheduled_at, deadline, now + delay):
        return Leave("its starting deadline has passed", for_person=True)
    return Relaunch(attempt=run.attempt + 1, launch=failed.launch + 1, delay=delay)


def may_have_been_refused(run: RunRecord, policy: Policy, now: datetime) -> bool:
    """True if a task that asked for the run may have been refused without a change of the row."""
    return never_began(run) and (policy.suspend or too_late(run.scheduled_at, policy.starting_deadline, now))


def _may_go_on(run: RunRecord, policy: Policy) -> bool:
    return isinstance(after_attempt(run, policy=policy, enabled=True), Relaunch)
