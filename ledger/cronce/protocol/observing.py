"""What others do to a run: mark it lost, stopped or missed, or release it for the next attempt."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum

from cronce.protocol.holding import free_slot
from cronce.protocol.operations import Steps, get_group, get_run, get_running, get_slot, read_clock, read_skew, swap
from cronce.protocol.records import MAX_CLOCK_SKEW, Liveness, RunRecord, expiry
from cronce.protocol.requests import RETENTION, bearable_skew
from cronce.protocol.transitions import TRANSITIONS, Event
from cronce.vocabulary.errors import LedgerUnavailableError
from cronce.vocabulary.names import RunName, checked_exit_code, checked_words, optional_words
from cronce.vocabulary.states import Reason, Status, Trigger
from cronce.vocabulary.values import checked_flag, checked_member, replace, value_class

LOST_REASONS = frozenset({Reason.LEASE_LOST, Reason.TASK_STOPPED})
"""Failures after which it is unknown how far the work got; `on_lost` decides what follows."""


_WEAKER: Mapping[str, frozenset[str]] = {
    Reason.LAUNCH_FAILED: frozenset({Reason.NEVER_DELIVERED, Reason.NEVER_CLAIMED}),
    Reason.UNCLAIMED: frozenset({Reason.NEVER_DELIVERED, Reason.NEVER_CLAIMED, Reason.LAUNCH_FAILED}),
}
"""Reason of an observer -> the reasons of observers that it replaces in the row of a tick that no task claimed."""


class NotReleased(StrEnum):
    """Why a run was not released."""

    NO_SUCH_RUN = "NO_SUCH_RUN"
    STILL_RUNNING = "STILL_RUNNING"
    NOT_HELD = "NOT_HELD"


@value_class(kw_only=True)
class Sighting:
    """What an observer reports about a tick that no task claimed.

    Attributes:
        token: Created once for this report, outside every retry.
        owner: The task that was started for it, or the observer.
        actor: The person who decided so; None if none did.
        note: That person's reason.
    """

    run: RunName
    token: str
    owner: str
    reason: str
    error: str | None = None
    exit_code: int | None = None
    trigger: Trigger = Trigger.SCHEDULE
    actor: str | None = None
    note: str | None = None
    retention: timedelta = RETENTION

    def __post_init__(self) -> None:
        checked: dict[str, object] = {
            "owner": checked_words(self.owner, what="owner", allowed="the name of the task or of the observer"),
            "reason": checked_words(self.reason, what="reason", allowed="why no task claimed the tick"),
            "error": optional_words(self.error, what="error"),
            "exit_code": checked_exit_code(self.exit_code),
            "trigger": checked_member(Trigger, self.trigger, what="trigger"),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)


@value_class(kw_only=True)
class ReleaseRequest:
    """A person's request to release a run.

    Attributes:
        actor: Who requests it.
        note: Why; recorded.
        force: True to release it although its owner is alive.
    """

    run: RunName
    actor: str
    note: str | None = None
    force: bool = False
    max_clock_skew: timedelta = MAX_CLOCK_SKEW

    def __post_init__(self) -> None:
        object.__setattr__(self, "actor", checked_words(self.actor, what="actor", allowed="the name of a person"))
        object.__setattr__(self, "note", optional_words(self.note, what="note"))
        checked_flag(self.force, what="force")


def holder(job: str) -> Steps[RunRecord | None]:
    """The run that holds the job's slot now; None if the slot is free or stale."""
    slot = yield from get_slot(job)
    if slot is None or slot.period is None:
        return None
    run = yield from get_run(job, slot.period)
    return run if slot.held_by(run) else None


def mark_lost(run: RunRecord, *, max_clock_skew: timedelta = MAX_CLOCK_SKEW) -> Steps[RunRecord | None]:
    """Mark the run FAILED if its lease has expired; returns the current row.

    A host whose clock differs too much from the store's marks nothing.
    """
    now = yield from read_clock()
    if run.liveness(now, max_clock_skew=max_clock_skew) is not Liveness.EXPIRED:
        return run
    if (yield from read_skew()) > _bearable_skew(run, max_clock_skew):
        return run
    lost = run.after(Event.FAIL, reason=Reason.LEASE_LOST, finished_at=now, lease_until=None)
    answer = yield from swap(lost, run)
    if answer.written:
        return lost
    return answer.current if isinstance(answer.current, RunRecord) else None


def mark_all_lost(job: str) -> Steps[tuple[RunRecord, ...]]:
    """Mark every run of the job FAILED whose lease has expired; returns those. It needs neither schedule nor slot."""
    marked: list[RunRecord] = []
    for run in (yield from get_running(job)):
        now_is = yield from mark_lost(run)
        if now_is is not None and now_is.reason == Reason.LEASE_LOST and now_is.attempt == run.attempt:
            yield from _free_slot_of(now_is)
            marked.append(now_is)
    return tuple(marked)


def mark_stopped(
    job: str, period: str, *, owner: str, exit_code: int | None = None, error: str | None = None
) -> Steps[RunRecord | None]:
    """Mark the run FAILED if the task that owns it stopped without settling it.

    Returns:
        The current row, changed or not. A run of another owner, a final run and a missing row are left unchanged, so
        late, repeated and foreign events change nothing.
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


def mark_missed(seen: Sighting) -> Steps[RunRecord]:
    """Mark a tick MISSED if it has no row, or one with a weaker reason; return the run after that.

    What a task or a person wrote stays. Of the reasons that observers write, a cause replaces a guess.
    """
    return _mark_unclaimed(seen, Event.MISS)


def mark_not_started(seen: Sighting) -> Steps[RunRecord]:
    """Mark the run of a task that stopped before it claimed FAILED, as `mark_missed` does; return the run after that.

    No attempt began, so none is counted.
    """
    return _mark_unclaimed(seen, Event.FAIL)


def mark_paused(seen: Sighting) -> Steps[RunRecord]:
    """Mark a tick of a paused job SKIPPED if it has no row; return the run after that."""
    return _mark_unclaimed(seen, Event.SUSPEND)


def give_up(run: RunRecord, *, actor: str, note: str) -> Steps[RunRecord | None]:
    """Note in a failed or missed run that no machine starts it again; return the run after that.

    If the row is no longer the given version, it stays as it is.
    """
    given_up = run.after(Event.GIVE_UP, actor=actor, note=note)
    answer = yield from swap(given_up, run)
    if answer.written:
        return given_up
    return answer.current if isinstance(answer.current, RunRecord) else None


def remember(run: RunRecord, checkpoint: str) -> Steps[bool]:
    """Give a run that has ended another checkpoint, for an observer's memory. False if its row has changed since.

    Claiming the run for that would take four writes.
    """
    now = yield from read_clock()
    then = replace(
        run, version=run.version + 1, checkpoint=checkpoint, finished_at=now, expires_at=expiry(now, RETENTION)
    )
    answer = yield from swap(then, run)
    return answer.written or answer.current == then


def release(ask: ReleaseRequest) -> Steps[RunRecord | NotReleased]:
    """Release a held, lost or stuck run, so that the next claim begins the next attempt."""
    while True:
        run = yield from get_run(ask.run.job, ask.run.period)
        if run is None:
            return NotReleased.NO_SUCH_RUN
        now = yield from read_clock()
        skewed = (yield from read_skew()) > _bearable_skew(run, ask.max_clock_skew)
        match run.liveness(now, max_clock_skew=ask.max_clock_skew):
            case Liveness.ENDED:
                if run.status is not Status.FAILED or run.reason not in (*LOST_REASONS, Reason.UNCLAIMED):
                    return NotReleased.NOT_HELD
            case Liveness.ALIVE if not ask.force:
                return NotReleased.STILL_RUNNING
            case Liveness.EXPIRED if skewed and not ask.force:
                return NotReleased.STILL_RUNNING
            case _:
                pass
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


def _mark_unclaimed(seen: Sighting, event: Event) -> Steps[RunRecord]:
    standing: RunRecord | None = None
    while True:
        now = yield from read_clock()
        run = _unclaimed(seen, event, standing, now)
        answer = yield from swap(run, standing)
        if answer.written:
            return run
        standing = answer.current if isinstance(answer.current, RunRecord) else None
        if standing is not None and not _outranks(seen, standing):
            return standing


def _unclaimed(seen: Sighting, event: Event, standing: RunRecord | None, now: datetime) -> RunRecord:
    if standing is None:
        return RunRecord(
            job=seen.run.job,
            period=seen.run.period,
            version=1,
            status=TRANSITIONS[None, event],
            attempt=0,
            token=seen.token,
            owner=seen.owner,
            trigger=seen.trigger,
            scheduled_at=seen.run.scheduled_at,
            finished_at=now,
            reason=seen.reason,
            exit_code=seen.exit_code,
            error=seen.error,
            actor=seen.actor,
            note=seen.note,
            expires_at=expiry(now, seen.retention),
        )
    return standing.after(
        event,
        owner=seen.owner,
        scheduled_at=standing.scheduled_at or seen.run.scheduled_at,
        finished_at=now,
        reason=seen.reason,
        exit_code=seen.exit_code,
        error=seen.error,
        actor=None,
        note=None,
    )


def _outranks(seen: Sighting, standing: RunRecord) -> bool:
    """True if the sighting knows more than what another observer wrote about a tick that no task claimed."""
    weaker = _WEAKER.get(seen.reason.partition(":")[0], ())
    return standing.attempt == 0 and (standing.reason or "").partition(":")[0] in weaker


def _bearable_skew(run: RunRecord, max_clock_skew: timedelta) -> timedelta:
    """How much this host's clock may differ from the store's for a decision about the run's owner."""
    if run.lease_until is None or run.heartbeat_at is None:
        return max_clock_skew
    return bearable_skew(run.lease_until - run.heartbeat_at, max_clock_skew=max_clock_skew)


def _free_slot_of(run: RunRecord) -> Steps[None]:
    """Release the slot and the group if the run holds them.

    As in `free_slot`, a failure is no error: the slot is stale, and the lease of the group expires.
    """
    try:
        slot = yield from get_slot(run.job)
        if slot is not None and slot.period == run.period and run.is_attempt(slot.attempt, slot.token):
            yield from free_slot(slot)
        group = (yield from get_group(run.exclusion_group)) if run.exclusion_group else None
    except LedgerUnavailableError:
        return
    if group is not None and group.of_job == run.job and run.is_attempt(group.attempt, group.token):
        yield from free_slot(group)
