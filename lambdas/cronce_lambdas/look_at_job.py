"""One look at one job: settle lost runs, mark missed ticks, and catch up."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property

from cronce import CatchUp, Ledger, Reason, RecordUnreadableError, Trigger
from cronce.aws.sdk import Service
from cronce.client.leadership import Leadership
from cronce.client.reporting import report
from cronce.ecs import CallRefusedError, CallUnavailableError, JobDefinition, Launcher
from cronce.protocol.records import RunRecord
from cronce.protocol.retrying import Relaunch, never_began, never_started
from cronce_lambdas.catching_up import Step, catch_up_step, first_done, to_catch_up, why_dropped, with_backlog
from cronce_lambdas.due_ticks import Due, Verdict, due, is_unguarded, names_its_own_periods, verdict
from cronce_lambdas.lost_runs import NEWEST, LostRuns, is_now_and_then
from cronce_lambdas.next_task import Launches
from cronce_lambdas.notices import Bus, missed, not_judged, schedule_changed
from cronce_lambdas.readable_rows import Rows
from cronce_lambdas.settings import Settings
from cronce_lambdas.tasks_at_work import LONGEST_WAIT, TasksAtWork
from cronce_lambdas.watchdog_memory import Memory, Pending, to_value

MEMORY = "cronce:watchdog"
"""The job of the rows that hold the memory; the period is the schedule's name."""

LEASE = timedelta(minutes=1)

_SOON = timedelta(seconds=10)
_ONE_DEPLOYMENT = timedelta(days=2)
SPARE = "+"
"""Ends the period of a memory that is kept beside an unreadable one. No schedule's name has this character."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """The state that one look shares between all jobs.

    Attributes:
        now: When it began.
        looked_at: When the last look began.
        born_at: When the ledger's table was created; None if unknown. Ticks before that are not judged.
        first_at: When the first look at this ledger began; None if unknown.
        found: Counts of what this look found.
    """

    settings: Settings
    ledger: Ledger
    launcher: Launcher
    bus: Bus
    ecs: Service
    now: datetime
    looked_at: datetime | None
    born_at: datetime | None = None
    first_at: datetime | None = None
    found: Counter[str] = field(default_factory=Counter)

    @cached_property
    def rows(self) -> Rows:
        """Reads rows, readable or not."""
        return Rows(self.ledger, self.settings.ledger_name)

    @cached_property
    def at_work(self) -> TasksAtWork:
        """Knows the tasks that ECS lists."""
        return TasksAtWork(self.ecs, ledger=self.settings.url, now=self.now)

    @cached_property
    def launches(self) -> Launches:
        """Arranges tasks."""
        name = self.settings.ledger_name
        return Launches(ledger=self.ledger, launcher=self.launcher, bus=self.bus, name=name)

    @cached_property
    def lost(self) -> LostRuns:
        """Settles lost runs."""
        return LostRuns(
            ledger=self.ledger,
            rows=self.rows,
            launches=self.launches,
            now=self.now,
            now_and_then=is_now_and_then(self.looked_at, self.now),
            found=self.found,
        )

    def at(self, job: JobDefinition, memory: Memory | None) -> None:
        """Do what is due for the job, and remember it.

        Raises:
            CronceError: An operation for this job failed; the next look tries again.
        """
        busy = self.lost.settle(job)
        if not job.delivers_ticks or not job.ticks_are_known:
            return
        todo = due(
            memory,
            job,
            looked_at=self.looked_at,
            now=self.now,
            missed_after=self.settings.missed_after,
            born_at=self._born_at(job),
        )
        if todo.changed_from is not None:
            self.bus.put([schedule_changed(job, todo.changed_from, ledger=self.settings.ledger_name)])
        if todo.left_out:
            self.found["not_judged"] += todo.left_out
            self.bus.put([not_judged(job.job, todo, ledger=self.settings.ledger_name)])
        then = self._judge(job, todo) if todo.ticks else todo.memory
        if then.backlog:
            then = self._catch_up(job, then, busy=busy)
        if then != memory:
            self._remember(job, then)

    def _born_at(self, job: JobDefinition) -> datetime | None:
        """From when on the ledger can have rows of the job.

        Without the table's own date, the first look tells: a schedule that is days older than that ran before this
        ledger existed. A younger one is taken for a part of the same deployment.
        """
        if self.born_at is not None or self.first_at is None:
            return self.born_at
        return self.first_at if job.created_at < self.first_at - _ONE_DEPLOYMENT else None

    def _judge(self, job: JobDefinition, todo: Due) -> Memory:
        """Mark the ticks that were not delivered, send their events, and add those to catch up to the backlog.

        A tick with a task at work is not marked, and stays pending.
        """
        rows, unreadable = self.rows.of_ticks(job, todo.ticks)
        judged = [tick for tick in todo.ticks if tick not in unreadable]
        missing = [tick for tick in judged if verdict(rows.get(tick)) is Verdict.MISSED]
        if missing and names_its_own_periods(job, self.rows.newest(job.job, limit=NEWEST), missing[0]):
            self.found["not_judged"] += len(missing)
            missing = []
        waiting: list[Pending] = []
        at_work = self.at_work.periods(job) if missing else ()
        for tick in missing:
            reason = Reason.NEVER_CLAIMED if job.period_of(tick) in at_work else Reason.NEVER_DELIVERED
            if reason is Reason.NEVER_CLAIMED and self._may_wait(job, tick):
                waiting.append(Pending(tick, tick))
                continue
            try:
                rows[tick] = self.ledger.mark_missed(job.job, job.period_of(tick), reason=reason, scheduled_at=tick)
            except RecordUnreadableError as error:  # it was written at this moment
                self.rows.report(error)
        # Two ticks of one day may have one period.
        marked = [*{run.period: run for _, run in sorted(rows.items()) if verdict(run) is Verdict.MARKED}.values()]
        # The recorder reports its own marks. If our own mark already exists, an earlier look was interrupted.
        ours = [run for run in marked if run.reason in (Reason.NEVER_DELIVERED, Reason.NEVER_CLAIMED)]
        self.found["missed"] += len(ours)
        self.bus.put([missed(run, ledger=self.settings.ledger_name) for run in ours])
        memory = todo.memory
        if waiting:
            self.found["at_work"] += len(waiting)
            memory = replace(memory, pending=tuple(sorted({*memory.pending, *waiting})))
        return self._with_backlog(job, memory, marked, waiting=[each.tick for each in waiting])

    def _may_wait(self, job: JobDefinition, tick: datetime) -> bool:
        """True if the tick has a task at work that may still claim it."""
        return self.now - tick < job.flexible_window + self.settings.missed_after + LONGEST_WAIT

    def _with_backlog(
        self, job: JobDefinition, memory: Memory, marked: list[RunRecord], *, waiting: list[datetime]
    ) -> Memory:
        """The memory with those of the missed ticks that are to be caught up."""
        ticks = [run.scheduled_at for run in marked if run.scheduled_at and never_started(run)]
        if not ticks or job.policy.catch_up is CatchUp.NONE or job.policy.suspend:
            return memory
        newest = self.rows.newest(job.job, limit=NEWEST)
        if is_unguarded(newest):
            report("not_caught_up", level="ERROR", job=job.job, why="its tasks end without asking the ledger")
            return memory
        delivered = [run.scheduled_at for run in newest if run.scheduled_at and not never_started(run)]
        chosen = to_catch_up(job.policy, ticks, newest=max([*delivered, *waiting], default=None))
        then, dropped = with_backlog(memory, job.policy, chosen)
        for tick in dropped:
            self._drop(job, self._run(job, tick), "too many ticks wait for their catch-up")
        return then

    def _catch_up(self, job: JobDefinition, memory: Memory, *, busy: bool) -> Memory:
        """Launch the next tick of the backlog if it is its turn; return the memory after that."""
        while memory.backlog:
            run = self._run(job, memory.backlog[0])
            step = catch_up_step(memory, run, policy=job.policy, enabled=job.enabled, busy=busy, now=self.now)
            if step is Step.WAIT:
                return memory
            why = why_dropped(memory, policy=job.policy, enabled=job.enabled)
            if step is Step.LAUNCH and run is not None and run.period in self.at_work.periods(job):
                if run.finished_at is not None and self.now - run.finished_at < LONGEST_WAIT:
                    return memory
                why = "a task of it is at work, and has not asked the ledger"
            elif step is Step.LAUNCH and run is not None:
                try:
                    next_task = Relaunch(attempt=run.attempt + 1, launch=1, delay=_SOON)
                    self.launches.arrange(next_task, run, job, trigger=Trigger.CATCH_UP, now=self.now)
                except CallUnavailableError as error:
                    report("unavailable", level="ERROR", job=job.job, period=run.period, error=str(error))
                    return memory
                except CallRefusedError as error:
                    why = str(error)
                else:
                    self.found["caught_up"] += 1
                    report("caught_up", job=job.job, period=run.period, ledger=self.settings.ledger_name)
                    return replace(memory, launched_at=self.now)
            self._drop(job, run, why)
            memory = first_done(memory)
        return memory

    def _drop(self, job: JobDefinition, run: RunRecord | None, why: str | None) -> None:
        """Say of a tick that is not caught up, and that no task claimed, that it waits for a person."""
        if run is None or not never_began(run):
            return
        report("not_caught_up", level="ERROR", job=job.job, period=run.period, error=why)
        if why is not None:
            self.launches.leave_to_a_person(run, why, job)

    def _run(self, job: JobDefinition, tick: datetime) -> RunRecord | None:
        try:
            return self.ledger.run(job.job, job.period_of(tick))
        except RecordUnreadableError as error:
            self.rows.report(error)
            return None

    def _remember(self, job: JobDefinition, memory: Memory) -> None:
        for period in (job.schedule_name, job.schedule_name + SPARE):
            try:
                claim = Leadership(self.ledger, MEMORY, period=period, lease=LEASE).try_once()
            except RecordUnreadableError as error:
                self.rows.report(error)
                continue
            if claim is None:  # an interrupted look still holds the row: the next look repeats this one
                report("not_remembered", level="ERROR", job=job.job, schedule=job.schedule_name)
                return
            claim.checkpoint(to_value(memory))
            claim.interrupt()
            return


def memories_of(rows: Rows) -> dict[str, RunRecord]:
    """The rows of the memories by the name of their schedule; one kept beside an unreadable one stands in for it."""
    found: dict[str, RunRecord] = {}
    for row in rows.every(MEMORY):
        found.setdefault(row.period.removesuffix(SPARE), row)
    return found
