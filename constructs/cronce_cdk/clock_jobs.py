"""The jobs of a clock of one's own: when each is due, and what it sends where."""

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
from cronce.vocabulary.durations import format_duration
from cronce.vocabulary.errors import InputInvalidError
from cronce.vocabulary.policy import CatchUp
from cronce_cdk._checks import duration, having, is_token, refusal, texts, warn
from cronce_cdk._memory import stack_of
from cronce_cdk._timing import timing_of
from cronce_cdk.errors import ConstructConfigError
from cronce_cdk.run_ledger import RunLedgerBase
from cronce_cdk.scheduled_task import ScheduledTask

_ANY_TARGET = {"command": ["true"]}
_ANY_SCHEDULE = "rate(1 day)"
"""Stand-ins for what is known only at deploy time."""


class ClockTarget(Protocol):
    """Where a clock sends the ticks of a job: one of the `...Target` classes here."""

    def checked(self, clock: Construct, ledger: RunLedgerBase) -> None:
        """Refuse what can never work.

        Raises:
            ConstructConfigError: It cannot.
        """

    def settings(self) -> Mapping[str, object]:
        """What the clock is told."""

    def allow(self, role: iam.IRole) -> None:
        """Let the clock's role do it, and nothing else."""


@dataclass(frozen=True, slots=True)
class SqsTarget:
    """A message `{"job", "period", "scheduled_at"}` to a queue; on a FIFO queue one message a tick, for sure.

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
        """To send, and to encrypt if the queue has a key of its own."""
        _allow(role, "sqs:SendMessage", self.queue.queue_arn)
        if self.queue.encryption_master_key:
            self.queue.encryption_master_key.grant(role, "kms:Decrypt", "kms:GenerateDataKey")


@dataclass(frozen=True, slots=True)
class TaskTarget:
    """The task of a job of the same ledger and stack, as its own schedule starts it.

    Attributes:
        task: The job. Say `enabled=False` there, unless its own schedule shall start it besides.
    """

    task: ScheduledTask

    def checked(self, clock: Construct, ledger: RunLedgerBase) -> None:
        """See `ClockTarget.checked`."""
        if not isinstance(self.task, ScheduledTask):
            raise refusal(clock, "target", self.task, "TaskTarget with a ScheduledTask")
        path = self.task.node.path
        if stack_of(self.task) is not stack_of(clock):
            allowed = "a task of the clock's own stack: as an export, its revision could never change again"
            raise refusal(clock, "target", path, allowed)
        if self.task.ledger.identity != ledger.identity:
            raise refusal(clock, "target", path, "a task with the clock's own ledger")
        if self.task.enabled:
            warn(
                clock,
                "task-has-its-own-schedule",
                f"{path} is started by its own schedule as well as by this clock: each is a run of its own, unless they"
                " fall on the same instant. Say enabled=False there.",
            )

    def settings(self) -> Mapping[str, object]:
        """See `ClockTarget.settings`."""
        return {"task": self.task.job}

    def allow(self, role: iam.IRole) -> None:
        """What `ScheduledTask.grant_run` gives."""
        self.task.grant_run(role)


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
        """To invoke this function."""
        _allow(role, "lambda:InvokeFunction", self.function.function_arn)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTarget:
    """An event on a bus.

    Attributes:
        source: Who says so, in up to 256 characters; `aws.` is AWS's own.
        detail_type: What it is, in up to 128 characters.
        bus: The bus; the account's default one if not given.
    """

    source: str
    detail_type: str
    bus: events.IEventBus | None = None

    def checked(self, clock: Construct, _ledger: RunLedgerBase) -> None:
        """See `ClockTarget.checked`; the rest is looked at by the clock's own reader."""
        if self.bus is not None:
            having(clock, "target bus", self.bus, "event_bus_arn", "an event bus")

    def settings(self) -> Mapping[str, object]:
        """See `ClockTarget.settings`."""
        bus = self.bus.event_bus_arn if self.bus else "default"
        return {"event": {"bus": bus, "source": self.source, "detail_type": self.detail_type}}

    def allow(self, role: iam.IRole) -> None:
        """To put events of this source on this bus."""
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
        command: Its words; `{period}` in them is replaced.
    """

    command: Sequence[str]

    def checked(self, clock: Construct, _ledger: RunLedgerBase) -> None:
        """See `ClockTarget.checked`."""
        if texts(clock, "target", self.command) is None:
            raise refusal(clock, "target", None, "CommandTarget with a list of words")

    def settings(self) -> Mapping[str, object]:
        """See `ClockTarget.settings`."""
        return {"command": [*self.command]}

    def allow(self, role: iam.IRole) -> None:
        """Nothing: what the command does is for its image's owner to grant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockJob:
    """What a clock does when.

    Attributes:
        target: Where its ticks go.
        every: How often, counted from 1970-01-01T00:00Z; or else
        schedule: `"0 6 * * *"`, `"cron(0 6 * * ? *)"`, `"rate(5 minutes)"` or a CDK `ScheduleExpression`.
        timezone: The IANA zone or `aws_cdk.TimeZone` that the schedule is read in; UTC if not given.
        starting_deadline: How late a tick may still be sent.
        catch_up: Which ticks are sent afterwards that fell into a gap without a clock.
        timeout: How long sending may take.
        backoff_limit: How often it is tried again.
    """

    target: ClockTarget
    every: timedelta | cdk.Duration | None = None
    schedule: str | scheduler.ScheduleExpression | None = None
    timezone: str | cdk.TimeZone | None = None
    starting_deadline: timedelta | cdk.Duration | None = None
    catch_up: CatchUp | None = None
    timeout: timedelta | cdk.Duration | None = None
    backoff_limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The jobs as the clock reads them.

    Attributes:
        settings: The value of `CRONCE_CLOCK`; may hold tokens.
        targets: Where the ticks go.
        gaps: The longest time between two ticks, by job; None if nobody knows.
    """

    settings: Mapping[str, Mapping[str, Mapping[str, object]]]
    targets: Sequence[ClockTarget]
    gaps: Mapping[str, timedelta | None]


def configuration_of(clock: Construct, ledger: RunLedgerBase, jobs: object) -> Configuration:
    """The configuration that the jobs make.

    Raises:
        ConstructConfigError: One of them can never work; the argument names it.
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
    return Configuration(settings={"jobs": settings}, targets=[job.target for job in jobs.values()], gaps=gaps)


def _settings(clock: Construct, ledger: RunLedgerBase, job: ClockJob) -> tuple[dict[str, object], timedelta | None]:
    """The job as the clock reads it, which checks most of it itself; and the longest time between two ticks."""
    if not hasattr(job.target, "settings"):
        allowed = "one of SqsTarget, TaskTarget, LambdaTarget, EventTarget, CommandTarget"
        raise refusal(clock, "target", job.target, allowed)
    job.target.checked(clock, ledger)
    settings: dict[str, object] = {}
    gap: timedelta | None = None
    for argument in ("every", "starting_deadline", "timeout"):
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
    for argument in ("catch_up", "backoff_limit"):
        if (value := getattr(job, argument)) is not None:
            settings[argument] = value
    return {**settings, "target": job.target.settings()}, gap


def _known(settings: Mapping[str, object]) -> Mapping[str, object]:
    """The settings with something that will do in place of what is known only at deploy time."""
    known = dict(settings)
    if is_token(json.dumps(known["target"])):
        known["target"] = _ANY_TARGET
    if is_token(f"{known.get('schedule')} {known.get('timezone')}"):
        known["schedule"] = _ANY_SCHEDULE
        known.pop("timezone", None)
    return known


@contextmanager
def _within(outer: str) -> Iterator[None]:
    """Say of which job an argument is."""
    try:
        yield
    except ConstructConfigError as error:
        argument = f"{outer}.{error.argument}".rstrip(".")
        raise ConstructConfigError(error.path, argument, error.value, error.allowed) from error


def _allow(role: iam.IRole, action: str, resource: str, conditions: Mapping[str, object] | None = None) -> None:
    role.add_to_principal_policy(
        iam.PolicyStatement(actions=[action], resources=[resource], conditions=conditions and {**conditions})
    )
