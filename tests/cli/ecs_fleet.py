"""A schedule group and a cluster as far as the launcher asks for them; tasks work on the ledger, a step at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError

from cronce import Claim, Ledger, Policy, Refusal
from cronce.client.settings import TaskSettings
from cronce.vocabulary.names import further_schedule_name

GROUP = "runs"
CLUSTER = "arn:aws:ecs:eu-west-1:123456789012:cluster/shop"
MADE_AT = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Task:
    """A task that ECS started.

    Attributes:
        does: `succeed`, `fail`, `hang` (claims, and never ends), or `die` (stops before it claims).
    """

    arn: str
    environ: dict[str, str]
    does: str
    answer: Claim | Refusal | None = None
    stopped: bool = False


@dataclass
class Fleet:
    """EventBridge Scheduler and ECS in one; pass it as both clients.

    Attributes:
        does: What the task of a period does; `succeed` if it is not here.
        failures: What RunTask answers instead of a task.
        refusal: An error code that RunTask answers with.
        before_step: Called before each step, with its number.
        one_shots: The schedules that start a task in the next step, by name.
        revision_status: The status of every task definition.
        gone: The names of schedules that were deleted.
    """

    ledger: Ledger
    schedules: dict[str, dict[str, Any]] = field(default_factory=dict)
    tasks: list[Task] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    does: dict[str, str] = field(default_factory=dict)
    failures: list[dict[str, str]] = field(default_factory=list)
    refusal: str | None = None
    before_step: Callable[[int], None] = lambda _number: None
    steps: int = 0
    one_shots: dict[str, dict[str, Any]] = field(default_factory=dict)
    revision_status: str = "ACTIVE"
    gone: set[str] = field(default_factory=set)

    def add_job(
        self,
        job: str,
        expression: str = "cron(0 6 * * ? *)",
        *,
        timezone: str = "Europe/Berlin",
        policy: Policy | None = None,
        date_in: str | None = None,
        further: str | None = None,
        **changes: object,
    ) -> None:
        """Make the schedule of a job, as `ScheduledTask` does."""
        environ = {
            "CRONCE_JOB": job,
            "CRONCE_LEDGER": "dynamodb://runs?region=eu-west-1",
            "CRONCE_POLICY": (policy or Policy()).to_json(),
            "CRONCE_TRIGGER": "schedule",
            "CRONCE_SCHEDULED_TIME": "<aws.scheduler.scheduled-time>",
            "CRONCE_EXECUTION_ID": "<aws.scheduler.execution-id>",
            **({"CRONCE_DATE_IN": date_in} if date_in else {}),
            **({"CRONCE_FURTHER_SCHEDULES": further} if further else {}),
        }
        variables = [{"name": name, "value": value} for name, value in environ.items()]
        self.schedules[f"{job}-0123456789ab"] = {
            "Name": f"{job}-0123456789ab",
            "GroupName": GROUP,
            "ScheduleExpression": expression,
            "ScheduleExpressionTimezone": timezone,
            "State": "ENABLED",
            "FlexibleTimeWindow": {"Mode": "OFF"},
            "CreationDate": MADE_AT,
            "LastModificationDate": MADE_AT,
            "Target": {
                "Arn": CLUSTER,
                "RoleArn": "arn:aws:iam::123456789012:role/cronce/runs/digest",
                "Input": json.dumps({"containerOverrides": [{"name": "digest", "environment": variables}]}),
                "EcsParameters": {
                    "TaskDefinitionArn": "arn:aws:ecs:eu-west-1:123456789012:task-definition/digest:7",
                    "TaskCount": 1,
                    "LaunchType": "FARGATE",
                    "NetworkConfiguration": {"awsvpcConfiguration": {"Subnets": ["subnet-1"]}},
                },
            },
        } | changes
        first = self.schedules[f"{job}-0123456789ab"]
        for each in further.split("; ") if further else ():
            name = further_schedule_name(first["Name"], each)
            self.schedules[name] = first | {"Name": name, "ScheduleExpression": each}

    def step(self) -> None:
        """Let each task do the next thing: claim, or come to its end."""
        self.steps += 1
        self.before_step(self.steps)
        for name, made in self.one_shots.items():
            self._start(f"arn:aws:ecs:eu-west-1:123456789012:task/shop/{name}", json.loads(made["Target"]["Input"]))
        self.one_shots.clear()
        for task in self.tasks:
            if not task.stopped:
                self._work(task)

    def _work(self, task: Task) -> None:
        if task.does == "die":
            task.stopped = True
        elif task.answer is None:
            settings = TaskSettings.from_environ(task.environ)
            self.ledger._owner = task.arn
            task.answer = self.ledger.submit(settings.claim_request(token=task.arn, owner=task.arn))
        elif isinstance(task.answer, Refusal):
            task.stopped = True
        elif task.does == "succeed":
            task.answer.complete({"mails": 3100})
            task.stopped = True
        elif task.does == "fail":
            task.answer.fail("the mail server said no", exit_code=3)
            task.stopped = True

    def _start(self, arn: str, overrides: Mapping[str, Any]) -> Task:
        (container,) = overrides["containerOverrides"]
        environ = {each["name"]: each["value"] for each in container["environment"]}
        task = Task(arn, environ, self.does.get(environ["CRONCE_PERIOD"], "succeed"))
        self.tasks.append(task)
        return task

    # The clients' methods, with the arguments that the launcher gives.

    def list_schedules(self, *, GroupName: str, NamePrefix: str = "", **_: object) -> dict[str, Any]:  # noqa: N803
        """As EventBridge Scheduler."""
        if GroupName != GROUP:
            raise _error("ResourceNotFoundException", f"Schedule group {GroupName} does not exist.", "ListSchedules")
        found = [each for name, each in self.schedules.items() if name.startswith(NamePrefix)]
        return {"Schedules": [{"Name": each["Name"], "LastModificationDate": MADE_AT} for each in found]}

    def get_schedule(self, *, GroupName: str, Name: str) -> dict[str, Any]:  # noqa: N803
        """As EventBridge Scheduler."""
        assert GroupName == GROUP
        if Name in self.gone:
            raise _error("ResourceNotFoundException", f"Schedule {Name} does not exist.", "GetSchedule")
        return self.schedules[Name]

    def run_task(self, *, overrides: Mapping[str, Any], clientToken: str, **request: object) -> dict[str, Any]:  # noqa: N803
        """As ECS: one token is one task."""
        self.requests.append({"overrides": overrides, "clientToken": clientToken, **request})
        if self.refusal:
            raise _error(self.refusal, "no", "RunTask")
        if self.failures:
            return {"tasks": [], "failures": self.failures}
        arn = f"arn:aws:ecs:eu-west-1:123456789012:task/shop/{clientToken}"
        standing = next((task for task in self.tasks if task.arn == arn), None)
        if standing is None:
            standing = self._start(arn, overrides)
        return {"tasks": [{"taskArn": arn, "lastStatus": "STOPPED" if standing.stopped else "PENDING"}]}

    def create_schedule(self, *, GroupName: str, Name: str, **request: Any) -> dict[str, Any]:  # noqa: N803, ANN401
        """As EventBridge Scheduler, for one-shot schedules."""
        assert GroupName == GROUP
        if self.refusal:
            raise _error(self.refusal, "no", "CreateSchedule")
        if Name in self.one_shots:
            raise _error("ConflictException", "it exists", "CreateSchedule")
        self.one_shots[Name] = request
        return {"ScheduleArn": Name}

    def describe_clusters(self, *, clusters: list[str]) -> dict[str, Any]:
        """As ECS; each is there."""
        return {"clusters": [{"clusterArn": arn, "status": "ACTIVE"} for arn in clusters]}

    def describe_tasks(self, *, tasks: list[str], **_: object) -> dict[str, Any]:
        """As ECS."""
        found = [task for task in self.tasks if task.arn in tasks]
        return {
            "tasks": [
                {
                    "taskArn": task.arn,
                    "lastStatus": "STOPPED" if task.stopped else "RUNNING",
                    "stoppedReason": "CannotPullContainerError: not found",
                    "overrides": {
                        "containerOverrides": [
                            {
                                "name": "digest",
                                "environment": [{"name": name, "value": value} for name, value in task.environ.items()],
                            }
                        ]
                    },
                }
                for task in found
            ]
        }

    def list_tasks(self, *, family: str, desiredStatus: str, **_: object) -> dict[str, Any]:  # noqa: N803
        """As ECS."""
        assert family == "digest"
        stopped = desiredStatus == "STOPPED"
        return {"taskArns": [task.arn for task in self.tasks if task.stopped is stopped]}

    def describe_task_definition(self, *, taskDefinition: str) -> dict[str, Any]:  # noqa: N803
        """As ECS."""
        options = {"awslogs-group": "/shop/digest", "awslogs-stream-prefix": "run"}
        container = {
            "name": "digest",
            "image": "shop/digest:7",
            "logConfiguration": {"logDriver": "awslogs", "options": options},
        }
        status = self.revision_status
        return {
            "taskDefinition": {
                "taskDefinitionArn": taskDefinition,
                "status": status,
                "containerDefinitions": [container],
            }
        }


def _error(code: str, message: str, operation: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": message}}, operation)
