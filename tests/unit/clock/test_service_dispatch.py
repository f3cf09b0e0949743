"""The clock and its dispatches: those that hang, fail, die and are tried again."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from cronce.clock.dispatch import DispatchFailedError
from cronce.schedule import Every
from cronce.stores.memory import MemoryStore
from cronce.vocabulary.errors import LedgerUnavailableError
from tests.support.clockwork import CLOCK, MINUTE, SECOND, T0, Stage, at, job, ticks
from tests.unit.clock.clock_events import events

if TYPE_CHECKING:
    from collections.abc import Callable

    from cronce.clock.dispatch import Delivery
    from cronce.protocol.operations import Swapped
    from cronce.protocol.records import Record


class AwayStore(MemoryStore):
    """A store that does not answer while `away` is true."""

    away = False

    def swap(self, record: Record, expected: Record | None) -> Swapped:
        """As the memory's."""
        self._answer()
        return super().swap(record, expected)

    def get(self, job: str, key: str) -> Record | None:
        """As the memory's."""
        self._answer()
        return super().get(job, key)

    def _answer(self) -> None:
        if self.away:
            raise LedgerUnavailableError("memory", "away", transient=True)


def test_a_dispatch_that_hangs_holds_up_no_other_and_turns_the_health_red() -> None:
    """Red from a little after its time limit on, until the target answers again."""
    stage = Stage()
    process = stage.process([job("hangs"), job("fine")], beside=True)
    process.turn()
    stage.clock.advance(MINUTE)
    process.turn()
    hanging, fine = process.later
    process.later = []
    fine()
    assert stage.periods("fine") == [at(MINUTE)]
    stage.clock.advance(timedelta(seconds=11.9))
    process.turn()
    assert process.service.trouble() is None
    stage.clock.advance(timedelta(seconds=0.1))
    process.turn()
    assert process.service.trouble() == f"the dispatch of hangs {at(MINUTE)} has not ended for 12 s"
    stage.clock.advance(timedelta(seconds=48))
    process.turn()
    for work in process.later:
        work()
    assert stage.periods("fine") == ticks(MINUTE, 2 * MINUTE)
    hanging()
    process.later = []
    process.turn()
    assert process.service.trouble() is None


def test_a_target_that_says_nothing_in_time_is_trouble_until_it_answers() -> None:
    """A command that had to be killed is as bad as one that hangs."""
    stage = Stage()
    process = stage.process([job()])

    def silent(_: Delivery) -> None:
        raise DispatchFailedError("nothing", timed_out=True)

    stage.receive = silent
    stage.play(timedelta(seconds=61))
    assert process.service.trouble() == "the target of beat did not answer in time"
    stage.receive = lambda _: None
    stage.play(timedelta(seconds=10))
    assert stage.periods() == [at(MINUTE)]
    assert process.service.trouble() is None


def test_a_loop_that_does_not_move_is_trouble() -> None:
    """Just before, and at, a minute."""
    stage = Stage()
    process = stage.process([job(timetable=Every(timedelta(hours=1)))])
    process.turn()
    process.turn()
    stage.clock.advance(timedelta(seconds=59.9))
    assert process.service.trouble() is None
    stage.clock.advance(timedelta(seconds=0.1))
    assert process.service.trouble() == "the loop has not moved for 60 s"


def test_a_tick_that_no_worker_takes_is_trouble() -> None:
    """All workers hang: what is due for a minute turns the health red."""
    stage = Stage()
    jobs = [job(f"job-{n}", timeout=5 * MINUTE) for n in range(33)]
    process = stage.process(jobs, beside=True)
    process.turn()
    stage.clock.advance(MINUTE)
    process.turn()
    assert len(process.later) == 32
    stage.clock.advance(timedelta(seconds=59))
    process.turn()
    assert process.service.trouble() is None
    stage.clock.advance(SECOND)
    process.turn()
    assert process.service.trouble() == f"job-32 {at(MINUTE)} has been due for 60 s"


def test_one_hanging_job_leaves_workers_for_the_others() -> None:
    """It takes four of them, however many of its ticks wait."""
    stage = Stage()
    process = stage.process([job("hangs", timetable=Every(SECOND)), job("fine")], beside=True)
    process.turn()
    stage.clock.advance(MINUTE)
    process.turn()
    assert len(process.later) == 5


def test_a_failed_dispatch_is_tried_again_until_it_succeeds() -> None:
    """After 1 s and 2 s; the row counts the tries."""
    stage = Stage()
    process = stage.process([job()])
    tried: list[float] = []

    def fail_twice(_: Delivery) -> None:
        tried.append((stage.clock.now() - T0).total_seconds())
        if len(tried) < 3:
            raise DispatchFailedError("no")

    stage.receive = fail_twice
    stage.play(timedelta(seconds=70))
    assert [round(moment) for moment in tried] == [60, 61, 63]
    run = process.ledger.run(f"{CLOCK}:beat", at(MINUTE))
    assert run is not None
    assert (run.status, run.attempt, run.failures) == ("SUCCEEDED", 3, 2)


def test_a_dispatch_that_keeps_failing_is_given_up(capsys: pytest.CaptureFixture[str]) -> None:
    """After the first try and `backoff_limit` more: one line, and the next tick goes on."""
    stage = Stage()
    stage.process([job(backoff_limit=2)])
    tried: list[str] = []

    def fail(delivery: Delivery) -> None:
        tried.append(delivery.period)
        raise DispatchFailedError("no such queue")

    stage.receive = fail
    stage.play(timedelta(seconds=119))
    assert tried == [at(MINUTE)] * 3
    assert [(line["period"], line["error"]) for line in events(capsys, "tick_failed")] == [
        (at(MINUTE), "no such queue")
    ]
    assert stage.rows() == {at(MINUTE): "FAILED(error)"}
    stage.play(SECOND)
    assert tried[3:] == [at(2 * MINUTE)]


def test_a_retry_is_within_the_starting_deadline(capsys: pytest.CaptureFixture[str]) -> None:
    """The next try would be too late: given up now."""
    stage = Stage()
    stage.process([job(backoff_limit=10, starting_deadline=timedelta(seconds=2))])

    def fail(_: Delivery) -> None:
        raise DispatchFailedError("no")

    stage.receive = fail
    stage.play(timedelta(seconds=90))
    assert len(events(capsys, "tick_failed")) == 1
    assert stage.rows() == {at(MINUTE): "FAILED(error)"}


def test_the_next_leader_goes_on_with_what_failed() -> None:
    """The tick has tries left; the cursor is before it."""
    stage = Stage()
    old = stage.process([job(timetable=Every(timedelta(hours=1)))])

    def fail(_: Delivery) -> None:
        raise DispatchFailedError("no")

    stage.receive = fail
    stage.play(timedelta(hours=1))
    old.stop()
    stage.receive = lambda _: None
    stage.process([job(timetable=Every(timedelta(hours=1)))])
    stage.play(SECOND)
    assert stage.periods() == [at(timedelta(hours=1))]


def test_a_dispatch_that_died_on_the_way_is_taken_over_when_its_lease_is_over() -> None:
    """However late that is: its result is unknown."""
    stage = Stage()
    short = job(timetable=Every(timedelta(hours=1)), starting_deadline=2 * SECOND)
    old = stage.process([short], beside=True)
    stage.play(SECOND)
    stage.clock.advance(T0 + timedelta(hours=1) - stage.clock.now())
    old.turn()

    class DiedError(BaseException):
        """What a SIGKILL would be."""

    def die(_: Delivery) -> None:
        raise DiedError

    stage.receive = die
    with pytest.raises(DiedError):
        old.later[0]()
    old.kill()
    stage.receive = lambda _: None
    stage.process([short])
    stage.play(timedelta(minutes=2))
    assert stage.periods() == [at(timedelta(hours=1))]
    run = old.ledger.run(f"{CLOCK}:beat", at(timedelta(hours=1)))
    assert run is not None
    assert (run.attempt, run.owner) == (2, "process-2")


def test_while_the_ledger_is_away_nothing_is_dispatched_and_then_all_is_caught_up() -> None:
    """An outage longer than the lease: the lead is lost and taken again."""
    store = AwayStore()
    stage = Stage(store)
    process = stage.process([job()])
    stage.play(timedelta(seconds=90))
    store.away = True
    process.turn()
    stage.clock.advance(30 * SECOND)
    process.turn()  # retries until its claim is no longer trusted
    assert not process.leads
    assert stage.periods() == [at(MINUTE)]
    stage.clock.advance(T0 + 4 * MINUTE + 30 * SECOND - stage.clock.now())
    store.away = False
    stage.play(20 * SECOND)
    assert stage.periods() == ticks(MINUTE, 4 * MINUTE)


def test_what_was_dispatched_while_the_ledger_went_away_is_not_dispatched_again() -> None:
    """Its success is recorded when the ledger is back."""
    store = AwayStore()
    stage = Stage(store)
    stage.process([job()])

    def go_away(_: Delivery) -> None:
        store.away = True
        stage.receive = lambda _: None
        stage.clock.meanwhile(*[lambda: None] * 30, lambda: setattr(store, "away", False))

    stage.receive = go_away
    stage.play(2 * MINUTE)
    assert stage.periods() == ticks(MINUTE, 2 * MINUTE)
    assert stage.rows()[at(MINUTE)] == "SUCCEEDED"


def test_a_dispatch_for_which_no_thread_is_available_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host has no thread left for a moment."""
    stage = Stage()
    process = stage.process([job()])
    process.turn()
    start = process.service._start_work
    asked: list[None] = []

    def start_late(work: Callable[[], None]) -> None:
        asked.append(None)
        if len(asked) == 1:
            raise RuntimeError("can't start new thread")
        start(work)

    monkeypatch.setattr(process.service, "_start_work", start_late)
    stage.play(timedelta(seconds=62))
    assert stage.periods() == [at(MINUTE)]
    assert len(asked) == 2
