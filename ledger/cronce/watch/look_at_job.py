"""One look at one job: settle lost runs, mark missed ticks, and catch up."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property

from cronce.aws.errors import CallRefusedError, CallUnavailableError
from cronce.client.leadership import Leadership
from cronce.client.ledger import Ledger
from cronce.client.observer import Observer
from cronce.client.reporting import report
from cronce.protocol.records import Pause, RunRecord
from cronce.protocol.retrying import Relaunch, never_began, never_started
from cronce.vocabulary.errors import RecordUnreadableError
from cronce.vocabulary.policy import CatchUp
from cronce.vocabulary.states import Reason, Trigger
from cronce.watch.catching_up import CatchUpStep, catch_up_step, first_done, to_catch_up, why_dropped, with_backlog
from cronce.watch.due_ticks import Due, TickVerdict, due, is_unguarded, names_its_own_periods, up_to_date, verdict
from cronce.watch.jobs import WatchedJob
from cronce.watch.launches import LONGEST_WAIT, AtWork, Bus, Launches
from cronce.watch.long_waits import LongWaits
from cronce.watch.lost_runs import NEWEST, LostRuns
from cronce.watch.memory import Memory, Pending, to_value
from cronce.watch.notices import missed, not_judged, schedule_changed
from cronce.watch.readable_rows import Rows

MEMORY = "cronce:watchdog"
"""The job of the rows that hold the memory; the period is the schedule's name."""

LEASE_OF_LOOK = timedelta(minutes=1)

_SOON = timedelta(seconds=10)
_ONE_DEPLOYMENT = timedelta(days=2)
SPARE = "+"
"""Ends the period of a memory that is kept beside an unreadable one. No schedule's name has this character."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """The state that one look shares between all jobs.

    Attributes:
        ledger_name: A dimension of every metric.
        missed_after: How long after the end of its window a tick may be delivered.
        launches: Starts the next attempts.
        at_work: Knows the work that has not claimed yet.
        now: When it began.
        looked_at: When the last look began.
        retries: True if failed runs are started again here, because no recorder does.
        born_at: When the ledger's table was created; None if unknown. Ticks before that are not judged.
        first_at: When the first look at this ledger began; None if unknown.
        memories: The job of the rows that hold the memories.
        found: Counts of what this look found.
    """

    ledger: Ledger
    ledger_name: str
    missed_after: timedelta
    launches: Launches
    at_work: AtWork
    bus: Bus
    now: datetime
    looked_at: datetime | None
    retries: bool = False
    born_at: datetime | None = None
    first_at: datetime | None = None
    memories: str = MEMORY
    found: Counter[str] = field(default_factory=Counter)

    @cached_property
    def rows(self) -> Rows:
        """Reads rows, readable or not."""
        return Rows(self.ledger, self.ledger_name)

    @cached_property
    def lost(self) -> LostRuns:
        """Settles lost runs."""
        return LostRuns(
            ledger=self.ledger,
            rows=self.rows,
            launches=self.launches,
            at_work=self.at_work,
            now=self.now,
            looked_at=self.looked_at,
            retries=self.retries,
            found=self.found,
        )

    @cached_property
    def long_waits(self) -> LongWaits:
        """Finds what lasts too long."""
        return LongWaits(
            ledger=self.ledger,
            bus=self.bus,
            name=self.ledger_name,
            now=self.now,
            looked_at=self.looked_at,
            found=self.found,
        )

    def at(self, job: WatchedJob, memory: Memory | None, row: RunRecord | None = None) -> None:
        """Do what is due for the job, and remember it; `row` is the row of its memory.

        Raises:
            CronceError: An operation for this job failed; the next look tries again.
        """
        active = self.lost.settle(job)
        self.long_waits.look_at_runs(job, active.runs)
        if not job.delivers_ticks or not job.ticks_are_known:
            if job.no_success_for:
                then = self.long_waits.look_for_success(job, up_to_date(memory, job, self.looked_at))
                if then != memory:
                    self._remember(job, then, row)
            return
        todo = due(
            memory,
            job,
            looked_at=self.looked_at,
            now=self.now,
            missed_after=self.missed_after,
            born_at=self._born_at(job),
        )
        if todo.changed_from is not None:
            self.bus.put([schedule_changed(job, todo.changed_from, ledger=self.ledger_name)])
        if todo.left_out:
            self.found["not_judged"] += todo.left_out
            self.bus.put([not_judged(job.job, todo, ledger=self.ledger_name)])
        then = self._judge(job, todo) if todo.ticks else todo.memory
        if then.backlog and self._pause_of(job) is None:
            then = self._catch_up(job, then, busy=active.busy)
        then = self.long_waits.look_for_success(job, then)
        if then != memory:
            self._remember(job, then, row)

    def _born_at(self, job: WatchedJob) -> datetime | None:
        """From when on the ledger can have rows of the job.

        If the date of the table is unknown, the first look counts: a schedule that is days older than that look ran
        before this ledger existed. A younger one counts as a part of the same deployment.
        """
        if self.born_at is not None or self.first_at is None:
            return self.born_at
        return self.first_at if job.created_at < self.first_at - _ONE_DEPLOYMENT else None

    def _judge(self, job: WatchedJob, todo: Due) -> Memory:
        """Mark the ticks that were not delivered, send their events, and add those to catch up to the backlog.

        A tick with a task at work is not marked, and stays pending.
        """
        rows, unreadable = self.rows.of_ticks(job, todo.ticks)
        judged = [tick for tick in todo.ticks if tick not in unreadable]
        missing = [tick for tick in judged if verdict(rows.get(tick)) is TickVerdict.MISSED]
        if missing and names_its_own_periods(job, self.rows.newest(job.job, limit=NEWEST), missing[0]):
            self.found["not_judged"] += len(missing)
            missing = []
        pause = self._pause_of(job) if missing else None
        waiting: list[Pending] = []
        at_work = self.at_work.periods(job) if missing else ()
        for tick in missing:
            if pause is not None and pause.covers(tick):
                Observer(self.ledger).mark_paused(job.job, job.period_of(tick), pause, scheduled_at=tick)
                continue
            reason = Reason.NEVER_CLAIMED if job.period_of(tick) in at_work else Reason.NEVER_DELIVERED
            if reason is Reason.NEVER_CLAIMED and self._may_wait(job, tick):
                waiting.append(Pending(tick, tick))
                continue
            try:
                rows[tick] = Observer(self.ledger).mark_missed(
                    job.job, job.period_of(tick), reason=reason, scheduled_at=tick
                )
            except RecordUnreadableError as error:  # it was written at this moment
                self.rows.report(error)
        # Two ticks of one day may have one period.
        marked = [*{run.period: run for _, run in sorted(rows.items()) if verdict(run) is TickVerdict.MARKED}.values()]
        # The recorder reports its own marks. If our own mark already exists, an earlier look was interrupted.
        ours = [run for run in marked if run.reason in (Reason.NEVER_DELIVERED, Reason.NEVER_CLAIMED)]
        self.found["missed"] += len(ours)
        self.bus.put([missed(run, ledger=self.ledger_name) for run in ours])
        memory = todo.memory
        if waiting:
            self.found["at_work"] += len(waiting)
            memory = replace(memory, pending=tuple(sorted({*memory.pending, *waiting})))
        return self._with_backlog(job, memory, marked, waiting=[each.tick for each in waiting])

    def _pause_of(self, job: WatchedJob) -> Pause | None:
        """The job's pause; None also if its slot is unreadable, which is reported already, and starts nothing."""
        try:
            return self.ledger.pause_of(job.job)
        except RecordUnreadableError:
            return None

    def _may_wait(self, job: WatchedJob, tick: datetime) -> bool:
        """True if the tick has a task at work that may still claim it."""
        return self.now - tick < job.flexible_window + self.missed_after + LONGEST_WAIT

    def _with_backlog(
        self, job: WatchedJob, memory: Memory, marked: list[RunRecord], *, waiting: list[datetime]
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

    def _catch_up(self, job: WatchedJob, memory: Memory, *, busy: bool) -> Memory:
        """Launch the next tick of the backlog if it is its turn; return the memory after that."""
        while memory.backlog:
            run = self._run(job, memory.backlog[0])
            step = catch_up_step(memory, run, policy=job.policy, enabled=job.enabled, busy=busy, now=self.now)
            if step is CatchUpStep.WAIT:
                return memory
            why = why_dropped(memory, policy=job.policy, enabled=job.enabled)
            if step is CatchUpStep.LAUNCH and run is not None and run.period in self.at_work.periods(job):
                if run.finished_at is not None and self.now - run.finished_at < LONGEST_WAIT:
                    return memory
                why = "a task of it is at work, and has not asked the ledger"
            elif step is CatchUpStep.LAUNCH and run is not None:
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
                    report("caught_up", job=job.job, period=run.period, ledger=self.ledger_name)
                    return replace(memory, launched_at=self.now)
            self._drop(job, run, why)
            memory = first_done(memory)
        return memory

    def _drop(self, job: WatchedJob, run: RunRecord | None, why: str | None) -> None:
        """Say of a tick that is not caught up, and that no task claimed, that it waits for a person."""
        if run is None or not never_began(run):
            return
        report("not_caught_up", level="ERROR", job=job.job, period=run.period, error=why)
        if why is not None:
            self.launches.leave_to_a_person(run, why, job)

    def _run(self, job: WatchedJob, tick: datetime) -> RunRecord | None:
        try:
            return self.ledger.run(job.job, job.period_of(tick))
        except RecordUnreadableError as error:
            self.rows.report(error)
            return None

    def _remember(self, job: WatchedJob, memory: Memory, row: RunRecord | None) -> None:
        if row is not None and Observer(self.ledger).remember(row, to_value(memory)):
            return
        for period in (job.schedule_name, job.schedule_name + SPARE):
            try:
                claim = Leadership(self.ledger, self.memories, period=period, lease=LEASE_OF_LOOK).try_once()
            except RecordUnreadableError as error:
                self.rows.report(error)
                continue
            if claim is None:  # an interrupted look still holds the row: the next look repeats this one
                report("not_remembered", level="ERROR", job=job.job, schedule=job.schedule_name)
                return
            claim.checkpoint(to_value(memory))
            claim.interrupt()
            return


def memories_of(rows: Rows, memories: str = MEMORY) -> dict[str, RunRecord]:
    """The rows of the memories by the name of their schedule; one kept beside an unreadable one stands in for it."""
    found: dict[str, RunRecord] = {}
    for row in rows.every(memories):
        found.setdefault(row.period.removesuffix(SPARE), row)
    return found
