"""The table of jobs, on rich."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from rich.console import RenderableType
from rich.text import Text

from cronce.cli.actions.find_jobs import KnownJob
from cronce.cli.output.runs import status_text
from cronce.cli.output.tables import WIDE, Column, table
from cronce.operate.overview import Overview
from cronce.operate.wording import age, length, visible
from cronce.protocol.records import RunRecord, UnreadableRow
from cronce.schedule import ScheduleInvalidError


def jobs_table(jobs: Iterable[tuple[KnownJob, Overview]], *, now: datetime, width: int) -> RenderableType:
    """One line per job, or on a narrow terminal a few."""
    wide = width >= WIDE
    columns = [
        Column("JOB", fold=True, min_width=10),
        Column("STATE"),
        Column("LAST", label="last"),
        Column("NEXT", label="next"),
        Column("LATE", label="late", right=True),
        Column("OK", label="ok", right=True),
        *([Column("LAST OK"), Column("SCHEDULE", fold=True)] if wide else []),
    ]
    rows = []
    for job, seen in jobs:
        state = "paused" if seen.pause else job.state
        succeeded = age(seen.succeeded_at, now=now) if seen.succeeded_at else "-"
        rows.append(
            (
                Text(visible(job.name)),
                Text(state, style="" if state == "enabled" else "yellow"),
                _newest(seen, now),
                Text(age(seen.next_at, now=now) if seen.next_at and not seen.pause else "-"),
                _late(seen, now),
                Text(f"{seen.succeeded}/{seen.ended}" if seen.ended else "-"),
                *([Text(succeeded), Text(_schedule_of(job))] if wide else []),
            )
        )
    return table(columns, rows, width)


def _newest(seen: Overview, now: datetime) -> Text:
    newest = seen.newest
    match newest:
        case None:
            return Text("-")
        case UnreadableRow():
            return Text("UNREADABLE", style="red")
        case RunRecord():
            at = newest.finished_at or newest.claimed_at
            return Text.assemble(status_text(newest, now), f" {age(at, now=now)}" if at else "")


def _late(seen: Overview, now: datetime) -> Text:
    if seen.overdue_since is not None:
        return Text(f"overdue {length(now - seen.overdue_since)}", style="magenta")
    return Text("-" if seen.late_by is None else length(seen.late_by))


def _schedule_of(job: KnownJob) -> str:
    if job.definition is None:
        return "-"
    try:
        return job.definition.schedule.describe()
    except ScheduleInvalidError:  # a newer cronce may read it
        return visible(job.definition.expression)
