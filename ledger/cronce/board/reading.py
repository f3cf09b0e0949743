"""Reads the rows of a board."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import islice
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronce.board.calendar import Board, JobCalendar, Row, date_of, dates_until, days_of
from cronce.client.at_once import at_once
from cronce.client.leadership import LEADER
from cronce.client.ledger import Ledger
from cronce.operate.diagnosis import schedule_in_words
from cronce.operate.look_up import UNKNOWN, About
from cronce.operate.overview import overview
from cronce.operate.wording import pause_in_words, visible
from cronce.vocabulary.errors import RecordUnreadableError

if TYPE_CHECKING:
    from cronce.ecs import JobDefinition

MOST_ROWS = 2_000
"""How many rows of a job are read: 22 runs on each of 90 days."""

_A_DAY = timedelta(days=1)


def read_board(
    ledger: Ledger,
    jobs: Sequence[tuple[str, JobDefinition | None]],
    *,
    days: int,
    now: datetime,
    most_rows: int = MOST_ROWS,
    policies_known: bool = True,
    done: Callable[[], object] = lambda: None,
) -> Board:
    """The board of the jobs: per job one request per hundred rows, and one for its slot.

    A job without a schedule and without a run in these days is left out.

    Args:
        ledger: Where the rows are.
        jobs: Name and definition of each.
        days: How many days the calendar has.
        now: Aware; its date in UTC is the last one, unless a job of these is already a day ahead.
        most_rows: How many rows of a job are read.
        policies_known: False if the policies of the definitions are not those of the jobs.
        done: Called after each job.

    Raises:
        LedgerUnavailableError: The store did not answer.
    """
    ahead = [now.astimezone(_zone_of(definition)).date() for _, definition in jobs]
    dates = dates_until(max([now.astimezone(UTC).date(), *ahead]), days)

    def read(job: tuple[str, JobDefinition | None]) -> JobCalendar:
        calendar = _read_job(ledger, *job, dates=dates, now=now, most_rows=most_rows, policies_known=policies_known)
        done()
        return calendar

    calendars = at_once(read, jobs)
    shown = [each for each, (_, definition) in zip(calendars, jobs, strict=True) if each.days or definition]
    return Board(where=ledger.where, now=now, dates=dates, jobs=shown)


def _read_job(
    ledger: Ledger,
    name: str,
    definition: JobDefinition | None,
    *,
    dates: Sequence[date],
    now: datetime,
    most_rows: int,
    policies_known: bool,
) -> JobCalendar:
    zone = _zone_of(definition)
    rows: list[Row] = []
    all_read = True
    for row in islice(ledger.rows(name), most_rows + 1):
        if date_of(row, now, zone) < dates[0] - _A_DAY:  # periods of several forms are not in the order of their dates
            break
        if len(rows) == most_rows:
            all_read = False
            break
        rows.append(row)
    try:
        pause, problem = ledger.pause_of(name), None
    except RecordUnreadableError as error:
        pause, problem = None, error.problem
    seen = overview(rows, pause=pause, definition=definition, now=now)
    if pause is not None:
        remark = pause_in_words(pause, now=now)
    elif problem is not None:
        remark = f"its slot cannot be read: {visible(problem)}"
    else:
        remark = _off(definition)
    return JobCalendar(
        name=name,
        days=days_of(
            [row for row in rows if row.period != LEADER], dates, now=now, zone=zone, overdue=seen.overdue_since
        ),
        schedule="" if definition is None else schedule_in_words(definition),
        remark=remark,
        next_at=seen.next_at,
        unread_before=None if all_read else date_of(rows[-1], now, zone) + _A_DAY,
        about=UNKNOWN if definition is None else about_job(definition, policy_known=policies_known),
    )


def about_job(definition: JobDefinition, *, policy_known: bool = True) -> About:
    """What is known about the job of a run."""
    return About(policy=definition.policy if policy_known else None, enabled=definition.enabled)


def _off(definition: JobDefinition | None) -> str:
    if definition is None or (definition.enabled and not definition.policy.suspend):
        return ""
    return "suspended" if definition.enabled else "disabled"


def _zone_of(definition: JobDefinition | None) -> tzinfo:
    if definition is None or definition.timezone == "UTC":
        return UTC
    try:
        return ZoneInfo(definition.date_in or definition.timezone)
    except (ZoneInfoNotFoundError, ValueError):
        return UTC
