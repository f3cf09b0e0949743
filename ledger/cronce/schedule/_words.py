"""Texts for people: a cron expression in words, and notes about individual ticks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, tzinfo
from typing import assert_never

from cronce.schedule._cron import Cron
from cronce.schedule._days import (
    BeforeLast,
    Days,
    LastWeekday,
    LastWorkday,
    MonthDays,
    NearestWorkday,
    NthWeekday,
    Weekdays,
)
from cronce.schedule._fields import (
    DAY_OF_MONTH,
    DAY_OF_WEEK,
    HOURS,
    MINUTES,
    MONTH,
    YEAR,
    highest,
    lowest,
    mask_of,
    numbers_in,
    runs_in,
)
from cronce.schedule._ticks import Rate, Ticks, Until
from cronce.schedule._zoned import Several, ZonedCron

_WEEKDAYS = ("", "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_MONTHS = (
    *("", "January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_NTH = ("", "first", "second", "third", "fourth", "fifth")
_MOST_TIMES = 6
"""With more clock times than this, the pattern is described instead."""

_DAY = timedelta(days=1)


def words_of(cron: Cron) -> str:
    """The expression in words, without its zone: `at 06:00 on Monday to Friday`."""
    days = _days(cron.days)
    if not days and not cron.every_hour and cron.months == MONTH.mask("*"):
        days = "every day"
    parts = [_time(cron.minutes, cron.hours), days, _months(cron.months), _years(cron.years)]
    return " ".join(part for part in parts if part)


def note_of(ticks: Ticks, zone: tzinfo, *, since: datetime, tick: datetime) -> str:
    """What is special about `tick`, or was skipped between `since` (the tick before) and `tick`; else empty."""
    match ticks:
        case Until(ticks=inner):
            return note_of(inner, zone, since=since, tick=tick)
        case ZonedCron():
            return note_of(Several(parts=(ticks,)), zone, since=since, tick=tick)
        case Several(parts=parts):
            skipped = sorted({wall for part in parts for wall in part.skipped(since, tick)})
            notes = [
                _skipped(skipped),
                *sorted({_repeated(part, tick) for part in parts if part.at_or_after(tick) == tick}),
            ]
            return "; ".join(note for note in notes if note)
        case Rate(interval=interval) if interval % _DAY == timedelta(0):
            return _moved(since.astimezone(zone), tick.astimezone(zone)) if tick - since == interval else ""
        case _:
            return ""


def _skipped(skipped: Sequence[datetime]) -> str:
    """`02:30 does not exist on 2026-03-08: skipped`, for one or more skipped times per day."""
    days: dict[str, list[str]] = {}
    for wall in skipped:
        days.setdefault(f"{wall:%Y-%m-%d}", []).append(f"{wall:%H:%M}")
    return "; ".join(
        f"{times[0]} does not exist on {day}: skipped"
        if len(times) == 1
        else f"{times[0]} to {times[-1]} do not exist on {day}: {len(times)} ticks skipped"
        for day, times in days.items()
    )


def _repeated(ticks: ZonedCron, tick: datetime) -> str:
    if not ticks.twice(tick):
        return ""
    local = tick.astimezone(ticks.zone)
    fact = f"{local:%H:%M} occurs twice on {local:%Y-%m-%d}"
    if not ticks.cron.every_hour:
        return f"{fact}, fires once"
    return f"{fact}, fires both times: this is the {'second' if local.fold else 'first'}"


def _moved(last: datetime, local: datetime) -> str:
    if last.utcoffset() == local.utcoffset():
        return ""
    return f"a day of a rate is 24 hours: local time moves from {last:%H:%M} to {local:%H:%M}"


def _time(minutes: int, hours: int) -> str:
    if minutes.bit_count() * hours.bit_count() <= _MOST_TIMES:
        return "at " + _listed(
            [f"{hour:02}:{minute:02}" for hour in numbers_in(hours) for minute in numbers_in(minutes)]
        )
    if minutes.bit_count() == 1:
        return _once_an_hour(lowest(minutes), hours)
    every_hour = hours == HOURS.mask("*")
    step = _even_step(minutes, 60)
    if step and lowest(minutes) == 0:
        often = "every minute" if step == 1 else f"every {step} minutes"
    else:
        often = f"at minutes {_ranges(minutes, [str(minute) for minute in range(60)])}"
        often += " of every hour" if every_hour else ""
    return often if every_hour else f"{often} {_spans(minutes, hours)}"


def _once_an_hour(minute: int, hours: int) -> str:
    if hours == HOURS.mask("*"):
        return f"every hour at minute {minute}" if minute else "every hour"
    step = _even_step(hours, 24)
    if step:
        return f"every {step} hours from {lowest(hours):02}:{minute:02}"
    return f"every hour {_spans(1 << minute, hours)}"


def _days(days: Days) -> str:
    match days:
        case MonthDays(mask=mask) if mask == DAY_OF_MONTH.mask("*"):
            return ""
        case MonthDays(mask=mask):
            return f"on day {_ranges(mask, [str(day) for day in range(32)])} of the month"
        case BeforeLast(days=0):
            return "on the last day of the month"
        case BeforeLast(days=before):
            return f"{before} {'day' if before == 1 else 'days'} before the last day of the month"
        case NearestWorkday(day=day):
            return f"on the weekday nearest to day {day} of the month"
        case LastWorkday():
            return "on the last weekday of the month"
        case Weekdays(mask=mask) if mask == DAY_OF_WEEK.mask("*"):
            return ""
        case Weekdays(mask=mask):
            return f"on {_ranges(mask, _WEEKDAYS)}"
        case NthWeekday(weekday=weekday, nth=nth):
            return f"on the {_NTH[nth]} {_WEEKDAYS[weekday]} of the month"
        case LastWeekday(weekday=weekday):
            return f"on the last {_WEEKDAYS[weekday]} of the month"
        case _:
            assert_never(days)


def _months(months: int) -> str:
    return "" if months == MONTH.mask("*") else f"in {_ranges(months, _MONTHS)}"


def _years(years: int) -> str:
    return "" if years == YEAR.mask("*") else f"in {_ranges(years, [str(year) for year in range(YEAR.high + 1)])}"


def _spans(minutes: int, hours: int) -> str:
    first, last = lowest(minutes), highest(minutes, MINUTES.high)
    return "from " + _listed([f"{low:02}:{first:02} to {high:02}:{last:02}" for low, high in runs_in(hours)])


def _even_step(mask: int, circle: int) -> int | None:
    """The step if the numbers are spaced evenly around the circle: 15 for 0, 15, 30, 45 of 60."""
    step = circle // mask.bit_count()
    return step if mask == mask_of(range(lowest(mask), circle, step)) and circle % step == 0 else None


def _ranges(mask: int, texts: Sequence[str]) -> str:
    """Three or more consecutive numbers as `a to b`, fewer one by one."""
    parts: list[str] = []
    for low, high in runs_in(mask):
        if high - low > 1:
            parts.append(f"{texts[low]} to {texts[high]}")
        else:
            parts.extend(texts[low : high + 1])
    return _listed(parts)


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
