"""The events that ECS sends to EventBridge when a task stops."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from types import TracebackType

    from tests.e2e.aws_parts.rules import Rules
    from tests.e2e.emulator import Emulator
    from tests.e2e.engine import Engine

_POLL_SECONDS = 0.2


class TaskEvents:
    """Sends an event for every task that stopped, as long as the `with` block lasts.

    In the emulator a task is stopped as soon as StopTask was called, with exit code 0; in ECS when its containers
    have ended. So the event of a task with a container is sent when that has ended, with its exit code. The detail
    is the task as DescribeTasks has it (ECS Developer Guide, "Amazon ECS task state change events").

    Attributes:
        answers: The functions' answers, by the ARN of the task.
    """

    def __init__(self, aws: Emulator, engine: Engine, rules: Rules, *, cluster: str) -> None:
        self.answers: dict[str, list[object]] = {}
        self._rules = rules
        self._ecs = aws.client("ecs")
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
        """Start to watch."""
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop watching; raise errors of the watcher."""
        self._ended.set()
        self._docker_events.terminate()
        for thread in self._threads:
            thread.join()
        self._docker_events.wait()
        self._ecs.close()
        if error is None:
            self.check()

    def check(self) -> None:
        """Raise an error of the watcher, so that nobody waits in vain."""
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
                for arn in self._stopped() - self.answers.keys():
                    task = self._ecs.describe_tasks(cluster=self._cluster, tasks=[arn])["tasks"][0]
                    if self._is_over(task):
                        self.answers[arn] = self._rules.tell("aws.ecs", "ECS Task State Change", task, about=arn)
            except Exception as error:  # noqa: BLE001  # a thread's error must reach the test
                self._errors.append(error)
                return

    def _stopped(self) -> set[str]:
        pages = self._ecs.get_paginator("list_tasks").paginate(cluster=self._cluster, desiredStatus="STOPPED")
        return {arn for page in pages for arn in page["taskArns"]}

    def _is_over(self, task: dict[str, Any]) -> bool:
        """Put the containers' own exit codes into the task; True if it has stopped in ECS's sense."""
        if task["lastStatus"] != "STOPPED":
            return False
        if task["stopCode"] == "TaskFailedToStart":
            return True
        names = {container["name"]: container for container in task["containers"]}
        for name, container in names.items():
            if "reason" not in container:  # it ran
                container["exitCode"] = self._exit_codes.get((task["taskArn"], name))
        return all(container["exitCode"] is not None for container in names.values())
