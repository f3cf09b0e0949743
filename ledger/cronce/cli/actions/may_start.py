"""Whether a person may start a run now, in words. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import assert_never

from cronce.operate.advice import Commands
from cronce.operate.wording import age, length, short_owner
from cronce.protocol.by_person import MayNotStart, MayStart, attempt_after
from cronce.protocol.observing import LOST_REASONS
from cronce.protocol.overlap import Course
from cronce.protocol.records import Liveness, RunRecord, UnreadableRow
from cronce.protocol.requests import RefusalReason
from cronce.vocabulary.policy import OnLost
from cronce.vocabulary.states import Reason, Status


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
        return attempt_after(self.run)


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


def in_words(decision: MayStart | MayNotStart, now: datetime, commands: Commands) -> Start | Refuse:
    """The decision for a person.

    Args:
        decision: What a claim by the person's task would get.
        now: Aware.
        commands: The command lines to suggest about the run.
    """
    beside = decision.beside
    if isinstance(decision, MayNotStart):
        if beside is None:
            return _refuse(decision.reason, decision.run, now, commands)
        which = "another run of the job" if beside.job == commands.job else "a run of its exclusion group"
        why = f"{which} is active: {_beside(beside, now, commands)}. Wait until it has ended. To see it:"
        # A row without a lease never changes by itself, so waiting for it is of no use.
        wait_for = None if beside.liveness(now) is Liveness.NO_LEASE else beside
        command = commands.show(beside.period, beside.job)
        return Refuse(run=decision.run, reason=decision.reason, why=why, command=command, wait_for=wait_for)
    remark = ""
    if beside is not None:
        act = "stop" if decision.course is Course.REPLACE else "wait for"
        remark = f"It will {act} {_beside(beside, now, commands)} ({decision.course})."
    return Start(run=decision.run, forced=decision.forced, remark=remark)


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
        case RefusalReason.HELD if run.status is Status.RUNNING and run.lease_until is None:
            command = commands.release()
            why = "its row has no lease, so no start takes it over. Once its owner has ended:"
        case RefusalReason.HELD if run.reason == Reason.UNCLAIMED:
            command = commands.release()
            why = (
                "its task ended with exit code 0 and never claimed the run, so the work may be done."
                " Check that. Only if it was not done:"
            )
        case RefusalReason.HELD:
            why = (
                "it is held after a crash (on_lost=HOLD), because it is unknown how far it got. If it may be run again:"
            )
            command = commands.release()
        case _:
            why = f"its task would be refused: {reason}"
            command = None
    return Refuse(run=run, reason=reason, why=why, command=command)


def _beside(run: RunRecord, now: datetime, commands: Commands) -> str:
    """Another active run, with its job if that is another job of the exclusion group."""
    job = "" if run.job == commands.job else f"{run.job} "
    return f"{job}{_active(run, now)}"


def _active(run: RunRecord, now: datetime) -> str:
    since = f", started {age(run.claimed_at, now=now)}" if run.claimed_at else ""
    return f"{run.period}, attempt {run.attempt} by {short_owner(run.owner)}{since}"
