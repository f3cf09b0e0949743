"""What a row is about beyond its own attributes: its kind, and the job as its schedule defines it now."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from cronce.client.leadership import LEADER
from cronce.client.ledger import Ledger
from cronce.vocabulary.errors import CronceError, InputInvalidError, RecordUnreadableError
from cronce.vocabulary.policy import Policy

if TYPE_CHECKING:
    from cronce.ecs import Launcher
    from cronce.protocol.records import RunRecord

OWN_JOBS = "cronce:"
"""The job names of cronce's own rows begin with this; the watchdog writes them."""

_SEPARATOR = ":"
"""Separates a clock's name from a job's; `cronce.clock.config` has the same."""

WATCHDOG_SILENT = timedelta(minutes=10)
"""The watchdog looks every minute; after this time without a look it counts as silent."""


class RowKind(StrEnum):
    """What a row in the ledger is about."""

    RUN = "run"
    """One run of a job."""
    LEADER = "leader"
    """Who leads under a name: the row of `cronce clock`, `cronce pin` or `Leadership`."""
    WATCHDOG = "watchdog"
    """What the watchdog remembers between two looks."""
    DISPATCH = "dispatch"
    """One tick that a `cronce clock` sends to its target."""

    @property
    def is_started_by_people(self) -> bool:
        """True if `cronce rerun` or `cronce exec` may start it."""
        return self is RowKind.RUN


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What is known about a row.

    Attributes:
        kind: What the row is about.
        policy: The current policy of the job; None if its schedule is unknown or cannot be read.
        enabled: False if the schedule of the job is disabled.
        has_schedule: False if it is known that no schedule starts the job.
        next_task_at: When a task for the run starts that a machine has arranged; None if none is known.
    """

    kind: RowKind = RowKind.RUN
    policy: Policy | None = None
    enabled: bool = True
    has_schedule: bool = True
    next_task_at: datetime | None = None


UNKNOWN = About()
"""A run about whose job nothing else is known."""


def kind_by_name(job: str, period: str) -> RowKind:
    """The kind of the row as far as its name says; a dispatch looks like a run."""
    if job.startswith(OWN_JOBS):
        return RowKind.WATCHDOG
    return RowKind.LEADER if period == LEADER else RowKind.RUN


def kind_of_row(ledger: Ledger, job: str, period: str) -> RowKind:
    """The kind of the row; it reads the leader's row if the job may be one of a clock.

    Raises:
        LedgerUnavailableError: The store did not answer.
    """
    kind = kind_by_name(job, period)
    clock, separator, _ = job.partition(_SEPARATOR)
    if kind is RowKind.RUN and separator and clock.strip():
        with suppress(InputInvalidError):
            try:
                is_clock = ledger.run(clock, LEADER) is not None
            except RecordUnreadableError:
                is_clock = True
            return RowKind.DISPATCH if is_clock else kind
    return kind


def looked_at(row: RunRecord | None) -> datetime | None:
    """When the watchdog whose row that is last looked; None if it never did."""
    return None if row is None else (row.finished_at or row.heartbeat_at or row.claimed_at)


def look_up(ledger: Ledger, launcher: Launcher | None, job: str, period: str) -> About:
    """What is known about the row. A schedule that cannot be read counts as unknown.

    Args:
        ledger: Where the row is.
        launcher: Reads the job's schedule; None if there is no schedule group.
        job: The job of the row.
        period: The period of the row.

    Raises:
        LedgerUnavailableError: The store did not answer.
    """
    kind = kind_of_row(ledger, job, period)
    if launcher is None or not kind.is_started_by_people:
        return About(kind=kind, has_schedule=False)
    from cronce.ecs import JobUnknownError  # noqa: PLC0415  # only what is used is loaded

    try:
        definition = launcher.find(job)
    except JobUnknownError:
        return About(kind=kind, has_schedule=False)
    except CronceError:
        return About(kind=kind)
    waiting: list[datetime] = []
    with suppress(CronceError):
        waiting = [task.starts_at for task in launcher.waiting(job) if task.period == period]
    return About(
        kind=kind, policy=definition.policy, enabled=definition.enabled, next_task_at=waiting[0] if waiting else None
    )
