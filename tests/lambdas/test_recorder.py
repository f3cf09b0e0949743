"""The recorder processes events of the shapes that ECS, EventBridge Scheduler and SQS document."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from cronce import CatchUp, Ledger, LedgerUnavailableError, Policy, Reason, Status, Trigger
from cronce.client.leadership import Leadership
from cronce.client.observer import Observer
from cronce.ecs import Launcher, definition_of
from cronce.stores.memory import MemoryStore
from cronce.vocabulary.values import replace as replace_value
from cronce_lambdas.recorder import handler
from cronce_lambdas.settings import PinnedService
from tests.lambdas.events import (
    ARN,
    CLUSTER,
    EVENT,
    JOB,
    OTHER,
    PERIOD,
    SETTINGS,
    World,
    altered,
    letter,
    stopped,
)
from tests.lambdas.unclaimed import NEVER_RAN, RETRIES
from tests.support.cloud import GROUP, T0, metrics, schedule

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class TestSettling:
    """A run whose task stopped while the row says RUNNING."""

    def test_it_becomes_failed_with_the_stop_reason(self) -> None:
        """Exit code and reason are those of the job's container, not of its sidecar."""
        world = World()
        world.claim()
        assert world.settle(EVENT)["status"] == "FAILED"
        run = world.standing()
        assert (run.status, run.reason, run.exit_code) == (Status.FAILED, Reason.TASK_STOPPED, 137)
        assert "OutOfMemoryError" in (run.error or "")

    def test_the_next_claim_begins_attempt_two_at_once(self) -> None:
        """The slot is free too; the next claim does not wait for the lease."""
        world = World()
        world.claim()
        world.settle(EVENT)
        assert world.claim(OTHER).attempt == 2

    def test_a_repeated_event_changes_nothing(self) -> None:
        """Delivered twice, the second time while attempt 2 runs, the third when it is done."""
        world = World()
        world.claim()
        world.settle(EVENT)
        second = world.claim(OTHER)
        assert world.settle(EVENT) == {"status": "RUNNING"}
        second.complete()
        assert world.settle(EVENT) == {"status": "SUCCEEDED"}

    def test_a_success_outranks_an_event_that_came_first(self) -> None:
        """The task finished its work after the recorder marked it as failed."""
        world = World()
        first = world.claim()
        world.settle(EVENT)
        first.complete()
        assert world.standing().status is Status.SUCCEEDED

    def test_a_task_that_lost_the_race_changes_nothing(self) -> None:
        """The run belongs to another task; nothing starts, and no schedule is read."""
        world = World(policy=RETRIES)
        world.claim(OTHER)
        assert world.settle(stopped(exit_code=0)) == {"status": "RUNNING"}
        assert world.scheduler.calls == []

    def test_a_success_costs_one_read(self) -> None:
        """Most events are of tasks that settled their run themselves."""
        world = World()
        world.claim().complete()
        assert world.settle(stopped(exit_code=0)) == {"status": "SUCCEEDED"}
        assert world.scheduler.calls == []


class TestNeverClaimed:
    """A task that stopped before it claimed its run."""

    def test_it_is_a_run_that_failed_to_start(self) -> None:
        """A missing exit code is not a success; no attempt began, so none is counted."""
        world = World()
        assert world.settle(stopped(**NEVER_RAN))["status"] == "FAILED"
        run = world.standing()
        assert (run.status, run.reason, run.attempt, run.failures) == (Status.FAILED, Reason.LAUNCH_FAILED, 0, 0)
        assert (run.owner, run.scheduled_at, run.exit_code) == (ARN, T0, None)
        assert run.error == "TaskFailedToStart: Essential container in task exited: CannotPullContainerError"

    def test_a_container_whose_guard_was_never_brought_is_launched_again(self) -> None:
        """The container before it failed. ECS gives its exit code as 143, but it did not run and has not failed."""
        world = World()
        event = stopped(exit_code=143, reason="CannotStartContainerError:  dependency graph: failed to resolve")
        event["detail"]["containers"].insert(0, {"name": "cronce", "exitCode": 1})
        assert world.settle(event) == {"status": "FAILED", "relaunched": {"attempt": 1, "launch": 2}}
        run = world.standing()
        assert (run.reason, run.attempt, run.failures, run.exit_code) == (Reason.LAUNCH_FAILED, 0, 0, None)

    def test_it_is_launched_again_with_the_next_number(self) -> None:
        """The schedule's own target, a minute later."""
        world = World()
        answer = world.settle(stopped(**NEVER_RAN))
        assert answer == {"status": "FAILED", "relaunched": {"attempt": 1, "launch": 2}}
        assert world.launches() == [("29T06:01:00", PERIOD, "retry", "2")]

    def test_it_is_launched_five_times_in_all(self) -> None:
        """The image does not exist. The run stays FAILED with its reason, for a person."""
        world = World()
        event = stopped(**NEVER_RAN)
        for _ in range(10):
            answer = world.settle(event)
            if "relaunched" not in answer:
                break
            world.clock.advance(timedelta(minutes=7))
            event = stopped(**NEVER_RAN, CRONCE_LAUNCH=str(answer["relaunched"]["launch"]), CRONCE_TRIGGER="retry")
        assert answer["left"] == "5 tasks of it stopped before they claimed it"
        assert [launch for *_, launch in world.launches()] == ["2", "3", "4", "5"]
        assert world.standing().reason == Reason.LAUNCH_FAILED

    def test_its_next_launch_claims_attempt_one(self) -> None:
        """What never began is not counted; what failed before is history."""
        world = World()
        world.settle(stopped(**NEVER_RAN))
        claimed = world.claim(OTHER, trigger=Trigger.RETRY)
        assert (claimed.attempt, claimed.record.failures) == (1, 0)
        assert [past.reason for past in claimed.record.attempts] == [Reason.LAUNCH_FAILED]

    def test_one_that_exits_with_0_gets_a_row_of_its_own(self, monkeypatch: Any, capsys: Any) -> None:  # noqa: ANN401
        """Its image has no guard. Nobody knows whether the work was done, so no machine repeats it."""
        monkeypatch.setenv("CRONCE_METRICS", "emf")
        world = World(policy=Policy(backoff_limit=2, catch_up=CatchUp.LATEST))
        assert "left" in world.settle(stopped(exit_code=0))
        run = world.standing()
        assert (run.status, run.reason, run.attempt, run.owner) == (Status.FAILED, Reason.UNCLAIMED, 0, ARN)
        assert "no machine starts it again" in (run.note or "")
        (event,) = world.events.sent
        assert (event["type"], event["job"], event["period"]) == ("Cronce Run Unclaimed", JOB, PERIOD)
        found = [(name, line["Job"]) for name, line in metrics(capsys.readouterr().err)]
        assert found == [("RunUnclaimed", JOB)]
        for minute in range(1, 30):
            world.look(T0 + minute * timedelta(minutes=1))
        told = [event for event in world.events.sent if event.get("period") == PERIOD]
        assert (world.standing(), world.launches(), len(told)) == (run, [], 1)
        refusal = world.ledger(OTHER).claim(JOB, PERIOD)
        assert not refusal
        assert world.ledger(OTHER).claim(JOB, PERIOD, trigger=Trigger.MANUAL)

    def test_one_that_exits_with_0_after_the_watchdog_called_its_tick_missed_is_unclaimed(self) -> None:
        """It ran longer than five minutes; what the watchdog guessed is replaced."""
        world = World()
        Observer(world.ledger()).mark_missed(JOB, PERIOD, reason=Reason.NEVER_DELIVERED, scheduled_at=T0)
        assert world.settle(stopped(exit_code=0))["status"] == "FAILED"
        assert world.standing().reason == Reason.UNCLAIMED

    @pytest.mark.parametrize(
        "policy", [Policy(suspend=True), Policy(starting_deadline=timedelta(minutes=1))], ids=["suspended", "too late"]
    )
    def test_one_that_may_have_been_refused_is_not_called_unclaimed(self, policy: Policy) -> None:
        """A guard that is refused for lateness or suspension leaves such a row as it is, and exits with 0."""
        world = World(policy=policy)
        Observer(world.ledger()).mark_missed(JOB, PERIOD, reason=Reason.NEVER_DELIVERED, scheduled_at=T0)
        before = world.standing()
        world.clock.advance(timedelta(minutes=10))
        world.settle(stopped(exit_code=0))
        assert world.standing() == before

    @pytest.mark.parametrize("exit_code", [0, 137])
    def test_one_of_a_job_that_names_its_own_periods_is_found_by_its_owner(self, exit_code: int) -> None:
        """`cronce exec --period 2026-11-29`: the row is not the tick's."""
        world = World()
        claimed = world.ledger().claim(JOB, "2026-11-29")
        assert claimed
        if exit_code == 0:
            claimed.complete()
        answer = world.settle(stopped(exit_code=exit_code))
        assert world.run() is None
        assert (answer["status"], "relaunched" in answer) == (
            ("SUCCEEDED", False) if exit_code == 0 else ("FAILED", True)
        )
        assert [launch[1] for launch in world.launches()] == (["2026-11-29"] if exit_code else [])

    def test_one_of_a_job_that_names_its_own_periods_and_claimed_none_gets_no_row(self) -> None:
        """Which period it would have claimed is unknown; it is reported."""
        world = World()
        other = world.ledger(OTHER).claim(JOB, "2026-11-29")
        assert other
        assert "ignored" in world.settle(stopped(**NEVER_RAN))
        assert (world.run(), world.launches()) == (None, [])

    def test_one_that_failed_by_itself_is_not_launched_again(self) -> None:
        """Nobody knows how far it got without a claim."""
        world = World(policy=RETRIES)
        assert "left" in world.settle(stopped(exit_code=1))
        assert (world.standing().exit_code, world.launches()) == (1, [])

    def test_a_late_one_changes_nothing(self) -> None:
        """The task of another delivery did the work."""
        world = World(policy=RETRIES)
        world.claim(OTHER).complete()
        assert world.settle(stopped(**NEVER_RAN)) == {"status": "SUCCEEDED"}
        assert world.launches() == []

    def test_one_of_a_tick_that_the_watchdog_called_missed_is_launched_again(self) -> None:
        """The row now has the cause instead of the watchdog's guess."""
        world = World()
        Observer(world.ledger()).mark_missed(JOB, PERIOD, reason=Reason.NEVER_DELIVERED, scheduled_at=T0)
        assert world.settle(stopped(**NEVER_RAN))["status"] == "FAILED"
        assert "CannotPullContainerError" in (world.standing().error or "")
        assert len(world.launches()) == 1


EVENTS: dict[str, dict[str, Any]] = {
    "the owner, failed": stopped(exit_code=1),
    "the owner, killed": EVENT,
    "a loser": stopped(OTHER, exit_code=0),
    "a loser that never ran": stopped(OTHER, **NEVER_RAN),
    "a retry that never ran": stopped(OTHER, **NEVER_RAN, CRONCE_TRIGGER="retry", CRONCE_LAUNCH="2"),
    "an earlier state": altered(lastStatus="RUNNING"),
}
STATES: dict[str, Callable[[World], object]] = {
    "succeeded": lambda world: world.claim().complete(),
    "failed for good": lambda world: world.claim(policy=Policy()).fail("no"),
    "running, of another": lambda world: world.claim("another"),
    "skipped": lambda world: world.ledger().claim(JOB, PERIOD, policy=Policy(suspend=True)),
    "missed": lambda world: Observer(world.ledger()).mark_missed(JOB, PERIOD, reason="too_late", scheduled_at=T0),
}


@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
def test_no_order_of_events_moves_a_state_back(state: Callable[[World], object]) -> None:
    """Every pair of events, each twice, in both orders. A run that failed for good gets a note, and nothing else."""
    for events in itertools.permutations(EVENTS.values(), 2):
        world = World()
        state(world)
        before = world.standing()
        for event in (*events, *events):
            world.settle(event)
            after = replace_value(world.standing(), version=before.version, actor=before.actor, note=before.note)
            assert after == before, events


class TestPinnedService:
    """A task of a service that runs a clock."""

    SETTINGS = replace(SETTINGS, pinned=(PinnedService(cluster=CLUSTER, service="clock", job="main-clock"),))

    def test_a_leader_that_stopped_frees_its_row_at_once(self) -> None:
        """Its standby need not wait for the lease; the checkpoint stays."""
        world = World(settings=self.SETTINGS)
        first = Leadership(world.ledger(ARN), "main-clock", lease=timedelta(minutes=1)).try_once()
        assert first is not None
        first.checkpoint("06:00")
        standby = Leadership(world.ledger(OTHER), "main-clock", lease=timedelta(minutes=1))
        assert standby.try_once() is None
        event = altered(group="service:clock", overrides={"containerOverrides": [{"name": "clock"}]})
        assert world.settle(event) == {"leader": "main-clock", "status": "FAILED"}
        second = standby.try_once()
        assert second is not None
        assert second.resume_from == "06:00"

    def test_a_leader_whose_row_is_unreadable_is_left_alone(self) -> None:
        """As any other row: an error would have Lambda deliver the event again and again."""
        world = World(settings=self.SETTINGS)
        assert isinstance(world.store, MemoryStore)
        world.store._items["main-clock", "run#leader"] = {"job": "main-clock", "key": "run#leader", "schema": 99}
        event = altered(group="service:clock", overrides={"containerOverrides": [{"name": "clock"}]})
        assert "schema 99 is newer" in world.settle(event)["ignored"]

    @pytest.mark.parametrize(
        "detail",
        [{"group": "service:other"}, {"clusterArn": "arn:other"}, {"taskArn": OTHER}, {"group": "family:clock"}],
    )
    def test_any_other_task_of_a_service_changes_nothing(self, detail: dict[str, Any]) -> None:
        """Another service, another cluster, a standby, no service."""
        world = World(settings=self.SETTINGS)
        assert Leadership(world.ledger(ARN), "main-clock", lease=timedelta(minutes=1)).try_once()
        world.settle(altered(**{"group": "service:clock", "overrides": {}} | detail))
        leader = world.ledger().run("main-clock", "leader")
        assert leader is not None
        assert leader.status is Status.RUNNING


class TestTheCause:
    """The watchdog marked a tick as never delivered; then the cause arrives."""

    def guessed(self) -> World:
        """A tick that the watchdog marked."""
        world = World()
        Observer(world.ledger("cronce:watchdog")).mark_missed(
            JOB, PERIOD, reason=Reason.NEVER_DELIVERED, scheduled_at=T0
        )
        return world

    def test_a_dead_letter_replaces_the_guess_and_sends_an_event(self, monkeypatch: Any, capsys: Any) -> None:  # noqa: ANN401
        """The tick is not counted as missed a second time."""
        monkeypatch.setenv("CRONCE_METRICS", "emf")
        world = self.guessed()
        world.sort(letter())
        run = world.standing()
        assert (run.status, run.reason) == (Status.MISSED, "launch_failed: AccessDeniedException")
        assert [event["reason"] for event in world.events.sent] == ["launch_failed: AccessDeniedException"]
        assert metrics(capsys.readouterr().err) == []

    def test_a_task_that_never_ran_replaces_the_guess(self) -> None:
        """Its image could not be pulled; the row says so."""
        world = self.guessed()
        world.settle(stopped(**NEVER_RAN))
        run = world.standing()
        assert (run.status, run.reason, run.owner) == (Status.FAILED, Reason.LAUNCH_FAILED, ARN)
        assert "CannotPullContainerError" in (run.error or "")

    def test_a_guess_never_replaces_a_cause(self) -> None:
        """The watchdog looks again."""
        world = World()
        world.sort(letter())
        before = world.standing()
        Observer(world.ledger("cronce:watchdog")).mark_missed(
            JOB, PERIOD, reason=Reason.NEVER_DELIVERED, scheduled_at=T0
        )
        assert world.standing() == before


class TestHandler:
    """The function, with the environment that `RunLedger` gives it."""

    @pytest.fixture
    def url(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
        """The URL of an empty ledger."""
        url = f"sqlite:///{tmp_path}/runs.db"
        monkeypatch.setenv("CRONCE_LEDGER", url)
        monkeypatch.setenv("CRONCE_SCHEDULE_GROUP", GROUP)
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
        Ledger.from_url(url).create()
        return url

    def test_it_settles_a_run(self, url: str) -> None:
        """A run that the task settled needs no schedule."""
        claimed = Ledger.from_url(url, owner=ARN).claim(JOB, PERIOD)
        assert claimed
        claimed.complete()
        assert handler(EVENT, None) == {"status": "SUCCEEDED"}

    @pytest.mark.usefixtures("url")
    @pytest.mark.parametrize("event", [{}, {"detail": None}, {"Records": None}, altered(lastStatus="RUNNING")])
    def test_it_ignores_foreign_events(self, event: dict[str, Any]) -> None:
        """It does not raise, so Lambda does not deliver it again."""
        assert handler(event, None) == {"ignored": "not a stopped task of a job"}

    def test_it_sorts_messages(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """As the event source mapping delivers them."""
        monkeypatch.setattr(Launcher, "known", lambda _self, _job: definition_of(schedule()))
        assert handler({"Records": [letter()]}, None) == {"batchItemFailures": []}
        run = Ledger.from_url(url).run(JOB, PERIOD)
        assert run is not None
        assert (run.status, run.owner) == (Status.MISSED, "cronce:recorder")

    def test_an_unreachable_ledger_raises_so_that_the_event_comes_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nobody listens there."""
        monkeypatch.setenv("CRONCE_LEDGER", "dynamodb://runs?region=eu-west-1&endpoint=http://127.0.0.1:1")
        monkeypatch.setattr("cronce.client.ledger._LONGEST_PATIENCE", timedelta(0))
        with pytest.raises(LedgerUnavailableError, match=r"127\.0\.0\.1:1"):
            handler(EVENT, None)
