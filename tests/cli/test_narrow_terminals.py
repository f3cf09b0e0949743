"""Terminals of 80 columns and fewer: nothing is cut, no word is broken, and no page is mostly blank."""

from __future__ import annotations

import shlex
from collections.abc import Callable

import pytest

from cronce.vocabulary.states import Reason, Status
from tests.cli.conftest import LedgerFile, Said, without_colour
from tests.cli.ecs_fleet import Fleet
from tests.cli.test_runs_and_show import all_states
from tests.support.builders import JOB, run


def shown(text: str) -> list[str]:
    """The lines as a person sees them."""
    return [line.rstrip() for line in without_colour(text).splitlines()]


def command_of(lines: list[str]) -> list[str]:
    """The words of the last command on the page, as a shell reads them when it is pasted."""
    start = max(at for at, line in enumerate(lines) if line.startswith("  cronce "))
    end = next(at for at in range(start, len(lines)) if not lines[at].endswith("\\"))
    return shlex.split("\n".join(lines[start : end + 1]))


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_the_list_of_runs_has_no_blank_lines(
    ledger_file: LedgerFile, on_terminal: Callable[..., str], columns: int
) -> None:
    """Every run is there with its status, on a few lines."""
    runs = all_states()
    ledger_file.put(*runs)
    lines = shown(on_terminal("runs", JOB, columns=columns))
    assert "" not in lines
    assert len(lines) <= 5 * len(runs)
    for each in runs:
        assert any(each.period in line for line in lines)
    assert max(len(line) for line in lines if "cronce" not in line and "daily-digest" not in line) <= columns


@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize("period", ["2026-11-24", "2026-11-27T06:00:00Z", "2026-11-28"])
def test_a_command_on_a_page_is_never_broken_inside_a_word(
    ledger_file: LedgerFile, on_terminal: Callable[..., str], columns: int, period: str
) -> None:
    """It continues on the next line after a backslash, and can be pasted as it is."""
    ledger_file.put(*all_states())
    lines = shown(on_terminal("show", JOB, period, columns=columns))
    words = command_of(lines)
    assert words[0] == "cronce"
    assert period in words or f"--period={period}" in words
    for line in lines:
        assert len(line) <= max(columns, 2 + max(map(len, line.split()), default=0) + 4)


def test_an_error_on_a_terminal_has_its_command_on_a_line_of_its_own(
    ledger_file: LedgerFile, on_terminal: Callable[..., str]
) -> None:
    """In a pipe the error is one line; here it is wrapped between words."""
    ledger_file.put(run(status=Status.FAILED, reason=Reason.EXIT_CODE, exit_code=3))
    lines = shown(on_terminal("release", JOB, "2026-11-29", "--reason", "so", columns=60))
    assert command_of(lines) == ["cronce", "show", JOB, "2026-11-29"]
    assert max(map(len, lines)) <= 60


@pytest.mark.parametrize("columns", [40, 80])
def test_ticks_fit_a_narrow_terminal(
    fleet: Fleet,
    cronce: Callable[..., Said],
    on_terminal: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    columns: int,
) -> None:
    """Of `next`, and of the plan of a backfill."""
    of_next = on_terminal(
        "next", "30 2 * * *", "--timezone", "America/New_York", "--from", "2026-03-07", columns=columns
    )
    fleet.add_job(JOB)
    monkeypatch.setenv("COLUMNS", str(columns))
    plan = cronce("backfill", JOB, "--from", "2026-11-24", "--to", "2026-11-27").out
    rows = [line for line in shown(plan) if "05:00:00Z" in line or line.startswith("   ")]
    for lines in (shown(of_next), rows):
        assert "" not in lines
        assert max(map(len, lines)) <= columns
    assert sum("2026-11-" in line for line in shown(plan)) >= 4


@pytest.mark.parametrize("columns", ["0", "00", "-5", "x", "1", "999999999999", "\u0664\u0660"])
def test_a_width_that_no_page_has_hides_nothing(
    ledger_file: LedgerFile, cronce: Callable[..., Said], monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    """Whatever COLUMNS says, every run is there, and no line is only a piece of a word."""
    runs = all_states()
    ledger_file.put(*runs)
    monkeypatch.setenv("COLUMNS", columns)
    said = cronce("runs", JOB)
    assert said.code == 0
    for each in runs:
        assert any(each.period in line for line in said.out.splitlines())
    assert len(said.out) < 20_000
