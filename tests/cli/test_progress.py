"""What a person sees who waits until a thousand jobs are read."""

from __future__ import annotations

import io
import sys

import pytest

from cronce.cli.output.progress import progress


class Screen(io.StringIO):
    """A terminal that keeps what it shows."""

    def isatty(self) -> bool:
        """It is one."""
        return True


def test_the_schedules_are_counted_and_the_jobs_have_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many schedules there are is not known before they are read."""
    monkeypatch.setattr(sys, "stderr", screen := Screen())
    monkeypatch.setenv("COLUMNS", "100")
    with progress() as count:
        read = count(None)
        for _ in range(3):
            read()
        read = count(4)
        read()
    shown = screen.getvalue()
    assert "Reading the schedules" in shown
    assert "Reading 4 jobs" in shown


def test_a_pipe_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a terminal has somebody who waits."""
    monkeypatch.setattr(sys, "stderr", written := io.StringIO())
    with progress() as count:
        count(None)()
        count(4)()
    assert written.getvalue() == ""
