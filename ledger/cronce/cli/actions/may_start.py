"""May a person start this run now? Pure: the claim's own rules, asked before a task is started for nothing."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import assert_never

from cronce.cli.output.advice import Commands
from cronce.cli.output.wording import age, length, short_owner
from cronce.protocol.claiming import decide
from cronce.protocol.observing import LOST_REASONS
from cronce.protocol.records import Liveness, RunRecord
from cronce.protocol.requests import ClaimRequest, RefusalReason, Refused
from cronce.protocol.slot import Course, course_beside
from cronce.vocabulary.policy import OnLost, Policy
from cronce.vocabulary.states import Status, Trigger
from cronce.vocabulary.values import replace, value_class


class Standing(StrEnum):
    """How a period stands, in the words of somebody who wants to fill a gap."""

    MISSING = "missing"
    """The ledger has no row: nothing ever started it."""
    DONE = "done"
    RUNNING = "running"
    FAILED = "failed"
    LOST = "lost"
    """Its owner died without a word; the next start takes it over."""
    HELD = "held"
    """It waits for a person to free it."""
    SKIPPED = "skipped"
    MISSED = "missed"


def standing_of(run: RunRecord | None, on_lost: OnLost, now: datetime) -> Standing:
    """How the run stands at `now`; None for no row."""
    lost = Standing.HELD if on_lost is OnLost.HOLD else Standing.LOST
    if run is None:
        return Standing.MISSING
    match run.status:
        case Status.SUCCEEDED:
            return Standing.DONE
        case Status.RUNNING:
            judged = {Liveness.NO_LEASE: Standing.HELD, Liveness.EXPIRED: lost}
            return judged.get(run.liveness(now), Standing.RUNNING)
        case Status.FAILED:
            return lost if run.reason in LOST_REASONS else Standing.FAILED
        case Status.SKIPPED:
            return Standing.SKIPPED
        case Status.MISSED:
            return Standing.MISSED
        case _:
            assert_never(run.status)


@value_class(kw_only=True)
class Start:
    """Start it.

    Attributes:
        attempt: The number that the attempt will have.
        forced: True if the task has to be told so: it repeats a success, or takes over a held run.
        remark: What will happen on the way; empty if nothing.
    """

    attempt: int
    forced: bool = False
    remark: str = ""


@value_class(kw_only=True)
class Refuse:
    """Do not start it: its task would leave at once.

    Attributes:
        reason: Stable, for scripts; what the claim would be told.
        why: For a person.
        in_the_way: The run to wait for, if it is enough to wait.
    """

    reason: RefusalReason
    why: str
    in_the_way: RunRecord | None = None


def may_start(
    run: RunRecord | None,
    holder: RunRecord | None,
    *,
    policy: Policy,
    scheduled_at: datetime | None,
    force: bool,
    now: datetime,
    commands: Commands,
) -> Start | Refuse:
    """What a claim by a person's task would be told if it came now.

    Args:
        run: The run as it stands; None for no row.
        holder: The run that holds the job's slot, None if it is free.
        policy: The job's.
        scheduled_at: The nominal time of the run, if it has one.
        force: True to repeat a success, or to take over a held run.
        now: Aware.
        commands: The lines to type about the run.
    """
    ask = ClaimRequest(
        job=commands.job,
        period=commands.period,
        token="nobody's",  # noqa: S106  # nothing is written
        owner="nobody",
        policy=policy,
        trigger=Trigger.MANUAL,
        scheduled_at=scheduled_at,
    )
    refused = decide(ask, run, now)
    forced = force and isinstance(refused, Refused)
    if forced:
        refused = decide(replace(ask, force="a person's reason"), run, now)
    if isinstance(refused, Refused):
        return _refuse(refused.reason, run, now, commands)
    course = Course.START
    if holder is not None and holder.period != commands.period and holder.liveness(now) is not Liveness.EXPIRED:
        course = course_beside(holder, policy.concurrency_policy, scheduled_at)
    if holder is not None and course is Course.STEP_BACK:
        why = (
            f"another run of the job is at work: {_at_work(holder, now)}. Wait for its end"
            f" ({policy.concurrency_policy}). Look at it: {commands.show(holder.period)}"
        )
        # A row without a lease never changes by itself, so waiting for it is of no use.
        in_the_way = None if holder.liveness(now) is Liveness.NO_LEASE else holder
        return Refuse(reason=RefusalReason.OVERLAPPING, why=why, in_the_way=in_the_way)
    remark = ""
    if holder is not None and course is Course.WAIT:
        remark = f"It will wait for {_at_work(holder, now)} (WAIT)."
    elif holder is not None and course is Course.REPLACE:
        remark = f"It will stop {_at_work(holder, now)} (REPLACE)."
    return Start(attempt=(run.attempt if run else 0) + 1, forced=forced, remark=remark)


def _refuse(reason: RefusalReason, run: RunRecord | None, now: datetime, commands: Commands) -> Refuse:
    assert run is not None  # noqa: S101  # a person is only refused for what stands
    match reason:
        case RefusalReason.ALREADY_SUCCEEDED:
            done = f" ({age(run.finished_at, now=now)})" if run.finished_at else ""
            again = commands.run_again(force=True)
            why = f"it is done{done}, attempt {run.attempt}. To repeat it all the same: {again}"
        case RefusalReason.RUNNING_ELSEWHERE:
            left = f", its lease lasts {length(run.lease_until - now)} more" if run.lease_until else ""
            why = f"it is at work: {_at_work(run, now)}{left}. Look at it: {commands.show()}"
            return Refuse(reason=reason, why=why, in_the_way=run)
        case RefusalReason.HELD if run.status is Status.RUNNING:
            why = f"its row has no lease, so nothing takes it over. Once its owner is gone: {commands.release()}"
        case RefusalReason.HELD:
            why = (
                "it is held after a crash (on_lost=HOLD), and nobody can say how far it got."
                f" If it may go on: {commands.release()}"
            )
        case _:
            why = f"its task would be refused: {reason}"
    return Refuse(reason=reason, why=why)


def _at_work(run: RunRecord, now: datetime) -> str:
    since = f", begun {age(run.claimed_at, now=now)}" if run.claimed_at else ""
    return f"{run.period}, attempt {run.attempt} by {short_owner(run.owner)}{since}"
