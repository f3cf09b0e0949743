"""EventBridge Scheduler's rules, minute by minute: slow, plain, and sharing no code with `cronce.schedule`.

It steps through real time, reads the local time of each minute, and checks whether the expression matches it.
Nothing is computed ahead, no offset is compared, `fold` is not read: a repeated local time is known because it was
seen before.
"""

from __future__ import annotations

import calendar
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MINUTE = timedelta(minutes=1)
# The longest time that clocks were set back by since 1970 is three hours (Antarctica/Casey).
WARM_UP = timedelta(hours=4)

_MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
_DAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Minute:
    """A minute of real time and the local time in it."""

    instant: datetime
    wall: datetime


def minutes_of(zone: str, start: datetime, end: datetime) -> list[Minute]:
    """Every minute from a while before `start` up to `end`, with its local time."""
    place = ZoneInfo(zone)
    walk = []
    instant = start.replace(second=0, microsecond=0) - WARM_UP
    while instant < end:
        walk.append(Minute(instant=instant, wall=instant.astimezone(place).replace(tzinfo=None, fold=0)))
        instant += MINUTE
    return walk


def reference_ticks(expression: str, walk: Iterable[Minute], start: datetime) -> list[datetime]:
    """The ticks of a `cron(...)` from `start` on, in the minutes of `walk`."""
    minutes, hours, day, month, weekday, year = expression.removeprefix("cron(").removesuffix(")").split()
    minute_set, hour_set = _numbers(minutes, 0, 59, []), _numbers(hours, 0, 23, [])
    every_hour = hour_set == set(range(24))
    days_seen: dict[tuple[int, int, int], bool] = {}
    seen: set[datetime] = set()
    ticks = []
    for minute in walk:
        wall = minute.wall
        if wall.minute not in minute_set or wall.hour not in hour_set:
            continue
        date = (wall.year, wall.month, wall.day)
        if date not in days_seen:
            days_seen[date] = (
                wall.month in _numbers(month, 1, 12, _MONTHS)
                and wall.year in _numbers(year, 1970, 2199, [])
                and _day_matches(day, weekday, wall)
            )
        if days_seen[date] and (every_hour or wall not in seen):
            seen.add(wall)
            if minute.instant >= start:
                ticks.append(minute.instant)
    return ticks


def changes_of(zone: str, first_year: int, last_year: int) -> list[datetime]:
    """The minutes in which the zone's offset became another, in these years."""
    place = ZoneInfo(zone)
    changes = []
    day = datetime(first_year, 1, 1, tzinfo=UTC)
    while day.year <= last_year:
        morrow = day + timedelta(days=1)
        if day.astimezone(place).utcoffset() != morrow.astimezone(place).utcoffset():
            instant = day
            while instant.astimezone(place).utcoffset() == day.astimezone(place).utcoffset():
                instant += MINUTE
            changes.append(instant)
        day = morrow
    return changes


def _day_matches(day: str, weekday: str, wall: datetime) -> bool:
    length = calendar.monthrange(wall.year, wall.month)[1]
    aws_weekday = (wall.weekday() + 1) % 7 + 1
    if weekday == "?":
        if day == "L":
            return wall.day == length
        if day.startswith("L-"):
            return wall.day == length - int(day[2:])
        if day == "LW":
            return wall.day == max(d for d in range(1, length + 1) if _is_workday(wall, d))
        if day.endswith("W"):
            return wall.day == _nearest_workday(wall, int(day[:-1]), length)
        return wall.day in _numbers(day, 1, 31, [])
    if weekday == "L":
        return aws_weekday == 7
    if weekday.endswith("L"):
        return aws_weekday == _number(weekday[:-1], 1, _DAYS) and wall.day + 7 > length
    if "#" in weekday:
        name, nth = weekday.split("#")
        return aws_weekday == _number(name, 1, _DAYS) and (wall.day - 1) // 7 + 1 == int(nth)
    return aws_weekday in _numbers(weekday, 1, 7, _DAYS)


def _is_workday(wall: datetime, day: int) -> bool:
    return wall.replace(day=day).weekday() < 5


def _nearest_workday(wall: datetime, day: int, length: int) -> int | None:
    """The nearest workday in the month; of a Saturday and a Sunday the neighbour is the nearer one."""
    if day > length:
        return None
    return min((d for d in range(1, length + 1) if _is_workday(wall, d)), key=lambda d: abs(d - day))


def _numbers(text: str, low: int, high: int, names: Sequence[str]) -> set[int]:
    found = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        if span == "*":
            span = f"{low}-{high}"
        first, _, last = span.partition("-")
        number = _number(first, low, names)
        end = _number(last, low, names) if last else high if step else number
        steps = 0
        while True:
            if steps % int(step or 1) == 0:
                found.add(number)
            if number == end:
                break
            number = low if number == high else number + 1
            steps += 1
    return found


def _number(word: str, low: int, names: Sequence[str]) -> int:
    return names.index(word.upper()) + low if word.upper() in names else int(word)
