"""What a protocol operation may ask of the world, one question at a time.

An operation of the ledger (claim, renew, finish, ...) is a generator that yields these and is
sent the answers. So the same code is driven by a real store, by a fault injector and by a search
over every interleaving. A question that cannot be answered is thrown in as
`cronce.vocabulary.errors.LedgerUnavailableError`.
"""

from __future__ import annotations

from collections.abc import Generator
from datetime import datetime, timedelta
from typing import Any, TypeVar

from cronce.protocol.records import SLOT_KEY, Record, RunRecord, SlotRecord, run_key
from cronce.vocabulary.values import value_class


@value_class
class Swap:
    """Write the whole record if what stands is `expected`; answered with `Swapped`."""

    record: Record
    expected: Record | None


@value_class
class Get:
    """Read one row, strongly consistent; answered with the record or None."""

    job: str
    key: str


@value_class
class Now:
    """What time it is; answered with an aware datetime of whole milliseconds that never runs back."""


@value_class
class Skew:
    """How far this host's clock is from the store's, by its last answer; a timedelta, 0 if unknown."""


@value_class
class Sleep:
    """Wait that long, or until this process is asked to stop; answered with `Woke`."""

    for_: timedelta


@value_class
class StopTask:
    """Ask the platform to stop the owner's task, if it is one; answered with None, done or not."""

    owner: str
    reason: str


Operation = Swap | Get | Now | Skew | Sleep | StopTask

T = TypeVar("T")
Steps = Generator[Operation, Any, T]
"""An operation of the ledger: yields questions, returns a T."""


@value_class
class Swapped:
    """The answer to a swap.

    Attributes:
        written: True if the record was written by this very request.
        stands: What stands if it was not; None for "no row".
    """

    written: bool
    stands: Record | None = None


@value_class
class Woke:
    """The answer to a sleep."""

    stopping: bool


def swap(record: Record, expected: Record | None) -> Steps[Swapped]:
    """Swap, and count a row that equals the record as written: then the earlier answer was lost."""
    answer: Swapped = yield Swap(record, expected)
    return Swapped(answer.written or answer.stands == record, answer.stands)


def get_run(job: str, period: str) -> Steps[RunRecord | None]:
    """The run's row, if there is one."""
    record: RunRecord | None = yield Get(job, run_key(period))
    return record


def get_slot(job: str) -> Steps[SlotRecord | None]:
    """The job's slot, if there is one."""
    record: SlotRecord | None = yield Get(job, SLOT_KEY)
    return record


def read_clock() -> Steps[datetime]:
    """What time it is."""
    now: datetime = yield Now()
    return now


def read_skew() -> Steps[timedelta]:
    """How far this host's clock is from the store's."""
    skew: timedelta = yield Skew()
    return skew


def sleep(for_: timedelta) -> Steps[bool]:
    """Wait; True if this process was asked to stop meanwhile."""
    woke: Woke = yield Sleep(for_)
    return woke.stopping
