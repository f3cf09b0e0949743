"""Whether a person may start a run now: the claim's rules, applied before a task is started. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import assert_never

from cronce.cli.output.advice import Commands
from cronce.cli.output.wording import age, length, short_owner
from cronce.protocol.claiming import decide
from cronce.protocol.observing import LOST_REASONS
from cronce.protocol.overlap import Course, course_beside
from cronce.protocol.records import Liveness, RunRecord, UnreadableRow
from cronce.protocol.requests import ClaimRequest, RefusalReason, Refused
from cronce.vocabulary.names import RunName
from cronce.vocabulary.policy import OnLost, Policy
from cronce.vocabulary.states import Reason, Status, Trigger
from cronce.vocabulary.values import replace


class PeriodState(StrEnum):
    """The state of a period, as the plan of a backfill shows it."""

    MISSING = "missing"
    """No row exists: nothing ever started it."""
    DONE = "done"
    RUNNING = "running"
    FAILED = "failed"
    LOST = "lost"
    """Its owner died; the next start takes it over."""
    HELD = "held"
    """It must be released by a person first."""
    SKIPPED = "skipped"
    MISSED = "missed"
    UNREADABLE = "unreadable"
    """Its row cannot be read by this version."""


def period_state(run: RunRecord | UnreadableRow | None, on_lost: OnLost, now: datetime) -> PeriodState:
    """The state of the period at `now`; `run` is None if no row exists."""
    lost = PeriodState.HELD if on_lost is OnLost.HOLD else PeriodState.LOST
    if run is None:
        return PeriodState.MISSING
    if isinstance(run, UnreadableRow):
        return PeriodState.UNREADABLE
    match run.status:
        case Status.SUCCEEDED:
            return PeriodState.DONE
        case Status.RUNNING:
            judged = {Liveness.NO_LEASE: PeriodState.HELD, Liveness.EXPIRED: lost}
            return judged.get(run.liveness(now), PeriodState.RUNNING)
        case Status.FAILED:
            if run.reason == Reason.UNCLAIMED:
                return PeriodState.HELD
            return lost if run.reason in LOST_REASONS else PeriodState.FAILED
        case Status.SKIPPED:
            return PeriodState.SKIPPED
        case Status.MISSED:
            return PeriodState.MISSED
        case _:
            assert_never(run.status)


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """The run may be started.

    Attributes:
        run: The run as it was seen; None if no row exists.
        forced: True if the task needs the force: it repeats a success, or takes over a held run.
        remark: What will happen to another run; empty if nothing.
    """

    run: RunRecord | None
    forced: bool = False
    remark: str = ""

    @property
    def attempt(self) -> int:
        """The number that the attempt will have."""
        return (self.run.attempt if self.run else 0) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """The run must not be started: its task would be refused and exit.

    Attributes:
        run: The run as it was seen; None if no row exists.
        reason: What the claim would be told; stable, for scripts.
        why: For a person; it ends with a colon before `command`.
        command: What the person can type.
        wait_for: The active run to wait for, if waiting is enough.
    """

    run: RunRecord | None
    reason: RefusalReason
    why: str
    command: str | None = None
    wait_for: RunRecord | None = None


def person_may_start(
    run: RunRecord | None,
    holder: RunRecord | None,
    *,
    policy: Policy,
    scheduled_at: datetime | None,
    force: bool,
    now: datetime,
    commands: Commands,
) -> Start | Refuse:
    """The answer that a claim by a person's task would get now.

    Args:
        run: The run as it is now; None if no row exists.
        holder: The run that holds the job's slot; None if the slot is free.
        policy: The policy of the job.
        scheduled_at: The nominal time of the run, if it has one.
        force: True to repeat a success, or to take over a held run.
        now: Aware.
        commands: The command lines to suggest about the run.
    """
    ask = ClaimRequest(
        run=RunName.of(commands.job, commands.period, scheduled_at),
        token="nobody's",  # noqa: S106  # nothing is written
        owner="nobody",
        policy=policy,
        trigger=Trigger.MANUAL,
    )
    refused = decide(ask, run, now)
    forced = force and isinstance(refused, Refused)
    if forced:
        refused = decide(replace(ask, force="a person's reason"), run, now)
    if isinstance(refused, Refused):
        return _refuse(refused.reason, run, now, commands)
    if run is not None and run.status is Status.FAILED and run.reason == Reason.UNCLAIMED:
        # The claim leaves this to the person; the person has to know.
        if not force:
            why = (
                "its task ended with exit code 0 and never claimed the run, so the work may be done."
                " Check that. Only if it was not done:"
            )
            return Refuse(run=run, reason=RefusalReason.HELD, why=why, command=commands.release())
        forced = True
    course = Course.START
    if holder is not None and holder.period != commands.period and holder.liveness(now) is not Liveness.EXPIRED:
        course = course_beside(holder, policy.concurrency_policy, scheduled_at)
    if holder is not None and course is Course.STEP_BACK:
        why = (
            f"another run of the job is active: {_active(holder, now)}. Wait until it has ended"
            f" ({policy.concurrency_policy}). To see it:"
        )
        # A row without a lease never changes by itself, so waiting for it is of no use.
        wait_for = None if holder.liveness(now) is Liveness.NO_LEASE else holder
        show = commands.show(holder.period)
        return Refuse(run=run, reason=RefusalReason.OVERLAPPING, why=why, command=show, wait_for=wait_for)
    remark = ""
    if holder is not None and course is Course.WAIT:
        remark = f"It will wait for {_active(holder, now)} (WAIT)."
    elif holder is not None and course is Course.REPLACE:
        remark = f"It will stop {_active(holder, now)} (REPLACE)."
    return Start(run=run, forced=forced, remark=remark)


def _refuse(reason: RefusalReason, run: RunRecord | None, now: datetime, commands: Commands) -> Refuse:
    assert run is not None  # noqa: S101  # a person is refused only because of an existing row
    match reason:
        case RefusalReason.ALREADY_SUCCEEDED:
            done = f" ({age(run.finished_at, now=now)})" if run.finished_at else ""
            command: str | None = commands.run_again(force=True)
            why = f"it has succeeded{done}, attempt {run.attempt}. To repeat it anyway:"
        case RefusalReason.RUNNING_ELSEWHERE:
            left = f", its lease expires in {length(run.lease_until - now)}" if run.lease_until else ""
            why = f"it is active: {_active(run, now)}{left}. To see it:"
            return Refuse(run=run, reason=reason, why=why, command=commands.show(), wait_for=run)
        case RefusalReason.HELD if run.status is Status.RUNNING:
            command = commands.release()
            why = "its row has no lease, so no start takes it over. Once its owner has ended:"
        case RefusalReason.HELD:
            why = (
                "it is held after a crash (on_lost=HOLD), because it is unknown how far it got. If it may be run again:"
            )
            command = commands.release()
        case _:
            why = f"its task would be refused: {reason}"
            command = None
    return Refuse(run=run, reason=reason, why=why, command=command)


def _active(run: RunRecord, now: datetime) -> str:
    since = f", started {age(run.claimed_at, now=now)}" if run.claimed_at else ""
    return f"{run.period}, attempt {run.attempt} by {short_owner(run.owner)}{since}"
