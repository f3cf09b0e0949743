"""What a message of the dead-letter queue says. Pure.

The queue holds two kinds of message: ticks whose task EventBridge Scheduler could not start, and
events that the recorder failed to process.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cronce import InputInvalidError, InputMissingError, Trigger
from cronce.client.settings import TaskSettings
from cronce.vocabulary.environment import DATE_IN, JOB, PERIOD, SCHEDULED_TIME, TRIGGER
from cronce.vocabulary.names import parse_scheduled_time, period_of
from cronce_lambdas.stopped_task import launch_of

_DEEPEST = 6
_WHICH_RUN = (JOB, PERIOD, SCHEDULED_TIME, DATE_IN, TRIGGER)
_ATTRIBUTE = "<aws.scheduler."
_CODE = re.compile(r"[A-Za-z0-9_.:-]{1,100}")
"""What becomes a part of a row's reason. Error codes look like this; other text is not taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """A tick whose task could not be started.

    Attributes:
        job: The job; None if only its schedule is known.
        schedule_arn: ARN of the schedule, empty if unknown.
        scheduled_at: The nominal time of the period, if it has one.
        launch: Number of the launch within the attempt.
        code: Error code of the target, e.g. `AccessDeniedException`; `unknown` if the message has none.
        message: Error message of the target.
    """

    job: str | None
    schedule_arn: str
    period: str
    scheduled_at: datetime | None
    trigger: Trigger
    launch: int
    code: str
    message: str

    @property
    def schedule(self) -> str:
        """Name of the schedule, empty if unknown."""
        return self.schedule_arn.rpartition("/")[2]


def dead_letter(record: Mapping[str, Any]) -> DeadLetter | None:
    """The delivery that EventBridge Scheduler gave up, or None if the message does not identify a tick.

    The body is the request to ECS; the task overrides in it contain job and period. AWS does not
    document where in the body they are. The attributes give the error (User Guide, "Configuring a
    schedule's dead-letter queue"), and the tick if the body does not.

    Args:
        record: A record of an SQS event (Lambda Developer Guide, "Using Lambda with Amazon SQS").
    """
    try:
        attributes = {
            str(name): str(value.get("stringValue") or "")
            for name, value in (record.get("messageAttributes") or {}).items()
        }
        environ = _job_environ(record.get("body"))
        if PERIOD not in environ and _ATTRIBUTE in environ.get(SCHEDULED_TIME, _ATTRIBUTE):
            environ[SCHEDULED_TIME] = _whole_seconds(attributes.get("SCHEDULED_TIME", ""))
        wanted = {name: value for name, value in environ.items() if name in _WHICH_RUN}
        settings = TaskSettings.from_environ(wanted)
        schedule_arn = attributes.get("SCHEDULE_ARN", "")
        if settings.job is None and not schedule_arn:
            return None
        code = attributes.get("ERROR_CODE", "")
        return DeadLetter(
            job=settings.job,
            schedule_arn=schedule_arn,
            period=settings.required_period(),
            scheduled_at=settings.scheduled_at,
            trigger=settings.trigger,
            launch=launch_of(environ),
            code=code if _CODE.fullmatch(code) else "unknown",
            message=attributes.get("ERROR_MESSAGE", ""),
        )
    except (AttributeError, TypeError, InputInvalidError, InputMissingError):
        return None


def returned_event(record: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The ECS event that the message contains, or None if it contains none."""
    body = _json(record.get("body"))
    return body if isinstance(body, dict) and "detail" in body and "detail-type" in body else None


def _job_environ(body: object) -> dict[str, str]:
    """The environment of the container override that has the job's name, anywhere in the body."""
    for overrides in _container_overrides(_json(body), _DEEPEST):
        for override in overrides:
            environ = _environ(override)
            if JOB in environ:
                return environ
    return {}


def _container_overrides(value: object, deepest: int) -> list[list[Any]]:
    if not deepest:
        return []
    match value:
        case str() if value.startswith("{"):
            return _container_overrides(_json(value), deepest - 1)
        case list():
            return [found for part in value for found in _container_overrides(part, deepest - 1)]
        case dict():
            here = [v for k, v in value.items() if str(k).lower() == "containeroverrides" and isinstance(v, list)]
            return here + [found for part in value.values() for found in _container_overrides(part, deepest - 1)]
        case _:
            return []


def _environ(override: object) -> dict[str, str]:
    """Name and value of each variable, spelled as in the ECS or the Scheduler API."""
    if not isinstance(override, dict):
        return {}
    found: dict[str, str] = {}
    for variable in override.get("environment") or override.get("Environment") or ():
        if isinstance(variable, dict):
            pair = {str(key).lower(): str(value) for key, value in variable.items()}
            if "name" in pair and "value" in pair:
                found[pair["name"]] = pair["value"]
    return found


def _whole_seconds(text: str) -> str:
    """The nominal time in an attribute, spelled as in the ledger; empty if the attribute has none."""
    try:
        return period_of(parse_scheduled_time(text.replace(".000", ""), what="SCHEDULED_TIME"))
    except InputInvalidError:
        return ""


def _json(text: object) -> object:
    try:
        value: object = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None
    return value
