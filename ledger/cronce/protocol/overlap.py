"""Acquire the job, so that two runs of it never overlap.

The slot names the run that holds the job. It is free, or stale (that run is no longer RUNNING with that attempt and
token), or held. A holder whose lease has expired is marked FAILED *before* its slot is acquired: if it was only
paused, its next heartbeat fails.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import assert_never

from cronce.protocol.holding import Held, Lost, Outcome, finish, renew
from cronce.protocol.observing import mark_lost
from cronce.protocol.operations import Steps, StopTask, get_run, get_running, get_slot, read_clock, sleep, swap, take
from cronce.protocol.records import MOST_WAITING, Liveness, RunRecord, SlotMode, SlotRecord
from cronce.protocol.requests import ClaimRequest, RefusalReason, Refused
from cronce.protocol.transitions import Event
from cronce.vocabulary.policy import ConcurrencyPolicy
from cronce.vocabulary.states import Reason, Status, Trigger
from cronce.vocabulary.values import replace

_SLOWEST_POLL = timedelta(seconds=2)


class Course(StrEnum):
    """What a claimant does while another run of the job is alive."""

    START = "START"
    STEP_BACK = "STEP_BACK"
    WAIT = "WAIT"
    REPLACE = "REPLACE"
    """Ask the other run to stop, and wait until it has ended."""


def course_beside(holder: RunRecord, policy: ConcurrencyPolicy, scheduled_at: datetime | None) -> Course:
    """What a claimant whose tick is due at `scheduled_at` does while the holder is alive.

    A run whose tick is older than the holder's never replaces it: it is late, or repeated.
    """
    match policy:
        case ConcurrencyPolicy.ALLOW:
            return Course.START
        case ConcurrencyPolicy.FORBID:
            return Course.STEP_BACK
        case ConcurrencyPolicy.WAIT:
            return Course.WAIT
        case ConcurrencyPolicy.REPLACE:
            newer = holder.scheduled_at is not None and scheduled_at is not None and holder.scheduled_at > scheduled_at
            return Course.STEP_BACK if newer else Course.REPLACE
        case _:
            assert_never(policy)


def announce(job: str) -> Steps[SlotRecord]:
    """Note in the slot that a run without a slot may be alive, before it starts: claims of other policies look for it.

    The slot is read once per claim under `ALLOW`, and written only by the first one after another policy. Returns it:
    a pause of the job is in the same row, and so costs no request.
    """
    slot = yield from get_slot(job)
    while slot is None or slot.mode != SlotMode.ALLOW:
        announced = (slot or SlotRecord(job=job, version=0)).in_mode(SlotMode.ALLOW)
        answer = yield from swap(announced, slot)
        if answer.written:
            return announced
        slot = answer.current if isinstance(answer.current, SlotRecord) else None
    return slot


def take_slot(ask: ClaimRequest, held: Held) -> Steps[Held | Refused]:
    """Acquire the job for the held run, as the concurrency policy says, or give the run back."""
    taken, slot = yield from take(held.run, (yield from read_clock()))
    if taken:
        return replace(held, slot=slot)
    while True:
        if paused := (yield from step_back_if_paused(ask, held, slot)):
            return paused
        if slot is not None and _is_superseded(ask, slot):
            outcome = Outcome(event=Event.BLOCK, reason=Reason.REPLACED, blocked_by=slot.newest)
            return (yield from give_back(held, outcome, RefusalReason.REPLACED))
        holder = yield from _holder_of(slot, held)
        if holder is None:
            holder = yield from _first_in_line(ask, held, slot)
        match holder:
            case None:
                now = yield from read_clock()
                mine = (slot or SlotRecord(job=ask.job, version=0)).taken_by(held.run, at=now)
                answer = yield from swap(mine, slot)
                if answer.written:
                    if mine.mode is None:
                        return replace(held, slot=mine)
                    slot = mine
                else:
                    slot = answer.current if isinstance(answer.current, SlotRecord) else None
            case SlotRecord(mode=None):
                return replace(held, slot=holder)
            case SlotRecord():
                beside = yield from _running_beside(ask, held)
                if beside is None:
                    # If a run without a slot was announced meanwhile, this swap is lost and the search is repeated.
                    answer = yield from swap(holder.in_mode(None), holder)
                    if answer.written:
                        return replace(held, slot=holder.in_mode(None))
                    slot = answer.current if isinstance(answer.current, SlotRecord) else None
                else:
                    stood_by = yield from _stand_by(ask, replace(held, slot=holder), beside, holder)
                    if isinstance(stood_by, Refused):
                        return stood_by
                    held = stood_by
                    slot = yield from get_slot(ask.job)
            case Refused():
                return holder
            case RunRecord():
                standing = yield from mark_lost(holder, max_clock_skew=ask.max_clock_skew)
                if standing is not None and standing.status is Status.RUNNING:
                    stood_by = yield from _stand_by(ask, held, standing, slot)
                    if isinstance(stood_by, Refused):
                        return stood_by
                    held = stood_by
                slot = yield from get_slot(ask.job)
            case _:
                assert_never(holder)


def step_back_if_paused(ask: ClaimRequest, held: Held, slot: SlotRecord | None) -> Steps[Refused | None]:
    """Give the run back if a person has paused the job; a person's own start is not bound by that."""
    if slot is None or (pause := slot.pause) is None or ask.trigger.by_person:
        return None
    if not slot.is_paused((yield from read_clock())):
        return None
    outcome = Outcome(event=Event.BLOCK, reason=Reason.PAUSED, actor=pause.by, note=pause.why)
    return (yield from give_back(held, outcome, RefusalReason.PAUSED))


def _is_superseded(ask: ClaimRequest, slot: SlotRecord) -> bool:
    """True under `REPLACE` for a tick that is older than one that already started.

    A person decides which run is wanted. A catch-up is an older tick by its nature, and the job asks for it.
    """
    return (
        ask.policy.concurrency_policy is ConcurrencyPolicy.REPLACE
        and ask.trigger in (Trigger.SCHEDULE, Trigger.RETRY)
        and ask.scheduled_at is not None
        and slot.newest_at is not None
        and ask.scheduled_at < slot.newest_at
    )


def _holder_of(slot: SlotRecord | None, held: Held) -> Steps[RunRecord | SlotRecord | Refused | None]:
    """Who holds the job: another run that is RUNNING, myself (the slot), my successor (refused), or nobody."""
    if slot is None or slot.period is None:
        return None
    mine = held.run
    if slot.period == mine.period and mine.is_attempt(slot.attempt, slot.token):
        return slot
    run = yield from get_run(slot.job, slot.period)
    if slot.period == mine.period and (run is None or not run.is_attempt(mine.attempt, mine.token)):
        return Refused(RefusalReason.LEASE_LOST, run)
    return run if slot.held_by(run) else None


def _first_in_line(ask: ClaimRequest, held: Held, slot: SlotRecord | None) -> Steps[RunRecord | None]:
    """The live run that comes before mine although the slot is free: one that waits longer, or one without a slot."""
    if slot is None:
        return None
    if ask.policy.concurrency_policy is ConcurrencyPolicy.WAIT:
        now = yield from read_clock()
        for waiter in slot.ahead_of(held.run):
            run = yield from get_run(ask.job, waiter.period)
            if (
                run is not None
                and waiter.is_of(run)
                and run.liveness(now, max_clock_skew=ask.max_clock_skew) is Liveness.ALIVE
            ):
                return run
    return (yield from _running_beside(ask, held)) if slot.mode else None


def _running_beside(ask: ClaimRequest, held: Held) -> Steps[RunRecord | None]:
    """A live run of the job that was claimed under `ALLOW`, so that it holds no slot; one that is dead is marked."""
    for run in (yield from get_running(ask.job)):
        if run.concurrency_policy == ConcurrencyPolicy.ALLOW and run.period != held.run.period:
            standing = yield from mark_lost(run, max_clock_skew=ask.max_clock_skew)
            if standing is not None and standing.status is Status.RUNNING:
                return standing
    return None


def _stand_by(ask: ClaimRequest, held: Held, holder: RunRecord, slot: SlotRecord | None) -> Steps[Held | Refused]:
    """Do what the policy says while another run is alive: step back, or wait for a moment and continue."""
    course = course_beside(holder, ask.policy.concurrency_policy, ask.scheduled_at)
    if course is Course.STEP_BACK:
        outcome = Outcome(event=Event.BLOCK, reason=Reason.OVERLAP, blocked_by=holder.period)
        return (yield from give_back(held, outcome, RefusalReason.OVERLAPPING))
    if ask.too_late((yield from read_clock())):
        outcome = Outcome(event=Event.EXPIRE, reason=Reason.TOO_LATE, blocked_by=holder.period)
        return (yield from give_back(held, outcome, RefusalReason.TOO_LATE))
    if course is Course.WAIT and held.slot is None:
        yield from _line_up(ask, held, slot)
    if course is Course.REPLACE and holder.cancel_requested is None:
        cancelled = holder.after(Event.CANCEL, cancel_requested=f"replaced by {ask.period}")
        answer = yield from swap(cancelled, holder)
        if answer.written:
            yield StopTask(holder.owner, f"replaced by {ask.job} {ask.period}")
    return (yield from wait_a_moment(held))


def wait_a_moment(held: Held) -> Steps[Held | Refused]:
    """Wait, and renew the run if it is time; give it back if this process is asked to stop."""
    if (yield from sleep(min(held.lease / 8, _SLOWEST_POLL))):
        outcome = Outcome(event=Event.FAIL, reason=Reason.INTERRUPTED)
        return (yield from give_back(held, outcome, RefusalReason.INTERRUPTED))
    if (yield from read_clock()) < held.sent_at + held.lease / 4:
        return held
    renewed = yield from renew(held)
    return renewed if isinstance(renewed, Held) else Refused(RefusalReason.LEASE_LOST, renewed.record)


def _line_up(ask: ClaimRequest, held: Held, slot: SlotRecord | None) -> Steps[None]:
    """List my run among those that wait; if the write is lost, the next look repeats it."""
    waiting = slot.waiting if slot else ()
    if len(waiting) < MOST_WAITING and not any(waiter.is_of(held.run) for waiter in waiting):
        yield from swap((slot or SlotRecord(job=ask.job, version=0)).with_waiter(held.run), slot)


def give_back(held: Held, outcome: Outcome, reason: RefusalReason) -> Steps[Refused]:
    """Settle a run whose work must not start, and say why."""
    given_back = yield from finish(held, outcome)
    if isinstance(given_back, Lost):
        return Refused(RefusalReason.LEASE_LOST, given_back.record)
    return Refused(reason, given_back.run)
