"""A job as its EventBridge schedule defines it, and the task's overrides for one period of it. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

from cronce.schedule import Kind, Schedule, parse
from cronce.vocabulary.environment import JOB, LAUNCH, PERIOD, POLICY, SCHEDULED_TIME, TRIGGER
from cronce.vocabulary.names import checked_job, period_of
from cronce.vocabulary.policy import Policy
from cronce.vocabulary.states import Trigger

Overrides = dict[str, Any]
"""An ECS TaskOverride, as JSON (ECS API Reference, TaskOverride)."""

_SCHEDULED_TIME = "<aws.scheduler.scheduled-time>"
_ATTRIBUTE = "<aws.scheduler."
"""What EventBridge Scheduler fills in, and nobody else (User Guide, "Adding context attributes")."""


@dataclass(frozen=True, kw_only=True)
class JobDefinition:
    """What a job is: when it is due, what is started, and how its runs are treated.

    Attributes:
        expression: `cron(...)`, `rate(...)` or `at(...)`.
        timezone: The IANA zone of the expression.
        start: Before this there are no ticks.
        end: From this on there are no ticks.
        flexible_window: How late EventBridge Scheduler may deliver on purpose.
        created_at: When the schedule was made.
        modified_at: When it was last changed, in whatever way.
        delivers_ticks: True if the task is told which tick it is for; a one-shot schedule's is not.
        target: What the schedule starts (Scheduler API Reference, Target).
    """

    job: str
    schedule_name: str
    group_name: str
    expression: str
    timezone: str
    start: datetime | None
    end: datetime | None
    enabled: bool
    flexible_window: timedelta
    policy: Policy
    created_at: datetime
    modified_at: datetime
    delivers_ticks: bool
    target: Mapping[str, Any] = field(repr=False)

    @cached_property
    def schedule(self) -> Schedule:
        """The ticks.

        Raises:
            ScheduleInvalidError: The expression is none that this version reads, or the zone cannot be had.
        """
        return parse(self.expression, timezone=self.timezone, start=self.start)

    @property
    def ticks_are_known(self) -> bool:
        """False for a rate without a start: it counts from a moment that only EventBridge Scheduler knows."""
        return self.start is not None or not self.expression.startswith(Kind.RATE)


def definition_of(schedule: Mapping[str, Any]) -> JobDefinition | None:
    """The job that a schedule defines, or None if it is no job of cronce.

    Args:
        schedule: What GetSchedule answers.

    Raises:
        InputInvalidError: It is a job, but its name or policy cannot be used; a newer cronce may have made it.
    """
    target = schedule.get("Target", {})
    override = _job_override(_task_override(target))
    if override is None or "EcsParameters" not in target:
        return None
    environ = _environ(override)
    window = schedule.get("FlexibleTimeWindow", {}).get("MaximumWindowInMinutes") or 0
    return JobDefinition(
        job=checked_job(environ[JOB], what=JOB),
        schedule_name=schedule["Name"],
        group_name=schedule["GroupName"],
        expression=schedule["ScheduleExpression"],
        timezone=schedule.get("ScheduleExpressionTimezone") or "UTC",
        start=_utc(schedule.get("StartDate")),
        end=_utc(schedule.get("EndDate")),
        enabled=schedule.get("State", "ENABLED") == "ENABLED",
        flexible_window=timedelta(minutes=window),
        policy=Policy.from_json(environ[POLICY], what=POLICY) if POLICY in environ else Policy(),
        created_at=schedule["CreationDate"].astimezone(UTC),
        modified_at=schedule["LastModificationDate"].astimezone(UTC),
        delivers_ticks=_SCHEDULED_TIME in environ.get(SCHEDULED_TIME, ""),
        target=target,
    )


def launch_overrides(
    definition: JobDefinition,
    period: str,
    *,
    scheduled_at: datetime | None,
    trigger: Trigger,
    launch: int = 1,
    environment: Mapping[str, str] | None = None,
) -> Overrides:
    """The schedule's own overrides of the task, with the period fixed and nothing left for EventBridge to fill in.

    Args:
        definition: The job.
        period: Which period the task is for.
        scheduled_at: The nominal time of that period, if it has one.
        trigger: Who asks.
        launch: Which launch of the same attempt this is.
        environment: More variables for the job's container.
    """
    text: str = definition.target["Input"]
    nominal = None if scheduled_at is None else period_of(scheduled_at)
    override: Overrides = json.loads(text.replace(_SCHEDULED_TIME, nominal or _SCHEDULED_TIME))
    job_container = _job_override(override)
    assert job_container is not None  # noqa: S101  # or it would be no definition
    for container in override["containerOverrides"]:
        environ = {name: value for name, value in _environ(container).items() if _ATTRIBUTE not in value}
        if container is job_container:
            environ |= environment or {}
            environ |= {PERIOD: period, TRIGGER: trigger.value, LAUNCH: str(launch)}
            if nominal is not None:
                environ[SCHEDULED_TIME] = nominal
        if environ or "environment" in container:
            container["environment"] = [{"name": name, "value": value} for name, value in sorted(environ.items())]
    return override


def _task_override(target: Mapping[str, Any]) -> Overrides:
    try:
        override = json.loads(target.get("Input") or "{}")
    except ValueError:
        return {}
    return override if isinstance(override, dict) else {}


def _job_override(override: Overrides) -> Overrides | None:
    """The part about the container that does the job: the one that is told the job's name."""
    containers = override.get("containerOverrides")
    for container in containers if isinstance(containers, list) else ():
        if isinstance(container, dict) and JOB in _environ(container):
            return container
    return None


def _environ(container: Mapping[str, Any]) -> dict[str, str]:
    variables = container.get("environment") or ()
    return {str(each["name"]): str(each["value"]) for each in variables if "name" in each and "value" in each}


def _utc(at: datetime | None) -> datetime | None:
    return None if at is None else at.astimezone(UTC)
