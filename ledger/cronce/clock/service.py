"""The clock's loop: stand by, lead, hand over."""

from __future__ import annotations

import math
import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from cronce.client.claim import Claim
from cronce.client.ledger import Ledger
from cronce.client.reporting import report
from cronce.client.time_source import Clock, StopSignal, SystemClock
from cronce.clock.agenda import Agenda, Tick, from_checkpoint, from_rows, to_checkpoint
from cronce.clock.config import ClockJob
from cronce.clock.dispatch import Dispatcher, Send, TickEnding
from cronce.clock.plan import judge, may_start
from cronce.vocabulary.environment import METRICS
from cronce.vocabulary.errors import LeaseLostError, LedgerUnavailableError, RecordUnreadableError
from cronce.vocabulary.names import period_of
from cronce.vocabulary.states import Reason

_FRESH = 1.0
"""Seconds for which a renewal is recent enough to start a dispatch."""

_LONGEST_PAUSE = 10.0
"""Seconds between two readings of the time, so that a clock step is noticed."""

_RED_AFTER = 60.0
"""Seconds without an answer of the ledger, or without a turn of the loop, after which a restart might help."""

_HANGS_AFTER = 2.0
"""Seconds beyond its `timeout` after which a dispatch counts as hanging."""

_TO_WIND_UP = 3.0
"""Seconds of the grace, at most a quarter of it, reserved for recording what had to be aborted."""

_BETWEEN_SIGNS_OF_LIFE = 55.0

_MOMENT = 0.001
"""Seconds too short for another turn; subtracting times as floats leaves such fractions."""

_ROWS = 100


class Leading(Protocol):
    """How this process becomes the leader; `cronce.client.leadership.Leadership` is one."""

    @property
    def silent_for(self) -> float:
        """Seconds since the ledger last answered."""

    def wait(self, stop: StopSignal) -> Claim | None:
        """The claim as soon as no other process leads; None once asked to stop."""


class Bell:
    """A `StopSignal` whose `wait` also returns when it is rung. One loop waits; any thread rings."""

    def __init__(self) -> None:
        self._rung = threading.Event()
        self._stopped = False

    def ring(self) -> None:
        """End the current wait, or the next one."""
        self._rung.set()

    def stop(self) -> None:
        """Ask the loop to stop."""
        self._stopped = True
        self._rung.set()

    def is_set(self) -> bool:
        """True once asked to stop."""
        return self._stopped

    def wait(self, timeout: float) -> bool:
        """Wait until rung, at most that many seconds; True if asked to stop."""
        self._rung.wait(timeout)
        self._rung.clear()
        return self._stopped


def in_a_thread(work: Callable[[], None]) -> None:
    """Do the work in a daemon thread."""
    threading.Thread(target=work, name="cronce-dispatch", daemon=True).start()


class ClockService:
    """One process of a clock. `run` is its loop; `stop` and `trouble` may be called from any thread."""

    def __init__(
        self,
        jobs: Sequence[ClockJob],
        *,
        name: str,
        ledger: Ledger,
        leading: Leading,
        send: Send,
        grace: float,
        lease: timedelta = timedelta.max,
        clock: Clock | None = None,
        start: Callable[[Callable[[], None]], None] = in_a_thread,
    ) -> None:
        """Make no request yet.

        Args:
            jobs: The jobs.
            name: The clock's name.
            ledger: Where the rows are.
            leading: How this process becomes the leader.
            send: Calls the targets.
            grace: Seconds for dispatches in progress when asked to stop.
            lease: The clock's lease; that of a command's dispatch is no longer.
            clock: The source of time; None for this host's clock.
            start: Starts a piece of work outside the loop.
        """
        self._jobs = tuple(jobs)
        self._following_jobs: tuple[ClockJob, ...] | None = None
        self._name = name
        self._ledger = ledger
        self._leading = leading
        self._grace = grace
        self._clock = clock or SystemClock()
        self._start_work = start
        self._bell = Bell()
        self._give_up = threading.Event()
        self._dispatcher = Dispatcher(
            ledger,
            clock_name=name,
            send=send,
            clock=self._clock,
            stop=self._bell,
            give_up=self._give_up,
            lease=lease,
        )
        self._claim: Claim | None = None
        self._agendas: list[Agenda] = []
        self._at_work: dict[tuple[str, datetime], tuple[Tick, float]] = {}  # and since when, monotonic
        self._ended: deque[tuple[Tick, TickEnding]] = deque()
        self._broken: set[str] = set()
        self._released = threading.Event()
        self._released.set()
        self._renewed = self._reported_alive = self._began = -math.inf
        self._turned = self._clock.monotonic()

    def run(self) -> None:
        """Stand by and lead until asked to stop. Afterwards no dispatch is in progress, or it was given up.

        Raises:
            InputInvalidError: The store's time limits do not fit in the lease.
        """
        while (claim := self._leading.wait(self._bell)) is not None:
            try:
                self._lead(claim)
            except Exception:
                self._give_back(claim, "the clock broke down")
                raise
        self._wind_up()

    def stop(self) -> None:
        """Make `run` return within the grace."""
        self._bell.stop()

    def reload(self, jobs: Sequence[ClockJob]) -> None:
        """Have these jobs from the next turn on. From any thread.

        As after a change of the leader, a job continues after its last settled tick, and a new one begins now. Ticks
        that are being dispatched are dispatched as they were.
        """
        self._following_jobs = tuple(jobs)
        self._bell.ring()

    def break_off(self) -> None:
        """Stop the running commands, and do not retry anything any more."""
        self._give_up.set()

    def trouble(self) -> str | None:
        """Why this process is not healthy; None if it is."""
        if self._claim is None:
            silent = self._leading.silent_for
            return None if silent < _RED_AFTER else f"standing by, but the ledger has not answered for {silent:.0f} s"
        now = self._clock.monotonic()
        if now - self._turned >= _RED_AFTER:
            return f"the loop has not moved for {now - self._turned:.0f} s"
        for tick, began in list(self._at_work.values()):
            if now - began >= tick.job.timeout.total_seconds() + _HANGS_AFTER:
                return f"the dispatch of {tick.job.name} {tick.period} has not ended for {now - began:.0f} s"
        if names := sorted(self._dispatcher.silent):
            return f"the target of {', '.join(names)} did not answer in time"
        for agenda in list(self._agendas):
            for at, tick in list(agenda.waiting.items()):
                at_work = (tick.job.name, at) in self._at_work
                if not at_work and tick.failed_at is None and now - tick.since >= _RED_AFTER:
                    return f"{tick.job.name} {tick.period} has been due for {now - tick.since:.0f} s"
        return None

    def take_over(self, claim: Claim) -> bool:
        """Begin a term with the cursor of each job. False if they cannot be read; the lease is then released."""
        now = self._clock.now()
        self._adopt_jobs()
        try:
            cursors = [self._cursor(job, claim, now) for job in self._jobs]
        except LedgerUnavailableError as error:
            report("unavailable", level="ERROR", job=self._name, message=f"{error}; cannot lead")
            self._give_back(claim, "the rows could not be read")
            return False
        self._claim = claim
        self._agendas = [Agenda(job, cursor) for job, cursor in zip(self._jobs, cursors, strict=True)]
        self._turned = self._began = self._clock.monotonic()
        self._renewed = -math.inf  # store the cursors of new jobs at once
        report("leading", job=self._name, attempt=claim.attempt, fence=claim.fence, owner=claim.record.owner)
        return True

    def _reload(self, now: datetime) -> None:
        """Continue with other jobs: each from the cursor that this term has for it."""
        cursors = to_checkpoint({agenda.job: agenda.cursor for agenda in self._agendas})
        self._adopt_jobs()
        self._agendas = [
            Agenda(job, from_checkpoint(job, cursors, now) or now - job.starting_deadline) for job in self._jobs
        ]
        self._renewed = -math.inf  # store the cursors at once

    def _adopt_jobs(self) -> None:
        jobs, self._following_jobs = self._following_jobs, None
        if jobs is not None:
            self._jobs = jobs
            self._broken.clear()

    def _cursor(self, job: ClockJob, claim: Claim, now: datetime) -> datetime:
        if (cursor := from_checkpoint(job, claim.resume_from, now)) is not None:
            return cursor
        # A leader that died before it stored its first cursors began when it claimed the row.
        began = (
            [past.claimed_at for past in claim.record.attempts if past.claimed_at] if claim.resume_from is None else []
        )
        try:
            newest = self._ledger.page(self._dispatcher.row_job(job), limit=_ROWS).runs
            return from_rows(job, newest, now, since=min(began, default=None))
        except RecordUnreadableError as error:
            # The rows of the ticks still decide; only where to look first is unknown.
            report(
                "unavailable", level="ERROR", clock=self._name, job=self._dispatcher.row_job(job), message=str(error)
            )
            return now - job.starting_deadline

    def turn(self) -> float | None:
        """Do everything that is due. Returns the seconds until the next turn, or None at the end of the term."""
        claim = self._claim
        if claim is None:
            return None
        now, monotonic = self._clock.now(), self._clock.monotonic()
        self._turned = monotonic
        self._collect(now)
        if self._bell.is_set():
            self._release(claim)
            return None
        if self._following_jobs is not None:
            self._reload(now)
        for agenda in self._agendas:
            self._advance(agenda, now, monotonic)
        chosen = self._choose(now)
        good_for = _FRESH if chosen else claim.lease.total_seconds() / 4
        if (monotonic - self._renewed >= good_for or claim.is_lost()) and not self._renew(claim):
            return None
        self._report_alive(monotonic)
        now = self._clock.now()  # renewing may have taken a while
        for tick in chosen:
            self._start(tick, now)
        return 0.0 if self._ended else self._pause(claim)

    def _lead(self, claim: Claim) -> None:
        if self.take_over(claim):
            while (pause := self.turn()) is not None:
                self._clock.wait(self._bell, pause)

    def _advance(self, agenda: Agenda, now: datetime, monotonic: float) -> None:
        try:
            too_many = agenda.advance(now, monotonic)
        except Exception as error:  # noqa: BLE001  # a timetable that fails stops only its own job
            if agenda.job.name not in self._broken:
                self._broken.add(agenda.job.name)
                row_job = self._dispatcher.row_job(agenda.job)
                report("tick_unclear", level="ERROR", clock=self._name, job=row_job, error=repr(error))
            return
        if too_many is not None and too_many.first_dropped and too_many.last_dropped:
            report(
                "tick_missed",
                level="ERROR",
                clock=self._name,
                job=self._dispatcher.row_job(agenda.job),
                count=too_many.dropped,
                first=period_of(too_many.first_dropped),
                last=period_of(too_many.last_dropped),
                reason=Reason.TOO_LATE,
                message="too many ticks at once: these have no rows",
            )

    def _choose(self, now: datetime) -> list[Tick]:
        """The ticks to try now, as far as there are workers."""
        chosen: list[Tick] = []
        of_all = len(self._at_work)
        for agenda in self._agendas:
            busy = {at for name, at in self._at_work if name == agenda.job.name}
            of_job = len(busy)
            for tick in agenda.ready(now, busy=busy):
                if not may_start(of_job=of_job, of_all=of_all):
                    break
                chosen.append(tick)
                of_job, of_all = of_job + 1, of_all + 1
        return chosen

    def _start(self, tick: Tick, now: datetime) -> None:
        tick.tries += 1
        verdict = judge(tick.job, tick.at, now, failed_at=tick.failed_at, unresolved=tick.unresolved)

        def work() -> None:
            self._ended.append((tick, self._dispatcher.carry_out(tick, verdict)))
            self._bell.ring()

        self._at_work[tick.job.name, tick.at] = tick, self._clock.monotonic()
        try:
            self._start_work(work)
        except RuntimeError as error:  # no thread is available
            report("tick_unclear", level="ERROR", clock=self._name, job=tick.job.name, error=str(error))
            self._ended.append((tick, TickEnding.AGAIN))

    def _collect(self, now: datetime) -> None:
        """Process the results of the workers. A tick of an earlier term counts for the one of this term."""
        agendas = {agenda.job.name: agenda for agenda in self._agendas}
        while self._ended:
            tick, ending = self._ended.popleft()
            self._at_work.pop((tick.job.name, tick.at), None)
            agenda = agendas.get(tick.job.name)
            if agenda is None:  # the job was removed
                continue
            if ending is TickEnding.SETTLED:
                agenda.settle(tick.at)
            elif (waiting := agenda.waiting.get(tick.at)) is not None:
                waiting.postpone(now, failed=ending is TickEnding.FAILED, unresolved=ending is TickEnding.UNRESOLVED)

    def _renew(self, claim: Claim) -> bool:
        """Renew the lease and store the cursors, in one request. False if this process no longer leads."""
        sent = self._clock.monotonic()
        try:
            claim.checkpoint(to_checkpoint({agenda.job: agenda.cursor for agenda in self._agendas}))
        except LeaseLostError as error:
            report("lost", level="ERROR", job=self._name, attempt=claim.attempt, message=str(error))
            self._give_back(claim, "the lease was lost")
            self._claim = None
            return False
        self._renewed = sent
        return True

    def _release(self, claim: Claim) -> None:
        """Release the lease at once. Dispatches in progress have their own rows."""
        cursors = {agenda.job: agenda.cursor for agenda in self._agendas}
        led_for = self._clock.monotonic() - self._began
        self._claim = None
        self._released.clear()

        def release() -> None:
            try:
                claim.checkpoint(to_checkpoint(cursors))
                claim.interrupt("the clock was asked to stop")
            except LeaseLostError as error:
                report("lost", level="ERROR", job=self._name, attempt=claim.attempt, message=str(error))
            else:
                report("released", job=self._name, attempt=claim.attempt, duration=round(led_for, 3))
            finally:
                self._released.set()
                self._bell.ring()

        self._start_work(release)  # the ledger may be unavailable for longer than the grace

    def _give_back(self, claim: Claim, why: str) -> None:
        """Release the lease if this process still holds it."""
        try:
            claim.interrupt(why)
        except LeaseLostError:
            return

    def _wind_up(self) -> None:
        """Wait for dispatches in progress, and abort them before the grace ends."""
        until = self._clock.monotonic() + self._grace
        to_wind_up = min(_TO_WIND_UP, self._grace / 4)
        while self._at_work or not self._released.is_set():
            left = until - self._clock.monotonic()
            if left <= _MOMENT:
                return
            if left <= to_wind_up:
                self._give_up.set()
            self._clock.wait(self._bell, min(left, max(left - to_wind_up, 0.1)))
            self._collect(self._clock.now())

    def _pause(self, claim: Claim) -> float:
        now = self._clock.now()
        moments = [at for agenda in self._agendas if (at := agenda.wake_at(now)) is not None]
        due_in = (min(moments) - now).total_seconds() if moments else _LONGEST_PAUSE
        renew_in = self._renewed + claim.lease.total_seconds() / 4 - self._clock.monotonic()
        return max(0.0, min(due_in, max(renew_in, _MOMENT), _LONGEST_PAUSE))

    def _report_alive(self, monotonic: float) -> None:
        """Once a minute, emit a metric that this process leads. An alarm can be set on its absence."""
        if os.environ.get(METRICS) and monotonic - self._reported_alive >= _BETWEEN_SIGNS_OF_LIFE:
            self._reported_alive = monotonic
            report("leads", job=self._name)
