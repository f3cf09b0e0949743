"""EventBridge Scheduler, EventBridge and ECS in memory, with answers of the documented shape."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError, EndpointConnectionError
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from cronce.testing.clocks import ManualClock
from cronce.vocabulary.names import further_schedule_name
from cronce.vocabulary.policy import Policy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cronce.client.time_source import StopSignal

GROUP = "runs"
CLUSTER = "arn:aws:ecs:eu-west-1:111122223333:cluster/jobs"
T0 = datetime(2026, 11, 29, 6, tzinfo=UTC)
MINUTE = timedelta(minutes=1)

OVERRIDE: dict[str, Any] = {
    "name": "digest",
    "command": ["python", "-m", "digest"],
    "environment": [
        {"name": "CRONCE_EXECUTION_ID", "value": "<aws.scheduler.execution-id>"},
        {"name": "CRONCE_LEDGER", "value": "dynamodb://runs?region=eu-west-1"},
        {"name": "CRONCE_SCHEDULED_TIME", "value": "<aws.scheduler.scheduled-time>"},
        {"name": "CRONCE_TRIGGER", "value": "schedule"},
        {"name": "TOPIC", "value": "news"},
    ],
}


def schedule(
    job: str = "daily-digest",
    *,
    policy: Policy | None = None,
    date_in: str | None = None,
    further: str | None = None,
    image: str = "1",
    **changes: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """What GetSchedule answers about a job (Scheduler API Reference); changes are of the answer's own fields."""
    own = {"CRONCE_JOB": job, **({"CRONCE_POLICY": policy.to_json()} if policy else {})}
    own |= {"CRONCE_DATE_IN": date_in} if date_in else {}
    own |= {"CRONCE_FURTHER_SCHEDULES": further} if further else {}
    variables = [*OVERRIDE["environment"], *({"name": name, "value": value} for name, value in own.items())]
    name = f"{job}-0123456789ab"
    answer = {
        "Arn": f"arn:aws:scheduler:eu-west-1:111122223333:schedule/{GROUP}/{name}",
        "Name": name,
        "GroupName": GROUP,
        "ScheduleExpression": "cron(0 6 * * ? *)",
        "ScheduleExpressionTimezone": "UTC",
        "State": "ENABLED",
        "FlexibleTimeWindow": {"Mode": "OFF"},
        "ActionAfterCompletion": "NONE",
        "CreationDate": T0 - timedelta(days=30),
        "LastModificationDate": T0 - timedelta(days=30),
        "Target": {
            "Arn": CLUSTER,
            "RoleArn": f"arn:aws:iam::111122223333:role/cronce/{GROUP}/{job}",
            "Input": json.dumps({"containerOverrides": [{"name": "sidecar"}, {**OVERRIDE, "environment": variables}]}),
            "DeadLetterConfig": {"Arn": "arn:aws:sqs:eu-west-1:111122223333:runs-dead-letters"},
            "RetryPolicy": {"MaximumEventAgeInSeconds": 3600, "MaximumRetryAttempts": 60},
            "EcsParameters": {
                "TaskDefinitionArn": f"arn:aws:ecs:eu-west-1:111122223333:task-definition/digest:{image}",
                "TaskCount": 1,
                "LaunchType": "FARGATE",
                "NetworkConfiguration": {
                    "awsvpcConfiguration": {"Subnets": ["subnet-1"], "AssignPublicIp": "ENABLED"},
                },
                "Tags": [{"Key": "team", "Value": "mail"}],
            },
        },
    }
    return answer | changes


def several(job: str = "daily-digest", *, further: str, **changes: Any) -> list[Any]:  # noqa: ANN401
    """What GetSchedule answers about each schedule of a job with several, the first one first."""
    first = schedule(job, further=further, **changes)
    return [
        first,
        *(
            first | {"Name": further_schedule_name(first["Name"], each), "ScheduleExpression": each}
            for each in further.split("; ")
        ),
    ]


class StillClock(ManualClock):
    """A clock that only a test moves; a thread that waits with it waits in real time, until it is stopped."""

    def wait(self, stop: StopSignal, seconds: float) -> bool:
        """Wait without moving the time."""
        return stop.wait(seconds)


class FakeClient:
    """The part of a boto client that records its calls and fails as a test requests.

    Attributes:
        calls: Every call so far: operation and arguments.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self._failures: dict[str, Callable[[dict[str, Any]], Exception | None]] = {}

    def fail(self, operation: str, code: str, message: str = "no", *, status: int = 400, **details: Any) -> None:  # noqa: ANN401
        """Let every call of the operation be answered with that error."""
        self._failures[operation] = lambda _: client_error(operation, code, message, status=status, **details)

    def fail_if(self, operation: str, why: Callable[[dict[str, Any]], Exception | None]) -> None:
        """Let calls of the operation fail with what `why` makes of their arguments."""
        self._failures[operation] = why

    def go_away(self, operation: str) -> None:
        """Let every call of the operation have no answer."""
        self._failures[operation] = lambda _: EndpointConnectionError(endpoint_url="https://nowhere")

    def recover(self) -> None:
        """Let nothing fail any more."""
        self._failures.clear()

    def count(self, operation: str) -> int:
        """How many calls of the operation there were."""
        return sum(name == operation for name, _ in self.calls)

    def _called(self, operation: str, request: dict[str, Any]) -> None:
        self.calls.append((operation, request))
        why = self._failures.get(operation)
        if why and (error := why(request)):
            raise error


class FakeScheduler(FakeClient):
    """EventBridge Scheduler.

    Attributes:
        schedules: What GetSchedule answers, by name.
        one_shots: The schedules that were created, in their order.
        page_size: How many schedules a page of ListSchedules has.
    """

    def __init__(self, *schedules: dict[str, Any]) -> None:
        super().__init__()
        self.schedules = {each["Name"]: each for each in schedules}
        self.one_shots: list[dict[str, Any]] = []
        self.page_size = 100

    def environ_of(self, number: int) -> dict[str, str]:
        """The environment of the job's container in the one-shot of that number."""
        override = json.loads(self.one_shots[number]["Target"]["Input"])["containerOverrides"][1]
        return {each["name"]: each["value"] for each in override["environment"]}

    def list_schedules(self, **request: Any) -> dict[str, Any]:  # noqa: ANN401
        """ListSchedules."""
        self._called("list_schedules", request)
        names = [name for name in sorted(self.schedules) if name.startswith(request.get("NamePrefix", ""))]
        first = int(request.get("NextToken", 0))
        known = ("Arn", "CreationDate", "GroupName", "LastModificationDate", "Name", "State")
        page = [
            {key: self.schedules[name][key] for key in known if key in self.schedules[name]}
            for name in names[first : first + self.page_size]
        ]
        more = {"NextToken": str(first + self.page_size)} if first + self.page_size < len(names) else {}
        return {"Schedules": page, **more}

    def get_schedule(self, **request: Any) -> dict[str, Any]:  # noqa: ANN401
        """GetSchedule."""
        self._called("get_schedule", request)
        if request["Name"] not in self.schedules:
            raise client_error("get_schedule", "ResourceNotFoundException", "no such schedule", status=404)
        answer: dict[str, Any] = self.schedules[request["Name"]]
        return answer

    def create_schedule(self, **request: Any) -> dict[str, Any]:  # noqa: ANN401
        """CreateSchedule."""
        self._called("create_schedule", request)
        if request["Name"] in self.schedules:
            raise client_error("create_schedule", "ConflictException", "it exists", status=409)
        self.one_shots.append(request)
        self.schedules[request["Name"]] = {**request, "CreationDate": T0, "LastModificationDate": T0}
        return {"ScheduleArn": f"arn:aws:scheduler:eu-west-1:111122223333:schedule/{GROUP}/{request['Name']}"}


DOCUMENTED = Draft202012Validator(
    json.loads((Path(__file__).parents[2] / "docs" / "events.schema.json").read_text(encoding="utf-8"))
)
"""The shape of every event that recorder and watchdog send; one of another shape is an error."""


class FakeEvents(FakeClient):
    """EventBridge.

    Attributes:
        rejected: How many entries of each PutEvents are answered with an error.
    """

    def __init__(self) -> None:
        super().__init__()
        self.rejected = 0

    @property
    def sent(self) -> list[dict[str, Any]]:
        """The details of every event so far, each with its type, without what is said to people."""
        return [{name: each for name, each in event.items() if name not in ("cause", "text")} for event in self.told]

    @property
    def told(self) -> list[dict[str, Any]]:
        """The details of every event so far, each with its type."""
        entries = [entry for _, request in self.calls for entry in request["Entries"]]
        return [{"type": entry["DetailType"], **json.loads(entry["Detail"])} for entry in entries]

    def put_events(self, **request: Any) -> dict[str, Any]:  # noqa: ANN401
        """PutEvents."""
        self._called("put_events", request)
        for entry in request["Entries"]:
            named = {"source": entry["Source"], "detail-type": entry["DetailType"]}
            DOCUMENTED.validate(named | {"detail": json.loads(entry["Detail"])})
        bad = [{"ErrorCode": "ThrottlingException", "ErrorMessage": "slow down"}] * self.rejected
        good = [{"EventId": "1"}] * (len(request["Entries"]) - self.rejected)
        return {"FailedEntryCount": self.rejected, "Entries": bad + good}


class FakeEcs(FakeClient):
    """ECS.

    Attributes:
        answers: What RunTask answers, one after the other; the last again and again.
        services: What DescribeServices answers, by name.
        clusters: The status of each cluster, by ARN.
        tasks: What DescribeTasks answers; ListTasks filters them by cluster, family and desired status.
        page_size: How many tasks a page of ListTasks has.
        revisions: What DescribeTaskDefinition answers, by ARN.
    """

    def __init__(self, *answers: dict[str, Any]) -> None:
        super().__init__()
        self.answers = list(answers)
        self.services: dict[str, dict[str, Any]] = {}
        self.clusters = {CLUSTER: "ACTIVE"}
        self.tasks: list[dict[str, Any]] = []
        self.page_size = 100
        self.revisions: dict[str, dict[str, Any]] = {}

    def run_task(self, **request: Any) -> dict[str, Any]:  # noqa: ANN401
        """RunTask."""
        self._called("run_task", request)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def list_tasks(self, **request: Any) -> dict[str, Any]:  # noqa: ANN401
        """ListTasks."""
        self._called("list_tasks", request)
        arns = [
            task["taskArn"]
            for task in self.tasks
            if task["clusterArn"] == request["cluster"]
            and task["taskDefinitionArn"].rpartition("/")[2].partition(":")[0] == request["family"]
            and task["desiredStatus"] == request["desiredStatus"]
        ]
        first = int(request.get("nextToken", 0))
        until = first + min(self.page_size, request["maxResults"])
        return {"taskArns": arns[first:until], **({"nextToken": str(until)} if until < len(arns) else {})}

    def describe_tasks(self, **request: Any) -> dict[str, Any]:  # noqa: ANN401
        """DescribeTasks."""
        self._called("describe_tasks", request)
        assert len(request["tasks"]) <= 100
        return {"tasks": [each for each in self.tasks if each["taskArn"] in request["tasks"]], "failures": []}

    def describe_task_definition(self, **request: Any) -> dict[str, Any]:  # noqa: ANN401
        """DescribeTaskDefinition."""
        self._called("describe_task_definition", request)
        if request["taskDefinition"] not in self.revisions:
            raise client_error(
                "describe_task_definition", "ClientException", "Unable to describe task definition.", status=400
            )
        return {"taskDefinition": self.revisions[request["taskDefinition"]]}

    def list_services(self, **request: Any) -> dict[str, Any]:  # noqa: ANN401
        """ListServices."""
        self._called("list_services", request)
        return {"serviceArns": [f"arn:aws:ecs:eu-west-1:111122223333:service/jobs/{name}" for name in self.services]}

    def describe_clusters(self, **request: Any) -> dict[str, Any]:  # noqa: ANN401
        """DescribeClusters."""
        self._called("describe_clusters", request)
        found = [(arn, self.clusters[arn]) for arn in request["clusters"] if arn in self.clusters]
        return {"clusters": [{"clusterArn": arn, "status": status} for arn, status in found]}

    def describe_services(self, **request: Any) -> dict[str, Any]:  # noqa: ANN401
        """DescribeServices."""
        self._called("describe_services", request)
        assert len(request["services"]) <= 10
        return {"services": [self.services[name] for name in request["services"] if name in self.services]}


def client_error(operation: str, code: str, message: str, *, status: int, **details: Any) -> ClientError:  # noqa: ANN401
    """What botocore raises."""
    response: Any = {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": status},
        **details,
    }
    return ClientError(response, operation)


def metrics(lines: str) -> list[tuple[str, Mapping[str, Any]]]:
    """The metrics among lines of a log: name, and the whole line."""
    found = [json.loads(line) for line in lines.splitlines() if line.startswith("{")]
    return [
        (metric["Name"], line)
        for line in found
        if "_aws" in line
        for metric in line["_aws"]["CloudWatchMetrics"][0]["Metrics"]
    ]
