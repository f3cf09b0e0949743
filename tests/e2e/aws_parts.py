"""The parts of AWS that the emulator leaves out, and nothing else.

- EventBridge Scheduler starting the ECS task of a schedule: `deliver`.
- ECS naming a task's credentials by a relative URI; the emulator names them by a full one only: `_CREDENTIALS`.
- ECS telling EventBridge that a task stopped, and EventBridge telling who subscribed: `TaskEvents`.

Everything else that the lane sees is the emulator's or the project's own.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import uuid
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

from tests.e2e.emulator import ACCOUNT, REGION

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from tests.e2e.emulator import Emulator
    from tests.e2e.engine import Engine

_CREDENTIALS = {"name": "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "value": f"/v2/credentials/{uuid.uuid4()}"}

_POLL_SECONDS = 0.2


def deliver(aws: Emulator, schedule: str, tick: datetime, *, group: str) -> list[str]:
    """Deliver one tick of the schedule, as EventBridge Scheduler does; the ARNs of the tasks.

    It runs the target's task with the target's input, in which the context attributes are replaced
    (EventBridge Scheduler User Guide, "Adding context attributes").

    Raises:
        AssertionError: RunTask answered with failures.
    """
    with closing(aws.client("scheduler")) as scheduler:
        standing = scheduler.get_schedule(Name=schedule, GroupName=group)
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
    overrides = json.loads(text)
    for container in overrides["containerOverrides"]:
        container["environment"].append(_CREDENTIALS)
    request = _as_run_task(target["EcsParameters"])
    with closing(aws.client("ecs")) as ecs:
        answer = ecs.run_task(cluster=target["Arn"], overrides=overrides, **request)
    assert not answer["failures"], answer["failures"]
    return [task["taskArn"] for task in answer["tasks"]]


class TaskEvents:
    """Tells the subscribed Lambda functions of every task that stopped, for as long as the `with` block lasts.

    The emulator calls a task stopped as soon as StopTask was called, with exit code 0; ECS does when its
    containers are gone. So a task that had a container is told of once that ended, with its own exit code.

    Attributes:
        answers: What the functions said, by the ARN of the task.
    """

    def __init__(self, aws: Emulator, engine: Engine, *, cluster: str) -> None:
        self.answers: dict[str, list[object]] = {}
        self._ecs, self._events, self._lambda = (aws.client(name) for name in ("ecs", "events", "lambda"))
        self._cluster = cluster
        self._exit_codes: dict[tuple[str, str], int] = {}
        self._errors: list[Exception] = []
        self._ended = threading.Event()
        self._docker_events = subprocess.Popen(
            ["docker", "events", "--filter=event=die", "--format={{json .Actor.Attributes}}"],
            env=os.environ | engine.environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        threads = (self._note_exit_codes, self._tell_of_tasks)
        self._threads = [threading.Thread(target=thread, name=thread.__name__, daemon=True) for thread in threads]

    def __enter__(self) -> Self:
        """Begin to watch."""
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop watching; what went wrong meanwhile is raised."""
        self._ended.set()
        self._docker_events.terminate()
        for thread in self._threads:
            thread.join()
        self._docker_events.wait()
        for client in (self._ecs, self._events, self._lambda):
            client.close()
        if error is None:
            self.check()

    def check(self) -> None:
        """Raise what went wrong in the watcher, so that nobody waits for it in vain."""
        for error in self._errors:
            raise error

    def _note_exit_codes(self) -> None:
        assert self._docker_events.stdout is not None
        for line in self._docker_events.stdout:
            of = json.loads(line)
            if task := of.get("com.amazonaws.ecs.task-arn"):
                self._exit_codes[task, of["com.amazonaws.ecs.container-name"]] = int(of["exitCode"])
        self._docker_events.stdout.close()

    def _tell_of_tasks(self) -> None:
        while not self._ended.wait(_POLL_SECONDS):
            try:
                stopped = self._ecs.list_tasks(cluster=self._cluster, desiredStatus="STOPPED")["taskArns"]
                for arn in set(stopped) - self.answers.keys():
                    task = self._ecs.describe_tasks(cluster=self._cluster, tasks=[arn])["tasks"][0]
                    if self._is_over(task):
                        self.answers[arn] = self._tell(task)
            except Exception as error:  # noqa: BLE001  # a thread's error must reach the test
                self._errors.append(error)
                return

    def _is_over(self, task: dict[str, Any]) -> bool:
        """Put the containers' own exit codes into the task; True if it has stopped in ECS's sense."""
        if task["lastStatus"] != "STOPPED":
            return False
        if task["stopCode"] == "TaskFailedToStart":
            return True
        names = {container["name"]: container for container in task["containers"]}
        for name, container in names.items():
            container["exitCode"] = self._exit_codes.get((task["taskArn"], name))
        return all(container["exitCode"] is not None for container in names.values())

    def _tell(self, task: dict[str, Any]) -> list[object]:
        """Hand the event to the functions of every rule that it matches.

        The shape is the one of the ECS Developer Guide, "Amazon ECS task state change events".
        """
        event = {
            "version": "0",
            "id": str(uuid.uuid4()),
            "detail-type": "ECS Task State Change",
            "source": "aws.ecs",
            "account": ACCOUNT,
            "time": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "region": REGION,
            "resources": [task["taskArn"]],
            "detail": task,
        }
        text = json.dumps(event, default=datetime.isoformat)
        answers: list[object] = []
        for rule in self._events.list_rules()["Rules"]:
            pattern = rule.get("EventPattern")
            if pattern and self._events.test_event_pattern(EventPattern=pattern, Event=text)["Result"]:
                targets = self._events.list_targets_by_rule(Rule=rule["Name"])["Targets"]
                answers += [self._invoke(target["Arn"], text) for target in targets if ":function:" in target["Arn"]]
        return answers

    def _invoke(self, function: str, event: str) -> object:
        answer = self._lambda.invoke(FunctionName=function, Payload=event.encode())
        payload = json.loads(answer["Payload"].read())
        assert "FunctionError" not in answer, payload
        return payload


def _as_run_task(parameters: Mapping[str, Any]) -> dict[str, object]:
    """A schedule's `EcsParameters` as arguments of RunTask: two have other names, all another case."""
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
