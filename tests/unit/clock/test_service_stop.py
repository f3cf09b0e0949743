"""The clock starts, reloads its jobs and stops."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from cronce.clock.dispatch import DispatchFailedError
from cronce.schedule import Every
from cronce.stores.memory import MemoryStore
from cronce.vocabulary.errors import LedgerUnavailableError
from cronce.vocabulary.policy import CatchUp
from tests.support.clockwork import CLOCK, MINUTE, SECOND, Stage, at, job, ticks
from tests.unit.clock.clock_events import events

if TYPE_CHECKING:
    from cronce.clock.dispatch import Delivery
    from cronce.stores.store import Page


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
