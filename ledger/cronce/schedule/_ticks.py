"""Ascending instants in UTC: the interface that every kind of schedule implements, and the two simple kinds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Protocol

from cronce.schedule._fields import FIRST_YEAR, LAST_YEAR
from cronce.schedule.errors import ScheduleInvalidError

_RATE = re.compile(r"(?P<value>[0-9]{1,9}) (?P<unit>minute|hour|day)(?P<plural>s?)")
_UNITS = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": timedelta(days=1)}
_OTHER_RATE = re.compile(
    r"(?P<value>[0-9]{1,9})? *(?P<unit>s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)", re.IGNORECASE
)
_OTHER_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_LONGEST_RATE = timedelta(days=36_525)
_AT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}")
_END = datetime(LAST_YEAR + 1, 1, 1, tzinfo=UTC)


class Ticks(Protocol):
    """Ascending instants in UTC."""

    def at_or_after(self, since: datetime) -> datetime | None:
        """The first tick at or after `since`."""

    def at_or_before(self, until: datetime) -> datetime | None:
        """The last tick at or before `until`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """One instant."""

    instant: datetime

    def at_or_after(self, since: datetime) -> datetime | None:
        return self.instant if self.instant >= since else None

    def at_or_before(self, until: datetime) -> datetime | None:
        return self.instant if self.instant <= until else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Every `interval`, counted from `start`, which is the first tick; none after the year 2199.

    A day is 24 hours, also when the clocks change (Scheduler User Guide, "Daylight savings time").
    """

    interval: timedelta
    start: datetime | None

    def at_or_after(self, since: datetime) -> datetime | None:
        tick = start = self._anchor()
        if since > start:
            steps = -((start - since) // self.interval)
            if steps > (_END - start) // self.interval:
                return None
            tick = start + steps * self.interval
        return tick if tick < _END else None

    def at_or_before(self, until: datetime) -> datetime | None:
        start, until = self._anchor(), min(until, _END - timedelta(microseconds=1))
        return start + (until - start) // self.interval * self.interval if until >= start else None

    def _anchor(self) -> datetime:
        if self.start is None:
            raise ScheduleInvalidError(
                "start", None, "the schedule's start (its StartDate), because a rate counts from it"
            )
        return self.start.replace(microsecond=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Until:
    """The ticks before `end`."""

    ticks: Ticks
    end: datetime

    def at_or_after(self, since: datetime) -> datetime | None:
        tick = self.ticks.at_or_after(since)
        return tick if tick is not None and tick < self.end else None

    def at_or_before(self, until: datetime) -> datetime | None:
        return self.ticks.at_or_before(min(until, self.end - timedelta(microseconds=1)))


def parse_rate(text: str, start: datetime | None) -> tuple[Rate, str]:
    """The rate inside `rate(...)`, and its text in canonical form.

    Raises:
        ScheduleInvalidError: It is not a positive number and a unit, singular for 1 and else plural.
    """
    match = _RATE.fullmatch(text)
    value = int(match["value"]) if match else 0
    # EventBridge Scheduler checks singular and plural: it refuses `rate(1 hours)`.
    if match is None or value < 1 or bool(match["plural"]) is (value == 1):
        examples = "1 minute, 5 minutes, 1 hour, 2 hours, 1 day, 7 days"
        raise ScheduleInvalidError("rate", text, _instead_of(text) or f"a whole number from 1 and its unit: {examples}")
    if value > _LONGEST_RATE // _UNITS[match["unit"]]:
        raise ScheduleInvalidError("rate", text, "at most a hundred years")
    return Rate(interval=value * _UNITS[match["unit"]], start=start), f"{value} {match['unit']}{match['plural']}"


def rate_of(seconds: int) -> str:
    """What to write for an interval: a rate, or the clock's `every` if it is not in whole minutes."""
    if seconds % 60:
        return (
            f'a whole number of minutes such as rate(1 minute); only `cronce clock` has seconds: every = "{seconds}s"'
        )
    unit = next(unit for unit in reversed(_UNITS) if seconds % _UNITS[unit].total_seconds() == 0)
    value = seconds // int(_UNITS[unit].total_seconds())
    return f"rate({value} {unit}{'' if value == 1 else 's'})"


def _instead_of(text: str) -> str:
    match = _OTHER_RATE.fullmatch(text.strip())
    seconds = int(match["value"] or 1) * _OTHER_UNITS[match["unit"][0].lower()] if match else 0
    return rate_of(seconds) if seconds else ""


def parse_at(text: str, zone: tzinfo) -> tuple[Once, str]:
    """The instant inside `at(...)`, and its text.

    Raises:
        ScheduleInvalidError: There is no such date or time, or the clocks of the zone skip it.
    """
    allowed = f"yyyy-mm-ddThh:mm:ss without a zone, {FIRST_YEAR} to {LAST_YEAR}"
    try:
        wall = datetime.fromisoformat(text) if _AT.fullmatch(text) else None
    except ValueError:
        wall = None
    if wall is None or not FIRST_YEAR <= wall.year <= LAST_YEAR:
        raise ScheduleInvalidError("at", text, _instead_of_time(text) or allowed)
    instant = wall.replace(tzinfo=zone).astimezone(UTC)
    if instant.astimezone(zone).replace(tzinfo=None) != wall:
        raise ScheduleInvalidError(
            "at", text, f"a local time that exists in {zone}; the clocks are set forward over this one"
        )
    return Once(instant=instant), text


def _instead_of_time(text: str) -> str:
    """The same moment as EventBridge takes it, for a time with a zone, a fraction or no seconds."""
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        return ""
    if not FIRST_YEAR < at.year < LAST_YEAR or len(text) <= len("2026-11-29"):
        return ""
    if at.tzinfo is None:
        return f"at({at:%Y-%m-%dT%H:%M:%S})"
    return f"at({at.astimezone(UTC):%Y-%m-%dT%H:%M:%S}) and timezone='UTC'"
