"""What a clock has to do at a moment, from times alone: no clock, no ledger, no threads."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import Enum, auto
from itertools import islice

from cronce.clock.config import ClockJob
from cronce.schedule import Every, Schedule
from cronce.vocabulary.policy import CatchUp
from cronce.vocabulary.values import value_class

MOST_TICKS = 100
"""So many ticks of a job wait at a time, the newest; what is older is counted and left."""

MOST_COUNTED = 20_000
"""So far the ticks of a cron expression are counted, which takes a fraction of a second."""

MOST_WORKERS = 32
MOST_OF_A_JOB = 4

_INSTANT = timedelta(microseconds=1)
_FIRST_PAUSE = timedelta(seconds=1)
_LONGEST_PAUSE = timedelta(seconds=10)


@value_class(kw_only=True)
class Due:
    """The ticks of a span.

    Attributes:
        ticks: The newest, oldest of them first, at most as many as were asked for.
        dropped: How many older ones there are; counted up to `MOST_COUNTED` for a cron expression.
        first_dropped: The oldest of those.
        last_dropped: The newest of those.
    """

    ticks: tuple[datetime, ...]
    dropped: int = 0
    first_dropped: datetime | None = None
    last_dropped: datetime | None = None


def due(timetable: Schedule | Every, *, after: datetime, now: datetime, most: int = MOST_TICKS) -> Due:
    """The ticks after `after` up to and including `now`."""
    ticks: list[datetime] = []
    tick = timetable.previous(now + _INSTANT)
    while tick is not None and tick > after:
        if len(ticks) == most:
            return Due(
                ticks=tuple(reversed(ticks)),
                dropped=_count(timetable, after, tick + _INSTANT),
                first_dropped=timetable.next(after),
                last_dropped=tick,
            )
        ticks.append(tick)
        tick = timetable.previous(tick)
    return Due(ticks=tuple(reversed(ticks)))


class Verdict(Enum):
    """What to do with a tick that waits."""

    ON_TIME = auto()
    """Dispatch it: it is younger than the starting deadline, or its dispatch has begun already."""
    CATCH_UP = auto()
    """Dispatch it although it is older."""
    MISS = auto()
    """Write down that it is missed, or leave it failed: the time for another try is over."""


def judge(
    job: ClockJob, tick: datetime, now: datetime, *, failed_at: datetime | None = None, unresolved: bool = False
) -> Verdict:
    """What to do with a tick that is due and not settled.

    Args:
        job: Whose tick it is.
        tick: Its nominal time.
        now: The time.
        failed_at: When a try failed here first; None if none did.
        unresolved: True if its row says that a dispatch is under way. If that died, what became of it is
            open: it is tried again, however late it is.
    """
    if unresolved or now - tick <= job.starting_deadline:
        return Verdict.ON_TIME
    match job.catch_up:
        case CatchUp.ALL:
            wanted = True
        case CatchUp.LATEST:
            wanted = job.timetable.previous(now + _INSTANT) == tick
        case CatchUp.NONE:
            wanted = False
    in_time = failed_at is None or now - failed_at <= job.starting_deadline
    return Verdict.CATCH_UP if wanted and in_time else Verdict.MISS


def pause_before(tries: int) -> timedelta:
    """How long to wait after so many tries (from 1) before the next: 1 s, 2 s, 4 s, at most 10 s."""
    return min(_FIRST_PAUSE * (1 << min(max(tries, 1) - 1, 10)), _LONGEST_PAUSE)


def may_start(*, of_job: int, of_all: int) -> bool:
    """True if a worker is free for one more dispatch.

    Half of the workers are for jobs that have none at work: one job that hangs takes four of them,
    and it takes 32 jobs that hang at once to keep the others waiting.
    """
    if of_job == 0:
        return of_all < MOST_WORKERS
    return of_job < MOST_OF_A_JOB and of_all < MOST_WORKERS // 2


def dispatch_lease(job: ClockJob) -> timedelta:
    """How long a dispatch outlives a clock that died: its claim is trusted for longer than a try may take."""
    return max(timedelta(seconds=20), job.timeout * 3 / 2 + timedelta(seconds=10))


def _count(timetable: Schedule | Every, after: datetime, before: datetime) -> int:
    if isinstance(timetable, Every):
        return timetable.count(after, before)
    return sum(1 for _ in islice(timetable.between(after + _INSTANT, before), MOST_COUNTED))
