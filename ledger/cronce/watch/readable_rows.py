"""Read the rows of a job where some of them may be unreadable: such a row is reported, and stops nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from cronce.client.ledger import Ledger
from cronce.client.reporting import report
from cronce.protocol.records import RunRecord, UnreadableRow
from cronce.stores.store import Bound
from cronce.vocabulary.errors import RecordUnreadableError
from cronce.watch.jobs import WatchedJob

_FEW = 3
"""Up to this many rows are read one by one; more are read a page at a time."""

_PAGE = 100


class Rows:
    """Reads for one look. An unreadable row is reported once, and is never acted on."""

    def __init__(self, ledger: Ledger, ledger_name: str) -> None:
        self._ledger = ledger
        self._ledger_name = ledger_name
        self._reported: set[tuple[str, str]] = set()

    def newest(self, job: str, *, limit: int) -> list[RunRecord]:
        """The readable ones among the newest `limit` runs of the job, newest period first.

        Raises:
            LedgerUnavailableError: The ledger did not answer.
        """
        return self._readable(self._ledger.page(job, limit=limit).rows)

    def every(self, job: str) -> list[RunRecord]:
        """Every readable run of the job, newest period first.

        Raises:
            LedgerUnavailableError: The ledger did not answer.
        """
        return self._readable(self._ledger.rows(job))

    def of_ticks(self, job: WatchedJob, ticks: Sequence[datetime]) -> tuple[dict[datetime, RunRecord], set[datetime]]:
        """The rows of the ticks, and the ticks whose row is unreadable; a tick without a row is in neither.

        Raises:
            LedgerUnavailableError: The ledger did not answer.
        """
        periods = {tick: job.period_of(tick) for tick in ticks}
        if len(ticks) > _FEW:
            by_period, unreadable = self._between(job.job, min(periods.values()), max(periods.values()))
        else:
            by_period, unreadable = self._one_by_one(job.job, periods.values())
        rows = {tick: by_period[period] for tick, period in periods.items() if period in by_period}
        return rows, {tick for tick, period in periods.items() if period in unreadable}

    def report(self, error: RecordUnreadableError) -> None:
        """Report the unreadable row, with a metric."""
        if (error.job, error.key) not in self._reported:
            self._reported.add((error.job, error.key))
            report("row_unreadable", level="ERROR", job=error.job, ledger=self._ledger_name, error=str(error))

    @property
    def unreadable(self) -> int:
        """How many unreadable rows were found."""
        return len(self._reported)

    def _one_by_one(self, job: str, periods: Iterable[str]) -> tuple[dict[str, RunRecord], set[str]]:
        rows: dict[str, RunRecord] = {}
        unreadable: set[str] = set()
        for period in periods:
            try:
                run = self._ledger.run(job, period)
            except RecordUnreadableError as error:
                self.report(error)
                unreadable.add(period)
            else:
                rows |= {} if run is None else {period: run}
        return rows, unreadable

    def _between(self, job: str, first: str, last: str) -> tuple[dict[str, RunRecord], set[str]]:
        page = self._ledger.page(job, limit=_PAGE, before=Bound.at(last))
        found = [*page.rows]
        while page.before is not None and page.rows[-1].period > first:
            page = self._ledger.page(job, limit=_PAGE, before=page.before)
            found += page.rows
        rows = {run.period: run for run in self._readable(found)}
        return rows, {row.period for row in found if isinstance(row, UnreadableRow)}

    def _readable(self, rows: Iterable[RunRecord | UnreadableRow]) -> list[RunRecord]:
        readable: list[RunRecord] = []
        for row in rows:
            if isinstance(row, UnreadableRow):
                self.report(RecordUnreadableError(row.job, row.key, row.problem))
            else:
                readable.append(row)
        return readable
