"""The ticks of one job that are not settled, and the cursor up to which all others are.

The cursors of all jobs are stored as the checkpoint of the leader's row. The next leader resumes from
them, or from the newest rows of a job if there is no usable cursor.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cronce.clock.config import ClockJob
from cronce.clock.plan import MOST_TICKS, look_again_at
from cronce.protocol.records import MAX_CLOCK_SKEW, RunRecord
from cronce.schedule import Latest
from cronce.vocabulary.states import Status

_FIELD = "cursors"
_ONE_SECOND = timedelta(seconds=1)


@dataclass(slots=True, eq=False, kw_only=True)
class Tick:
    """A tick that is due and not settled.

    The loop changes it; while a worker dispatches it, nobody does.

    Attributes:
        job: Its job.
        at: Its nominal time.
        since: When this clock began to wait for it, in monotonic seconds.
        not_before: When it may be tried (again); first its time and the job's delay.
        failed_at: When a try failed first; None if none did.
        tries: Number of tries and looks so far.
        unresolved: True if its row says that a dispatch is in progress.
        free_at: Then, when that row may be taken over; None if that is unknown.
    """

    job: ClockJob
    at: datetime
    since: float
    not_before: datetime
    failed_at: datetime | None = None
    tries: int = 0
    unresolved: bool = False
    free_at: datetime | None = None

    @property
    def period(self) -> str:
        """The period of its run."""
        return self.job.period(self.at)

    def postpone(self, now: datetime, *, failed: bool = False, unresolved: bool = False) -> None:
        """Try it again, or look at it again, after a pause."""
        if failed and self.failed_at is None:
            self.failed_at = now
        self.unresolved = unresolved
        self.not_before = look_again_at(self.free_at if unresolved else None, now, self.tries)


class Agenda:
    """The open ticks of a job during one term of a leader. Mutable; only the loop uses it."""

    def __init__(self, job: ClockJob, cursor: datetime) -> None:
        """Every tick up to the cursor is settled."""
        self.job = job
        self.waiting: dict[datetime, Tick] = {}
        self._begin = cursor
        self._seen_until: datetime
        self._next: datetime | None
        self._see(cursor)

    @property
    def cursor(self) -> datetime:
        """Every tick up to this moment is settled."""
        return min([self._seen_until, *(at - _ONE_SECOND for at in self.waiting)])

    def advance(self, now: datetime, monotonic: float) -> Latest | None:
        """Add the ticks that became due. Returns the ones that had to be dropped, or None.

        After the clock was set back, ticks in the future are removed. When they are due again, the
        ledger says whether they were dispatched. So it does for the ticks of the last `starting_deadline`,
        which are added again: some may have been dropped as too old while the clock was ahead.
        """
        again = False
        if now < self._seen_until:
            self.waiting = {at: tick for at, tick in self.waiting.items() if at <= now}
            again = self._seen_until - now > MAX_CLOCK_SKEW
            self._see(max(now - self.job.starting_deadline, min(now, self._begin)) if again else now)
        if self.job.timetable is None or self._next is None or now < self._next:
            self._seen_until = now
            return None
        found = self.job.timetable.latest(after=self._seen_until, until=now, most=MOST_TICKS)
        for at in found.ticks:
            self.waiting.setdefault(at, Tick(job=self.job, at=at, since=monotonic, not_before=at + self.job.delay))
        self._see(now)
        return self._overflow(Latest(ticks=found.ticks) if again else found)

    def ready(self, now: datetime, *, busy: Container[datetime]) -> list[Tick]:
        """The ticks that may be tried now: first those on time, then those that are late, each oldest first.

        Args:
            now: The time.
            busy: Ticks that are being dispatched.
        """
        open_since = now - self.job.starting_deadline
        ticks = [tick for tick in self.waiting.values() if tick.not_before <= now and tick.at not in busy]
        return sorted(ticks, key=lambda tick: (tick.at < open_since, tick.at))

    def wake_at(self, now: datetime) -> datetime | None:
        """The next moment after `now` at which there is something to do; None if there is none."""
        later = [tick.not_before for tick in self.waiting.values() if tick.not_before > now]
        if self._next is not None:
            later.append(self._next)
        return min(later, default=None)

    def settle(self, at: datetime) -> None:
        """Remove a tick: nothing is left to do for it."""
        self.waiting.pop(at, None)

    def _see(self, now: datetime) -> None:
        self._seen_until = now
        self._next = None if self.job.timetable is None else self.job.timetable.next(now)

    def _overflow(self, found: Latest) -> Latest | None:
        """Drop the oldest ticks that were never tried, so that at most `MOST_TICKS` wait."""
        too_many = len(self.waiting) - MOST_TICKS
        untried = sorted(at for at, tick in self.waiting.items() if tick.tries == 0)[: max(0, too_many)]
        for at in untried:
            del self.waiting[at]
        if not found.dropped and not untried:
            return None
        return Latest(
            ticks=(),
            dropped=found.dropped + len(untried),
            first_dropped=min([*untried, *([found.first_dropped] if found.first_dropped else [])]),
            last_dropped=max([*untried, *([found.last_dropped] if found.last_dropped else [])]),
        )


def to_checkpoint(cursors: Mapping[ClockJob, datetime]) -> dict[str, dict[str, list[object]]]:
    """The cursors as a checkpoint: job -> [epoch seconds, fingerprint of its timetable].

    A cursor is truncated to whole seconds. Ticks are on whole seconds, so it covers the same ones.
    """
    return {_FIELD: {job.name: [int(at.timestamp()), _fingerprint(job)] for job, at in cursors.items()}}


def from_checkpoint(job: ClockJob, checkpoint: object, now: datetime) -> datetime | None:
    """Where a job resumes after another leader; None if the checkpoint has no usable cursor for it.

    A job that another leader's checkpoint does not have is new and misses nothing: it begins now. A job whose
    timetable was changed resumes from the cursor, because a tick may have become due while the leader changed;
    but ticks older than its starting deadline were not due under this timetable.

    A cursor ahead of `now` comes from a clock that was wrong: its leader may have dropped what is due next.
    """
    stored = checkpoint.get(_FIELD) if isinstance(checkpoint, dict) else None
    if not isinstance(stored, dict):
        return None
    if job.name not in stored:
        return now
    match stored[job.name]:
        case [int(seconds), str(fingerprint)] if 0 <= seconds <= (now + MAX_CLOCK_SKEW).timestamp():
            at = min(now, datetime.fromtimestamp(seconds, UTC))
            same = fingerprint == _fingerprint(job)
            return at if same else max(at, now - job.starting_deadline)
        case _:
            return None


def from_rows(job: ClockJob, newest: Iterable[RunRecord], now: datetime, *, since: datetime | None = None) -> datetime:
    """Where a job resumes if no leader left a cursor: after its newest row, or at `since` if it has none.

    Args:
        job: The job.
        newest: Its newest rows.
        now: The time.
        since: When the first leader began that left nothing; None if this is the first one, so that it is now.
    """
    rows = [
        (row.scheduled_at, row.status) for row in newest if row.scheduled_at is not None and row.scheduled_at <= now
    ]
    if not rows:
        return now if since is None else min(since, now)
    open_since = now - job.starting_deadline
    # A failed one may have tries left, and the process of a running one may have died.
    unsettled = [at for at, status in rows if status in (Status.RUNNING, Status.FAILED) and at >= open_since]
    return min([max(at for at, _ in rows), *(at - _ONE_SECOND for at in unsettled)])


def _fingerprint(job: ClockJob) -> str:
    return hashlib.sha256(job.when.encode()).hexdigest()[:8]
