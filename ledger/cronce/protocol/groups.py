"""Acquire an exclusion group, so that runs of its jobs never overlap, and keep it.

A claim acquires first the slot of its own job and then the group's, always in this order, so that two claims never
wait for each other. The group's slot has a lease of its own, which the holder renews before that of its run. So it is
free, or expired, or of an earlier run of the own job (whose slot the claimant holds, so that run has ended), or held.
"""

from __future__ import annotations

from datetime import datetime

from cronce.protocol.holding import Held, Outcome
from cronce.protocol.operations import Steps, get_group, get_slot, read_clock, read_skew, swap
from cronce.protocol.overlap import give_back, step_back_if_paused, wait_a_moment
from cronce.protocol.records import GroupSlotRecord, Liveness, lease_end
from cronce.protocol.requests import ClaimRequest, RefusalReason, Refused, bearable_skew
from cronce.protocol.transitions import Event
from cronce.vocabulary.names import group_key
from cronce.vocabulary.policy import ConcurrencyPolicy
from cronce.vocabulary.states import Reason
from cronce.vocabulary.values import replace


def take_group(ask: ClaimRequest, held: Held, group: str) -> Steps[Held | Refused]:
    """Acquire the group for the held run, which has its job's slot, or give the run back as the policy says."""
    seen = yield from get_group(group)
    while True:
        now = yield from read_clock()
        if seen is None or (yield from _is_free_for(seen, ask, held, now)):
            mine = _taken_by(held, seen or GroupSlotRecord(job=group_key(group), version=0), now)
            answer = yield from swap(mine, seen)
            if answer.written:
                return replace(held, group=mine)
            seen = answer.current if isinstance(answer.current, GroupSlotRecord) else None
            continue
        stood_by = yield from _stand_by(ask, held, seen)
        if isinstance(stood_by, Refused):
            return stood_by
        held = stood_by
        seen = yield from get_group(group)
        # The wait may be long: a person may have paused the job meanwhile.
        if paused := (yield from step_back_if_paused(ask, held, (yield from get_slot(ask.job)))):
            return paused


def holder_of_group(group: str) -> Steps[GroupSlotRecord | None]:
    """The slot of the group if a run holds it now; None if it is free or its lease has expired."""
    slot = yield from get_group(group)
    now = yield from read_clock()
    return None if slot is None or slot.liveness(now) in (Liveness.ENDED, Liveness.EXPIRED) else slot


def _is_free_for(slot: GroupSlotRecord, ask: ClaimRequest, held: Held, now: datetime) -> Steps[bool]:
    """True if the claimant may acquire the group; a host with a wrong clock ends nobody's lease.

    A run of the own job that has it has ended, because mine has the job's slot. But if this process was frozen, its
    successor may have both: so the job's slot is read after the group's.
    """
    if slot.period is None:
        return True
    if slot.of_job == ask.job:
        own = yield from get_slot(ask.job)
        return own is not None and own.held_by(held.run)
    if slot.liveness(now, max_clock_skew=ask.max_clock_skew) is not Liveness.EXPIRED:
        return False  # a holder without a lease was written by a foreign program, and is left to a person
    if slot.lease_until is None or slot.heartbeat_at is None:
        return False
    lease = slot.lease_until - slot.heartbeat_at
    return (yield from read_skew()) <= bearable_skew(lease, max_clock_skew=ask.max_clock_skew)


def _taken_by(held: Held, slot: GroupSlotRecord, at: datetime) -> GroupSlotRecord:
    """The group's slot one version later, held by the run.

    Its fence is higher than any before, the group's and the job's: a job may have had one before it joined the group.
    """
    run = held.run
    return replace(
        slot,
        version=slot.version + 1,
        fence=max(slot.fence, held.fence if held.slot else 0) + 1,
        of_job=run.job,
        period=run.period,
        attempt=run.attempt,
        token=run.token,
        owner=run.owner,
        claimed_at=at,
        heartbeat_at=at,
        lease_until=lease_end(at, held.lease),
    )


def _stand_by(ask: ClaimRequest, held: Held, holder: GroupSlotRecord) -> Steps[Held | Refused]:
    """Step back under `FORBID`; under `WAIT` wait for a moment, until the starting deadline."""
    if ask.policy.concurrency_policy is not ConcurrencyPolicy.WAIT:
        outcome = _blocked_by(holder, Event.BLOCK, Reason.OVERLAP)
        return (yield from give_back(held, outcome, RefusalReason.OVERLAPPING))
    if ask.too_late((yield from read_clock())):
        outcome = _blocked_by(holder, Event.EXPIRE, Reason.TOO_LATE)
        return (yield from give_back(held, outcome, RefusalReason.TOO_LATE))
    return (yield from wait_a_moment(held))


def _blocked_by(holder: GroupSlotRecord, event: Event, reason: Reason) -> Outcome:
    return Outcome(event=event, reason=reason, blocked_by=holder.period, blocked_by_job=holder.of_job)
