"""The name of a launch is derived from the launch alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from itertools import combinations

import pytest

from cronce import InputInvalidError
from cronce.ecs import schedule_group_of
from cronce.ecs.names import at_expression, client_token, is_one_shot, one_shot_name

LAUNCHES = [("a", "b", 1, 1), ("a", "b", 1, 2), ("a", "b", 2, 1), ("a", "c", 1, 1), ("ab", "", 1, 1), ("a", "b1", 1, 1)]


def test_every_launch_has_a_distinct_name_and_token() -> None:
    """Job, period, attempt and launch cannot be confused."""
    for one, other in combinations(LAUNCHES, 2):
        names = [one_shot_name(job, period, attempt=a, launch=n) for job, period, a, n in (one, other)]
        tokens = [client_token(job, period, attempt=a, launch=n) for job, period, a, n in (one, other)]
        assert len({*names}) == len({*tokens}) == 2, (one, other)


def test_the_names_never_change() -> None:
    """Another version of cronce may request the same launch."""
    assert one_shot_name("daily-digest", "2026-11-29", attempt=2, launch=1) == "once-94f5ecbdd7d18115"
    assert client_token("daily-digest", "2026-11-29", attempt=2, launch=1) == "39ebee94bc338fc8ed2edcdb63fd773d"


@pytest.mark.parametrize(
    ("name", "expected"),
    [("once-0123456789abcdef", True), ("once-0123456789abcde", False), ("once-upon-a-time-0123", False), ("", False)],
)
def test_a_one_shot_is_known_by_its_name(name: str, expected: bool) -> None:  # noqa: FBT001  # a column
    """A job called `once` is not one."""
    assert is_one_shot(name) is expected


@pytest.mark.parametrize(
    ("second", "expected"),
    [(0, "06:00:00"), (0.000001, "06:01:00"), (1, "06:01:00"), (59.999, "06:01:00"), (60, "06:01:00")],
)
def test_a_launch_is_never_early(second: float, expected: str) -> None:
    """The first whole minute that is not before the moment."""
    at = datetime(2026, 11, 29, 6, tzinfo=UTC) + timedelta(seconds=second)
    assert at_expression(at) == f"at(2026-11-29T{expected})"


def test_a_launch_is_in_utc() -> None:
    """In any zone, and across the end of a year."""
    at = datetime(2026, 12, 31, 23, 59, 30, tzinfo=timezone(timedelta(hours=-1)))
    assert at_expression(at) == "at(2027-01-01T01:00:00)"


@pytest.mark.parametrize(
    ("url", "group"),
    [
        ("dynamodb://runs", "runs"),
        ("dynamodb://runs?region=eu-west-1&endpoint=http://localhost:8000", "runs"),
        ("dynamodb://arn:aws:dynamodb:eu-west-1:111122223333:table/my.runs", "my.runs"),
        (f"dynamodb://{'a' * 64}", "a" * 64),
        (f"dynamodb://{'a' * 65}", f"{'a' * 51}-635361c48bb9"),
    ],
)
def test_the_group_follows_from_the_ledger(url: str, group: str) -> None:
    """By the table's name, at most 64 characters."""
    assert schedule_group_of(url) == group
    assert len(group) <= 64


@pytest.mark.parametrize("url", ["sqlite:///runs.db", "dynamodb://", ""])
def test_a_ledger_that_is_no_table_has_no_group(url: str) -> None:
    """A file has no schedule group."""
    with pytest.raises(InputInvalidError, match="dynamodb://TABLE"):
        schedule_group_of(url)
