"""What people write for a schedule, a moment or a period, and what it means."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from cronce.cli.actions.ticks import check_is_due, is_expression, moment_of, ticks_between
from cronce.ecs import JobDefinition, definition_of
from cronce.schedule import parse
from cronce.vocabulary.errors import InputInvalidError
from tests.support.cloud import schedule

DAILY = parse("0 6 * * *", timezone="Europe/Berlin")
NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
TIMING: dict[str, Any] = {"ScheduleExpression": DAILY.expression, "ScheduleExpressionTimezone": DAILY.timezone}


def of_schedule(**changes: Any) -> JobDefinition:  # noqa: ANN401
    """The job that is due as `DAILY` says."""
    job = definition_of(schedule(**TIMING | changes))
    assert job is not None
    return job


JOB, BY_DAY = of_schedule(), of_schedule(date_in="Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 6 * * *", True),
        ("cron(0 6 * * ? *)", True),
        ("rate(5minutes)", True),
        (" @daily", True),
        ("daily-digest", False),
        ("daily", False),
        ("*/5", False),
    ],
)
def test_an_expression_is_known_by_its_form(text: str, expected: object) -> None:
    """Brackets, spaces, or a macro; everything else is a job's name."""
    assert is_expression(text) is expected


@pytest.mark.parametrize(
    ("text", "timezone", "end", "expected"),
    [
        ("2026-11-29", "UTC", False, "2026-11-29T00:00:00+00:00"),
        ("2026-11-29", "Europe/Berlin", False, "2026-11-28T23:00:00+00:00"),
        ("2026-11-29", "Europe/Berlin", True, "2026-11-29T22:59:59.999999+00:00"),
        ("2026-11-29T06:00", "Europe/Berlin", False, "2026-11-29T05:00:00+00:00"),
        ("2026-11-29 06:00:00", "Europe/Berlin", True, "2026-11-29T05:00:00+00:00"),
        ("2026-11-29T06:00:00Z", "Europe/Berlin", False, "2026-11-29T06:00:00+00:00"),
        ("2026-11-29t06:00:00z", "Europe/Berlin", False, "2026-11-29T06:00:00+00:00"),
        ("2026-11-29T06:00:00-05:00", "Europe/Berlin", False, "2026-11-29T11:00:00+00:00"),
        # Midnight came twice in Havana on this day. A later year would depend on the version of the zone data.
        ("2025-11-02", "America/Havana", False, "2025-11-02T04:00:00+00:00"),
        ("2025-11-02", "America/Havana", True, "2025-11-03T04:59:59.999999+00:00"),
    ],
)
def test_a_moment_without_a_zone_is_read_as_the_schedule_is(
    text: str, timezone: str, *, end: bool, expected: str
) -> None:
    """A day is its first moment, or its last where it ends a span."""
    assert moment_of(text, timezone, what="--from", end=end).isoformat() == expected


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2026-11", "20261129", "2026-W48-1", "2026-11-31", "2026-11-29T", "6"]
)
def test_what_is_no_moment_is_refused_by_the_options_name(text: str) -> None:
    """With the zone in which it would be read."""
    with pytest.raises(InputInvalidError, match=r"--from.*read in Europe/Berlin"):
        moment_of(text, "Europe/Berlin", what="--from")


def test_both_ends_of_a_persons_span_are_included() -> None:
    """From Monday to Friday has a Friday."""
    first, last = datetime(2026, 11, 23, 5, tzinfo=UTC), datetime(2026, 11, 27, 5, tzinfo=UTC)
    ticks = list(ticks_between(DAILY, first, last))
    assert (ticks[0], ticks[-1], len(ticks)) == (first, last, 5)


def test_a_tick_that_was_due_is_a_period() -> None:
    """Also at this very moment."""
    check_is_due(JOB, "2026-11-29T05:00:00Z", now=NOW)
    check_is_due(JOB, "2026-11-29T05:00:00Z", now=datetime(2026, 11, 29, 5, tzinfo=UTC))


@pytest.mark.parametrize(
    ("period", "meant"),
    [
        ("2026-11-28", "such as 2026-11-28T05:00:00Z;"),
        ("2026-11-28T06:00:00Z", "such as 2026-11-28T05:00:00Z, 2026-11-29T05:00:00Z;"),
        ("2026-W48", "such as 2026-11-29T05:00:00Z;"),
        ("2026-13-45", "such as 2026-11-29T05:00:00Z;"),
    ],
)
def test_a_period_that_is_no_tick_is_another_run(period: str, meant: str) -> None:
    """Done for the tick, it would be done again for the day; so those that may be meant are named."""
    with pytest.raises(InputInvalidError) as refused:
        check_is_due(JOB, period, now=NOW)
    assert meant in str(refused.value)
    assert "--unscheduled" in str(refused.value)


def test_a_coming_tick_is_not_run_before_its_time() -> None:
    """It would be refused as done when it comes."""
    with pytest.raises(InputInvalidError, match="was due"):
        check_is_due(JOB, "2026-11-30T05:00:00Z", now=NOW)


@pytest.mark.parametrize(
    ("period", "meant"),
    [
        ("2026-11-28T05:00:00Z", "such as 2026-11-28, 2026-11-29;"),
        ("2026-W48", "such as 2026-11-29;"),
        ("2026-11-30", "was due"),
    ],
)
def test_of_a_job_whose_periods_are_days_the_days_are_named(period: str, meant: str) -> None:
    """The one that is due is taken."""
    check_is_due(BY_DAY, "2026-11-29", now=NOW)
    with pytest.raises(InputInvalidError) as refused:
        check_is_due(BY_DAY, period, now=NOW)
    assert meant in str(refused.value)
