"""The recorder processes events of the shapes that ECS, EventBridge Scheduler and SQS document."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from cronce import CatchUp, Ledger, LedgerUnavailableError, OnLost, Policy, Reason, Status, Trigger
from cronce.client.leadership import Leadership
from cronce.client.observer import Observer
from cronce.ecs import CallUnavailableError, Launcher, definition_of
from cronce.protocol.records import RunRecord
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
    variables,
)
from tests.support.cloud import GROUP, T0, client_error, metrics, schedule

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cronce.protocol.operations import Swapped
    from cronce.protocol.records import Record

RETRIES = Policy(backoff_limit=2)
THROTTLED = client_error("get_schedule", "ThrottlingException", "slow down", status=429)
NEVER_RAN: dict[str, Any] = {"exit_code": None, "stop_code": "TaskFailedToStart", "reason": "CannotPullContainerError"}


class BrokenStore(MemoryStore):
    """A store that does not answer."""

    def get(self, job: str, key: str) -> Record | None:
        """No answer."""
        raise LedgerUnavailableError("memory", f"{job} {key}", transient=False)

    def swap(self, record: Record, expected: Record | None) -> Swapped:
        """No answer."""
        raise LedgerUnavailableError("memory", f"{record.job} {expected}", transient=False)


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


class TestRelaunch:
    """A settled run that may be tried again."""

    def test_a_crash_is_followed_by_the_next_attempt(self) -> None:
        """With the period, its nominal time, and the trigger that says so."""
        world = World()
        world.claim()
        assert world.settle(EVENT)["relaunched"] == {"attempt": 2, "launch": 1}
        assert world.launches() == [("29T06:01:00", PERIOD, "retry", "1")]
        assert world.scheduler.environ_of(0)["CRONCE_SCHEDULED_TIME"] == PERIOD

    def test_a_failure_is_followed_within_the_backoff_limit(self) -> None:
        """The run settled itself; the event only tells that its task is gone."""
        world = World(policy=RETRIES)
        for attempt, minute in ((1, "06:01"), (2, "06:01"), (3, None)):
            claimed = world.claim(f"{ARN}{attempt}")
            assert claimed.attempt == attempt
            claimed.fail("no", exit_code=1)
            answer = world.settle(stopped(f"{ARN}{attempt}"))
            assert ("relaunched" in answer) is (minute is not None)
        assert [launch[0] for launch in world.launches()] == ["29T06:01:00", "29T06:01:00"]
        assert answer["left"] == "no retry is left (backoff_limit=2)"

    def test_an_interruption_is_followed_without_a_retry_to_spend(self) -> None:
        """StopTask or Spot: the task received SIGTERM and recorded the interruption."""
        world = World()
        world.claim().interrupt()
        answer = world.settle(stopped(exit_code=143, stop_code="SpotInterruption"))
        assert answer["relaunched"] == {"attempt": 2, "launch": 1}

    def test_a_repeated_event_arranges_nothing_twice(self) -> None:
        """The name of the one-shot is derived from the launch."""
        world = World()
        world.claim()
        answers = [world.settle(EVENT) for _ in range(3)]
        assert answers[0] == answers[1] == answers[2]
        assert len(world.launches()) == 1

    @pytest.mark.parametrize(
        "change",
        [{"State": "DISABLED"}, {"policy": Policy(suspend=True)}, {"policy": Policy(on_lost=OnLost.HOLD)}],
        ids=["disabled", "suspended", "held"],
    )
    def test_a_job_that_a_person_stopped_is_left(self, change: dict[str, Any]) -> None:
        """As the job is defined now, not as it was when the task began."""
        world = World()
        world.claim()
        world.define(**change)
        assert "left" in world.settle(EVENT)
        assert world.launches() == []

    def test_a_job_without_a_schedule_is_left(self) -> None:
        """Its stack was deleted; the run is settled anyway."""
        world = World()
        world.claim()
        del world.scheduler.schedules[schedule()["Name"]]
        assert "no schedule of the group runs" in world.settle(EVENT)["left"]
        assert world.standing().status is Status.FAILED

    def test_a_launch_that_eventbridge_refuses_is_reported_and_left(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Delivering the event again would not help."""
        world = World()
        world.claim()
        world.scheduler.fail("create_schedule", "AccessDeniedException", status=403)
        assert "AccessDeniedException" in world.settle(EVENT)["left"]
        lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
        assert ("not_relaunched", "ERROR") in [(line["cronce.event"], line["level"]) for line in lines]
        assert [event["type"] for event in world.events.sent] == ["Cronce Run Given Up"]
        assert "AccessDeniedException" in (world.standing().note or "")

    @pytest.mark.parametrize("operation", ["list_schedules", "get_schedule", "create_schedule"])
    def test_a_busy_service_is_asked_again(self, operation: str) -> None:
        """Lambda delivers the event again; without the job's definition nothing is changed."""
        world = World()
        world.claim()
        world.scheduler.fail(operation, "ThrottlingException", status=429)
        with pytest.raises(CallUnavailableError):
            world.settle(EVENT)
        assert world.standing().status is (Status.FAILED if operation == "create_schedule" else Status.RUNNING)
        world.scheduler.recover()
        assert world.settle(EVENT)["relaunched"] == {"attempt": 2, "launch": 1}

    def test_the_retry_of_a_retry_that_did_not_start_is_launched_again(self) -> None:
        """The image was deleted between two attempts."""
        world = World(policy=RETRIES)
        world.claim().fail("no", exit_code=1)
        world.settle(stopped())
        answer = world.settle(stopped(OTHER, **NEVER_RAN, CRONCE_TRIGGER="retry", CRONCE_LAUNCH="1"))
        assert answer == {"status": "FAILED", "relaunched": {"attempt": 2, "launch": 2}}


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


class TestDeadLetters:
    """Messages of the dead-letter queue."""

    def test_a_tick_that_could_not_be_started_is_missed_with_the_reason(self) -> None:
        """The error code is in the reason, the message in the error."""
        world = World()
        assert world.sort(letter()) == {"batchItemFailures": []}
        run = world.standing()
        assert (run.status, run.reason, run.attempt) == (Status.MISSED, "launch_failed: AccessDeniedException", 0)
        assert (run.error, run.scheduled_at) == ("not authorized to perform: ecs:RunTask", T0)

    def test_it_is_counted_and_sent(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        """A metric for alarms, and an event on the bus."""
        monkeypatch.setenv("CRONCE_METRICS", "emf")
        world = World()
        world.sort(letter())
        line = json.loads(capsys.readouterr().err)
        assert (line["TickMissed"], line["Job"], line["Ledger"]) == (1, JOB, "runs")
        assert world.events.sent == [
            {
                "type": "Cronce Run Missed",
                "ledger": "runs",
                "job": JOB,
                "period": PERIOD,
                "scheduledTime": PERIOD,
                "reason": "launch_failed: AccessDeniedException",
                "error": "not authorized to perform: ecs:RunTask",
            }
        ]

    def test_an_event_that_cannot_be_sent_does_not_bring_the_message_back(self) -> None:
        """The row and the metric say it too."""
        world = World()
        world.events.fail("put_events", "ThrottlingException", status=429)
        assert world.sort(letter()) == {"batchItemFailures": []}

    def test_a_tick_that_another_delivery_started_is_left_alone(self) -> None:
        """EventBridge delivers at least once; another delivery succeeded."""
        world = World()
        world.claim()
        assert world.sort(letter()) == {"batchItemFailures": []}
        assert (world.standing().status, world.events.sent) == (Status.RUNNING, [])

    def test_a_message_without_a_readable_body_is_found_by_its_schedule(self) -> None:
        """The schedule says which job it is."""
        world = World()
        world.sort(letter("cut off"))
        assert world.standing().reason == "launch_failed: AccessDeniedException"

    def test_a_late_delivery_still_takes_it_over(self) -> None:
        """EventBridge gave up; a person or the watchdog may still start it."""
        world = World()
        world.sort(letter())
        assert world.claim(OTHER).attempt == 1

    def test_only_the_messages_that_failed_are_retried(self) -> None:
        """The others are processed; the schedule of the failed ones is temporarily unavailable."""
        world = World()
        gone = f"arn:aws:scheduler:eu-west-1:111122223333:schedule/{GROUP}/gone"
        world.scheduler.fail_if("get_schedule", lambda request: THROTTLED if request["Name"] == "gone" else None)
        odd = letter("cut off", message_id="2", SCHEDULE_ARN=gone)
        assert world.sort(letter(message_id="1"), odd, letter(EVENT, message_id="3")) == {
            "batchItemFailures": [{"itemIdentifier": "2"}]
        }
        assert world.standing().status is Status.MISSED

    def test_a_defect_at_one_message_fails_only_that_message(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Whatever it raises; the queue's limit of receives ends it."""
        world = World()
        world.define("other", ScheduleExpression="cron(0 6 * * ? *)")
        recorder = world.recorder()
        known = world.launcher.known

        def broken(job: str) -> Any:  # noqa: ANN401
            if job == "other":
                raise ZeroDivisionError
            return known(job)

        world.launcher.known = broken  # type: ignore[method-assign]
        bad = letter({"containerOverrides": [{"environment": variables(CRONCE_JOB="other")}]}, message_id="7")
        assert recorder.sort([bad, letter()]) == {"batchItemFailures": [{"itemIdentifier": "7"}]}
        assert world.standing().status is Status.MISSED
        assert "dead_letter_failed" in capsys.readouterr().err

    def test_without_a_ledger_every_message_comes_back(self) -> None:
        """None is lost."""
        world = World(store=BrokenStore())
        answer = world.sort(letter(message_id="1"), letter(EVENT, message_id="2"))
        assert [each["itemIdentifier"] for each in answer["batchItemFailures"]] == ["1", "2"]

    def test_a_malformed_message_is_reported_and_dropped(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Otherwise it would come back for fourteen days."""
        world = World()
        bad = [letter("{}", SCHEDULE_ARN=""), letter("{}", SCHEDULE_ARN="arn:.../gone"), {"messageId": "3"}]
        assert world.sort(*bad, letter()) == {"batchItemFailures": []}
        lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
        events = [line["cronce.event"] for line in lines if line["cronce.event"] != "event_ignored"]
        assert events == ["dead_letter_let_go"] * 3 + ["missed"]
        assert all(line["level"] == "ERROR" for line in lines)

    def test_a_message_whose_schedule_is_denied_is_dropped(self) -> None:
        """It would be refused again."""
        world = World()
        world.scheduler.fail("get_schedule", "AccessDeniedException", status=403)
        assert world.sort(letter("{}")) == {"batchItemFailures": []}

    def test_an_event_that_came_back_is_settled(self) -> None:
        """The ledger was unavailable at the first delivery."""
        world = World()
        world.claim()
        assert world.sort(letter(EVENT)) == {"batchItemFailures": []}
        assert (world.standing().reason, len(world.launches())) == (Reason.TASK_STOPPED, 1)

    def test_the_dead_letter_of_a_relaunch_leaves_the_run_as_it_is(self) -> None:
        """It stays FAILED with its own reason, and the letter is reported."""
        world = World()
        world.claim()
        world.settle(EVENT)
        before = world.standing()
        world.sort(letter())
        assert (world.standing(), world.events.sent) == (before, [])


class TestAfterADeployment:
    """The one-shot schedule of a retry has the task definition of before; the policy allows only the new one."""

    def arranged(self, trigger: str = "retry", launch: int = 1, **changes: Any) -> dict[str, Any]:  # noqa: ANN401
        """The dead letter of a one-shot schedule that could not start its task."""
        environ = {"CRONCE_PERIOD": PERIOD, "CRONCE_TRIGGER": trigger, "CRONCE_LAUNCH": str(launch)}
        body = {"containerOverrides": [{"name": "digest", "environment": variables(**environ)}]}
        arn = f"arn:aws:scheduler:eu-west-1:111122223333:schedule/{GROUP}/once-0123456789abcdef"
        return letter(body, SCHEDULE_ARN=arn, **changes)

    @pytest.mark.parametrize("code", ["AccessDeniedException", "Ecs.CapacityException", "ThrottlingException"])
    def test_the_retry_is_arranged_again_by_the_current_definition(self, code: str) -> None:
        """As the next launch of the same attempt, with the new revision."""
        world = World()
        world.claim()
        world.settle(EVENT)
        world.define(image="2", LastModificationDate=T0)
        assert world.sort(self.arranged(ERROR_CODE=code)) == {"batchItemFailures": []}
        assert [launch[2:] for launch in world.launches()] == [("retry", "1"), ("retry", "2")]
        again = world.scheduler.one_shots[1]["Target"]["EcsParameters"]["TaskDefinitionArn"]
        assert again.endswith("digest:2")

    def test_a_repeated_letter_arranges_nothing_twice(self) -> None:
        """The queue delivers at least once."""
        world = World()
        world.claim()
        world.settle(EVENT)
        for _ in range(3):
            world.sort(self.arranged())
        assert len(world.launches()) == 2

    def test_the_catch_up_of_a_missed_tick_is_arranged_again(self) -> None:
        """With its own trigger, and with the cause in the row."""
        world = World()
        Observer(world.ledger()).mark_missed(JOB, PERIOD, reason=Reason.NEVER_DELIVERED, scheduled_at=T0)
        world.sort(self.arranged("catch_up"))
        assert [launch[2:] for launch in world.launches()] == [("catch_up", "2")]
        assert world.standing().reason == "launch_failed: AccessDeniedException"

    def test_after_five_launches_the_row_says_that_no_retry_comes(self, monkeypatch: Any, capsys: Any) -> None:  # noqa: ANN401
        """A metric and an event, once."""
        monkeypatch.setenv("CRONCE_METRICS", "emf")
        world = World()
        world.claim()
        world.settle(EVENT)
        world.sort(self.arranged(launch=5))
        world.sort(self.arranged(launch=5))
        run = world.standing()
        assert (run.status, run.actor) == (Status.FAILED, "cronce:recorder")
        assert run.note == "no machine starts it again: 5 tasks of it stopped before they claimed it"
        assert [event["type"] for event in world.events.sent] == ["Cronce Run Given Up"]
        assert [name for name, _ in metrics(capsys.readouterr().err)] == ["RunRelaunched", "RunGivenUp"]
        assert world.claim(OTHER, trigger=Trigger.MANUAL).record.note is None

    def test_the_letter_of_a_run_that_another_task_works_on_changes_nothing(self) -> None:
        """Another delivery started it."""
        world = World()
        world.claim()
        world.settle(EVENT)
        world.claim(OTHER)
        world.sort(self.arranged())
        assert (world.standing().status, len(world.launches())) == (Status.RUNNING, 1)

    def test_the_letter_of_a_tick_of_the_schedule_is_left_to_catch_up(self) -> None:
        """EventBridge Scheduler has tried it for as long as the job allows."""
        world = World()
        world.sort(letter())
        assert world.launches() == []


class TestLeftToAPerson:
    """A run that no machine starts again."""

    def test_a_held_run_is_reported_once(self, monkeypatch: Any, capsys: Any) -> None:  # noqa: ANN401
        """An event, a metric, and a note in the row."""
        monkeypatch.setenv("CRONCE_METRICS", "emf")
        world = World(policy=Policy(on_lost=OnLost.HOLD))
        world.claim()
        for _ in range(3):
            world.settle(EVENT)
        (event,) = world.events.sent
        assert (event["type"], event["job"], event["period"], event["attempt"]) == ("Cronce Run Held", JOB, PERIOD, 1)
        assert event["why"] == "the run is held for a person (on_lost=HOLD)"
        assert [(name, line["Job"]) for name, line in metrics(capsys.readouterr().err)] == [("RunHeld", JOB)]
        released = world.ledger().release(JOB, PERIOD, actor="ann", note="looked")
        assert isinstance(released, RunRecord)
        assert (released.actor, released.note) == ("ann", "looked")

    def test_the_sixth_crash_is_given_up(self) -> None:
        """Each of the five before it was started again."""
        world = World()
        for attempt in range(1, 7):
            assert world.claim(f"{ARN}{attempt}").attempt == attempt
            answer = world.settle(stopped(f"{ARN}{attempt}", exit_code=137))
        assert answer["left"] == "it died 6 times"
        assert [event["type"] for event in world.events.sent] == ["Cronce Run Given Up"]
        assert world.standing().note == "no machine starts it again: it died 6 times"

    def test_a_failed_run_without_a_retry_is_given_up(self) -> None:
        """Also with `backoff_limit=0`: a person is the only one left."""
        world = World()
        world.claim().fail("no", exit_code=1)
        world.settle(stopped())
        assert [(event["type"], event["reason"]) for event in world.events.sent] == [("Cronce Run Given Up", "error")]

    @pytest.mark.parametrize("change", [{"State": "DISABLED"}, {"policy": Policy(suspend=True)}])
    def test_a_job_that_is_switched_off_reports_nothing(self, change: dict[str, Any]) -> None:
        """A person did that."""
        world = World()
        world.claim()
        world.define(**change)
        world.settle(EVENT)
        assert (world.events.sent, world.standing().note) == ([], None)

    def test_a_success_after_all_clears_the_note(self) -> None:
        """The task was still finishing when it was given up."""
        world = World(policy=Policy(on_lost=OnLost.HOLD))
        claimed = world.claim()
        world.settle(EVENT)
        claimed.complete()
        assert (world.standing().status, world.standing().note) == (Status.SUCCEEDED, None)


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
