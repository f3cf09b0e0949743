"""What is true of every schedule: next, previous and between agree."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from itertools import islice, pairwise

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from cronce.schedule import ScheduleInvalidError, parse
from cronce.vocabulary.errors import InputInvalidError
from tests.support.reference_cron import minutes_of, reference_ticks

ZONES = ["UTC", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "Asia/Beirut", "Pacific/Apia", "Asia/Tehran"]
MICROSECOND = timedelta(microseconds=1)
SOME = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def numbers(low: int, high: int, *, wraps: bool = True) -> st.SearchStrategy[str]:
    """Texts of a field without special signs."""
    number = st.integers(low, high)
    step = st.integers(1, max(high - low, 1) if low in (0, 1970) else high)
    ranges = st.tuples(number, number) if wraps else st.tuples(number, number).map(sorted)
    part = st.one_of(
        number.map(str),
        ranges.map(lambda pair: f"{pair[0]}-{pair[1]}"),
        st.tuples(ranges, step).map(lambda both: f"{both[0][0]}-{both[0][1]}/{both[1]}"),
        st.tuples(number, step).map(lambda both: f"{both[0]}/{both[1]}"),
        step.map(lambda every: f"*/{every}"),
    )
    return st.one_of(st.just("*"), st.lists(part, min_size=1, max_size=3).map(",".join))


WEEKDAY = st.one_of(
    st.just("*"),
    st.just("L"),
    st.tuples(st.integers(1, 7), st.integers(1, 5)).map(lambda both: f"{both[0]}#{both[1]}"),
    st.sampled_from(["SUN", "MON", "tue", "Wed", "6"]).map(lambda day: f"{day}L"),
    st.lists(st.sampled_from(["SUN", "2", "WED-FRI", "FRI-MON", "sat"]), min_size=1, max_size=3).map(",".join),
)
MONTHDAY = st.one_of(
    numbers(1, 31),
    st.just("L"),
    st.just("LW"),
    st.integers(1, 31).map(lambda day: f"{day}W"),
    st.integers(1, 30).map(lambda days: f"L-{days}"),
)
DAYS = st.one_of(MONTHDAY.map(lambda day: (day, "?")), WEEKDAY.map(lambda day: ("?", day)))


@st.composite
def crons(draw: st.DrawFn, *, months: st.SearchStrategy[str] | None = None, years: str | None = None) -> str:
    """Legal expressions that some day of the calendar matches."""
    day, weekday = draw(DAYS)
    month = draw(months if months is not None else numbers(1, 12))
    year = years or draw(numbers(1970, 2199, wraps=False))
    expression = f"cron({draw(numbers(0, 59))} {draw(numbers(0, 23))} {day} {month} {weekday} {year})"
    try:
        parse(expression)
    except ScheduleInvalidError:
        # 31 February and its like: the other refusals are in the table.
        assume(False)
    return expression


INSTANTS = st.datetimes(datetime(1971, 1, 1), datetime(2190, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@given(crons(), st.sampled_from(ZONES), INSTANTS)
@SOME
def test_previous_of_next_is_where_we_came_from(expression: str, zone: str, at: datetime) -> None:
    """There is no tick between a tick and the one that `next` returns."""
    schedule = parse(expression, timezone=zone)
    coming, last = schedule.next(at), schedule.previous(at)
    if coming is not None:
        assert coming > at
        assert schedule.previous(coming) == (at if schedule.next(at - MICROSECOND) == at else last)
        assert schedule.next(coming - MICROSECOND) == coming
    if last is not None:
        assert last < at
        assert schedule.next(last) == (at if schedule.next(at - MICROSECOND) == at else coming)
        assert schedule.previous(last + MICROSECOND) == last


@given(crons(), st.sampled_from(ZONES), INSTANTS)
@SOME
def test_between_is_next_again_and_again(expression: str, zone: str, at: datetime) -> None:
    """Rising strictly, the start included, the end not."""
    schedule = parse(expression, timezone=zone)
    ticks: list[datetime] = []
    tick = schedule.next(at)
    while tick is not None and len(ticks) < 30:
        ticks.append(tick)
        tick = schedule.next(tick)
    assert all(earlier < later for earlier, later in pairwise(ticks))
    if ticks:
        assert list(schedule.between(ticks[0], ticks[-1])) == ticks[:-1]
        assert list(schedule.between(ticks[0], ticks[-1] + MICROSECOND)) == ticks
        assert list(islice(schedule.between(at + MICROSECOND, ticks[-1]), 30)) == ticks[:-1]


@given(crons(), st.sampled_from(ZONES), INSTANTS)
@SOME
def test_a_tick_is_a_minute_that_the_expression_names_on_the_clocks_of_its_zone(
    expression: str, zone: str, at: datetime
) -> None:
    """Asked of the reference matcher, for one minute."""
    tick = parse(expression, timezone=zone).next(at)
    if tick is not None:
        assert reference_ticks(expression, minutes_of(zone, tick, tick + timedelta(minutes=1)), tick) == [tick]


@given(crons(months=st.just("*"), years="*"), st.sampled_from(ZONES), INSTANTS)
@SOME
def test_random_expressions_have_the_ticks_of_the_reference(expression: str, zone: str, at: datetime) -> None:
    """Over two days from a random instant."""
    start = at.replace(second=0, microsecond=0)
    end = start + timedelta(days=2)
    expected = reference_ticks(expression, minutes_of(zone, start, end), start)
    assert list(parse(expression, timezone=zone).between(start, end)) == expected


@given(st.integers(1, 5000), st.sampled_from(["minute", "hour", "day"]), INSTANTS, INSTANTS)
@example(value=4352, unit="day", start=datetime(2188, 2, 1, tzinfo=UTC), at=datetime(2188, 2, 1, tzinfo=UTC))
@SOME
def test_a_rate_ticks_from_its_start_on_in_equal_steps(value: int, unit: str, start: datetime, at: datetime) -> None:
    """The start is the first tick, and there is none after the last year."""
    schedule = parse(f"rate({value} {unit}{'s' if value > 1 else ''})", start=start)
    first = start.replace(microsecond=0)
    step = value * {"minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": timedelta(days=1)}[unit]
    coming, last = schedule.next(at), schedule.previous(at)
    if coming is None:
        assert (max(at, first) + step).year > 2199
        return
    assert coming > at
    assert (coming - first) % step == timedelta(0)
    assert coming == first if at < first else coming - at <= step
    assert (last is None) == (at <= first)
    if last is not None:
        assert coming - last in (step, 2 * step)
        assert schedule.next(last) == (last + step)


@given(crons(), st.sampled_from(ZONES), INSTANTS, st.integers(0, 3600))
@SOME
def test_nearest_is_the_tick_before_or_the_tick_after(expression: str, zone: str, at: datetime, seconds: int) -> None:
    """The later one only if it is near enough and the nearer of the two."""
    schedule = parse(expression, timezone=zone)
    tolerance = timedelta(seconds=seconds)
    last, coming = schedule.previous(at + MICROSECOND), schedule.next(at)
    expected = last
    if coming is not None and coming - at <= tolerance and (last is None or coming - at < at - last):
        expected = coming
    assert schedule.nearest(at, tolerance=tolerance) == expected


@given(st.text(max_size=80))
@settings(max_examples=300, deadline=None)
def test_no_text_whatever_raises_anything_but_a_refusal(text: str) -> None:
    """Also inside the brackets."""
    for expression in (
        text,
        f"cron({text})",
        f"rate({text})",
        f"at({text})",
        f"{text} * * * *",
        f"cron({text} * * * ? *)",
    ):
        try:
            schedule = parse(expression)
        except ScheduleInvalidError as refusal:
            assert len(str(refusal).splitlines()) == 1  # noqa: PT017
        else:
            assert parse(schedule.expression) == schedule


@given(st.text(alphabet="0123456789*/-,?LW#SUNMOFRI ", max_size=40))
@settings(max_examples=500, deadline=None)
def test_what_is_accepted_has_words_and_can_be_asked(text: str) -> None:
    """From the signs of the grammar, thrown together."""
    for expression in (f"cron({text})", f"cron(0 0 ? * {text} *)", f"cron(0 0 {text} * ? *)", text):
        try:
            schedule = parse(expression, timezone="America/New_York")
        except ScheduleInvalidError:
            continue
        assert schedule.describe().endswith("America/New_York")
        assert schedule.next(datetime(1969, 12, 31, tzinfo=UTC)) is not None


def test_an_aware_instant_outside_of_utc_s_years_is_refused() -> None:
    """It has no UTC form."""
    local = datetime.max.replace(tzinfo=timezone(timedelta(hours=-12)))
    with pytest.raises(InputInvalidError):
        parse("0 6 * * *").next(local)
