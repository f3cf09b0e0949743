"""What the holder of a run does: renew its lease, store a checkpoint, finish.

Every write is a swap on the version that was seen. A lost swap means that another process wrote the row: an
observer's mark on my own attempt is kept, anything else means that the run is no longer mine.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeGuard, TypeVar

from cronce.protocol.operations import Steps, read_clock, swap
from cronce.protocol.records import GroupSlotRecord, RunRecord, SlotRecord, lease_end
from cronce.protocol.transitions import Event
from cronce.vocabulary.errors import LedgerUnavailableError
from cronce.vocabulary.states import Reason, Status
from cronce.vocabulary.values import replace, value_class

_NOT_STARTED = frozenset({Event.BLOCK, Event.EXPIRE})

Change = Callable[[RunRecord, datetime], RunRecord]
Slot = TypeVar("Slot", SlotRecord, GroupSlotRecord)


@value_class(kw_only=True)
class Held:
    """A held attempt.

    Attributes:
        run: The run as its holder last wrote or saw it.
        slot: The slot as acquired; None if runs may overlap.
        lease: Length of the lease.
        sent_at: When the request that last renewed the lease was sent, the earlier one if two leases are kept.
        group: The slot of its exclusion group as last written; None without a group.
    """

    run: RunRecord
    slot: SlotRecord | None
    lease: timedelta
    sent_at: datetime
    group: GroupSlotRecord | None = None

    @property
    def trusted_until(self) -> datetime:
        """Until when the holder may act without asking: a fifth of the lease before it expires.

        Counted from when the request was sent, not from its answer, because the lease in the row began no later. The
        fifth is the time to stop the work before another process may start.
        """
        return self.sent_at + self.lease * 4 / 5

    @property
    def fence(self) -> int:
        """The fencing token to send with effects: the group's, else the slot's, else the attempt's number."""
        if self.group:
            return self.group.fence
        return self.slot.fence if self.slot else self.run.attempt


@value_class
class Lost:
    """The caller no longer holds the run.

    Attributes:
        record: The run's current row, as far as it is known.
        group: The slot of the exclusion group, if that was lost: another job's run has it.
    """

    record: RunRecord | None
    group: GroupSlotRecord | None = None

    @property
    def why(self) -> str:
        """What happened to the run, for a person."""
        if self.group is not None:
            now_of = f"{self.group.of_job} {self.group.period}" if self.group.period else "nobody"
            return f"its exclusion group is now held by {now_of}"
        if self.record is None:
            return "its row is gone"
        state = f"{self.record.status}({self.record.reason})" if self.record.reason else str(self.record.status)
        return f"it is now attempt {self.record.attempt}, {state}, of {self.record.owner}"


@value_class(kw_only=True)
class Outcome:
    """How an attempt ended.

    Attributes:
        event: What happens to the run: `COMPLETE`, `FAIL`, or, before the work began, `BLOCK` or `EXPIRE`.
        counts: True if the attempt failed by itself, so that it counts against `backoff_limit`.
        blocked_by: The period of the run that was in the way, and `blocked_by_job` its job, if that is another one.
        actor: The person who decided so; None if none did.
        note: That person's reason.
    """

    event: Event
    reason: Reason | None = None
    counts: bool = False
    blocked_by: str | None = None
    blocked_by_job: str | None = None
    exit_code: int | None = None
    error: str | None = None
    result: str | None = None
    result_flag: str | None = None
    actor: str | None = None
    note: str | None = None


def renew(held: Held, *, checkpoint: str | None = None) -> Steps[Held | Lost]:
    """Renew the lease, and store a checkpoint if one is given.

    The lease of the group is renewed first, and trust counts from that request: it ends before either lease does.
    """

    def renewed(run: RunRecord, now: datetime) -> RunRecord:
        return run.after(
            Event.RENEW,
            heartbeat_at=now,
            lease_until=lease_end(now, held.lease),
            checkpoint=checkpoint or run.checkpoint,
        )

    if held.group is None:
        return (yield from _rewrite(held, renewed))
    kept = yield from _renew_group(held, held.group)
    if isinstance(kept, Lost):
        return kept
    written = yield from _rewrite(kept, renewed)
    return written if isinstance(written, Lost) else replace(written, sent_at=kept.sent_at)


def finish(held: Held, outcome: Outcome) -> Steps[Held | Lost]:
    """Write how the attempt ended, then release the slot and the group."""

    def finished(run: RunRecord, now: datetime) -> RunRecord:
        # A process that is asked to stop may get SIGTERM before it reads in the ledger that it is replaced.
        replaced = outcome.reason is Reason.INTERRUPTED and run.cancel_requested is not None
        return run.after(
            outcome.event,
            # An attempt that was given back did not start: the next one gets its number, and another token.
            attempt=run.attempt - (outcome.event in _NOT_STARTED),
            finished_at=now,
            lease_until=None,
            reason=Reason.REPLACED if replaced else outcome.reason,
            failures=held.run.failures + outcome.counts,
            blocked_by=outcome.blocked_by,
            blocked_by_job=outcome.blocked_by_job,
            exit_code=outcome.exit_code,
            error=outcome.error,
            result=outcome.result,
            result_flag=outcome.result_flag,
            actor=outcome.actor or run.actor,
            note=outcome.note or run.note,
        )

    written = yield from _rewrite(held, finished)
    if isinstance(written, Lost):
        written = yield from _outrank_observer(held, written, outcome, finished)
    if held.group:  # of this attempt only, whatever became of its run
        yield from free_slot(held.group)
    if isinstance(written, Held) and held.slot:
        yield from free_slot(held.slot)
    return written


def free_slot(slot: Slot) -> Steps[None]:
    """Release the slot, the job's or its exclusion group's, if it is still held as given.

    A job's slot whose run has ended is stale, and the next claim acquires it anyway; the lease of a group expires. So
    neither a lost swap nor an unreachable store is an error here.
    """
    try:
        while True:
            answer = yield from swap(slot.freed(), slot)
            if answer.written or not slot.is_held_as(answer.current):
                return
            slot = answer.current  # a run was added to those that wait, or an answer was lost
    except LedgerUnavailableError:
        return


def _renew_group(held: Held, group: GroupSlotRecord) -> Steps[Held | Lost]:
    while True:
        now = yield from read_clock()
        renewed = replace(group, version=group.version + 1, heartbeat_at=now, lease_until=lease_end(now, held.lease))
        answer = yield from swap(renewed, group)
        if answer.written:
            return replace(held, group=renewed, sent_at=now)
        current = answer.current
        if not group.is_held_as(current):
            lost_to = current if isinstance(current, GroupSlotRecord) else GroupSlotRecord(job=group.job, version=0)
            return Lost(None, lost_to)
        group = current


def _rewrite(held: Held, change: Change) -> Steps[Held | Lost]:
    """Apply the change to my run; repeat it on each newer version that is still mine."""
    run = held.run
    while True:
        now = yield from read_clock()
        changed = change(run, now)
        answer = yield from swap(changed, run)
        if answer.written:
            return replace(held, run=changed, sent_at=now)
        row = answer.current
        if not _is_run_of(row, held) or row.status is not Status.RUNNING:
            return Lost(row if isinstance(row, RunRecord) else None)
        run = row


def _outrank_observer(held: Held, lost: Lost, outcome: Outcome, finished: Change) -> Steps[Held | Lost]:
    """Settle a finish that found its own attempt already final.

    If it is my own final record, an earlier try was stored. If an observer marked my attempt FAILED, my success
    outranks it, because I know the outcome; my failure agrees with it.
    """
    while True:
        row = lost.record
        if not _is_run_of(row, held):
            return lost
        match row.status, outcome.event:
            case (Status.SUCCEEDED, Event.COMPLETE) | (Status.FAILED, Event.FAIL):
                return replace(held, run=row)
            case Status.FAILED, Event.COMPLETE:
                now = yield from read_clock()
                # An observer's note that no machine starts the run again is void.
                changed = replace(finished(row, now), actor=held.run.actor, note=held.run.note)
                answer = yield from swap(changed, row)
                if answer.written:
                    return replace(held, run=changed)
                lost = Lost(answer.current if isinstance(answer.current, RunRecord) else None)
            case _:
                return lost


def _is_run_of(record: object, held: Held) -> TypeGuard[RunRecord]:
    return isinstance(record, RunRecord) and record.is_attempt(held.run.attempt, held.run.token)
