"""Expressions with known ticks, known refusals and known conversions; the tables name each source."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from cronce.schedule import ScheduleInvalidError, parse

HERE = Path(__file__).parent


def rows(name: str) -> list[tuple[str, ...]]:
    """The rows of a table: cells between bars, `#` begins a comment, only at the start of a line."""
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    return [tuple(cell.strip() for cell in line.rsplit("|", 3)) for line in lines if line and not line.startswith("#")]


def utc(text: str) -> datetime:
    """The instant that a cell says."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


TICKS, REFUSALS, UNIX = rows("reference_ticks.txt"), rows("reference_refusals.txt"), rows("reference_unix.txt")


@pytest.mark.parametrize(("expression", "zone", "after", "ticks"), TICKS)
def test_the_next_ticks_are_those_of_the_table(expression: str, zone: str, after: str, ticks: str) -> None:
    """And the previous ones lead back over the same ticks."""
    schedule = parse(expression, timezone=zone)
    expected = [utc(tick) for tick in ticks.split()]
    at, got = utc(after), []
    for _ in expected:
        tick = schedule.next(at)
        assert tick is not None
        got.append(tick)
        at = tick
    assert got == expected
    back = [schedule.previous(tick) for tick in expected[1:]]
    assert back == expected[:-1]


@pytest.mark.parametrize(("expression", "field"), REFUSALS)
def test_a_wrong_expression_is_refused_in_the_name_of_its_field(expression: str, field: str) -> None:
    """One line with what was given and what is allowed."""
    with pytest.raises(ScheduleInvalidError) as caught:
        parse(expression)
    assert caught.value.field == field
    assert caught.value.allowed
    assert str(caught.value).startswith(f"{field}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("unix", "eventbridge"), UNIX)
def test_unix_cron_becomes_the_eventbridge_expression_that_means_the_same(unix: str, eventbridge: str) -> None:
    """And EventBridge's form is its own spelling."""
    assert parse(unix).expression == eventbridge
    assert parse(unix) == parse(eventbridge)
    assert parse(eventbridge).expression == eventbridge


def test_the_tables_hold_enough_expressions() -> None:
    """A table that lost its rows would pass otherwise."""
    assert len({row[0] for row in TICKS + REFUSALS + UNIX}) >= 280
