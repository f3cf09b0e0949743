"""A store between the ledger and the real store that loses answers, and lets a test act in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cronce.vocabulary.errors import LedgerUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime, timedelta

    from cronce.protocol.operations import Swapped
    from cronce.protocol.records import Record, RunRecord
    from cronce.stores.store import Page, Store


class LossyStore:
    """Passes every call on; some writes are carried out, but their answers are lost.

    Attributes:
        losing: The number of the next writes whose answers are lost.
        after_next_swap: What happens before the next write's answer arrives.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.losing = 0
        self.after_next_swap: Callable[[], None] | None = None

    @property
    def where(self) -> str:
        """The real store's."""
        return self._store.where

    @property
    def call_timeout(self) -> timedelta:
        """The real store's."""
        return self._store.call_timeout

    @property
    def answered_at(self) -> datetime | None:
        """The real store's."""
        return self._store.answered_at

    def swap(self, record: Record, expected: Record | None) -> Swapped:
        """Carry out the swap; its answer may be lost."""
        return self._answered(self._store.swap(record, expected))

    def take(self, run: RunRecord, at: datetime) -> Swapped:
        """Carry out the take; its answer may be lost."""
        return self._answered(self._store.take(run, at))

    def _answered(self, answer: Swapped) -> Swapped:
        if action := self.after_next_swap:
            self.after_next_swap = None
            action()
        if self.losing:
            self.losing -= 1
            raise LedgerUnavailableError(self.where, "the answer was lost", transient=True)
        return answer

    def get(self, job: str, key: str) -> Record | None:
        """The real store's."""
        return self._store.get(job, key)

    def query(self, job: str, *, limit: int, before: str | None = None) -> Page:
        """The real store's."""
        return self._store.query(job, limit=limit, before=before)

    def create(self) -> bool:
        """The real store's."""
        return self._store.create()

    def close(self) -> None:
        """The real store's."""
        self._store.close()
