"""`parse` and `Schedule` as their users meet them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from cronce.schedule import Kind, Schedule, ScheduleInvalidError, parse
from cronce.vocabulary.errors import CronceError, InputInvalidError

NEW_YORK = "America/New_York"


def utc(*parts: int) -> datetime:
    """An instant in UTC."""
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type,misc]


# Daylight saving time ------------------------------------------------------------------------------------------------


def test_a_local_time_that_does_not_exist_is_skipped_and_the_preview_says_so() -> None:
    """The case of 02:30 in New York (Scheduler User Guide, "Daylight savings time")."""
    schedule = parse("30 2 * * *", timezone=NEW_YORK)
    assert schedule.next(utc(2026, 3, 7, 7, 30)) == utc(2026, 3, 9, 6, 30)
    assert schedule.previous(utc(2026, 3, 9, 6, 30)) == utc(2026, 3, 7, 7, 30)
    first, second = schedule.preview(utc(2026, 3, 8, 0, 0), 2)
    assert first.utc == utc(2026, 3, 9, 6, 30)
    assert first.local == datetime(2026, 3, 9, 2, 30, tzinfo=ZoneInfo(NEW_YORK))
    assert first.note == "02:30 does not exist on 2026-03-08: skipped"
    assert second.note == ""


def test_a_year_of_previews_tells_of_exactly_one_lost_run() -> None:
    """364 ticks in 2026, one note of a skip."""
    schedule = parse("30 2 * * *", timezone=NEW_YORK)
    previews = schedule.preview(utc(2026, 1, 1, 5), 364)
    assert previews[-1].local.date().isoformat() == "2026-12-31"
    assert [preview.note for preview in previews if preview.note] == ["02:30 does not exist on 2026-03-08: skipped"]


def test_a_daily_time_that_comes_twice_fires_once_before_the_change() -> None:
    """01:30 in New York on 2026-11-01 is one run, one period."""
    schedule = parse("30 1 * * *", timezone=NEW_YORK)
    assert list(schedule.between(utc(2026, 11, 1, 4), utc(2026, 11, 2, 5))) == [utc(2026, 11, 1, 5, 30)]
    assert schedule.previous(utc(2026, 11, 2)) == utc(2026, 11, 1, 5, 30)
    assert schedule.preview(utc(2026, 11, 1), 1)[0].note == "01:30 occurs twice on 2026-11-01, fires once"


@pytest.mark.parametrize("expression", ["0 * * * *", "cron(0 0-23 * * ? *)", "cron(0 */1 ? * * *)", "@hourly"])
def test_an_hourly_schedule_has_25_ticks_on_a_day_of_25_hours(expression: str) -> None:
    """However every hour is spelled; the periods, being UTC, are distinct."""
    schedule = parse(expression, timezone=NEW_YORK)
    ticks = list(schedule.between(utc(2026, 11, 1, 4), utc(2026, 11, 2, 5)))
    assert ticks == [utc(2026, 11, 1, 4) + timedelta(hours=hour) for hour in range(25)]
    notes = [preview.note for preview in schedule.preview(utc(2026, 11, 1, 4), 4)]
    assert notes == [
        "",
        "01:00 occurs twice on 2026-11-01, fires both times: this is the first",
        "01:00 occurs twice on 2026-11-01, fires both times: this is the second",
        "",
    ]


def test_an_hourly_schedule_has_23_ticks_on_a_day_of_23_hours() -> None:
    """The hour between 02:00 and 03:00 is missing from the clock, not from the schedule."""
    ticks = list(parse("0 * * * *", timezone=NEW_YORK).between(utc(2026, 3, 8, 5), utc(2026, 3, 9, 4)))
    assert ticks == [utc(2026, 3, 8, 5) + timedelta(hours=hour) for hour in range(23)]


def test_the_hour_left_out_of_23_makes_the_repeated_hour_fire_once() -> None:
    """Only a schedule of all 24 hours is untied from the time of day."""
    ticks = list(parse("cron(0 0-22 * * ? *)", timezone=NEW_YORK).between(utc(2026, 11, 1, 4), utc(2026, 11, 1, 9)))
    assert ticks == [utc(2026, 11, 1, hour) for hour in (4, 5, 7, 8)]


def test_many_lost_ticks_are_one_note() -> None:
    """A minute schedule loses the names of 60 minutes."""
    schedule = parse("cron(0/15 2 * * ? *)", timezone=NEW_YORK)
    note = schedule.preview(utc(2026, 3, 8), 1)[0].note
    assert note == "02:00 to 02:45 do not exist on 2026-03-08: 4 ticks skipped"


def test_a_skipped_day_is_told_by_its_date() -> None:
    """Samoa had no 30 December 2011."""
    schedule = parse("0 9 * * *", timezone="Pacific/Apia")
    notes = [preview.note for preview in schedule.preview(utc(2011, 12, 29), 3)]
    assert notes == ["", "09:00 does not exist on 2011-12-30: skipped", ""]


def test_lord_howe_repeats_half_an_hour() -> None:
    """24 and a half hours hold 25 ticks at half past."""
    schedule = parse("cron(30 * * * ? *)", timezone="Australia/Lord_Howe")
    place = ZoneInfo("Australia/Lord_Howe")
    start, end = datetime(2026, 4, 5, tzinfo=place), datetime(2026, 4, 6, tzinfo=place)
    assert len(list(schedule.between(start, end))) == 25


def test_a_rate_in_days_keeps_24_hours_and_says_that_local_time_moves() -> None:
    """Scheduler User Guide: `days` is 24 hours on the clock."""
    schedule = parse("rate(1 day)", timezone=NEW_YORK, start=utc(2026, 3, 6, 14))
    previews = schedule.preview(utc(2026, 3, 6, 14), 4)
    assert [preview.utc for preview in previews] == [utc(2026, 3, day, 14) for day in (6, 7, 8, 9)]
    assert [preview.note for preview in previews] == [
        "",
        "",
        "a day of a rate is 24 hours: local time moves from 09:00 to 10:00",
        "",
    ]


def test_a_one_time_schedule_at_a_time_that_does_not_exist_is_refused() -> None:
    """It would never fire."""
    with pytest.raises(ScheduleInvalidError, match="America/New_York") as caught:
        parse("at(2026-03-08T02:30:00)", timezone=NEW_YORK)
    assert caught.value.field == "at"


def test_a_one_time_schedule_at_a_time_that_comes_twice_fires_before_the_change() -> None:
    """The same rule as for cron."""
    assert parse("at(2026-11-01T01:30:00)", timezone=NEW_YORK).next(utc(2026, 1, 1)) == utc(2026, 11, 1, 5, 30)


# Asking a schedule ---------------------------------------------------------------------------------------------------


def test_next_and_previous_are_strict() -> None:
    """Just before, at, just after."""
    schedule, tick, instant = parse("0 6 * * *"), utc(2026, 11, 29, 6), timedelta(microseconds=1)
    assert schedule.next(tick - instant) == tick
    assert schedule.next(tick) == utc(2026, 11, 30, 6)
    assert schedule.previous(tick) == utc(2026, 11, 28, 6)
    assert schedule.previous(tick + instant) == tick


def test_instants_of_any_zone_are_taken_and_utc_is_given() -> None:
    """06:00 in Berlin is 05:00 in UTC."""
    tick = parse("0 6 * * *").next(datetime(2026, 11, 29, 6, 59, tzinfo=ZoneInfo("Europe/Berlin")))
    assert tick == utc(2026, 11, 29, 6)
    assert tick.tzinfo is UTC


def test_a_naive_instant_is_refused() -> None:
    """It could be local time or UTC; guessing is how runs get lost."""
    schedule, naive = parse("0 6 * * *"), datetime(2026, 11, 29, 6)  # noqa: DTZ001
    calls: list[Callable[[], object]] = [
        lambda: schedule.next(naive),
        lambda: schedule.previous(naive),
        lambda: schedule.between(naive, utc(2027, 1, 1)),
        lambda: schedule.between(utc(2026, 1, 1), naive),
        lambda: schedule.nearest(naive, tolerance=timedelta(0)),
        lambda: schedule.preview(naive, 1),
        lambda: parse("rate(1 hour)", start=naive),
    ]
    for call in calls:
        with pytest.raises(InputInvalidError, match="time zone"):
            call()


def test_spans_that_share_an_end_share_no_tick() -> None:
    """The start is included, the end is not."""
    schedule = parse("0 * * * *")
    first = list(schedule.between(utc(2026, 1, 1, 0), utc(2026, 1, 1, 2)))
    second = list(schedule.between(utc(2026, 1, 1, 2), utc(2026, 1, 1, 4)))
    assert first == [utc(2026, 1, 1, 0), utc(2026, 1, 1, 1)]
    assert second == [utc(2026, 1, 1, 2), utc(2026, 1, 1, 3)]
    assert list(schedule.between(utc(2026, 1, 1), utc(2026, 1, 1))) == []


def test_a_span_that_runs_backwards_is_refused_at_once() -> None:
    """Not when the iterator is used, which may be never."""
    with pytest.raises(InputInvalidError, match="end"):
        parse("0 * * * *").between(utc(2026, 1, 2), utc(2026, 1, 1))


def test_years_that_are_over_are_no_error_but_have_no_next_tick() -> None:
    """Whether they are over depends on when one asks."""
    schedule = parse("cron(0 0 1 1 ? 2020-2021)")
    assert schedule.next(utc(2026, 1, 1)) is None
    assert schedule.previous(utc(2026, 1, 1)) == utc(2021, 1, 1)
    assert schedule.previous(utc(2020, 1, 1)) is None
    assert schedule.preview(utc(2026, 1, 1), 3) == []


# Timers that are not exact -------------------------------------------------------------------------------------------

SIX = utc(2026, 11, 29, 6)


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (SIX - timedelta(milliseconds=20), SIX),
        (SIX, SIX),
        (SIX + timedelta(milliseconds=30), SIX),
        (SIX + timedelta(seconds=29), SIX),
        (SIX - timedelta(seconds=2), SIX),
        (SIX - timedelta(seconds=2, microseconds=1), SIX - timedelta(minutes=1)),
    ],
)
def test_a_timer_a_little_early_and_a_little_late_means_one_tick(at: datetime, expected: datetime) -> None:
    """05:59:59.98 and 06:00:00.03 are both 06:00; at the tolerance and just outside of it."""
    assert parse("* * * * *").nearest(at, tolerance=timedelta(seconds=2)) == expected


def test_a_tolerance_longer_than_the_interval_does_not_run_ahead() -> None:
    """A tick that was just now is nearer than one that is due in 59.97 seconds."""
    at = SIX + timedelta(milliseconds=30)
    assert parse("* * * * *").nearest(at, tolerance=timedelta(minutes=5)) == SIX


def test_a_flexible_window_after_midnight_is_yesterday_s_tick() -> None:
    """The 23:55 run that starts at 00:07."""
    tick = parse("55 23 * * *").nearest(utc(2026, 11, 30, 0, 7), tolerance=timedelta(seconds=2))
    assert tick == utc(2026, 11, 29, 23, 55)


def test_before_the_first_tick_nothing_is_nearest_unless_it_is_due() -> None:
    """A one-time schedule, woken a minute and a second early."""
    schedule = parse("at(2026-11-29T06:00:00)")
    assert schedule.nearest(SIX - timedelta(minutes=1), tolerance=timedelta(seconds=2)) is None
    assert schedule.nearest(SIX - timedelta(seconds=1), tolerance=timedelta(seconds=2)) == SIX


def test_a_negative_tolerance_is_refused() -> None:
    """It would mean nothing."""
    with pytest.raises(InputInvalidError, match="tolerance"):
        parse("* * * * *").nearest(SIX, tolerance=timedelta(seconds=-1))


# Starts --------------------------------------------------------------------------------------------------------------


def test_a_rate_counts_from_its_start_which_is_its_first_tick() -> None:
    """Scheduler User Guide: StartDate sets the first occurrence."""
    schedule = parse("rate(90 minutes)", start=utc(2026, 1, 1, 0, 10))
    assert schedule.next(utc(2025, 1, 1)) == utc(2026, 1, 1, 0, 10)
    assert schedule.next(utc(2026, 1, 1, 0, 10)) == utc(2026, 1, 1, 1, 40)
    assert schedule.previous(utc(2026, 1, 1, 0, 10)) is None
    assert schedule.previous(utc(2026, 1, 1, 1, 40)) == utc(2026, 1, 1, 0, 10)


def test_a_rate_without_a_start_says_so_when_it_is_asked_for_ticks() -> None:
    """It is a good schedule all the same: EventBridge starts it when it is created."""
    schedule = parse("rate(5 minutes)")
    assert schedule.expression == "rate(5 minutes)"
    assert schedule.describe() == "every 5 minutes"
    for call in (
        lambda: schedule.next(SIX),
        lambda: schedule.previous(SIX),
        lambda: schedule.between(SIX, SIX),
        lambda: schedule.nearest(SIX, tolerance=timedelta(0)),
        lambda: schedule.preview(SIX, 1),
    ):
        with pytest.raises(ScheduleInvalidError, match="StartDate") as caught:
            call()
        assert caught.value.field == "start"


def test_a_cron_has_no_tick_before_its_start() -> None:
    """The start itself may be one."""
    schedule = parse("0 6 * * *", start=SIX)
    assert schedule.next(utc(2026, 1, 1)) == SIX
    assert schedule.previous(SIX) is None
    assert schedule.previous(SIX + timedelta(days=1)) == SIX
    started_at_five = parse("0 6 * * *", start=SIX - timedelta(hours=1))
    assert started_at_five.previous(SIX - timedelta(minutes=30)) is None
    assert parse("0 6 * * *", start=SIX + timedelta(microseconds=1)).next(utc(2026, 1, 1)) == SIX + timedelta(days=1)


def test_a_one_time_schedule_ignores_its_start() -> None:
    """Scheduler User Guide, "One-time schedules"."""
    assert parse("at(2026-11-29T06:00:00)", start=utc(2027, 1, 1)).next(utc(2026, 1, 1)) == SIX


# Words ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("0 6 * * 1-5", "at 06:00 on Monday to Friday"),
        ("0 6 * * *", "at 06:00 every day"),
        ("0 6,18 * * *", "at 06:00 and 18:00 every day"),
        ("* * * * *", "every minute"),
        ("*/15 * * * *", "every 15 minutes"),
        ("5,20 * * * *", "at minutes 5 and 20 of every hour"),
        ("0 * * * *", "every hour"),
        ("30 * * * SUN", "every hour at minute 30 on Sunday"),
        ("0 */2 * * *", "every 2 hours from 00:00 every day"),
        ("3 1-20 * * *", "every hour from 01:03 to 20:03 every day"),
        ("cron(0/5 8-17 ? * MON-FRI *)", "every 5 minutes from 08:00 to 17:55 on Monday to Friday"),
        ("cron(7,9 1-3,8 * * ? *)", "at minutes 7 and 9 from 01:07 to 03:09 and 08:07 to 08:09 every day"),
        ("cron(15 10 ? * 6L 2022-2024)", "at 10:15 on the last Friday of the month in 2022 to 2024"),
        ("cron(0 9 ? * 2#1 *)", "at 09:00 on the first Monday of the month"),
        ("cron(0 9 L * ? *)", "at 09:00 on the last day of the month"),
        ("cron(0 9 L-1 * ? *)", "at 09:00 1 day before the last day of the month"),
        ("cron(0 9 LW * ? *)", "at 09:00 on the last weekday of the month"),
        ("cron(0 9 15W * ? *)", "at 09:00 on the weekday nearest to day 15 of the month"),
        ("cron(0 9 1,15,20-25 1,7 ? *)", "at 09:00 on day 1, 15 and 20 to 25 of the month in January and July"),
        ("cron(0 9 ? * MON,WED,SAT *)", "at 09:00 on Monday, Wednesday and Saturday"),
    ],
)
def test_a_cron_in_words(expression: str, words: str) -> None:
    """The zone comes last."""
    assert parse(expression, timezone="Europe/Berlin").describe() == f"{words}, Europe/Berlin"


def test_the_other_kinds_in_words() -> None:
    """A rate has no zone."""
    assert parse("at(2026-11-29T06:00:00)").describe() == "once at 2026-11-29 06:00:00, UTC"
    assert parse("rate(1 hour)").describe() == "every hour"
    assert parse("rate(2 days)", start=SIX).describe() == "every 2 days from 2026-11-29T06:00:00Z"


# The value -----------------------------------------------------------------------------------------------------------


def test_a_schedule_has_one_spelling() -> None:
    """Names in upper case, single spaces, no leading zeros in a rate."""
    assert parse("  cron(0  6 ?  * mon-Fri *) ").expression == "cron(0 6 ? * MON-FRI *)"
    assert parse("rate(05 minutes)").expression == "rate(5 minutes)"
    assert parse("at(2026-11-29T06:00:00)").expression == "at(2026-11-29T06:00:00)"
    assert [parse(text).kind for text in ("@daily", "rate(1 day)", "at(2026-11-29T06:00:00)")] == list(Kind)


def test_schedules_that_say_the_same_are_equal() -> None:
    """And can be keys; the zone and the start belong to what they say."""
    assert parse("0 6 * * 1-5") == parse("cron(0 6 ? * MON-FRI *)")
    assert len({parse("0 6 * * *"), parse("0  6 * * *"), parse("0 6 * * *", timezone=NEW_YORK)}) == 2
    assert parse("rate(1 day)") != parse("rate(1 day)", start=SIX)
    with pytest.raises(FrozenInstanceError):
        parse("0 6 * * *").timezone = NEW_YORK  # type: ignore[misc]


# Refusals that are not about one field of cron -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "expression",
    ["", " ", "0 6 * * *\n", "0\t6 * * *", "cron(0 6 * * ? *)\x00", "cron(0 6 * * ?\u2028*)", "x" * 257, "9" * 100_000],
)
def test_text_that_is_no_line_of_decent_length_is_refused_as_a_whole(expression: str) -> None:
    """Control characters, nothing at all, and more than EventBridge's 256 characters."""
    with pytest.raises(ScheduleInvalidError) as caught:
        parse(expression)
    assert caught.value.field == "expression"
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("expression", [None, 5, b"0 6 * * *", ["0 6 * * *"]])
def test_what_is_no_text_is_refused(expression: object) -> None:
    """With the package's own error, for a caller that reads it from a file."""
    with pytest.raises(ScheduleInvalidError):
        parse(expression)  # type: ignore[arg-type]


def test_256_characters_are_taken() -> None:
    """AWS's own limit, both sides."""
    fields = "cron({} 6 * * ? *)"
    minutes = ",".join(["10"] * 80)[: 256 - len(fields) + 2].rstrip(",")
    expression = fields.format(minutes).ljust(256)
    assert len(expression) == 256
    assert parse(expression).next(utc(2026, 1, 1)) == utc(2026, 1, 1, 6, 10)
    with pytest.raises(ScheduleInvalidError, match="256"):
        parse(expression + " ")


def test_a_refusal_carries_what_stood_there_and_what_may() -> None:
    """So that a caller can put its own words around it."""
    with pytest.raises(ScheduleInvalidError) as caught:
        parse("cron(*/60 * * * ? *)")
    refusal = caught.value
    assert (refusal.field, refusal.value) == ("minutes", "*/60")
    assert refusal.allowed == "0-59 with , - * /; a step is 1-59"
    assert str(refusal) == "minutes: '*/60' is not usable; allowed: 0-59 with , - * /; a step is 1-59"
    assert isinstance(refusal, InputInvalidError)
    assert isinstance(refusal, CronceError)


def test_the_both_day_fields_refusal_says_what_to_do() -> None:
    """`use ?`."""
    with pytest.raises(ScheduleInvalidError, match=r"use \? in one of the day fields"):
        parse("cron(34 12 * * SAT *)")


# Zones ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "zone",
    [
        "Mars/Olympus",
        "",
        "utc+2",
        "../../etc/passwd",
        "/etc/localtime",
        "America",
        "localtime",
        "Factory",
        "right/UTC",
        "a\0b",
    ],
)
def test_an_unknown_zone_is_an_error_that_names_it(zone: str) -> None:
    """Never UTC in silence."""
    with pytest.raises(ScheduleInvalidError, match="tzdata") as caught:
        parse("0 6 * * *", timezone=zone)
    assert (caught.value.field, caught.value.value) == ("timezone", zone)


@pytest.mark.parametrize(
    ("zone", "meant"),
    [
        ("Europe/Berln", "Europe/Berlin"),
        ("europe/berlin", "Europe/Berlin"),
        (" America/New York ", "America/New_York"),
        ("Asia/Calcuta", "Asia/Calcutta"),
    ],
)
def test_a_mistyped_zone_is_answered_with_the_one_that_was_meant(zone: str, meant: str) -> None:
    """Instead of advice about missing data."""
    with pytest.raises(ScheduleInvalidError, match=rf"did you mean {meant}\?"):
        parse("0 6 * * *", timezone=zone)


@pytest.mark.parametrize("name", ["x" * 100, "Europe/Berlin" * 700])
def test_a_zone_with_a_name_of_any_length_is_refused(name: str) -> None:
    """Nothing is searched that is like a text longer than every name of a zone; hundreds of slashes end no process."""
    with pytest.raises(ScheduleInvalidError) as refused:
        parse("0 6 * * *", timezone=name)
    assert "did you mean" not in str(refused.value)


def test_without_zone_data_utc_works_and_every_other_zone_is_an_error_that_names_tzdata() -> None:
    """A slim image: no system zones, no tzdata package."""
    code = """
import sys
sys.modules["tzdata"] = None
from cronce.schedule import ScheduleInvalidError, parse
print(parse("0 6 * * *").expression)
try:
    parse("0 6 * * *", timezone="Europe/Berlin")
except ScheduleInvalidError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, "PYTHONTZPATH": ""}
    )
    usable, refused = done.stdout.splitlines()
    assert usable == "cron(0 6 * * ? *)"
    assert "Europe/Berlin" in refused
    assert "tzdata" in refused


# Cost ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "expression",
    [
        "cron(0 0 29 2 ? *)",
        "cron(0 0 29 2 ? 2000-2199/7)",
        "cron(0 0 29 2 ? 2196)",
        "cron(59 23 31 12 ? 2199)",
        "cron(59 23 31 12 ? 1970)",
        "cron(0 0 ? 2 7#5 *)",
        "cron(0 0 ? 2 7#5 2172)",
        "cron(0 0 31W 12 ? 2199)",
        "cron(* * * * ? *)",
    ],
)
@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_the_work_for_a_tick_is_bounded_for_the_worst_expression(expression: str, zone: str) -> None:
    """Counted in calls, not in seconds: less than two for each month from 1970 to 2199."""
    schedule = parse(expression, timezone=zone)
    for work in (
        lambda: parse(expression, timezone=zone),
        lambda: schedule.next(utc(1970, 1, 1)),
        lambda: schedule.next(utc(2026, 11, 29)),
        lambda: schedule.next(utc(2197, 1, 1)),
        lambda: schedule.previous(utc(2199, 12, 1)),
        lambda: schedule.previous(utc(1975, 1, 1)),
    ):
        assert calls_in(work) < 2 * 230 * 12


def calls_in(work: Callable[[], object]) -> int:
    """How many Python functions are called on the way."""
    calls = 0

    def count(_frame: object, event: str, _arg: object) -> None:
        nonlocal calls
        calls += event == "call"

    earlier = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(earlier)
    return calls


def test_importing_the_package_loads_no_zone_data_and_nothing_that_acts() -> None:
    """Time, sockets, threads and random numbers have no business in it; zones are loaded by need."""
    code = """
import sys
before = set(sys.modules)
import cronce.schedule._schedule as package
parse = package.parse
parse("0 6 * * *").describe()
names = {name for module in list(sys.modules) if module.startswith("cronce.schedule")
         for name, value in vars(sys.modules[module]).items() if type(value) is type(sys)}
print(sorted(names))
print("zoneinfo" in sys.modules and "zoneinfo" not in before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules, zones = done.stdout.splitlines()
    acting = {"time", "os", "socket", "threading", "random", "boto3", "botocore", "asyncio", "secrets", "uuid"}
    assert not acting & set(eval(modules))
    assert zones == "False"


def test_a_schedule_shows_itself_without_its_insides() -> None:
    """What a log line or a failed assertion prints."""
    schedule: Schedule = parse("0 6 * * *", timezone=NEW_YORK)
    assert "cron(0 6 * * ? *)" in repr(schedule)
    assert "_ticks" not in repr(schedule)


def test_other_kinds_have_nothing_odd_to_note() -> None:
    """An hourly rate and a one-off know no local time."""
    rate = parse("rate(1 hour)", timezone=NEW_YORK, start=utc(2026, 3, 8, 5))
    assert [tick.note for tick in rate.preview(utc(2026, 3, 8, 5), 4)] == [""] * 4
    once = parse("at(2026-03-09T06:00:00)", timezone=NEW_YORK)
    assert [tick.note for tick in once.preview(utc(2026, 3, 8), 4)] == [""]


def test_a_preview_of_nothing_is_refused() -> None:
    """One tick at least."""
    with pytest.raises(InputInvalidError, match="count"):
        parse("0 6 * * *").preview(utc(2026, 3, 8), 0)


def test_a_star_has_no_end() -> None:
    """`*-5` is neither all nor a range."""
    with pytest.raises(ScheduleInvalidError) as raised:
        parse("cron(*-5 * * * ? *)")
    assert raised.value.field == "minutes"
