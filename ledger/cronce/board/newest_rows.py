"""Reads the newest row of each of many jobs, so that the jobs that need a look come first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from cronce.board.calendar import Mark, mark_of
from cronce.client.at_once import at_once
from cronce.client.ledger import Ledger
from cronce.operate.overview import overview

if TYPE_CHECKING:
    from cronce.ecs import JobDefinition


@dataclass(frozen=True, slots=True, kw_only=True)
class Newest:
    """What the newest row of a job says.

    Attributes:
        mark: Its mark, or that of an overdue tick; None if it has no row, or was not read.
        was_read: False if there was no time left to read it.
    """

    name: str
    definition: JobDefinition | None
    mark: Mark | None = None
    was_read: bool = True

    @property
    def needs_a_look(self) -> bool:
        """True if the newest thing that is known of it is bad."""
        return self.mark is not None and self.mark.is_bad


def newest_rows(
    ledger: Ledger,
    jobs: Sequence[tuple[str, JobDefinition | None]],
    *,
    now: datetime,
    is_late: Callable[[], bool],
) -> list[Newest]:
    """What the newest row of each job says, in one request per job. Jobs that need a look come first.

    Args:
        ledger: Where the rows are.
        jobs: Name and definition of each.
        now: Aware.
        is_late: True when there is no time left to read more jobs.

    Raises:
        LedgerUnavailableError: The store did not answer.
    """

    def look(job: tuple[str, JobDefinition | None]) -> Newest:
        name, definition = job
        if is_late():
            return Newest(name=name, definition=definition, was_read=False)
        seen = overview(ledger.page(name, limit=1).rows, pause=None, definition=definition, now=now)
        newest = None if seen.newest is None else mark_of(seen.newest, now)
        return Newest(name=name, definition=definition, mark=Mark.OVERDUE if seen.overdue_since else newest)

    return sorted(at_once(look, jobs), key=lambda each: (not each.needs_a_look, not each.was_read, each.name))
