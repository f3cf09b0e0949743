"""A cron expression as sets of numbers, and the wall-clock minutes that match it.

Wall-clock times here have no zone; `_zoned` converts them to instants. The search visits each month
up to 2199 at most once, whatever the expression, and never steps through minutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from cronce.schedule._days import Days, calendar_of, parse_days
from cronce.schedule._fields import (
    DAY_OF_MONTH,
    DAY_OF_WEEK,
    HOURS,
    MINUTES,
    MONTH,
    YEAR,
    highest,
    lowest,
    numbers_in,
    split_fields,
)
from cronce.schedule.errors import ScheduleInvalidError

_FIELDS = (MINUTES, HOURS, DAY_OF_MONTH, MONTH, DAY_OF_WEEK, YEAR)
_SIX = "six fields: minutes hours day-of-month month day-of-week year"
_ALL_HOURS = HOURS.mask("*")
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    """The six fields of `cron(...)`, each as a set of numbers."""

    minutes: int
    hours: int
    days: Days
    months: int
    years: int

    @property
    def every_hour(self) -> bool:
        """True if all 24 hours match, so that the schedule does not depend on the time of day."""
        return self.hours == _ALL_HOURS

    @property
    def once_a_day(self) -> bool:
        """True if only one minute of a day matches."""
        return self.minutes.bit_count() == self.hours.bit_count() == 1

    def shares_a_day(self, other: Cron) -> bool:
        """True if some day from 1970 to 2199 matches both."""
        months = [*numbers_in(self.months & other.months)]
        years = {calendar_of(year): year for year in numbers_in(self.years & other.years)}.values()
        return any(self.days.of(year, month) & other.days.of(year, month) for year in years for month in months)

    def at_or_after(self, wall: datetime) -> datetime | None:
        """The first matching minute at or after `wall` (naive)."""
        if wall.second or wall.microsecond:
            wall = wall.replace(second=0, microsecond=0) + _MINUTE
        if self._has_month(wall):
            days = self.days.of(wall.year, wall.month)
            if days >> wall.day & 1:
                hour, minute = wall.hour, lowest(self.minutes, wall.minute)
                if minute < 0 or not self.hours >> hour & 1:
                    hour, minute = lowest(self.hours, hour + 1), lowest(self.minutes)
                if hour >= 0:
                    return wall.replace(hour=hour, minute=minute)
            day = lowest(days, wall.day + 1)
            if day > 0:
                return self._first_on(wall.year, wall.month, day)
        for year, month in self._months_after(wall.year, wall.month):
            days = self.days.of(year, month)
            if days:
                return self._first_on(year, month, lowest(days))
        return None

    def at_or_before(self, wall: datetime) -> datetime | None:
        """The last matching minute at or before `wall` (naive)."""
        if self._has_month(wall):
            days = self.days.of(wall.year, wall.month)
            if days >> wall.day & 1:
                hour, minute = wall.hour, highest(self.minutes, wall.minute)
                if minute < 0 or not self.hours >> hour & 1:
                    hour, minute = highest(self.hours, hour - 1), highest(self.minutes, MINUTES.high)
                if hour >= 0:
                    return wall.replace(hour=hour, minute=minute, second=0, microsecond=0)
            day = highest(days, wall.day - 1)
            if day > 0:
                return self._last_on(wall.year, wall.month, day)
        for year, month in self._months_before(wall.year, wall.month):
            days = self.days.of(year, month)
            if days:
                return self._last_on(year, month, highest(days, DAY_OF_MONTH.high))
        return None

    def _has_month(self, wall: datetime) -> bool:
        return bool(self.years >> wall.year & self.months >> wall.month & 1)

    def _first_on(self, year: int, month: int, day: int) -> datetime:
        return _wall(year, month, day, lowest(self.hours), lowest(self.minutes))

    def _last_on(self, year: int, month: int, day: int) -> datetime:
        return _wall(year, month, day, highest(self.hours, HOURS.high), highest(self.minutes, MINUTES.high))

    def _months_after(self, year: int, month: int) -> Iterator[tuple[int, int]]:
        if not self.years >> year & 1:
            month = MONTH.high
        while True:
            month = lowest(self.months, month + 1)
            if month < 0:
                year, month = lowest(self.years, year + 1), lowest(self.months)
            if year < 0:
                return
            yield year, month

    def _months_before(self, year: int, month: int) -> Iterator[tuple[int, int]]:
        if not self.years >> year & 1:
            month = MONTH.low
        while True:
            month = highest(self.months, month - 1)
            if month < 0:
                year, month = highest(self.years, year - 1), highest(self.months, MONTH.high)
            if year < 0:
                return
            yield year, month


def parse_cron(fields: str) -> tuple[Cron, str]:
    """The expression inside `cron(...)`, and its text in canonical form.

    Raises:
        ScheduleInvalidError: There are not six fields, one of them is invalid, or no day from 1970
            to 2199 matches.
    """
    words = split_fields(fields)
    if len(words) < len(_FIELDS):
        missing = _FIELDS[len(words)].name
        instead = _instead_of_five(words) if len(words) == len(_FIELDS) - 1 else ""
        raise ScheduleInvalidError(missing, None, f"{_SIX}; got {len(words)}{instead}")
    if len(words) > len(_FIELDS):
        raise ScheduleInvalidError("expression", " ".join(words[len(_FIELDS) :]), f"{_SIX}; got {len(words)}")
    minutes, hours, day_of_month, month, day_of_week, year = words
    cron = Cron(
        minutes=MINUTES.mask(minutes),
        hours=HOURS.mask(hours),
        months=MONTH.mask(month),
        years=YEAR.mask(year),
        days=parse_days(day_of_month, day_of_week),
    )
    if cron.at_or_after(_wall(YEAR.low, 1, 1, 0, 0)) is None:
        name, text = ("day-of-month", day_of_month) if day_of_week == "?" else ("day-of-week", day_of_week)
        raise ScheduleInvalidError(name, text, f"a day that exists in month {month}, year {year}")
    return cron, " ".join(words)


def _instead_of_five(words: list[str]) -> str:
    """What five fields in the brackets may mean."""
    text = " ".join(words)
    if "?" not in words:
        return f"; without the brackets, {text} is Unix cron"
    with suppress(ScheduleInvalidError):
        parse_cron(f"{text} *")
        return f": cron({text} *)"
    return ""


def _wall(year: int, month: int, day: int, hour: int, minute: int) -> datetime:
    return datetime(year, month, day, hour, minute)  # noqa: DTZ001  # wall-clock times have no zone
