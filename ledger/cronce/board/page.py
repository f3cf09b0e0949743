"""A board as one HTML page that needs nothing else. Pure.

Every text of the ledger goes through `fragments.text`. The page has a policy
that admits its own style and script by their hashes and nothing else.
"""

from __future__ import annotations

from base64 import b64encode
from datetime import date, datetime
from hashlib import sha256
from html import escape
from string import Template

from cronce.board.calendar import Board, JobCalendar
from cronce.board.fragments import (
    SIGNS,
    about,
    day_section,
    empty_cell,
    file,
    head,
    in_short,
    legend,
    months,
    need_a_look,
    sign_of,
    text,
)
from cronce.operate.wording import count


def page(board: Board, *, ledger: str | None = None) -> str:
    """The page.

    Args:
        board: What it shows.
        ledger: The URL to repeat in the commands on the page; None if the environment has it.
    """
    return Template(file("page.html")).substitute(
        policy=content_policy(),
        style=_style(),
        script=file("board.js"),
        where=text(board.where),
        read_at=f"{board.now:%Y-%m-%d %H:%M:%S} UTC",
        days=len(board.dates),
        summary=_summary(board),
        legend=legend(),
        months="".join(months(board.dates)),
        head="".join(head(day) for day in board.dates),
        jobs="\n".join(_job(job, board, ledger) for job in board.jobs),
    )


def content_policy() -> str:
    """The Content Security Policy of the page: its own style and script, and nothing else."""
    hashes = [b64encode(sha256(each.encode()).digest()).decode() for each in (_style(), file("board.js"))]
    return (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}';"
        " base-uri 'none'; form-action 'none'"
    )


def _summary(board: Board) -> str:
    """How many jobs there are, and a link to the newest day of each that needs a look."""
    bad = [(job, job.newest) for job in board.jobs if job.needs_a_look]
    numbers = f"{count(len(board.jobs), 'job')}; {need_a_look(len(bad))}"
    if not bad:
        return f"<p>{numbers}.</p>"
    links = [
        f'<li><button data-job="{text(job.name)}" data-day="{day.date}"><span class="c {day.mark}">{SIGNS[day.mark]}'
        f"</span> {text(job.name)} <small>{day.mark}</small></button></li>"
        for job, day in bad
        if day is not None
    ]
    return f"<p>{numbers}:</p><ul>{''.join(links)}</ul>"


def _job(job: JobCalendar, board: Board, ledger: str | None) -> str:
    cells = "".join(_cell(job, day, board.now) for day in board.dates)
    days = "".join(day_section(job, job.days[day], board.now, ledger) for day in board.dates if day in job.days)
    look = " data-look" if job.needs_a_look else ""
    return (
        f'<tr data-job="{text(job.name)}"{look}><th scope="row">{about(job, board.now)}'
        f"<template>{days}</template></th>{cells}</tr>"
    )


def _cell(job: JobCalendar, day: date, now: datetime) -> str:
    found = job.days.get(day)
    if found is None:
        return empty_cell(job, day)
    label = escape(f"{day:%a} {day}: {in_short(found, now)}")
    return f'<td><button class="c {found.mark}" tabindex="-1" aria-label="{label}">{sign_of(found)}</button></td>'


def _style() -> str:
    return file("runs.css") + file("board.css")
