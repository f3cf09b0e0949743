"""Whether a person may start a run: the ledger's rows and the job's definition, as they are now."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from cronce.client.ledger import Ledger
from cronce.protocol.by_person import MayNotStart, MayStart, decide_for_person
from cronce.protocol.records import RunRecord
from cronce.vocabulary.errors import LedgerUnavailableError
from cronce.vocabulary.names import RunName
from cronce.vocabulary.policy import ConcurrencyPolicy, Policy
from cronce.vocabulary.states import Status


class StartableJob(Protocol):
    """What a person's start needs of a job; `JobDefinition` is one."""

    @property
    def job(self) -> str:
        """Its name."""

    @property
    def policy(self) -> Policy:
        """The policy with which its work claims."""

    def tick_of(self, period: str) -> datetime | None:
        """The nominal time to which the period belongs; None if there is none."""


def person_may_start(
    ledger: Ledger, job: StartableJob, period: str, *, force: bool, now: datetime
) -> MayStart | MayNotStart:
    """Whether a person's task for the period would get its claim now.

    Raises:
        RecordUnreadableError: The row of the run, or the job's slot, cannot be read.
        LedgerUnavailableError: The ledger did not answer.
        InputInvalidError: The schedule's expression cannot be parsed.
    """
    run = ledger.run(job.job, period)
    free = job.policy.concurrency_policy is ConcurrencyPolicy.ALLOW
    holder = None if free else ledger.holder(job.job) or _holder_of_group(ledger, job.policy.exclusion_group)
    name = RunName.of(job.job, period, nominal_time(job, run, period))
    return decide_for_person(run, holder, name, policy=job.policy, force=force, now=now)


def _holder_of_group(ledger: Ledger, group: str | None) -> RunRecord | None:
    """The live run that holds the group; None also if its job may not be read. Then the claim of the task decides."""
    if group is None:
        return None
    try:
        run = ledger.holder_of_group(group)
    except LedgerUnavailableError:
        return None
    return run if run is not None and run.status is Status.RUNNING else None


def nominal_time(job: StartableJob, run: RunRecord | None, period: str) -> datetime | None:
    """The nominal time of the run, from its row or from the schedule; None if it has none."""
    return (run.scheduled_at if run else None) or job.tick_of(period)
