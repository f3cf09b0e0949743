"""What a person's start follows from: the ledger's rows and the job's definition, as they are now."""

from __future__ import annotations

from datetime import datetime

from cronce.client.ledger import Ledger
from cronce.ecs.definition import JobDefinition
from cronce.protocol.by_person import MayNotStart, MayStart, decide_for_person
from cronce.protocol.records import RunRecord
from cronce.vocabulary.names import RunName
from cronce.vocabulary.policy import ConcurrencyPolicy


def person_may_start(
    ledger: Ledger, job: JobDefinition, period: str, *, force: bool, now: datetime
) -> MayStart | MayNotStart:
    """Whether a person's task for the period would get its claim now.

    Raises:
        RecordUnreadableError: The row of the run, or the job's slot, cannot be read.
        LedgerUnavailableError: The ledger did not answer.
        InputInvalidError: The schedule's expression cannot be parsed.
    """
    run = ledger.run(job.job, period)
    free = job.policy.concurrency_policy is ConcurrencyPolicy.ALLOW
    holder = None if free else ledger.holder(job.job)
    name = RunName.of(job.job, period, nominal_time(job, run, period))
    return decide_for_person(run, holder, name, policy=job.policy, force=force, now=now)


def nominal_time(job: JobDefinition, run: RunRecord | None, period: str) -> datetime | None:
    """The nominal time of the run, from its row or from the schedule; None if it has none."""
    return (run.scheduled_at if run else None) or job.tick_of(period)
