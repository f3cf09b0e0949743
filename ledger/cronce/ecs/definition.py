"""A job as its EventBridge schedule defines it, and the task overrides for one period. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

from cronce.schedule import Kind, PeriodForm, Schedule, ScheduleInvalidError, parse
from cronce.vocabulary.environment import DATE_IN, JOB, LAUNCH, PERIOD, POLICY, SCHEDULED_TIME, TRIGGER
from cronce.vocabulary.errors import InputInvalidError
from cronce.vocabulary.names import Period, checked_job, period_of, scheduled_time_of
from cronce.vocabulary.policy import Policy
from cronce.vocabulary.states import Trigger

Overrides = dict[str, Any]
"""An ECS TaskOverride, as JSON (ECS API Reference, TaskOverride)."""

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_FURTHEST_ZONE = timedelta(hours=26)
"""A local day begins at most this long before the day in UTC."""

_SCHEDULED_TIME = "<aws.scheduler.scheduled-time>"
_ATTRIBUTE = "<aws.scheduler."
"""Only EventBridge Scheduler replaces these (User Guide, "Adding context attributes")."""


@dataclass(frozen=True, kw_only=True)
class JobDefinition:
    """When a job is due, what starts, and the policy of its runs.

    Attributes:
        expression: `cron(...)`, `rate(...)` or `at(...)`.
        timezone: The IANA zone of the expression.
        start: No ticks before this time.
        end: No ticks at or after this time.
        flexible_window: By how much EventBridge Scheduler may delay a delivery on purpose.
        created_at: When the schedule was created.
        modified_at: When any part of the schedule last changed.
        date_in: The zone of whose days the periods are; None if a period is the nominal time of its tick.
        delivers_ticks: True if the input passes the scheduled time to the task; a one-shot schedule does not.
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
    date_in: str | None
    delivers_ticks: bool
    target: Mapping[str, Any] = field(repr=False)

    @cached_property
    def schedule(self) -> Schedule:
        """The parsed expression.

        Raises:
            ScheduleInvalidError: This version cannot parse the expression, or has no data for the zone.
        """
        return parse(self.expression, timezone=self.timezone, start=self.start)

    @property
    def ticks_are_known(self) -> bool:
        """False for a rate without a start: only EventBridge Scheduler knows the moment it counts from."""
        return self.start is not None or not self.expression.startswith(Kind.RATE)

    def period_of(self, tick: datetime) -> Period:
        """The period of the run of this tick."""
        return period_of(tick) if self.date_in is None else Period(PeriodForm.DATE.period(tick, self.date_in))

    def tick_of(self, period: str) -> datetime | None:
        """The nominal time to which the period belongs, by the schedule as it is now; None if there is none.

        Raises:
            ScheduleInvalidError: This version cannot parse the expression.
        """
        if self.date_in is None:
            return scheduled_time_of(period)
        if not self.ticks_are_known or not _DAY.fullmatch(period):
            return None
        try:
            day = datetime.fromisoformat(f"{period}T00:00:00+00:00")
            tick = self.schedule.next(day - _FURTHEST_ZONE)
            while tick is not None and self.period_of(tick) < period:
                tick = self.schedule.next(tick)
        except ScheduleInvalidError:
            raise
        except (ValueError, OverflowError, InputInvalidError):  # no day, or at an end of the calendar
            return None
        found = tick is not None and self.period_of(tick) == period and (self.end is None or tick < self.end)
        return tick if found else None

    def is_period(self, period: str) -> bool:
        """True if the period has the form of those of ticks. The one of another form is of the job's own choice.

        A job whose periods are days may have had nominal times before.
        """
        is_day = self.date_in is not None and _DAY.fullmatch(period) is not None
        return is_day or scheduled_time_of(period) is not None

    def may_have_tick(self, at: datetime) -> bool:
        """False if the schedule cannot have a tick at `at`.

        Where only EventBridge Scheduler knows the ticks, or a clock delivers them because the schedule is disabled,
        every time since the job was created may be one. The same holds for an expression that cannot be parsed.
        """
        if (self.end is not None and at >= self.end) or (self.start is not None and at < self.start):
            return False
        if not self.enabled or not self.ticks_are_known:
            return at >= self.created_at.replace(microsecond=0)
        try:
            return self.schedule.previous(at + timedelta(microseconds=1)) == at
        except ScheduleInvalidError:
            return at >= self.created_at.replace(microsecond=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingTask:
    """A task that a one-shot schedule starts.

    Attributes:
        trigger: RETRY or CATCH_UP if a machine arranged it, MANUAL if a person did.
    """

    job: str
    period: str
    trigger: str
    starts_at: datetime


def waiting_task(schedule: Mapping[str, Any]) -> WaitingTask | None:
    """The task that a one-shot schedule starts; None if it is none of a job.

    Args:
        schedule: The answer of GetSchedule.
    """
    environ = _environ(_job_override(_task_override(schedule.get("Target", {}))) or {})
    at = re.fullmatch(r"at\((.+)\)", schedule.get("ScheduleExpression", ""))
    if at is None or not {JOB, PERIOD, TRIGGER} <= environ.keys():
        return None
    try:
        starts_at = datetime.fromisoformat(at[1]).replace(tzinfo=UTC)
    except ValueError:
        return None
    return WaitingTask(job=environ[JOB], period=environ[PERIOD], trigger=environ[TRIGGER], starts_at=starts_at)


def definition_of(schedule: Mapping[str, Any]) -> JobDefinition | None:
    """The job that a schedule defines, or None if the schedule is not a job of cronce.

    Args:
        schedule: The answer of GetSchedule.

    Raises:
        InputInvalidError: It is a job, but its name, policy or zone is invalid; a newer cronce may have created it.
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
        date_in=_zone(environ[DATE_IN]) if environ.get(DATE_IN) else None,
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
    """The schedule's own task overrides, with a fixed period and without context attributes.

    Args:
        definition: The job.
        period: The period of the task.
        scheduled_at: The nominal time of that period, if it has one.
        trigger: Who starts the task.
        launch: Number of this launch within the attempt.
        environment: Additional variables for the job's container.
    """
    text: str = definition.target["Input"]
    nominal = None if scheduled_at is None else period_of(scheduled_at)
    override: Overrides = json.loads(text.replace(_SCHEDULED_TIME, nominal or _SCHEDULED_TIME))
    job_container = _job_override(override)
    assert job_container is not None  # noqa: S101  # `definition_of` found one
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
    """The override of the job's container: the one whose environment has the job's name."""
    containers = override.get("containerOverrides")
    for container in containers if isinstance(containers, list) else ():
        if isinstance(container, dict) and JOB in _environ(container):
            return container
    return None


def _environ(container: Mapping[str, Any]) -> dict[str, str]:
    variables = container.get("environment") or ()
    return {str(each["name"]): str(each["value"]) for each in variables if "name" in each and "value" in each}


def _zone(name: str) -> str:
    try:
        PeriodForm.DATE.period(datetime(2026, 1, 1, tzinfo=UTC), name)
    except ScheduleInvalidError as error:
        raise error.called(DATE_IN) from None
    return name


def _utc(at: datetime | None) -> datetime | None:
    return None if at is None else at.astimezone(UTC)
