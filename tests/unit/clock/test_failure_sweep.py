"""A failure at each call of a clock, one after the other: no tick is lost, none comes twice beyond what is promised.

A play of five minutes with two jobs is traced once. Then it is played again for each call of the store and of the
targets, with each kind of failure at that call.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

import pytest

from cronce.client.observer import Observer
from cronce.clock.dispatch import DispatchFailedError
from cronce.stores.memory import MemoryStore
from cronce.vocabulary.errors import LedgerUnavailableError, RecordUnreadableError
from tests.support.clockwork import CLOCK, MINUTE, Stage, at, job, ticks

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from cronce.clock.dispatch import Delivery
    from cronce.protocol.operations import Swapped
    from cronce.protocol.records import Record
    from cronce.stores.store import Page
    from tests.support.clockwork import Process

    T = TypeVar("T")

LASTS = timedelta(minutes=7)
JUDGED = 4 * MINUTE
"""Ticks up to here are judged: what a dead leader leaves is taken over after a minute, its dispatches soon after."""


class Fault(StrEnum):
    """What happens at a call."""

    AWAY = "the store does not answer, nothing was written"
    REFUSED = "the store refuses, and says that it will again"
    LOST = "written, but the answer is lost"
    LOST_FOR_GOOD = "written, but the answer is an error that does not pass"
    UNREADABLE = "a row that cannot be read"
    DEFECT = "an error that nobody foresaw"
    KILLED_BEFORE = "the process is killed before"
    KILLED_AFTER = "the process is killed after"


class TargetFault(StrEnum):
    """What happens at a call of a target."""

    FAILS = "it refuses"
    SILENT = "it says nothing in time"
    DEFECT = "an error that nobody foresaw"
    KILLED_BEFORE = "the process is killed before"
    KILLED_AFTER = "the process is killed after"


class KilledError(BaseException):
    """What SIGKILL would be."""


@dataclass
class Trap:
    """Fails the call with that number, once."""

    number: int | None = None
    fault: Fault | TargetFault | None = None
    calls: int = 0
    hit: str = ""
    log: list[str] = field(default_factory=list)

    def springs(self, what: str) -> bool:
        """True at the call."""
        self.calls += 1
        self.log.append(what)
        if self.calls - 1 != self.number:
            return False
        self.hit = what
        return True


class TrappedStore(MemoryStore):
    """A store with a trap."""

    def __init__(self, trap: Trap) -> None:
        super().__init__()
        self.trap = trap

    def swap(self, record: Record, expected: Record | None) -> Swapped:
        """As the memory's."""
        return self._trapped(f"swap {record.job} {record.key}", lambda: MemoryStore.swap(self, record, expected))

    def get(self, job: str, key: str) -> Record | None:
        """As the memory's."""
        return self._trapped(f"get {job} {key}", lambda: MemoryStore.get(self, job, key))

    def query(self, job: str, *, limit: int, before: str | None = None) -> Page:
        """As the memory's."""
        return self._trapped(f"query {job}", lambda: MemoryStore.query(self, job, limit=limit, before=before))

    def _trapped(self, what: str, call: Callable[[], T]) -> T:
        if not self.trap.springs(what):
            return call()
        match self.trap.fault:
            case Fault.AWAY:
                raise LedgerUnavailableError("store", "away", transient=True)
            case Fault.REFUSED:
                raise LedgerUnavailableError("store", "AccessDenied", transient=False)
            case Fault.LOST:
                call()
                raise LedgerUnavailableError("store", "the answer was lost", transient=True)
            case Fault.LOST_FOR_GOOD:
                call()
                raise LedgerUnavailableError("store", "the answer was nonsense", transient=False)
            case Fault.UNREADABLE:
                raise RecordUnreadableError("job", "key", "schema 99 is newer than 1")
            case Fault.DEFECT:
                raise ZeroDivisionError
            case Fault.KILLED_BEFORE:
                raise KilledError
            case _:
                call()
                raise KilledError


class Play:
    """Two jobs, and a process that is started anew when it ends."""

    def __init__(self, store_trap: Trap, target_trap: Trap) -> None:
        self.jobs = [job("beat"), job("other")]
        self.stage = Stage(TrappedStore(store_trap))
        self.came: Counter[tuple[str, str]] = Counter()
        self.target_trap = target_trap
        self.stage.receive = self._receive
        self.begun = 1
        process = self.stage.process(self.jobs)
        until = self.stage.clock.now() + LASTS
        while self.stage.clock.now() < until:
            try:
                pause = process.turn()
            except KilledError:
                process, pause = self._anew(process), 1.0
            except Exception:  # noqa: BLE001  # as `ClockService.run`: it gives the lease back and ends
                if process.claim is not None:
                    process.service._give_back(process.claim, "the clock broke down")
                process, pause = self._anew(process), 1.0
            self.stage.clock.advance(timedelta(seconds=max(pause, 0.001)))

    def _anew(self, process: Process) -> Process:
        process.kill()
        self.begun += 1
        return self.stage.process(self.jobs)

    def lost(self) -> set[tuple[str, str]]:
        """The ticks that no target got."""
        return {(name, tick) for name in ("beat", "other") for tick in ticks(MINUTE, JUDGED)} - set(self.came)

    def doubled(self) -> set[tuple[str, str]]:
        """The ticks that came twice."""
        return {tick for tick, count in self.came.items() if count > 1}

    def _receive(self, delivery: Delivery) -> None:
        tick = (delivery.job.name, delivery.period)
        springs = self.target_trap.springs(f"{CLOCK}:{delivery.job.name} run#{delivery.period}")
        if springs:
            match self.target_trap.fault:
                case TargetFault.FAILS:
                    raise DispatchFailedError("no")
                case TargetFault.SILENT:
                    raise DispatchFailedError("nothing", timed_out=True)
                case TargetFault.DEFECT:
                    raise ZeroDivisionError
                case TargetFault.KILLED_BEFORE:
                    raise KilledError
                case _:
                    pass
        self.came[tick] += 1
        if springs:
            raise KilledError


def traced() -> tuple[int, int]:
    """How many calls of the store and of targets a play without failures makes."""
    store, target = Trap(), Trap()
    play = Play(store, target)
    assert (play.lost(), play.doubled(), play.begun) == (set(), set(), 1)
    return store.calls, target.calls


STORE_CALLS, TARGET_CALLS = traced()


def test_the_sweep_is_worth_its_name() -> None:
    """Each tick has two writes, each quarter of a lease one."""
    assert STORE_CALLS >= 2 * 6 * 2 + 6 * 4
    assert TARGET_CALLS >= 2 * 6


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(fault, marks=[] if fault in (Fault.LOST, Fault.KILLED_AFTER) else pytest.mark.slow)
        for fault in Fault
    ],
)
def test_a_failure_at_each_call_of_the_store_loses_no_tick_and_doubles_none(fault: Fault) -> None:
    """A row that cannot be read stops its own tick; a process killed before it could record a dispatch repeats it."""
    for number in range(STORE_CALLS):
        trap = Trap(number, fault)
        play = Play(trap, Trap())
        assert trap.hit, number
        where = f"{fault} at call {number}: {trap.hit}"
        own = {tick for tick in play.came if trap.hit == f"swap {CLOCK}:{tick[0]} run#{tick[1]}"} | play.lost()
        if fault is Fault.UNREADABLE:
            assert play.lost() <= _tick_of(trap), where
        else:
            assert play.lost() == set(), where
        # A tick may come again only if its process was killed between the target's yes and the row.
        assert play.doubled() <= (own if fault is Fault.KILLED_BEFORE else set()), where


@pytest.mark.parametrize("fault", TargetFault)
def test_a_failure_at_each_call_of_a_target_loses_no_tick_and_doubles_none(fault: TargetFault) -> None:
    """A process that is killed after the target's yes repeats that tick, as docs/clock.md says."""
    for number in range(TARGET_CALLS):
        trap = Trap(number, fault)
        play = Play(Trap(), trap)
        where = f"{fault} at call {number}: {trap.hit}"
        assert play.lost() == set(), where
        expected = _tick_of(trap) if fault is TargetFault.KILLED_AFTER else set()
        assert play.doubled() <= expected, where


def _tick_of(trap: Trap) -> set[tuple[str, str]]:
    """The tick whose row or delivery was hit."""
    return {
        (name, at(n * MINUTE))
        for name in ("beat", "other")
        for n in range(1, 8)
        if trap.hit.endswith(f"{CLOCK}:{name} run#{at(n * MINUTE)}")
    }


def rewritten(stage: Stage, key: tuple[str, str], **changes: Any) -> None:  # noqa: ANN401  # of several types
    """Change a row behind everybody's back."""
    assert isinstance(stage.store, MemoryStore)
    stage.store._items[key] |= changes


def test_a_row_that_cannot_be_read_stops_only_its_own_tick(capsys: pytest.CaptureFixture[str]) -> None:
    """It is reported once. The other ticks are dispatched, and the cursor advances."""
    stage = Stage()
    stage.process([job("beat"), job("other")])
    stage.play(30 * timedelta(seconds=1))
    other = stage.process([job("beat")], period="another")
    Observer(other.ledger).mark_missed(f"{CLOCK}:beat", at(2 * MINUTE), reason="never_delivered", scheduled_at=None)
    stage.processes.remove(other)
    rewritten(stage, (f"{CLOCK}:beat", f"run#{at(2 * MINUTE)}"), schema=99)
    stage.play(5 * MINUTE)
    assert stage.periods("beat") == [tick for tick in ticks(MINUTE, 5 * MINUTE) if tick != at(2 * MINUTE)]
    assert stage.periods("other") == ticks(MINUTE, 5 * MINUTE)
    assert capsys.readouterr().err.count("schema 99 is newer") == 1
    assert stage.processes[0].service.trouble() is None


def test_rows_that_cannot_be_read_keep_no_job_from_being_led() -> None:
    """The leader's row is gone, so the rows say where to go on: of one job they cannot be read."""
    stage = Stage()
    old = stage.process([job("beat"), job("other")])
    stage.play(3 * MINUTE)
    old.stop()
    assert isinstance(stage.store, MemoryStore)
    del stage.store._items[CLOCK, "run#leader"]
    rewritten(stage, (f"{CLOCK}:beat", f"run#{at(2 * MINUTE)}"), schema=99)
    stage.process([job("beat"), job("other")])
    stage.play(3 * MINUTE)
    for name in ("beat", "other"):
        assert stage.periods(name) == ticks(MINUTE, 6 * MINUTE)


def test_a_timetable_that_fails_stops_only_its_own_job(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error is reported once. The other job is dispatched."""
    stage = Stage()
    process = stage.process([job("beat"), job("other")])
    process.turn()

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(process.service._agendas[0], "advance", fail)
    stage.play(3 * MINUTE)
    assert (stage.periods("beat"), stage.periods("other")) == ([], ticks(MINUTE, 3 * MINUTE))
    assert capsys.readouterr().err.count("ZeroDivisionError") == 1
