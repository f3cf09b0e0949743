"""The interface between the rules and a database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Protocol, TypeVar, runtime_checkable

from cronce.protocol.operations import Swapped
from cronce.protocol.records import Record, RunRecord, UnreadableRow
from cronce.vocabulary.errors import RecordUnreadableError
from cronce.vocabulary.values import value_class

T = TypeVar("T")


class Bound(str):
    """Where a page begins, as text: the period of the last row of the page before, whatever wrote it."""

    __slots__ = ()

    @classmethod
    def at(cls, tick_period: str) -> Bound:
        """The bound of a page that begins with this period of a tick; `~` follows every character in it."""
        return cls(f"{tick_period}~")


@value_class
class Page:
    """Some runs of a job, newest period first.

    Attributes:
        rows: The rows; those that cannot be read are among them.
        before: Pass it to `Store.query` for the next page; None if this is the last.
    """

    rows: tuple[RunRecord | UnreadableRow, ...]
    before: Bound | None

    @property
    def runs(self) -> tuple[RunRecord, ...]:
        """The rows that can be read."""
        return tuple(row for row in self.rows if isinstance(row, RunRecord))

    @property
    def unreadable(self) -> tuple[UnreadableRow, ...]:
        """The rows that cannot be read."""
        return tuple(row for row in self.rows if isinstance(row, UnreadableRow))


def page_of(items: Sequence[T], read: Callable[[T], Record], *, more: bool) -> Page:
    """The page of these items; one unreadable row does not hide the others.

    Args:
        items: Rows of runs of one job, newest first.
        read: Makes a record of one; raises `RecordUnreadableError`.
        more: True if older rows follow.
    """
    rows: list[RunRecord | UnreadableRow] = []
    for item in items:
        try:
            record = read(item)
        except RecordUnreadableError as error:
            rows.append(UnreadableRow(job=error.job, key=error.key, problem=error.problem))
        else:
            if isinstance(record, RunRecord):
                rows.append(record)
    return Page(tuple(rows), Bound(rows[-1].period) if more and rows else None)


@runtime_checkable
class JobLister(Protocol):
    """A store that can list its jobs without reading every row."""

    def jobs(self) -> tuple[str, ...]:
        """The jobs with rows, in the order of their names."""


@runtime_checkable
class Inspectable(Protocol):
    """A store whose table may have been made by somebody else."""

    def differences(self) -> tuple[str, ...]:
        """How the table differs from one that `create` makes, one sentence each; empty if it does not."""


@runtime_checkable
class Cautious(Protocol):
    """A store that may not keep every answered write."""

    @property
    def caution(self) -> str | None:
        """How it can forget a claim, in a sentence; None if it cannot, or if it has not answered yet."""


class Store(Protocol):
    """Keeps records and swaps them one at a time, atomically.

    Every method raises `LedgerUnavailableError` if there is no usable answer (`transient` if the same request may
    succeed a moment later). `swap`, `take` and `get` raise `RecordUnreadableError` if the row cannot be read; `query`
    lists such rows as `UnreadableRow`. Safe to use from several threads.
    """

    @property
    def where(self) -> str:
        """The store's name for messages: for DynamoDB the table, the Region and the endpoint."""

    @property
    def call_timeout(self) -> timedelta:
        """The longest that one call may take, including retries below this interface."""

    @property
    def answered_at(self) -> datetime | None:
        """The store's time in its last answer to this thread, in whole seconds; None if it does not report one."""

    def swap(self, record: Record, expected: Record | None) -> Swapped:
        """Write the whole record if the row is the expected one; else write nothing.

        If `expected` is None, no row may exist. Otherwise the row must have the version and the token of `expected`.
        The token is needed because a row that was deleted and created again starts at version 1 again. If nothing is
        written, the existing row is returned in the same round trip, consistent with the refusal.
        """

    def take(self, run: RunRecord, at: datetime) -> Swapped:
        """Acquire the slot of the run's job if it is free, in one atomic step and without knowing its version.

        If `slot.is_free_for(run)`, write `slot.taken_by(run, at=at)`; no row is `SlotRecord(job=run.job, version=0)`.
        Else write nothing. In both cases the answer has the slot as it is then. A late copy of the request is
        harmless: a slot whose run has ended is stale.
        """

    def get(self, job: str, key: str) -> Record | None:
        """The row, or None. Sees every write that was answered before this call."""

    def query(self, job: str, *, limit: int, before: str | None = None) -> Page:
        """At most `limit` runs of the job with periods before `before`, newest first."""

    def create(self) -> bool:
        """Create the table or file; True if it was created, False if it exists."""

    def close(self) -> None:
        """Close all connections; the store cannot be used afterwards."""
