"""The bar at the foot of a terminal."""

from __future__ import annotations

import io

import pytest

from cronce.cli.output.backfill import BackfillBar
from cronce.cli.output.tables import PlainConsole
from tests.cli.conftest import without_colour


class Terminal(io.StringIO):
    """Text that claims to be a terminal."""

    def isatty(self) -> bool:
        """Yes."""
        return True


def shown_on(file: io.StringIO) -> str:
    """The output of a bar and a line above it."""
    console = PlainConsole(file)
    with BackfillBar(console, total=4) as bar:
        bar.show(done=1, failed=1, open_=1)
        console.say("2026-11-29T05:00:00Z  started")
    return without_colour(file.getvalue())


def test_on_a_terminal_it_counts_below_the_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line is printed whole above the bar, and the bar is drawn again."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    shown = shown_on(Terminal())
    assert "2/4 settled, 1 failed, 1 running" in shown
    assert "2026-11-29T05:00:00Z  started\n" in shown
    assert all(len(line) <= 80 for line in shown.replace("\r", "\n").splitlines())


def test_elsewhere_there_are_only_the_lines() -> None:
    """For a log, or a pipe."""
    assert shown_on(io.StringIO()) == "2026-11-29T05:00:00Z  started\n"
