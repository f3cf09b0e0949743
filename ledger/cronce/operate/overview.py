"""How a job is doing: its newest run, its next tick, what is overdue, how often it succeeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from cronce.client.at_once import at_once
from cronce.client.leadership import LEADER
from cronce.client.ledger import Ledger
from cronce.protocol.records import Pause, RunRecord, UnreadableRow
from cronce.schedule import ScheduleInvalidError
from cronce.vocabulary.errors import RecordUnreadableError
from cronce.vocabulary.states import Status

if TYPE_CHECKING:
    from cronce.ecs import JobDefinition

_COUNTED = (Status.SUCCEEDED, Status.FAILED, Status.MISSED)
"""What counts for the success rate: a skipped run was not wanted, and a running one has no outcome yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """How a job is doing now, from its newest rows and its schedule.

    Attributes:
        pause: The pause in force; None if machines may start its runs.
        newest: Its newest row; None if it has none.
        next_at: The next tick that its schedule delivers; None if none is known.
        overdue_since: The nominal time of the newest tick that was due and has no row; None if it has one.
        late_by: How long after its nominal time the newest run that started was claimed.
        ended: How many of the rows are of runs that succeeded, failed or were missed.
        succeeded: How many of those succeeded.
        succeeded_at: When the newest success among the rows ended.
        problem: Why its slot cannot be read; None if it can.
    """

    pause: Pause | None = None
    newest: RunRecord | UnreadableRow | None = None
    next_at: datetime | None = None
    overdue_since: datetime | None = None
    late_by: timedelta | None = None
    ended: int = 0
    succeeded: int = 0
    succeeded_at: datetime | None = None
    problem: str | None = None


def overview(
    rows: Sequence[RunRecord | UnreadableRow],
    *,
    pause: Pause | None,
    definition: JobDefinition | None,
    now: datetime,
    problem: str | None = None,
) -> Overview:
    """How the job is doing at `now`. Pure.

    Args:
        rows: Its newest rows, newest period first.
        pause: Its pause, if one is in force.
        definition: The job as its schedule defines it; None if it has no schedule.
        now: Aware.
        problem: Why its slot cannot be read.
    """
    runs = [row for row in rows if isinstance(row, RunRecord) and row.period != LEADER]
    counted = [run for run in runs if run.status in _COUNTED]
    successes = [run for run in counted if run.status is Status.SUCCEEDED]
    began = (run for run in runs if run.attempt and run.scheduled_at and run.claimed_at)
    next_at, due_at = _ticks_around(definition, now)
    if due_at is not None and definition is not None:
        is_wanted = pause is None and not definition.policy.suspend
        period = definition.period_of(due_at)
        if not is_wanted or any(row.period == period for row in rows):
            due_at = None
    first = next(began, None)
    return Overview(
        pause=pause,
        newest=rows[0] if rows else None,
        next_at=next_at,
        overdue_since=due_at,
        # An earlier attempt of the run may have started in time.
        late_by=_lateness(first) if first else None,
        ended=len(counted),
        succeeded=len(successes),
        succeeded_at=successes[0].finished_at if successes else None,
        problem=problem,
    )


def look_at(
    ledger: Ledger,
    jobs: Sequence[tuple[str, JobDefinition | None]],
    *,
    last: int,
    now: datetime,
    done: Callable[[], object] = lambda: None,
) -> list[Overview]:
    """How each of the jobs is doing: one page of its rows and its slot, two requests per job.

    Args:
        ledger: Where the rows are.
        jobs: Name and definition of each.
        last: How many rows of each are read.
        now: Aware.
        done: Called after each job.

    Raises:
        LedgerUnavailableError: The store did not answer.
    """

    def look(job: tuple[str, JobDefinition | None]) -> Overview:
        name, definition = job
        page = ledger.page(name, limit=last)
        pause, problem = None, None
        try:
            pause = ledger.pause_of(name)
        except RecordUnreadableError as error:
            problem = error.problem
        done()
        return overview(page.rows, pause=pause, definition=definition, now=now, problem=problem)

    return at_once(look, jobs)


def _ticks_around(definition: JobDefinition | None, now: datetime) -> tuple[datetime | None, datetime | None]:
    """The next tick that is delivered, and the newest that was due; each None if it is unknown."""
    if (
        definition is None
        or not definition.enabled
        or not definition.ticks_are_known
        or definition.only_people_start_it
    ):
        return None, None
    try:
        following, due = definition.schedule.next(now), definition.schedule.previous(now - definition.flexible_window)
    except ScheduleInvalidError:  # a newer cronce may read it
        return None, None
    end = definition.end
    if following is not None and end is not None and following >= end:
        following = None
    if due is not None and (due < definition.created_at or (end is not None and due >= end)):
        due = None
    return following, due if definition.delivers_ticks else None


def _lateness(run: RunRecord) -> timedelta | None:
    starts = [past.claimed_at for past in run.attempts if past.claimed_at]
    first = min([*starts, run.claimed_at] if run.claimed_at else starts, default=None)
    return None if first is None or run.scheduled_at is None else max(first - run.scheduled_at, timedelta(0))
