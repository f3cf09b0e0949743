"""Settle runs whose owner died: their lease has expired, and no event of ECS came."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cronce import ConcurrencyPolicy, Ledger, Reason, RecordUnreadableError, Status, Trigger
from cronce.client.reporting import report
from cronce.ecs import CallRefusedError, JobDefinition
from cronce.protocol.records import Liveness, RunRecord
from cronce.protocol.retrying import Leave, after_attempt
from cronce.protocol.transitions import Event
from cronce_lambdas.next_task import Launches
from cronce_lambdas.readable_rows import Rows

NEWEST = 20
"""How many of a job's newest runs are read when no row names the one of interest."""

_SOON_ENOUGH, _TOO_LATE = timedelta(minutes=5), timedelta(hours=1)
"""When a settled run that nobody reported counts as forgotten: the recorder has had its time, and it is news still."""

_NOW_AND_THEN = timedelta(minutes=10)


@dataclass(frozen=True, kw_only=True)
class LostRuns:
    """Finds and settles lost runs in one look.

    Attributes:
        now: When the look began.
        now_and_then: True in one look every ten minutes.
        found: Counts of what the look found.
    """

    ledger: Ledger
    rows: Rows
    launches: Launches
    now: datetime
    now_and_then: bool
    found: Counter[str]

    def settle(self, job: JobDefinition) -> bool:
        """Settle the job's lost runs; True if a run of the job is alive, or may be."""
        newest, holder, sure = self._look_at(job.job, job.policy.concurrency_policy)
        for run in newest.values():
            self._hand_over_if_forgotten(job, run)
        running = [run for run in (newest | holder).values() if run.status is Status.RUNNING]
        alive = [run for run in running if not self._settle_if_lost(job, run)]
        return bool(alive) or not sure

    def settle_without_definition(self, job: str) -> None:
        """Settle lost runs of a job whose schedule is gone. No machine starts them again."""
        if not self.now_and_then:
            return
        newest, holder, _ = self._look_at(job, ConcurrencyPolicy.WAIT)
        for run in (newest | holder).values():
            if run.liveness(self.now) is Liveness.EXPIRED:
                self._mark(run, Leave("no schedule of the group runs its job"))

    def _look_at(self, job: str, policy: ConcurrencyPolicy) -> tuple[dict[str, RunRecord], dict[str, RunRecord], bool]:
        """The newest runs and the one that holds the slot, by period; False if an unreadable slot may hide one.

        The slot names the run that works. A run that waits is not in the slot, and `ALLOW` has no slot: then
        the newest runs are read too. Under `FORBID` a run is without the slot only for an instant, so runs
        that died in that instant are searched every ten minutes.
        """
        newest: dict[str, RunRecord] = {}
        if policy is not ConcurrencyPolicy.FORBID or self.now_and_then:
            newest = {run.period: run for run in self.rows.newest(job, limit=NEWEST)}
        if policy is ConcurrencyPolicy.ALLOW:
            return newest, {}, True
        try:
            holder = self.ledger.holder(job)
        except RecordUnreadableError as error:
            self.rows.report(error)
            return newest, {}, False
        return newest, {} if holder is None else {holder.period: holder}, True

    def _hand_over_if_forgotten(self, job: JobDefinition, run: RunRecord) -> None:
        """Report a run that only a person may start, if nobody has: whoever settled it died before that."""
        if run.finished_at is None or not _SOON_ENOUGH <= self.now - run.finished_at <= _TOO_LATE:
            return
        decision = after_attempt(run, policy=job.policy, enabled=job.enabled)
        if isinstance(decision, Leave) and decision.for_person:
            self.launches.leave_to_a_person(run, decision.why, job)

    def _settle_if_lost(self, job: JobDefinition, run: RunRecord) -> bool:
        """Mark the run if its lease has expired. Arrange its next task first: that can be repeated, the mark cannot."""
        if run.liveness(self.now) is not Liveness.EXPIRED:
            return False
        lost = run.after(Event.FAIL, reason=Reason.LEASE_LOST, finished_at=self.now, lease_until=None)
        decision = after_attempt(lost, policy=job.policy, enabled=job.enabled)
        if not isinstance(decision, Leave):
            try:
                self.launches.arrange(decision, run, job, trigger=Trigger.RETRY, now=self.now)
            except CallRefusedError as error:
                report("not_relaunched", level="ERROR", job=job.job, period=run.period, error=str(error))
                decision = Leave(str(error), for_person=True)
        marked = self._mark(run, decision if isinstance(decision, Leave) else None)
        if marked is None or marked.status is not Status.FAILED:
            return marked is None or marked.status is not Status.RUNNING
        if isinstance(decision, Leave) and decision.for_person:
            self.launches.leave_to_a_person(marked, decision.why, job)
        return True

    def _mark(self, run: RunRecord, left: Leave | None) -> RunRecord | None:
        marked = self.ledger.mark_lost(run.job, run.period)
        if marked is not None and marked.status is Status.FAILED:
            self.found["lost"] += 1
            report(
                "run_lost",
                level="ERROR",
                job=run.job,
                period=run.period,
                ledger=self.launches.name,
                owner=run.owner,
                attempt=run.attempt,
                why=left.why if left else None,
            )
        return marked


def is_now_and_then(looked_at: datetime | None, now: datetime) -> bool:
    """True for one look every ten minutes."""
    if looked_at is None:
        return True
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    return (looked_at - epoch) // _NOW_AND_THEN != (now - epoch) // _NOW_AND_THEN
