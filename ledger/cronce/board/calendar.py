"""The rows of jobs as a calendar: one day per job and date, each with a mark. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from enum import StrEnum

from cronce.operate.look_up import UNKNOWN, About
from cronce.protocol.records import Liveness, RunRecord, UnreadableRow
from cronce.vocabulary.names import scheduled_time_of
from cronce.vocabulary.states import Status

Row = RunRecord | UnreadableRow


class Mark(StrEnum):
    """How a day of a job looks on the calendar. The worst state of a day comes first, and is its mark."""

    OVERDUE = "overdue"
    """A tick was due and has no row."""
    LOST = "lost"
    """RUNNING, but its owner is dead or unknown."""
    FAILED = "failed"
    MISSED = "missed"
    UNREADABLE = "unreadable"
    RUNNING = "running"
    SKIPPED = "skipped"
    SUCCEEDED = "succeeded"

    @property
    def is_bad(self) -> bool:
        """True if a person should look at it."""
        return self not in (Mark.RUNNING, Mark.SKIPPED, Mark.SUCCEEDED)


_MARK_OF_STATUS = {
    Status.SUCCEEDED: Mark.SUCCEEDED,
    Status.FAILED: Mark.FAILED,
    Status.SKIPPED: Mark.SKIPPED,
    Status.MISSED: Mark.MISSED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """What a job did on a day.

    Attributes:
        rows: Its runs, newest first.
        overdue: The tick of this day that was due and has no row.
    """

    date: date
    rows: tuple[Row, ...]
    overdue: datetime | None
    mark: Mark


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCalendar:
    """A job and its days.

    Attributes:
        schedule: When it is due, in words; empty if nothing is known.
        remark: That it is paused, disabled or suspended; empty if it is none of these.
        next_at: Its next tick, if one is known.
        unread_before: Days before this one may have had more runs than were read; None if all were read.
        about: What is known about the job, for the text about its runs.
    """

    name: str
    days: Mapping[date, Day]
    schedule: str = ""
    remark: str = ""
    next_at: datetime | None = None
    unread_before: date | None = None
    about: About = UNKNOWN

    @property
    def newest(self) -> Day | None:
        """Its newest day with a run or an overdue tick."""
        return self.days[max(self.days)] if self.days else None

    @property
    def needs_a_look(self) -> bool:
        """True if the newest thing that is known of it is bad."""
        return self.newest is not None and self.newest.mark.is_bad


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """All that a page shows.

    Attributes:
        where: The ledger, for people.
        now: When its rows were read.
        dates: The dates of the calendar, oldest first, without a gap.
        jobs: In the order of the page.
    """

    where: str
    now: datetime
    dates: Sequence[date]
    jobs: Sequence[JobCalendar]


def dates_until(today: date, count: int) -> list[date]:
    """`count` dates, the last one `today`."""
    return [today - timedelta(days=back) for back in reversed(range(count))]


def days_of(
    rows: Iterable[Row], dates: Sequence[date], *, now: datetime, zone: tzinfo = UTC, overdue: datetime | None = None
) -> dict[date, Day]:
    """The days of a job that have a run or an overdue tick.

    Args:
        rows: Its runs, newest first.
        dates: The dates of the calendar; anything else is left out.
        now: Aware.
        zone: The time zone of the job's schedule, whose dates these are.
        overdue: The tick that was due and has no row.
    """
    by_date: dict[date, list[Row]] = defaultdict(list)
    for row in rows:
        by_date[date_of(row, now, zone)].append(row)
    late_on = None if overdue is None else overdue.astimezone(zone).date()
    days = {}
    for each in dates:
        of_day = by_date.get(each, [])
        late = overdue if each == late_on else None
        if of_day or late:
            marks = {mark_of(row, now) for row in of_day} | ({Mark.OVERDUE} if late else set())
            worst = min(marks, key=list(Mark).index)
            days[each] = Day(date=each, rows=tuple(of_day), overdue=late, mark=worst)
    return days


def date_of(row: Row, now: datetime, zone: tzinfo) -> date:
    """The date that its period is, else that of its nominal time, else that of its start; today if it has none."""
    with suppress(ValueError):
        if len(row.period) == len("2026-11-29"):
            return date.fromisoformat(row.period)
    at = scheduled_time_of(row.period)
    if at is None and isinstance(row, RunRecord):
        at = row.scheduled_at or row.claimed_at or row.finished_at
    try:
        return (at or now).astimezone(zone).date()
    except OverflowError:  # a foreign writer's time on the last day of the calendar
        return (at or now).date()


def mark_of(row: Row, now: datetime) -> Mark:
    """How the row looks on the calendar."""
    if isinstance(row, UnreadableRow):
        return Mark.UNREADABLE
    if row.status is Status.RUNNING:
        return Mark.RUNNING if row.liveness(now) is Liveness.ALIVE else Mark.LOST
    return _MARK_OF_STATUS[row.status]


def took(run: RunRecord, now: datetime) -> timedelta | None:
    """How long the attempt took, or takes so far; None if no work began."""
    if run.attempt == 0 or run.claimed_at is None or run.status in (Status.SKIPPED, Status.MISSED):
        return None
    return (run.finished_at or now) - run.claimed_at
