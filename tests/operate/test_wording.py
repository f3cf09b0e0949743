"""Values as people read them."""

from __future__ import annotations

from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest

from cronce.operate.wording import age, length, moment, one_line, short_owner, visible, visible_lines
from tests.support.builders import T0


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("daily-digest", "daily-digest"),
        ("Zürich 日報", "Zürich 日報"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("\x9b31mred", r"\x9b31mred"),
        ("one\ntwo\r\tthree", r"one\ntwo\r\tthree"),
        ("abc\u202edcba", r"abc\u202edcba"),
        ("a\u2028b\ud800", r"a\u2028b\ud800"),
        ("[red]not markup[/red] :smile:", "[red]not markup[/red] :smile:"),
    ],
)
def test_what_a_terminal_would_act_on_is_shown_as_an_escape(text: str, shown: str) -> None:
    """Control characters, line breaks and changes of direction become visible; letters stay."""
    assert visible(text) == shown


def test_an_errors_lines_stay_lines() -> None:
    """Only what a line holds is escaped."""
    assert visible_lines("one\n\ttwo\x1b[0m") == "one\n    two\\x1b[0m"


@pytest.mark.parametrize(
    ("text", "shown"),
    [("", ""), ("\n \n", ""), ("\n  one \n", "one"), ("one\ntwo", "one ..."), ("x" * 101, "x" * 100 + " ...")],
)
def test_a_cell_has_an_errors_first_line(text: str, shown: str) -> None:
    """Not endlessly, and it says that there is more."""
    assert one_line(text) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "now"),
        (-0.999, "now"),
        (1, "1s ago"),
        (59.4, "59s ago"),
        (59.5, "1m ago"),
        (60, "1m ago"),
        (3 * 60, "3m ago"),
        (3599, "59m ago"),
        (3600, "1h ago"),
        (2 * 86_400 - 1, "47h ago"),
        (2 * 86_400, "2d ago"),
        (-12, "in 12s"),
        (-7200, "in 2h"),
    ],
)
def test_an_age_has_the_largest_unit_that_fits(seconds: float, shown: str) -> None:
    """Just before a unit, at it, and in the future."""
    assert age(T0 - timedelta(seconds=seconds), now=T0) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-1, "0.0s"),
        (0.44, "0.4s"),
        (9.9, "9.9s"),
        (10, "10s"),
        (80, "1m 20s"),
        (120, "2m"),
        (7500, "2h 5m"),
        (273_600, "3d 4h"),
    ],
)
def test_a_length_has_two_units_at_most(seconds: float, shown: str) -> None:
    """Tenths only where they matter."""
    assert length(timedelta(seconds=seconds)) == shown


def test_a_moment_names_its_zone() -> None:
    """In every zone."""
    now = T0 + timedelta(minutes=3)
    assert moment(T0, now=now, zone=ZoneInfo("UTC")) == "2026-11-29 06:00:00 UTC (3m ago)"
    assert moment(T0, now=now, zone=ZoneInfo("Europe/Zurich")) == "2026-11-29 07:00:00 CET (3m ago)"


def test_a_tasks_arn_is_shortened_for_a_column() -> None:
    """The beginning of its id is what people search the console for."""
    arn = "arn:aws:ecs:eu-west-1:123456789012:task/prod/0123456789abcdef0123456789abcdef"
    assert short_owner(arn) == "task 0123456789ab"
    assert short_owner("vm:\x1b1") == r"vm:\x1b1"
