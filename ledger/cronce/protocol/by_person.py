"""Whether a person may start a run now: the rules of the claim, applied before a task is started. Pure."""

from __future__ import annotations

from datetime import datetime

from cronce.protocol.claiming import decide
from cronce.protocol.overlap import Course, course_beside
from cronce.protocol.records import Liveness, RunRecord
from cronce.protocol.requests import ClaimRequest, RefusalReason, Refused
from cronce.vocabulary.environment import ACTOR, FORCE, FORCE_ATTEMPT, NOTE
from cronce.vocabulary.names import RunName
from cronce.vocabulary.policy import Policy
from cronce.vocabulary.states import Reason, Status, Trigger
from cronce.vocabulary.values import replace, value_class


@value_class(kw_only=True)
class MayStart:
    """A task that starts now would get its claim.

    Attributes:
        run: The run as it was seen; None if no row exists.
        forced: True if the task needs the force: it repeats a success, or takes over a held run.
        course: What the task will do about `beside`: START, WAIT or REPLACE.
        beside: Another run of the job that is active; None if it does not matter.
    """

    run: RunRecord | None
    forced: bool = False
    course: Course = Course.START
    beside: RunRecord | None = None


@value_class(kw_only=True)
class MayNotStart:
    """A task that starts now would be refused and exit.

    Attributes:
        run: The run as it was seen; None if no row exists.
        reason: What its claim would be told.
        beside: The other run of the job that is active, if that is the reason.
    """

    run: RunRecord | None
    reason: RefusalReason
    beside: RunRecord | None = None


def attempt_after(run: RunRecord | None) -> int:
    """The number that the next attempt of the run will have; `run` is None if no row exists."""
    return (run.attempt if run else 0) + 1


def decide_for_person(
    run: RunRecord | None, holder: RunRecord | None, name: RunName, *, policy: Policy, force: bool, now: datetime
) -> MayStart | MayNotStart:
    """The answer that a claim by a person's task would get now.

    Args:
        run: The run as it is now; None if no row exists.
        holder: The run that holds the job's slot, or its exclusion group; None if both are free.
        name: The run that the person asks for.
        policy: The policy of the job.
        force: True to repeat a success, or to take over a held run.
        now: Aware.
    """
    ask = ClaimRequest(
        run=name,
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
        return MayNotStart(run=run, reason=refused.reason)
    if run is not None and run.status is Status.FAILED and run.reason == Reason.UNCLAIMED:
        # The claim leaves this to the person; the person has to know.
        if not force:
            return MayNotStart(run=run, reason=RefusalReason.HELD)
        forced = True
    own = holder is not None and (holder.job, holder.period) == (name.job, name.period)
    if holder is None or own or holder.liveness(now) is Liveness.EXPIRED:
        return MayStart(run=run, forced=forced)
    course = course_beside(holder, policy.concurrency_policy, name.scheduled_at)
    if course is Course.STEP_BACK:
        return MayNotStart(run=run, reason=RefusalReason.OVERLAPPING, beside=holder)
    return MayStart(run=run, forced=forced, course=course, beside=None if course is Course.START else holder)


def variables_of(run: RunRecord | None, *, forced: bool, actor: str, reason: str | None) -> dict[str, str]:
    """The variables with which the task claims as the person decided.

    Args:
        run: The run as it was seen.
        forced: True if the task needs the force. It gets the force for its attempt only: if it comes up after another
            task has begun that attempt, it repeats nothing.
        actor: The person.
        reason: Why, in words.
    """
    if not reason:
        return {ACTOR: actor}
    if not forced:
        return {ACTOR: actor, NOTE: reason}
    return {ACTOR: actor, FORCE: reason, FORCE_ATTEMPT: str(attempt_after(run))}
