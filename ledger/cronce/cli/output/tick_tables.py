"""Ticks for people, on rich: what is coming, and what there is to fill in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from cronce.cli.actions.fill import Gap
from cronce.cli.actions.may_start import Standing
from cronce.cli.actions.ticks import local_of
from cronce.cli.output.wording import age
from cronce.schedule import Preview
from cronce.vocabulary.names import period_of

_STANDING_STYLES = {
    Standing.MISSING: "magenta",
    Standing.DONE: "green",
    Standing.RUNNING: "cyan",
    Standing.FAILED: "red",
    Standing.LOST: "red",
    Standing.HELD: "red",
    Standing.SKIPPED: "yellow",
    Standing.MISSED: "magenta",
}

_THEN = {
    Standing.DONE: "-",
    Standing.RUNNING: "wait for its end",
    Standing.HELD: "none: 'cronce release' it first",
}


def ticks_table(ticks: Sequence[Preview], *, zone: str, now: datetime | None) -> Table:
    """One line a tick: in UTC as the period of its run is spelled, and on the clocks of its zone.

    Args:
        ticks: What to list.
        zone: The zone that they are read in.
        now: Aware; None where it does not matter how far away they are.
    """
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    table.add_column("UTC (PERIOD)", no_wrap=True)
    if zone != "UTC":
        table.add_column(zone.upper(), no_wrap=True)
    if now is not None:
        table.add_column("DUE", no_wrap=True)
    has_notes = any(tick.note for tick in ticks)
    if has_notes:
        table.add_column("NOTE", overflow="fold")
    for tick in ticks:
        local = [] if zone == "UTC" else [Text(f"{tick.local:%a %Y-%m-%d %H:%M:%S %Z}")]
        note = [Text(tick.note, style="yellow")] if has_notes else []
        due = [Text(age(tick.utc, now=now))] if now is not None else []
        table.add_row(Text(period_of(tick.utc)), *local, *due, *note)
    return table


def gaps_table(gaps: Iterable[Gap], zone: str) -> Table:
    """One line a tick: what stands for it, and what a backfill does about it."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    table.add_column("PERIOD", no_wrap=True)
    if zone != "UTC":
        table.add_column(zone.upper(), no_wrap=True)
    table.add_column("LEDGER", no_wrap=True)
    table.add_column("THEN", overflow="fold")
    for gap in gaps:
        local = [f"{local_of(gap.tick, zone):%a %Y-%m-%d %H:%M:%S %Z}"] if zone != "UTC" else []
        standing = Text(gap.standing, style=_STANDING_STYLES[gap.standing])
        table.add_row(gap.period, *local, standing, _THEN.get(gap.standing, "start it"))
    return table
