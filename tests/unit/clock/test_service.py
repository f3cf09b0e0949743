"""The clock's loop, in time that only the test moves."""

from __future__ import annotations

import random
import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from cronce.schedule import Every, parse
from cronce.stores.memory import MemoryStore
from cronce.stores.sqlite import SqliteStore
from cronce.vocabulary.names import period_of
from cronce.vocabulary.policy import CatchUp
from tests.support.clockwork import CLOCK, MINUTE, SECOND, T0, Stage, at, job, ticks
from tests.unit.clock.clock_events import events

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cronce.clock.config import ClockJob
    from cronce.protocol.operations import Swapped
    from cronce.protocol.records import Record
    from cronce.stores.store import Page, Store


class CountingStore(MemoryStore):
    """A store that counts what it is asked."""

    writes = reads = 0

    def swap(self, record: Record, expected: Record | None) -> Swapped:
        """As the memory's."""
        self.writes += 1
        return super().swap(record, expected)

    def get(self, job: str, key: str) -> Record | None:
        """As the memory's."""
        self.reads += 1
        return super().get(job, key)

    def query(self, job: str, *, limit: int, before: str | None = None) -> Page:
        """As the memory's."""
        self.reads += 1
        return super().query(job, limit=limit, before=before)


def test_every_tick_is_dispatched_once_at_its_time() -> None:
    """From the first one after the start on; a new job misses nothing of its past."""
    stage = Stage()
    stage.process([job()])
    stage.play(timedelta(minutes=10, seconds=30))
    assert stage.periods() == ticks(MINUTE, 10 * MINUTE)
    assert set(stage.rows().values()) == {"SUCCEEDED"}


def test_a_wake_up_that_is_a_little_early_or_late_changes_no_period() -> None:
    """05:59:59.98, 06:00:00.03 and the like: one run, and it is 06:00's."""
    stage = Stage(start=T0 - MINUTE)
    process = stage.process([job(timetable=parse("0 6 * * *"))])
    process.turn()
    for offset in (-20, -3, 0, 30, 31):
        stage.clock.advance(T0 + timedelta(milliseconds=offset) - stage.clock.now())
        process.turn()
        assert stage.periods() == ([at(timedelta(0))] if offset >= 0 else [])


def test_between_two_ticks_the_loop_sleeps() -> None:
    """It wakes to renew its lease and to look at the wall clock, not more."""
    stage = Stage()
    stage.process([job()])
    turns: list[float] = []
    stage.clock.advance(SECOND)
    process = stage.processes[0]
    while stage.clock.now() < T0 + MINUTE:
        turns.append(process.turn())
        stage.clock.advance(timedelta(seconds=max(turns[-1], 0.001)))
    assert len(turns) < 15


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_two_clocks_by_mistake_dispatch_a_thousand_ticks_a_thousand_times(kind: str, tmp_path: Path) -> None:
    """Each believes that it leads; the rows decide. Counted by the target."""
    count = 1000 if kind == "memory" else 100
    store: Store = MemoryStore() if kind == "memory" else SqliteStore(tmp_path / "runs.db")
    stage = Stage(store)
    one = stage.process([job()], period="leader-1", beside=True)
    two = stage.process([job()], period="leader-2", beside=True)
    order = random.Random(7)
    one.turn()
    two.turn()
    for _ in range(count):
        stage.clock.advance(MINUTE)
        assert one.turn() >= 0
        assert two.turn() >= 0
        work = one.later + two.later
        one.later, two.later = [], []
        order.shuffle(work)
        for piece in work:
            piece()
    assert stage.periods() == ticks(MINUTE, count * MINUTE)
    assert {owner for owner, *_ in stage.sent} == {"process-1", "process-2"}
    store.close()


def test_two_clocks_that_dispatch_at_the_same_instant_dispatch_once() -> None:
    """Their workers race in threads, over 300 ticks."""
    stage = Stage()
    clocks = [stage.process([job()], period=f"leader-{n}", beside=True) for n in range(2)]
    for process in clocks:
        process.turn()
    for _ in range(300):
        stage.clock.advance(MINUTE)
        for process in clocks:
            process.turn()
        work = [piece for process in clocks for piece in process.later]
        for process in clocks:
            process.later = []
        _at_once(work)
    assert sorted(stage.periods()) == ticks(MINUTE, 300 * MINUTE)


@pytest.mark.parametrize("seed", range(5))
def test_a_rolling_deploy_every_few_seconds_loses_no_tick_and_doubles_none(seed: int) -> None:
    """Old and new overlap, or leave a gap within the starting deadline; some old ones are killed."""
    dice = random.Random(seed)
    jobs = [job("fast", timetable=Every(10 * SECOND)), job("minutely"), job("cron", timetable=parse("*/7 * * * *"))]
    stage = Stage()
    stage.process(jobs)
    stage.play(5 * SECOND)
    for _ in range(60):
        old = [process for process in stage.processes if not process.ended]
        if dice.random() < 0.5:
            stage.process(jobs)
            stage.play(timedelta(seconds=dice.uniform(0, 8)))
        for process in old:
            (process.kill if dice.random() < 0.1 else process.stop)()
        stage.play(timedelta(seconds=dice.uniform(0, 100)))
        if all(process.ended for process in stage.processes):
            stage.process(jobs)
        stage.processes = [process for process in stage.processes if not process.ended]
        stage.play(timedelta(seconds=dice.uniform(1, 40)))
    stage.play(2 * MINUTE)  # a killed leader's lease may have to run out
    until = stage.clock.now()
    for each in jobs:
        assert each.timetable is not None
        expected = [period_of(tick) for tick in each.timetable.between(T0 + SECOND, until + SECOND)]
        assert sorted(stage.periods(each.name)) == expected


def test_a_tick_that_falls_into_the_restart_happens() -> None:
    """Old clock stops at 05:59:50, the new one starts at 06:00:20."""
    stage = Stage(start=T0 - MINUTE)
    jobs = [job(timetable=parse("0 6 * * *"))]
    old = stage.process(jobs)
    stage.play(timedelta(seconds=50))
    old.stop()
    stage.clock.advance(timedelta(seconds=30))
    stage.process(jobs)
    stage.play(SECOND)
    assert stage.sent == [("process-2", "beat", at(timedelta(0)), "schedule")]


def test_a_new_job_whose_clock_dies_before_its_first_tick_does_not_miss_it() -> None:
    """Its first cursor is written when it is first seen."""
    stage = Stage()
    stage.process([job(timetable=Every(timedelta(hours=1)))])
    stage.play(SECOND)
    stage.processes[0].kill()
    stage.clock.advance(timedelta(minutes=59, seconds=30))
    stage.clock.advance(MINUTE)
    stage.process([job(timetable=Every(timedelta(hours=1)))])
    stage.play(SECOND)
    assert stage.periods() == [at(timedelta(hours=1))]


@pytest.mark.parametrize(
    ("catch_up", "caught_up"),
    [
        (CatchUp.NONE, []),
        (CatchUp.LATEST, []),
        (CatchUp.ALL, ticks(2062 * MINUTE, 2156 * MINUTE)),
    ],
)
def test_after_36_hours_a_minute_job_catches_up_what_its_policy_says_and_no_more(
    catch_up: CatchUp, caught_up: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The ticks of the starting deadline at once, of the others at most as many as make a hundred; and it goes on."""
    jobs = [job(catch_up=catch_up)]
    stage = Stage()
    old = stage.process(jobs)
    stage.play(90 * SECOND)
    old.stop()
    stage.sent.clear()
    down = timedelta(hours=36)
    stage.clock.advance(down)
    stage.process(jobs)
    stage.play(10 * SECOND)
    fresh = ticks(down - 3 * MINUTE, down + MINUTE)
    assert sorted(stage.periods()) == sorted([*caught_up, *fresh])
    assert stage.periods()[: len(fresh)] == fresh  # what is on time does not queue behind what is late
    missed = events(capsys, "tick_missed")
    (counted,) = [line for line in missed if "count" in line]
    assert (counted["count"], counted["first"], counted["last"]) == (2060, at(2 * MINUTE), at(2061 * MINUTE))
    assert len(missed) - 1 == 100 - len(fresh) - len(caught_up)
    rows = list(stage.rows().values())
    assert rows.count("MISSED(too_late)") == 100 - len(fresh) - len(caught_up)
    stage.play(5 * MINUTE)
    assert stage.periods()[-5:] == ticks(down + 2 * MINUTE, down + 6 * MINUTE)


def test_latest_catches_up_the_last_tick_if_none_is_within_the_deadline() -> None:
    """A daily job, three days down: one run, the others are rows."""
    daily = job(timetable=parse("0 7 * * *"), catch_up=CatchUp.LATEST)
    stage = Stage()
    stage.process([daily])
    stage.play(SECOND)
    stage.processes[0].stop()
    stage.clock.advance(timedelta(days=3))
    stage.process([daily])
    stage.play(SECOND)
    hour, day = timedelta(hours=1), timedelta(days=1)
    assert stage.sent == [("process-2", "beat", at(hour + 2 * day), "catch_up")]
    assert stage.rows() == {
        at(hour): "MISSED(too_late)",
        at(hour + day): "MISSED(too_late)",
        at(hour + 2 * day): "SUCCEEDED",
    }


def test_the_deadline_is_exact() -> None:
    """A tick is dispatched when it is exactly as old as the deadline, and missed just after."""
    for late, status in ((timedelta(0), "SUCCEEDED"), (timedelta(milliseconds=1), "MISSED(too_late)")):
        stage = Stage()
        once = job(timetable=parse("1 6 29 11 *"))
        stage.process([once])
        stage.play(SECOND)
        stage.processes[0].stop()
        stage.clock.advance(T0 + MINUTE + once.starting_deadline + late - stage.clock.now())
        process = stage.process([once])
        process.turn()
        process.turn()
        assert stage.rows() == {at(MINUTE): status}


def test_without_its_row_the_next_leader_goes_on_from_the_newest_tick() -> None:
    """Somebody deleted the leader's row while nobody led: the checkpoint is gone, the rows are not."""
    stage = Stage()
    stage.process([job()])
    stage.play(3 * MINUTE)
    stage.processes[0].stop()
    _delete_leader(stage)
    stage.clock.advance(2 * MINUTE)
    stage.process([job()])
    stage.play(SECOND)
    assert stage.periods() == ticks(MINUTE, 5 * MINUTE)


@pytest.mark.parametrize("how", ["deleted", "changed"])
def test_a_leader_whose_row_is_taken_away_stops_within_one_tick(how: str) -> None:
    """It notices before it dispatches the next tick, and then stands by."""
    stage = Stage()
    process = stage.process([job()])
    stage.play(MINUTE)
    assert stage.periods() == [at(MINUTE)]
    _delete_leader(stage)
    if how == "changed":
        assert stage.claim_lead() is not None
    stage.clock.advance(timedelta(seconds=59))
    while process.leads:
        stage.clock.advance(timedelta(milliseconds=200))
        process.turn()
    assert stage.periods() == [at(MINUTE)]
    stage.play(2 * SECOND)
    # If no other process leads, it takes the lead again and catches up; else it stands by.
    assert stage.periods() == (ticks(MINUTE, 2 * MINUTE) if how == "deleted" else [at(MINUTE)])


def test_a_lease_that_is_fresh_is_not_renewed_for_a_tick() -> None:
    """Ticks in one second share one renewal."""
    stage = Stage()
    process = stage.process([job(timetable=Every(MINUTE)), job("b", timetable=Every(MINUTE))])
    stage.play(timedelta(seconds=60))
    before = _leader_version(stage)
    process.turn()
    stage.clock.advance(timedelta(milliseconds=500))
    process.turn()
    assert _leader_version(stage) == before


def test_a_pause_longer_than_the_lease_doubles_nothing() -> None:
    """SIGSTOP for 90 s: another leads by then; the one that wakes up finds out before it acts."""
    stage = Stage()
    paused = stage.process([job(timetable=Every(10 * SECOND))])
    other = stage.process([job(timetable=Every(10 * SECOND))])
    stage.play(35 * SECOND)
    assert (paused.leads, other.leads) == (True, False)
    stage.processes = [other]
    stage.play(90 * SECOND)
    assert (paused.leads, other.leads) == (True, True)  # so it believes
    stage.processes = [paused, other]
    stage.play(60 * SECOND)
    assert (paused.leads, other.leads) == (False, True)
    assert sorted(stage.periods()) == ticks(10 * SECOND, timedelta(seconds=180), 10 * SECOND)


def test_a_clock_that_is_set_back_doubles_nothing() -> None:
    """NTP moves it by an hour; the hour is not dispatched again."""
    stage = Stage()
    stage.process([job()])
    stage.play(10 * MINUTE)
    stage.clock.step(-5 * MINUTE)
    stage.play(10 * MINUTE)
    assert stage.periods() == ticks(MINUTE, 15 * MINUTE)


def test_a_clock_that_is_set_forward_catches_up() -> None:
    """It looks like a pause."""
    stage = Stage()
    stage.process([job()])
    stage.play(2 * MINUTE)
    stage.clock.step(3 * MINUTE)
    stage.play(MINUTE)
    assert stage.periods() == ticks(MINUTE, 6 * MINUTE)


def test_daylight_saving_is_the_schedules() -> None:
    """02:30 in New York on the day on which there is none: nothing at 07:30 or 03:30, and nothing missed."""
    stage = Stage(start=datetime(2026, 3, 7, 8, tzinfo=UTC))
    stage.process([job(timetable=parse("30 2 * * *", timezone="America/New_York"))])
    stage.play(timedelta(days=2))
    assert stage.periods() == ["2026-03-09T06:30:00Z"]
    assert list(stage.rows()) == ["2026-03-09T06:30:00Z"]


@pytest.mark.parametrize(
    ("jobs", "writes", "reads"),
    [
        ([job(timetable=parse("0 0 1 1 *"))], 240, 0),
        ([job()], 360, 120),
        ([job(f"job-{n}") for n in range(10)], 1440, 1200),
        ([job(timetable=Every(10 * SECOND))], 1080, 720),
    ],
)
def test_what_an_hour_of_leading_costs(jobs: list[ClockJob], writes: int, reads: int) -> None:
    """The table of docs/clock.md."""
    store = CountingStore()
    stage = Stage(store)
    stage.process(jobs)
    stage.play(30 * SECOND)
    store.writes = store.reads = 0
    stage.play(timedelta(hours=1))
    assert store.reads == pytest.approx(reads, abs=1)
    assert store.writes == pytest.approx(writes, abs=2)


def test_a_job_that_is_added_or_timed_anew_misses_nothing() -> None:
    """Only what is within its starting deadline counts after a change of its timetable."""
    stage = Stage()
    old = stage.process([job("old", timetable=Every(timedelta(hours=1)))])
    stage.play(timedelta(minutes=30))
    old.stop()
    stage.process([job("old", timetable=Every(10 * MINUTE)), job("new", catch_up=CatchUp.ALL)])
    stage.clock.advance(timedelta(hours=1))
    stage.play(timedelta(0))
    stage.processes[-1].turn()
    assert stage.periods("old") == [at(timedelta(minutes=90))]
    assert stage.periods("new") == []
    assert list(stage.rows("old")) == [at(timedelta(minutes=90))]


def _at_once(work: list[Callable[[], None]]) -> None:
    """Do each piece in a thread; they begin together."""
    barrier = threading.Barrier(len(work))

    def do(piece: Callable[[], None]) -> None:
        barrier.wait()
        piece()

    threads = [threading.Thread(target=do, args=(piece,)) for piece in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _delete_leader(stage: Stage) -> None:
    assert isinstance(stage.store, MemoryStore)
    del stage.store._items[CLOCK, "run#leader"]


def _leader_version(stage: Stage) -> int:
    row = stage.store.get(CLOCK, "run#leader")
    assert row is not None
    return row.version
