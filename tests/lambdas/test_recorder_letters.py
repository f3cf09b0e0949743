"""The recorder and the dead letters of schedules."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from cronce import LedgerUnavailableError, Reason, Status
from cronce.stores.memory import MemoryStore
from tests.lambdas.events import (
    EVENT,
    JOB,
    OTHER,
    PERIOD,
    World,
    letter,
    variables,
)
from tests.support.cloud import GROUP, T0, client_error

if TYPE_CHECKING:
    from cronce.protocol.operations import Swapped
    from cronce.protocol.records import Record


THROTTLED = client_error("get_schedule", "ThrottlingException", "slow down", status=429)


class BrokenStore(MemoryStore):
    """A store that does not answer."""

    def get(self, job: str, key: str) -> Record | None:
        """No answer."""
        raise LedgerUnavailableError("memory", f"{job} {key}", transient=False)

    def swap(self, record: Record, expected: Record | None) -> Swapped:
        """No answer."""
        raise LedgerUnavailableError("memory", f"{record.job} {expected}", transient=False)


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
