"""Settle runs whose owner died: their lease has expired, and no event of ECS came."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from cronce.aws.errors import CallRefusedError
from cronce.client.at_once import AT_ONCE, at_once
from cronce.client.ledger import Ledger
from cronce.client.observer import Observer
from cronce.client.reporting import report
from cronce.protocol.records import Liveness, RunRecord
from cronce.protocol.retrying import Leave, Relaunch, after_attempt, launch_due
from cronce.protocol.transitions import Event
from cronce.vocabulary.errors import RecordUnreadableError
from cronce.vocabulary.policy import ConcurrencyPolicy
from cronce.vocabulary.states import Reason, Status, Trigger
from cronce.watch.jobs import WatchedJob
from cronce.watch.launches import AtWork, Launches
from cronce.watch.readable_rows import Rows

Seen = tuple[dict[str, RunRecord], dict[str, RunRecord], bool]
"""The newest runs of a job and the one that holds its slot, by period; False if an unreadable slot may hide one."""

NEWEST = 20
"""How many of a job's newest runs are read when no row names the one of interest."""

_SOON_ENOUGH, _TOO_LATE = timedelta(minutes=5), timedelta(hours=1)
"""How long after its end a run counts as forgotten if nobody has reported it: later than the recorder would report it,
and early enough to matter."""

_NOW_AND_THEN = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Active:
    """The runs of a job that are alive.

    Attributes:
        is_sure: False if an unreadable slot may hide one.
    """

    runs: tuple[RunRecord, ...]
    is_sure: bool

    @property
    def busy(self) -> bool:
        """True if a run of the job is alive, or may be."""
        return bool(self.runs) or not self.is_sure


@dataclass(frozen=True, kw_only=True)
class LostRuns:
    """Finds and settles lost runs in one look.

    Attributes:
        now: When the look began.
        looked_at: When the last look began.
        at_work: Knows the work that has not claimed yet.
        retries: True if failed runs are started again here, because no recorder does.
        found: Counts of what the look found.
        ahead: What `read_ahead` has read and `settle` has not used, by job.
    """

    ledger: Ledger
    rows: Rows
    launches: Launches
    at_work: AtWork
    now: datetime
    looked_at: datetime | None
    retries: bool
    found: Counter[str]
    ahead: dict[str, Seen] = field(default_factory=dict)

    @property
    def now_and_then(self) -> bool:
        """True in one look every ten minutes."""
        return is_now_and_then(self.looked_at, self.now)

    def read_ahead(self, jobs: Sequence[WatchedJob]) -> None:
        """Read what `settle` needs of these jobs, ten at a time: one by one, ten thousand jobs would take minutes.

        Raises:
            LedgerUnavailableError: The ledger did not answer.
        """
        if len(jobs) > AT_ONCE:
            found = at_once(lambda job: self._look_at(job.job, job.policy.concurrency_policy), jobs)
            self.ahead.update(zip((job.job for job in jobs), found, strict=True))

    def settle(self, job: WatchedJob) -> Active:
        """Settle the job's lost runs; return those that are alive."""
        seen = self.ahead.pop(job.job, None) or self._look_at(job.job, job.policy.concurrency_policy)
        newest, holder, sure = seen
        for run in newest.values():
            self._hand_over_if_forgotten(job, run)
        running = [run for run in (newest | holder).values() if run.status is Status.RUNNING]
        alive = [run for run in running if not self._settle_if_lost(job, run)]
        active = Active(runs=tuple(alive), is_sure=sure)
        if self.retries and (not active.busy or job.policy.concurrency_policy is ConcurrencyPolicy.ALLOW):
            for run in newest.values():
                self._retry(job, run)
        return active

    def settle_without_definition(self, job: str) -> None:
        """Settle lost runs of a job whose schedule is gone. No machine starts them again."""
        if not self.now_and_then:
            return
        newest, holder, _ = self._look_at(job, ConcurrencyPolicy.WAIT)
        for run in (newest | holder).values():
            if run.liveness(self.now) is Liveness.EXPIRED:
                self._mark(run, Leave("no schedule of the group runs its job"))

    def _look_at(self, job: str, policy: ConcurrencyPolicy) -> Seen:
        """The newest runs and the one that holds the slot, by period; False if an unreadable slot may hide one.

        The slot names the run that works. A run that waits is not in the slot, and `ALLOW` has no slot: then
        the newest runs are read too. Under `FORBID` a run is without the slot only for an instant, so runs
        that died in that instant are searched every ten minutes.
        """
        newest: dict[str, RunRecord] = {}
        if policy is not ConcurrencyPolicy.FORBID or self.now_and_then or self.retries:
            newest = {run.period: run for run in self.rows.newest(job, limit=NEWEST)}
        if policy is ConcurrencyPolicy.ALLOW:
            return newest, {}, True
        try:
            holder = self.ledger.holder(job)
        except RecordUnreadableError as error:
            self.rows.report(error)
            return newest, {}, False
        return newest, {} if holder is None else {holder.period: holder}, True

    def _hand_over_if_forgotten(self, job: WatchedJob, run: RunRecord) -> None:
        """Report a run that only a person may start, if nobody has: whoever settled it died before that."""
        if run.finished_at is None or not _SOON_ENOUGH <= self.now - run.finished_at <= _TOO_LATE:
            return
        decision = after_attempt(run, policy=job.policy, enabled=job.enabled)
        if isinstance(decision, Leave) and decision.for_person:
            self.launches.leave_to_a_person(run, decision.why, job)

    def _retry(self, job: WatchedJob, run: RunRecord) -> None:
        """Arrange the next task of a run that failed, if it is time for it: nobody else does.

        Unless the policy is `ALLOW`, it waits while another run of the job is alive, and always while the job is
        paused: the claim of a machine would turn the run into a final SKIPPED.
        """
        due = launch_due(run, policy=job.policy, enabled=job.enabled, since=self.looked_at, now=self.now)
        if due is None or self._may_be_paused(job):
            return
        if isinstance(due, Relaunch):
            if due.launch > 1 and run.period in self.at_work.periods(job):
                return
            try:
                self.launches.arrange(due, run, job, trigger=Trigger.RETRY, now=self.now)
            except CallRefusedError as error:
                report("not_relaunched", level="ERROR", job=job.job, period=run.period, error=str(error))
                due = Leave(str(error), for_person=True)
            else:
                self.found["relaunched"] += 1
                report("relaunched", job=job.job, period=run.period, attempt=due.attempt, launch=due.launch)
        if isinstance(due, Leave):
            self.launches.leave_to_a_person(run, due.why, job)

    def _may_be_paused(self, job: WatchedJob) -> bool:
        """True also if the slot, which has the pause, is unreadable: then the claim would be given back."""
        try:
            return self.ledger.pause_of(job.job) is not None
        except RecordUnreadableError as error:
            self.rows.report(error)
            return True

    def _settle_if_lost(self, job: WatchedJob, run: RunRecord) -> bool:
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
        marked = Observer(self.ledger).mark_lost(run.job, run.period)
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
