"""Find jobs that have had no success for too long, and runs that take too long.

Each look reports both while they last, so that the metric counts them. The event is sent once, in the first look after
the job's patience has ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from cronce.client.ledger import Ledger
from cronce.protocol.records import RunRecord
from cronce.stores.store import Bound
from cronce.vocabulary.errors import RecordUnreadableError
from cronce.watch.jobs import WatchedJob
from cronce.watch.launches import Bus
from cronce.watch.memory import Memory
from cronce.watch.notices import no_success, run_too_long
from cronce.watch.patience import is_news, last_sign, longest_run, patience_with

_MOST_ROWS, _PAGE = 1000, 100
"""How many rows of a job one look searches for a success, twice at most, and how many it reads at once."""

_ALL = ""
"""Where a search goes on that has searched every row that matters."""

_WITHOUT_A_GAP = timedelta(minutes=10)
"""So long after a look the newest rows begin before those that it has searched; later the search begins again."""


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
        newest, then, is_whole = self._search(job.job, memory)
        since = then.success_at or self.now
        if not is_whole or self.now - since <= patience or self._is_paused(job.job):
            return then
        self.found["no_success"] += 1
        notice = no_success(job.job, since, patience, newest, ledger=self.name)
        if memory.searched or is_news(since, patience, looked_at=self.looked_at):
            self.bus.put([notice])
        return then

    def _search(self, job: str, memory: Memory) -> tuple[RunRecord | None, Memory, bool]:
        """The newest run that has ended, the memory after this search, and False if older rows have to be searched.

        A look searches the newest rows, and as many before those that earlier looks have searched.
        """
        searched = memory.searched if self.looked_at and self.now - self.looked_at < _WITHOUT_A_GAP else None
        since = memory.success_at or self.now
        newest, success, older = self._search_before(job, None, since)
        if older:
            if searched != _ALL:
                _, success, searched = self._search_before(job, Bound(searched or older), since)
            older = searched
        if success is not None:
            return newest, replace(memory, success_at=success, searched=None), True
        return newest, replace(memory, searched=searched), not older

    def _search_before(
        self, job: str, before: Bound | None, since: datetime
    ) -> tuple[RunRecord | None, datetime | None, str]:
        """Search some rows: the newest run that has ended, a success after `since`, and where the search goes on."""
        newest = None
        for _ in range(_MOST_ROWS // _PAGE):
            page = self.ledger.page(job, limit=_PAGE, before=before)
            for run in page.runs:
                newest = newest or (run if run.finished_at is not None else None)
                sign = last_sign(run)
                if sign is not None and sign > since:
                    return newest, sign, _ALL
                at = run.finished_at or run.claimed_at
                if at is not None and at < since - timedelta(days=1):
                    return newest, None, _ALL
            if page.before is None:
                return newest, None, _ALL
            before = page.before
        return newest, None, str(before)

    def _is_paused(self, job: str) -> bool:
        try:
            return self.ledger.pause_of(job) is not None
        except RecordUnreadableError:  # it is reported already
            return False
