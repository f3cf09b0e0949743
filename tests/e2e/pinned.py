"""A pinned service, in the words of a scenario: its tasks, its log, and the queue that its ticks go to."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tests.support.host import until

if TYPE_CHECKING:
    from tests.e2e.world import World

_PATIENCE = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message that arrived on the queue.

    Attributes:
        at: When it was sent.
    """

    at: datetime
    body: str


@dataclass(slots=True)
class Pinned:
    """A pinned service of the deployed stack, with desired count 1.

    Attributes:
        messages: What was read from the queue so far, in the order of sending.
    """

    world: World
    cluster: str
    service: str
    task_definition: str
    log_group: str
    queue: str
    messages: list[Message] = field(default_factory=list)

    def tasks(self) -> set[str]:
        """Its running tasks, including those that were started outside the service."""
        running = self.world.ecs.list_tasks(cluster=self.cluster, desiredStatus="RUNNING")["taskArns"]
        described = self.world.ecs.describe_tasks(cluster=self.cluster, tasks=running)["tasks"] if running else []
        return {
            task["taskArn"]
            for task in described
            if task["taskDefinitionArn"] == self.task_definition and task["lastStatus"] == "RUNNING"
        }

    def events(self, task: str) -> list[str]:
        """The names of the events that the task has logged so far."""
        return [json.loads(line)["cronce.event"] for line in self.log(task) if line.startswith('{"time"')]

    def log(self, task: str) -> list[str]:
        """The lines of the task's log."""
        return self.world.lines(self.log_group, f"clock/clock/{task.rpartition('/')[2]}")

    def leader(self, *, other_than: set[str] | None = None) -> str:
        """The task that leads, as soon as one does."""

        def look() -> str | None:
            for task in self.tasks() - (other_than or set()):
                said = [event for event in self.events(task) if event in ("leading", "released", "lost")]
                if said and said[-1] == "leading":
                    return task
            return None

        found = until(look, f"a leader of {self.service}", timeout=_PATIENCE, every=0.3)
        assert found is not None
        return found

    def deploy_again(self) -> None:
        """A new deployment of the same task definition, as after a push of the same tag."""
        self.world.ecs.update_service(cluster=self.cluster, service=self.service, forceNewDeployment=True)

    def want(self, count: int) -> None:
        """Somebody changes the desired count."""
        self.world.ecs.update_service(cluster=self.cluster, service=self.service, desiredCount=count)

    def start_one_more(self) -> str:
        """Start one more task next to the service's, as an overlapping deployment does; return its ARN."""
        return str(
            self.world.ecs.run_task(cluster=self.cluster, taskDefinition=self.task_definition, launchType="FARGATE")[
                "tasks"
            ][0]["taskArn"]
        )

    def read(self) -> list[Message]:
        """Read what has arrived on the queue; return everything read so far."""
        while True:
            answer = self.world.sqs.receive_message(
                QueueUrl=self.queue, MaxNumberOfMessages=10, AttributeNames=["SentTimestamp"]
            )
            for message in answer.get("Messages", ()):
                at = datetime.fromtimestamp(int(message["Attributes"]["SentTimestamp"]) / 1000, UTC)
                self.messages.append(Message(at=at, body=message["Body"]))
                self.world.sqs.delete_message(QueueUrl=self.queue, ReceiptHandle=message["ReceiptHandle"])
            if not answer.get("Messages"):
                self.messages.sort(key=lambda message: message.at)
                return self.messages

    def until_after(self, at: datetime) -> list[Message]:
        """Wait for a message that was sent after that moment; return all messages."""
        until(
            lambda: any(message.at > at for message in self.read()), f"a tick after {at}", timeout=_PATIENCE, every=0.5
        )
        return self.messages
