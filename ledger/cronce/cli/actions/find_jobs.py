"""The jobs that a schedule group or a ledger knows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from cronce.client.at_once import AT_ONCE
from cronce.client.ledger import Ledger
from cronce.operate.look_up import OWN_JOBS

if TYPE_CHECKING:
    from cronce.ecs import JobDefinition, Launcher


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownJob:
    """A job with a schedule, with runs, or with both.

    Attributes:
        definition: The job as its schedule defines it; None for a job that is only known from its runs.
    """

    name: str
    definition: JobDefinition | None = None

    @property
    def state(self) -> str:
        """`enabled`, `disabled`, `suspended` or `unscheduled`; stable, for scripts."""
        if self.definition is None:
            return "unscheduled"
        if not self.definition.enabled:
            return "disabled"
        return "suspended" if self.definition.policy.suspend else "enabled"


def find_jobs(
    ledger: Ledger, launcher: Launcher | None, *, done: Callable[[], object] = lambda: None
) -> list[KnownJob]:
    """The jobs in the order of their names, without cronce's own rows.

    A ledger in DynamoDB adds none: only a scan of the whole table would find its jobs.

    Args:
        ledger: The runs.
        launcher: Reads the schedules; None if there is no schedule group.
        done: Called after each schedule that was read.

    Raises:
        LedgerUnavailableError: The store did not answer.
        CallUnavailableError: EventBridge Scheduler did not answer.
        CallRefusedError: The group does not exist, or may not be read.
    """
    jobs = {name: KnownJob(name=name) for name in ledger.jobs() or () if not name.startswith(OWN_JOBS)}
    for definition in launcher.jobs(at_once=AT_ONCE, done=done) if launcher else ():
        jobs[definition.job] = KnownJob(name=definition.job, definition=definition)
    return [jobs[name] for name in sorted(jobs)]


def nearest(name: str, jobs: Iterable[KnownJob]) -> str | None:
    """The job that a person may mean by that name."""
    by_folded = {job.name.casefold(): job.name for job in jobs}
    if near := get_close_matches(name.casefold(), by_folded, n=1):
        return by_folded[near[0]]
    return next((job for folded, job in by_folded.items() if folded.startswith(name.casefold())), None)
