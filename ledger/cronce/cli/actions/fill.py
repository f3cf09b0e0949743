"""Fill the gaps of a job: what stands for each tick, and one start after the other until all is done."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from cronce.cli.actions.follow import StartedAttempt
from cronce.cli.actions.may_start import Refuse, Standing, Start, standing_of
from cronce.protocol.records import RunRecord
from cronce.protocol.requests import RefusalReason
from cronce.vocabulary.names import period_of
from cronce.vocabulary.policy import OnLost
from cronce.vocabulary.values import value_class


@value_class(kw_only=True)
class Gap:
    """A tick and what the ledger says of it.

    Attributes:
        tick: Its nominal time, in UTC.
        standing: As it was when the plan was made.
    """

    tick: datetime
    standing: Standing

    @property
    def period(self) -> str:
        """The period of the tick."""
        return period_of(self.tick)

    @property
    def is_done(self) -> bool:
        """True if there is nothing to do."""
        return self.standing is Standing.DONE


def plan(ticks: Iterable[datetime], runs: Mapping[str, RunRecord], on_lost: OnLost, now: datetime) -> list[Gap]:
    """Each tick with what stands for it."""
    return [Gap(tick=tick, standing=standing_of(runs.get(period_of(tick)), on_lost, now)) for tick in ticks]


class Result(StrEnum):
    """What became of a tick, stable, for scripts."""

    ALREADY_DONE = "already_done"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    NOT_LAUNCHED = "not_launched"
    REFUSED = "refused"
    AT_WORK = "at_work"
    """Nobody waited for its end."""
    NOT_STARTED = "not_started"

    @property
    def is_problem(self) -> bool:
        """True if the backfill should not go on over it."""
        return self in (Result.FAILED, Result.NOT_LAUNCHED, Result.REFUSED)


class Work(Protocol):
    """What a backfill does to the world, and whom it tells."""

    def may_start(self, gap: Gap) -> Start | Refuse:
        """Whether the tick's run may start now."""

    def start(self, gap: Gap, start: Start) -> StartedAttempt | str:
        """Start its task; the reason if it was not started."""

    def found(self, gap: Gap, run: RunRecord) -> StartedAttempt:
        """Follow the attempt that somebody else began."""

    def now(self) -> datetime:
        """The time."""

    def pause(self) -> None:
        """Wait until it is worth while to look again."""

    def tell_waiting(self, gap: Gap, why: str) -> None:
        """The tick has to wait for another run."""

    def tell_started(self, gap: Gap, attempt: StartedAttempt) -> None:
        """Its task was started, or it was found at work."""

    def tell_settled(self, gap: Gap, result: Result, text: str) -> None:
        """It has come to its end."""


class Backfill:
    """One start after the other, at most so many at a time, each followed to its end.

    Whatever ends this process, each task goes on by itself and settles its own run; the same
    backfill again finds in the ledger what is left.

    Attributes:
        results: What became of the ticks so far, by period.
        waiting: Ticks that were not started.
        open: Ticks whose attempt is not settled.
        starting: The tick whose task is being started right now: if that is interrupted, nobody knows.
    """

    def __init__(self, gaps: Iterable[Gap], work: Work, *, parallel: int = 1, keep_going: bool = False) -> None:
        """Nothing is started yet.

        Args:
            gaps: The ticks, in the order in which they are to run.
            work: What is done to the world.
            parallel: So many may be at work at a time.
            keep_going: True to go on after a failure.
        """
        self.results: dict[str, Result] = {}
        self.waiting: deque[Gap] = deque()
        self.open: list[tuple[Gap, StartedAttempt]] = []
        self.starting: Gap | None = None
        self._work, self._parallel, self._keep_going = work, parallel, keep_going
        self._halted = False
        self._told_waiting: tuple[str, str] | None = None
        for gap in gaps:
            if gap.is_done:
                self.results[gap.period] = Result.ALREADY_DONE
            else:
                self.waiting.append(gap)

    def run(self) -> None:
        """Go on until every tick is settled, or until a failure is; then what is at work is awaited."""
        while True:
            self._start_some()
            self._look()
            if not self.open and (self._halted or not self.waiting):
                return
            self._work.pause()

    @property
    def is_all_done(self) -> bool:
        """True if there is no gap left."""
        done = (Result.ALREADY_DONE, Result.SUCCEEDED)
        return not self.open and not self.waiting and all(result in done for result in self.results.values())

    def result_of(self, gap: Gap) -> Result:
        """What became of the tick so far."""
        if gap.period in self.results:
            return self.results[gap.period]
        at_work = any(gap.period == other.period for other, _ in self.open)
        return Result.AT_WORK if at_work else Result.NOT_STARTED

    def _start_some(self) -> None:
        while self.waiting and len(self.open) < self._parallel and not self._halted:
            gap = self.waiting[0]
            verdict = self._work.may_start(gap)
            if isinstance(verdict, Start):
                self.starting = gap
                started = self._work.start(gap, verdict)
                # Not before: whoever interrupts the line above finds the tick still waiting.
                self.waiting.popleft()
                self.starting = None
                if isinstance(started, str):
                    self._settle(gap, Result.NOT_LAUNCHED, started)
                else:
                    self._open(gap, started)
            elif verdict.in_the_way is None:
                self.waiting.popleft()
                done = verdict.reason is RefusalReason.ALREADY_SUCCEEDED
                self._settle(gap, Result.ALREADY_DONE if done else Result.REFUSED, verdict.why)
            elif verdict.in_the_way.period == gap.period:
                self.waiting.popleft()
                self._open(gap, self._work.found(gap, verdict.in_the_way))
            else:
                self._wait(gap, verdict.in_the_way, verdict.why)
                return

    def _look(self) -> None:
        still = []
        for gap, attempt in self.open:
            outcome = attempt.look(self._work.now())
            if outcome is None:
                still.append((gap, attempt))
            elif not outcome.ok and attempt.task is None:
                self.waiting.appendleft(gap)  # somebody else's attempt failed; now it is our turn
            else:
                self._settle(gap, Result.SUCCEEDED if outcome.ok else Result.FAILED, outcome.text)
        self.open = still

    def _wait(self, gap: Gap, holder: RunRecord, why: str) -> None:
        """Tell it once, not at every look."""
        if self._told_waiting != (gap.period, holder.period):
            self._told_waiting = (gap.period, holder.period)
            self._work.tell_waiting(gap, why)

    def _open(self, gap: Gap, attempt: StartedAttempt) -> None:
        self.open.append((gap, attempt))
        self._work.tell_started(gap, attempt)

    def _settle(self, gap: Gap, result: Result, text: str) -> None:
        self.results[gap.period] = result
        self._halted = self._halted or (result.is_problem and not self._keep_going)
        self._work.tell_settled(gap, result, text)
