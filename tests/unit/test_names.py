"""What a job and a period may be called."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from cronce.vocabulary.errors import InputInvalidError
from cronce.vocabulary.names import (
    MAX_JOB_BYTES,
    MAX_PERIOD_BYTES,
    checked_job,
    checked_period,
    further_schedule_name,
    is_further_schedule,
    parse_scheduled_time,
    period_of,
    schedule_group_name,
    schedule_name_stem,
    scheduled_time_of,
)

SIX = datetime(2026, 11, 29, 6, tzinfo=UTC)
CANONICAL = "2026-11-29T06:00:00Z"

IN_ANOTHER_SPELLING = [
    "2026-11-29T06:00:00.0000009Z",  # finer than Python's microseconds
    "2026-11-29T06:00:00,5Z",
    "20261129T060000Z",
    "20261129T06Z",
    "2026-11-29T060000Z",
    "2026-W48-7T06:00:00Z",
    "2026W487T060000Z",
    "2026-333T06:00:00Z",
    "2026-1-1T06:00:00Z",
    "+002026-11-29T06:00:00Z",
    "2026-11-29  06:00:00Z",
    "2026-11-29T06:00:00 Z",
    "2026-11-29T24:00:00Z",
    "2026-11-29T06:00:60Z",
    "2026-11-29T06:00:00+01:00:30",
    "\uff12\uff10\uff12\uff16-11-29T06:00:00Z",
    "Sun, 29 Nov 2026 06:00:00 GMT",
    "29.11.2026 06:00",
    "2026-11-29@06:00",
]


@pytest.mark.parametrize(
    "job",
    [
        "a",
        "daily-digest",
        "Täglicher Bericht",
        "a#b/c:d",
        "日次ダイジェスト",
        "x" * MAX_JOB_BYTES,
        "ä" * (MAX_JOB_BYTES // 2),
    ],
)
def test_a_job_may_be_called_anything_that_can_be_seen_and_typed(job: str) -> None:
    """It is stored unchanged, up to DynamoDB's 2,048 bytes."""
    assert checked_job(job) == job


@pytest.mark.parametrize(
    "job",
    [
        "",
        " ",
        " a",
        "a ",
        "a\nb",
        "a\tb",
        "a\0b",
        "a\u200bb",  # zero width
        "a\ud800b",  # half a surrogate pair
        "x" * (MAX_JOB_BYTES + 1),
        "ä" * (MAX_JOB_BYTES // 2) + "x",  # 1,025 characters, but 2,049 bytes
        None,
        7,
        b"a",
    ],
)
def test_a_job_that_cannot_be_seen_or_stored_is_refused(job: object) -> None:
    """Bytes count, not characters."""
    with pytest.raises(InputInvalidError, match=r"^job: .*allowed: 1 to 2048 bytes of UTF-8"):
        checked_job(job)


@pytest.mark.parametrize("period", ["2026-11-29", "2026-W48", "2026-Q4", "1", "x" * MAX_PERIOD_BYTES, "ü" * 500])
def test_a_period_is_any_text(period: str) -> None:
    """What is no timestamp stands as it is, up to 1,020 bytes: the sort key less `run#`."""
    assert checked_period(period) == period


@pytest.mark.parametrize(
    "period", ["", "a#b", "#", "x" * (MAX_PERIOD_BYTES + 1), "ü" * 500 + "x", None, 20261129, " 2026"]
)
def test_a_period_that_cannot_be_part_of_a_key_is_refused(period: object) -> None:
    """Two different pairs never share a key: the separator is refused."""
    with pytest.raises(InputInvalidError, match=r"^--period: .*no '#'"):
        checked_period(period, what="--period")


@pytest.mark.parametrize(
    "spelling",
    [
        "2026-11-29T06:00:00Z",
        "2026-11-29T06:00:00+00:00",
        "2026-11-29T07:00:00+01:00",
        "2026-11-29 06:00:00Z",
        "2026-11-29t06:00:00z",
        "2026-11-29T06:00Z",
        "2026-11-28T22:00:00-08:00",
        "2026-11-29T06:00:00.000Z",
        "2026-11-29T06:00:00-00:00",
        "2026-11-29T11:45:00+0545",
        "2026-11-29T08:00:00+02",
    ],
)
def test_two_spellings_of_one_instant_are_one_period(spelling: str) -> None:
    """A timestamp is written in UTC."""
    assert checked_period(spelling) == CANONICAL


@pytest.mark.parametrize(
    "time",
    [
        "2026-11-29T06:00:00",  # whose six o'clock?
        *IN_ANOTHER_SPELLING,
        "2026-11-29T06:00:00.001Z",  # the clock's, not the schedule's
        "2026-11-29T25:00:00Z",
        "2026-02-30T06:00:00Z",
        "2026-11-29Tgarbage",
        "0001-01-01T00:00:00+23:00",  # before the first year, in UTC
        "2026-11-29",
        "",
        "<aws.scheduler.scheduled-time>",
        None,
        1764396000,
    ],
)
def test_a_time_that_is_not_nominal_is_refused(time: object) -> None:
    """Two readings of a clock would be two periods."""
    with pytest.raises(InputInvalidError, match=r"^CRONCE_SCHEDULED_TIME: .*2026-11-29T06:00:00Z"):
        parse_scheduled_time(time, what="CRONCE_SCHEDULED_TIME")


@pytest.mark.parametrize("spelling", IN_ANOTHER_SPELLING)
def test_an_instant_in_another_spelling_is_no_period(spelling: str) -> None:
    """One instant has one key: a spelling that is not read as a timestamp is not kept as text either."""
    with pytest.raises(InputInvalidError, match=r"^period: .*2026-11-29T06:00:00Z"):
        checked_period(spelling)


@pytest.mark.parametrize(
    "period", ["2026T1", "2026-11-29-a", "2026-11-29_2", "20261129", "2026-W48-7", "1:20", "a 06:00", "T06", "2026-11"]
)
def test_text_that_names_no_instant_is_a_period(period: str) -> None:
    """A day, a week, a quarter, a shard."""
    assert checked_period(period) == period


@pytest.mark.parametrize(
    ("at", "period"),
    [
        (datetime(999, 1, 1, tzinfo=UTC), "0999-01-01T00:00:00Z"),
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00Z"),
        (datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC), "9999-12-31T23:59:59Z"),
    ],
)
def test_the_first_and_the_last_years_have_four_digits(at: datetime, period: str) -> None:
    """And are read back."""
    assert period_of(at) == period
    assert scheduled_time_of(period) == at


@pytest.mark.parametrize("time", ["9999-12-31T23:59:59-00:01", "0001-01-01T00:00:00+00:01"])
def test_a_time_outside_the_calendar_is_refused(time: str) -> None:
    """In UTC; by the error of every other time."""
    with pytest.raises(InputInvalidError, match=r"^period: "):
        checked_period(time)


def test_a_timestamp_without_a_zone_is_no_period() -> None:
    """It is not taken for UTC in silence."""
    with pytest.raises(InputInvalidError):
        checked_period("2026-11-29T06:00:00")


def test_the_period_of_a_time_is_in_utc() -> None:
    """The zone of the caller does not matter."""
    assert period_of(SIX.astimezone(timezone(timedelta(hours=9)))) == CANONICAL


def test_a_period_that_is_a_time_says_when() -> None:
    """And any other does not."""
    assert scheduled_time_of(CANONICAL) == SIX
    assert scheduled_time_of("2026-11-29") is None


@pytest.mark.parametrize(
    ("table", "group"),
    [
        ("runs", "runs"),
        ("a" * 64, "a" * 64),
        ("a" * 65, f"{'a' * 51}-635361c48bb9"),
        ("b" * 255, f"{'b' * 51}-7bfe48f617b2"),
    ],
)
def test_a_schedule_group_goes_with_a_table(table: str, group: str) -> None:
    """By the table's name as far as a group takes it; two long names that begin alike stay two."""
    assert schedule_group_name(table) == group
    assert len(group) <= 64


@pytest.mark.parametrize(
    ("job", "stem"),
    [
        ("daily-digest", "daily-digest"),
        ("Daily digest, EU", "Daily-digest-EU"),
        ("Müllabfuhr", "M-llabfuhr"),
        ("(nightly)", "nightly"),
        ("日報", "job"),
        ("x" * 100, "x" * 51),
    ],
)
def test_a_schedule_begins_with_its_job(job: str, stem: str) -> None:
    """What a schedule's name may hold, with room for a hash behind it."""
    assert schedule_name_stem(job) == stem


@pytest.mark.parametrize("name", ["<aws.scheduler.execution-id>", "digest-<aws.scheduler.scheduled-time>"])
def test_a_name_that_eventbridge_scheduler_would_replace_is_refused(name: str) -> None:
    """At each delivery it would be another name, and each delivery would be admitted."""
    for check in (checked_job, checked_period):
        with pytest.raises(InputInvalidError, match="which EventBridge Scheduler replaces"):
            check(name)
    assert checked_job("<aws>") == "<aws>"


@pytest.mark.parametrize("first", ["daily-digest-0123456789ab", "x", "a.b-0123456789ab", f"{'j' * 51}-0123456789ab"])
def test_a_further_schedule_has_a_name_that_no_first_one_has(first: str) -> None:
    """As long, with the same beginning, so that a search for the job's schedules finds it."""
    name = further_schedule_name(first, "cron(0 9 ? * SUN *)")
    assert is_further_schedule(name)
    assert not is_further_schedule(first)
    assert (len(name) <= 64, name[:-13]) == (True, first.removesuffix("-0123456789ab"))
    assert (
        name == further_schedule_name(first, "cron(0 9 ? * SUN *)") != further_schedule_name(first, "cron(0 9 1 * ? *)")
    )


def test_a_job_whose_name_looks_like_that_of_a_further_schedule_is_a_job() -> None:
    """The name of its schedule ends with a hyphen and a hash."""
    assert not is_further_schedule("digest.0123456789ab-0123456789ab")


def test_no_job_is_called_as_the_row_of_a_group() -> None:
    """Its slot would be the group's."""
    with pytest.raises(InputInvalidError, match="begins the row of an exclusion group"):
        checked_job("cronce:group:billing")
