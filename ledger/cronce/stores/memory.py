"""A ledger in the memory of this process, for tests of code that uses cronce."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta

from cronce.protocol.operations import Swapped
from cronce.protocol.records import RUN_PREFIX, SLOT_KEY, Record, RunRecord, SlotRecord, run_key
from cronce.stores.codec import Item, decode, encode
from cronce.stores.store import Page, page_of


class MemoryStore:
    """Keeps rows in a dict. It passes the same conformance suite as the databases."""

    where = "memory"
    call_timeout = timedelta(0)

    def __init__(self) -> None:
        self._items: dict[tuple[str, str], Item] = {}
        self._lock = threading.Lock()

    @property
    def answered_at(self) -> datetime | None:
        """None: memory has no clock."""
        return None

    def swap(self, record: Record, expected: Record | None) -> Swapped:
        """See `Store.swap`."""
        with self._lock:
            item = self._items.get((record.job, record.key))
            existing = None if item is None else decode(item)
            if _identity(existing) != _identity(expected):
                return Swapped(False, existing)
            self._items[record.job, record.key] = encode(record)
            return Swapped(True)

    def take(self, run: RunRecord, at: datetime) -> Swapped:
        """See `Store.take`."""
        with self._lock:
            item = self._items.get((run.job, SLOT_KEY))
            slot = SlotRecord(job=run.job, version=0) if item is None else decode(item)
            if not isinstance(slot, SlotRecord) or not slot.is_free_for(run):
                return Swapped(False, slot)
            taken = slot.taken_by(run, at=at)
            self._items[run.job, SLOT_KEY] = encode(taken)
            return Swapped(True, taken)

    def get(self, job: str, key: str) -> Record | None:
        """See `Store.get`."""
        with self._lock:
            item = self._items.get((job, key))
        return None if item is None else decode(item)

    def query(self, job: str, *, limit: int, before: str | None = None) -> Page:
        """See `Store.query`."""
        with self._lock:
            mine = {
                key: item for (owner, key), item in self._items.items() if owner == job and key.startswith(RUN_PREFIX)
            }
        keys = sorted((k for k in mine if before is None or k < run_key(before)), key=str.encode, reverse=True)
        return page_of([mine[key] for key in keys[:limit]], decode, more=len(keys) > limit)

    def jobs(self) -> tuple[str, ...]:
        """The jobs with rows, in the order of their names."""
        with self._lock:
            return tuple(sorted({job for job, _ in self._items}))

    def create(self) -> bool:
        """See `Store.create`."""
        return False

    def close(self) -> None:
        """See `Store.close`."""


def _identity(record: Record | None) -> tuple[int, str | None] | None:
    return None if record is None else (record.version, record.token or None)
