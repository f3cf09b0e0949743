"""What `cronce sweep` does in one pass: find the runs that died or may be retried, and run the command for each.

            RUNNING, lease expired             FAILED
      pass ------------------------> FAILED(lease_lost)
        |                                     |  `again_at`: a machine may start it, and its delay has passed;
        |                                     |  no other run of the job is alive (unless they may overlap)
        |                                     v
        |                              claim, run, settle: the path of `cronce exec`
        |                                     |
        +<------------------------------------+  look again, because the claim may have taken long

The claim decides. The look before it only saves requests, and keeps a retry from being skipped because it overlaps.
Any number of sweeps may work on one ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from itertools import islice
from typing import Protocol

from cronce.client.leadership import LEADER
from cronce.client.ledger import Ledger
from cronce.client.observer import Observer
from cronce.client.refusal import Refusal
from cronce.client.reporting import report
from cronce.client.time_source import Clock, StopSignal
from cronce.guard.child import Ended
from cronce.protocol.records import Liveness, RunRecord
from cronce.protocol.retrying import Leave, again_at
from cronce.vocabulary.errors import LeaseLostError, LedgerUnavailableError, RecordUnreadableError
from cronce.vocabulary.policy import ConcurrencyPolicy, Policy
from cronce.vocabulary.states import Reason, Status

FEW, MANY = 100, 1000
"""How many of a job's newest rows a pass reads, and how many the first pass and one every ten minutes."""

BETWEEN_DEEP_LOOKS = timedelta(minutes=10)


class TakeUp(Protocol):
    """Claims a run as a retry and runs the command for it."""

    def __call__(self, run: RunRecord) -> Ended | Refusal:
        """How the command ended, or why the run is not this process's.

        Raises:
            LedgerUnavailableError: The ledger cannot be used.
            LeaseLostError: Another process may have the run.
        """


class Sweep:
    """Passes over jobs. One command runs at a time."""

    def __init__(
        self,
        ledger: Ledger,
        jobs: Callable[[], Iterable[str]],
        *,
        policy: Policy,
        take_up: TakeUp,
        clock: Clock,
        most: int,
    ) -> None:
        """Make no request yet.

        Args:
            ledger: Where the runs are.
            jobs: The jobs of a pass.
            policy: The policy of their runs.
            take_up: Runs the command for a run.
            clock: The source of time.
            most: How many commands one pass runs.
        """
        self._ledger = ledger
        self._jobs = jobs
        self._policy = policy
        self._take_up = take_up
        self._clock = clock
        self._most = most
        self._refused: dict[tuple[str, str], int] = {}  # the version that was refused: asking again changes nothing
        self._reported: set[tuple[str, str]] = set()
        self._deep_at: datetime | None = None

    def once(self, stop: StopSignal) -> bool:
        """Make one pass, until asked to stop; True if nothing that it tried failed.

        Raises:
            LedgerUnavailableError: The ledger cannot be used; the next pass goes on.
            InputInvalidError: A job is not one whose runs are work.
        """
        now = self._clock.now()
        deep = self._deep_at is None or now - self._deep_at >= BETWEEN_DEEP_LOOKS
        if deep:
            self._refused.clear()
            self._reported.clear()
        well, left = True, self._most
        for job in self._jobs():
            limit = MANY if deep else FEW
            try:
                while left and not stop.is_set() and (run := self._next(job, limit)) is not None:
                    limit = FEW
                    left -= 1
                    well &= self._try(run)
            except RecordUnreadableError as error:
                self._report_unreadable(error)
                well = False
        if deep:
            self._deep_at = now
        return well

    def _next(self, job: str, limit: int) -> RunRecord | None:
        """The oldest run of the job to take up now. Marks those whose lease has expired."""
        rows = self._rows(job, limit)
        if self._policy.concurrency_policy is not ConcurrencyPolicy.ALLOW:
            holder = self._ledger.holder(job)
            rows |= {} if holder is None else {holder.period: holder}
        now = self._clock.now()
        runs = [self._settled(run, now) for run in rows.values()]
        may_overlap = self._policy.concurrency_policy is ConcurrencyPolicy.ALLOW
        if not may_overlap and any(run.status is Status.RUNNING for run in runs):
            return None
        due = [(at, run) for run in runs if (at := self._due_at(run)) is not None and at <= now]
        if not due or self._ledger.pause_of(job) is not None:  # a claim would turn the run into a final SKIPPED(paused)
            return None
        return min(due, key=lambda each: each[0])[1]

    def _rows(self, job: str, limit: int) -> dict[str, RunRecord]:
        rows: dict[str, RunRecord] = {}
        for row in islice(self._ledger.rows(job), limit):
            if not isinstance(row, RunRecord):
                self._report_unreadable(RecordUnreadableError(row.job, row.key, row.problem))
            elif row.period != LEADER:
                rows[row.period] = row
        return rows

    def _settled(self, run: RunRecord, now: datetime) -> RunRecord:
        """The run after it was marked FAILED(lease_lost), if its lease has expired."""
        if run.liveness(now) is not Liveness.EXPIRED:
            return run
        marked = Observer(self._ledger).mark_lost(run.job, run.period)
        if marked is None or marked.reason != Reason.LEASE_LOST or not marked.is_attempt(run.attempt, run.token):
            return marked or run
        left = again_at(marked, policy=self._policy)
        report(
            "run_lost",
            level="ERROR",
            job=run.job,
            period=run.period,
            owner=run.owner,
            attempt=run.attempt,
            why=left.why if isinstance(left, Leave) else None,
        )
        return marked

    def _due_at(self, run: RunRecord) -> datetime | None:
        if self._refused.get((run.job, run.period)) == run.version:
            return None
        at = again_at(run, policy=self._policy)
        return None if isinstance(at, Leave) else at

    def _try(self, run: RunRecord) -> bool:
        """Take the run up; False if it did not succeed. Whatever is wrong with this run stops no other one.

        Raises:
            LedgerUnavailableError: The ledger cannot be used.
        """
        try:
            end = self._take_up(run)
        except RecordUnreadableError as error:
            self._report_unreadable(error)
        except LedgerUnavailableError:
            raise
        except LeaseLostError:
            return False
        except Exception as error:  # noqa: BLE001  # one row must not stop the others
            report("not_taken_up", level="ERROR", job=run.job, period=run.period, error=repr(error))
        else:
            if not isinstance(end, Refusal):
                return end.exit_code == 0
            # Another sweep may have been quicker; then the row has changed.
            self._refused[run.job, run.period] = end.record.version if end.record else run.version
            return True
        self._refused[run.job, run.period] = run.version
        return False

    def _report_unreadable(self, error: RecordUnreadableError) -> None:
        if (error.job, error.key) not in self._reported:
            self._reported.add((error.job, error.key))
            report("row_unreadable", level="ERROR", job=error.job, error=str(error))
