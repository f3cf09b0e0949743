"""The engine against a matcher that walks real time minute by minute and shares no code with it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from cronce.schedule import Schedule, parse
from tests.support.quick import quick
from tests.support.reference_cron import changes_of, minutes_of, reference_ticks

# Both hemispheres, half hours, changes at midnight, by 2 and 3 hours, Ramadan, across the date line, none at all.
ZONES = (
    "America/New_York",
    "America/Los_Angeles",
    "America/St_Johns",
    "America/Havana",
    "America/Asuncion",
    "America/Santiago",
    "America/Sao_Paulo",
    "America/Godthab",
    "America/Scoresbysund",
    "America/Caracas",
    "Atlantic/Azores",
    "Europe/Berlin",
    "Europe/London",
    "Europe/Dublin",
    "Europe/Moscow",
    "Europe/Istanbul",
    "Africa/Cairo",
    "Africa/Casablanca",
    "Asia/Beirut",
    "Asia/Amman",
    "Asia/Gaza",
    "Asia/Tehran",
    "Asia/Kolkata",
    "Asia/Pyongyang",
    "Australia/Lord_Howe",
    "Australia/Sydney",
    "Antarctica/Troll",
    "Antarctica/Casey",
    "Pacific/Apia",
    "Pacific/Chatham",
)
EXPRESSIONS = (
    "cron(* * * * ? *)",
    "cron(0 * * * ? *)",
    "cron(7/20 * ? * SUN-SAT *)",
    "cron(* 0-22 * * ? *)",
    "cron(30 2 * * ? *)",
    "cron(0,30 0-3 * * ? *)",
    "cron(15/15 22-2 ? * FRI-MON *)",
    "cron(45 23 L * ? *)",
    "cron(0 0 ? * 1L *)",
    "cron(30 1 ? 3,10,11 SUN *)",
)
AROUND = timedelta(hours=5)


def ticks_by_next(schedule: Schedule, start: datetime, end: datetime) -> list[datetime]:
    """The ticks of [start, end), asked for one by one going forward."""
    ticks = []
    tick = schedule.next(start - timedelta(microseconds=1))
    while tick is not None and tick < end:
        ticks.append(tick)
        tick = schedule.next(tick)
    return ticks


def ticks_by_previous(schedule: Schedule, start: datetime, end: datetime) -> list[datetime]:
    """The ticks of [start, end), asked for one by one going back."""
    ticks = []
    tick = schedule.previous(end)
    while tick is not None and tick >= start:
        ticks.append(tick)
        tick = schedule.previous(tick)
    return ticks[::-1]


@pytest.mark.parametrize("zone", quick(ZONES, only=ZONES[::3]))
def test_around_every_change_of_twelve_years_the_ticks_are_those_of_the_wall_clock(zone: str) -> None:
    """2010 to 2021 has a date line crossing, changes at midnight, by 30 minutes and by 3 hours."""
    schedules = {expression: parse(expression, timezone=zone) for expression in EXPRESSIONS}
    for change in changes_of(zone, 2010, 2021):
        start, end = change - AROUND, change + AROUND
        walk = minutes_of(zone, start, end)
        for expression, schedule in schedules.items():
            expected = reference_ticks(expression, walk, start)
            assert list(schedule.between(start, end)) == expected, (zone, expression, change)
        for expression in EXPRESSIONS[1:7]:
            expected = reference_ticks(expression, walk, start)
            assert ticks_by_previous(schedules[expression], start, end) == expected, (zone, expression, change)


@pytest.mark.parametrize("zone", ["America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Africa/Cairo"])
def test_every_instant_near_a_change_has_the_same_next_and_previous_tick(zone: str) -> None:
    """Also from instants that are no tick and from inside the hour that comes twice."""
    for change in changes_of(zone, 2026, 2026):
        start, end = change - timedelta(days=2), change + timedelta(days=2)
        walk = minutes_of(zone, start, end)
        for expression in ("cron(0 * * * ? *)", "cron(0,30 0-3 * * ? *)", "cron(30 23 * * ? *)"):
            schedule = parse(expression, timezone=zone)
            expected = reference_ticks(expression, walk, start)
            for minutes in range(-200, 200, 7):
                at = change + timedelta(minutes=minutes, seconds=20)
                assert schedule.next(at) == min(tick for tick in expected if tick > at), (expression, at)
                assert schedule.previous(at) == max(tick for tick in expected if tick < at), (expression, at)


LONG = (
    "cron(0 9/10 ? * MON,WED-FRI *)",
    "cron(20 3 1-7,29-31 * ? *)",
    "cron(0 6 15W * ? *)",
    "cron(0 6 1W * ? *)",
    "cron(0 6 31W * ? *)",
    "cron(0 6 LW * ? *)",
    "cron(0 6 L-2 * ? *)",
    "cron(0 6 L-30 * ? *)",
    "cron(0 6 ? * 2#1 *)",
    "cron(0 6 ? * SAT#5 *)",
    "cron(0 6 ? * 5L *)",
    "cron(10/25 22-4/3 28-3 NOV-FEB ? *)",
    "cron(0 0 29 2 ? *)",
    "cron(59 23 ? DEC L 2027/1)",
)


def test_two_years_minute_by_minute_give_the_same_ticks() -> None:
    """2027 and 2028, a leap year."""
    zone = "America/New_York"
    start, end = datetime(2027, 1, 1, tzinfo=UTC), datetime(2029, 1, 1, tzinfo=UTC)
    walk = minutes_of(zone, start, end)
    for expression in LONG:
        schedule = parse(expression, timezone=zone)
        expected = reference_ticks(expression, walk, start)
        assert ticks_by_next(schedule, start, end) == expected, expression
        assert ticks_by_previous(schedule, start, end) == expected, expression


@pytest.mark.slow
@pytest.mark.parametrize("zone", quick(ZONES, only=ZONES[::3]))
def test_two_years_minute_by_minute_give_the_same_ticks_in_every_zone(zone: str) -> None:
    """2011 and 2012: a leap year, and most of the odd changes of the list."""
    start, end = datetime(2011, 1, 1, tzinfo=UTC), datetime(2013, 1, 1, tzinfo=UTC)
    walk = minutes_of(zone, start, end)
    for expression in (EXPRESSIONS[1], *EXPRESSIONS[4:], *LONG):
        schedule = parse(expression, timezone=zone)
        expected = reference_ticks(expression, walk, start)
        assert list(schedule.between(start, end)) == expected, expression
        assert ticks_by_previous(schedule, start, end) == expected, expression


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Gaza", "Australia/Lord_Howe", "Pacific/Apia"])
@pytest.mark.parametrize("direction", [-1, 1])
def test_a_change_about_a_day_away_from_the_question_does_not_matter_to_a_far_tick(zone: str, direction: int) -> None:
    """The search looks a day ahead; the change is just before, at or just after that point, by fractions too."""
    schedule, place = parse("cron(0 12 1 7 ? *)", timezone=zone), ZoneInfo(zone)
    for change in changes_of(zone, 2010, 2012):
        for fraction in (
            -2_000_000,
            -1_500_000,
            -1_000_001,
            -1_000_000,
            -1,
            0,
            1,
            500_000,
            999_999,
            1_000_000,
            1_500_000,
        ):
            at = change + direction * timedelta(days=1) + timedelta(microseconds=fraction)
            julys = [datetime(year, 7, 1, 12, tzinfo=place).astimezone(UTC) for year in range(2008, 2015)]
            assert schedule.next(at) == min(tick for tick in julys if tick > at)
            assert schedule.previous(at) == max(tick for tick in julys if tick < at)


def test_no_zone_changes_its_offset_twice_within_a_day() -> None:
    """The walk in stretches relies on it: a day with one offset at both ends is one stretch."""
    for zone in ZONES:
        place = ZoneInfo(zone)
        hour, changes = datetime(1970, 1, 1, tzinfo=UTC), []
        last = hour.astimezone(place).utcoffset()
        while hour.year < 2040:
            hour += timedelta(hours=12)
            offset = hour.astimezone(place).utcoffset()
            if offset != last:
                changes.append(hour)
                last = offset
        assert all(later - earlier > timedelta(days=1) for earlier, later in pairwise(changes))
