"""The jobs of a `PinnedScheduler`: when each is due, and what it sends where."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

import aws_cdk as cdk
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from cronce.clock.config import parse_config
from cronce.schedule import PeriodForm
from cronce.vocabulary.durations import format_duration
from cronce.vocabulary.errors import InputInvalidError
from cronce.vocabulary.policy import CatchUp
from cronce_cdk._account_and_region import deployed_together
from cronce_cdk._checks import duration, having, is_token, refusal, texts, warn
from cronce_cdk._jsii_cache import stack_of
from cronce_cdk._timing import timing_of
from cronce_cdk.errors import ConstructConfigError
from cronce_cdk.run_ledger_base import RunLedgerBase
from cronce_cdk.scheduled_task import ScheduledTask

_ANY_TARGET = {"command": ["true"]}
_ANY_SCHEDULE = "rate(1 day)"
"""Stand-ins for values that are known only at deployment."""

_MOST_OF_NAMES = 4000
"""Characters of the names of jobs in a policy; a role's policies have at most 10,240 (IAM User Guide, "IAM quotas")."""


class ClockTarget(Protocol):
    """Where a clock sends the ticks of a job: one of the `...Target` classes of this module."""

    def checked(self, clock: Construct, ledger: RunLedgerBase) -> None:
        """Check the target.

        Raises:
            ConstructConfigError: It can never work.
        """

    def settings(self) -> Mapping[str, object]:
        """Return the target as the clock's configuration has it."""

    def allow(self, role: iam.IRole) -> None:
        """Grant the clock's role what this target needs."""


@dataclass(frozen=True, slots=True)
class SqsTarget:
    """A message `{"job", "period", "scheduled_at"}` to a queue. A FIFO queue gets exactly one message per tick.

    Attributes:
        queue: The queue.
    """

    queue: sqs.IQueue

    def checked(self, clock: Construct, _ledger: RunLedgerBase) -> None:
        """See `ClockTarget.checked`."""
        having(clock, "target", self.queue, "queue_url", "SqsTarget with an SQS queue")

    def settings(self) -> Mapping[str, object]:
        """See `ClockTarget.settings`."""
        return {"sqs": self.queue.queue_url}

    def allow(self, role: iam.IRole) -> None:
        """Grant sending, and encryption with the queue's key if it has one."""
        _allow(role, "sqs:SendMessage", self.queue.queue_arn)
        if self.queue.encryption_master_key:
            self.queue.encryption_master_key.grant(role, "kms:Decrypt", "kms:GenerateDataKey")


@dataclass(frozen=True, slots=True)
class TaskTarget:
    """The task of a job with the same ledger, started as its own schedule starts it.

    Attributes:
        task: The job, with `enabled=False` unless its own schedule is to start it as well.
    """

    task: ScheduledTask

    def checked(self, clock: Construct, ledger: RunLedgerBase) -> None:
        """See `ClockTarget.checked`."""
        if not isinstance(self.task, ScheduledTask):
            raise refusal(clock, "target", self.task, "TaskTarget with a ScheduledTask")
        path = self.task.node.path
        if not deployed_together(stack_of(self.task), stack_of(clock)):
            allowed = "a task in the clock's stack: as an export, its revision could never change again"
            raise refusal(clock, "target", path, allowed)
        if self.task.ledger.identity != ledger.identity:
            raise refusal(clock, "target", path, "a task with the clock's ledger")
        if self.task.enabled:
            warn(
                clock,
                "task-has-its-own-schedule",
                f"Its own schedule starts {path} as well as this clock. Each start is a separate run, unless both have"
                " the same scheduled time. Set enabled=False there.",
            )

    def settings(self) -> Mapping[str, object]:
        """See `ClockTarget.settings`."""
        return {"task": self.task.job}

    def allow(self, role: iam.IRole) -> None:
        """Grant starting the task."""
        self.task.let_start(role)


@dataclass(frozen=True, slots=True)
class LambdaTarget:
    """An asynchronous invocation of a function.

    Attributes:
        function: The function, a version or an alias.
    """

    function: lambda_.IFunction

    def checked(self, clock: Construct, _ledger: RunLedgerBase) -> None:
        """See `ClockTarget.checked`."""
        having(clock, "target", self.function, "function_arn", "LambdaTarget with a Lambda function")

    def settings(self) -> Mapping[str, object]:
        """See `ClockTarget.settings`."""
        return {"lambda": self.function.function_arn}

    def allow(self, role: iam.IRole) -> None:
        """Grant invoking the function."""
        _allow(role, "lambda:InvokeFunction", self.function.function_arn)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTarget:
    """An event on a bus.

    Attributes:
        source: The event's source, at most 256 characters; not `aws.`, which AWS reserves.
        detail_type: The event's detail type, at most 128 characters.
        bus: The bus; by default the account's default bus.
    """

    source: str
    detail_type: str
    bus: events.IEventBus | None = None

    def checked(self, clock: Construct, _ledger: RunLedgerBase) -> None:
        """See `ClockTarget.checked`. The reader of the configuration checks the rest."""
        if self.bus is not None:
            having(clock, "target bus", self.bus, "event_bus_arn", "an event bus")

    def settings(self) -> Mapping[str, object]:
        """See `ClockTarget.settings`."""
        bus = self.bus.event_bus_arn if self.bus else "default"
        return {"event": {"bus": bus, "source": self.source, "detail_type": self.detail_type}}

    def allow(self, role: iam.IRole) -> None:
        """Grant putting events of this source on this bus."""
        arn = (
            self.bus.event_bus_arn
            if self.bus
            else cdk.Stack.of(role).format_arn(service="events", resource="event-bus", resource_name="default")
        )
        _allow(role, "events:PutEvents", arn, {"StringEquals": {"events:source": self.source}})


@dataclass(frozen=True, slots=True)
class CommandTarget:
    """A command in the clock's own container.

    Attributes:
        command: The words of the command; `{period}` in them is replaced.
    """

    command: Sequence[str]

    def checked(self, clock: Construct, _ledger: RunLedgerBase) -> None:
        """See `ClockTarget.checked`."""
        if texts(clock, "target", self.command) is None:
            raise refusal(clock, "target", None, "CommandTarget with a list of at least one word")

    def settings(self) -> Mapping[str, object]:
        """See `ClockTarget.settings`."""
        return {"command": [*self.command]}

    def allow(self, role: iam.IRole) -> None:
        """Grant nothing: you grant what the command needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockJob:
    """A job of a clock.

    Example:
        ```python
        ClockJob(schedule="0 6 * * *", timezone="Europe/Berlin", target=TaskTarget(task))
        ClockJob(every=timedelta(seconds=10), target=SqsTarget(queue))
        ClockJob(schedule="rate(5 minutes)", target=LambdaTarget(function))
        ClockJob(every=timedelta(hours=1), target=EventTarget(source="clock", detail_type="Hour"))
        ClockJob(schedule="@daily", target=CommandTarget(["./enqueue", "{period}"]))
        ```

    Attributes:
        target: Where its ticks go.
        every: The interval, counted from 1970-01-01T00:00Z. Alternatively
        schedule: `"0 6 * * *"`, `"cron(0 6 * * ? *)"`, `"rate(5 minutes)"` or a CDK `ScheduleExpression`; or a list
            of cron expressions: due whenever one of them is. A job with neither is one that only people start.
        timezone: The time zone of the schedule, an IANA name or an `aws_cdk.TimeZone`; by default UTC.
        period: What the period of a run is: `time`, the nominal time of its tick, or `date`, its local day.
        suspend: True to record each tick as skipped and send nothing.
        starting_deadline: How late a tick may still be sent.
        jitter: Each tick is sent up to this much later, always the same delay, which follows from the job's name.
        catch_up: Which ticks of a time without a clock are sent later.
        alert_without_success_for: The longest time without a success before `cronce watchdog` reports it; zero for
            never. By default twice the longest time between two ticks, plus an hour. The job of a `TaskTarget` has its
            own setting.
        timeout: The longest time to send a tick.
        backoff_limit: How often sending is retried.
    """

    target: ClockTarget
    every: timedelta | cdk.Duration | None = None
    schedule: str | scheduler.ScheduleExpression | Sequence[str | scheduler.ScheduleExpression] | None = None
    timezone: str | cdk.TimeZone | None = None
    period: PeriodForm | str | None = None
    suspend: bool | None = None
    starting_deadline: timedelta | cdk.Duration | None = None
    jitter: timedelta | cdk.Duration | None = None
    catch_up: CatchUp | None = None
    alert_without_success_for: timedelta | cdk.Duration | None = None
    timeout: timedelta | cdk.Duration | None = None
    backoff_limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The configuration of the clock.

    Attributes:
        settings: The value of `CRONCE_CLOCK`; may hold tokens.
        targets: The targets of its jobs.
        started: The jobs whose runs they start, each once, in the order of their names.
        gaps: Job -> longest time between two ticks; None if it is not known.
    """

    settings: Mapping[str, Mapping[str, Mapping[str, object]]]
    targets: Sequence[ClockTarget]
    started: Sequence[str]
    gaps: Mapping[str, timedelta | None]

    def seen_pauses(self, clock: Construct) -> Sequence[str]:
        """Return the started jobs whose pauses the clock may see; none, with a warning, if they are too many."""
        if len(",".join(self.started)) <= _MOST_OF_NAMES:
            return self.started
        warn(
            clock,
            "pauses-of-jobs-not-seen",
            "The names of its jobs are too long for a policy. While one of them is paused, the clock still starts its"
            " work, which is then refused. Pause CLOCK:JOB as well.",
        )
        return ()


def configuration_of(clock: Construct, ledger: RunLedgerBase, jobs: object) -> Configuration:
    """Return the configuration of these jobs.

    Raises:
        ConstructConfigError: A job can never work. The argument names the job.
    """
    if not isinstance(jobs, Mapping):
        raise refusal(clock, "jobs", jobs, "a mapping of names to ClockJobs")
    settings: dict[str, dict[str, object]] = {}
    gaps: dict[str, timedelta | None] = {}
    for name, job in jobs.items():
        with _within(f"jobs.{name}"):
            if not isinstance(job, ClockJob):
                raise refusal(clock, "", job, "a ClockJob")
            settings[name], gaps[name] = _settings(clock, ledger, job)
    try:
        parse_config({"jobs": {name: _known(each) for name, each in settings.items()}}, what="")
    except InputInvalidError as error:
        raise refusal(clock, error.what.removeprefix(": "), error.value, error.allowed) from error
    targets = [job.target for job in jobs.values()]
    started = {str(target.settings().get("task", name)) for name, target in zip(jobs, targets, strict=True)}
    return Configuration(settings={"jobs": settings}, targets=targets, started=sorted(started), gaps=gaps)


def _settings(clock: Construct, ledger: RunLedgerBase, job: ClockJob) -> tuple[dict[str, object], timedelta | None]:
    """Return the job as the clock's configuration has it, and the longest time between two ticks."""
    if not hasattr(job.target, "settings"):
        allowed = "one of SqsTarget, TaskTarget, LambdaTarget, EventTarget, CommandTarget"
        raise refusal(clock, "target", job.target, allowed)
    job.target.checked(clock, ledger)
    settings: dict[str, object] = {}
    gap: timedelta | None = None
    for argument in ("every", "starting_deadline", "jitter", "alert_without_success_for", "timeout"):
        if (value := getattr(job, argument)) is not None:
            gap = duration(clock, argument, value) if argument == "every" else gap
            settings[argument] = format_duration(duration(clock, argument, value))
    if job.schedule is not None:
        timing = timing_of(clock, job.schedule, job.timezone)
        settings["schedule"], gap = timing.expression, timing.longest
        if timing.timezone != "UTC":
            settings["timezone"] = timing.timezone
    elif job.timezone is not None:
        settings["timezone"] = str(job.timezone)
    for argument in ("period", "suspend", "catch_up", "backoff_limit"):
        if (value := getattr(job, argument)) is not None:
            settings[argument] = value
    return {**settings, "target": job.target.settings()}, gap


def _known(settings: Mapping[str, object]) -> Mapping[str, object]:
    """Return the settings with stand-ins for values that are known only at deployment."""
    known = dict(settings)
    if is_token(json.dumps(known["target"])):
        known["target"] = _ANY_TARGET
    if is_token(f"{known.get('schedule')} {known.get('timezone')}"):
        known["schedule"] = _ANY_SCHEDULE
        known.pop("timezone", None)
    return known


@contextmanager
def _within(outer: str) -> Iterator[None]:
    """Put the job before the argument's name in an error."""
    try:
        yield
    except ConstructConfigError as error:
        argument = f"{outer}.{error.argument}".rstrip(".")
        raise ConstructConfigError(error.path, argument, error.value, error.allowed) from error


def _allow(role: iam.IRole, action: str, resource: str, conditions: Mapping[str, object] | None = None) -> None:
    role.add_to_principal_policy(
        iam.PolicyStatement(actions=[action], resources=[resource], conditions=conditions and {**conditions})
    )
