"""What every timetable answers: the newest ticks of a span, intervals, periods, and the ends of time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cronce.schedule import (
    MOST_COUNTED,
    Every,
    Latest,
    PeriodForm,
    Preview,
    Schedule,
    ScheduleInvalidError,
    Timetable,
    parse,
)
from cronce.schedule._cron import Cron
from cronce.vocabulary.errors import InputInvalidError

T0 = datetime(2026, 11, 29, 6, tzinfo=UTC)
SECOND, MINUTE, HOUR, DAY = (timedelta(seconds=n) for n in (1, 60, 3600, 86_400))
MILLISECOND = timedelta(milliseconds=1)
EVERY_MINUTE = [Every(MINUTE), parse("* * * * *"), parse("rate(1 minute)", start=datetime(2026, 1, 1, tzinfo=UTC))]


@pytest.mark.parametrize("timetable", EVERY_MINUTE)
@pytest.mark.parametrize(
    ("until", "expected"),
    [
        (T0 + MINUTE - MILLISECOND, ()),
        (T0 + MINUTE, (T0 + MINUTE,)),
        (T0 + MINUTE + MILLISECOND, (T0 + MINUTE,)),
        (T0 + 2 * MINUTE, (T0 + MINUTE, T0 + 2 * MINUTE)),
    ],
)
def test_latest_excludes_its_start_and_includes_its_end(
    timetable: Timetable, until: datetime, expected: tuple[datetime, ...]
) -> None:
    """Just before, at, and just after a tick."""
    assert timetable.latest(after=T0, until=until, most=100) == Latest(ticks=expected)


@pytest.mark.parametrize("timetable", EVERY_MINUTE)
def test_latest_keeps_the_newest_and_counts_the_others(timetable: Timetable) -> None:
    """With the first and the last of those that are dropped."""
    assert timetable.latest(after=T0, until=T0 + 10 * MINUTE, most=3) == Latest(
        ticks=tuple(T0 + n * MINUTE for n in (8, 9, 10)),
        dropped=7,
        first_dropped=T0 + MINUTE,
        last_dropped=T0 + 7 * MINUTE,
    )


@pytest.mark.parametrize(
    "timetable",
    [*EVERY_MINUTE, parse("0 6 * * 0; 0 9 * * 1"), parse("at(2026-11-29T06:00:00)"), parse("0 6 * * *", start=T0)],
)
def test_a_tick_is_one_to_the_microsecond(timetable: Timetable) -> None:
    """Just before, at, and just after it."""
    instant = timedelta(microseconds=1)
    assert [timetable.has_tick(at) for at in (T0 - instant, T0, T0 + instant)] == [False, True, False]
    with pytest.raises(InputInvalidError, match="at:"):
        timetable.has_tick(T0.replace(tzinfo=None))


def test_latest_drops_nothing_at_its_bound() -> None:
    """Exactly as many ticks as requested, and one more."""
    assert Every(MINUTE).latest(after=T0, until=T0 + 3 * MINUTE, most=3).dropped == 0
    assert Every(MINUTE).latest(after=T0, until=T0 + 4 * MINUTE, most=3).dropped == 1


def test_years_of_seconds_are_counted_at_once_and_years_of_cron_up_to_a_bound() -> None:
    """A clock that was down for a year still starts at once."""
    year = timedelta(days=365)
    assert Every(SECOND).latest(after=T0, until=T0 + year, most=100).dropped == 365 * 86_400 - 100
    assert parse("* * * * *").latest(after=T0, until=T0 + year, most=100).dropped == MOST_COUNTED


def test_latest_of_a_timetable_that_has_ended_is_its_last_tick() -> None:
    """An `at` in the past."""
    once = parse("at(2026-11-29T05:00:00)")
    assert once.latest(after=T0, until=T0 + MINUTE, most=100) == Latest(ticks=())
    assert once.latest(after=T0 - 2 * HOUR, until=T0, most=100).ticks == (T0 - HOUR,)


@pytest.mark.parametrize("seconds", [1, 7, 10, 86_400 * 366])
def test_every_has_ticks_at_multiples_since_1970(seconds: int) -> None:
    """Strictly after and strictly before; none before 1970."""
    every = Every(timedelta(seconds=seconds))
    for moment in (T0, T0 + MILLISECOND):
        after, before = every.next(moment), every.previous(moment)
        assert after is not None
        assert before is not None
        assert before < moment < after
        assert after.timestamp() % seconds == before.timestamp() % seconds == 0
        assert after - before <= 2 * timedelta(seconds=seconds)
        assert every.next(before) in (moment, after)
    assert every.next(datetime(1960, 1, 1, tzinfo=UTC)) == datetime(1970, 1, 1, tzinfo=UTC)
    assert every.previous(datetime(1970, 1, 1, tzinfo=UTC)) is None


def test_every_is_a_timetable_like_any_other() -> None:
    """Equal by its interval, with words, a preview and a span."""
    every = Every(10 * SECOND)
    assert (every, hash(every)) == (Every(10 * SECOND), hash(Every(10 * SECOND)))
    assert every != Every(20 * SECOND)
    assert (every.describe(), every.spelling, every.timezone) == ("every 10s", "every 10s", "UTC")
    assert every.preview(T0, 2) == [Preview(utc=at, local=at) for at in (T0, T0 + 10 * SECOND)]
    assert list(every.between(T0, T0 + 20 * SECOND)) == [T0, T0 + 10 * SECOND]
    assert every.nearest(T0 + 9 * SECOND, tolerance=SECOND) == T0 + 10 * SECOND


# Starts and ends -----------------------------------------------------------------------------------------------------


def test_a_preview_does_not_search_the_time_before_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty years ahead, every minute: a few searches for three ticks, and no note."""
    searches: list[datetime] = []
    search = Cron.at_or_after

    def counted(self: Cron, wall: datetime) -> datetime | None:
        searches.append(wall)
        assert len(searches) < 100
        return search(self, wall)

    start = T0 + 50 * 365 * DAY
    schedule = parse("* * * * *", timezone="America/New_York", start=start)
    monkeypatch.setattr(Cron, "at_or_after", counted)
    previews = schedule.preview(T0, 3)
    assert [preview.utc for preview in previews] == [start, start + MINUTE, start + 2 * MINUTE]
    assert [preview.note for preview in previews] == ["", "", ""]


def test_a_note_does_not_mention_days_before_the_start() -> None:
    """02:30 does not exist in New York on 2026-03-08, but the schedule starts on the 10th."""
    start = datetime(2026, 3, 10, tzinfo=UTC)
    (first,) = parse("30 2 * * *", timezone="America/New_York", start=start).preview(
        datetime(2026, 1, 1, tzinfo=UTC), 1
    )
    assert (first.utc, first.note) == (datetime(2026, 3, 10, 6, 30, tzinfo=UTC), "")


@pytest.mark.parametrize("end", [T0, T0 - DAY])
@pytest.mark.parametrize("expression", ["0 6 * * *", "rate(1 day)", "at(2026-12-01T00:00:00)"])
def test_an_end_that_is_not_after_the_start_is_refused(expression: str, end: datetime) -> None:
    """It could never fire; EventBridge refuses it too."""
    with pytest.raises(ScheduleInvalidError, match="after the start") as caught:
        parse(expression, start=T0, end=end)
    assert caught.value.field == "end"


@pytest.mark.parametrize("expression", ["0 6 * * *", "rate(1 day)"])
def test_a_schedule_has_no_ticks_from_its_end_on(expression: str) -> None:
    """Just before, at, and just after a tick."""
    for end, last in ((T0 + DAY, T0), (T0 + DAY + SECOND, T0 + DAY), (T0 + DAY - SECOND, T0)):
        schedule = parse(expression, start=T0, end=end)
        assert schedule.previous(T0 + 100 * DAY) == last
        assert schedule.next(last) is None
        assert schedule.latest(after=T0 - DAY, until=T0 + 100 * DAY, most=5).ticks[-1] == last


def test_a_schedule_is_over_when_it_has_no_tick_any_more() -> None:
    """By its end, by its years, or because it was once; just before and after the last tick."""
    for schedule in (
        parse("0 6 * * *", end=T0 + SECOND),
        parse("at(2026-11-29T06:00:00)"),
        parse("cron(0 6 29 11 ? 2026)"),
        parse("rate(1 day)", start=T0, end=T0 + DAY),
    ):
        assert not schedule.is_over(T0 - SECOND)
        assert schedule.is_over(T0)
    assert not parse("rate(5 minutes)").is_over(T0)  # it has no start, so its ticks are unknown


def test_a_one_time_schedule_ignores_its_end() -> None:
    """Scheduler API Reference, CreateSchedule, EndDate."""
    assert parse("at(2026-11-29T06:00:00)", end=T0 - DAY).next(T0 - 2 * DAY) == T0


# The ends of time ----------------------------------------------------------------------------------------------------


def all_kinds(zone: str) -> list[Schedule]:
    """One of each kind."""
    return [
        parse("0 6 * * *", timezone=zone),
        parse("rate(1 day)", timezone=zone, start=T0),
        parse("at(2026-11-29T06:00:00)", timezone=zone),
    ]


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Pacific/Kiritimati"])
@pytest.mark.parametrize("at", [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)])
def test_an_instant_at_an_end_of_the_calendar_is_refused(zone: str, at: datetime) -> None:
    """It may have no local time."""
    for schedule in all_kinds(zone):
        for call in (
            lambda: schedule.preview(at, 3),  # noqa: B023  # called at once
            lambda: schedule.next(at),  # noqa: B023
            lambda: schedule.previous(at),  # noqa: B023
            lambda: schedule.latest(after=at, until=at, most=1),  # noqa: B023
            lambda: parse("rate(1 day)", start=at),
            lambda: parse("0 6 * * *", end=at),
        ):
            with pytest.raises(InputInvalidError, match="0001-01-02 to 9999-12-30"):
                call()


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Pacific/Kiritimati"])
def test_a_day_inside_the_ends_of_the_calendar_everything_is_answered(zone: str) -> None:
    """Ticks begin with 1970 and end with 2199, whatever the kind."""
    first, last = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)
    for timetable in [*all_kinds(zone), Every(SECOND)]:
        assert len(timetable.preview(first, 1)) == 1
        assert timetable.preview(last, 1) == []
        assert timetable.previous(first) is None
        assert timetable.latest(after=first, until=last, most=1).ticks[0].year in (2026, 2199)
    for expression in ("rate(1 day)", "0 6 * * *"):
        with pytest.raises(ScheduleInvalidError, match="2199"):
            parse(expression, timezone=zone, start=datetime(2200, 1, 1, tzinfo=UTC))
    late = parse("rate(1 day)", timezone=zone, start=datetime(2199, 12, 31, 23, 59, 59, tzinfo=UTC))
    assert late.next(first) == late.previous(last) == late.start
    assert late.start is not None
    assert late.next(late.start) is None


# Periods -------------------------------------------------------------------------------------------------------------


def test_the_period_of_a_tick_is_its_time_or_its_local_day() -> None:
    """23:30 in New York is the next day in UTC."""
    schedule = parse("30 23 * * *", timezone="America/New_York")
    tick = schedule.next(T0)
    assert tick is not None
    assert schedule.period(tick) == "2026-11-30T04:30:00Z"
    assert schedule.period(tick, PeriodForm.DATE) == "2026-11-29"
    assert PeriodForm("date").period(tick, "America/New_York") == "2026-11-29"


def test_a_schedule_that_is_moved_to_another_hour_keeps_the_period_of_the_day() -> None:
    """06:00 moved to 10:00, or the other way round: one run per day."""
    six, ten = (parse(f"0 {hour} * * *", timezone="Europe/Berlin") for hour in (6, 10))
    day = datetime(2026, 11, 29, tzinfo=UTC)
    periods = {schedule.period(tick, PeriodForm.DATE) for schedule in (six, ten) if (tick := schedule.next(day))}
    assert periods == {"2026-11-29"}


@pytest.mark.parametrize(
    ("timetable", "daily"),
    [
        (parse("0 6 * * *"), True),
        (parse("0 6 1 * *", end=T0), True),
        (parse("0 6,18 * * *"), False),
        (parse("0,30 6 * * *"), False),
        (parse("* * * * *", end=T0), False),
        (parse("rate(1 day)"), True),
        (parse("rate(1 day)", timezone="Europe/Berlin"), False),  # a day of 25 hours may have two
        (parse("rate(2 days)", timezone="Europe/Berlin"), True),
        (parse("rate(1439 minutes)"), False),
        (parse("at(2026-11-29T06:00:00)"), True),
        (Every(DAY), True),
        (Every(DAY - SECOND), False),
    ],
)
def test_the_date_as_period_needs_at_most_one_tick_per_day(timetable: Timetable, *, daily: bool) -> None:
    """The second tick of a day would be refused as done."""
    timetable.check_period_form(PeriodForm.TIME)
    if daily:
        timetable.check_period_form(PeriodForm.DATE)
    else:
        with pytest.raises(ScheduleInvalidError, match="at most one tick per day") as caught:
            timetable.check_period_form(PeriodForm.DATE)
        assert caught.value.field == "period"


# What no type checker would let pass ----------------------------------------------------------------------------------

ANYTHING: tuple[Any, ...] = (None, "2026-11-29", 7, True, b"x", [T0], object())


@pytest.mark.parametrize("form", ["DATE", "date", PeriodForm.DATE])
def test_a_form_given_as_text_is_that_form(form: Any) -> None:  # noqa: ANN401
    """The very member, because the rules compare with `is`."""
    daily = parse("0 6 * * *", timezone="Europe/Berlin")
    assert daily.period(T0, form) == "2026-11-29"
    with pytest.raises(ScheduleInvalidError, match="at most one tick per day"):
        parse("0 6,18 * * *").check_period_form(form)


@pytest.mark.parametrize("value", [*ANYTHING[2:], "dates", None])
def test_a_form_that_is_none_is_refused(value: Any) -> None:  # noqa: ANN401
    """By both who ask for one."""
    daily = parse("0 6 * * *")
    for ask in (lambda: daily.check_period_form(value), lambda: daily.period(T0, value)):
        with pytest.raises(InputInvalidError, match=r"^period: .*time, date"):
            ask()


@pytest.mark.parametrize("value", ANYTHING)
def test_a_time_that_is_none_is_refused_by_its_name(value: Any) -> None:  # noqa: ANN401
    """Everywhere a schedule takes one."""
    daily, day = parse("0 6 * * *"), timedelta(days=1)
    asks: dict[str, Callable[[], object]] = {
        "after": lambda: daily.next(value),
        "before": lambda: daily.previous(value),
        "start": lambda: daily.preview(value, 1),
        "end": lambda: daily.between(T0, value),
        "until": lambda: daily.latest(after=T0, until=value, most=1),
        "at": lambda: daily.nearest(value, tolerance=day),
        "tick": lambda: daily.period(value),
        "tolerance": lambda: daily.nearest(T0, tolerance=value),
        "interval": lambda: Every(value),
    }
    if value is not None:
        asks["start of"] = lambda: parse("0 6 * * *", start=value)
    for name, ask in asks.items():
        with pytest.raises(InputInvalidError, match=f"^{name.split()[0]}: "):
            ask()


@pytest.mark.parametrize("value", [None, "3", 0, -1, True, 1.5])
def test_a_number_of_ticks_that_is_none_is_refused(value: Any) -> None:  # noqa: ANN401
    """Whole, and at least one."""
    daily = parse("0 6 * * *")
    with pytest.raises(InputInvalidError, match=r"^count: "):
        daily.preview(T0, value)
    with pytest.raises(InputInvalidError, match=r"^most: "):
        daily.latest(after=T0, until=T0, most=value)


@pytest.mark.parametrize("interval", [timedelta(0), -SECOND, timedelta(milliseconds=1500)])
def test_an_interval_has_whole_seconds(interval: timedelta) -> None:
    """At least one."""
    with pytest.raises(InputInvalidError, match=r"^interval: "):
        Every(interval)


@pytest.mark.parametrize(
    ("day", "tick"),
    [
        ("2026-11-29", datetime(2026, 11, 29, 5, tzinfo=UTC)),
        ("2026-10-25", datetime(2026, 10, 25, 5, tzinfo=UTC)),  # the day on which the clocks go back
        ("2026-02-30", None),
        ("0001-01-01", None),
        ("today", None),
    ],
)
def test_the_tick_of_a_local_day(day: str, tick: datetime | None) -> None:
    """None where the text is no day, or a day without a tick."""
    assert parse("0 6 * * *", timezone="Europe/Berlin").tick_of_day(day, "Europe/Berlin") == tick


def test_the_tick_of_a_day_of_a_rate_needs_its_start() -> None:
    """An error of the timetable is none of the day."""
    with pytest.raises(ScheduleInvalidError, match="start"):
        parse("rate(1 day)").tick_of_day("2026-11-29", "UTC")
