"""How long a job may be without a success, and a run at work. Pure."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from itertools import pairwise

from cronce.protocol.records import RunRecord
from cronce.vocabulary.states import Reason, Status
from cronce.watch.jobs import WatchedJob
from cronce.watch.memory import Timing

_LEAST = timedelta(hours=1)
_TICKS_BEFORE, _TICKS_AFTER = 3, 2
_LESS_THAN_A_TICK = timedelta(microseconds=2)
"""`last_tick` counts a tick at the very time that it is asked about."""

_STOPPING = timedelta(minutes=2)
"""How long a guard may take to stop work whose deadline has passed."""


def patience_with(job: WatchedJob, now: datetime) -> timedelta | None:
    """How long the job may be without a success; None if there is no limit.

    By default it is twice the longest time between its ticks around now, and an hour. So two ticks in a row may fail,
    also when a weekend is between them.
    """
    if job.no_success_for is not None:
        return job.no_success_for or None
    if not (job.delivers_ticks and job.ticks_are_known):
        return None
    return _from_schedule(Timing.of(job), now.astimezone(UTC).date())


def longest_run(job: WatchedJob, now: datetime) -> timedelta | None:
    """How long an attempt of the job may take: its deadline, else as long as the job may be without a success."""
    deadline = job.policy.active_deadline
    return patience_with(job, now) if deadline is None else deadline + _STOPPING


def is_news(since: datetime, patience: timedelta, *, looked_at: datetime | None) -> bool:
    """True if the patience with what began at `since` ended after the last look."""
    return looked_at is None or looked_at - since <= patience


def last_sign(run: RunRecord) -> datetime | None:
    """When the run succeeded, or was skipped because a person had paused or suspended the job; else None."""
    wanted = run.status is Status.SKIPPED and run.reason in (Reason.PAUSED, Reason.SUSPENDED)
    return run.finished_at if wanted or run.status is Status.SUCCEEDED else None


@lru_cache(maxsize=4096)
def _from_schedule(timing: Timing, day: date) -> timedelta | None:
    """The patience on that day, cached: the search for ticks takes longer than the rest of a look at a job."""
    noon = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
    before = _walk(noon, _TICKS_BEFORE, lambda at: timing.last_tick(at - _LESS_THAN_A_TICK))
    after = _walk(noon - _LESS_THAN_A_TICK, _TICKS_AFTER, timing.next_tick)
    gaps = [later - earlier for earlier, later in pairwise([*reversed(before), *after])]
    return 2 * max(gaps) + _LEAST if gaps else None


def _walk(start: datetime, most: int, follow: Callable[[datetime], datetime | None]) -> list[datetime]:
    found: list[datetime] = []
    while len(found) < most and (at := follow(found[-1] if found else start)) is not None:
        found.append(at)
    return found
