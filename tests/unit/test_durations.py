"""Durations as people write them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronce.vocabulary.durations import format_duration, parse_duration
from cronce.vocabulary.errors import InputInvalidError


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("90", 90),
        ("90s", 90),
        ("5m", 300),
        ("2h", 7200),
        ("7d", 604_800),
        ("366d", 31_622_400),
        ("500ms", 0.5),
        ("1.5h", 5400),
        ("0", 0),
        (90, 90),
        (0.25, 0.25),
    ],
)
def test_a_duration_is_a_number_with_a_unit(value: object, seconds: float) -> None:
    """Seconds where no unit stands."""
    assert parse_duration(value, what="lease") == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "value",
    [
        *("", " ", "-1", "+1", "1 s", "s", "1w", "1S", "1e3", "PT5M", "5m30s", "1.", ".5", "٣", "1\n", "nan", "inf"),
        *("367d", "366.001d", "9999999999", 31_622_401, -1, float("nan"), float("inf"), -0.5),
        *(None, True, [5], timedelta(5), b"5"),
    ],
)
def test_anything_else_is_refused(value: object) -> None:
    """The error names the setting and what it may be."""
    with pytest.raises(InputInvalidError, match=r"^--lease: .*allowed: seconds, or a number with a unit"):
        parse_duration(value, what="--lease")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0ms"), (0.5, "500ms"), (1, "1s"), (90, "90s"), (60, "1m"), (3600, "1h"), (86_400, "1d"), (86_401, "86401s")],
)
def test_a_duration_is_shown_as_short_as_it_can_be(seconds: float, text: str) -> None:
    """The largest unit that leaves no rest."""
    assert format_duration(timedelta(seconds=seconds)) == text


@given(st.integers(min_value=0, max_value=999_999_999))
def test_what_is_shown_is_read_back(milliseconds: int) -> None:
    """For every whole number of milliseconds that a setting can have."""
    duration = timedelta(milliseconds=milliseconds)
    assert parse_duration(format_duration(duration), what="any") == duration
