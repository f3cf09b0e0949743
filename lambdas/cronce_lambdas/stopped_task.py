"""What an ECS event says about a task that stopped. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cronce import InputInvalidError, InputMissingError, Trigger
from cronce.client.settings import TaskSettings
from cronce.ecs.tasks import job_container
from cronce.vocabulary.environment import LAUNCH
from cronce.vocabulary.exit_codes import UNAVAILABLE

_ENDED_BY_ITSELF = "EssentialContainerExited"
"""The only stop code that means that the task was not stopped from outside (ECS API Reference, Task, `stopCode`)."""

_NEVER_RAN = (
    "CannotCreateContainerError",
    "CannotCreateVolumeError",
    "CannotPullContainerError",
    "CannotPullECRContainerError",
    "CannotStartContainerError",
    "ResourceInitializationError",
)
"""How the reason of a container begins that was not started (ECS Developer Guide, "Stopped tasks error codes").

Such a container can have an exit code: since version 1.61.2 the ECS agent writes 143 where a container on which it
depends has failed (`dependsOn`), and a runtime writes 127 or 128 where the program is missing. After
CannotInspectContainerError, DockerTimeoutError and ContainerRuntimeTimeoutError it may have run: the agent assumes so.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedTask:
    """A task that has stopped and that says it is of a job. `event_check` compares it with the job's definition.

    Attributes:
        account: The account that the event names.
        cluster: ARN of its cluster.
        task_definition: ARN of its task definition, or the family alone.
        scheduled_at: The nominal time of the period, if it has one.
        launch: Number of this launch within the attempt.
        exit_code: Exit code of the job's container; None if it never ran or was lost.
        imposed: True if a person or the platform stopped it.
        cause: Why it stopped, in the words of ECS.
    """

    arn: str
    account: str
    cluster: str
    task_definition: str
    job: str
    period: str
    scheduled_at: datetime | None
    trigger: Trigger
    launch: int
    exit_code: int | None
    imposed: bool
    cause: str

    @property
    def may_have_worked(self) -> bool:
        """True if the container exited by itself, and not because the ledger was unavailable."""
        return self.exit_code not in (None, UNAVAILABLE) and not self.imposed


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedReplica:
    """A task of a service that has stopped.

    Attributes:
        cluster: ARN of its cluster.
        service: Name of its service.
        exit_code: Exit code of a container that failed, else of any container; None if none ran.
    """

    arn: str
    account: str
    cluster: str
    service: str
    exit_code: int | None
    cause: str


def stopped_task(event: Mapping[str, Any]) -> StoppedTask | None:
    """The stopped task of a job that the event describes, or None for any other event.

    The ECS Developer Guide, "Amazon ECS task state change events", documents the event.
    """
    try:
        detail = event["detail"]
        if detail["lastStatus"] != "STOPPED":
            return None
        name, environ = job_container(detail["overrides"]["containerOverrides"])
        settings = TaskSettings.from_environ(environ)
        own: Mapping[str, Any] = next((each for each in detail["containers"] if each["name"] == name), {})
        return StoppedTask(
            arn=_text(detail["taskArn"]),
            account=str(event.get("account") or ""),
            cluster=_text(detail["clusterArn"]),
            task_definition=str(detail.get("taskDefinitionArn") or detail["group"].removeprefix("family:")),
            job=settings.required_job(),
            period=settings.required_period(),
            scheduled_at=settings.scheduled_at,
            trigger=settings.trigger,
            launch=launch_of(environ),
            exit_code=None if str(own.get("reason")).startswith(_NEVER_RAN) else _exit_code(own),
            imposed=detail.get("stopCode", _ENDED_BY_ITSELF) != _ENDED_BY_ITSELF,
            cause=_cause(detail, own),
        )
    except (KeyError, TypeError, ValueError, AttributeError, InputInvalidError, InputMissingError):
        return None


def stopped_replica(event: Mapping[str, Any]) -> StoppedReplica | None:
    """The stopped task of a service that the event describes, or None for any other event.

    ECS sets the group of a service's task to `service:NAME`.
    """
    try:
        detail = event["detail"]
        kind, _, service = detail["group"].partition(":")
        if detail["lastStatus"] != "STOPPED" or kind != "service":
            return None
        containers = [each for each in detail["containers"] if _exit_code(each) is not None]
        failed = next((each for each in containers if each["exitCode"]), containers[0] if containers else {})
        return StoppedReplica(
            arn=_text(detail["taskArn"]),
            account=str(event.get("account") or ""),
            cluster=_text(detail["clusterArn"]),
            service=service,
            exit_code=_exit_code(failed),
            cause=_cause(detail, failed),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def launch_of(environ: Mapping[str, str]) -> int:
    """The launch number in a task's environment; 1 if it is absent or not a number."""
    text = environ.get(LAUNCH, "")
    return max(int(text), 1) if text.isascii() and text.isdigit() and len(text) < 5 else 1


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(value)
    return value


def _exit_code(container: Mapping[str, Any]) -> int | None:
    """The container's exit code; None if there is none, or if it is not a number that a row can hold."""
    code = container.get("exitCode")
    return code if isinstance(code, int) and not isinstance(code, bool) and -(2**31) <= code < 2**31 else None


def _cause(detail: Mapping[str, Any], container: Mapping[str, Any]) -> str:
    parts = (detail.get("stopCode"), detail.get("stoppedReason"), container.get("reason"))
    return ": ".join(str(part) for part in parts if part) or "stopped"
