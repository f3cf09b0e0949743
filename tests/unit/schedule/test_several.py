"""Several cron expressions as one schedule: the ticks of each, in one order, none twice."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cronce.schedule import MOST_EXPRESSIONS, Latest, PeriodForm, ScheduleInvalidError, expressions_in, joined, parse
from cronce.schedule.analysis import analyse
from tests.support.reference_cron import minutes_of, reference_ticks
from tests.unit.schedule.test_properties import INSTANTS, ZONES, crons

BERLIN, NEW_YORK = "Europe/Berlin", "America/New_York"
INSTANT, HOUR = timedelta(microseconds=1), timedelta(hours=1)
WEEKDAYS_AND_SUNDAYS = "0 6 * * 1-5; 0 9 * * 0"
FEW = settings(max_examples=20, deadline=None)


def utc(*parts: int) -> datetime:
    """An instant in UTC."""
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type,misc]


LISTS = st.lists(crons(years="*"), min_size=2, max_size=4, unique_by=lambda text: parse(text).expression)


# What is true of every list ------------------------------------------------------------------------------------------


@given(LISTS, st.sampled_from(ZONES), INSTANTS)
@FEW
def test_the_ticks_are_those_of_each_merged_in_order_and_none_twice(
    expressions: list[str], zone: str, at: datetime
) -> None:
    """Forwards, backwards and as a span."""
    whole, parts = parse("; ".join(expressions), timezone=zone), [parse(each, timezone=zone) for each in expressions]
    ticks: list[datetime] = []
    while len(ticks) < 20 and (tick := whole.next(ticks[-1] if ticks else at)) is not None:
        ticks.append(tick)
    assume(ticks)
    assert all(earlier < later for earlier, later in pairwise(ticks))
    expected = sorted({tick for part in parts for tick in islice(part.between(at + INSTANT, ticks[-1] + INSTANT), 20)})
    assert ticks == expected
    assert list(whole.between(ticks[0], ticks[-1] + INSTANT)) == ticks
    back = [ticks[-1]]
    while back[-1] > ticks[0] and (tick := whole.previous(back[-1])) is not None:
        back.append(tick)
    assert back[::-1] == ticks


@given(LISTS, st.sampled_from(ZONES), INSTANTS, st.integers(1, 30))
@FEW
def test_latest_has_the_newest_of_them_and_counts_the_others(
    expressions: list[str], zone: str, at: datetime, most: int
) -> None:
    """As the sorted set of the ticks of each says it."""
    whole = parse("; ".join(expressions), timezone=zone)
    until = at + 8 * HOUR
    each = (parse(part, timezone=zone).between(at + INSTANT, until + INSTANT) for part in expressions)
    ticks = sorted({tick for part in each for tick in part})
    assert whole.latest(after=at, until=until, most=most) == (
        Latest(ticks=tuple(ticks))
        if len(ticks) <= most
        else Latest(
            ticks=tuple(ticks[-most:]),
            dropped=len(ticks) - most,
            first_dropped=ticks[0],
            last_dropped=ticks[-most - 1],
        )
    )


@given(st.lists(crons(months=st.just("*"), years="*"), min_size=2, max_size=3), st.sampled_from(ZONES), INSTANTS)
@settings(max_examples=8, deadline=None)
def test_the_ticks_are_those_of_the_reference(expressions: list[str], zone: str, at: datetime) -> None:
    """Which knows no list: over half a day, also where the clocks change."""
    assume(len({parse(each).expression for each in expressions}) == len(expressions))
    start = at.replace(second=0, microsecond=0)
    walk = minutes_of(zone, start, start + 12 * HOUR)
    expected = sorted({tick for each in expressions for tick in reference_ticks(each, walk, start)})
    assert list(parse("; ".join(expressions), timezone=zone).between(start, start + 12 * HOUR)) == expected


@given(LISTS)
@FEW
def test_a_list_is_at_most_daily_only_if_no_day_has_two_ticks(expressions: list[str]) -> None:
    """In UTC, for as many ticks as there is patience for: a day with two refutes it."""
    whole = parse("; ".join(expressions))
    days: list[str] = []
    at = utc(2026, 1, 1)
    while len(days) < 60 and (tick := whole.next(at)) is not None:
        days.append(f"{tick:%Y-%m-%d}")
        at = tick
    if whole.at_most_daily:
        assert len(set(days)) == len(days)


# Examples ------------------------------------------------------------------------------------------------------------


def test_the_text_of_a_list_is_that_of_each_in_the_given_order() -> None:
    """And reads as the same list again."""
    schedule = parse(WEEKDAYS_AND_SUNDAYS, timezone=BERLIN)
    assert schedule.expressions == ("cron(0 6 ? * MON-FRI *)", "cron(0 9 ? * SUN *)")
    assert schedule.expression == "; ".join(schedule.expressions)
    assert parse(schedule.expression, timezone=BERLIN) == schedule
    assert joined(["0 6 * * 1-5", "0 9 * * 0"]) == WEEKDAYS_AND_SUNDAYS
    assert expressions_in("0 6 * * 1-5;0 9 * * 0 ") == ("0 6 * * 1-5", "0 9 * * 0")
    assert schedule.describe() == "at 06:00 on Monday to Friday, and at 09:00 on Sunday, Europe/Berlin"
    assert parse("0 6 * * *").expressions == ("cron(0 6 * * ? *)",)


def test_a_week_of_weekdays_and_sundays() -> None:
    """The example of the documents; 29 November 2026 is a Sunday."""
    ticks = parse(WEEKDAYS_AND_SUNDAYS).between(utc(2026, 11, 28), utc(2026, 12, 8))
    assert [f"{tick:%a %H}" for tick in ticks] == [
        *("Sun 09", "Mon 06", "Tue 06", "Wed 06", "Thu 06", "Fri 06"),
        *("Sun 09", "Mon 06"),
    ]


def test_a_tick_that_two_have_is_one() -> None:
    """1 December 2026 is a Tuesday: also the first of the month."""
    schedule = parse("0 6 * * 1-5; 0 6 1 * *")
    assert schedule.next(utc(2026, 12, 1, 5)) == utc(2026, 12, 1, 6)
    assert schedule.next(utc(2026, 12, 1, 6)) == utc(2026, 12, 2, 6)
    assert schedule.previous(utc(2026, 12, 1, 6)) == utc(2026, 11, 30, 6)


@pytest.mark.parametrize(
    ("expression", "daily"),
    [
        (WEEKDAYS_AND_SUNDAYS, True),
        ("0 6 * * 1-5; 0 9 1 * *", False),  # the first may be a Monday
        ("0 6 * * 1-5; 0 6 1 * *", True),  # then it is the same tick
        ("0 6 29 2 *; 0 9 28 2 *", True),
        ("cron(0 6 29 2 ? 2028); cron(0 9 29 2 ? 2032)", True),
        ("cron(0 6 L 2 ? *); cron(0 9 28 2 ? *)", False),  # unless the year is a leap year
        ("cron(0 6 29 2 ? *); cron(0 9 L 2 ? *)", False),  # in leap years alone
        ("0 6,18 * * 1; 0 9 * * 0", False),
        ("* * * * 1; 0 9 * * 0", False),
    ],
)
def test_periods_may_be_days_if_no_day_can_have_two_ticks(expression: str, *, daily: bool) -> None:
    """Of all days from 1970 to 2199."""
    assert parse(expression).at_most_daily is daily
    if not daily:
        with pytest.raises(ScheduleInvalidError, match="`date` needs a schedule with at most one tick per day"):
            parse(expression).check_period_form(PeriodForm.DATE)


def test_the_tick_of_a_day_is_that_of_the_expression_that_has_the_day() -> None:
    """And none on a Saturday."""
    schedule = parse(WEEKDAYS_AND_SUNDAYS, timezone=BERLIN)
    assert schedule.tick_of_day("2026-11-29", BERLIN) == utc(2026, 11, 29, 8)
    assert schedule.tick_of_day("2026-11-30", BERLIN) == utc(2026, 11, 30, 5)
    assert schedule.tick_of_day("2026-11-28", BERLIN) is None


def test_a_preview_has_the_notes_of_each() -> None:
    """A skipped hour before a tick of another expression, and an hour that comes twice."""
    schedule = parse("30 2 * * *; 0 9 * * *; 30 1 * * *", timezone=NEW_YORK)
    spring = schedule.preview(utc(2026, 3, 8, 5), 2)
    assert [each.note for each in spring] == ["", "02:30 does not exist on 2026-03-08: skipped"]
    autumn = schedule.preview(utc(2026, 11, 1, 4), 1)
    assert [each.note for each in autumn] == ["01:30 occurs twice on 2026-11-01, fires once"]


def test_a_tick_is_uncertain_only_if_no_expression_surely_has_it() -> None:
    """31 January 2027 is a Sunday: EventBridge may not list the 31W that moves to the 29th."""
    moved = utc(2027, 1, 29, 10, 5)
    assert parse("cron(5 10 31W * ? *); 0 9 * * 0").uncertain(moved)
    assert parse("cron(5 10 31W * ? *); 5 10 29 * *").uncertain(moved) == ""
    assert parse("cron(5 10 31W * ? *); 0 9 * * 0").uncertain(utc(2027, 1, 31, 9)) == ""
    assert parse("0 9 * * 0; cron(5 10 31W * ? *)").caution


def test_start_and_end_hold_for_each() -> None:
    """A start is included, an end is not."""
    schedule = parse(WEEKDAYS_AND_SUNDAYS, start=utc(2026, 11, 29, 9), end=utc(2026, 12, 1, 6))
    assert list(schedule.between(utc(2026, 11, 1), utc(2027, 1, 1))) == [utc(2026, 11, 29, 9), utc(2026, 11, 30, 6)]
    assert schedule.is_over(utc(2026, 11, 30, 6))
    assert not schedule.is_over(utc(2026, 11, 30, 5))


@pytest.mark.parametrize(
    ("expression", "value", "allowed"),
    [
        ("0 6 * * *; rate(5 minutes)", "rate(5 minutes)", "only cron expressions beside others"),
        ("at(2026-11-29T06:00:00); 0 6 * * *", "at(2026-11-29T06:00:00)", "only cron expressions beside others"),
        ("0 6 * * *; 00 06 * * *", "cron(0 6 * * ? *)", "each expression once"),
        ("0 6 13 * 5; 0 6 13 * *", "cron(0 6 13 * ? *)", "each expression once"),
        ("0 6 * * *;", "", "five fields of Unix cron"),
        ("; 0 6 * * *", "", "five fields of Unix cron"),
        ("; ".join(f"{n} 6 * * *" for n in range(MOST_EXPRESSIONS + 1)), "more than 10 of them", "at most 10"),
        ("; ".join(f"{n} 6 1 * 1" for n in range(6)), "more than 10 of them", "at most 10"),
        ("0 6 * * *; cron(0 6 * * ? *) x", "cron(0 6 * * ? *) x", "nothing after the closing bracket"),
        (f"0 6 * * *; {' ' * 257}", " " * 258, "five fields"),
    ],
)
def test_what_cannot_be_in_a_list_is_refused_with_the_one_that_is_wrong(
    expression: str, value: str, allowed: str
) -> None:
    """In one line."""
    with pytest.raises(ScheduleInvalidError) as caught:
        parse(expression)
    assert (caught.value.field, caught.value.value) == ("expression", value)
    assert allowed in caught.value.allowed


@pytest.mark.parametrize("given_list", [[], [3], ["0 6 * * *", None]])
def test_a_list_holds_texts(given_list: list[object]) -> None:
    """At least one."""
    with pytest.raises(ScheduleInvalidError, match="a list of cron expressions"):
        joined(given_list)


def test_a_wrong_field_of_any_of_them_is_named() -> None:
    """As it is alone."""
    with pytest.raises(ScheduleInvalidError, match="minutes: '99' is not usable"):
        parse("0 6 * * *; 99 9 * * 0")


def test_the_facts_about_a_list_are_those_of_its_ticks_and_of_each_expression() -> None:
    """Intervals between any two ticks; an hour that a day loses is told for the expression that loses it."""
    analysis = analyse(WEEKDAYS_AND_SUNDAYS, "UTC")
    assert (analysis.interval, analysis.longest) == (timedelta(hours=21), timedelta(hours=51))
    assert "02:30 does not exist" in analyse("30 2 * * *; 30 4 * * *", NEW_YORK).lost
    assert analyse("30 3 * * *; 30 4 * * *", NEW_YORK).lost == ""
    assert analyse("0 9 * * 0; cron(* 8 * * ? *)", "UTC").has_hour_without_minute
