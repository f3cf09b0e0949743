"""What `cronce import` decided, as a table on rich and as a document."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

from rich.table import Table
from rich.text import Text

from cronce.adopt.convert.conversion import Converted
from cronce.adopt.convert.model import Decision, FieldVerdict, Job
from cronce.cli.output.tables import PlainConsole
from cronce.operate.wording import one_line, visible

_STYLES = {
    FieldVerdict.KEPT: "green",
    FieldVerdict.CHANGED: "yellow",
    FieldVerdict.STATED: "cyan",
    FieldVerdict.LEFT: "red",
}


def print_decisions(converted: Converted) -> None:
    """Print a table per job on stderr, and the counts."""
    console = PlainConsole(sys.stderr)
    for job in converted.jobs:
        console.say(f"{visible(job.name)}  {visible(str(job.place))}")
        console.print(_table(job))
    counts = Counter(each.verdict for job in converted.jobs for each in job.decisions)
    many = "1 job" if len(converted.jobs) == 1 else f"{len(converted.jobs)} jobs"
    console.say(f"{many}: {', '.join(f'{counts[each]} {each}' for each in FieldVerdict if counts[each])}.")
    if converted.skipped:
        console.say(f"Left out: {visible(', '.join(converted.skipped))}.")


def _table(job: Job) -> Table:
    table = Table(box=None, show_edge=False, pad_edge=False, padding=(0, 1))
    for heading in ("LINE", "FIELD", "", "BECAME", "WHY"):
        table.add_column(heading, justify="right" if heading == "LINE" else "left", overflow="fold")
    for each in job.decisions:
        table.add_row(
            Text(str(each.place.line)),
            Text(visible(each.field)),
            Text(each.verdict, style=_STYLES[each.verdict]),
            Text(one_line(each.became)),
            Text(visible(each.why)),
        )
    return table


def conversion_document(converted: Converted, *, file: str | None) -> dict[str, Any]:
    """The jobs with their decisions; the code, or null if it was written to a file."""
    return {
        "jobs": [_job_document(job) for job in converted.jobs],
        "skipped": [*converted.skipped],
        "file": file,
        "code": converted.code if file is None else None,
    }


def _job_document(job: Job) -> dict[str, Any]:
    return {
        "name": job.name,
        "file": job.place.file,
        "line": job.place.line,
        "decisions": [_decision_document(each) for each in job.decisions],
    }


def _decision_document(decision: Decision) -> dict[str, Any]:
    return {
        "field": decision.field,
        "verdict": decision.verdict,
        "given": decision.given,
        "became": decision.became,
        "why": decision.why,
        "line": decision.place.line,
    }
