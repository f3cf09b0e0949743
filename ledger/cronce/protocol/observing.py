"""What others do to a run: mark its owner dead, or release it for the next attempt."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

from cronce.protocol.holding import free_slot
from cronce.protocol.operations import Steps, get_run, get_slot, read_clock, read_skew, swap
from cronce.protocol.records import RunRecord
from cronce.protocol.requests import MAX_CLOCK_SKEW, bearable_skew
from cronce.protocol.states import Event, Reason, Status
from cronce.values import value_class

LOST_REASONS = frozenset({Reason.LEASE_LOST, Reason.TASK_STOPPED})
"""Failures in which nobody can say how far the work got; `on_lost` decides what follows."""


class NotReleased(StrEnum):
    """Why a run was not released."""

    NO_SUCH_RUN = "NO_SUCH_RUN"
    STILL_RUNNING = "STILL_RUNNING"
    NOT_HELD = "NOT_HELD"


@value_class(kw_only=True)
class ReleaseRequest:
    """A person's wish to free a run.

    Attributes:
        actor: Who wants it.
        note: Why; recorded.
        force: True to take it from an owner that is still alive.
    """

    job: str
    period: str
    actor: str
    note: str | None = None
    force: bool = False
    max_clock_skew: timedelta = MAX_CLOCK_SKEW


def mark_lost(run: RunRecord, *, max_clock_skew: timedelta = MAX_CLOCK_SKEW) -> Steps[RunRecord | None]:
    """Mark the run FAILED if its lease is over; the run as it then stands.

    Nothing is marked by a host whose clock cannot be trusted.
    """
    now = yield from read_clock()
    if not run.lease_over(now, max_clock_skew=max_clock_skew):
        return run
    if (yield from read_skew()) > _bearable_skew(run, max_clock_skew):
        return run
    lost = run.after(Event.FAIL, reason=Reason.LEASE_LOST, finished_at=now, lease_until=None)
    answer = yield from swap(lost, run)
    if answer.written:
        return lost
    return answer.stands if isinstance(answer.stands, RunRecord) else None


def mark_stopped(
    job: str, period: str, *, owner: str, exit_code: int | None = None, error: str | None = None
) -> Steps[RunRecord | None]:
    """Mark the run FAILED if the task that owns it has stopped without settling it.

    Returns:
        The run as it stands then, changed or not. Another owner's run, a final one and a missing
        one are left alone, so late, repeated and foreign events change nothing.
    """
    while True:
        run = yield from get_run(job, period)
        if run is None or run.status is not Status.RUNNING or run.owner != owner:
            return run
        now = yield from read_clock()
        stopped = run.after(
            Event.FAIL, reason=Reason.TASK_STOPPED, exit_code=exit_code, error=error, finished_at=now, lease_until=None
        )
        answer = yield from swap(stopped, run)
        if answer.written:
            yield from _free_slot_of(stopped)
            return stopped


def release(ask: ReleaseRequest) -> Steps[RunRecord | NotReleased]:
    """Free a held, lost or stuck run, so that the next claim begins the next attempt."""
    while True:
        run = yield from get_run(ask.job, ask.period)
        if run is None:
            return NotReleased.NO_SUCH_RUN
        now = yield from read_clock()
        skewed = (yield from read_skew()) > _bearable_skew(run, ask.max_clock_skew)
        if run.status is Status.RUNNING:
            dead = run.lease_until is None or (run.lease_over(now, max_clock_skew=ask.max_clock_skew) and not skewed)
            if not dead and not ask.force:
                return NotReleased.STILL_RUNNING
        elif run.status is not Status.FAILED or run.reason not in LOST_REASONS:
            return NotReleased.NOT_HELD
        released = run.after(
            Event.RELEASE,
            reason=Reason.RELEASED,
            actor=ask.actor,
            note=ask.note,
            finished_at=run.finished_at or now,
            lease_until=None,
        )
        answer = yield from swap(released, run)
        if answer.written:
            yield from _free_slot_of(released)
            return released


def _bearable_skew(run: RunRecord, max_clock_skew: timedelta) -> timedelta:
    """How far this host's clock may be from the store's for a judgement on the run's owner."""
    if run.lease_until is None or run.heartbeat_at is None:
        return max_clock_skew
    return bearable_skew(run.lease_until - run.heartbeat_at, max_clock_skew=max_clock_skew)


def _free_slot_of(run: RunRecord) -> Steps[None]:
    slot = yield from get_slot(run.job)
    if slot is not None and slot.period == run.period and run.is_attempt(slot.attempt, slot.token):
        yield from free_slot(slot)
