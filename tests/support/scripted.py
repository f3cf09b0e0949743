"""Performs a protocol operation on rows in memory; a test can act between its steps."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar, assert_never

from cronce.protocol.operations import (
    Get,
    Now,
    Operation,
    Running,
    Skew,
    Sleep,
    Steps,
    StopTask,
    Swap,
    Swapped,
    Take,
    Woke,
)
from cronce.protocol.records import RunRecord, SlotRecord
from cronce.stores.memory import MemoryStore
from cronce.vocabulary.errors import LedgerUnavailableError
from cronce.vocabulary.states import Status
from tests.support.builders import JOB, PERIOD, T0

if TYPE_CHECKING:
    from collections.abc import Callable

    from cronce.protocol.records import Record

T = TypeVar("T")


class World:
    """A store in memory, a clock that only moves when the operation sleeps, and a test's plans for certain steps.

    Attributes:
        now: The time.
        skew: How far the clock is from the store's.
        stopping: True after the process was asked to stop.
        asked: Every operation so far.
    """

    def __init__(self, *rows: Record, now: datetime = T0) -> None:
        self.now = now
        self.skew = timedelta(0)
        self.stopping = False
        self.asked: list[Operation] = []
        self._store = MemoryStore()
        self._plans: list[_Plan] = []
        self._later: list[_Plan] = []
        for row in rows:
            self.put(row)

    def put(self, row: Record) -> None:
        """Write the row, whatever is stored."""
        self._store.swap(row, self._store.get(row.job, row.key))

    def run(self, period: str = PERIOD) -> RunRecord:
        """The stored run."""
        standing = self._store.get(JOB, f"run#{period}")
        assert isinstance(standing, RunRecord)
        return standing

    def slot(self) -> SlotRecord:
        """The stored slot."""
        standing = self._store.get(JOB, "slot")
        assert isinstance(standing, SlotRecord)
        return standing

    def get(self, job: str, key: str) -> Record | None:
        """The stored row."""
        return self._store.get(job, key)

    def put_item(self, item: dict[str, Any]) -> None:
        """Store a row as another version writes it."""
        self._store._items[item["job"], item["key"]] = item

    def delete(self, row: Record) -> None:
        """Delete the row, as only a person in the console can."""
        del self._store._items[row.job, row.key]

    def count(self, kind: type[Operation]) -> int:
        """The number of operations of that kind."""
        return sum(isinstance(operation, kind) for operation in self.asked)

    def before(self, kind: type[Operation], nth: int, action: Callable[[], object]) -> None:
        """Do something just before the nth operation of that kind, counted from 1."""
        self._plans.append(_Plan(kind, nth, action))

    def after(self, kind: type[Operation], nth: int, action: Callable[[], object]) -> None:
        """Do something just after the nth operation of that kind, counted from 1."""
        self._later.append(_Plan(kind, nth, action))

    def lose_answer(self, nth: int, kind: type[Swap | Take] = Swap) -> None:
        """Lose the answer of the nth write of that kind: it is sent again, and found to be written already."""

        def land() -> None:
            self._write(self.asked[-1])

        self.before(kind, nth, land)

    def cut_off(self, kind: type[Operation], nth: int) -> None:
        """Let the nth operation of that kind fail permanently."""

        def fail() -> None:
            raise LedgerUnavailableError("memory", "cut off", transient=False)

        self.before(kind, nth, fail)

    def play(self, steps: Steps[T]) -> T:
        """Perform the operation to its end."""
        try:
            operation = next(steps)
            while True:
                try:
                    answer = self._perform(operation)
                    for plan in self._later:
                        if plan.is_due(operation):
                            plan.action()
                except LedgerUnavailableError as error:
                    operation = steps.throw(error)
                else:
                    operation = steps.send(answer)
        except StopIteration as end:
            result: T = end.value
            return result

    def _perform(self, operation: Operation) -> object:
        self.asked.append(operation)
        assert len(self.asked) < 1000, "the operation does not come to an end"
        for plan in self._plans:
            if plan.is_due(operation):
                plan.action()
        match operation:
            case Swap() | Take():
                return self._write(operation)
            case Get(job, key):
                return self._store.get(job, key)
            case Running(job):
                return tuple(run for run in self._store.query(job, limit=1000).runs if run.status is Status.RUNNING)
            case Now():
                return self.now
            case Skew():
                return self.skew
            case Sleep(for_):
                self.now += for_
                return Woke(self.stopping)
            case StopTask():
                return None
            case _:
                assert_never(operation)

    def _write(self, operation: Operation) -> Swapped:
        if isinstance(operation, Take):
            return self._store.take(operation.run, operation.at)
        assert isinstance(operation, Swap)
        return self._store.swap(operation.record, operation.expected)


class _Plan:
    """What happens just before the nth operation of a kind."""

    def __init__(self, kind: type[Operation], nth: int, action: Callable[[], object]) -> None:
        self._kind = kind
        self._left = nth
        self.action = action

    def is_due(self, operation: Operation) -> bool:
        self._left -= isinstance(operation, self._kind)
        return self._left == 0 and isinstance(operation, self._kind)
