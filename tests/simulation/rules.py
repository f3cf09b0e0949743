"""What must hold of rows, whoever writes them; each rule names itself when it is broken."""

from __future__ import annotations

from collections.abc import Mapping

from cronce.protocol.records import MAX_CLOCK_SKEW, SLOT_KEY, GroupSlotRecord, Record, RunRecord, SlotRecord, run_key
from cronce.protocol.transitions import TRANSITIONS, Event
from cronce.vocabulary.policy import OnLost, Policy
from cronce.vocabulary.states import Reason, Status

Rows = Mapping[tuple[str, str], Record]
"""Records by job and key."""

LOST = frozenset({"lease_lost", "task_stopped"})
"""Reasons after which nobody can say how far the work got; not taken from the package, which is on trial."""

_LEFT_TO_A_PERSON = frozenset({"replaced", "overlap", "suspended", "paused", "too_late"})

FINAL = frozenset({Status.SUCCEEDED, Status.FAILED, Status.SKIPPED, Status.MISSED})


class BrokenRuleError(AssertionError):
    """Something happened that the ledger promises never happens."""


def broken_by_write(rows: Rows, after: Record, policy: Policy) -> str | None:
    """The rule that writing this row into the rows breaks, or None."""
    before = rows.get((after.job, after.key))
    if after.version != (before.version if before else 0) + 1:
        return f"a version rises by exactly one, not from {before.version if before else 0} to {after.version}"
    match before, after:
        case (None | RunRecord(), RunRecord()):
            return _broken_by_run(before, after) or _broken_by_attempt(before, after, policy)
        case (None | SlotRecord(), SlotRecord()):
            return _broken_by_slot(before, after, rows)
        case (None | GroupSlotRecord(), GroupSlotRecord()):
            return _broken_by_group(before, after, rows)
        case _:
            return "a row never changes its kind"


def _broken_by_run(before: RunRecord | None, after: RunRecord) -> str | None:
    status = before.status if before else None
    if not any((status, event) in TRANSITIONS and TRANSITIONS[status, event] is after.status for event in Event):
        return f"a final state never moves back: from {status} to {after.status}"
    if (after.status in FINAL) != (after.finished_at is not None):
        return f"a run has an end exactly when it is final, not {after.status} with {after.finished_at}"
    if (after.status is Status.RUNNING) != (after.lease_until is not None):
        return f"a run has a lease exactly when it is RUNNING, not {after.status} with {after.lease_until}"
    if after.reason == Reason.INTERRUPTED and after.cancel_requested:
        return f"who was asked to make room is replaced, not interrupted: {after.period}, {after.cancel_requested}"
    foreign = before is not None and before.status is Status.RUNNING and before.lease_until is None
    if foreign and after.reason != Reason.RELEASED:
        return "a row without a lease is left to a person"
    return None


def _broken_by_attempt(before: RunRecord | None, after: RunRecord, policy: Policy) -> str | None:
    if before is None:
        return None if after.attempt == (after.status is Status.RUNNING) else "the first attempt is number 1"
    begins = after.status is Status.RUNNING and (before.status is not Status.RUNNING or after.attempt != before.attempt)
    given_back = before.status is Status.RUNNING and after.status in (Status.SKIPPED, Status.MISSED)
    if after.attempt != before.attempt + begins - given_back:
        return f"the number of an attempt rises when it begins, not from {before.attempt} to {after.attempt}"
    if after.token != before.token and not begins:
        return "only the beginning of an attempt changes whose it is"
    if before.status is Status.SUCCEEDED and not after.note:
        return "a success is repeated only by force"
    lost = before.status is Status.RUNNING or before.reason in LOST
    if begins and lost and policy.on_lost is OnLost.HOLD and not after.note:
        return "under HOLD a lost run waits for a person"
    unfinished = before.reason == Reason.OVERLAP and before.attempt > 0
    if begins and before.reason in _LEFT_TO_A_PERSON and not unfinished and not after.trigger.by_person:
        return f"a run that ended as {before.status}({before.reason}) is begun again only by a person"
    if (
        after.cancel_requested
        and not before.cancel_requested
        and after.cancel_requested < f"replaced by {after.period}"
    ):
        return f"an older run does not replace a newer one: {after.period} was {after.cancel_requested}"
    if after.failures < before.failures:
        return "failures are never forgotten"
    return None


def _broken_by_slot(before: SlotRecord | None, after: SlotRecord, rows: Rows) -> str | None:
    fence = before.fence if before else 0
    same_holder = before is not None and after.is_held_as(before)
    if after.fence != fence + (after.period is not None and not same_holder):
        return f"a fence rises by one with each holder and only then, not from {fence} to {after.fence}"
    if before and before.paused_at and not after.paused_at and not same_holder:
        return "a pause ends when a person says so"
    if before and before.paused_at and after.paused_at and after.period is not None and not same_holder:
        taker = rows.get((after.job, run_key(after.period)))
        if not isinstance(taker, RunRecord) or not taker.trigger.by_person:
            return f"no machine starts a run of a paused job: {after.owner} took the slot for {after.period}"
    if before and before.newest_at and (after.newest_at is None or after.newest_at < before.newest_at):
        return f"the newest tick that started is never forgotten: {before.newest} became {after.newest}"
    if before is None or before.period is None or same_holder:
        return None
    if run := _still_running(before.job, before, rows):
        return f"a slot is taken only after its run has ended; {run.owner} still runs {run.period}"
    return None


def _broken_by_group(before: GroupSlotRecord | None, after: GroupSlotRecord, rows: Rows) -> str | None:
    if (after.period is not None) != (after.lease_until is not None):
        return f"a group has a lease exactly when it is held, not {after.period} with {after.lease_until}"
    taken = after.period is not None and (before is None or _named(after) != _named(before))
    fence = before.fence if before else 0
    if after.fence < fence + taken or (not taken and after.fence != fence):
        return f"a group's fence rises with each holder and only then, not from {fence} to {after.fence}"
    if taken and after.of_job is not None:
        slot = rows.get((after.of_job, SLOT_KEY))
        if isinstance(slot, SlotRecord) and slot.token == after.token and slot.fence >= after.fence:
            return f"a job's fence never falls when it joins a group: {after.fence} after {slot.fence}"
    if before is None or before.of_job is None or _named(after) == _named(before):
        return None
    expired = (
        taken and before.lease_until and after.claimed_at and after.claimed_at - MAX_CLOCK_SKEW > before.lease_until
    )
    if not expired and (run := _still_running(before.of_job, before, rows)):
        return (
            f"a group is taken when its run has ended or its lease has expired; {run.owner} runs {run.job} {run.period}"
        )
    return None


def _named(group: GroupSlotRecord) -> tuple[object, ...]:
    return group.of_job, group.period, group.attempt, group.token


def _still_running(job: str, slot: SlotRecord | GroupSlotRecord, rows: Rows) -> RunRecord | None:
    """The run that the slot names, if it is RUNNING with that attempt."""
    run = rows.get((job, run_key(slot.period or "")))
    if isinstance(run, RunRecord) and run.status is Status.RUNNING and run.is_attempt(slot.attempt, slot.token):
        return run
    return None
