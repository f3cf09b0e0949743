"""The console, tables that fit 80 columns, and those of ticks, on rich.

Text from the ledger is always a `Text` of `visible` characters, so that neither escape sequences
nor rich's markup in a name or an error take effect.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cronce.cli.actions.fill import Gap
from cronce.cli.actions.may_start import PeriodState
from cronce.cli.actions.ticks import local_of
from cronce.operate.advice import Advice
from cronce.operate.wording import age, visible
from cronce.schedule import Preview
from cronce.vocabulary.names import period_of
from cronce.vocabulary.states import Status

STATUS_STYLES = {
    Status.RUNNING: "cyan",
    Status.SUCCEEDED: "green",
    Status.FAILED: "red",
    Status.SKIPPED: "yellow",
    Status.MISSED: "magenta",
}

_STATE_STYLES = {
    PeriodState.MISSING: "magenta",
    PeriodState.DONE: "green",
    PeriodState.RUNNING: "cyan",
    PeriodState.FAILED: "red",
    PeriodState.LOST: "red",
    PeriodState.HELD: "red",
    PeriodState.SKIPPED: "yellow",
    PeriodState.MISSED: "magenta",
    PeriodState.UNREADABLE: "red",
}

_THEN = {
    PeriodState.DONE: "-",
    PeriodState.RUNNING: "wait until it ends",
    PeriodState.HELD: "none: 'cronce release' it first",
    PeriodState.UNREADABLE: "none: a newer cronce has to read it",
}

WIDE = 110
"""The width from which tables have owners and full times."""

_NARROW = 76
"""Below this width a table becomes text: a column would be too narrow to read."""

_PIPED_WIDTH = 200
_NARROWEST = 20


class PlainConsole(Console):
    """A console without markup, emoji codes and highlighting.

    It uses colour on a terminal only, and not with `NO_COLOR`. Lines into a pipe are wide, so that
    nothing that somebody greps for is cut.
    """

    def __init__(self, file: TextIO | None = None) -> None:
        file = file or sys.stdout
        terminal = file.isatty()
        colour = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        super().__init__(
            file=file,
            markup=False,
            emoji=False,
            highlight=False,
            color_system="auto" if colour else None,
            no_color=not colour,
            force_terminal=terminal,
            width=_width(file, terminal=terminal),
        )

    def say(self, text: str) -> None:
        """Print a line, above a progress bar if there is one; a terminal gets it wrapped between words."""
        self.print(Text(text), soft_wrap=not self.is_terminal)

    def print_command(self, command: str) -> None:
        """Print a command to copy: on one line, or on a terminal where it is too long, continued after backslashes."""
        lines = ["  " + visible(command)]
        if self.is_terminal and len(lines[0]) > self.width:
            lines = list(_continued(command, self.width))
        self.print(Text("\n".join(lines), style="bold"), soft_wrap=True)

    def say_with_command(self, text: str, command: str | None) -> None:
        """Print a line with the command in it, or on a terminal below it."""
        if command is None or not self.is_terminal:
            self.say(text if command is None else f"{text} {visible(command)}")
        else:
            self.say(text)
            self.print_command(command)

    def print_advice(self, advice: Advice) -> None:
        """Print the next steps, each with its command below it."""
        for step in advice.steps:
            self.print(Text(visible(step.text)))
            if step.command is not None:
                self.print_command(step.command)

    def on_broken_pipe(self) -> None:
        """Let the command handle it; rich would exit the process here."""
        raise BrokenPipeError


def _width(file: TextIO, *, terminal: bool) -> int | None:
    """Columns to write; None to follow the terminal. COLUMNS counts if a table of that width can be read."""
    given = os.environ.get("COLUMNS", "")
    if not given:
        return None if terminal else _PIPED_WIDTH
    if given.isascii() and given.isdecimal() and len(given) < 5 and int(given):
        return max(int(given), _NARROWEST)
    try:
        return os.get_terminal_size(file.fileno()).columns
    except (OSError, ValueError):  # no terminal, or no file
        return _PIPED_WIDTH


def _continued(command: str, width: int) -> Iterator[str]:
    """The command on several lines, broken between words; a word that is too long stays whole."""
    line, room = " ", width - len(" \\")
    for word in (visible(shlex.quote(word)) for word in shlex.split(command)):
        if len(line) + 1 + len(word) > room and line.strip():
            yield f"{line} \\"
            line = "     "
        line += f" {word}"
    yield line


def ticks_table(
    ticks: Sequence[Preview], periods: Sequence[str], *, zone: str, now: datetime | None, width: int
) -> RenderableType:
    """One line per tick: in UTC, the period of its run if that is another, and in local time.

    Args:
        ticks: The ticks.
        periods: The periods of their runs.
        zone: IANA name of the schedule's zone.
        now: Aware; None for a table without the time until each tick.
        width: Columns of the terminal.
    """
    is_local, has_notes = zone != "UTC", any(tick.note for tick in ticks)
    has_periods = any(period != period_of(tick.utc) for tick, period in zip(ticks, periods, strict=True))
    columns = [
        Column("UTC" if has_periods else "UTC (PERIOD)"),
        *([Column("PERIOD")] if has_periods else []),
        *([Column(zone.upper())] if is_local else []),
        *([Column("DUE")] if now is not None else []),
        *([Column("NOTE", fold=True)] if has_notes else []),
    ]
    rows = [
        (
            Text(period_of(tick.utc)),
            *([Text(visible(period))] if has_periods else []),
            *([Text(f"{tick.local:%a %Y-%m-%d %H:%M:%S %Z}")] if is_local else []),
            *([Text(age(tick.utc, now=now))] if now is not None else []),
            *([Text(tick.note, style="yellow")] if has_notes else []),
        )
        for tick, period in zip(ticks, periods, strict=True)
    ]
    return table(columns, rows, width)


def gaps_table(gaps: Iterable[Gap], zone: str, width: int) -> RenderableType:
    """One line per tick: the state of its run, and what the backfill does."""
    is_local = zone != "UTC"
    columns = [
        Column("PERIOD"),
        *([Column(zone.upper())] if is_local else []),
        Column("LEDGER"),
        Column("THEN", label="then", fold=True),
    ]
    rows = [
        (
            Text(gap.period),
            *([Text(f"{local_of(gap.tick, zone):%a %Y-%m-%d %H:%M:%S %Z}")] if is_local else []),
            Text(gap.state, style=_STATE_STYLES[gap.state]),
            Text(_THEN.get(gap.state, "start it")),
        )
        for gap in gaps
    ]
    return table(columns, rows, width)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        label: What stands before the value where the table does not fit and is printed as text.
        fold: True if long values continue on the next line.
    """

    header: str
    label: str = ""
    right: bool = False
    fold: bool = False
    min_width: int | None = None
    max_width: int | None = None


def table(columns: Sequence[Column], rows: Sequence[Sequence[Text]], width: int) -> RenderableType:
    """A table of the rows, or on a narrow terminal a few lines of text per row."""
    if width < _NARROW:
        return Group(*(line for row in rows for line in _as_text(columns, row, width)))
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    for column in columns:
        table.add_column(
            column.header,
            justify="right" if column.right else "left",
            no_wrap=not column.fold,
            overflow="fold" if column.fold else "ellipsis",
            min_width=column.min_width,
            max_width=column.max_width,
        )
    for row in rows:
        table.add_row(*row)
    return table


def _as_text(columns: Sequence[Column], row: Sequence[Text], width: int) -> Iterator[RenderableType]:
    """A row as a line with its first two values, and the others below it."""
    first, second = row[0], row[1]
    in_one_line = len(first) + 2 + len(second) <= width
    yield Text.assemble(first, "  ", second) if in_one_line else first
    others = [
        Text.assemble(column.label, " ", value) if column.label else value
        for column, value in zip(columns, row, strict=True)
        if value.plain not in ("", "-")
    ]
    below = others[2:] if in_one_line else others[1:]
    if below:
        yield Padding(Text(", ").join(below), (0, 0, 0, 2))
