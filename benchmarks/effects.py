"""What 3,100 effects cost: requests, DynamoDB's units, dollars and seconds; `python -m benchmarks.effects LEDGER`.

The effects themselves do nothing, so the seconds are those of the notes. Units are computed from the rows as written,
by the rules of DynamoDB's on-demand prices: a KB for a write, 4 KB for a strongly consistent read.
"""

# a command prints

from __future__ import annotations

import argparse
import os
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from math import ceil
from typing import Any

from cronce import Claim, Ledger, Policy
from cronce.protocol.operations import Swapped
from cronce.protocol.records import Record
from cronce.stores.codec import encode
from cronce.stores.store import Store
from cronce.stores.urls import open_store

PER_WRITE, PER_READ = 0.625e-6, 0.125e-6
"""Dollars for a unit: on-demand, US East (N. Virginia), 2026-11."""

CUSTOMERS = [f"customer-{number:05}@example.com" for number in range(3100)]

Way = Callable[[Claim], object]


class Metered:
    """A store that counts what DynamoDB would charge for."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.requests = self.write_units = self.read_units = 0

    def __getattr__(self, name: str) -> Any:  # whatever the store has
        return getattr(self._store, name)

    def swap(self, record: Record, expected: Record | None) -> Swapped:
        """Count and pass on."""
        self.requests += 1
        self.write_units += ceil(_size(record) / 1024)
        return self._store.swap(record, expected)

    def get(self, job: str, key: str) -> Record | None:
        """Count and pass on."""
        self.requests += 1
        found = self._store.get(job, key)
        self.read_units += ceil(_size(found) / 4096) if found else 1
        return found


def _size(record: Record) -> int:
    """The item's size by the Developer Guide, "DynamoDB item sizes and formats"."""
    return sum(len(name) + (len(v.encode()) if isinstance(v, str) else 8) for name, v in encode(record).items())


def one_by_one(claim: Claim) -> None:
    """`once` for each."""
    for customer in CUSTOMERS:
        with claim.once(customer):
            pass


def threads(number: int) -> Way:
    """`once` for each effect, in this number of threads."""

    def work(claim: Claim) -> None:
        def send(customer: str) -> None:
            with claim.once(customer):
                pass

        with ThreadPoolExecutor(number) as pool:
            list(pool.map(send, CUSTOMERS))

    return work


def batches(size: int) -> Way:
    """`once_each` in batches."""
    return lambda claim: list(claim.once_each(CUSTOMERS, batch=size))


WAYS: dict[str, Way] = {
    "`once`, one thread": one_by_one,
    "`once`, 8 threads": threads(8),
    "`once_each`": batches(1),
    "`once_each`, batch=10": batches(10),
    "`once_each`, batch=100": batches(100),
}


def main() -> None:
    """Measure each way, and a resumption that finds everything done."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.effects", description=__doc__)
    parser.add_argument("ledger", help="its URL; rows are added to it")
    url = parser.parse_args().ledger
    policy = Policy(backoff_limit=1)
    print(f"load {os.getloadavg()[0]:.1f}")
    for name, way in WAYS.items():
        job = f"effects-{uuid.uuid4().hex[:8]}"
        for what in ("the first attempt", "the next one, with nothing left"):
            store = Metered(open_store(url, lease=timedelta(seconds=60)))
            claim = Ledger(store, policy=policy).claim(job, "2026-11-29")
            assert isinstance(claim, Claim)
            store.requests = store.write_units = store.read_units = 0
            began = time.perf_counter()
            way(claim)
            seconds = time.perf_counter() - began
            dollars = store.write_units * PER_WRITE + store.read_units * PER_READ
            print(
                f"{name:24} {what:32} {store.requests:6,} requests {store.write_units:6,} write units"
                f" {store.read_units:4} read units ${dollars:.5f} {seconds:6.2f} s",
                flush=True,
            )
            claim.fail("once more")


if __name__ == "__main__":
    main()
