"""Which tick a foreign clock means."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from cronce.cli.runtime.just_due import EARLY, tick_just_due, with_scheduled_time
from cronce.schedule import parse
from cronce.vocabulary.errors import InputInvalidError

SIX = datetime(2026, 11, 29, 6, tzinfo=UTC)
INSTANT = timedelta(microseconds=1)
HALF_A_MINUTE = timedelta(seconds=30)
DAILY = parse("0 6 * * *")


@pytest.mark.parametrize("late", [timedelta(0), timedelta(seconds=3), HALF_A_MINUTE - INSTANT, -EARLY])
def test_the_tick_within_the_tolerance_is_meant(late: timedelta) -> None:
    """Also by a clock that is 5 s early."""
    assert tick_just_due(DAILY, SIX + late, HALF_A_MINUTE) == SIX


@pytest.mark.parametrize(
    ("late", "last"), [(HALF_A_MINUTE, "2026-11-29T06:00:00Z"), (-EARLY - INSTANT, "2026-11-28T06:00:00Z")]
)
def test_outside_of_it_none_is_meant(late: timedelta, last: str) -> None:
    """The error names the last one, and what to do."""
    with pytest.raises(InputInvalidError, match=f"its last one was at {last}. Or give --period"):
        tick_just_due(DAILY, SIX + late, HALF_A_MINUTE)


def test_a_schedule_whose_ticks_have_all_passed_or_none_yet_has_none() -> None:
    """No guess."""
    with pytest.raises(InputInvalidError, match="it has none before that"):
        tick_just_due(parse("at(2027-01-01T00:00:00)"), SIX, HALF_A_MINUTE)


@pytest.mark.parametrize(("tolerance", "one"), [(55, True), (56, False)])
def test_of_several_ticks_none_is_meant(tolerance: int, *, one: bool) -> None:
    """A start that is a minute late would take the next tick's place."""
    every_minute, late = parse("* * * * *"), SIX + timedelta(seconds=55)
    if one:
        assert tick_just_due(every_minute, late, timedelta(seconds=tolerance)) == SIX + timedelta(minutes=1)
    else:
        with pytest.raises(InputInvalidError, match="shorter than the time between two ticks, less 5s: 56s has"):
            tick_just_due(every_minute, late, timedelta(seconds=tolerance))


def test_the_schedule_is_replaced_by_the_nominal_time_of_its_tick() -> None:
    """In the schedule's zone, and with the given tolerance."""
    options = {"job": "j", "schedule": "0 7 * * *", "timezone": "Europe/Berlin", "tolerance": "1m"}
    late = SIX + timedelta(seconds=59)
    assert with_scheduled_time(options, {}, late) == {"job": "j", "scheduled_time": "2026-11-29T06:00:00Z"}


def test_a_schedule_may_have_several_expressions() -> None:
    """The crontab of this host has a line for each; 29 November 2026 is a Sunday."""
    options = {"job": "j", "schedule": "0 6 * * 1-5; 0 9 * * 0"}
    for at in (SIX + timedelta(hours=3), SIX + timedelta(days=1)):
        found = with_scheduled_time(options, {}, at)
        assert found == {"job": "j", "scheduled_time": f"{at:%Y-%m-%dT%H:%M:%SZ}"}
    with pytest.raises(InputInvalidError, match="its last one was at 2026-11-27T06:00:00Z"):
        with_scheduled_time(options, {}, SIX)


@pytest.mark.parametrize("name", ["CRONCE_PERIOD", "CRONCE_SCHEDULED_TIME"])
def test_what_the_environment_says_takes_precedence(name: str) -> None:
    """A person runs a period again with the same command line, at any time."""
    options = {"job": "j", "schedule": "0 6 * * *"}
    assert with_scheduled_time(options, {name: "2026-11-01T06:00:00Z"}, SIX + timedelta(hours=3)) == {"job": "j"}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"schedule": "0 25 * * *"}, "^hours: '25'"),
        ({"schedule": ""}, "''"),
        ({"schedule": "rate(5 minutes)"}, "^--schedule: "),
        ({"schedule": "0 6 * * *", "timezone": "Europe/Berln"}, "^--timezone: 'Europe/Berln'"),
        ({"schedule": "0 6 * * *", "tolerance": "soon"}, "^--tolerance: 'soon'"),
        ({"schedule": "0 6 * * *", "period": "2026-11-29"}, "^--period: '2026-11-29' .* no --period with --schedule"),
        ({"schedule": "0 6 * * *", "scheduled_time": "x"}, "^--scheduled-time: "),
        ({"timezone": "UTC"}, "^--timezone: 'UTC' .* no --timezone without --schedule"),
        ({"tolerance": "5m"}, "^--tolerance: "),
    ],
)
def test_what_cannot_be_used_is_named(options: dict[str, str], says: str) -> None:
    """As it was typed."""
    with pytest.raises(InputInvalidError, match=says):
        with_scheduled_time(options, {}, SIX)
