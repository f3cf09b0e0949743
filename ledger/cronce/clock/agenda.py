"""The ticks of one job that are not settled, and how far the others are."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from datetime import datetime, timedelta

from cronce.clock.config import ClockJob
from cronce.clock.plan import MOST_TICKS, Due, due, pause_before

_ONE_SECOND = timedelta(seconds=1)


@dataclass(slots=True, kw_only=True)
class Waiting:
    """A tick that is due and not settled.

    Attributes:
        taken_up: When this clock took it up, on its monotonic clock.
        not_before: When it may be tried (again).
        failed_at: When a try failed first; None if none did.
        tries: How often it was tried, or looked at.
        unresolved: True if its row says that a dispatch is under way.
    """

    taken_up: float
    not_before: datetime
    failed_at: datetime | None = None
    tries: int = 0
    unresolved: bool = False


class Agenda:
    """Mutable, for one term of one leader; only its loop changes it."""

    def __init__(self, job: ClockJob, cursor: datetime) -> None:
        """Every tick up to the cursor is settled."""
        self.job = job
        self.waiting: dict[datetime, Waiting] = {}
        self._seen_until = cursor
        self._next = job.timetable.next(cursor)

    @property
    def cursor(self) -> datetime:
        """Every tick up to this moment is settled."""
        return min([self._seen_until, *(tick - _ONE_SECOND for tick in self.waiting)])

    def advance(self, now: datetime, monotonic: float) -> Due | None:
        """Take up the ticks that became due; those that are too many, if there are any.

        A clock that was set back forgets what is not due any more. What it sees a second time was
        dispatched already, and the ledger says so.
        """
        if now < self._seen_until:
            self.waiting = {tick: it for tick, it in self.waiting.items() if tick <= now}
            self._see(now)
            return None
        if self._next is None or now < self._next:
            self._seen_until = now
            return None
        found = due(self.job.timetable, after=self._seen_until, now=now)
        for tick in found.ticks:
            self.waiting.setdefault(tick, Waiting(taken_up=monotonic, not_before=tick))
        self._see(now)
        return self._overflow(found)

    def ready(self, now: datetime, *, busy: Container[datetime]) -> list[datetime]:
        """The ticks that may be tried now: those on time first, each kind oldest first.

        Args:
            now: The time.
            busy: Ticks that are at work.
        """
        open_since = now - self.job.starting_deadline
        ticks = [tick for tick, it in self.waiting.items() if it.not_before <= now and tick not in busy]
        return sorted(ticks, key=lambda tick: (tick < open_since, tick))

    def wake_at(self, now: datetime) -> datetime | None:
        """The next moment at which something here is to be done, later than now; None if there is none."""
        later = [it.not_before for it in self.waiting.values() if it.not_before > now]
        if self._next is not None:
            later.append(self._next)
        return min(later, default=None)

    def begin(self, tick: datetime) -> Waiting:
        """Note that the tick is tried now."""
        it = self.waiting[tick]
        it.tries += 1
        return it

    def settle(self, tick: datetime) -> None:
        """The tick needs nothing any more."""
        self.waiting.pop(tick, None)

    def postpone(self, tick: datetime, now: datetime, *, failed: bool = False, unresolved: bool = False) -> None:
        """The tick has to be tried again, or looked at."""
        if (it := self.waiting.get(tick)) is not None:
            if failed and it.failed_at is None:
                it.failed_at = now
            it.unresolved = unresolved
            it.not_before = now + pause_before(it.tries)

    def _see(self, now: datetime) -> None:
        self._seen_until = now
        self._next = self.job.timetable.next(now)

    def _overflow(self, found: Due) -> Due | None:
        """Let go of the oldest that were never tried, so that no more than `MOST_TICKS` wait."""
        too_many = len(self.waiting) - MOST_TICKS
        untried = sorted(tick for tick, it in self.waiting.items() if it.tries == 0)[: max(0, too_many)]
        for tick in untried:
            del self.waiting[tick]
        if not found.dropped and not untried:
            return None
        return Due(
            ticks=(),
            dropped=found.dropped + len(untried),
            first_dropped=min([*untried, *([found.first_dropped] if found.first_dropped else [])]),
            last_dropped=max([*untried, *([found.last_dropped] if found.last_dropped else [])]),
        )
