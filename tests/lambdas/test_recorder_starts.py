"""What the recorder starts again, and what it leaves to a person."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cronce import OnLost, Policy, Reason, Status, Trigger
from cronce.client.observer import Observer
from cronce.ecs import CallUnavailableError
from cronce.protocol.records import RunRecord
from tests.lambdas.events import (
    ARN,
    EVENT,
    JOB,
    OTHER,
    PERIOD,
    World,
    letter,
    stopped,
    variables,
)
from tests.lambdas.unclaimed import NEVER_RAN, RETRIES
from tests.support.cloud import GROUP, T0, metrics, schedule


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
