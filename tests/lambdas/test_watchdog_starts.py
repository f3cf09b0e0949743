"""What the watchdog starts again: missed ticks, lost runs, and what it leaves to a person."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from cronce import (
    CatchUp,
    ConcurrencyPolicy,
    OnLost,
    Policy,
    Reason,
    Status,
    Trigger,
)
from cronce.vocabulary.names import period_of
from cronce.watch.memory import from_value
from tests.lambdas.events import JOB, OTHER, PERIOD, SETTINGS, stopped
from tests.lambdas.hourly import hourly
from tests.support.cloud import T0, metrics

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
LATE = T0 + SETTINGS.missed_after
ALL, LATEST = Policy(catch_up=CatchUp.ALL), Policy(catch_up=CatchUp.LATEST)


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
