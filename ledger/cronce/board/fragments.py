"""The parts of HTML that the page and the widget share. Pure.

Every text of the ledger goes through `text`, which shows control characters and escapes HTML.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from functools import cache
from html import escape
from importlib.resources import files
from itertools import groupby

from cronce.board.calendar import Day, JobCalendar, Mark, Row, mark_of, took
from cronce.operate.advice import Commands, advise, deserves_a_look
from cronce.operate.wording import age, count, length, moment, short_owner, visible, visible_lines, why_ended
from cronce.protocol.records import RunRecord, UnreadableRow
from cronce.vocabulary.payloads import shortened

MOST_RUNS_OF_A_DAY = 50
"""How many runs of a day the page describes."""

_MOST_BYTES = 2000

SIGNS = {
    Mark.SUCCEEDED: "·",
    Mark.RUNNING: "▸",
    Mark.FAILED: "F",
    Mark.LOST: "L",
    Mark.MISSED: "M",
    Mark.OVERDUE: "!",
    Mark.SKIPPED: "–",  # noqa: RUF001  # a dash, not a minus
    Mark.UNREADABLE: "?",
}
"""The sign of each mark, so that no colour is needed. A day whose one run needed more attempts has their number."""


@cache
def file(name: str) -> str:
    """The text of a file of this package."""
    return files("cronce.board").joinpath(name).read_text(encoding="utf-8")


def text(value: str) -> str:
    """The value as HTML text, or as the value of an attribute in double quotes."""
    return escape(visible(value))


def months(dates: Sequence[date]) -> Iterator[str]:
    """The first row of the calendar's head."""
    for _, days in groupby(dates, key=lambda day: (day.year, day.month)):
        of_month = list(days)
        name = f"{of_month[0]:%B %Y}" if len(of_month) > 9 else f"{of_month[0]:%b}"
        yield f'<th scope="colgroup" colspan="{len(of_month)}"><span>{name}</span></th>'


def head(day: date) -> str:
    """A cell of the second row of the calendar's head."""
    kind = ' class="monday"' if day.isoweekday() == 1 else ""
    return f'<th scope="col"{kind} aria-label="{day:%a} {day}">{day.day}</th>'


def legend() -> str:
    """The items of the list that says what each sign means."""
    return "".join(f'<li><span class="c {mark}">{SIGNS[mark]}</span> {mark}</li>' for mark in reversed(Mark))


def need_a_look(jobs: int) -> str:
    """How many jobs need a look, in words."""
    match jobs:
        case 0:
            return "none needs a look"
        case 1:
            return "1 needs a look"
        case _:
            return f"{jobs} need a look"


def empty_cell(job: JobCalendar, day: date) -> str:
    """The cell of a day that has no run, or whose runs were not read."""
    return '<td class="unread"></td>' if job.unread_before and day < job.unread_before else "<td></td>"


def in_short(day: Day, now: datetime) -> str:
    """What a pointer at the day shows: state, attempts, duration, cause."""
    parts = [f"overdue, was due {age(day.overdue, now=now)}"] if day.overdue else []
    match day.rows:
        case (RunRecord() as run,):
            time = took(run, now)
            many = count(run.attempt, "attempt") if run.attempt else ""
            lasted = (
                f"{'for' if mark_of(run, now) is Mark.RUNNING else 'took'} {length(time)}" if time is not None else ""
            )
            why = why_ended(run.reason, run.exit_code, run.error)
            parts += [part for part in (mark_of(run, now), many, lasted, why) if part]
        case (UnreadableRow() as row,):
            parts += [f"unreadable: {visible(row.problem)}"]
        case ():
            pass
        case rows:
            counts = Counter(mark_of(row, now) for row in rows)
            parts += [f"{len(rows)} runs", *(f"{counts[mark]} {mark}" for mark in Mark if counts[mark])]
    return ", ".join(parts)


def sign_of(day: Day) -> str:
    """The sign of the day's mark; the number of attempts if its one run needed more than one to succeed."""
    match day.rows:
        case (RunRecord(attempt=attempt),) if day.mark is Mark.SUCCEEDED and attempt > 1:
            return str(attempt) if attempt < 10 else "+"
    return SIGNS[day.mark]


def about(job: JobCalendar, now: datetime) -> str:
    """The name of the job, its schedule and its remark."""
    soon = f"next {age(job.next_at, now=now)}" if job.next_at else ""
    facts = " · ".join(part for part in (text(job.schedule), soon) if part)
    remark = f'<span class="remark">{text(job.remark)}</span>' if job.remark else ""
    return f'<span class="job">{text(job.name)}</span><span class="about">{facts}</span>{remark}'


def day_section(job: JobCalendar, day: Day, now: datetime, ledger: str | None) -> str:
    """What there is to say about a day of a job: its runs, each with its history."""
    late = "" if day.overdue is None else overdue(day.overdue, now)
    runs = "".join(run_article(job, row, now, ledger) for row in day.rows[:MOST_RUNS_OF_A_DAY])
    more = len(day.rows) - MOST_RUNS_OF_A_DAY
    rest = ""
    if more > 0:
        rest = f"<p>{more} earlier runs of this day are not on the page.</p>" + _command(
            _commands(job, "", ledger).runs()
        )
    return f'<section data-day="{day.date}">{late}{runs}{rest}</section>'


def overdue(due: datetime, now: datetime) -> str:
    """A sentence about a tick that was due and has no row."""
    return f"<p><b>Overdue.</b> A tick was due {moment(due, now=now, zone=now.tzinfo)}, and has no row.</p>"


def run_article(job: JobCalendar, row: Row, now: datetime, ledger: str | None) -> str:
    """What there is to say about a run: its facts, its attempts, what it means and what to do."""
    mark = mark_of(row, now)
    title = f'<h3><span class="c {mark}">{SIGNS[mark]}</span> {text(row.period)} <small>{mark}</small></h3>'
    if isinstance(row, UnreadableRow):
        return f"<article>{title}<p>{text(row.problem)}</p></article>"
    commands = _commands(job, row.period, ledger)
    if deserves_a_look(row, now):
        advice = advise(row, now, commands, job.about)
        said = f"<p>{text(advice.meaning)}</p>"
        steps = "".join(f"<p>{text(step.text)}</p>{_command(step.command)}" for step in advice.steps)
        look = f"<p>To have it explained, with the evidence:</p>{_command(commands.why())}"
    else:
        said, steps = "", ""
        look = f"<p>To see it on a terminal:</p>{_command(commands.show())}"
    facts = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in _facts(row, now) if value)
    return f"<article>{title}{said}<dl>{facts}</dl>{_attempts(row)}{steps}{look}</article>"


def _commands(job: JobCalendar, period: str, ledger: str | None) -> Commands:
    return Commands(job.name, period, ledger=ledger, has_schedules=bool(job.schedule))


def _command(command: str | None) -> str:
    return f"<pre><code>{text(command)}</code></pre>" if command else ""


def _facts(run: RunRecord, now: datetime) -> Iterable[tuple[str, str]]:
    time = took(run, now)
    yield "attempt", f"{run.attempt}, trigger {text(run.trigger)}" if run.attempt else ""
    yield "owner", text(run.owner) if run.attempt else ""
    yield "scheduled", _when(run.scheduled_at)
    yield "started", _when(run.claimed_at) if time is not None else ""
    yield "finished", _when(run.finished_at)
    yield "took", "" if time is None else length(time)
    yield "why", escape(why_ended(run.reason, run.exit_code, None))
    yield "blocked by", text(run.blocker or "")
    yield "stop asked", text(run.cancel_requested or "")
    yield "by", text(run.actor or "")
    yield "note", text(run.note or "")
    for name, payload in (("error", run.error), ("checkpoint", run.checkpoint), ("result", run.result)):
        yield name, "" if payload is None else f"<pre>{escape(visible_lines(shortened(payload, _MOST_BYTES)))}</pre>"


def _attempts(run: RunRecord) -> str:
    """The earlier attempts, newest first."""
    if not run.attempts:
        return ""
    lines = []
    for past in reversed(run.attempts):
        lasted = length(past.finished_at - past.claimed_at) if past.finished_at and past.claimed_at else ""
        began = "" if past.claimed_at is None else f"{past.claimed_at:%m-%d %H:%M:%S}"
        why = why_ended(past.reason, past.exit_code, past.error)
        cells = (str(past.attempt), text(past.status), began, lasted, escape(why), escape(short_owner(past.owner)))
        lines.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    names = ("try", "status", "started", "took", "why", "owner")
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    return f"<table><caption>Earlier attempts</caption><tr>{head}</tr>{''.join(lines)}</table>"


def _when(at: datetime | None) -> str:
    return "" if at is None else f"{at:%Y-%m-%d %H:%M:%S} UTC"
