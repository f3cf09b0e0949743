"""The clock's loop: stand by, lead, hand over."""

from __future__ import annotations

import math
import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from cronce.client.claim import Claim
from cronce.client.ledger import Ledger
from cronce.client.reporting import report
from cronce.client.time_source import Clock, StopSignal, SystemClock
from cronce.clock.agenda import Agenda
from cronce.clock.bell import Bell
from cronce.clock.config import ClockJob
from cronce.clock.cursors import from_checkpoint, from_rows, to_checkpoint
from cronce.clock.delivery import Send
from cronce.clock.dispatch import Dispatcher, Ending, Order, Outcome
from cronce.clock.plan import judge, may_start
from cronce.vocabulary.environment import METRICS
from cronce.vocabulary.errors import LeaseLostError, LedgerUnavailableError
from cronce.vocabulary.names import period_of
from cronce.vocabulary.states import Reason
from cronce.vocabulary.values import value_class

_FRESH = 1.0
"""Seconds for which a renewal is good enough to start a dispatch on."""

_LONGEST_PAUSE = 10.0
"""Seconds between two looks at the time, so that a clock that was set is noticed."""

_RED_AFTER = 60.0
"""Seconds of silence, of the ledger or of the loop, after which replacing this process might help."""

_HANGS_AFTER = 2.0
"""Seconds beyond its `timeout` after which a dispatch counts as hanging."""

_TO_WIND_UP = 3.0
"""Seconds of the grace, at most a quarter of it, for writing down what had to be broken off."""

_BETWEEN_SIGNS_OF_LIFE = 55.0

_MOMENT = 0.001
"""Seconds that are not worth another look; fractions of floats are left where times were subtracted."""

_ROWS = 100


class Leading(Protocol):
    """How this process becomes the leader; `cronce.client.leadership.Leadership` is one."""

    @property
    def silent_for(self) -> float:
        """Seconds since the ledger last answered."""

    def wait(self, stop: StopSignal) -> Claim | None:
        """The claim as soon as nobody else leads; None once asked to stop."""


def in_a_thread(work: Callable[[], None]) -> None:
    """Do the work in a thread of its own, which does not keep the process from ending."""
    threading.Thread(target=work, name="cronce-dispatch", daemon=True).start()


@value_class(kw_only=True)
class _Flight:
    """A dispatch at work since `began`, on the monotonic clock."""

    job: ClockJob
    tick: datetime
    began: float


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
        clock: Clock | None = None,
        start: Callable[[Callable[[], None]], None] = in_a_thread,
    ) -> None:
        """Take what is needed; nothing happens yet.

        Args:
            jobs: What to dispatch.
            name: The clock's name.
            ledger: Where the rows are.
            leading: How this process becomes the leader.
            send: Calls the targets.
            grace: Seconds for what is at work when asked to stop.
            clock: Where time comes from; None for this host's clock.
            start: Starts a piece of work beside the loop.
        """
        self._jobs = tuple(jobs)
        self._name = name
        self._ledger = ledger
        self._leading = leading
        self._grace = grace
        self._clock = clock or SystemClock()
        self._start_work = start
        self._bell = Bell()
        self._give_up = threading.Event()
        self._dispatcher = Dispatcher(
            ledger, clock_name=name, send=send, clock=self._clock, stop=self._bell, give_up=self._give_up
        )
        self._claim: Claim | None = None
        self._agendas: list[Agenda] = []
        self._flights: dict[tuple[str, datetime], _Flight] = {}
        self._outcomes: deque[tuple[_Flight, Outcome]] = deque()
        self._silent: set[str] = set()
        self._released = threading.Event()
        self._released.set()
        self._renewed = self._told_alive = self._began = -math.inf
        self._turned = self._clock.monotonic()

    def run(self) -> None:
        """Stand by and lead by turns until asked to stop; nothing is at work afterwards, or it was given up.

        Raises:
            InputInvalidError: The store's time limits do not fit in the lease.
        """
        while (claim := self._leading.wait(self._bell)) is not None:
            try:
                self._lead(claim)
            except Exception:
                self._let_go(claim, "the clock broke down")
                raise
        self._wind_up()

    def stop(self) -> None:
        """Let `run` come to its end within the grace."""
        self._bell.stop()

    def break_off(self) -> None:
        """Stop the commands that are at work, and insist on nothing any more."""
        self._give_up.set()

    def trouble(self) -> str | None:
        """Why this process is not healthy; None if it is."""
        if self._claim is None:
            silent = self._leading.silent_for
            return None if silent < _RED_AFTER else f"standing by, but the ledger has not answered for {silent:.0f} s"
        now = self._clock.monotonic()
        if now - self._turned >= _RED_AFTER:
            return f"the loop has not moved for {now - self._turned:.0f} s"
        for flight in list(self._flights.values()):
            if now - flight.began >= flight.job.timeout.total_seconds() + _HANGS_AFTER:
                return (
                    f"the dispatch of {flight.job.name} {period_of(flight.tick)} hangs for {now - flight.began:.0f} s"
                )
        if silent_jobs := sorted(self._silent):
            return f"the target of {', '.join(silent_jobs)} did not answer in time"
        for agenda in list(self._agendas):
            for tick, it in list(agenda.waiting.items()):
                at_work = (agenda.job.name, tick) in self._flights
                if not at_work and it.failed_at is None and now - it.taken_up >= _RED_AFTER:
                    return f"{agenda.job.name} {period_of(tick)} is due for {now - it.taken_up:.0f} s"
        return None

    def take_over(self, claim: Claim) -> bool:
        """Begin a term: find out how far each job is. False if that cannot be read; the lease is then let go."""
        now = self._clock.now()
        try:
            cursors = from_checkpoint(self._jobs, claim.resume_from, now)
            if cursors is None:
                cursors = {
                    job.name: from_rows(job, self._ledger.page(self._dispatcher.row_job(job), limit=_ROWS).runs, now)
                    for job in self._jobs
                }
        except LedgerUnavailableError as error:
            report("unavailable", level="ERROR", job=self._name, message=f"{error}; cannot lead")
            self._let_go(claim, "the rows could not be read")
            return False
        self._claim = claim
        self._agendas = [Agenda(job, cursors[job.name]) for job in self._jobs]
        self._turned = self._began = self._clock.monotonic()
        self._renewed = -math.inf  # so that the cursors of new jobs are written down at once
        report("leading", job=self._name, attempt=claim.attempt, fence=claim.fence, owner=claim.record.owner)
        return True

    def turn(self) -> float | None:
        """Do everything that is due; seconds until the next turn, or None when the term is over."""
        claim = self._claim
        if claim is None:
            return None
        now, monotonic = self._clock.now(), self._clock.monotonic()
        self._turned = monotonic
        self._collect(now)
        if self._bell.is_set():
            self._release(claim)
            return None
        for agenda in self._agendas:
            self._take_up(agenda, now, monotonic)
        chosen = self._choose(now)
        good_for = _FRESH if chosen else claim.lease.total_seconds() / 4
        if (monotonic - self._renewed >= good_for or claim.lost) and not self._renew(claim):
            return None
        self._tell_alive(monotonic)
        now = self._clock.now()  # renewing may have taken a while
        for agenda, tick in chosen:
            self._start(_order(agenda, tick, now))
        return 0.0 if self._outcomes else self._pause(claim)

    def _lead(self, claim: Claim) -> None:
        if self.take_over(claim):
            while (pause := self.turn()) is not None:
                self._clock.wait(self._bell, pause)

    def _take_up(self, agenda: Agenda, now: datetime, monotonic: float) -> None:
        too_many = agenda.advance(now, monotonic)
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

    def _choose(self, now: datetime) -> list[tuple[Agenda, datetime]]:
        """The ticks to try now, as far as there are workers."""
        chosen: list[tuple[Agenda, datetime]] = []
        of_all = len(self._flights)
        for agenda in self._agendas:
            busy = {flight.tick for flight in self._flights.values() if flight.job is agenda.job}
            of_job = len(busy)
            for tick in agenda.ready(now, busy=busy):
                if not may_start(of_job=of_job, of_all=of_all):
                    break
                chosen.append((agenda, tick))
                of_job, of_all = of_job + 1, of_all + 1
        return chosen

    def _start(self, order: Order) -> None:
        flight = _Flight(job=order.job, tick=order.tick, began=self._clock.monotonic())

        def work() -> None:
            self._outcomes.append((flight, self._dispatcher.carry_out(order)))
            self._bell.ring()

        self._flights[order.job.name, order.tick] = flight
        try:
            self._start_work(work)
        except RuntimeError as error:  # no thread is to be had
            report("tick_unclear", level="ERROR", clock=self._name, job=order.job.name, error=str(error))
            self._outcomes.append((flight, Outcome(Ending.AGAIN)))

    def _collect(self, now: datetime) -> None:
        """Take in what the workers have done."""
        agendas = {agenda.job.name: agenda for agenda in self._agendas}
        while self._outcomes:
            flight, outcome = self._outcomes.popleft()
            self._flights.pop((flight.job.name, flight.tick), None)
            if outcome.answered is not None:
                (self._silent.discard if outcome.answered else self._silent.add)(flight.job.name)
            if outcome.ending is Ending.SETTLED:
                agendas[flight.job.name].settle(flight.tick)
            else:
                failed, unresolved = outcome.ending is Ending.FAILED, outcome.ending is Ending.UNRESOLVED
                agendas[flight.job.name].postpone(flight.tick, now, failed=failed, unresolved=unresolved)

    def _renew(self, claim: Claim) -> bool:
        """Renew the lease and write down the cursors, in one request; False if this process leads no more."""
        sent = self._clock.monotonic()
        try:
            claim.checkpoint(to_checkpoint({agenda.job: agenda.cursor for agenda in self._agendas}))
        except LeaseLostError as error:
            report("lost", level="ERROR", job=self._name, attempt=claim.attempt, message=str(error))
            self._let_go(claim, "the lease was lost")
            self._claim = None
            return False
        self._renewed = sent
        return True

    def _release(self, claim: Claim) -> None:
        """Give up the lease at once; what is at work is a matter of its own rows."""
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

        self._start_work(release)  # the ledger may be away for longer than the grace

    def _let_go(self, claim: Claim, why: str) -> None:
        """Free the row if it is still ours."""
        try:
            claim.interrupt(why)
        except LeaseLostError:
            return

    def _wind_up(self) -> None:
        """Wait for what is at work, and break it off before the grace is over."""
        until = self._clock.monotonic() + self._grace
        to_wind_up = min(_TO_WIND_UP, self._grace / 4)
        while self._flights or not self._released.is_set():
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

    def _tell_alive(self, monotonic: float) -> None:
        """Once a minute a metric that says that somebody leads: an alarm can be set on its absence."""
        if os.environ.get(METRICS) and monotonic - self._told_alive >= _BETWEEN_SIGNS_OF_LIFE:
            self._told_alive = monotonic
            report("leads", job=self._name)


def _order(agenda: Agenda, tick: datetime, now: datetime) -> Order:
    it = agenda.begin(tick)
    return Order(
        job=agenda.job,
        tick=tick,
        verdict=judge(agenda.job, tick, now, failed_at=it.failed_at, unresolved=it.unresolved),
        tries=it.tries,
        failed_at=it.failed_at,
        unresolved=it.unresolved,
    )
