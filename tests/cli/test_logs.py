"""`cronce logs`: CloudWatch Logs of one attempt."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from cronce.client.claim import Claim
from cronce.operate.task_log import LogPlace, TaskLog
from cronce.protocol.records import PastAttempt
from cronce.vocabulary.states import Reason, Status
from tests.cli.conftest import LedgerFile, Said, now
from tests.cli.ecs_fleet import Fleet
from tests.support.builders import JOB, PERIOD, run

TASK = "arn:aws:ecs:eu-west-1:123456789012:task/shop/"
FIRST, SECOND = TASK + "1" * 32, TASK + "2" * 32


@dataclass
class FakeLogs:
    """CloudWatch Logs: a page has two events, and the token counts them."""

    streams: dict[str, list[str]] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)

    def get_log_events(self, *, startFromHead: bool, nextToken: str = "f/0", **stream: str) -> dict[str, Any]:  # noqa: N803
        """As CloudWatch Logs: at the end the token stays."""
        assert startFromHead
        name = stream["logStreamName"]
        self.asked.append((stream["logGroupName"], name))
        if name not in self.streams:
            raise ClientError({"Error": {"Code": "ResourceNotFoundException", "Message": "none"}}, "GetLogEvents")
        start = int(nextToken.removeprefix("f/"))
        events = self.streams[name][start : start + 2]
        return {
            "events": [{"timestamp": 1764400000000, "message": message} for message in events],
            "nextForwardToken": f"f/{start + len(events)}",
        }


@pytest.fixture
def logs(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> FakeLogs:
    """No stream yet; the fleet has the job."""
    fake = FakeLogs()
    fleet.add_job(JOB)
    monkeypatch.setattr("cronce.operate.task_log.TaskLog", partial(TaskLog, client=fake))
    return fake


@pytest.fixture
def failed_twice(ledger_file: LedgerFile) -> None:
    """A run with two attempts."""
    past = PastAttempt(attempt=1, status=Status.FAILED, owner=FIRST)
    ledger_file.put(
        run(status=Status.FAILED, reason=Reason.EXIT_CODE, attempt=2, owner=SECOND, attempts=(past,), finished_at=now())
    )


def stream_of(task: str) -> str:
    """The stream of a task of the fleet."""
    return f"run/digest/{task.rpartition('/')[2]}"


@pytest.mark.usefixtures("failed_twice")
@pytest.mark.parametrize(("options", "task"), [((), SECOND), (("--attempt", "2"), SECOND), (("--attempt", "1"), FIRST)])
def test_the_log_of_an_attempt_is_printed(
    cronce: Callable[..., Said], logs: FakeLogs, options: tuple[str, ...], task: str
) -> None:
    """All pages; the newest attempt unless another is named. ECS has forgotten the tasks: the schedule says where."""
    logs.streams = {stream_of(each): [f"{each[-1]} line {number}" for number in range(5)] for each in (FIRST, SECOND)}
    said = cronce("logs", JOB, PERIOD, *options)
    assert (said.code, said.err) == (0, "")
    assert said.out.splitlines() == logs.streams[stream_of(task)]
    assert set(logs.asked) == {("/shop/digest", stream_of(task))}


@pytest.mark.usefixtures("failed_twice")
def test_what_a_container_logged_does_nothing_to_the_terminal(cronce: Callable[..., Said], logs: FakeLogs) -> None:
    """As JSON it is exact."""
    logs.streams = {stream_of(SECOND): ["\x1b[31mred\ttab"]}
    assert cronce("logs", JOB, PERIOD).out == "\\x1b[31mred    tab\n"
    line = json.loads(cronce("logs", JOB, PERIOD, "--json").out)
    assert line == {"at": "2025-11-29T07:06:40.000Z", "message": "\x1b[31mred\ttab"}


def test_an_attempt_at_work_is_followed_to_its_end(
    cronce: Callable[..., Said], logs: FakeLogs, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From before its first line; and a little longer, because lines arrive late."""
    ledger = fleet.ledger
    ledger._owner = SECOND
    claim = ledger.claim(JOB, PERIOD)
    assert isinstance(claim, Claim)
    stream = stream_of(SECOND)
    lines: Iterator[list[str] | None] = iter([["begin"], ["begin", "more"], None, ["begin", "more", "end"]])
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        shown = next(lines, logs.streams.get(stream))
        if shown is None:
            claim.complete()
        else:
            logs.streams[stream] = shown

    monkeypatch.setattr(time, "sleep", sleep)
    said = cronce("logs", JOB, PERIOD, "--follow")
    assert (said.code, said.err, said.out.split()) == (0, "", ["begin", "more", "end"])
    assert waits == [2.0] * 6


@pytest.mark.usefixtures("failed_twice")
def test_a_log_that_is_not_there_is_said(cronce: Callable[..., Said], logs: FakeLogs) -> None:
    """One line, exit code 1."""
    assert logs.streams == {}
    said = cronce("logs", JOB, PERIOD)
    assert (said.code, said.out, said.err.count("\n")) == (1, "", 1)
    assert f"there is no log stream {stream_of(SECOND)} in /shop/digest" in said.err
    said = cronce("logs", JOB, PERIOD, "--attempt", "7")
    assert (said.code, said.err) == (1, f"cronce: {JOB} {PERIOD} has no attempt 7; known: 1, 2\n")


def test_what_has_no_log_in_cloudwatch_says_why(
    ledger_file: LedgerFile, cronce: Callable[..., Said], logs: FakeLogs
) -> None:
    """No run, no attempt, no task."""
    ledger_file.put(
        run(period="host", status=Status.FAILED, owner="host:7", finished_at=now(), lease_until=None),
        run(period="skipped", status=Status.SKIPPED, attempt=0, owner="me", finished_at=now(), lease_until=None),
    )
    for period, says in {
        "none": "there is no run",
        "host": "was made by host:7, which is no ECS task",
        "skipped": "is SKIPPED: no attempt of it began",
    }.items():
        said = cronce("logs", JOB, period)
        assert (said.code, said.out, said.err.count("\n")) == (1, "", 1)
        assert says in said.err
    assert logs.asked == []


def test_what_ran_on_a_host_needs_no_schedule_group_to_say_so(
    ledger_file: LedgerFile, cronce: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ledger in a file has none, and the answer does not depend on it."""
    monkeypatch.delenv("CRONCE_SCHEDULE_GROUP", raising=False)
    ledger_file.put(run(period="host", status=Status.FAILED, owner="host:7", finished_at=now(), lease_until=None))
    assert "which is no ECS task" in cronce("logs", JOB, "host").err


@pytest.mark.usefixtures("failed_twice")
def test_a_container_that_logs_elsewhere_is_said(
    cronce: Callable[..., Said], logs: FakeLogs, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another driver, or no prefix, so that the stream has no known name."""
    assert logs.streams == {}
    answer = fleet.describe_task_definition(taskDefinition="x")
    answer["taskDefinition"]["containerDefinitions"][0]["logConfiguration"] = {"logDriver": "json-file"}
    monkeypatch.setattr(Fleet, "describe_task_definition", lambda _self, **_: answer)
    said = cronce("logs", JOB, PERIOD)
    assert (said.code, said.err.count("\n")) == (1, 1)
    assert "has no awslogs-group with an awslogs-stream-prefix" in said.err


def test_the_pages_of_cloudwatch_logs_are_read_to_their_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """As moto plays it; the next look continues."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    with mock_aws():
        client: Any = boto3.client("logs", region_name="eu-west-1")
        client.create_log_group(logGroupName="g")
        client.create_log_stream(logGroupName="g", logStreamName="s")
        at = int(now().timestamp() * 1000)
        event = {"timestamp": at, "message": "first"}
        client.put_log_events(logGroupName="g", logStreamName="s", logEvents=[event])
        log = TaskLog(LogPlace(task=FIRST, region="eu-west-1", group="g", stream="s", link=""), client)
        assert [line.message for line in log.look()] == ["first"]
        client.put_log_events(logGroupName="g", logStreamName="s", logEvents=[event | {"message": "second"}])
        assert [line.message for line in log.look()] == ["second"]
        assert list(log.look()) == []
