"""Find jobs that have had no success for too long, and runs that take too long.

Each look reports both while they last, so that the metric counts them. The event is sent once, in the first look after
the job's patience has ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice

from cronce.client.ledger import Ledger
from cronce.protocol.records import RunRecord
from cronce.vocabulary.errors import RecordUnreadableError
from cronce.watch.jobs import WatchedJob
from cronce.watch.launches import Bus
from cronce.watch.memory import Memory
from cronce.watch.notices import no_success, run_too_long
from cronce.watch.patience import is_news, last_sign, longest_run, patience_with

_MOST_ROWS = 1000
"""How many of a job's newest runs are searched for a success."""


@dataclass(frozen=True, kw_only=True)
class LongWaits:
    """Finds both in one look.

    Attributes:
        name: The ledger's name, a dimension of the metrics.
        now: When the look began.
        looked_at: When the last look began.
        found: Counts of what the look found.
    """

    ledger: Ledger
    bus: Bus
    name: str
    now: datetime
    looked_at: datetime | None
    found: Counter[str]

    def look_at_runs(self, job: WatchedJob, active: Iterable[RunRecord]) -> None:
        """Report the job's active runs that take longer than they may."""
        for run in active:
            longest = longest_run(job, self.now)
            if longest is None or run.claimed_at is None or self.now - run.claimed_at <= longest:
                continue
            self.found["too_long"] += 1
            notice = run_too_long(run, longest, ledger=self.name)
            if is_news(run.claimed_at, longest, looked_at=self.looked_at):
                self.bus.put([notice])

    def look_for_success(self, job: WatchedJob, memory: Memory) -> Memory:
        """Report a job that has had no success for too long; return the memory with the newest success.

        The rows are read only when the success that is remembered is too old.

        Raises:
            LedgerUnavailableError: The ledger did not answer.
        """
        if memory.success_at is None:
            return replace(memory, success_at=self.now)
        patience = patience_with(job, self.now)
        # A disabled schedule starts nothing, but a clock may start its job: then the definition has a limit.
        is_off = job.policy.suspend or (not job.enabled and job.no_success_for is None)
        if is_off or patience is None or self.now - memory.success_at <= patience:
            return memory
        newest, since, is_whole = self._search(job.job, memory.success_at)
        memory = replace(memory, success_at=since) if is_whole else memory
        if self.now - since <= patience or self._is_paused(job.job):
            return memory
        self.found["no_success"] += 1
        notice = no_success(job.job, since, patience, newest, ledger=self.name)
        if is_news(since, patience, looked_at=self.looked_at):
            self.bus.put([notice])
        return memory

    def _search(self, job: str, since: datetime) -> tuple[RunRecord | None, datetime, bool]:
        """The newest run that has ended, the newest success, and False if older runs may hold a newer one."""
        newest = None
        oldest = self.now
        count = 0
        for run in islice(self.ledger.runs(job), _MOST_ROWS):
            count += 1
            newest = newest or (run if run.finished_at is not None else None)
            sign = last_sign(run)
            if sign is not None and sign > since:
                return newest, sign, True
            oldest = min(oldest, run.finished_at or run.claimed_at or oldest)
            if oldest < since - timedelta(days=1):
                break
        return (newest, max(since, oldest), False) if count == _MOST_ROWS else (newest, since, True)

    def _is_paused(self, job: str) -> bool:
        try:
            return self.ledger.pause_of(job) is not None
        except RecordUnreadableError:  # it is reported already
            return False
