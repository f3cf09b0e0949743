"""The way to the ledger's table, and everything that goes wrong on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from cronce.protocol.operations import Swap, Swapped, Take
from cronce.protocol.records import (
    MAX_CLOCK_SKEW,
    SCHEMA,
    SLOT_KEY,
    GroupSlotRecord,
    Record,
    RunRecord,
    SlotRecord,
    run_key,
)
from cronce.stores.codec import Item, encode
from cronce.stores.memory import MemoryStore
from cronce.stores.store import Page
from cronce.vocabulary.errors import LedgerUnavailableError, RecordUnreadableError
from cronce.vocabulary.names import group_key
from cronce.vocabulary.policy import Policy
from cronce.vocabulary.states import Reason, Status
from tests.simulation.kernel import EPOCH, Kernel
from tests.simulation.promises import shown
from tests.simulation.rules import BrokenRuleError, Rows, broken_by_write

Log = Callable[[str, str, str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Weather:
    """How often a call goes wrong, each as a share of calls."""

    throttled: float = 0.01
    request_lost: float = 0.01
    answer_lost: float = 0.02
    late: float = 0.01
    twice: float = 0.02


class Table:
    """The one true table; every write is held against the rules."""

    def __init__(self, kernel: Kernel, log: Log, policies: Mapping[str, Policy]) -> None:
        self._kernel = kernel
        self._policies = policies
        self._store = MemoryStore()
        self._log = log
        self._newer: dict[tuple[str, str], Item] = {}
        self.writes = 0

    def write(self, who: str, write: Swap | Take, *, note: str = "") -> Swapped:
        """Perform the write, now.

        Raises:
            BrokenRuleError: It breaks a rule.
        """
        record: Record | None
        match write:
            case Swap(record, expected):
                before = {**self.rows(record.job, record.key)}
                if isinstance(record, GroupSlotRecord) and record.of_job:
                    before |= self.rows(record.of_job, SLOT_KEY)
                answer = self._store.swap(record, expected)
            case Take(run, at):
                before = {**self.rows(run.job, SLOT_KEY)}
                answer = self._store.take(run, at)
                record = answer.current
        if answer.written and record:
            self.writes += 1
            self._log(record.job, who, f"{shown(record)}{note}")
            if broken := broken_by_write(before, record, self._policies.get(record.job, Policy())):
                raise BrokenRuleError(f"{record.job}: {broken}")
            if isinstance(record, RunRecord) and record.reason == Reason.TOO_LATE and not self._is_late(record):
                raise BrokenRuleError(f"{record.job}: a tick is missed only when it is late: {shown(record)}")
        return answer

    def _is_late(self, run: RunRecord) -> bool:
        deadline = self._policies[run.job].starting_deadline
        now = EPOCH + timedelta(seconds=self._kernel.now) + MAX_CLOCK_SKEW
        return deadline is not None and run.scheduled_at is not None and now - run.scheduled_at > deadline

    def rows(self, job: str, key: str) -> Rows:
        """The rows that belong together: this one, the slots, and the runs that they name."""
        asked, slot = self.get(job, key), self.get(job, SLOT_KEY)
        keys = {(job, key), (job, SLOT_KEY)}
        if isinstance(asked, RunRecord) and asked.exclusion_group:
            keys.add((group_key(asked.exclusion_group), SLOT_KEY))
        if isinstance(slot, SlotRecord) and slot.period:
            keys.add((job, run_key(slot.period)))
        if isinstance(slot, GroupSlotRecord) and slot.of_job and slot.period:
            keys.add((slot.of_job, run_key(slot.period)))
        return {key: row for key in keys if (row := self.get(*key))}

    def get(self, job: str, key: str) -> Record | None:
        """The row as it stands."""
        return self._store.get(job, key)

    def put_unreadable(self, job: str, period: str) -> None:
        """Add the row of a run that a newer version of cronce works on, or worked on long ago."""
        run = RunRecord(
            job=job,
            period=period,
            version=1,
            status=Status.RUNNING,
            attempt=1,
            token="newer",  # no secret
            owner="a newer version",
            heartbeat_at=EPOCH,
            lease_until=EPOCH + timedelta(minutes=1),
        )
        item = {**encode(run), "schema": SCHEMA + 1}
        self._newer[job, run.key] = self._store._items[job, run.key] = item

    def changed_unreadable(self) -> list[str]:
        """The rows of a newer version that somebody changed."""
        return [" ".join(key) for key, item in self._newer.items() if self._store._items.get(key) is not item]

    def query(self, job: str, *, limit: int, before: str | None) -> Page:
        """The job's runs, newest first."""
        return self._store.query(job, limit=limit, before=before)


class Wire:
    """One process's connection to the table; a `Store`."""

    call_timeout = timedelta(seconds=1.5)

    def __init__(
        self, kernel: Kernel, table: Table, who: str, *, rng: Random, weather: Callable[[], Weather | None]
    ) -> None:
        """Connect.

        Args:
            kernel: Where the time passes.
            table: The table at the other end.
            who: The process, for the log.
            rng: Decides what goes wrong.
            weather: How often, at the moment; None while there is no way through at all.
        """
        self.where = "the simulated table"
        self.answered_at: datetime | None = None
        self._kernel = kernel
        self._table = table
        self._who = who
        self._rng = rng
        self._weather = weather

    def swap(self, record: Record, expected: Record | None) -> Swapped:
        """See `Store.swap`."""
        return self._write(Swap(record, expected))

    def take(self, run: RunRecord, at: datetime) -> Swapped:
        """See `Store.take`."""
        return self._write(Take(run, at))

    def _write(self, write: Swap | Take) -> Swapped:
        self._travel()
        dice, weather = self._rng.random(), self._weather()
        if weather is None:
            self._no_answer("partitioned")
        elif dice < weather.throttled:
            raise self._error("throttled")
        elif (dice := dice - weather.throttled) < weather.request_lost:
            self._no_answer("request lost")
        elif (dice := dice - weather.request_lost) < weather.answer_lost:
            self._table.write(self._who, write, note="  (the answer is lost)")
            self._no_answer("answer lost")
        elif (dice := dice - weather.answer_lost) < weather.late:
            arrives = self._kernel.now + self._rng.uniform(1, 90)
            self._kernel.call(arrives, lambda: self._land(write))
            self._no_answer("late")
        elif dice - weather.late < weather.twice:
            self._table.write(self._who, write)
            self._travel()
        answer = self._table.write(self._who, write)
        self._answer()
        return answer

    def get(self, job: str, key: str) -> Record | None:
        """See `Store.get`."""
        self._travel()
        weather = self._weather()
        if weather is None or self._rng.random() < weather.request_lost:
            self._no_answer("no answer to a read")
        record = self._table.get(job, key)
        self._answer()
        return record

    def query(self, job: str, *, limit: int, before: str | None = None) -> Page:
        """See `Store.query`."""
        self._travel()
        page = self._table.query(job, limit=limit, before=before)
        self._answer()
        return page

    def create(self) -> bool:
        """See `Store.create`."""
        return False

    def close(self) -> None:
        """See `Store.close`."""

    def _land(self, write: Swap | Take) -> None:
        with suppress(RecordUnreadableError):  # nobody hears it
            self._table.write(self._who, write, note="  (sent long ago)")

    def _travel(self) -> None:
        self._kernel.sleep(self._rng.uniform(0.002, 0.05))

    def _answer(self) -> None:
        self.answered_at = (EPOCH + timedelta(seconds=self._kernel.now)).replace(microsecond=0)
        self._travel()

    def _no_answer(self, why: str) -> None:
        self._kernel.sleep(self.call_timeout.total_seconds())
        raise self._error(why)

    def _error(self, why: str) -> LedgerUnavailableError:
        return LedgerUnavailableError(self.where, why, transient=True)
