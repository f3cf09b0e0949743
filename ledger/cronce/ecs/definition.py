"""A job as its EventBridge schedule defines it, and the task overrides for one period. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

from cronce.schedule import (
    MOST_EXPRESSIONS,
    Kind,
    PeriodForm,
    Schedule,
    ScheduleInvalidError,
    expressions_in,
    joined,
    parse,
)
from cronce.vocabulary.durations import parse_duration
from cronce.vocabulary.environment import (
    DATE_IN,
    FURTHER_SCHEDULES,
    JOB,
    LAUNCH,
    NO_SUCCESS_FOR,
    PERIOD,
    POLICY,
    SCHEDULED_TIME,
    TRIGGER,
)
from cronce.vocabulary.names import (
    CONTEXT_ATTRIBUTE,
    Period,
    checked_job,
    further_schedule_name,
    period_of,
    scheduled_time_of,
)
from cronce.vocabulary.policy import Policy
from cronce.vocabulary.states import Trigger

Overrides = dict[str, Any]
"""An ECS TaskOverride, as JSON (ECS API Reference, TaskOverride)."""

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

_NEVER = "at(2199-12-31T"

_SCHEDULED_TIME = f"{CONTEXT_ATTRIBUTE}scheduled-time>"


@dataclass(frozen=True, kw_only=True)
class JobDefinition:
    """When a job is due, what starts, and the policy of its runs.

    Attributes:
        expression: `cron(...)`, `rate(...)` or `at(...)`; several `cron(...)` with `; ` between them if EventBridge
            Scheduler has a further schedule for each but the first.
        timezone: The IANA zone of the expression.
        start: No ticks before this time.
        end: No ticks at or after this time.
        flexible_window: By how much EventBridge Scheduler may delay a delivery on purpose.
        created_at: When the schedule was created.
        modified_at: When any part of the schedule last changed.
        date_in: The zone of whose days the periods are; None if a period is the nominal time of its tick.
        delivers_ticks: True if the input passes the scheduled time to the task; a one-shot schedule does not.
        target: What the schedule starts (Scheduler API Reference, Target).
        key_arn: The customer-managed key that encrypts the schedule; None for one that AWS owns.
        no_success_for: How long it may be without a success; zero for no limit, None for the default, which follows
            from its ticks.
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
    key_arn: str | None = None
    no_success_for: timedelta | None = None

    @cached_property
    def schedule(self) -> Schedule:
        """The parsed expression.

        Raises:
            ScheduleInvalidError: This version cannot parse the expression, or has no data for the zone.
        """
        return parse(self.expression, timezone=self.timezone, start=self.start)

    @property
    def further(self) -> Mapping[str, str]:
        """The names of the job's further schedules, and the expression of each; empty for a job with one schedule."""
        expressions = expressions_in(self.expression)[1:MOST_EXPRESSIONS]
        return {further_schedule_name(self.schedule_name, each): each for each in expressions}

    def schedules_with(self, tick: datetime) -> list[str]:
        """The names of the job's schedules that have this tick: one, or several of a tick that they have in common.

        Raises:
            ScheduleInvalidError: This version cannot parse an expression, or has no data for the zone.
        """
        first, *_ = expressions_in(self.expression)
        return [
            name
            for name, each in {self.schedule_name: first, **self.further}.items()
            if parse(each, timezone=self.timezone, start=self.start).has_tick(tick)
        ]

    @property
    def container(self) -> str:
        """The name of the job's container."""
        return str((_job_override(_task_override(self.target)) or {}).get("name") or "")

    @property
    def variables(self) -> Mapping[str, str]:
        """The variables that the schedule gives to the job's container."""
        return _environ(_job_override(_task_override(self.target)) or {})

    @property
    def ticks_are_known(self) -> bool:
        """False for a rate without a start: only EventBridge Scheduler knows the moment it counts from."""
        return self.start is not None or not self.expression.startswith(Kind.RATE)

    @property
    def only_people_start_it(self) -> bool:
        """True for a job without a schedule: the one in EventBridge is due in 2199 and does not pass the time on."""
        return not self.delivers_ticks and self.expression.startswith(_NEVER)

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
        tick = self.schedule.tick_of_day(period, self.date_in) if self.ticks_are_known else None
        return tick if tick is not None and (self.end is None or tick < self.end) else None

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
            return self.schedule.has_tick(at)
        except ScheduleInvalidError:
            return at >= self.created_at.replace(microsecond=0)


def fault_of_further(job: JobDefinition, expression: str, schedule: Mapping[str, Any] | None) -> str | None:
    """Why this further schedule of the job does not start what the first one says; None if it does.

    Args:
        job: The job, by its first schedule.
        expression: The expression that the first schedule names.
        schedule: The answer of GetSchedule for the further one; None if it does not exist.
    """
    if schedule is None:
        return "does not exist"
    if (schedule.get("State", "ENABLED") == "ENABLED") is not job.enabled:
        return f"is {'disabled' if job.enabled else 'enabled'}, and the first one is not"
    due, timezone = schedule["ScheduleExpression"], schedule.get("ScheduleExpressionTimezone") or "UTC"
    if (due, timezone) != (expression, job.timezone):
        return f"has another expression: {due}, {timezone}"
    return None if schedule.get("Target") == job.target else "starts something else than the first one"


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
        expression=joined([schedule["ScheduleExpression"], *filter(None, [environ.get(FURTHER_SCHEDULES)])]),
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
        key_arn=schedule.get("KmsKeyArn") or None,
        no_success_for=parse_duration(environ[NO_SUCCESS_FOR], what=NO_SUCCESS_FOR)
        if environ.get(NO_SUCCESS_FOR)
        else None,
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
        environ = {name: value for name, value in _environ(container).items() if CONTEXT_ATTRIBUTE not in value}
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
    except (ValueError, RecursionError):
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
    variables = container.get("environment")
    return {
        str(each["name"]): str(each["value"])
        for each in (variables if isinstance(variables, list) else ())
        if isinstance(each, dict) and "name" in each and "value" in each
    }


def _zone(name: str) -> str:
    try:
        PeriodForm.DATE.period(datetime(2026, 1, 1, tzinfo=UTC), name)
    except ScheduleInvalidError as error:
        raise error.called(DATE_IN) from None
    return name


def _utc(at: datetime | None) -> datetime | None:
    return None if at is None else at.astimezone(UTC)
