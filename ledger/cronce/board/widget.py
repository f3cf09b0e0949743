"""A board as a custom widget of a CloudWatch dashboard: HTML without a script. Pure.

CloudWatch removes scripts from what a widget returns, and also `iframe` and `use`; styles, forms and other elements
stay. A press on a button calls the function again: an element `cwdb-action` after the button names the function and has
the parameters as JSON (CloudWatch User Guide, "Details about custom widgets", "Interactivity in the custom widget",
"Security and JavaScript").
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from html import escape
from typing import Any

from cronce.board.calendar import Board, Day, JobCalendar, Row
from cronce.board.fragments import (
    about,
    empty_cell,
    file,
    head,
    in_short,
    legend,
    need_a_look,
    overdue,
    run_article,
    sign_of,
    text,
)
from cronce.operate.wording import count, visible
from cronce.vocabulary.names import period_of

MOST_PERIODS = 10
"""How many runs of a day a press on the day shows."""

MOST_BYTES = 1_000_000
"""The longest widget; Lambda returns at most 6 MB (Developer Guide, "Lambda quotas")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard:
    """The dashboard that shows the widget.

    Attributes:
        endpoint: ARN of the function that a press calls.
        theme: `light` or `dark`, as the dashboard is; any other text for what the browser prefers.
    """

    endpoint: str
    theme: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Widget:
    """One page of jobs.

    Attributes:
        board: The jobs of this page and their days.
        jobs: How many jobs there are.
        need_a_look: How many of those that were read need a look.
        not_read: How many could not be read in time.
        without_runs: The names of the jobs of this page that have neither a schedule nor a run in these days.
        part: The part of a name that was asked for; empty for all.
        number: The number of this page, from 1.
        pages: How many there are.
        repeated: The parameters that each press repeats.
    """

    board: Board
    jobs: int
    need_a_look: int
    not_read: int = 0
    without_runs: Sequence[str] = ()
    part: str = ""
    number: int = 1
    pages: int = 1
    repeated: Mapping[str, Any]


def widget(shown: Widget, dashboard: Dashboard) -> str:
    """The widget. If it would be too long, it has fewer jobs, and says so."""
    all_jobs = shown.board.jobs
    left = len(all_jobs)
    while True:
        board = replace(shown.board, jobs=all_jobs[:left])
        html = _widget(replace(shown, board=board), dashboard, left_out=len(all_jobs) - left)
        if left == 0 or len(html.encode("utf-8", "replace")) <= MOST_BYTES:
            return html
        left //= 2


def runs_of_a_job(
    job: JobCalendar, rows: Sequence[Row], dashboard: Dashboard, *, now: datetime, due: datetime | None
) -> str:
    """The HTML that a press on a day opens: its runs with their history, and the tick that is overdue."""
    late = "" if due is None else overdue(due, now)
    runs = "".join(run_article(job, row, now, None) for row in rows)
    none = "" if late or runs else "<p>There is no such run any more.</p>"
    return _within(f"<section><p><b>{text(job.name)}</b></p>{late}{runs}{none}</section>", dashboard)


def problem(sentence: str, dashboard: Dashboard) -> str:
    """What a widget shows instead of runs."""
    return _within(f'<p class="note" role="alert">{text(sentence)}</p>', dashboard)


def _within(html: str, dashboard: Dashboard) -> str:
    theme = f" cronce-{dashboard.theme}" if dashboard.theme in ("light", "dark") else ""
    style = file("runs.css") + file("widget.css")
    return (
        f'<div class="cwdb-no-default-styles"></div><style>{style}</style>'
        f'<div class="cronce cronce-widget{theme}">{html}</div>'
    )


def _widget(shown: Widget, dashboard: Dashboard, *, left_out: int) -> str:
    board = shown.board
    rows = "".join(_job(job, board, dashboard) for job in board.jobs)
    table = (
        '<table class="calendar"><thead><tr><th scope="col">job</th>'
        f"{''.join(head(day) for day in board.dates)}</tr></thead><tbody>{rows}</tbody></table>"
    )
    notes = "".join(f'<p class="note">{each}</p>' for each in _notes(shown, left_out))
    return _within(
        f"<p>{_summary(shown)} {_read(board)}</p>{notes}{_bar(shown, dashboard)}"
        f'{table if rows else ""}<ul class="legend" aria-label="Legend">{legend()}</ul>',
        dashboard,
    )


def _summary(shown: Widget) -> str:
    return f"<b>{count(shown.jobs, 'job')}</b>; {need_a_look(shown.need_a_look)}."


def _read(board: Board) -> str:
    return f"Read {board.now:%Y-%m-%d %H:%M:%S} UTC from {text(board.where)}."


def _notes(shown: Widget, left_out: int) -> list[str]:
    notes = []
    if shown.not_read:
        notes.append(
            f"{shown.not_read} jobs could not be read in time, and are not counted: filter by a part of their name."
        )
    if shown.without_runs:
        names = ", ".join(text(name) for name in shown.without_runs[:MOST_PERIODS])
        notes.append(f"No schedule, and no run in these days: {names}.")
    if left_out:
        notes.append(f"{left_out} jobs of this page are too long to be shown: filter, or ask for fewer days.")
    return notes


def _bar(shown: Widget, dashboard: Dashboard) -> str:
    """A filter, and the other pages."""
    here = dict(shown.repeated)
    form = (
        '<form class="bar"><label>Filter '
        f'<input name="part" value="{text(shown.part)}" placeholder="part of a name"></label>'
        f'<button type="button">Show</button>{_call(here, dashboard, display="widget")}</form>'
    )
    if shown.pages == 1:
        return form
    before, after = shown.number - 1, shown.number + 1
    steps = ((before, "Previous"), (after, "Next"))
    turns = "".join(
        f'<button type="button">{name}</button>{_call(here | {"page": to}, dashboard, display="widget")}'
        for to, name in steps
        if 1 <= to <= shown.pages
    )
    return f'{form}<p class="bar">Page {shown.number} of {shown.pages} {turns}</p>'


def _job(job: JobCalendar, board: Board, dashboard: Dashboard) -> str:
    cells = "".join(_cell(job, day, board.now, dashboard) for day in board.dates)
    return f'<tr><th scope="row">{about(job, board.now)}</th>{cells}</tr>'


def _cell(job: JobCalendar, day: date, now: datetime, dashboard: Dashboard) -> str:
    found = job.days.get(day)
    if found is None:
        return empty_cell(job, day)
    label = escape(f"{visible(job.name)}, {day:%a} {day}: {in_short(found, now)}")
    return (
        f'<td><button type="button" class="c {found.mark}" title="{label}" aria-label="{label}">{sign_of(found)}'
        f"</button>{_call(_asks_for(job, found), dashboard, display='popup')}</td>"
    )


def _asks_for(job: JobCalendar, day: Day) -> dict[str, Any]:
    asked: dict[str, Any] = {"job": job.name, "periods": [row.period for row in day.rows[:MOST_PERIODS]]}
    return asked if day.overdue is None else asked | {"overdue": period_of(day.overdue)}


def _call(parameters: Mapping[str, Any], dashboard: Dashboard, *, display: str) -> str:
    """The call that a press on the element before this one makes. No character of the JSON means anything to HTML."""
    given = json.dumps(parameters).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    endpoint = escape(dashboard.endpoint)
    return f'<cwdb-action action="call" display="{display}" endpoint="{endpoint}">{given}</cwdb-action>'
