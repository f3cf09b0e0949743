"""What the holder of a run does: renew its lease, store a checkpoint, finish.

Every write is a swap on the version that was seen. A lost swap means that another process wrote the row: an
observer's mark on my own attempt is kept, anything else means that the run is no longer mine.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeGuard

from cronce.protocol.operations import Steps, read_clock, swap
from cronce.protocol.records import RunRecord, SlotRecord, lease_end
from cronce.protocol.transitions import Event
from cronce.vocabulary.errors import LedgerUnavailableError
from cronce.vocabulary.states import Reason, Status
from cronce.vocabulary.values import replace, value_class

_NOT_STARTED = frozenset({Event.BLOCK, Event.EXPIRE})

Change = Callable[[RunRecord, datetime], RunRecord]


@value_class(kw_only=True)
class Held:
    """A held attempt.

    Attributes:
        run: The run as its holder last wrote or saw it.
        slot: The slot as acquired; None if runs may overlap.
        lease: Length of the lease.
        sent_at: When the request that last renewed the lease was sent.
    """

    run: RunRecord
    slot: SlotRecord | None
    lease: timedelta
    sent_at: datetime

    @property
    def trusted_until(self) -> datetime:
        """Until when the holder may act without asking: a fifth of the lease before it expires.

        Counted from when the request was sent, not from its answer, because the lease in the row began no later. The
        fifth is the time to stop the work before another process may start.
        """
        return self.sent_at + self.lease * 4 / 5

    @property
    def fence(self) -> int:
        """The fencing token to send with effects: the slot's, else the attempt's number."""
        return self.slot.fence if self.slot else self.run.attempt


@value_class
class Lost:
    """The caller no longer holds the run; `record` is its current row."""

    record: RunRecord | None

    @property
    def why(self) -> str:
        """What happened to the run, for a person."""
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
    """

    event: Event
    reason: Reason | None = None
    counts: bool = False
    blocked_by: str | None = None
    exit_code: int | None = None
    error: str | None = None
    result: str | None = None
    result_flag: str | None = None


def renew(held: Held, *, checkpoint: str | None = None) -> Steps[Held | Lost]:
    """Renew the lease, and store a checkpoint if one is given."""

    def renewed(run: RunRecord, now: datetime) -> RunRecord:
        return run.after(
            Event.RENEW,
            heartbeat_at=now,
            lease_until=lease_end(now, held.lease),
            checkpoint=checkpoint or run.checkpoint,
        )

    return _rewrite(held, renewed)


def finish(held: Held, outcome: Outcome) -> Steps[Held | Lost]:
    """Write how the attempt ended, then release the slot."""

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
            exit_code=outcome.exit_code,
            error=outcome.error,
            result=outcome.result,
            result_flag=outcome.result_flag,
        )

    written = yield from _rewrite(held, finished)
    if isinstance(written, Lost):
        written = yield from _outrank_observer(held, written, outcome, finished)
    if isinstance(written, Held) and held.slot:
        yield from free_slot(held.slot)
    return written


def free_slot(slot: SlotRecord) -> Steps[None]:
    """Release the slot if it is still held as given.

    A slot whose run has ended is stale, and the next claim acquires it anyway. So neither a lost swap nor an
    unreachable store is an error here.
    """
    try:
        while True:
            answer = yield from swap(slot.freed(), slot)
            if answer.written or not isinstance(answer.stands, SlotRecord) or not answer.stands.is_held_as(slot):
                return
            slot = answer.stands  # a run was added to those that wait
    except LedgerUnavailableError:
        return


def _rewrite(held: Held, change: Change) -> Steps[Held | Lost]:
    """Apply the change to my run; repeat it on each newer version that is still mine."""
    run = held.run
    while True:
        now = yield from read_clock()
        changed = change(run, now)
        answer = yield from swap(changed, run)
        if answer.written:
            return replace(held, run=changed, sent_at=now)
        stands = answer.stands
        if not _is_run_of(stands, held) or stands.status is not Status.RUNNING:
            return Lost(stands if isinstance(stands, RunRecord) else None)
        run = stands


def _outrank_observer(held: Held, lost: Lost, outcome: Outcome, finished: Change) -> Steps[Held | Lost]:
    """Settle a finish that found its own attempt already final.

    If it is my own final record, an earlier try was stored. If an observer marked my attempt FAILED, my success
    outranks it, because I know the outcome; my failure agrees with it.
    """
    while True:
        stands = lost.record
        if not _is_run_of(stands, held):
            return lost
        match stands.status, outcome.event:
            case (Status.SUCCEEDED, Event.COMPLETE) | (Status.FAILED, Event.FAIL):
                return replace(held, run=stands)
            case Status.FAILED, Event.COMPLETE:
                now = yield from read_clock()
                # An observer's note that no machine starts the run again is void.
                changed = replace(finished(stands, now), actor=held.run.actor, note=held.run.note)
                answer = yield from swap(changed, stands)
                if answer.written:
                    return replace(held, run=changed)
                lost = Lost(answer.stands if isinstance(answer.stands, RunRecord) else None)
            case _:
                return lost


def _is_run_of(record: object, held: Held) -> TypeGuard[RunRecord]:
    return isinstance(record, RunRecord) and record.is_attempt(held.run.attempt, held.run.token)
