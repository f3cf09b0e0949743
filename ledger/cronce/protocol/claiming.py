"""Acquire a run, or say why it must not start.

`decide` holds every rule about a single run; `claim` repeats it until the store accepts the decision.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import assert_never

from cronce.protocol.holding import Held, Outcome, finish, free_slot, renew
from cronce.protocol.observing import LOST_REASONS
from cronce.protocol.operations import Steps, get_run, read_clock, read_skew, swap
from cronce.protocol.overlap import announce, step_back_if_paused, take_slot
from cronce.protocol.records import KEPT_ATTEMPTS, Liveness, RunRecord, expiry, lease_end
from cronce.protocol.requests import ClaimRequest, RefusalReason, Refused, Skewed
from cronce.protocol.transitions import TRANSITIONS, Event
from cronce.vocabulary.errors import LedgerUnavailableError
from cronce.vocabulary.payloads import shortened
from cronce.vocabulary.policy import ConcurrencyPolicy, OnLost
from cronce.vocabulary.states import Reason, Status
from cronce.vocabulary.values import replace, value_class


def claim(ask: ClaimRequest) -> Steps[Held | Refused | Skewed]:
    """Acquire the run, the job's slot unless runs may overlap, and its group; exactly one claimant gets it."""
    taken = yield from _take_run(ask)
    if not isinstance(taken, Held):
        return taken
    try:
        if ask.policy.concurrency_policy is ConcurrencyPolicy.ALLOW:
            if ask.has_slot:
                paused = yield from step_back_if_paused(ask, taken, (yield from announce(ask.job)))
                if paused is not None:
                    return paused
        else:
            slotted = yield from take_slot(ask, taken)
            if isinstance(slotted, Refused):
                return slotted
            taken = slotted
            if ask.policy.exclusion_group is not None:
                from cronce.protocol.groups import take_group  # noqa: PLC0415  # few jobs are in a group

                grouped = yield from take_group(ask, taken, ask.policy.exclusion_group)
                if isinstance(grouped, Refused):
                    return grouped
                taken = grouped
    except LedgerUnavailableError as error:
        if not error.transient:
            yield from _give_back(taken, error)
        raise
    return (yield from _still_trusted(ask, taken))


@value_class
class Begin:
    """Write this RUNNING record; then the claimant holds the attempt."""

    record: RunRecord


@value_class
class Settle:
    """Write this final record, then refuse."""

    record: RunRecord
    reason: RefusalReason


@value_class
class Mine:
    """The claimant holds the run already: an earlier answer was lost."""

    record: RunRecord


_FINAL_FOR_MACHINES: Mapping[str, RefusalReason] = {
    Reason.OVERLAP: RefusalReason.OVERLAPPING,
    Reason.PAUSED: RefusalReason.PAUSED,
    Reason.REPLACED: RefusalReason.REPLACED,
    Reason.SUSPENDED: RefusalReason.SUSPENDED,
    Reason.TOO_LATE: RefusalReason.TOO_LATE,
}
"""Reason of a SKIPPED or MISSED row -> what each later claim by a machine is told. Only a person starts such a run."""


# The order of decisions. The first line that applies decides; `Event` names the change that is written.
# A force is for one attempt, if the person's command named it: else it forces nothing.
#
#   no row                 suspended? SKIPPED. Too late? MISSED. Else begin attempt 1.
#   SUCCEEDED              forced? Begin the next attempt from the start. Else refuse ALREADY_SUCCEEDED.
#   RUNNING                my token? It is mine: an answer was lost.
#                          no lease? Refuse HELD: only a person may judge a foreign row.
#                          lease not expired (plus clock skew)? Refuse RUNNING_ELSEWHERE.
#                          else it is lost, see below.
#   lost (RUNNING with an expired lease, FAILED by lease or stopped task)
#                          on_lost=HOLD and not forced? Refuse HELD. Suspended? Refuse SUSPENDED.
#                          a machine, and no retry left? Refuse ATTEMPTS_EXHAUSTED. Else begin the next attempt.
#   FAILED otherwise       suspended? Refuse SUSPENDED. No attempt ever began and too late? Refuse TOO_LATE.
#                          a machine: replaced? Refuse REPLACED. Unclaimed? Refuse HELD.
#                          No retry left? Refuse ATTEMPTS_EXHAUSTED.
#                          else begin the next attempt. An attempt did start, so lateness does not matter.
#   SKIPPED, MISSED        an attempt began, and its retry met another run? As FAILED: the work is unfinished.
#                          a machine: skipped or too late? Refuse with that reason (`_FINAL_FOR_MACHINES`).
#                          Suspended? Refuse SUSPENDED. Too late? Refuse TOO_LATE. Else begin the next attempt.
#
# A person (manual, backfill) is never suspended, never too late, and has no limit on attempts.
def decide(ask: ClaimRequest, standing: RunRecord | None, now: datetime) -> Begin | Settle | Mine | Refused:
    """What the claimant may do about the run as its row says; None for no row."""
    if standing is None:
        return _decide_first(ask, now)
    match standing.status:
        case Status.SUCCEEDED:
            if not ask.forces(standing.attempt + 1):
                return Refused(RefusalReason.ALREADY_SUCCEEDED, standing)
            return Begin(_next_attempt(ask, standing, now, Event.FORCE))
        case Status.RUNNING:
            return _decide_running(ask, standing, now)
        case Status.FAILED:
            return _decide_failed(ask, standing, now)
        case Status.SKIPPED if standing.reason == Reason.OVERLAP and standing.attempt > 0:
            lost = standing.attempts[-1:] and standing.attempts[-1].reason in LOST_REASONS
            return _decide_lost(ask, standing, now) if lost else _decide_retry(ask, standing, now)
        case Status.SKIPPED | Status.MISSED:
            final = _FINAL_FOR_MACHINES.get(standing.reason or "")
            if final is not None and not ask.trigger.by_person:
                return Refused(final, standing)
            if ask.suspended:
                return Refused(RefusalReason.SUSPENDED, standing)
            if ask.too_late(now):
                return Refused(RefusalReason.TOO_LATE, standing)
            return Begin(_next_attempt(ask, standing, now, Event.TAKE_OVER))
        case _:
            assert_never(standing.status)


def _decide_first(ask: ClaimRequest, now: datetime) -> Begin | Settle:
    if ask.suspended:
        return Settle(_first_record(ask, now, Event.SUSPEND, Reason.SUSPENDED), RefusalReason.SUSPENDED)
    if ask.too_late(now):
        return Settle(_first_record(ask, now, Event.EXPIRE, Reason.TOO_LATE), RefusalReason.TOO_LATE)
    return Begin(_first_record(ask, now, Event.CLAIM))


def _decide_running(ask: ClaimRequest, standing: RunRecord, now: datetime) -> Begin | Mine | Refused:
    if standing.token == ask.token:
        return Mine(standing)
    match standing.liveness(now, max_clock_skew=ask.max_clock_skew):
        case Liveness.EXPIRED:
            return _decide_lost(ask, standing, now)
        case Liveness.NO_LEASE:
            return Refused(RefusalReason.HELD, standing)
        case _:
            return Refused(RefusalReason.RUNNING_ELSEWHERE, standing)


def _decide_failed(ask: ClaimRequest, standing: RunRecord, now: datetime) -> Begin | Refused:
    if standing.reason in LOST_REASONS:
        return _decide_lost(ask, standing, now)
    if ask.suspended:
        return Refused(RefusalReason.SUSPENDED, standing)
    if standing.attempt == 0 and ask.too_late(now):  # its task never began
        return Refused(RefusalReason.TOO_LATE, standing)
    if not ask.trigger.by_person:
        if standing.reason == Reason.REPLACED:
            return Refused(RefusalReason.REPLACED, standing)
        if standing.reason == Reason.UNCLAIMED:  # the work may be done, and only a person can tell
            return Refused(RefusalReason.HELD, standing)
        if standing.failures > ask.policy.backoff_limit:
            return Refused(RefusalReason.ATTEMPTS_EXHAUSTED, standing)
    return Begin(_next_attempt(ask, standing, now, Event.TAKE_OVER))


def _decide_lost(ask: ClaimRequest, standing: RunRecord, now: datetime) -> Begin | Refused:
    if ask.policy.on_lost is OnLost.HOLD and not ask.forces(standing.attempt + 1):
        return Refused(RefusalReason.HELD, standing)
    return _decide_retry(ask, standing, now)


def _decide_retry(ask: ClaimRequest, standing: RunRecord, now: datetime) -> Begin | Refused:
    if ask.suspended:
        return Refused(RefusalReason.SUSPENDED, standing)
    if standing.failures > ask.policy.backoff_limit and not ask.trigger.by_person:
        return Refused(RefusalReason.ATTEMPTS_EXHAUSTED, standing)
    return Begin(_next_attempt(ask, standing, now, Event.TAKE_OVER))


def _first_record(ask: ClaimRequest, now: datetime, event: Event, reason: Reason | None = None) -> RunRecord:
    begins = event is Event.CLAIM
    return RunRecord(
        job=ask.job,
        period=ask.period,
        version=1,
        status=TRANSITIONS[None, event],
        attempt=1 if begins else 0,
        token=ask.token,
        owner=ask.owner,
        trigger=ask.trigger,
        scheduled_at=ask.scheduled_at,
        claimed_at=now,
        heartbeat_at=now if begins else None,
        lease_until=lease_end(now, ask.policy.lease) if begins else None,
        finished_at=None if begins else now,
        reason=reason,
        concurrency_policy=_without_slot(ask),
        exclusion_group=ask.policy.exclusion_group,
        actor=ask.actor,
        note=ask.force or ask.note,
        ran=ask.ran if begins else None,
        expires_at=expiry(now, ask.retention),
    )


def _next_attempt(ask: ClaimRequest, standing: RunRecord, now: datetime, event: Event) -> RunRecord:
    """The run with its next attempt; a forced repeat starts from the beginning, any other resumes."""
    past = standing.past(lost_at=now)
    return standing.after(
        event,
        attempt=standing.attempt + 1,
        token=ask.token,
        owner=ask.owner,
        trigger=ask.trigger,
        scheduled_at=standing.scheduled_at or ask.scheduled_at,
        claimed_at=now,
        heartbeat_at=now,
        lease_until=lease_end(now, ask.policy.lease),
        finished_at=None,
        reason=None,
        exit_code=None,
        error=None,
        result=None,
        result_flag=None,
        checkpoint=None if event is Event.FORCE else standing.checkpoint,
        cancel_requested=None,
        concurrency_policy=_without_slot(ask),
        blocked_by=None,
        blocked_by_job=None,
        exclusion_group=ask.policy.exclusion_group,
        actor=ask.actor,
        note=ask.force or ask.note,
        ran=ask.ran,
        attempts=(*standing.attempts, past)[-KEPT_ATTEMPTS:],
        expires_at=expiry(now, ask.retention),
    )


def _without_slot(ask: ClaimRequest) -> str | None:
    """`ALLOW` for an attempt that holds no slot, so that claims under another policy find it."""
    allowed = ask.has_slot and ask.policy.concurrency_policy is ConcurrencyPolicy.ALLOW
    return ConcurrencyPolicy.ALLOW if allowed else None


def _take_run(ask: ClaimRequest) -> Steps[Held | Refused | Skewed]:
    standing: RunRecord | None = None
    heard = False  # True once the store has answered, so that its clock is known
    while True:
        now = yield from read_clock()
        decision = decide(ask, standing, now)
        if isinstance(decision, Refused):
            return decision
        if isinstance(decision, Mine):
            # Its lease began with the request that wrote it; if that is unknown, count it as expired.
            return _held(ask, decision.record, decision.record.heartbeat_at or now - ask.policy.lease)
        if isinstance(decision, Settle) and not heard:
            # Lateness was judged by this host's clock: compare it with the store's before writing it.
            standing, heard = (yield from get_run(ask.job, ask.period)), True
            continue
        if heard and (skew := (yield from read_skew())) > ask.bearable_skew:
            return Skewed(skew)
        answer, heard = (yield from swap(decision.record, standing)), True
        if answer.written:
            if isinstance(decision, Settle):
                return Refused(decision.reason, decision.record)
            held = _held(ask, decision.record, now)
            if (skew := (yield from read_skew())) > ask.bearable_skew:
                yield from finish(held, Outcome(event=Event.FAIL, reason=Reason.CLOCK_SKEW))
                return Skewed(skew)
            return held
        standing = answer.current if isinstance(answer.current, RunRecord) else None


def _give_back(held: Held, error: LedgerUnavailableError) -> Steps[None]:
    """Settle a run whose slot cannot be used, for instance because a newer version wrote it: it must not stay RUNNING.

    If that fails too, the run is free when its lease expires.
    """
    outcome = Outcome(event=Event.FAIL, reason=Reason.SLOT_UNUSABLE, error=shortened(str(error)))
    try:
        yield from finish(held, outcome)
    except LedgerUnavailableError:
        return


def _held(ask: ClaimRequest, run: RunRecord, sent_at: datetime) -> Held:
    return Held(run=run, slot=None, lease=ask.policy.lease, sent_at=sent_at)


def _still_trusted(ask: ClaimRequest, held: Held) -> Steps[Held | Refused]:
    """Renew the run if its trusted time has passed, for instance in a pause before the slot was acquired."""
    while (yield from read_clock()) >= held.trusted_until:
        renewed = yield from renew(held)
        if isinstance(renewed, Held):
            return renewed
        if renewed.group is None or ask.policy.exclusion_group is None:
            if held.group:
                yield from free_slot(held.group)
            if held.slot:
                yield from free_slot(held.slot)
            return Refused(RefusalReason.LEASE_LOST, renewed.record)
        from cronce.protocol.groups import take_group  # noqa: PLC0415  # same

        # A run of another job has the group, and mine has not begun: so it steps back or waits, as before.
        grouped = yield from take_group(ask, replace(held, group=None), ask.policy.exclusion_group)
        if isinstance(grouped, Refused):
            return grouped
        held = grouped
    return held
