"""EventBridge Scheduler: it calls the target of a schedule with the schedule's role when a scenario requests it."""

from __future__ import annotations

import json
import threading
import uuid
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

from botocore.exceptions import ClientError

from tests.e2e.emulator import ACCOUNT, REGION

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import TracebackType

    from tests.e2e.emulator import Emulator

_POLL_SECONDS = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A target that was called once.

    Attributes:
        schedule: Name of the schedule.
        expression: When it is due.
        environment: The environment of the job's container.
        tasks: The ARNs of the tasks that it started; none if it could not.
    """

    schedule: str
    expression: str
    environment: Mapping[str, str]
    tasks: tuple[str, ...]


class Schedules:
    """The schedules of a group. For as long as the `with` block lasts, its one-time schedules fire as they come.

    Attributes:
        fired: The one-time schedules that have fired, in order.
        session: The name of the session in which roles of schedules are assumed; the log of denials shows it.
    """

    def __init__(self, aws: Emulator, *, group: str) -> None:
        self.fired: list[Delivery] = []
        self.session = "schedule"
        self._aws, self._group = aws, group
        self._scheduler = aws.client("scheduler")
        self._errors: list[Exception] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._fire_one_time_schedules, name="one-time schedules", daemon=True)

    def __enter__(self) -> Self:
        """Begin to fire."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop firing; raise errors of the thread."""
        self._ended.set()
        self._thread.join()
        self._scheduler.close()
        if error is None:
            self.check()

    def check(self) -> None:
        """Raise an error of the thread, so that nobody waits in vain."""
        for error in self._errors:
            raise error

    def deliver(
        self,
        schedule: str,
        tick: datetime,
        *,
        failures: list[dict[str, str]] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Delivery:
        """Deliver one tick of the schedule. If the task cannot be started, the event goes to the dead-letter queue.

        Args:
            schedule: Name of the schedule.
            tick: The nominal time.
            failures: What RunTask answers instead of starting a task, such as `[{"reason": "AGENT"}]`.
            environment: Variables that replace those of the schedule.
        """
        standing = self._get(schedule)
        if environment:
            override = json.loads(standing["Target"]["Input"])
            (container,) = override["containerOverrides"]
            told = {variable["name"]: variable["value"] for variable in container["environment"]} | dict(environment)
            container["environment"] = [{"name": name, "value": value} for name, value in told.items()]
            standing["Target"]["Input"] = json.dumps(override)
        return self._deliver(standing, tick, failures=failures)

    def refuse(self, schedule: str, tick: datetime, *, code: str, message: str) -> None:
        """Give up a tick, because RunTask refuses it with that error at every try."""
        standing = self._get(schedule)
        target = standing["Target"]
        at = tick.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        attributes = {"schedule-arn": standing["Arn"], "scheduled-time": at, "execution-id": str(uuid.uuid4())}
        text = target["Input"]
        for name, value in attributes.items():
            text = text.replace(f"<aws.scheduler.{name}>", value)
        self._give_up(target, text, attributes, self._assumed(target["RoleArn"]), code=code, message=message)

    def target_of(self, schedule: str) -> dict[str, Any]:
        """The schedule's target: task definition, role, input."""
        target: dict[str, Any] = self._get(schedule)["Target"]
        return target

    def role_of(self, schedule: str) -> str:
        """The ARN of the schedule's role."""
        return str(self.target_of(schedule)["RoleArn"])

    def revision_of(self, schedule: str) -> str:
        """The ARN of the task definition that the schedule starts."""
        return str(self._get(schedule)["Target"]["EcsParameters"]["TaskDefinitionArn"])

    def names(self, prefix: str = "") -> list[str]:
        """The names of the group's schedules."""
        return [schedule["Name"] for schedule in self._all() if schedule["Name"].startswith(prefix)]

    def turn(self, schedule: str, state: str) -> None:
        """A person enables or disables the schedule in the console: the whole schedule is written again."""
        standing = self._get(schedule)
        kept = ("Name", "GroupName", "ScheduleExpression", "ScheduleExpressionTimezone", "FlexibleTimeWindow", "Target")
        self._scheduler.update_schedule(State=state, **{name: standing[name] for name in kept})

    def _get(self, schedule: str) -> dict[str, Any]:
        standing: dict[str, Any] = self._scheduler.get_schedule(Name=schedule, GroupName=self._group)
        return standing

    def _all(self) -> Iterator[dict[str, Any]]:
        for page in self._scheduler.get_paginator("list_schedules").paginate(GroupName=self._group):
            yield from page["Schedules"]

    def _fire_one_time_schedules(self) -> None:
        while not self._ended.wait(_POLL_SECONDS):
            try:
                for name in self.names("once-"):
                    standing = self._get(name)
                    assert standing["ScheduleExpression"].startswith("at("), standing
                    assert standing["ActionAfterCompletion"] == "DELETE", standing
                    self.fired.append(self._deliver(standing, datetime.now(UTC)))
                    self._scheduler.delete_schedule(Name=name, GroupName=self._group)
            except Exception as error:  # noqa: BLE001  # a thread's error must reach the test
                self._errors.append(error)
                return

    def _deliver(
        self, standing: Mapping[str, Any], tick: datetime, *, failures: list[dict[str, str]] | None = None
    ) -> Delivery:
        """Run the target's task with the target's input, in which the context attributes are replaced.

        As the EventBridge Scheduler User Guide says, "Adding context attributes" and "Configuring a
        schedule's dead-letter queue".
        """
        target = standing["Target"]
        attributes = {
            "schedule-arn": standing["Arn"],
            "scheduled-time": tick.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "execution-id": str(uuid.uuid4()),
            "attempt-number": "1",
        }
        text = target["Input"]
        for name, value in attributes.items():
            text = text.replace(f"<aws.scheduler.{name}>", value)
        role = self._assumed(target["RoleArn"])
        tasks: list[str] = []
        try:
            answer = {"tasks": [], "failures": failures} if failures else self._run_task(target, text, role)
            tasks = [task["taskArn"] for task in answer["tasks"]]
            if answer["failures"]:
                self._give_up(target, text, attributes, role, code="ECS.Failures", message=str(answer["failures"]))
        except ClientError as error:
            refused = error.response["Error"]
            self._give_up(target, text, attributes, role, code=refused["Code"], message=refused["Message"])
        (container,) = json.loads(text)["containerOverrides"]
        return Delivery(
            schedule=standing["Name"],
            expression=standing["ScheduleExpression"],
            environment={variable["name"]: variable["value"] for variable in container["environment"]},
            tasks=tuple(tasks),
        )

    def _run_task(self, target: Mapping[str, Any], text: str, role: Mapping[str, str]) -> dict[str, Any]:
        with closing(self._aws.client("ecs", **role)) as ecs:
            answer: dict[str, Any] = ecs.run_task(
                cluster=target["Arn"], overrides=json.loads(text), **_as_run_task(target["EcsParameters"])
            )
            return answer

    def _give_up(
        self,
        target: Mapping[str, Any],
        text: str,
        attributes: Mapping[str, str],
        role: Mapping[str, str],
        *,
        code: str,
        message: str,
    ) -> None:
        said = {
            "ERROR_CODE": code,
            "ERROR_MESSAGE": message,
            "EXECUTION_ID": attributes["execution-id"],
            "EXHAUSTED_RETRY_CONDITION": "MaximumRetryAttempts",
            "IS_PAYLOAD_TRUNCATED": "false",
            "RETRY_ATTEMPTS": str(target["RetryPolicy"]["MaximumRetryAttempts"]),
            "SCHEDULED_TIME": attributes["scheduled-time"],
            "SCHEDULE_ARN": attributes["schedule-arn"],
            "TARGET_ARN": target["Arn"],
        }
        with closing(self._aws.client("sqs", **role)) as sqs:
            queue = f"{self._aws.endpoint}/{ACCOUNT}/{target['DeadLetterConfig']['Arn'].rpartition(':')[2]}"
            typed = {name: {"DataType": "String", "StringValue": value} for name, value in said.items()}
            sqs.send_message(QueueUrl=queue, MessageBody=text, MessageAttributes=typed)

    def _assumed(self, role: str) -> dict[str, str]:
        """Credentials of the schedule's role, which its trust policy gives only to this group's schedules."""
        group = f"arn:aws:scheduler:{REGION}:{ACCOUNT}:schedule-group/{self._group}"
        return self._aws.assume_role(role, service="scheduler.amazonaws.com", source=group, session=self.session)


def _as_run_task(parameters: Mapping[str, Any]) -> dict[str, object]:
    """A schedule's `EcsParameters` as arguments of RunTask: two have other names, all are in lower camel case."""
    names = {"TaskDefinitionArn": "taskDefinition", "TaskCount": "count"}
    return {names.get(name, _lower_first(name)): _lower_keys(value) for name, value in parameters.items()}


def _lower_keys(value: object) -> object:
    match value:
        case dict():
            return {_lower_first(name): _lower_keys(part) for name, part in value.items()}
        case list():
            return [_lower_keys(part) for part in value]
        case _:
            return value


def _lower_first(name: str) -> str:
    return name[:1].lower() + name[1:]
