"""Read the rows of a job where some of them may be unreadable: such a row is reported, and stops nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from cronce import InputInvalidError, Ledger, RecordUnreadableError
from cronce.client.reporting import report
from cronce.protocol.records import RUN_PREFIX, RunRecord
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

    def newest(self, job: str, *, limit: int, before: str | None = None) -> list[RunRecord]:
        """The readable ones among the newest `limit` runs of the job, newest period first.

        Raises:
            LedgerUnavailableError: The ledger did not answer.
        """
        try:
            return list(self._ledger.page(job, limit=limit, before=before).runs)
        except RecordUnreadableError:
            return list(self._one_by_one(job, limit, before))

    def every(self, job: str) -> Iterator[RunRecord]:
        """Every readable run of the job, newest period first.

        Raises:
            LedgerUnavailableError: The ledger did not answer.
        """
        before: str | None = None
        while True:
            try:
                page = self._ledger.page(job, limit=_PAGE, before=before)
            except RecordUnreadableError:
                yield from self._one_by_one(job, None, before)
                return
            yield from page.runs
            before = page.before
            if before is None:
                return

    def of_ticks(self, job: str, ticks: Sequence[datetime]) -> tuple[dict[datetime, RunRecord], set[datetime]]:
        """The rows of the ticks, and the ticks whose row is unreadable; a tick without a row is in neither.

        Raises:
            LedgerUnavailableError: The ledger did not answer.
        """
        if len(ticks) > _FEW:
            try:
                return self._of_many(job, ticks), set()
            except RecordUnreadableError:
                pass
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

    def _of_many(self, job: str, ticks: Sequence[datetime]) -> dict[datetime, RunRecord]:
        wanted: dict[str, datetime] = {period_of(tick): tick for tick in ticks}
        rows: dict[datetime, RunRecord] = {}
        before: str | None = period_of(ticks[-1] + timedelta(seconds=1))
        while before is not None and before > period_of(ticks[0]):
            page = self._ledger.page(job, limit=_PAGE, before=before)
            rows |= {wanted[run.period]: run for run in page.runs if run.period in wanted}
            before = page.before
        return rows

    def _one_by_one(self, job: str, limit: int | None, before: str | None) -> Iterator[RunRecord]:
        """The readable runs before a period; the error of an unreadable one says where to go on."""
        count = 0
        while limit is None or count < limit:
            count += 1
            try:
                page = self._ledger.page(job, limit=1, before=before)
            except RecordUnreadableError as error:
                self.report(error)
                before = error.key.removeprefix(RUN_PREFIX)
                continue
            except InputInvalidError:  # the key of the row before is no period: nothing leads on from there
                return
            yield from page.runs
            before = page.before
            if before is None:
                return
