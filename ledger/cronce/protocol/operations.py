"""What a protocol operation may ask of the world, one request at a time.

An operation of the ledger (claim, renew, finish, ...) is a generator that yields these requests and is sent the
answers. So the same code runs against a real store, a fault injector and a search over every interleaving. If a
request cannot be answered, a `cronce.vocabulary.errors.LedgerUnavailableError` is thrown into the generator.
"""

from __future__ import annotations

from collections.abc import Generator
from datetime import datetime, timedelta
from typing import Any, TypeVar

from cronce.protocol.records import SLOT_KEY, GroupSlotRecord, Record, RunRecord, SlotRecord, run_key
from cronce.vocabulary.names import group_key
from cronce.vocabulary.values import value_class


@value_class
class Swap:
    """Write the whole record if the row is as `expected`; answered with `Swapped`."""

    record: Record
    expected: Record | None


@value_class
class Take:
    """Acquire the job's slot for this run if it is free, without knowing its version; answered with `Swapped`."""

    run: RunRecord
    at: datetime


@value_class
class Get:
    """Read one row, strongly consistent; answered with the record or None."""

    job: str
    key: str


@value_class
class Running:
    """The RUNNING runs among the newest 1,000 rows of the job; answered with a tuple, newest first.

    Rows that cannot be read are left out.
    """

    job: str


@value_class
class Now:
    """Read the clock; answered with an aware datetime of whole milliseconds that never goes back."""


@value_class
class Skew:
    """The difference of this host's clock from the store's last answer; a timedelta, 0 if unknown."""


@value_class
class Sleep:
    """Wait this long, or until this process is asked to stop; answered with `Woke`."""

    for_: timedelta


@value_class
class StopTask:
    """Ask the platform to stop the owner's task, if the owner is a task; always answered with None."""

    owner: str
    reason: str


Operation = Swap | Take | Get | Running | Now | Skew | Sleep | StopTask

_NOW, _SKEW = Now(), Skew()

T = TypeVar("T")
Steps = Generator[Operation, Any, T]
"""An operation of the ledger: yields requests, returns a T."""


@value_class
class Swapped:
    """The answer to a swap or a take.

    Attributes:
        written: True if this request wrote the row.
        current: The current row; None for no row, and after a swap that was written, because its row is known.
    """

    written: bool
    current: Record | None = None


@value_class
class Woke:
    """The answer to a sleep."""

    stopping: bool


def swap(record: Record, expected: Record | None) -> Steps[Swapped]:
    """Swap; a row that equals the record counts as written, because an earlier answer was lost."""
    answer: Swapped = yield Swap(record, expected)
    return Swapped(answer.written or answer.current == record, answer.current)


def take(run: RunRecord, at: datetime) -> Steps[tuple[bool, SlotRecord | None]]:
    """Acquire the slot for the run if it is free; True if this request did, and the slot as it is now."""
    answer: Swapped = yield Take(run, at)
    return answer.written, answer.current if isinstance(answer.current, SlotRecord) else None


def get_run(job: str, period: str) -> Steps[RunRecord | None]:
    """The run's row, if there is one."""
    record: RunRecord | None = yield Get(job, run_key(period))
    return record


def get_slot(job: str) -> Steps[SlotRecord | None]:
    """The job's slot, if there is one."""
    record: SlotRecord | None = yield Get(job, SLOT_KEY)
    return record


def get_group(group: str) -> Steps[GroupSlotRecord | None]:
    """The slot of the exclusion group, if there is one."""
    record: GroupSlotRecord | None = yield Get(group_key(group), SLOT_KEY)
    return record


def get_running(job: str) -> Steps[tuple[RunRecord, ...]]:
    """The RUNNING runs among the newest rows of the job."""
    runs: tuple[RunRecord, ...] = yield Running(job)
    return runs


def read_clock() -> Steps[datetime]:
    """The current time."""
    now: datetime = yield _NOW
    return now


def read_skew() -> Steps[timedelta]:
    """The difference between this host's clock and the store's."""
    skew: timedelta = yield _SKEW
    return skew


def sleep(for_: timedelta) -> Steps[bool]:
    """Wait; True if this process was asked to stop."""
    woke: Woke = yield Sleep(for_)
    return woke.stopping
