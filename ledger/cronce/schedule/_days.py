"""The days of a month that a cron expression matches: the two day fields, `?`, `L`, `W` and `#`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from cronce.schedule._fields import DAY_OF_MONTH, DAY_OF_WEEK, highest, mask_of
from cronce.schedule.errors import ScheduleInvalidError

_FEBRUARY = 2
_LENGTHS = (0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_SATURDAY, _SUNDAY = 5, 6

_NTH = re.compile(r"(?P<day>[0-9]|[A-Z]{3})#(?P<nth>[1-5])")
_LAST_WEEKDAY = re.compile(r"(?P<day>[0-9]|[A-Z]{3})L")
_BEFORE_LAST = re.compile(r"L-(?P<days>[0-9]{1,2})")
_NEAREST = re.compile(r"(?P<day>[0-9]{1,2})W")


def parse_days(day_of_month: str, day_of_week: str) -> Days:
    """The days that the two fields match together. Exactly one of them is `?`.

    Raises:
        ScheduleInvalidError: Neither or both are `?`, or the other one is invalid.
    """
    if day_of_month == day_of_week == "?":
        raise ScheduleInvalidError("day-of-week", "?", "`?` in only one of the day fields; the other selects the days")
    if day_of_week == "?":
        return _days_of_month(day_of_month)
    if day_of_month == "?":
        return _days_of_week(day_of_week)
    # Name the field that does not restrict anything: that is the one to change.
    name, text = ("day-of-month", "*") if day_of_month == "*" != day_of_week else ("day-of-week", day_of_week)
    raise ScheduleInvalidError(name, text, "use ? in one of the day fields; EventBridge cannot combine the two")


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthDays:
    """Days by their number. A shorter month does not have the highest ones."""

    mask: int

    def of(self, year: int, month: int) -> int:
        return self.mask & ((2 << _length(year, month)) - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeLast:
    """The last day of the month, or `days` before it."""

    days: int

    def of(self, year: int, month: int) -> int:
        day = _length(year, month) - self.days
        return 1 << day if day > 0 else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NearestWorkday:
    """The Monday to Friday nearest to a day, in the same month; none if the month does not have the day."""

    day: int

    def of(self, year: int, month: int) -> int:
        last = _length(year, month)
        if self.day > last:
            return 0
        weekday = date(year, month, self.day).weekday()
        if weekday == _SATURDAY:
            return 1 << (self.day - 1 if self.day > 1 else 3)
        if weekday == _SUNDAY:
            return 1 << (self.day + 1 if self.day < last else self.day - 2)
        return 1 << self.day


@dataclass(frozen=True, slots=True, kw_only=True)
class LastWorkday:
    """The last Monday to Friday of the month."""

    def of(self, year: int, month: int) -> int:
        last = _length(year, month)
        return 1 << last - max(date(year, month, last).weekday() - _SATURDAY + 1, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weekdays:
    """Days by their weekday, a mask with bit 1 for Sunday as AWS counts."""

    mask: int

    def of(self, year: int, month: int) -> int:
        week = self.mask >> 1
        endless = week | week << 7 | week << 14 | week << 21 | week << 28 | week << 35
        # Bit 0 of `endless` is a Sunday. Shift by the weekday of the month's first day.
        return (endless >> _first_weekday(year, month) << 1) & ((2 << _length(year, month)) - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class NthWeekday:
    """The nth such weekday of the month; none if the month does not have it."""

    weekday: int
    nth: int

    def of(self, year: int, month: int) -> int:
        day = 1 + (self.weekday - 1 - _first_weekday(year, month)) % 7 + 7 * (self.nth - 1)
        return 1 << day if day <= _length(year, month) else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LastWeekday:
    """The last such weekday of the month."""

    weekday: int

    def of(self, year: int, month: int) -> int:
        return 1 << highest(Weekdays(mask=1 << self.weekday).of(year, month), DAY_OF_MONTH.high)


Days = MonthDays | BeforeLast | NearestWorkday | LastWorkday | Weekdays | NthWeekday | LastWeekday
"""Some days of each month: `of(year, month)` is a mask with bit 1 for the first of the month."""


def calendar_of(year: int) -> tuple[int, int]:
    """What all days of the year follow from: two years with the same value have the same calendar."""
    return _first_weekday(year, 1), _length(year, _FEBRUARY)


def _days_of_month(text: str) -> Days:
    if text == "L":
        return BeforeLast(days=0)
    if text == "LW":
        return LastWorkday()
    if match := _NEAREST.fullmatch(text):
        return NearestWorkday(day=DAY_OF_MONTH.number(match["day"], text))
    if match := _BEFORE_LAST.fullmatch(text):
        if not 1 <= int(match["days"]) < DAY_OF_MONTH.high:
            raise DAY_OF_MONTH.refusal(text, "`L-n` is L-1 to L-30")
        return BeforeLast(days=int(match["days"]))
    if "," in text and ("L" in text or "W" in text):
        raise DAY_OF_MONTH.refusal(text, "`L` and `W` cannot be part of a list")
    return MonthDays(mask=DAY_OF_MONTH.mask(text))


def _days_of_week(text: str) -> Days:
    if text == "L":
        return Weekdays(mask=mask_of([7]))
    if match := _NTH.fullmatch(text):
        return NthWeekday(weekday=DAY_OF_WEEK.number(match["day"], text), nth=int(match["nth"]))
    if match := _LAST_WEEKDAY.fullmatch(text):
        return LastWeekday(weekday=DAY_OF_WEEK.number(match["day"], text))
    if "#" in text:
        raise DAY_OF_WEEK.refusal(text, "`#` takes one weekday and #1 to #5, and cannot be part of a list")
    return Weekdays(mask=DAY_OF_WEEK.mask(text))


def _length(year: int, month: int) -> int:
    if month == _FEBRUARY and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0):
        return 29
    return _LENGTHS[month]


def _first_weekday(year: int, month: int) -> int:
    """Number of days from a Sunday to the first of the month, 0 to 6."""
    return date(year, month, 1).isoweekday() % 7
