"""The time of a clock's process, while the wall clock of its host is set back and forth."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from cronce.clock.store_time import HOLD, StoreTime, TimedStore
from cronce.protocol.records import run_key
from cronce.stores.memory import MemoryStore
from cronce.testing.clocks import HostClock, ManualClock
from cronce.vocabulary.errors import LedgerUnavailableError
from tests.support.clockwork import SECOND, T0

if TYPE_CHECKING:
    from collections.abc import Callable

MILLISECOND = timedelta(milliseconds=1)
STEPS = [
    sign * step for sign in (1, -1) for step in (2 * SECOND, 12 * SECOND, timedelta(minutes=3), timedelta(hours=5))
]


class Bench:
    """A host whose wall clock may be wrong, the time of its process, and a store that has the true time."""

    def __init__(self) -> None:
        self.true = ManualClock(T0 + timedelta(milliseconds=300))
        self.host = HostClock(self.true)
        self.time = StoreTime(self.host)

    def ask(self, takes: timedelta = timedelta(0), store_ahead: timedelta = timedelta(0)) -> None:
        """One request; the store answers half-way."""
        sent = self.true.monotonic()
        self.true.advance(takes / 2)
        at = self.true.now() + store_ahead
        self.true.advance(takes / 2)
        self.time.heard(at.replace(microsecond=0), sent=sent, received=self.true.monotonic())

    @property
    def error(self) -> timedelta:
        """How far the time of the process is ahead of the true time."""
        return self.time.now() - self.true.now()


def test_while_the_host_agrees_its_clock_is_the_time() -> None:
    """To the microsecond, before and after an answer."""
    bench = Bench()
    assert bench.error == timedelta(0)
    bench.ask(takes=200 * MILLISECOND)
    bench.host.wrong_by = 40 * MILLISECOND  # ordinary adjustment
    assert bench.error == 40 * MILLISECOND


@pytest.mark.parametrize("step", STEPS)
def test_a_step_that_the_store_contradicts_is_not_noticed(step: timedelta) -> None:
    """However long it lasts, and however often the store is asked meanwhile."""
    bench = Bench()
    bench.ask()
    bench.host.wrong_by = step
    for _ in range(2000):
        bench.true.advance(timedelta(seconds=1.7))
        assert bench.error == timedelta(0)
        bench.ask(takes=50 * MILLISECOND)
    bench.host.wrong_by = timedelta(0)
    assert bench.error == timedelta(0)


@pytest.mark.parametrize("step", STEPS)
def test_a_host_that_is_wrong_from_the_start_is_corrected_by_the_first_answer(step: timedelta) -> None:
    """Never ahead of the store; behind by a second at most, and by less with each answer."""
    bench = Bench()
    bench.host.wrong_by = step
    bench.time = StoreTime(bench.host)
    assert bench.error == step
    bench.ask()
    assert -SECOND <= bench.error <= timedelta(0)
    for _ in range(50):
        bench.true.advance(timedelta(seconds=1.37))
        bench.ask(takes=2 * MILLISECOND)
    assert -50 * MILLISECOND <= bench.error <= timedelta(0)
    bench.host.wrong_by = timedelta(0)  # NTP has synchronized it
    assert -50 * MILLISECOND <= bench.error <= timedelta(0)


def test_a_step_that_the_store_confirms_is_taken_at_once() -> None:
    """The process was paused together with its monotonic clock: the host's clock is right, the time agreed is not."""
    bench = Bench()
    bench.ask()
    bench.time.now()
    bench.true.step(90 * SECOND)
    assert bench.error == -90 * SECOND
    bench.ask()
    assert bench.error == timedelta(0)


def test_a_store_whose_clock_is_corrected_is_followed() -> None:
    """The newest answer counts."""
    bench = Bench()
    bench.ask(store_ahead=30 * SECOND)
    assert timedelta(seconds=28.9) <= bench.error <= timedelta(seconds=30)
    bench.ask()
    assert abs(bench.error) <= SECOND


@pytest.mark.parametrize("step", STEPS)
def test_without_a_stores_clock_a_step_counts_when_it_has_lasted(step: timedelta) -> None:
    """Just before, and at, a minute; one that is taken back before is not noticed."""
    bench = Bench()
    for lasts in (timedelta(0), HOLD - MILLISECOND):
        bench.host.wrong_by = step
        assert bench.error == timedelta(0)
        bench.true.advance(lasts)
        assert bench.error == timedelta(0)
        bench.host.wrong_by = timedelta(0)
        assert bench.error == timedelta(0)
    bench.host.wrong_by = step
    assert bench.error == timedelta(0)
    bench.true.advance(HOLD)
    assert bench.error == step


def test_each_answer_of_a_store_brings_its_time() -> None:
    """Reads, writes and pages; a call that fails brings none."""
    true = ManualClock(T0)
    host = HostClock(true)
    host.wrong_by = timedelta(hours=1)

    class Telling(MemoryStore):
        """A store with a clock."""

        @property
        def answered_at(self) -> datetime:
            """The true time."""
            return true.now().replace(microsecond=0)

    asks: list[Callable[[TimedStore], object]] = [
        lambda store: store.get("job", "slot"),
        lambda store: store.query("job", limit=1),
        lambda store: store.hear("job", run_key("leader")),
    ]
    for ask in asks:
        time = StoreTime(host)
        ask(TimedStore(Telling(), time))
        assert time.now() == T0

    class Away(Telling):
        """A store that does not answer."""

        def get(self, job: str, key: str) -> None:
            """Never."""
            raise LedgerUnavailableError(f"{job} {key}", "away", transient=True)

    time = StoreTime(host)
    TimedStore(Away(), time).hear("job", run_key("leader"))
    assert time.now() == T0 + timedelta(hours=1)
