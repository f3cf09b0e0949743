"""One look at one job: settle lost runs, mark missed ticks, and catch up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from cronce import ConcurrencyPolicy, Ledger, Reason, Status, Trigger
from cronce.client.leadership import Leadership
from cronce.client.reporting import report
from cronce.ecs import CallRefusedError, CallUnavailableError, JobDefinition, Launcher
from cronce.protocol.records import Liveness, RunRecord
from cronce.protocol.retrying import Leave, after_attempt, never_began
from cronce.protocol.transitions import Event
from cronce.vocabulary.names import period_of
from cronce.vocabulary.policy import CatchUp
from cronce_lambdas.catching_up import Step, catch_up_step, first_done, to_catch_up, with_backlog
from cronce_lambdas.due import Due, Verdict, due, names_its_own_periods, verdict
from cronce_lambdas.memory import Memory, to_value
from cronce_lambdas.notices import Bus, missed
from cronce_lambdas.settings import Settings

MEMORY = "cronce:watchdog"
"""The job of the rows that hold the memory; the period is the schedule's name."""

LEASE = timedelta(minutes=1)

_SOON = timedelta(seconds=10)
_NOW_AND_THEN = timedelta(minutes=10)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FEW = 3
"""Up to this many rows are read one by one; more are read a page at a time."""

_NEWEST = 20
"""How many of a job's newest runs are read when no row names the one of interest."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """The state that one look shares between all jobs.

    Attributes:
        now: When it began.
        looked_at: When the last look began.
        found: Counts of what this look found.
    """

    settings: Settings
    ledger: Ledger
    launcher: Launcher
    bus: Bus
    now: datetime
    looked_at: datetime | None
    found: Counter[str]

    def at(self, job: JobDefinition, memory: Memory | None) -> None:
        """Do what is due for the job, and remember it.

        Raises:
            CronceError: An operation for this job failed; the next look tries again.
        """
        busy = self._settle_lost(job)
        if not job.delivers_ticks or not job.ticks_are_known:
            return
        todo = due(memory, job, looked_at=self.looked_at, now=self.now, missed_after=self.settings.missed_after)
        then = self._judge(job, todo) if todo.ticks else todo.memory
        if then.backlog:
            then = self._catch_up(job, then, busy=busy)
        if then != memory:
            self._remember(job, then)

    def _settle_lost(self, job: JobDefinition) -> bool:
        """Settle runs whose lease has expired; True if a run of the job is alive."""
        alive = [run for run in self._running(job) if not self._settle_if_lost(job, run)]
        return bool(alive)

    def _running(self, job: JobDefinition) -> list[RunRecord]:
        """The RUNNING runs of the job.

        The slot names the run that works. A run that waits is not in the slot, and `ALLOW` has no slot: then
        the newest runs are read too. Under `FORBID` a run is without the slot only for an instant, so runs
        that died in that instant are searched every ten minutes.
        """
        policy = job.policy.concurrency_policy
        found: dict[str, RunRecord] = {}
        if policy is not ConcurrencyPolicy.FORBID or self._now_and_then:
            found = {run.period: run for run in self.ledger.page(job.job, limit=_NEWEST).runs}
        if policy is not ConcurrencyPolicy.ALLOW and (holder := self.ledger.holder(job.job)):
            found[holder.period] = holder
        return [run for run in found.values() if run.status is Status.RUNNING]

    @property
    def _now_and_then(self) -> bool:
        """True for one look every ten minutes."""
        return (
            self.looked_at is None or (self.looked_at - _EPOCH) // _NOW_AND_THEN != (self.now - _EPOCH) // _NOW_AND_THEN
        )

    def _settle_if_lost(self, job: JobDefinition, run: RunRecord) -> bool:
        """Mark the run if its lease has expired. Arrange its next task first: that can be repeated, the mark cannot."""
        if run.liveness(self.now) is not Liveness.EXPIRED:
            return False
        lost = run.after(Event.FAIL, reason=Reason.LEASE_LOST, finished_at=self.now, lease_until=None)
        decision = after_attempt(lost, policy=job.policy, enabled=job.enabled)
        if not isinstance(decision, Leave):
            try:
                self._launch(
                    job, run, Trigger.RETRY, attempt=decision.attempt, launch=decision.launch, delay=decision.delay
                )
            except CallRefusedError as error:
                report("not_relaunched", level="ERROR", job=job.job, period=run.period, error=str(error))
        marked = self.ledger.mark_lost(job.job, run.period)
        if marked is None or marked.status is not Status.FAILED:
            return marked is None or marked.status is not Status.RUNNING
        self.found["lost"] += 1
        report(
            "run_lost",
            level="ERROR",
            job=job.job,
            period=run.period,
            ledger=self.settings.ledger_name,
            owner=run.owner,
            attempt=run.attempt,
            why=decision.why if isinstance(decision, Leave) else None,
        )
        return True

    def _judge(self, job: JobDefinition, todo: Due) -> Memory:
        """Mark the ticks that were not delivered, send their events, and add those to catch up to the backlog."""
        rows = self._rows(job, todo.ticks)
        missing = [tick for tick in todo.ticks if verdict(rows.get(tick)) is Verdict.MISSED]
        if missing and names_its_own_periods(self.ledger.page(job.job, limit=_NEWEST).runs, missing[0]):
            self.found["not_judged"] += len(missing)
            missing = []
        for tick in missing:
            rows[tick] = self.ledger.mark_missed(
                job.job, period_of(tick), reason=Reason.NEVER_DELIVERED, scheduled_at=tick
            )
        marked = [run for _, run in sorted(rows.items()) if verdict(run) is Verdict.MARKED]
        # The recorder reports its own marks. If our own mark already exists, an earlier look was interrupted.
        ours = [run for run in marked if run.reason == Reason.NEVER_DELIVERED]
        self.found["missed"] += len(ours)
        self.bus.put([missed(run, ledger=self.settings.ledger_name) for run in ours])
        if todo.left_out:
            self.found["not_judged"] += todo.left_out
            report("ticks_not_judged", level="ERROR", job=job.job, count=todo.left_out, before=todo.ticks[0])
        ticks = [run.scheduled_at for run in marked if run.scheduled_at]
        chosen = to_catch_up(job.policy, ticks, newest=self._newest(job) if ticks else None)
        return with_backlog(todo.memory, job.policy, chosen)

    def _catch_up(self, job: JobDefinition, memory: Memory, *, busy: bool) -> Memory:
        """Launch the next tick of the backlog if it is its turn; return the memory after that."""
        while memory.backlog:
            run = self.ledger.run(job.job, period_of(memory.backlog[0]))
            step = catch_up_step(memory, run, policy=job.policy, enabled=job.enabled, busy=busy, now=self.now)
            if step is Step.WAIT:
                return memory
            if step is Step.LAUNCH and run is not None:
                try:
                    self._launch(job, run, Trigger.CATCH_UP, attempt=run.attempt + 1, launch=1, delay=_SOON)
                except CallUnavailableError as error:
                    report("unavailable", level="ERROR", job=job.job, period=run.period, error=str(error))
                    return memory
                except CallRefusedError as error:
                    report("not_caught_up", level="ERROR", job=job.job, period=run.period, error=str(error))
                else:
                    self.found["caught_up"] += 1
                    report("caught_up", job=job.job, period=run.period, ledger=self.settings.ledger_name)
                    return replace(memory, launched_at=self.now)
            elif run is not None and never_began(run):
                report("not_caught_up", level="ERROR", job=job.job, period=run.period)
            memory = first_done(memory)
        return memory

    def _launch(
        self, job: JobDefinition, run: RunRecord, trigger: Trigger, *, attempt: int, launch: int, delay: timedelta
    ) -> None:
        self.launcher.run_later(
            job,
            run.period,
            scheduled_at=run.scheduled_at,
            trigger=trigger,
            attempt=attempt,
            launch=launch,
            not_before=self.now + delay,
        )

    def _rows(self, job: JobDefinition, ticks: Sequence[datetime]) -> dict[datetime, RunRecord]:
        """The rows of the ticks; a tick without a row is left out."""
        if len(ticks) <= _FEW:
            found = {tick: self.ledger.run(job.job, period_of(tick)) for tick in ticks}
            return {tick: run for tick, run in found.items() if run is not None}
        wanted: dict[str, datetime] = {period_of(tick): tick for tick in ticks}
        rows: dict[datetime, RunRecord] = {}
        before: str | None = period_of(ticks[-1] + timedelta(seconds=1))
        while before is not None and before > period_of(ticks[0]):
            page = self.ledger.page(job.job, limit=100, before=before)
            rows |= {wanted[run.period]: run for run in page.runs if run.period in wanted}
            before = page.before
        return rows

    def _newest(self, job: JobDefinition) -> datetime | None:
        """The newest delivered tick of the job; read only under `LATEST`."""
        if job.policy.catch_up is not CatchUp.LATEST:
            return None
        runs = self.ledger.page(job.job, limit=_NEWEST).runs
        return max((run.scheduled_at for run in runs if run.scheduled_at and not never_began(run)), default=None)

    def _remember(self, job: JobDefinition, memory: Memory) -> None:
        claim = Leadership(self.ledger, MEMORY, period=job.schedule_name, lease=LEASE).try_once()
        if claim is None:  # an interrupted look still holds the row: the next look repeats this one
            report("not_remembered", level="ERROR", job=job.job, schedule=job.schedule_name)
            return
        claim.checkpoint(to_value(memory))
        claim.interrupt()
