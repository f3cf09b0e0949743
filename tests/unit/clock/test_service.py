"""The clock's loop, in time that only the test moves."""

from __future__ import annotations

import json
import random
import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from cronce.clock.dispatch import DispatchFailedError
from cronce.schedule import Every, parse
from cronce.stores.memory import MemoryStore
from cronce.stores.sqlite import SqliteStore
from cronce.vocabulary.errors import LedgerUnavailableError
from cronce.vocabulary.names import period_of
from cronce.vocabulary.policy import CatchUp
from tests.support.clockwork import CLOCK, MINUTE, SECOND, T0, Stage, at, job, ticks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cronce.clock.config import ClockJob
    from cronce.clock.dispatch import Delivery
    from cronce.protocol.operations import Swapped
    from cronce.protocol.records import Record
    from cronce.stores.store import Page, Store


def events(capsys: pytest.CaptureFixture[str], name: str) -> list[dict[str, Any]]:
    """The log lines about an event so far, without the prefix of the keys."""
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    stripped = [{key.removeprefix("cronce."): value for key, value in line.items()} for line in lines]
    return [line for line in stripped if line["event"] == name]


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


def test_stopping_hands_over_at_once_and_leaves_the_rest_to_the_rows() -> None:
    """The lease is free while a dispatch is still at work; the next leader does not repeat it."""
    stage = Stage()
    old = stage.process([job(timetable=Every(timedelta(hours=1)))], beside=True)
    old.turn()
    stage.clock.advance(timedelta(hours=1))
    old.turn()
    (work,) = old.later
    old.later = []

    def stop_meanwhile(_: Delivery) -> None:
        stage.receive = lambda _: None
        old.service.stop()
        assert old.service.turn() is None
        (release,) = old.later
        release()
        old.ended = True
        stage.process([job(timetable=Every(timedelta(hours=1)))])
        stage.play(3 * SECOND)
        assert stage.processes[-1].leads

    stage.receive = stop_meanwhile
    work()
    stage.play(MINUTE)
    assert stage.sent == [("process-1", "beat", at(timedelta(hours=1)), "schedule")]


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


def test_run_leads_until_it_is_asked_to_stop_and_then_hands_over() -> None:
    """The whole loop, with what it waits for in between."""
    stage = Stage()
    process = stage.process([job()])
    stage.clock.meanwhile(*[lambda: None] * 40, process.service.stop)
    process.service.run()
    assert len(stage.periods()) >= 3
    assert stage.periods() == ticks(MINUTE, len(stage.periods()) * MINUTE)
    following = stage.process([job()])
    following.turn()
    assert following.leads


def test_run_waits_for_what_is_at_work_and_gives_it_up_before_the_grace_is_over() -> None:
    """20 s of grace: at 17 s the commands are stopped, at 20 s it returns."""
    stage = Stage()
    process = stage.process([job()], beside=True)
    given_up_after: list[float] = []
    began: list[float] = []

    def stop() -> None:
        began.append(stage.clock.monotonic())
        process.service.stop()

    def look() -> None:
        for work in process.later:
            if "release" in work.__qualname__:
                work()
        process.later = [work for work in process.later if "release" not in work.__qualname__]
        if process.service._give_up.is_set() and not given_up_after:
            given_up_after.append(stage.clock.monotonic() - began[0])
        stage.clock.meanwhile(look)

    stage.clock.meanwhile(*[lambda: None] * 15, stop, look)
    process.service.run()
    assert process.later  # the dispatch never ended
    assert 17 <= given_up_after[0] <= 17.2
    assert stage.clock.monotonic() - began[0] == pytest.approx(20, abs=0.01)


def test_a_loop_that_breaks_down_releases_the_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever broke it, another process can go on at once."""
    stage = Stage()
    process = stage.process([job()])

    def break_down(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(process.service, "_choose", break_down)
    with pytest.raises(ZeroDivisionError):
        process.service.run()
    assert stage.claim_lead() is not None


def test_a_process_that_cannot_read_the_rows_does_not_lead(capsys: pytest.CaptureFixture[str]) -> None:
    """There is no checkpoint, and the rows cannot be read: the lease is released."""

    class UnreadableStore(MemoryStore):
        """Queries have no answer."""

        def query(self, job: str, *, limit: int, before: str | None = None) -> Page:
            """Never."""
            raise LedgerUnavailableError(f"memory {job} {limit} {before}", "away", transient=False)

    stage = Stage(UnreadableStore())
    process = stage.process([job()])
    process.turn()
    assert not process.leads
    assert len(events(capsys, "unavailable")) == 1
    assert stage.claim_lead() is not None


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


def test_standing_by_is_trouble_when_the_ledger_is_silent_for_a_minute() -> None:
    """Just before, and at."""
    stage = Stage()
    process = stage.process([job()])
    stage.clock.advance(timedelta(seconds=59.9))
    assert process.service.trouble() is None
    stage.clock.advance(timedelta(seconds=0.1))
    assert process.service.trouble() == "standing by, but the ledger has not answered for 60 s"


def test_a_sign_of_life_comes_once_a_minute_where_there_are_metrics(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An alarm can be set on its absence."""
    stage = Stage()
    stage.process([job(timetable=Every(timedelta(hours=1)))])
    stage.play(timedelta(minutes=5))
    assert events(capsys, "leads") == []
    monkeypatch.setenv("CRONCE_METRICS", "emf")
    stage.play(timedelta(minutes=5))
    assert len(events(capsys, "leads")) in (5, 6)


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


def test_a_reload_continues_each_job_where_it_was_and_begins_a_new_one_now() -> None:
    """No tick is lost and none comes twice; a job that is gone has no more."""
    stage = Stage()
    process = stage.process([job("kept"), job("gone")])
    stage.play(timedelta(minutes=5, seconds=30))
    process.service.reload([job("kept"), job("new", timetable=Every(10 * SECOND), catch_up=CatchUp.ALL)])
    stage.play(timedelta(minutes=5))
    assert stage.periods("kept") == ticks(MINUTE, 10 * MINUTE)
    assert stage.periods("gone") == ticks(MINUTE, 5 * MINUTE)
    begun = timedelta(minutes=5, seconds=30)
    assert stage.periods("new") == [at(begun + n * 10 * SECOND) for n in range(1, 31)]


def test_a_reload_ends_no_dispatch_and_repeats_none() -> None:
    """What was under way is settled by name and time; that of a job that is gone is nobody's."""
    stage = Stage()
    process = stage.process([job("kept"), job("gone")], beside=True)
    process.turn()
    stage.clock.advance(MINUTE)
    process.turn()
    assert len(process.later) == 2
    process.service.reload([job("kept", timeout=7 * SECOND)])
    process.turn()
    assert len(process.later) == 2
    for work in process.later:
        work()
    process.later.clear()
    process.turn()
    assert process.later == []
    assert sorted(name for _, name, *_ in stage.sent) == ["gone", "kept"]
    assert process.service.trouble() is None


def test_a_standby_that_reloads_leads_with_the_new_jobs() -> None:
    """It had no agenda to change."""
    stage = Stage()
    first = stage.process([job("old")])
    stage.play(timedelta(minutes=1, seconds=30))
    first.stop()
    second = stage.process([job("old")])
    second.service.reload([job("new")])
    stage.play(timedelta(minutes=2))
    assert stage.periods("old") == ticks(MINUTE, MINUTE)
    assert stage.periods("new") == [at(n * MINUTE) for n in (2, 3)]


def test_a_reload_stores_the_cursors_at_once() -> None:
    """A leader that dies a moment later leaves those of the new jobs."""
    stage = Stage()
    process = stage.process([job("old")])
    process.turn()
    process.turn()
    process.service.reload([job("new")])
    process.turn()
    leader = process.ledger.run(CLOCK, "leader")
    assert leader is not None
    assert list(json.loads(leader.checkpoint or "{}")["cursors"]) == ["new"]


def test_a_tick_that_waits_for_its_next_try_is_tried_after_a_reload() -> None:
    """It is not settled, so the job continues before it."""
    stage = Stage()
    kept = job("kept", backoff_limit=9, starting_deadline=5 * MINUTE)
    process = stage.process([kept])

    def refuse(_: Delivery) -> None:
        raise DispatchFailedError("not now")

    stage.receive = refuse
    stage.play(timedelta(minutes=1, seconds=1))
    assert stage.periods("kept") == []
    process.service.reload([kept, job("new")])
    stage.receive = lambda _: None
    stage.play(timedelta(seconds=50))
    assert stage.periods("kept") == [at(MINUTE)]
