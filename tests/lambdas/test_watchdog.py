"""The watchdog looks: at lost runs, missed ticks, ticks to catch up, pinned services."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from moto import mock_aws

from cronce import (
    CatchUp,
    ConcurrencyPolicy,
    LeaseLostError,
    Ledger,
    LedgerUnavailableError,
    OnLost,
    Policy,
    Reason,
    Status,
    Trigger,
)
from cronce.client.leadership import Leadership
from cronce.ecs import CallRefusedError, CallUnavailableError
from cronce.protocol.records import RunRecord
from cronce.stores.memory import MemoryStore
from cronce.vocabulary.names import period_of
from cronce.watch.memory import from_value
from cronce_lambdas.settings import PinnedService
from cronce_lambdas.watchdog import handler
from tests.lambdas.events import CLUSTER, JOB, OTHER, PERIOD, SETTINGS, World, letter, stopped
from tests.support.cloud import GROUP, T0, client_error, metrics, schedule, several

if TYPE_CHECKING:
    from pathlib import Path

    from cronce.protocol.operations import Swapped
    from cronce.protocol.records import Record
    from cronce.stores.store import Page

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
LATE = T0 + SETTINGS.missed_after
MONTH_AGO: dict[str, Any] = {"CreationDate": T0 - 30 * DAY, "LastModificationDate": T0 - 30 * DAY}
ALL, LATEST = Policy(catch_up=CatchUp.ALL), Policy(catch_up=CatchUp.LATEST)


def hourly(**changes: Any) -> World:  # noqa: ANN401
    """A world with a job that is due every hour and was created just before T0."""
    world = World(policy=changes.pop("policy", None), settings=changes.pop("settings", SETTINGS))
    made = {"CreationDate": T0 - MINUTE, "LastModificationDate": T0 - MINUTE}
    world.define(**{"policy": world.policy, "ScheduleExpression": "cron(0 * * * ? *)"} | made | changes)
    return world


class CountingStore(MemoryStore):
    """Records the operations."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def get(self, job: str, key: str) -> Record | None:
        """See `Store.get`."""
        self.asked.append(f"get {job} {key}")
        return super().get(job, key)

    def swap(self, record: Record, expected: Record | None) -> Swapped:
        """See `Store.swap`."""
        self.asked.append(f"swap {record.job} {record.key}")
        return super().swap(record, expected)

    def query(self, job: str, *, limit: int, before: str | None = None) -> Page:
        """See `Store.query`."""
        self.asked.append(f"query {job}")
        return super().query(job, limit=limit, before=before)


class TestPaused:
    """A job that a person paused."""

    def test_a_tick_that_was_not_delivered_is_skipped_and_not_missed(self) -> None:
        """Nobody is alarmed, and it is not caught up, not even after the pause."""
        world = hourly(policy=ALL)
        world.ledger().pause(JOB, actor="ann", why="stocktaking")
        assert world.look(LATE) == {"jobs": 1}
        run = world.standing()
        assert (run.status, run.reason, run.actor, run.note) == (Status.SKIPPED, Reason.PAUSED, "ann", "stocktaking")
        world.ledger().resume(JOB)
        assert world.look(LATE + MINUTE) == {"jobs": 1}
        assert world.events.sent == []

    def test_a_tick_from_before_the_pause_is_missed_and_caught_up_after_it(self) -> None:
        """The backlog waits for the end of the pause."""
        world = hourly(policy=ALL)
        world.clock.advance(MINUTE)
        world.ledger().pause(JOB, actor="ann", why="stocktaking", until=LATE + 10 * MINUTE)
        assert world.look(LATE) == {"jobs": 1, "missed": 1}
        assert world.look(LATE + 9 * MINUTE) == {"jobs": 1}
        assert world.look(LATE + 10 * MINUTE) == {"jobs": 1, "caught_up": 1}


class TestMissed:
    """A tick that was not delivered."""

    def test_it_gets_a_row(self) -> None:
        """With its nominal time, and no attempt."""
        world = hourly()
        assert world.look(LATE) == {"jobs": 1, "missed": 1}
        run = world.standing()
        assert (run.status, run.reason, run.attempt) == (Status.MISSED, Reason.NEVER_DELIVERED, 0)
        assert (run.scheduled_at, run.owner) == (T0, "cronce:watchdog")

    def test_a_tick_of_a_further_schedule_gets_one_too(self) -> None:
        """The job is looked at once, whatever number of schedules it has, and remembered under its first one."""
        world = hourly()
        made = {"CreationDate": T0 - MINUTE, "LastModificationDate": T0 - MINUTE}
        first, further = several(JOB, further="cron(30 * * * ? *)", ScheduleExpression="cron(0 * * * ? *)", **made)
        world.scheduler.schedules |= {each["Name"]: each for each in (first, further)}
        assert world.look(LATE) == {"jobs": 1, "missed": 1}
        assert world.look(LATE + 30 * MINUTE) == {"jobs": 1, "missed": 1}
        run = world.standing(T0 + 30 * MINUTE)
        assert (run.status, run.reason) == (Status.MISSED, Reason.NEVER_DELIVERED)
        assert [row.period for row in world.ledger().page("cronce:watchdog", limit=10).runs] == [first["Name"]]

    def test_it_is_counted_and_sent_once(self, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:  # noqa: ANN401
        """A metric with two dimensions, and an event."""
        monkeypatch.setenv("CRONCE_METRICS", "emf")
        world = hourly()
        for minute in range(10):
            world.look(LATE + minute * MINUTE)
        ((name, line),) = metrics(capsys.readouterr().err)
        assert (name, line["Job"], line["Ledger"]) == ("TickMissed", JOB, "runs")
        (event,) = world.events.sent
        assert event == {
            "type": "Cronce Run Missed",
            "ledger": "runs",
            "job": JOB,
            "period": PERIOD,
            "scheduledTime": PERIOD,
            "reason": "never_delivered",
        }

    @pytest.mark.parametrize("state", ["running", "done", "failed", "skipped", "refused"])
    def test_one_that_was_delivered_is_none(self, state: str) -> None:
        """Whatever became of it."""
        world = hourly(policy=Policy(lease=HOUR))
        match state:
            case "running":
                world.claim()
            case "done":
                world.claim().complete()
            case "failed":
                world.claim().fail("no")
            case "skipped":
                world.ledger().claim(JOB, PERIOD, policy=Policy(suspend=True))
            case _:
                world.settle(stopped(exit_code=None, stop_code="TaskFailedToStart"))
        before = world.standing()
        assert "missed" not in world.look(LATE)
        after = world.standing()
        assert (after.status, after.reason, after.attempt) == (before.status, before.reason, before.attempt)
        assert "Cronce Run Missed" not in [event["type"] for event in world.events.sent]

    def test_a_late_delivery_takes_it_over(self) -> None:
        """The mark does not block the work."""
        world = hourly()
        world.look(LATE)
        claimed = world.claim()
        assert claimed.attempt == 1
        claimed.complete()
        world.look(LATE + MINUTE)
        assert world.standing().status is Status.SUCCEEDED

    def test_many_are_read_page_by_page(self) -> None:
        """The watchdog slept for three days; two of the ticks were delivered."""
        world = hourly()
        store = CountingStore()
        world.store = store
        world.look(T0)
        for hours in (10, 60):
            world.clock.advance(T0 + hours * HOUR - world.clock.now())
            world.claim(at=T0 + hours * HOUR).complete()
        store.asked.clear()
        assert world.look(T0 + 72 * HOUR + SETTINGS.missed_after)["missed"] == 71
        # The newest runs, for lost ones; the rows of the ticks; the newest runs again, for its own periods; a success.
        assert store.asked.count(f"query {JOB}") == 4
        assert not [asked for asked in store.asked if asked.startswith(f"get {JOB} run#")]

    def test_older_ones_than_a_hundred_are_reported(self, capsys: pytest.CaptureFixture[str]) -> None:
        """And the watchdog continues."""
        world = hourly(ScheduleExpression="cron(* * * * ? *)")
        found = world.look(LATE + 2 * HOUR)
        assert (found["missed"], found["not_judged"]) == (100, 21)
        lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
        (line,) = [line for line in lines if line["cronce.event"] == "ticks_not_judged"]
        assert line["cronce.count"] == 21
        assert world.look(LATE + 2 * HOUR + MINUTE) == {"jobs": 1, "missed": 1}

    def test_a_disabled_job_misses_nothing(self) -> None:
        """Disabled for a while, then enabled; ticks from before are still judged."""
        world = hourly()
        world.look(T0 + 2 * MINUTE)
        off: dict[str, Any] = {"ScheduleExpression": "cron(0 * * * ? *)", "CreationDate": T0 - MINUTE}
        world.define(State="DISABLED", LastModificationDate=T0 + 3 * MINUTE, **off)
        for hours in range(1, 5):
            world.look(T0 + hours * HOUR + 10 * MINUTE)
        world.define(LastModificationDate=T0 + 4 * HOUR + 30 * MINUTE, **off)
        world.look(T0 + 4 * HOUR + 31 * MINUTE)
        world.look(T0 + 5 * HOUR + 10 * MINUTE)
        assert [run.period for run in world.ledger().runs(JOB)] == [period_of(T0 + 5 * HOUR), PERIOD]

    def test_a_job_that_names_its_own_periods_misses_nothing(self) -> None:
        """Its tasks claim `2026-11-29`, so the tick never gets a row, and a catch-up would repeat the work."""
        world = hourly(policy=ALL)
        claimed = world.ledger().claim(JOB, "2026-11-29")
        assert claimed
        claimed.complete()
        assert world.look(LATE) == {"jobs": 1, "not_judged": 1}
        assert (world.run(), world.launches()) == (None, [])

    def test_a_rate_without_a_start_is_not_judged(self) -> None:
        """Nobody knows its ticks."""
        world = hourly(ScheduleExpression="rate(1 hour)")
        assert world.look(LATE + 5 * HOUR) == {"jobs": 1}

    def test_a_row_that_came_meanwhile_stays(self) -> None:
        """The task claims between the look at the row and the mark."""
        world = hourly()
        store = MemoryStore()
        swap = store.swap

        def claims_first(record: Record, expected: Record | None) -> Swapped:
            if isinstance(record, RunRecord) and (record.job, record.owner) == (JOB, "cronce:watchdog"):
                store.swap = swap  # type: ignore[method-assign]
                world.claim()
            return swap(record, expected)

        store.swap = claims_first  # type: ignore[method-assign]
        world.store = store
        assert world.look(LATE) == {"jobs": 1}
        assert (world.standing().status, world.events.sent) == (Status.RUNNING, [])

    def test_a_dead_letter_sends_one_event(self) -> None:
        """The recorder sends the event; the watchdog finds the mark and only catches up."""
        world = hourly(policy=LATEST)
        world.sort(letter())
        assert world.look(LATE) == {"jobs": 1, "caught_up": 1}
        assert len(world.events.sent) == 1


class TestCutShort:
    """A look that is interrupted."""

    def test_what_was_not_remembered_is_done_again(self) -> None:
        """The mark exists; the event is sent now."""
        world = hourly(policy=LATEST)
        world.events.fail_if("put_events", lambda _: RuntimeError("nobody foresaw this"))
        assert world.look(LATE) == {"jobs": 1, "missed": 1, "failed": 1}
        assert world.standing().status is Status.MISSED
        world.events.recover()
        world.events.calls.clear()
        assert world.look(LATE + MINUTE)["caught_up"] == 1
        assert len(world.events.sent) == 1

    def test_nothing_is_launched_twice(self) -> None:
        """The launch was arranged, and then it could not be remembered."""
        world = hourly(policy=LATEST)
        held = Leadership(world.ledger(), "cronce:watchdog", period=f"{JOB}-0123456789ab", lease=MINUTE).try_once()
        assert held
        for minute in range(3):
            world.look(LATE + minute * MINUTE / 10)
        assert len(world.launches()) == 1

    def test_one_look_at_a_time(self) -> None:
        """The second look ends at once and reads no schedules."""
        world = hourly()
        world.clock.advance(SETTINGS.missed_after)
        first = Leadership(world.ledger(OTHER), "cronce:watchdog:look", lease=MINUTE).try_once()
        assert first is not None
        assert world.look(LATE) == {"skipped": 1}
        assert world.scheduler.calls == []
        first.interrupt()
        assert world.look(LATE)["missed"] == 1

    def test_a_look_that_died_is_followed_when_its_lease_expires(self) -> None:
        """Lambda killed it."""
        world = hourly()
        assert Leadership(world.ledger(OTHER), "cronce:watchdog:look", lease=MINUTE).try_once()
        assert world.look(T0 + MINUTE) == {"skipped": 1}
        assert "skipped" not in world.look(T0 + 2 * MINUTE)

    def test_one_jobs_failure_hides_no_other(self, capsys: pytest.CaptureFixture[str]) -> None:
        """An unreadable row and an invalid expression."""
        world = hourly()
        expressions = {"a": "cron(0 * * * ? *)", "b": "cron(nonsense)", "z": "cron(0 * * * ? *)"}
        for job, expression in expressions.items():
            world.define(
                job,
                ScheduleExpression=expression,
                CreationDate=T0 - MINUTE,
                LastModificationDate=T0 - MINUTE,
            )
        store = world.store
        assert isinstance(store, MemoryStore)
        store._items["a", f"run#{PERIOD}"] = {"job": "a", "key": f"run#{PERIOD}", "schema": 99}
        assert world.look(LATE) == {"jobs": 4, "missed": 2, "failed": 1, "unreadable": 1}
        lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
        assert [line["cronce.job"] for line in lines if line["cronce.event"] == "look_failed"] == ["b"]
        assert [line["cronce.job"] for line in lines if line["cronce.event"] == "row_unreadable"] == ["a"]
        assert world.run(job="z") is not None

    def test_without_a_ledger_the_look_ends(self) -> None:
        """The next look comes in a minute."""

        class Away(MemoryStore):
            def query(self, job: str, *, limit: int, before: str | None = None) -> Page:
                raise LedgerUnavailableError("memory", f"{job} {limit} {before}", transient=False)

        world = World(store=Away())
        with pytest.raises(LedgerUnavailableError):
            world.look(LATE)
        world.store = MemoryStore()
        assert world.look(LATE)["jobs"] == 1

    def test_a_ledger_that_goes_away_in_a_look_ends_it(self) -> None:
        """Otherwise each of a hundred jobs would retry until its time limit."""
        world = hourly()
        world.define("z", CreationDate=T0 - MINUTE, LastModificationDate=T0 - MINUTE)
        store = CountingStore()

        def away(job: str, key: str) -> Record | None:
            store.asked.append(f"get {job} {key}")
            raise LedgerUnavailableError("memory", "gone", transient=False)

        store.get = away  # type: ignore[method-assign]
        world.store = store
        with pytest.raises(LedgerUnavailableError):
            world.look(LATE)
        assert "get z slot" not in store.asked

    def test_a_look_that_loses_its_row_does_not_write_to_it(self, capsys: Any) -> None:  # noqa: ANN401
        """A person released the row, and another look began."""
        world = hourly()

        def released(_request: object) -> None:
            world.ledger().release("cronce:watchdog:look", "leader", actor="ann", force=True)
            assert Leadership(world.ledger(OTHER), "cronce:watchdog:look", lease=MINUTE).try_once()

        world.events.fail_if("put_events", released)
        with pytest.raises(LeaseLostError):
            world.look(LATE)
        assert "look_not_ended" in capsys.readouterr().err
        world.events.recover()
        assert world.look(LATE + MINUTE) == {"skipped": 1}

    @pytest.mark.parametrize("stored", [{"looked_at": 7}, {"looked_at": "soon"}, "text", [1]])
    def test_what_an_earlier_look_left_may_be_anything(self, stored: object) -> None:
        """Then nothing is sure; the ticks are judged anyway."""
        world = hourly()
        claim = Leadership(world.ledger(), "cronce:watchdog:look", lease=MINUTE).try_once()
        assert claim
        claim.checkpoint(stored)
        claim.interrupt()
        assert world.look(LATE) == {"jobs": 1, "missed": 1}

    @pytest.mark.parametrize(
        ("code", "error"),
        [("AccessDeniedException", CallRefusedError), ("ThrottlingException", CallUnavailableError)],
    )
    def test_without_schedules_the_look_ends_and_frees_its_row(self, code: str, error: type[Exception]) -> None:
        """The error is Lambda's own metric; the next look is not locked out."""
        world = hourly()
        world.scheduler.fail("list_schedules", code)
        with pytest.raises(error):
            world.look(LATE)
        world.scheduler.recover()
        assert world.look(LATE)["missed"] == 1

    def test_events_that_are_rejected_are_reported(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Status 200 does not mean that the event was sent."""
        world = hourly()
        world.events.rejected = 1
        world.look(LATE)
        assert "event_not_sent" in capsys.readouterr().err

    def test_events_go_ten_at_a_time(self) -> None:
        """The limit of PutEvents."""
        world = hourly()
        world.look(LATE + 24 * HOUR)
        assert [len(request["Entries"]) for _, request in world.events.calls] == [10, 10, 5]


class TestCatchUp:
    """Missed ticks that are started afterwards."""

    def test_by_default_nothing_is_caught_up(self) -> None:
        """A missed tick is reported, and a person decides."""
        world = hourly()
        world.look(LATE)
        assert world.launches() == []

    def test_the_latest_is_run_as_what_it_is(self) -> None:
        """With its own period and the trigger `catch_up`, through the schedule's target."""
        world = hourly(policy=LATEST)
        world.look(LATE + 3 * HOUR)
        three = T0 + 3 * HOUR
        assert world.launches() == [("29T09:06:00", period_of(three), "catch_up", "1")]
        claimed = world.claim(OTHER, at=three, trigger=Trigger.CATCH_UP)
        assert claimed.record.scheduled_at == three

    def test_the_latest_is_not_run_where_a_newer_tick_was_delivered(self) -> None:
        """The work of the newer one covers it."""
        world = hourly(policy=LATEST)
        world.clock.advance(HOUR)
        world.claim(at=T0 + HOUR).complete()
        assert world.look(LATE + HOUR)["missed"] == 1
        assert world.launches() == []

    def test_all_are_run_one_after_the_other(self) -> None:
        """Under FORBID they would skip each other; the oldest goes first."""
        world = hourly(policy=ALL)
        at = LATE + 2 * HOUR
        world.look(at)
        for hours in range(3):
            tick = T0 + hours * HOUR
            assert [launch[1] for launch in world.launches()][-1] == period_of(tick)
            assert len(world.launches()) == hours + 1
            world.look(at := at + MINUTE)
            claimed = world.claim(at=tick, trigger=Trigger.CATCH_UP)
            world.look(at := at + MINUTE / 2)
            assert len(world.launches()) == hours + 1
            claimed.complete()
            world.look(at := at + MINUTE / 2)
        assert len(world.launches()) == 3
        memory = world.ledger().run("cronce:watchdog", f"{JOB}-0123456789ab")
        assert memory is not None
        stored = from_value(json.loads(memory.checkpoint or ""))
        assert stored is not None
        assert stored.backlog == ()

    def test_a_launch_that_was_delivered_is_waited_for(self) -> None:
        """Its one-shot has fired and its task is starting; after 15 minutes the launch is given up."""
        world = hourly(policy=ALL)
        world.look(LATE)
        del world.scheduler.schedules[world.scheduler.one_shots[0]["Name"]]
        for minute in range(1, 20):
            world.look(LATE + minute * MINUTE)
        assert len(world.launches()) == 1

    def test_they_wait_for_a_run_that_is_at_work(self) -> None:
        """It may be the run of a regular tick, or of a person."""
        world = hourly(policy=Policy(catch_up=CatchUp.ALL, lease=HOUR))
        world.clock.advance(HOUR)
        running = world.claim(at=T0 + HOUR)
        world.look(LATE + HOUR)
        assert world.launches() == []
        running.complete()
        world.look(LATE + HOUR + MINUTE)
        assert [launch[1] for launch in world.launches()] == [PERIOD]

    @pytest.mark.parametrize(("minutes", "launched"), [(60, 1), (61, 0)])
    def test_none_is_run_after_its_starting_deadline(self, minutes: int, launched: int) -> None:
        """Its task would be refused."""
        policy = Policy(catch_up=CatchUp.ALL, starting_deadline=HOUR)
        world = hourly(policy=policy, ScheduleExpression="cron(0 6 * * ? *)")
        world.look(T0 + minutes * MINUTE)
        assert len(world.launches()) == launched

    def test_a_launch_that_eventbridge_refuses_is_dropped(self, capsys: pytest.CaptureFixture[str]) -> None:
        """It is reported, and the next tick of the backlog is tried."""
        world = hourly(policy=ALL)
        world.scheduler.fail("create_schedule", "ValidationException")
        world.look(LATE + HOUR)
        assert capsys.readouterr().err.count("not_caught_up") == 2
        world.scheduler.recover()
        world.look(LATE + HOUR + MINUTE)
        assert world.launches() == []

    def test_a_launch_that_eventbridge_is_too_busy_for_comes_later(self) -> None:
        """No event is sent twice."""
        world = hourly(policy=ALL)
        world.scheduler.fail("create_schedule", "ThrottlingException")
        world.look(LATE)
        world.scheduler.recover()
        world.look(LATE + MINUTE)
        assert (len(world.launches()), len(world.events.sent)) == (1, 1)


class TestLost:
    """A run whose lease has expired, and for which no ECS event arrived."""

    POLICIES = tuple(Policy(concurrency_policy=each) for each in ConcurrencyPolicy)

    @pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.concurrency_policy)
    def test_it_is_marked_counted_and_started_again(
        self, policy: Policy, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Through the slot, or under ALLOW through the newest runs."""
        monkeypatch.setenv("CRONCE_METRICS", "emf")
        world = hourly(policy=policy)
        world.claim()
        assert "lost" not in world.look(T0 + MINUTE)
        assert world.look(T0 + 2 * MINUTE)["lost"] == 1
        run = world.standing()
        assert (run.status, run.reason) == (Status.FAILED, Reason.LEASE_LOST)
        assert world.launches() == [("29T06:03:00", PERIOD, "retry", "1")]
        assert [name for name, _ in metrics(capsys.readouterr().err)] == ["RunLost"]

    @pytest.mark.parametrize(("seconds", "lost"), [(65, 0), (65.001, 1)])
    def test_a_lease_and_what_clocks_may_differ_are_waited_for(self, seconds: float, lost: int) -> None:
        """At the boundary its owner still counts as alive."""
        world = hourly()
        world.claim()
        assert world.look(T0 + timedelta(seconds=seconds)).get("lost", 0) == lost

    def test_it_is_found_again_if_the_look_was_cut_short(self) -> None:
        """The launch was arranged, the mark was not made."""
        world = hourly()
        world.claim()
        world.scheduler.fail("create_schedule", "ThrottlingException")
        assert world.look(T0 + 2 * MINUTE)["failed"] == 1
        assert world.standing().status is Status.RUNNING
        world.scheduler.recover()
        assert world.look(T0 + 3 * MINUTE)["lost"] == 1
        assert len(world.launches()) == 1

    def test_one_that_may_not_be_launched_is_marked_all_the_same(self) -> None:
        """Its slot is free for the next tick."""
        world = hourly()
        world.claim()
        world.scheduler.fail("create_schedule", "AccessDeniedException")
        assert world.look(T0 + 2 * MINUTE)["lost"] == 1

    def test_a_held_one_is_marked_and_left(self) -> None:
        """`on_lost=HOLD`: a person decides."""
        world = hourly(policy=Policy(on_lost=OnLost.HOLD))
        world.claim()
        assert world.look(T0 + 2 * MINUTE)["lost"] == 1
        assert world.launches() == []

    def test_one_of_a_disabled_job_is_marked_and_left(self) -> None:
        """The schedule was disabled while it ran."""
        world = hourly(State="DISABLED")
        world.claim()
        assert world.look(T0 + 2 * MINUTE)["lost"] == 1
        assert world.launches() == []

    @pytest.mark.parametrize(
        ("policy", "minutes"),
        [(ConcurrencyPolicy.WAIT, 2), (ConcurrencyPolicy.REPLACE, 2), (ConcurrencyPolicy.FORBID, 10)],
    )
    def test_one_that_died_before_it_took_the_slot_is_found(self, policy: ConcurrencyPolicy, minutes: int) -> None:
        """The slot does not name it: it waited for the slot, or under FORBID was about to take it."""
        world = hourly(policy=Policy(concurrency_policy=policy))
        world.claim(policy=Policy(concurrency_policy=ConcurrencyPolicy.ALLOW))
        world.look(T0 + MINUTE)
        lost = [minute for minute in range(2, 21) if world.look(T0 + minute * MINUTE).get("lost")]
        assert lost == [minutes]
        assert len(world.launches()) == 1

    def test_an_owner_that_renews_while_it_is_judged_lives(self) -> None:
        """The ledger refuses the launched task, and the run is not marked."""
        world = hourly()
        claimed = world.claim()
        world.scheduler.fail_if("create_schedule", lambda _: claimed.heartbeat())
        assert "lost" not in world.look(T0 + 2 * MINUTE)
        assert world.standing().status is Status.RUNNING


class TestLeftToAPerson:
    """A lost or missed run that no machine starts again: an event, a metric and a note."""

    def test_a_held_run_is_reported_once(self, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:  # noqa: ANN401
        """`on_lost=HOLD`; later looks do not see it any more."""
        monkeypatch.setenv("CRONCE_METRICS", "emf")
        world = hourly(policy=Policy(on_lost=OnLost.HOLD))
        world.claim()
        for minute in range(2, 5):
            world.look(T0 + minute * MINUTE)
        assert [event["type"] for event in world.events.sent] == ["Cronce Run Held"]
        assert (world.standing().actor, world.standing().note) == (
            "cronce:watchdog",
            "no machine starts it again: the run is held for a person (on_lost=HOLD)",
        )
        assert [name for name, _ in metrics(capsys.readouterr().err)] == ["RunLost", "RunHeld"]

    def test_a_failed_run_that_nobody_reported_is_found(self) -> None:
        """ECS sent no event, or the recorder died before it reported the run; once, and while it is news."""
        world = hourly()
        world.claim().fail("no", exit_code=1)
        for minute in range(30):
            world.look(T0 + minute * MINUTE)
        assert [event["type"] for event in world.events.sent] == ["Cronce Run Given Up"]
        assert "backoff_limit=0" in (world.standing().note or "")

    def test_an_old_failure_is_no_news(self) -> None:
        """After an upgrade nobody is told of last week's."""
        world = hourly()
        world.claim().fail("no", exit_code=1)
        world.look(T0 + HOUR + MINUTE)
        assert world.events.sent == []

    def test_a_lost_run_whose_launch_is_refused_is_given_up(self) -> None:
        """EventBridge Scheduler rejects the one-shot."""
        world = hourly()
        world.claim()
        world.scheduler.fail("create_schedule", "AccessDeniedException")
        world.look(T0 + 2 * MINUTE)
        assert [event["type"] for event in world.events.sent] == ["Cronce Run Given Up"]

    def test_a_tick_that_is_not_caught_up_in_time_says_so(self) -> None:
        """Its deadline passed while another run was at work."""
        policy = Policy(catch_up=CatchUp.ALL, starting_deadline=20 * MINUTE, lease=HOUR)
        world = hourly(policy=policy, ScheduleExpression="cron(0 6 * * ? *)")
        assert world.ledger(OTHER).claim(JOB, "by-hand", policy=policy, trigger=Trigger.MANUAL)
        world.look(LATE)
        assert world.standing().note is None
        world.look(T0 + 21 * MINUTE)
        assert world.standing().note == "no machine starts it again: its starting deadline has passed"
        assert [event["type"] for event in world.events.sent] == ["Cronce Run Missed", "Cronce Run Given Up"]

    def test_a_catch_up_task_that_does_not_come_is_given_up(self) -> None:
        """After a quarter of an hour."""
        world = hourly(policy=LATEST, ScheduleExpression="cron(0 6 * * ? *)")
        world.look(LATE)
        world.look(LATE + 15 * MINUTE)
        assert "did not claim it within 15 minutes" in (world.standing().note or "")


class TestUnguarded:
    """A job whose image has no guard: its tasks never claim."""

    def test_nothing_is_caught_up_while_the_newest_task_did_not_ask(self) -> None:
        """The next task may be at work for longer than five minutes; the tick is marked, and not started again."""
        world = hourly(policy=ALL)
        world.settle(stopped(exit_code=0))
        world.look(LATE)
        world.look(LATE + HOUR)
        marked = world.standing(T0 + HOUR)
        assert (marked.reason, world.launches()) == (Reason.NEVER_DELIVERED, [])
        world.settle(stopped(exit_code=0, CRONCE_SCHEDULED_TIME=period_of(T0 + HOUR)))
        assert world.standing(T0 + HOUR).reason == Reason.UNCLAIMED

    def test_with_a_guard_again_it_catches_up(self) -> None:
        """The newest run is a claimed one."""
        world = hourly(policy=ALL)
        world.settle(stopped(exit_code=0))
        world.clock.advance(HOUR)
        world.claim(at=T0 + HOUR).complete()
        world.look(LATE + 2 * HOUR)
        assert [launch[1] for launch in world.launches()] == [period_of(T0 + 2 * HOUR)]


class TestUnreadable:
    """Rows of a newer schema, or of a type that nobody knows."""

    def spoil(self, world: World, job: str, period: str, **changes: Any) -> None:  # noqa: ANN401
        """Make a row unreadable."""
        store = world.store
        assert isinstance(store, MemoryStore)
        key = f"run#{period}"
        store._items[job, key] = {"job": job, "key": key, "status": "RUNNING", "schema": 99} | changes

    @pytest.mark.parametrize("catch_up", list(CatchUp))
    @pytest.mark.parametrize("hours", [0, 1, 6])
    def test_one_row_of_a_job_stops_no_other_tick(self, catch_up: CatchUp, hours: int, capsys: Any) -> None:  # noqa: ANN401
        """Every other tick gets its row; the row itself is left alone, and named."""
        world = hourly(policy=Policy(catch_up=catch_up))
        self.spoil(world, JOB, period_of(T0 + hours * HOUR))
        for minute in range(30):
            found = world.look(LATE + 6 * HOUR + minute * MINUTE)
            assert "failed" not in found
        readable = [hour for hour in range(7) if hour != hours]
        assert {world.standing(T0 + hour * HOUR).status for hour in readable} == {Status.MISSED}
        assert period_of(T0 + hours * HOUR) not in [launch[1] for launch in world.launches()]
        assert "row_unreadable" in capsys.readouterr().err

    def test_many_rows_of_a_job_hide_no_lost_run(self) -> None:
        """Under ALLOW it is found among the newest runs."""
        world = hourly(policy=Policy(concurrency_policy=ConcurrencyPolicy.ALLOW))
        world.claim(policy=Policy(concurrency_policy=ConcurrencyPolicy.ALLOW))
        for hours in range(1, 6):
            self.spoil(world, JOB, period_of(T0 + hours * HOUR), trigger="nobody")
        assert world.look(T0 + 2 * MINUTE)["lost"] == 1

    def test_a_slot_hides_no_missed_tick(self) -> None:
        """Who holds the job is unknown, so nothing is caught up."""
        world = hourly(policy=ALL)
        store = world.store
        assert isinstance(store, MemoryStore)
        store._items[JOB, "slot"] = {"job": JOB, "key": "slot", "schema": 99}
        assert world.look(LATE) == {"jobs": 1, "missed": 1, "unreadable": 1}
        assert world.launches() == []

    def test_the_memory_of_one_job_is_kept_elsewhere(self) -> None:
        """Its own row cannot be written; other jobs go on, and this one is judged once."""
        world = hourly()
        world.define("z", ScheduleExpression="cron(0 * * * ? *)", CreationDate=T0, LastModificationDate=T0)
        world.look(T0 + MINUTE)
        self.spoil(world, "cronce:watchdog", f"{JOB}-0123456789ab")
        for minute in range(130):
            world.look(T0 + HOUR + minute * MINUTE)
        told = [event["period"] for event in world.events.sent if event["job"] == JOB]
        assert told.count(period_of(T0 + HOUR)) == told.count(period_of(T0 + 2 * HOUR)) == 1
        assert world.run(T0 + HOUR, job="z") is not None

    def test_the_row_of_the_look_itself_is_replaced(self) -> None:
        """A look without it would never happen again."""
        world = hourly()
        world.look(T0 + MINUTE)
        self.spoil(world, "cronce:watchdog:look", "leader")
        for minute in range(3):
            world.look(LATE + minute * MINUTE)
        assert world.standing().reason == Reason.NEVER_DELIVERED
        assert len(world.events.sent) == 1


class TestBirth:
    """A ledger knows when it was created; what ran before that has no row in it."""

    @pytest.mark.parametrize("catch_up", list(CatchUp))
    def test_an_empty_ledger_under_an_old_schedule_judges_nothing_before_its_first_look(
        self, catch_up: CatchUp, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The table was lost; what had succeeded is neither called missed nor run again. One event says how many."""
        monkeypatch.setenv("CRONCE_METRICS", "emf")
        world = hourly(policy=Policy(catch_up=catch_up), **MONTH_AGO)
        for minute in range(20):
            world.look(LATE + HOUR + minute * MINUTE)
        assert (list(world.ledger().runs(JOB)), world.launches()) == ([], [])
        ((event),) = world.events.sent
        assert (event["type"], event["count"] > 700) == ("Cronce Ticks Not Judged", True)
        assert [name for name, _ in metrics(capsys.readouterr().err)] == ["TicksNotJudged"]

    def test_what_comes_after_the_first_look_is_judged_and_caught_up(self) -> None:
        """From then on it is a ledger like any other."""
        world = hourly(policy=ALL, **MONTH_AGO)
        world.look(LATE)
        world.look(LATE + HOUR)
        assert [launch[1] for launch in world.launches()] == [period_of(T0 + HOUR)]

    def test_a_table_that_was_restored_is_a_new_one(self) -> None:
        """Its rows and the watchdog's memory are older than the table; what ran in between is not run again."""
        world = hourly(policy=ALL)
        world.look(T0 + MINUTE)
        world.created_at = T0 + 3 * HOUR - MINUTE
        world.look(LATE + 4 * HOUR)
        periods = [launch[1] for launch in world.launches()]
        assert periods == [period_of(T0 + 3 * HOUR)]
        assert [run.period for run in world.ledger().runs(JOB)] == [period_of(T0 + n * HOUR) for n in (4, 3)]

    def test_what_was_to_be_caught_up_before_the_restore_is_not(self) -> None:
        """It may have run in the table that was lost."""
        policy = Policy(catch_up=CatchUp.ALL, lease=HOUR)
        world = hourly(policy=policy, ScheduleExpression="cron(0 6 * * ? *)")
        assert world.ledger(OTHER).claim(JOB, "by-hand", policy=policy, trigger=Trigger.MANUAL)
        world.look(LATE)
        world.created_at = T0 + HOUR
        world.ledger().release(JOB, "by-hand", actor="ann", force=True)
        world.look(LATE + 2 * HOUR)
        assert world.launches() == []

    def test_without_an_answer_the_first_look_counts(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The role may be of an earlier version, which may not ask."""
        world = hourly(policy=ALL, **MONTH_AGO)
        world.created_at = client_error("describe_table", "AccessDeniedException", "no", status=400)
        world.look(LATE)
        assert world.launches() == []
        assert "birth_unknown" in capsys.readouterr().err


class TestGone:
    """A job that the watchdog remembers, and whose schedule does not exist any more."""

    def test_it_is_reported_once(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        """Its stack was deleted, or the ledger's stack took the group along."""
        monkeypatch.setenv("CRONCE_METRICS", "emf")
        world = hourly()
        world.look(T0 + MINUTE)
        gone = world.scheduler.schedules.pop(f"{JOB}-0123456789ab")
        assert world.look(T0 + 2 * MINUTE) == {"gone": 1}
        world.look(T0 + 3 * MINUTE)
        expected = {"type": "Cronce Schedule Gone", "ledger": "runs", "job": JOB, "schedule": f"{JOB}-0123456789ab"}
        assert world.events.sent == [expected]
        assert [name for name, _ in metrics(capsys.readouterr().err)] == ["ScheduleGone"]
        world.scheduler.schedules[gone["Name"]] = gone
        world.look(T0 + 4 * MINUTE)
        del world.scheduler.schedules[gone["Name"]]
        assert world.look(T0 + 5 * MINUTE) == {"gone": 1}

    def test_one_whose_definition_is_invalid_is_not_gone(self) -> None:
        """It is reported as what it is."""
        world = hourly()
        world.look(T0 + MINUTE)
        answer = schedule(LastModificationDate=T0 + MINUTE)
        answer["Target"]["Input"] = answer["Target"]["Input"].replace('"CRONCE_TRIGGER"', '"CRONCE_POLICY"')
        world.scheduler.schedules[answer["Name"]] = answer
        assert "gone" not in world.look(T0 + 2 * MINUTE)

    def test_its_stuck_run_is_settled(self) -> None:
        """Nothing starts it again; its slot is free for whoever comes."""
        world = hourly()
        world.look(T0 + MINUTE)
        world.claim()
        del world.scheduler.schedules[f"{JOB}-0123456789ab"]
        lost = [minute for minute in range(2, 25) if world.look(T0 + minute * MINUTE).get("lost")]
        assert lost == [10]
        assert (world.standing().reason, world.launches()) == (Reason.LEASE_LOST, [])


class TestMoved:
    """A schedule whose time was changed."""

    @pytest.mark.parametrize(
        ("before", "after", "last", "following"),
        [
            (6, 10, "2026-11-29T06:00:00Z", "2026-11-29T10:00:00Z"),
            (10, 6, "2026-11-28T10:00:00Z", "2026-11-30T06:00:00Z"),
        ],
        ids=["two runs on that day", "none on that day"],
    )
    def test_the_next_look_says_so_with_the_ticks_around_it(
        self, before: int, after: int, last: str, following: str
    ) -> None:
        """Moved at 08:00; once."""
        world = hourly(ScheduleExpression=f"cron(0 {before} * * ? *)", **MONTH_AGO)
        world.look(T0 + MINUTE)
        world.events.calls.clear()
        moved: dict[str, Any] = {"LastModificationDate": T0 + 2 * HOUR, "CreationDate": T0 - 30 * DAY}
        world.define(ScheduleExpression=f"cron(0 {after} * * ? *)", **moved)
        world.look(T0 + 2 * HOUR + MINUTE)
        world.look(T0 + 2 * HOUR + 2 * MINUTE)
        told = [event for event in world.events.sent if event["type"] == "Cronce Schedule Changed"]
        assert told == [
            {
                "type": "Cronce Schedule Changed",
                "ledger": "runs",
                "job": JOB,
                "before": f"cron(0 {before} * * ? *) UTC",
                "after": f"cron(0 {after} * * ? *) UTC",
                "lastTick": last,
                "nextTick": following,
            }
        ]

    def test_a_deployment_is_no_move(self) -> None:
        """Another image, or enabled and disabled: the times are the same."""
        world = hourly()
        world.look(T0 + MINUTE)
        made: dict[str, Any] = {"CreationDate": T0 - MINUTE, "ScheduleExpression": "cron(0 * * * ? *)"}
        world.define(image="2", LastModificationDate=T0 + 2 * MINUTE, **made)
        world.look(T0 + 3 * MINUTE)
        world.define(State="DISABLED", LastModificationDate=T0 + 4 * MINUTE, **made)
        world.look(LATE)
        assert "Cronce Schedule Changed" not in [event["type"] for event in world.events.sent]


class TestPromises:
    """What catch-up and judging promise, to their limits."""

    def test_all_hundred_judged_ticks_are_caught_up(self) -> None:
        """Without a starting deadline none is too old, however long the others take."""
        world = hourly(policy=ALL)
        world.look(T0)
        at = LATE + 99 * HOUR
        while len(world.launches()) < 100:
            launches = len(world.launches())
            world.look(at := at + MINUTE)
            assert len(world.launches()) == launches + 1
            tick = T0 + launches * HOUR
            world.claim(at=tick, trigger=Trigger.CATCH_UP).complete()
        assert {world.standing(T0 + n * HOUR).status for n in range(100)} == {Status.SUCCEEDED}

    def test_ticks_beyond_the_hundred_are_told_with_their_number(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The watchdog did not look for four hours at a job of each minute."""
        monkeypatch.setenv("CRONCE_METRICS", "emf")
        world = hourly(ScheduleExpression="cron(* * * * ? *)")
        world.look(T0)
        world.look(LATE + 4 * HOUR)
        (event,) = [event for event in world.events.sent if event["type"] == "Cronce Ticks Not Judged"]
        assert (event["job"], event["count"], event["before"]) == (JOB, 141, period_of(T0 + 141 * MINUTE))
        found = {name: line[name] for name, line in metrics(capsys.readouterr().err)}
        assert found["TicksNotJudged"] == 141

    def test_a_backlog_that_is_full_says_what_it_drops(self) -> None:
        """The oldest tick's row says that it waits for a person."""
        policy = Policy(catch_up=CatchUp.ALL, lease=HOUR)
        world = hourly(policy=policy, ScheduleExpression="cron(* * * * ? *)")
        held = world.ledger(OTHER).claim(JOB, "by-hand", policy=policy, trigger=Trigger.MANUAL)
        assert held
        world.look(T0)
        world.clock.advance(50 * MINUTE)
        held.heartbeat()
        world.look(LATE + 99 * MINUTE)
        world.look(LATE + 100 * MINUTE)
        assert "too many ticks wait" in (world.standing().note or "")
        assert world.standing(T0 + MINUTE).note is None

    @pytest.mark.parametrize(
        ("expression", "missed"),
        [
            ("cron(0 6 31W * ? *)", 0),
            ("cron(0 6 30W * ? *)", 0),
            ("cron(0 6 29W * ? *)", 1),
            ("cron(0 6 28W * ? *)", 1),
        ],
    )
    def test_a_tick_that_aws_may_not_have_is_not_called_missed(self, expression: str, missed: int) -> None:
        """31 January 2027 is a Sunday and 30 a Saturday: the tick would be on the 29th, a Friday."""
        at = T0.replace(year=2027, month=1, day=27)
        made = {"CreationDate": at, "LastModificationDate": at}
        world = hourly(ScheduleExpression=expression, **made)
        world.look(at + MINUTE)
        found = sum(world.look(at + n * DAY + 10 * MINUTE).get("missed", 0) for n in range(1, 6))
        assert found == missed


class TestPinned:
    """Services that must run one task."""

    SETTINGS = replace(
        SETTINGS,
        pinned=tuple(PinnedService(cluster=CLUSTER, service=f"clock-{n}", job=f"main-{n}") for n in range(12)),
    )

    def world(self, **counts: int) -> World:
        """A world with twelve services."""
        world = hourly(settings=self.SETTINGS)
        for n in range(12):
            name = f"clock-{n}"
            count = counts.get(name.replace("-", "_"), 1)
            world.ecs.services[name] = {"serviceName": name, "desiredCount": count, "status": "ACTIVE"}
        return world

    def test_services_that_are_right_are_asked_ten_at_a_time(self) -> None:
        """The limit of DescribeServices."""
        world = self.world()
        assert world.look() == {"jobs": 1}
        assert [len(request["services"]) for _, request in world.ecs.calls] == [10, 2]

    def test_a_wrong_count_is_counted_each_time_and_sent_once(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A person scaled the clock; an alarm needs the metric for as long as that lasts."""
        monkeypatch.setenv("CRONCE_METRICS", "emf")
        world = self.world(clock_3=2, clock_11=0)
        for minute in range(3):
            assert world.look(T0 + minute * MINUTE)["pinned_count_wrong"] == 2
        found = [(name, line["Job"]) for name, line in metrics(capsys.readouterr().err)]
        assert found == [("PinnedCountWrong", "main-3"), ("PinnedCountWrong", "main-11")] * 3
        assert [(event["service"], event["desiredCount"]) for event in world.events.sent] == [
            ("clock-3", 2),
            ("clock-11", 0),
        ]

    def test_one_that_is_wrong_again_sends_an_event_again(self) -> None:
        """It was right in between."""
        world = self.world()
        for minute, count in enumerate((2, 1, 2, 3)):
            world.ecs.services["clock-0"]["desiredCount"] = count
            world.look(T0 + minute * MINUTE)
        assert [event["desiredCount"] for event in world.events.sent] == [2, 2, 3]

    @pytest.mark.parametrize("change", [{"status": "INACTIVE"}, {"status": "DRAINING"}, None])
    def test_one_that_is_gone_is_wrong(self, change: dict[str, Any] | None) -> None:
        """There is no clock."""
        world = self.world()
        if change is None:
            del world.ecs.services["clock-0"]
        else:
            world.ecs.services["clock-0"] |= change
        assert world.look()["pinned_count_wrong"] == 1
        assert world.events.sent[0]["desiredCount"] is None

    @pytest.mark.parametrize("code", ["AccessDeniedException", "ThrottlingException", "ClusterNotFoundException"])
    def test_an_ecs_that_does_not_answer_hides_no_job(self, code: str) -> None:
        """It is reported; the ticks are judged."""
        world = self.world()
        world.ecs.fail("describe_services", code)
        assert world.look(LATE) == {"jobs": 1, "missed": 1}


class TestCosts:
    """The requests of a look when nothing is due."""

    def test_an_idle_look_costs_little(self) -> None:
        """Twenty jobs: one list, three writes for the look, one query for the memory, one slot per job."""
        world = hourly()
        for n in range(19):
            world.define(f"job-{n}", CreationDate=T0 - MINUTE, LastModificationDate=T0 - MINUTE)
        store = CountingStore()
        world.store = store
        world.look(T0 + MINUTE)
        store.asked.clear()
        world.scheduler.calls.clear()
        world.look(T0 + 2 * MINUTE)
        assert [operation for operation, _ in world.scheduler.calls] == ["list_schedules"]
        slots = [asked for asked in store.asked if asked.endswith(" slot")]
        rest = [asked for asked in store.asked if not asked.endswith(" slot")]
        assert (len(slots), len(rest)) == (20, 5)
        assert rest[2] == "query cronce:watchdog"
        assert {*rest} - {rest[2]} == {"swap cronce:watchdog:look run#leader"}

    def test_jobs_are_read_ten_at_a_time(self) -> None:
        """One after the other, the look at ten thousand jobs would take minutes."""
        together = threading.Barrier(10)

        class Slow(MemoryStore):
            def get(self, job: str, key: str) -> Record | None:
                if key == "slot":
                    together.wait(60)
                return super().get(job, key)

        world = hourly()
        for n in range(19):
            world.define(f"job-{n}", CreationDate=T0 - MINUTE, LastModificationDate=T0 - MINUTE)
        world.store = Slow()
        assert world.look(T0 + MINUTE) == {"jobs": 20}

    def test_a_tick_costs_one_read_once(self) -> None:
        """To remember the judgement it takes one write: the look has read the row already."""
        world = hourly()
        store = CountingStore()
        world.store = store
        world.claim().complete()
        world.look(T0 + MINUTE)
        store.asked.clear()
        world.look(LATE)
        world.look(LATE + MINUTE)
        assert store.asked.count(f"get {JOB} run#{PERIOD}") == 1
        memory = [asked for asked in store.asked if asked.startswith("swap cronce:watchdog run#")]
        assert len(memory) == 1


class TestHandler:
    """The function, with the environment that `RunLedger` gives it."""

    def test_it_looks(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """On moto: a job that was just created."""
        url = f"sqlite:///{tmp_path}/runs.db"
        Ledger.from_url(url).create()
        monkeypatch.setenv("CRONCE_LEDGER", url)
        monkeypatch.setenv("CRONCE_SCHEDULE_GROUP", GROUP)
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
        with mock_aws():
            scheduler: Any = boto3.client("scheduler")
            scheduler.create_schedule_group(Name=GROUP)
            answer = schedule()
            wanted = ("Name", "GroupName", "ScheduleExpression", "FlexibleTimeWindow", "Target")
            scheduler.create_schedule(**{name: answer[name] for name in wanted})
            assert handler({}, None) == {"jobs": 1}
            assert handler({"source": "aws.scheduler"}, None) == {"jobs": 1}
        memory = Ledger.from_url(url).run("cronce:watchdog", f"{JOB}-0123456789ab")
        assert memory is not None
        assert memory.owner == "cronce:watchdog"
