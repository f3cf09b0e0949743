"""A store in front of another store."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeVar

from cronce.protocol.operations import Swapped
from cronce.protocol.records import Record, RunRecord
from cronce.stores.store import Page, Store

T = TypeVar("T")


class PassingStore:
    """Passes every call on. A subclass overrides `_read`, `_write` or a method to do something before or after it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def where(self) -> str:
        """The other store's."""
        return self._store.where

    @property
    def call_timeout(self) -> timedelta:
        """The other store's."""
        return self._store.call_timeout

    @property
    def answered_at(self) -> datetime | None:
        """The other store's."""
        return self._store.answered_at

    def swap(self, record: Record, expected: Record | None) -> Swapped:
        """See `Store.swap`."""
        return self._write(lambda: self._store.swap(record, expected))

    def take(self, run: RunRecord, at: datetime) -> Swapped:
        """See `Store.take`."""
        return self._write(lambda: self._store.take(run, at))

    def get(self, job: str, key: str) -> Record | None:
        """See `Store.get`."""
        return self._read(lambda: self._store.get(job, key))

    def query(self, job: str, *, limit: int, before: str | None = None) -> Page:
        """See `Store.query`."""
        return self._read(lambda: self._store.query(job, limit=limit, before=before))

    def create(self) -> bool:
        """See `Store.create`."""
        return self._store.create()

    def close(self) -> None:
        """See `Store.close`."""
        self._store.close()

    def _read(self, call: Callable[[], T]) -> T:
        """Carry out a read."""
        return call()

    def _write(self, call: Callable[[], Swapped]) -> Swapped:
        """Carry out a swap or a take."""
        return call()
