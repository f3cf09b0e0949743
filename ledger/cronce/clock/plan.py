"""Decisions of a clock from times alone: no clock, no ledger, no threads."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import Enum, auto

from cronce.clock.config import ClockJob, CommandTarget, TaskTarget
from cronce.vocabulary.policy import CatchUp

MOST_TICKS = 100
"""At most this many ticks of a job wait at a time, the newest. Older ones are counted and dropped."""

MOST_WORKERS = 32
MOST_OF_A_JOB = 4

_FIRST_PAUSE = timedelta(seconds=1)
_LONGEST_PAUSE = timedelta(seconds=10)


class Verdict(Enum):
    """What to do with a waiting tick."""

    ON_TIME = auto()
    """Dispatch it: it is within the starting deadline, or its dispatch has already begun."""
    CATCH_UP = auto()
    """Dispatch it although it is older."""
    MISS = auto()
    """Record it as missed, or leave it failed: there is no time left for another try."""


def judge(
    job: ClockJob, tick: datetime, now: datetime, *, failed_at: datetime | None = None, unresolved: bool = False
) -> Verdict:
    """What to do with a tick that is due and not settled.

    Args:
        job: The job of the tick.
        tick: Its nominal time.
        now: The time.
        failed_at: When a try failed here first; None if none did.
        unresolved: True if its row says that a dispatch is in progress. If that process died, the result
            is unknown: the tick is tried again, however late.
    """
    if unresolved or now - tick <= job.starting_deadline:
        return Verdict.ON_TIME
    match job.catch_up:
        case CatchUp.ALL:
            wanted = True
        case CatchUp.LATEST:
            timetable = job.timetable
            wanted = timetable is not None and timetable.latest(after=tick, until=now, most=1).ticks == ()
        case CatchUp.NONE:
            wanted = False
    in_time = failed_at is None or now - failed_at <= job.starting_deadline
    return Verdict.CATCH_UP if wanted and in_time else Verdict.MISS


def pause_before(tries: int) -> timedelta:
    """How long to wait after that many tries (from 1) before the next one: 1 s, 2 s, 4 s, at most 10 s."""
    return min(_FIRST_PAUSE * (1 << min(max(tries, 1) - 1, 10)), _LONGEST_PAUSE)


def may_start(*, of_job: int, of_all: int) -> bool:
    """True if a worker is free for one more dispatch.

    Half of the workers are reserved for jobs that use none. So a job that hangs takes at most four of
    them, and 32 jobs must hang at once to delay the others.
    """
    if of_job == 0:
        return of_all < MOST_WORKERS
    return of_job < MOST_OF_A_JOB and of_all < MOST_WORKERS // 2


def dispatch_lease(job: ClockJob, lease: timedelta) -> timedelta:
    """The lease of a dispatch, by a clock with that lease.

    A claim is trusted for longer than one try may take. Where a second try does no harm, the lease is at most the
    clock's, and is renewed meanwhile: a command is stopped when the trust ends, and ECS recognizes a second RunTask by
    its token.
    """
    whole_try = max(timedelta(seconds=20), job.timeout * 3 / 2 + timedelta(seconds=10))
    return min(whole_try, lease) if isinstance(job.target, CommandTarget | TaskTarget) else whole_try


def look_again_at(free_at: datetime | None, now: datetime, tries: int) -> datetime:
    """When to look again at a tick of which a dispatch is in progress: after a pause, or when its lease ends.

    Args:
        free_at: When the row may be taken over, if nothing happens before; None if that is unknown.
        now: The time.
        tries: Number of tries and looks so far.
    """
    pause = now + pause_before(tries)
    return pause if free_at is None else min(pause, max(free_at, now + _FIRST_PAUSE / 10))
