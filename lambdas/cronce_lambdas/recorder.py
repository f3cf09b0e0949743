"""A task stopped: settle the run that it left RUNNING, minutes before its lease would tell.

Subscribe `handler` to the EventBridge events "ECS Task State Change" with `lastStatus` STOPPED.
Events come late, twice, out of order, and for tasks that are none of ours; none of that changes
a final run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cronce import InputInvalidError, InputMissingError, Ledger
from cronce.environment import JOB, PERIOD, SCHEDULED_TIME, TaskSettings
from cronce.reporting import report


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedTask:
    """A task of a job that has stopped.

    Attributes:
        exit_code: Of the job's own container; None where it never ran or was lost.
        cause: Why ECS says that it stopped.
    """

    arn: str
    job: str
    period: str
    exit_code: int | None
    cause: str


def handler(event: Mapping[str, Any], _context: object) -> dict[str, str]:
    """Settle the run of the stopped task; says what was done.

    Raises:
        LedgerUnavailableError: The ledger did not answer; Lambda delivers the event again.
    """
    task = stopped_task(event)
    if task is None:
        return {"ignored": "not a stopped task of a job"}
    run = Ledger.from_env().mark_stopped(
        task.job, task.period, owner=task.arn, exit_code=task.exit_code, error=task.cause
    )
    if run is None:
        return {"ignored": "the task never claimed its run"}
    report("recorded", job=task.job, period=task.period, owner=task.arn, status=run.status, reason=run.reason)
    return {"status": run.status}


def stopped_task(event: Mapping[str, Any]) -> StoppedTask | None:
    """What the event says, or None if it is not about a stopped task of a job.

    The shape is the one of the ECS Developer Guide, "Amazon ECS task state change events". The
    job's container is the one whose override carries the period.
    """
    try:
        detail = event["detail"]
        if detail["lastStatus"] != "STOPPED":
            return None
        name, settings = _job_container(detail["overrides"]["containerOverrides"])
        containers = {container["name"]: container for container in detail["containers"]}
        own = containers[name]
        return StoppedTask(
            arn=detail["taskArn"],
            job=settings.required_job(),
            period=settings.required_period(),
            exit_code=own.get("exitCode"),
            cause=_cause(detail, own),
        )
    except (KeyError, TypeError, AttributeError, InputInvalidError, InputMissingError):
        return None


def _job_container(overrides: Sequence[Mapping[str, Any]]) -> tuple[str, TaskSettings]:
    for override in overrides:
        environ = {variable["name"]: variable["value"] for variable in override.get("environment", ())}
        if JOB in environ and (PERIOD in environ or SCHEDULED_TIME in environ):
            return override["name"], TaskSettings.from_environ(environ)
    raise KeyError(JOB)


def _cause(detail: Mapping[str, Any], container: Mapping[str, Any]) -> str:
    parts = (detail.get("stopCode"), detail.get("stoppedReason"), container.get("reason"))
    return ": ".join(str(part) for part in parts if part) or "stopped"
