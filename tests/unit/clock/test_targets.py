"""What each target is sent, and what counts as no."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from cronce.clock.config import CommandTarget, EventTarget, LambdaTarget, SqsTarget, Target, TaskTarget
from cronce.clock.dispatch import Delivery, DispatchFailedError, DispatchGivenUpError
from cronce.clock.targets import Targets, run_command
from cronce.vocabulary.states import Trigger
from tests.support.clockwork import T0, job
from tests.support.host import until
from tests.support.service import Reply, serving

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PERIOD = "2026-11-29T06:00:00Z"
MESSAGE = {"job": "beat", "period": PERIOD, "scheduled_at": PERIOD}
QUEUE = "https://sqs.eu-west-1.amazonaws.com/123456789012/ticks"
FUNCTION = "arn:aws:lambda:us-east-2:123456789012:function:digest"
BUS = "arn:aws:events:eu-central-1:123456789012:event-bus/shop"


def delivery(target: Target, **changes: Any) -> Delivery:  # noqa: ANN401  # fields of `ClockJob`
    """The tick of T0 on its way to a target."""
    return Delivery(
        job=job(target=target, **changes),
        period=PERIOD,
        scheduled_at=T0,
        trigger=Trigger.SCHEDULE,
        give_up=threading.Event(),
    )


class Sdk:
    """Makes clients that remember their calls and answer as a test says."""

    def __init__(self, answer: object) -> None:
        self.answer = answer
        self.made: list[tuple[str, str | None, timedelta]] = []
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def __call__(self, service: str, *, region: str | None, timeout: timedelta) -> Any:  # noqa: ANN401  # a client
        """As `make_client`."""
        self.made.append((service, region, timeout))
        return _Client(self)

    def targets(self, group: Callable[[], str] = lambda: "runs") -> Targets:
        """Targets that are called through it."""
        return Targets(schedule_group=group, make_client=self)


class _Client:
    def __init__(self, sdk: Sdk) -> None:
        self._sdk = sdk

    def __getattr__(self, operation: str) -> Callable[..., object]:
        def call(**request: Any) -> object:  # noqa: ANN401  # an SDK's arguments
            self._sdk.calls.append((operation, request))
            answer = self._sdk.answer
            answer = answer[operation] if isinstance(answer, dict) and operation in answer else answer
            if isinstance(answer, Exception):
                raise answer
            return answer

        return call


def test_a_queue_gets_a_message() -> None:
    """The Region is the queue's; the receipt is the message's id."""
    sdk = Sdk({"MessageId": "m-1"})
    assert sdk.targets()(delivery(SqsTarget(url=QUEUE))) == "m-1"
    ((operation, request),) = sdk.calls
    assert (operation, request["QueueUrl"], json.loads(request["MessageBody"])) == ("send_message", QUEUE, MESSAGE)
    assert set(request) == {"QueueUrl", "MessageBody"}
    assert sdk.made == [("sqs", "eu-west-1", timedelta(seconds=10))]


def test_a_target_that_names_no_region_is_in_the_ledgers() -> None:
    """Tasks on EC2 and external instances have no AWS_REGION."""
    sdk = Sdk({"FailedEntryCount": 0, "Entries": [{"EventId": "e-1"}]})
    targets = Targets(schedule_group=lambda: "runs", region="eu-north-1", make_client=sdk)
    targets(delivery(EventTarget(bus="default", source="shop", detail_type="Tick")))
    targets.prepare([delivery(SqsTarget(url=QUEUE)).job])
    assert [region for _, region, _ in sdk.made] == ["eu-north-1", "eu-west-1"]


def test_a_fifo_queue_gets_the_tick_as_deduplication_id() -> None:
    """Two clocks that send it within five minutes are one message; jobs are groups."""
    sdk = Sdk({"MessageId": "m-1"})
    sdk.targets()(delivery(SqsTarget(url=f"{QUEUE}.fifo")))
    ((_, request),) = sdk.calls
    assert request["MessageDeduplicationId"] == hashlib.sha256(f"beat\0{PERIOD}".encode()).hexdigest()
    assert len(request["MessageDeduplicationId"]) <= 128
    assert request["MessageGroupId"] == "beat"


@pytest.mark.parametrize(
    ("url", "region"),
    [
        (QUEUE, "eu-west-1"),
        ("https://sqs.cn-north-1.amazonaws.com.cn/1/q", "cn-north-1"),
        ("https://sqs-fips.us-gov-west-1.amazonaws.com/1/q", "us-gov-west-1"),
        ("https://us-east-1.queue.amazonaws.com/1/q", "us-east-1"),
        ("http://localhost:4566/000000000000/q", None),
    ],
)
def test_the_region_is_read_from_the_queue(url: str, region: str | None) -> None:
    """None leaves it to the environment."""
    sdk = Sdk({"MessageId": "m-1"})
    sdk.targets()(delivery(SqsTarget(url=url)))
    assert sdk.made[0][1] == region


def test_a_function_is_invoked_and_not_waited_for() -> None:
    """In its own Region; 202 is the only yes."""
    sdk = Sdk({"StatusCode": 202, "ResponseMetadata": {"RequestId": "r-1"}})
    assert sdk.targets()(delivery(LambdaTarget(function=FUNCTION))) == "r-1"
    ((operation, request),) = sdk.calls
    assert (operation, request["FunctionName"], request["InvocationType"]) == ("invoke", FUNCTION, "Event")
    assert json.loads(request["Payload"]) == MESSAGE
    assert sdk.made[0][:2] == ("lambda", "us-east-2")
    with pytest.raises(DispatchFailedError, match="500"):
        Sdk({"StatusCode": 500}).targets()(delivery(LambdaTarget(function=FUNCTION)))


EVENT = EventTarget(bus=BUS, source="shop", detail_type="Digest Due")


def test_a_bus_gets_an_event() -> None:
    """Its time is the nominal one."""
    sdk = Sdk({"FailedEntryCount": 0, "Entries": [{"EventId": "e-1"}]})
    assert sdk.targets()(delivery(EVENT)) == "e-1"
    ((operation, request),) = sdk.calls
    (entry,) = request["Entries"]
    assert operation == "put_events"
    assert json.loads(entry.pop("Detail")) == MESSAGE
    assert entry == {"EventBusName": BUS, "Source": "shop", "DetailType": "Digest Due", "Time": T0}
    assert sdk.made[0][:2] == ("events", "eu-central-1")


@pytest.mark.parametrize(
    "answer",
    [
        {"FailedEntryCount": 1, "Entries": [{"ErrorCode": "ThrottlingException", "ErrorMessage": "slow"}]},
        {"FailedEntryCount": 0, "Entries": []},
    ],
)
def test_an_event_that_the_bus_did_not_take_is_a_failure(answer: object) -> None:
    """PutEvents answers 200 either way."""
    with pytest.raises(DispatchFailedError):
        Sdk(answer).targets()(delivery(EVENT))


SCHEDULE: dict[str, Any] = {
    "Name": "daily-digest-0123456789ab",
    "GroupName": "runs",
    "ScheduleExpression": "cron(0 6 * * ? *)",
    "State": "ENABLED",
    "CreationDate": T0,
    "LastModificationDate": T0,
    "Target": {
        "Arn": "arn:aws:ecs:eu-west-1:123456789012:cluster/shop",
        "RoleArn": "arn:aws:iam::123456789012:role/cronce/runs/digest",
        "EcsParameters": {"TaskDefinitionArn": "arn:aws:ecs:eu-west-1:123456789012:task-definition/digest:3"},
        "Input": json.dumps(
            {
                "containerOverrides": [
                    {
                        "name": "job",
                        "environment": [
                            {"name": "CRONCE_LEDGER", "value": "dynamodb://runs"},
                            {"name": "CRONCE_JOB", "value": "daily-digest"},
                            {"name": "CRONCE_SCHEDULED_TIME", "value": "<aws.scheduler.scheduled-time>"},
                        ],
                    }
                ]
            }
        ),
    },
}
TASK_ARN = "arn:aws:ecs:eu-west-1:123456789012:task/shop/1"


def fleet(run_task: object) -> Sdk:
    """A schedule group with one job, and an ECS that answers so."""
    listed = {"Schedules": [{"Name": SCHEDULE["Name"], "GroupName": "runs"}]}
    return Sdk({"list_schedules": listed, "get_schedule": SCHEDULE, "run_task": run_task})


def test_a_task_is_started_as_its_schedule_says() -> None:
    """With the period of the tick, and with the same token in every try."""
    sdk = fleet({"tasks": [{"taskArn": TASK_ARN}], "failures": []})
    targets = sdk.targets()
    target = TaskTarget(job="daily-digest")
    assert targets(delivery(target)) == TASK_ARN
    assert targets(delivery(target)) == TASK_ARN
    first, second = [request for operation, request in sdk.calls if operation == "run_task"]
    assert first == second
    environment = {each["name"]: each["value"] for each in first["overrides"]["containerOverrides"][0]["environment"]}
    assert environment["CRONCE_PERIOD"] == PERIOD
    assert [(service, timeout) for service, _, timeout in sdk.made] == [
        ("scheduler", timedelta(seconds=2.5)),
        ("ecs", timedelta(seconds=2.5)),
    ]


def test_a_task_of_a_job_whose_periods_are_days_is_started_for_the_day() -> None:
    """As its schedule does; the clock's own row has the clock's period."""
    variable = {"name": "CRONCE_DATE_IN", "value": "UTC"}
    override = json.loads(SCHEDULE["Target"]["Input"])
    override["containerOverrides"][0]["environment"].append(variable)
    by_day = {**SCHEDULE, "Target": {**SCHEDULE["Target"], "Input": json.dumps(override)}}
    listed = {"Schedules": [{"Name": SCHEDULE["Name"], "GroupName": "runs"}]}
    sdk = Sdk({"list_schedules": listed, "get_schedule": by_day, "run_task": {"tasks": [{"taskArn": TASK_ARN}]}})
    sdk.targets()(delivery(TaskTarget(job="daily-digest")))
    [request] = [request for operation, request in sdk.calls if operation == "run_task"]
    environment = {each["name"]: each["value"] for each in request["overrides"]["containerOverrides"][0]["environment"]}
    assert (environment["CRONCE_PERIOD"], environment["CRONCE_SCHEDULED_TIME"]) == (PERIOD[:10], PERIOD)


def test_a_task_that_ecs_did_not_start_is_a_failure() -> None:
    """RunTask answers 200 with `failures`."""
    sdk = fleet({"tasks": [], "failures": [{"reason": "RESOURCE:CPU"}]})
    with pytest.raises(DispatchFailedError, match="RESOURCE:CPU"):
        sdk.targets()(delivery(TaskTarget(job="daily-digest")))


def test_a_task_of_an_unknown_job_is_a_failure_that_names_the_group() -> None:
    """And near names."""
    with pytest.raises(DispatchFailedError, match=r"runs.*daily-digest"):
        fleet({}).targets()(delivery(TaskTarget(job="daily-digst")))


@pytest.mark.parametrize(
    ("error", "timed_out"),
    [
        (ReadTimeoutError(endpoint_url=QUEUE), True),
        (ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "SendMessage"), False),
        (OSError("no network"), False),
    ],
)
def test_an_error_of_the_sdk_is_a_failure_that_says_what(error: Exception, timed_out: bool) -> None:  # noqa: FBT001  # a table
    """No answer is a separate case: it turns the health red."""
    with pytest.raises(DispatchFailedError, match=type(error).__name__) as caught:
        Sdk(error).targets()(delivery(SqsTarget(url=QUEUE)))
    assert caught.value.timed_out is timed_out


def test_clients_are_made_once_and_ahead() -> None:
    """Only those that the jobs need; one that cannot be made is left for the dispatch to say."""
    sdk = Sdk({"MessageId": "m-1"})
    targets = sdk.targets()
    targets.prepare([job(target=SqsTarget(url=QUEUE)), job(target=EVENT), job(target=LambdaTarget(function="f"))])
    targets.prepare([job(target=TaskTarget(job="x")), job()])
    targets(delivery(SqsTarget(url=QUEUE)))
    assert [service for service, *_ in sdk.made] == ["sqs", "events", "lambda", "scheduler", "ecs"]

    def no_client(*_: object, **__: object) -> None:
        raise ValueError("no Region")

    broken = Targets(schedule_group=lambda: "runs", make_client=no_client)
    broken.prepare([job(target=SqsTarget(url=QUEUE))])
    with pytest.raises(DispatchFailedError, match="no Region"):
        broken(delivery(SqsTarget(url=QUEUE)))


def test_a_client_that_is_being_made_holds_up_no_other_service() -> None:
    """Looking for credentials may take a while."""
    waiting, go_on = threading.Event(), threading.Event()
    sdk = Sdk({"MessageId": "m-1", "FailedEntryCount": 0, "Entries": [{"EventId": "e-1"}]})

    def make(service: str, **arguments: Any) -> Any:  # noqa: ANN401  # a client
        if service == "sqs":
            waiting.set()
            assert go_on.wait(30)
        return sdk(service, **arguments)

    targets = Targets(schedule_group=lambda: "runs", make_client=make)
    thread = threading.Thread(target=targets, args=(delivery(SqsTarget(url=QUEUE)),))
    thread.start()
    assert waiting.wait(30)
    assert targets(delivery(EVENT)) == "e-1"
    go_on.set()
    thread.join()


def test_a_server_that_says_nothing_ends_the_call_within_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A real client and a real socket: one try, then a failure that counts as no answer."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "k",
        "AWS_SECRET_ACCESS_KEY": "s",
        "AWS_DEFAULT_REGION": "eu-west-1",
    }.items():
        monkeypatch.setenv(name, value)
    let_go = threading.Event()

    def say_nothing(_: object) -> Reply:
        let_go.wait(30)
        return Reply()

    with serving(say_nothing) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SQS", f"http://127.0.0.1:{server.port}")
        targets = Targets(schedule_group=lambda: "runs")
        queue = delivery(SqsTarget(url=f"http://127.0.0.1:{server.port}/1/ticks"), timeout=timedelta(seconds=2))
        targets.prepare([queue.job])
        began = time.monotonic()
        with pytest.raises(DispatchFailedError) as caught:
            targets(queue)
        took = time.monotonic() - began
        let_go.set()
        assert caught.value.timed_out
        assert 0.9 < took < 10
        assert len(server.requests) <= 1


def command(*words: str, **changes: Any) -> Delivery:  # noqa: ANN401  # fields of `ClockJob`
    """The tick of T0 on its way to a command."""
    return delivery(CommandTarget(arguments=words), **changes)


def run(of: Delivery) -> None:
    """Run it."""
    assert isinstance(of.job.target, CommandTarget)
    run_command(of, of.job.target)


def test_a_command_is_told_the_period(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In its arguments and its environment; what is the clock's own is not for it."""
    own = {"CRONCE_JOB": "clock", "CRONCE_CLOCK": "{}", "CRONCE_POLICY": "{}", "CRONCE_LEDGER": "sqlite:///runs.db"}
    for name, value in own.items():
        monkeypatch.setenv(name, value)
    out = tmp_path / "out"
    run(command("sh", "-c", f"echo {{period}} >{out}; env | grep ^CRONCE_ | sort >>{out}"))
    assert out.read_text().splitlines() == [
        PERIOD,
        "CRONCE_JOB=beat",
        "CRONCE_LEDGER=sqlite:///runs.db",
        f"CRONCE_PERIOD={PERIOD}",
        f"CRONCE_SCHEDULED_TIME={PERIOD}",
        "CRONCE_TRIGGER=schedule",
    ]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("sh", "-c", "exit 3"), "exit code 3"),
        (("sh", "-c", "kill -9 $$"), "signal 9"),
        (("/nowhere/at-all",), "No such file"),
    ],
)
def test_a_command_that_fails_says_how(words: tuple[str, ...], why: str) -> None:
    """Its exit code, its signal, or why it could not be started."""
    with pytest.raises(DispatchFailedError, match=why) as caught:
        run(command(*words))
    assert not caught.value.timed_out


def test_a_command_that_hangs_is_killed_with_what_it_started(tmp_path: Path) -> None:
    """It ignores SIGTERM, and so does its child."""
    pid = tmp_path / "pid"
    script = f'trap "" TERM; sleep 300 & echo $! >{pid}; wait; wait'
    with pytest.raises(DispatchFailedError, match="timeout") as caught:
        run(command("sh", "-c", script, timeout=timedelta(seconds=1)))
    assert caught.value.timed_out
    until(lambda: _is_over(int(pid.read_text())), "the end of what the command started")


def test_a_command_is_stopped_when_the_clock_ends(tmp_path: Path) -> None:
    """It gets SIGTERM, and is not counted as failed."""
    begun, heard = tmp_path / "begun", tmp_path / "heard"
    stopping = command("sh", "-c", f"trap 'touch {heard}; exit 0' TERM; touch {begun}; while :; do sleep 0.05; done")
    assert isinstance(stopping.give_up, threading.Event)
    errors: list[Exception] = []

    def work() -> None:
        try:
            run(stopping)
        except DispatchGivenUpError as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    until(begun.exists, "the command's start")
    stopping.give_up.set()
    thread.join()
    assert len(errors) == 1
    assert heard.exists()


def _is_over(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:  # noqa: PTH123  # short
        return stat.read().rpartition(")")[2].split()[0] == "Z"
