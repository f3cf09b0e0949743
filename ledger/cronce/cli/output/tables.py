"""Tables and pages about runs and ticks, on rich; they fit 80 columns.

Text from the ledger is always a `Text` of `visible` characters, so that neither escape sequences
nor rich's markup in a name or an error take effect.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cronce.cli.actions.fill import Gap
from cronce.cli.actions.find_jobs import KnownJob
from cronce.cli.actions.look_up import RowKind, kind_by_name
from cronce.cli.actions.may_start import PeriodState
from cronce.cli.actions.ticks import local_of
from cronce.cli.output.advice import Advice
from cronce.cli.output.wording import age, length, moment, one_line, short_owner, visible, visible_lines, why_ended
from cronce.protocol.records import Liveness, PastAttempt, RunRecord, UnreadableRow
from cronce.schedule import Preview, ScheduleInvalidError
from cronce.vocabulary.names import period_of
from cronce.vocabulary.payloads import shortened
from cronce.vocabulary.states import Reason, Status

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

_WIDE = 110
"""The width from which tables have owners and full times."""

_NARROW = 76
"""Below this width a table becomes text: a column would be too narrow to read."""

_PIPED_WIDTH = 200
_MOST_SHOWN_BYTES = 2000
_LABEL_WIDTH = 12


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
            width=None if terminal or os.environ.get("COLUMNS") else _PIPED_WIDTH,
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


def _continued(command: str, width: int) -> Iterator[str]:
    """The command on several lines, broken between words; a word that is too long stays whole."""
    line, room = " ", width - len(" \\")
    for word in (visible(shlex.quote(word)) for word in shlex.split(command)):
        if len(line) + 1 + len(word) > room and line.strip():
            yield f"{line} \\"
            line = "     "
        line += f" {word}"
    yield line


def runs_table(runs: Iterable[RunRecord | UnreadableRow], *, now: datetime, width: int) -> RenderableType:
    """One line per run, or on a narrow terminal a few."""
    wide = width >= _WIDE
    columns = [
        _Column("PERIOD", fold=True, min_width=10, max_width=40),
        _Column("STATUS"),
        _Column("TRY", label="try", right=True),
        _Column("STARTED", label="started"),
        _Column("TOOK", label="took", right=True),
        *([_Column("OWNER", label="by", fold=True, max_width=30)] if wide else []),
        _Column("NOTE", fold=True),
    ]
    rows = []
    for run in runs:
        if isinstance(run, UnreadableRow):
            empty = [Text("-")] * (len(columns) - 3)
            status = Text("UNREADABLE", style="red")
            rows.append((Text(visible(run.period)), status, *empty, Text(one_line(run.problem))))
            continue
        started = "-"
        if _did_start(run) and run.claimed_at:
            started = moment(run.claimed_at, now=now) if wide else age(run.claimed_at, now=now)
        rows.append(
            (
                Text(visible(run.period)),
                _status(run, now),
                Text(str(run.attempt) if _did_start(run) or run.attempts else "-"),
                Text(started),
                Text(_took(run, now)),
                *([Text(short_owner(run.owner) if run.attempt else "-")] if wide else []),
                Text(_note(run, now, with_owner=not wide)),
            )
        )
    return _table(columns, rows, width)


def run_page(
    run: RunRecord, advice: Advice, *, now: datetime, width: int, blocker: RunRecord | None = None
) -> Sequence[RenderableType]:
    """Everything about one run, as parts to print one after the other.

    Args:
        run: The run.
        advice: What its state means.
        now: Aware.
        width: Columns of the terminal.
        blocker: The run named in `blocked_by`, as it is now.
    """
    title = Text.assemble((visible(run.job), "bold"), "  ", (visible(run.period), "bold"), "  ", _status(run, now))
    parts: list[RenderableType] = [title, Text(visible(advice.meaning)), Text(), _facts(run, now, blocker)]
    if run.attempts:
        heading = "Earlier attempts" if _is_run(run) else "Earlier terms"
        parts += [
            Text(),
            Text(heading, style="bold"),
            _past_attempts(run.attempts, now, with_status=_is_run(run), width=width),
        ]
    return parts


def _facts(run: RunRecord, now: datetime, blocker: RunRecord | None) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True, min_width=_LABEL_WIDTH)
    grid.add_column(overflow="fold")
    for label, value in _labelled(run, now, blocker):
        if value:
            grid.add_row(label, Text(value))
    return grid


def _labelled(run: RunRecord, now: datetime, blocker: RunRecord | None) -> Iterable[tuple[str, str | None]]:
    def when(at: datetime | None) -> str | None:
        return None if at is None else moment(at, now=now)

    def given(text: str | None) -> str | None:
        return None if text is None else visible(text)

    if _is_run(run):
        attempt = run.attempt if _did_start(run) or run.attempts else "none"
        yield "attempt", f"{attempt}, trigger {run.trigger}, counted failures {run.failures}"
    else:
        yield "term", str(run.attempt)
    yield "owner", visible(run.owner)
    yield "scheduled", when(run.scheduled_at)
    yield ("started" if _did_start(run) else "asked"), when(run.claimed_at)
    yield "heartbeat", when(run.heartbeat_at) if run.status is Status.RUNNING else None
    yield "lease", _lease(run, now)
    yield "finished", when(run.finished_at)
    yield "took", _took(run, now) if _did_start(run) and run.finished_at else None
    yield "reason", given(run.reason)
    yield "blocked by", _blocked_by(run, blocker, now)
    yield "exit code", None if run.exit_code is None else str(run.exit_code)
    yield "error", None if run.error is None else visible_lines(run.error)
    yield "stop asked", given(run.cancel_requested)
    yield "by", given(run.actor)
    yield "note", given(run.note)
    yield "checkpoint", _payload(run.checkpoint)
    yield "result", _payload(run.result)
    yield "result is", given(run.result_flag)


def _lease(run: RunRecord, now: datetime) -> str | None:
    if run.status is not Status.RUNNING:
        return None
    if run.lease_until is None:
        return "none"
    left = run.lease_until - now
    return f"{length(left)} left" if left > timedelta(0) else f"expired {moment(run.lease_until, now=now)}"


def _blocked_by(run: RunRecord, blocker: RunRecord | None, now: datetime) -> str | None:
    if run.blocked_by is None:
        return None
    name = visible(run.blocked_by)
    if blocker is None:
        return name
    since = f" ({age(blocker.finished_at, now=now)})" if blocker.finished_at else ""
    return f"{name}, now {blocker.status}{since}, owner {visible(blocker.owner)}"


def _payload(text: str | None) -> str | None:
    if text is None:
        return None
    cut = shortened(text, _MOST_SHOWN_BYTES)
    return visible(cut) + ("" if cut == text else f" ... ({len(text)} characters; --json shows all)")


def _past_attempts(attempts: Sequence[PastAttempt], now: datetime, *, with_status: bool, width: int) -> RenderableType:
    columns = [
        _Column("TRY", right=True),
        *([_Column("ENDED AS")] if with_status else []),
        _Column("STARTED", label="started"),
        _Column("TOOK", label="took", right=True),
        _Column("OWNER", label="by", fold=True),
        _Column("WHY", fold=True),
    ]
    rows = []
    for past in attempts:
        took = length(past.finished_at - past.claimed_at) if past.finished_at and past.claimed_at else "-"
        failed = past.status is not Status.SUCCEEDED  # a forced repeat left a reason on earlier successes
        why = why_ended(past.reason, past.exit_code, past.error) if failed else ""
        rows.append(
            (
                Text(str(past.attempt)),
                *([Text(past.status, style=STATUS_STYLES[past.status])] if with_status else []),
                Text(age(past.claimed_at, now=now) if past.claimed_at else "-"),
                Text(took),
                Text(short_owner(past.owner)),
                Text(why or (visible(past.note) if past.note else "")),
            )
        )
    return _table(columns, rows, width)


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
        _Column("UTC" if has_periods else "UTC (PERIOD)"),
        *([_Column("PERIOD")] if has_periods else []),
        *([_Column(zone.upper())] if is_local else []),
        *([_Column("DUE")] if now is not None else []),
        *([_Column("NOTE", fold=True)] if has_notes else []),
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
    return _table(columns, rows, width)


def gaps_table(gaps: Iterable[Gap], zone: str, width: int) -> RenderableType:
    """One line per tick: the state of its run, and what the backfill does."""
    is_local = zone != "UTC"
    columns = [
        _Column("PERIOD"),
        *([_Column(zone.upper())] if is_local else []),
        _Column("LEDGER"),
        _Column("THEN", label="then", fold=True),
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
    return _table(columns, rows, width)


def jobs_table(jobs: Iterable[KnownJob]) -> Table:
    """A table with one line per job."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    table.add_column("JOB", overflow="fold")
    table.add_column("STATE", no_wrap=True)
    table.add_column("SCHEDULE", overflow="fold")
    for job in jobs:
        style = "" if job.state == "enabled" else "yellow"
        table.add_row(Text(visible(job.name)), Text(job.state, style=style), Text(_schedule_of(job)))
    return table


def _schedule_of(job: KnownJob) -> str:
    if job.definition is None:
        return "-"
    try:
        return job.definition.schedule.describe()
    except ScheduleInvalidError:  # a newer cronce may read it
        return visible(job.definition.expression)


@dataclass(frozen=True, slots=True)
class _Column:
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


def _table(columns: Sequence[_Column], rows: Sequence[Sequence[Text]], width: int) -> RenderableType:
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


def _as_text(columns: Sequence[_Column], row: Sequence[Text], width: int) -> Iterator[RenderableType]:
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


def _status(run: RunRecord, now: datetime) -> Text:
    """The status in words: a leader's row is FAILED after an orderly end too, which would alarm people."""
    if _is_run(run):
        return Text(run.status, style=STATUS_STYLES[run.status])
    is_held = run.liveness(now) is Liveness.ALIVE
    if kind_by_name(run.job, run.period) is RowKind.LEADER:
        return Text("LEADS", style="green") if is_held else Text("NO LEADER", style="yellow")
    return Text("LOOKS", style="cyan") if is_held else Text("IDLE", style="dim")


def _is_run(run: RunRecord) -> bool:
    return kind_by_name(run.job, run.period) is RowKind.RUN


def _did_start(run: RunRecord) -> bool:
    """False for a run whose work never began."""
    return run.attempt > 0 and run.status not in (Status.SKIPPED, Status.MISSED)


def _took(run: RunRecord, now: datetime) -> str:
    if not _did_start(run) or run.claimed_at is None:
        return "-"
    return length((run.finished_at or now) - run.claimed_at)


def _note(run: RunRecord, now: datetime, *, with_owner: bool) -> str:
    match run.status:
        case Status.RUNNING if run.lease_until is None:
            return "HELD: no lease"
        case Status.RUNNING if run.lease_until is not None and now > run.lease_until:
            return f"lease expired {age(run.lease_until, now=now)}"
        case Status.RUNNING:
            return f"by {short_owner(run.owner)}" if with_owner else ""
        case Status.SKIPPED if run.reason == Reason.OVERLAP and run.blocked_by:
            return f"overlap with {visible(run.blocked_by)}"
        case Status.FAILED if run.reason == Reason.RELEASED and run.actor:
            return f"released by {visible(run.actor)}"
    return why_ended(run.reason, run.exit_code, run.error)
