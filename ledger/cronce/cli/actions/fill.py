"""Fill the gaps of a job: plan its ticks, then start the missing runs and follow each to its end."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from cronce.cli.actions.follow import StartedAttempt
from cronce.cli.actions.may_start import PeriodState, Refuse, Start, period_state
from cronce.protocol.records import RunRecord, UnreadableRow
from cronce.protocol.requests import RefusalReason
from cronce.vocabulary.policy import OnLost


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A tick and the state of its run when the plan was made.

    Attributes:
        tick: Its nominal time, in UTC.
        period: The period of its run.
    """

    tick: datetime
    period: str
    state: PeriodState

    @property
    def is_done(self) -> bool:
        """True if its run has succeeded."""
        return self.state is PeriodState.DONE


def plan(
    ticks: Mapping[datetime, str], runs: Mapping[str, RunRecord | UnreadableRow], on_lost: OnLost, now: datetime
) -> list[Gap]:
    """Each tick, given with its period, with the state of its run."""
    return [
        Gap(tick=tick, period=period, state=period_state(runs.get(period), on_lost, now))
        for tick, period in ticks.items()
    ]


class Result(StrEnum):
    """The outcome of a tick; stable, for scripts."""

    ALREADY_DONE = "already_done"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    NOT_LAUNCHED = "not_launched"
    REFUSED = "refused"
    AT_WORK = "at_work"
    """The backfill ended before the run did."""
    NOT_STARTED = "not_started"

    @property
    def is_problem(self) -> bool:
        """True if the backfill stops on it, unless told to keep going."""
        return self in (Result.FAILED, Result.NOT_LAUNCHED, Result.REFUSED)


class Work(Protocol):
    """What a backfill needs from outside, and where it reports."""

    def may_start(self, gap: Gap) -> Start | Refuse:
        """Whether the run of the tick may start now."""

    def start(self, gap: Gap, start: Start) -> StartedAttempt | str:
        """Start its task, or return the reason why ECS did not."""

    def found(self, gap: Gap, run: RunRecord) -> StartedAttempt:
        """Follow an attempt that another start began."""

    def now(self) -> datetime:
        """The current time."""

    def pause(self) -> None:
        """Wait until the next look."""

    def report_waiting(self, gap: Gap, verdict: Refuse) -> None:
        """Report that the tick waits for another run."""

    def report_started(self, gap: Gap, attempt: StartedAttempt) -> None:
        """Report that its task was started, or that its run was found active."""

    def report_settled(self, gap: Gap, result: Result, text: str, command: str | None) -> None:
        """Report its outcome; `command` is what the text suggests to type."""


class Backfill:
    """Starts the runs in order, at most `parallel` at a time, and follows each to its end.

    If this process ends early, its tasks continue and settle their own runs; the same backfill
    then finds in the ledger what is left to do.

    Attributes:
        results: The outcome of each settled tick, by period.
        waiting: Ticks that were not started.
        open: Ticks whose attempt has not ended.
        starting: The tick whose task is being started. After an interruption it is unknown whether it was.
    """

    def __init__(self, gaps: Iterable[Gap], work: Work, *, parallel: int = 1, keep_going: bool = False) -> None:
        """Prepare the backfill; nothing is started yet.

        Args:
            gaps: The ticks, in the order in which they are to run.
            work: Starts and follows runs, and reports.
            parallel: How many runs may be active at a time.
            keep_going: True to continue after a failure.
        """
        self.results: dict[str, Result] = {}
        self.waiting: deque[Gap] = deque()
        self.open: list[tuple[Gap, StartedAttempt]] = []
        self.starting: Gap | None = None
        self._work, self._parallel, self._keep_going = work, parallel, keep_going
        self._halted = False
        self._reported_waiting: tuple[str, str, str] | None = None
        for gap in gaps:
            if gap.is_done:
                self.results[gap.period] = Result.ALREADY_DONE
            else:
                self.waiting.append(gap)

    def run(self) -> None:
        """Run until every tick is settled or one has failed; wait for active runs in either case."""
        while True:
            self._start_some()
            self._look()
            if not self.open and (self._halted or not self.waiting):
                return
            self._work.pause()

    @property
    def is_all_done(self) -> bool:
        """True if every tick has succeeded."""
        done = (Result.ALREADY_DONE, Result.SUCCEEDED)
        return not self.open and not self.waiting and all(result in done for result in self.results.values())

    def result_of(self, gap: Gap) -> Result:
        """The outcome of the tick so far."""
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
                # Only now: if the call above is interrupted, the tick must still count as waiting.
                self.waiting.popleft()
                self.starting = None
                if isinstance(started, str):
                    self._settle(gap, Result.NOT_LAUNCHED, started)
                else:
                    self._open(gap, started)
            elif verdict.wait_for is None:
                self.waiting.popleft()
                done = verdict.reason is RefusalReason.ALREADY_SUCCEEDED
                self._settle(gap, Result.ALREADY_DONE if done else Result.REFUSED, verdict.why, verdict.command)
            elif verdict.reason is RefusalReason.RUNNING_ELSEWHERE:
                self.waiting.popleft()
                self._open(gap, self._work.found(gap, verdict.wait_for))
            else:
                self._report_waiting(gap, verdict.wait_for, verdict)
                return

    def _look(self) -> None:
        still = []
        for gap, attempt in self.open:
            outcome = attempt.look(self._work.now())
            if outcome is None:
                still.append((gap, attempt))
            elif not outcome.ok and attempt.task is None:
                self.waiting.appendleft(gap)  # an attempt of another start failed: start our own
            else:
                self._settle(gap, Result.SUCCEEDED if outcome.ok else Result.FAILED, outcome.text)
        self.open = still

    def _report_waiting(self, gap: Gap, holder: RunRecord, verdict: Refuse) -> None:
        """Report once per holder, not at every look."""
        waiting = (gap.period, holder.job, holder.period)
        if self._reported_waiting != waiting:
            self._reported_waiting = waiting
            self._work.report_waiting(gap, verdict)

    def _open(self, gap: Gap, attempt: StartedAttempt) -> None:
        self.open.append((gap, attempt))
        self._work.report_started(gap, attempt)

    def _settle(self, gap: Gap, result: Result, text: str, command: str | None = None) -> None:
        self.results[gap.period] = result
        self._halted = self._halted or (result.is_problem and not self._keep_going)
        self._work.report_settled(gap, result, text, command)
