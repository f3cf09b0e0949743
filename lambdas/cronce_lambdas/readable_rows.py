"""Read the rows of a job where some of them may be unreadable: such a row is reported, and stops nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from cronce import Ledger, RecordUnreadableError
from cronce.client.reporting import report
from cronce.protocol.records import RunRecord, UnreadableRow
from cronce.vocabulary.names import period_of

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

    def of_ticks(self, job: str, ticks: Sequence[datetime]) -> tuple[dict[datetime, RunRecord], set[datetime]]:
        """The rows of the ticks, and the ticks whose row is unreadable; a tick without a row is in neither.

        Raises:
            LedgerUnavailableError: The ledger did not answer.
        """
        if len(ticks) > _FEW:
            return self._of_many(job, ticks)
        rows: dict[datetime, RunRecord] = {}
        unreadable: set[datetime] = set()
        for tick in ticks:
            try:
                run = self._ledger.run(job, period_of(tick))
            except RecordUnreadableError as error:
                self.report(error)
                unreadable.add(tick)
            else:
                rows |= {} if run is None else {tick: run}
        return rows, unreadable

    def report(self, error: RecordUnreadableError) -> None:
        """Report the unreadable row, with a metric."""
        if (error.job, error.key) not in self._reported:
            self._reported.add((error.job, error.key))
            report("row_unreadable", level="ERROR", job=error.job, ledger=self._ledger_name, error=str(error))

    @property
    def unreadable(self) -> int:
        """How many unreadable rows were found."""
        return len(self._reported)

    def _of_many(self, job: str, ticks: Sequence[datetime]) -> tuple[dict[datetime, RunRecord], set[datetime]]:
        wanted: dict[str, datetime] = {period_of(tick): tick for tick in ticks}
        found: list[RunRecord | UnreadableRow] = []
        page = self._ledger.page(job, limit=_PAGE, before=period_of(ticks[-1] + timedelta(seconds=1)))
        found += page.rows
        while page.before is not None and page.rows[-1].period > period_of(ticks[0]):
            page = self._ledger.page(job, limit=_PAGE, before=page.before)
            found += page.rows
        rows = {wanted[run.period]: run for run in self._readable(found) if run.period in wanted}
        unreadable = {row.period for row in found if isinstance(row, UnreadableRow)}
        return rows, {tick for period, tick in wanted.items() if period in unreadable}

    def _readable(self, rows: Iterable[RunRecord | UnreadableRow]) -> list[RunRecord]:
        readable: list[RunRecord] = []
        for row in rows:
            if isinstance(row, UnreadableRow):
                self.report(RecordUnreadableError(row.job, row.key, row.problem))
            else:
                readable.append(row)
        return readable
