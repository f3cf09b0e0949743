"""What the watchdog remembers about a job between two looks, as a value and as JSON. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from cronce.schedule import Every, ScheduleInvalidError, Timetable, parse
from cronce.vocabulary.durations import parse_duration
from cronce.vocabulary.errors import InputInvalidError
from cronce.vocabulary.names import checked_job, parse_scheduled_time, period_of
from cronce.watch.jobs import WatchedJob

MOST_JUDGED = 100
"""How many ticks of a job one look judges: the newest. Older ticks are only counted."""

_INSTANT = timedelta(microseconds=1)
_EVERY = "every"
"""The first word of the expression of `cronce.schedule.Every`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """When a job is due.

    Attributes:
        window: By how much EventBridge Scheduler may delay a delivery on purpose.
    """

    expression: str
    timezone: str
    start: datetime | None
    end: datetime | None
    enabled: bool
    window: timedelta = timedelta(0)

    @classmethod
    def of(cls, job: WatchedJob) -> Timing:
        """The timing in the job's definition."""
        return cls(
            expression=job.expression,
            timezone=job.timezone,
            start=job.start,
            end=job.end,
            enabled=job.enabled,
            window=job.flexible_window,
        )

    @property
    def place(self) -> tuple[object, ...]:
        """What a person means by "the schedule": a change of it moves ticks."""
        return self.expression, self.timezone

    def last_tick(self, until: datetime) -> datetime | None:
        """The last tick up to `until`; None if there is none, or if the timing cannot be parsed."""
        return self._ask(lambda schedule: schedule.previous(until + _INSTANT))

    def next_tick(self, after: datetime) -> datetime | None:
        """The first tick after `after`; None if there is none, or if the timing cannot be parsed."""
        return self._ask(lambda schedule: schedule.next(after))

    def is_uncertain(self, tick: datetime) -> bool:
        """True if EventBridge Scheduler may not have this tick; then a missing row says nothing."""
        try:
            schedule = self._timetable()
        except ScheduleInvalidError:  # of an earlier version
            return True
        return bool(schedule.uncertain(tick))

    def _ask(self, question: Callable[[Timetable], datetime | None]) -> datetime | None:
        try:
            return question(self._timetable())
        except (ScheduleInvalidError, InputInvalidError):
            return None

    def _timetable(self) -> Timetable:
        word, _, interval = self.expression.partition(" ")
        if word == _EVERY:
            return Every(parse_duration(interval, what="every"))
        return parse(self.expression, timezone=self.timezone, start=self.start)

    def ticks(self, after: datetime, until: datetime) -> tuple[tuple[datetime, ...], int]:
        """The newest ticks in (`after`, `until`], oldest first, and the number of older ticks left out.

        Raises:
            ScheduleInvalidError: The expression cannot be parsed, or the zone has no data.
        """
        if not self.enabled:
            return (), 0
        if self.end is not None:
            until = min(until, self.end - _INSTANT)  # a schedule has no tick at its EndDate
        schedule = self._timetable()
        latest = schedule.latest(after=after, until=until, most=MOST_JUDGED)
        return latest.ticks, latest.dropped


@dataclass(frozen=True, slots=True, order=True)
class Pending:
    """A tick that is not judged yet, and the end of the window in which it may be delivered."""

    tick: datetime
    window_ends_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What the watchdog remembers about a job between two looks.

    Attributes:
        timing: When the job was due at the last look.
        target: A fingerprint of what the schedule started at the last look.
        modified_at: The last change of the schedule that was seen.
        since: Every tick up to this time is judged, or is in `pending`.
        job: Its name; None in a memory of an earlier version.
        date_in: The zone of whose days its periods are; None if a period is the nominal time of its tick.
        pending: Ticks that are not judged yet: of an earlier timing, or with a task at work.
        backlog: Missed ticks to catch up, oldest first.
        launched_at: When the first tick of `backlog` was launched; None if it was not launched yet.
        success_at: When the newest known success ended, or when this timing was seen first.
        searched: The rows from this bound on hold no newer success; empty if no row does, None if none was searched.
    """

    timing: Timing
    target: str
    modified_at: datetime
    since: datetime
    job: str | None = None
    date_in: str | None = None
    pending: tuple[Pending, ...] = ()
    backlog: tuple[datetime, ...] = ()
    launched_at: datetime | None = None
    success_at: datetime | None = None
    searched: str | None = None


def fingerprint(target: Mapping[str, Any]) -> str:
    """A short text that another target does not have."""
    return hashlib.sha256(json.dumps(target, sort_keys=True, default=str).encode()).hexdigest()[:12]


def to_value(memory: Memory) -> dict[str, Any]:
    """The memory as a checkpoint."""
    timing = memory.timing
    times = {"modified_at": memory.modified_at, "since": memory.since, "launched_at": memory.launched_at}
    times |= {"start": timing.start, "end": timing.end, "success_at": memory.success_at}
    return {
        "expression": timing.expression,
        "timezone": timing.timezone,
        "enabled": timing.enabled,
        "window": _minutes(timing.window),
        "target": memory.target,
        **({} if memory.job is None else {"job": memory.job}),
        **({} if memory.date_in is None else {"date_in": memory.date_in}),
        **({} if memory.searched is None else {"searched": memory.searched}),
        **{name: at.isoformat() for name, at in times.items() if at is not None},
        "pending": [[period_of(each.tick), period_of(each.window_ends_at)] for each in memory.pending],
        "backlog": [period_of(tick) for tick in memory.backlog],
    }


def from_value(value: object) -> Memory | None:
    """The memory in a checkpoint; None if the checkpoint is invalid."""
    if not isinstance(value, Mapping):
        return None
    try:
        timing = Timing(
            expression=str(value["expression"]),
            timezone=str(value["timezone"]),
            start=_time(value.get("start")),
            end=_time(value.get("end")),
            enabled=value["enabled"] is True,
            window=timedelta(minutes=value["window"]),
        )
        return Memory(
            timing=timing,
            target=str(value["target"]),
            job=checked_job(value["job"]) if "job" in value else None,
            date_in=str(value["date_in"]) if "date_in" in value else None,
            modified_at=_instant(value["modified_at"]),
            since=_instant(value["since"]),
            pending=tuple(Pending(_tick(tick), _tick(end)) for tick, end in value["pending"]),
            backlog=tuple(_tick(tick) for tick in value["backlog"]),
            launched_at=_time(value.get("launched_at")),
            success_at=_time(value.get("success_at")),
            searched=str(value["searched"]) if "searched" in value else None,
        )
    except (KeyError, TypeError, ValueError, OverflowError, InputInvalidError):
        return None


def _minutes(window: timedelta) -> float:
    """A whole number where it is one: EventBridge Scheduler's windows are, a clock's starting deadline need not be."""
    minutes = window / timedelta(minutes=1)
    return int(minutes) if minutes.is_integer() else minutes


def _tick(text: str) -> datetime:
    return parse_scheduled_time(text, what="a tick")


def _time(text: str | None) -> datetime | None:
    return None if text is None else _instant(text)


def _instant(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError(text)
    return at
