"""A job: EventBridge Scheduler starts its ECS task, and the ledger admits one task per period."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import aws_cdk as cdk
import jsii
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from cronce.schedule import PeriodForm, ScheduleInvalidError
from cronce.vocabulary.durations import format_duration
from cronce.vocabulary.environment import DATE_IN, EXECUTION_ID, JOB, LEDGER, METRICS, POLICY, SCHEDULED_TIME, TRIGGER
from cronce.vocabulary.metrics import METRIC_OF_EVENT, NAMESPACE, dimensions_of
from cronce.vocabulary.names import schedule_name_stem
from cronce.vocabulary.policy import Policy
from cronce.vocabulary.states import Trigger
from cronce_cdk._checks import (
    TOKEN,
    FinishedTree,
    checked_policy,
    duration,
    flags,
    is_token,
    job_name,
    kinds,
    listed,
    refusal,
    text_map,
    texts,
)
from cronce_cdk._containers import check_guarded, container_of
from cronce_cdk._jsii_cache import cached, path_of, stack_of
from cronce_cdk._limits import DESCRIPTION, TAG_KEY, TAG_TEXT, TAG_VALUE, TAGS
from cronce_cdk._nag_reasons import ANY_RESOURCE, SCHEDULES_OF_A_GROUP, TASKS_OF_A_CLUSTER, acknowledge_wildcards
from cronce_cdk._permissions import executing_commands, listing_schedules, role_path, schedules_of, tasks_of
from cronce_cdk._placement import Placement
from cronce_cdk._target import Target, describe_statement, start_statements, target_of
from cronce_cdk._timing import ON_REQUEST, Timing, retry_policy, timing_of
from cronce_cdk._warnings import JobDoubts
from cronce_cdk.run_ledger_base import RunLedgerBase

MAX_OVERRIDES = 8192 - 512
"""Longest overrides of a task, as JSON: 8192 characters (ECS API Reference, RunTask), less what a rerun adds."""

_FROM_SCHEDULER = {
    SCHEDULED_TIME: "<aws.scheduler.scheduled-time>",
    EXECUTION_ID: "<aws.scheduler.execution-id>",
}
"""Variables that EventBridge Scheduler fills in (User Guide, "Adding context attributes")."""


@jsii.implements(ec2.IConnectable, iam.IGrantable)
class ScheduledTask(Construct):
    """A job that a schedule starts as a task on ECS, once per period.

    EventBridge Scheduler calls RunTask directly. The task reads its ledger, job, policy and scheduled time from its
    environment: run its command under `cronce exec --`, or call `cronce.run_once` in it.

    Example:
        ```python
        digest = ScheduledTask(
            stack,
            "Digest",
            ledger=ledger,
            job="daily-digest",
            schedule="0 6 * * *",
            timezone="Europe/Berlin",
            cluster=cluster,
            task_definition=task_definition,
            policy=Policy(starting_deadline=timedelta(hours=2), backoff_limit=2),
        )
        bucket.grant_put(digest)
        ```

    Attributes:
        job: The job's name in the ledger.
        ledger: The ledger that admits its tasks.
        enabled: Whether its schedule fires.
        policy: How the job treats overlaps, lateness, failures and crashes.
        schedule: The EventBridge schedule.
        schedule_name: The schedule's name.
        role: The role with which EventBridge Scheduler starts the task.
        container_name: The container that does the work.

    Args:
        scope: The construct that owns the job.
        construct_id: Its ID in that scope.
        ledger: The ledger that admits its tasks.
        schedule: `"0 6 * * *"`, `"cron(0 6 * * ? *)"`, `"rate(5 minutes)"`, `"at(2026-11-29T06:00:00)"` or a
            CDK `ScheduleExpression`. An hour needs a minute: CDK's `cron(hour="8")` is due 60 times. None for a job
            that only people start, with `cronce rerun` and a period.
        cluster: The cluster in which the task runs.
        task_definition: The task definition. An imported one needs its roles; a task role that is imported as
            immutable needs the permissions of `RunLedger.grant_claim`.
        job: The job's name in the ledger, unique there; by default `construct_id`.
        timezone: The time zone of the schedule, an IANA name or an `aws_cdk.TimeZone`; by default UTC.
        period: What the period of a run is: `time` (default), the nominal time of its tick, or `date`, its local day: a
            day then has one run, also when its hour is moved; the image needs the data of the time zone.
        container_name: The container that does the work; needed if the task definition has several.
        command: The container's command, instead of its image's.
        environment: Variables for the container, in addition to those of the task definition.
        start: No tick is earlier than this, and a rate counts from here; an aware datetime.
        end: No tick is later than this; an aware datetime.
        enabled: False for a schedule that does not fire. Its ticks do not count as missed.
        flexible_window: How much later than its tick a task may be started, to spread load.
        description: The schedule's description.
        launch_type: FARGATE, EC2 or EXTERNAL, for a task definition that is compatible with several.
        capacity_provider_strategies: Capacity providers, such as FARGATE_SPOT, instead of a launch type.
        platform_version: The Fargate platform version.
        vpc_subnets: The subnets of the task's network interface; by default the VPC's private ones.
        security_groups: The security groups of that interface; by default one that all jobs of the stack share.
        assign_public_ip: True for a public address; the default subnets are then the public ones.
        propagate_tags: True to give the task its task definition's tags.
        tags: Further tags of the task.
        enable_execute_command: True to allow `aws ecs execute-command` into the task.
        metrics: False to keep its log lines from becoming CloudWatch metrics, which cost money per job.
        policy: How the job treats overlaps, lateness, failures and crashes; several jobs can share one.

    Raises:
        ConstructConfigError: An argument can never work.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        ledger: RunLedgerBase,
        schedule: str | scheduler.ScheduleExpression | None,
        cluster: ecs.ICluster,
        task_definition: ecs.ITaskDefinition,
        job: str | None = None,
        timezone: str | cdk.TimeZone | None = None,
        period: PeriodForm | str | None = None,
        container_name: str | None = None,
        command: Sequence[str] | None = None,
        environment: Mapping[str, str] | None = None,
        start: datetime | None = None,
        end: datetime | None = None,
        enabled: bool = True,
        flexible_window: timedelta | cdk.Duration | None = None,
        description: str | None = None,
        launch_type: ecs.LaunchType | None = None,
        capacity_provider_strategies: Sequence[ecs.CapacityProviderStrategy] | None = None,
        platform_version: ecs.FargatePlatformVersion | None = None,
        vpc_subnets: ec2.SubnetSelection | None = None,
        security_groups: Sequence[ec2.ISecurityGroup] | None = None,
        assign_public_ip: bool = False,
        propagate_tags: bool = False,
        tags: Mapping[str, str] | None = None,
        enable_execute_command: bool = False,
        metrics: bool = True,
        policy: Policy | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        path = f"{path_of(scope)}/{construct_id}"
        if not isinstance(ledger, RunLedgerBase):
            raise refusal(self, "ledger", ledger, "a RunLedger, or RunLedger.from_table_name(...)")
        flags(
            self,
            {
                "enabled": enabled,
                "assign_public_ip": assign_public_ip,
                "propagate_tags": propagate_tags,
                "enable_execute_command": enable_execute_command,
                "metrics": metrics,
            },
        )
        kinds(self, ecs.FargatePlatformVersion, {"platform_version": platform_version})
        self.ledger, self.enabled = ledger, enabled
        self.job = job_name(self, construct_id if job is None else job)
        self.policy = checked_policy(self, policy)
        self._timing = _timing(self, schedule, timezone, start, end)
        by_date = _is_by_date(self, period, self._timing)
        stack = stack_of(scope)
        target = _target(
            self,
            stack,
            cluster,
            task_definition,
            launch_type=launch_type,
            strategies=capacity_provider_strategies,
            vpc_subnets=vpc_subnets,
            security_groups=security_groups,
            assign_public_ip=assign_public_ip,
        )
        on_fargate = target.placement.on_fargate
        if platform_version is not None and not on_fargate:
            raise refusal(self, "platform_version", platform_version, "no platform version: only Fargate has one")
        container = container_of(self, task_definition, container_name, on_fargate=on_fargate)
        self.container_name = container.name
        check_guarded(self, container, command, platform_version)
        ledger.admit(self, path, self.job)
        seen = cached(stack, (ledger, "seen"), lambda: ledger.seen_from(self))
        variables = {
            **text_map(self, "environment", environment, reserved="CRONCE_"),
            LEDGER: seen.table_url,
            JOB: self.job,
            POLICY: self.policy.to_json(),
            TRIGGER: Trigger.SCHEDULE.value,
            **({} if schedule is None else _FROM_SCHEDULER),
            **({DATE_IN: self._timing.timezone} if by_date else {}),
            **({METRICS: "emf"} if metrics else {}),
        }
        words = texts(self, "command", command)
        own_tags = _checked_tags(self, tags)
        self._stack, self._target, self._seen = stack, target, seen
        self._tagged = propagate_tags or bool(own_tags)
        start_policy = cached(
            stack,
            (seen, cluster, task_definition, self._tagged, "start"),
            lambda: _start_policy(stack, seen, cluster, task_definition, tagged=self._tagged, target=target),
        )
        self.role = _scheduler_role(self, stack, seen, start_policy)
        self.schedule_name = _schedule_name(stack, path, self.job)
        seconds, retries = retry_policy(self._timing.interval, self.policy.starting_deadline)
        self.schedule = scheduler.CfnSchedule(
            self,
            "Schedule",
            name=self.schedule_name,
            group_name=seen.schedule_group_ref,
            description=_description(self, description, schedule),
            schedule_expression=self._timing.expression,
            schedule_expression_timezone=self._timing.timezone,
            start_date=_rendered_instant(start),
            end_date=_rendered_instant(end),
            state="ENABLED" if enabled else "DISABLED",
            flexible_time_window=_flexible(self, flexible_window, self.policy),
            target=scheduler.CfnSchedule.TargetProperty(
                arn=target.cluster_arn,
                role_arn=self.role.attr_arn,
                input=_task_override(self, container.name, words, variables),
                retry_policy=scheduler.CfnSchedule.RetryPolicyProperty(
                    maximum_event_age_in_seconds=seconds, maximum_retry_attempts=retries
                ),
                dead_letter_config=scheduler.CfnSchedule.DeadLetterConfigProperty(arn=seen.dead_letter_queue_arn),
                ecs_parameters=scheduler.CfnSchedule.EcsParametersProperty(
                    task_definition_arn=target.task_definition_arn,
                    task_count=1,
                    launch_type=target.placement.launch_type and target.placement.launch_type.name,
                    capacity_provider_strategy=_rendered(target.placement),
                    platform_version=_version(platform_version),
                    network_configuration=target.network.rendered if target.network else None,
                    propagate_tags="TASK_DEFINITION" if propagate_tags else None,
                    tags=[{"Key": key, "Value": value} for key, value in own_tags.items()] or None,
                    enable_execute_command=enable_execute_command or None,
                ),
            ),
        )
        seen.let_claim(target.task_role, self.job)
        if enable_execute_command:
            target.task_role.add_to_principal_policy(executing_commands())
            acknowledge_wildcards(target.task_role, {"*": ANY_RESOURCE})
        doubts = JobDoubts(
            job=self,
            schedule=self.schedule,
            policy=self.policy,
            enabled=enabled,
            missed_after=ledger.missed_after,
            timing=self._timing,
            container=container,
            target=target,
            command=words,
            metrics=metrics,
        )
        doubts.warn()
        self.node.add_validation(FinishedTree(doubts.errors))

    @property
    def grant_principal(self) -> iam.IPrincipal:
        """The task role: `bucket.grant_read(job)` lets the task read the bucket."""
        return self._target.task_role.grant_principal

    @property
    def connections(self) -> ec2.Connections:
        """The connections of the task's network interface: `database.connections.allow_default_port_from(job)`.

        Raises:
            ConstructConfigError: The task has no interface; it uses its host's.
        """
        network = self._target.network
        if network is None:
            raise refusal(
                self, "connections", None, "a task in the network mode awsvpc: this one uses its host's network"
            )
        return ec2.Connections(security_groups=[*network.security_groups])

    def grant_run(self, grantee: iam.IGrantable) -> iam.Grant:
        """Allow `grantee` what `cronce rerun` and `cronce backfill` do: find the schedule, start its task, look at it.

        RunTask with PassRole lets its holder start the task definition with *any* command, under the task's roles and
        without the ledger: AWS has no condition on overrides. Grant it only to those who may do all that the task may.
        `RunLedger.grant_read` is needed as well.
        """
        reads = self.let_start(grantee)
        looks = describe_statement(self._stack, self._target)
        grantee.grant_principal.add_to_principal_policy(iam.PolicyStatement.from_json(looks))
        acknowledge_wildcards(grantee, {looks["Resource"]: TASKS_OF_A_CLUSTER})
        return reads

    def let_start(self, grantee: iam.IGrantable) -> iam.Grant:
        """Allow `grantee` to find the schedule and to start its task, as `grant_run` but without looking at tasks."""
        group = schedules_of(self._stack, self._seen.schedule_group_ref)
        reads = iam.Grant.add_to_principal(grantee=grantee, actions=["scheduler:GetSchedule"], resource_arns=[group])
        grantee.grant_principal.add_to_principal_policy(listing_schedules())
        for statement in start_statements(self._stack, self._target, tagged=self._tagged):
            grantee.grant_principal.add_to_principal_policy(iam.PolicyStatement.from_json(statement))
        acknowledge_wildcards(grantee, {"*": ANY_RESOURCE, group: SCHEDULES_OF_A_GROUP})
        if self._tagged:
            acknowledge_wildcards(grantee, {tasks_of(self._stack, self._target.cluster_name): TASKS_OF_A_CLUSTER})
        return reads

    def metric(
        self,
        metric_name: str,
        *,
        statistic: str = "Sum",
        period: cdk.Duration | None = None,
        label: str | None = None,
        color: str | None = None,
    ) -> cloudwatch.Metric:
        """Return a metric of this job's runs, such as `RunDuration`. Its tasks must log to CloudWatch."""
        return cloudwatch.Metric(
            namespace=NAMESPACE,
            metric_name=metric_name,
            dimensions_map=dimensions_of(self.ledger.ledger_name, job=self.job),
            statistic=statistic,
            period=period,
            label=label,
            color=color,
        )

    def metric_succeeded(self, *, period: cdk.Duration | None = None) -> cloudwatch.Metric:
        """Count runs that succeeded."""
        return self._count("succeeded", period)

    def metric_failed(self, *, period: cdk.Duration | None = None) -> cloudwatch.Metric:
        """Count attempts that failed."""
        return self._count("failed", period)

    def metric_refused(self, *, period: cdk.Duration | None = None) -> cloudwatch.Metric:
        """Count tasks that exited at once because the ledger refused them."""
        return self._count("refused", period)

    def metric_missed(self, *, period: cdk.Duration | None = None) -> cloudwatch.Metric:
        """Count ticks that were not delivered, as the ledger's watchdog finds them."""
        return self._count("missed", period)

    def metric_lost(self, *, period: cdk.Duration | None = None) -> cloudwatch.Metric:
        """Count runs whose lease expired without a word from their owner."""
        return self._count("run_lost", period)

    def metric_launch_failed(self, *, period: cdk.Duration | None = None) -> cloudwatch.Metric:
        """Count ticks whose task could not be started or stopped before it claimed."""
        return self._count("launch_failed", period)

    def _count(self, event: str, period: cdk.Duration | None) -> cloudwatch.Metric:
        return self.metric(METRIC_OF_EVENT[event], period=period)


def _timing(
    scope: ScheduledTask, schedule: object, timezone: object, start: datetime | None, end: datetime | None
) -> Timing:
    given: dict[str, object] = {"start": start, "end": end}
    for argument, value in given.items():
        if value is not None and (not isinstance(value, datetime) or value.tzinfo is None):
            raise refusal(scope, argument, value, "a datetime with a time zone")
    if schedule is None:
        for argument, value in {"timezone": timezone, **given}.items():
            if value is not None:
                raise refusal(scope, argument, value, f"no {argument} for a job without a schedule")
        return ON_REQUEST
    return timing_of(scope, schedule, timezone, start=start, end=end)


def _is_by_date(scope: ScheduledTask, period: object, timing: Timing) -> bool:
    """Return True if the period of a run is the local day of its tick."""
    if period is None:
        return False
    if timing is ON_REQUEST:
        raise refusal(scope, "period", period, "no period for a job without a schedule: who starts it names the period")
    if not isinstance(period, str) or period not in set(PeriodForm):
        raise refusal(scope, "period", period, ", ".join(PeriodForm))
    form = PeriodForm(period)
    if timing.schedule is not None:
        try:
            timing.schedule.check_period_form(form)
        except ScheduleInvalidError as error:
            raise refusal(scope, "period", period, error.allowed) from error
    return form is PeriodForm.DATE


def _target(
    scope: ScheduledTask,
    stack: cdk.Stack,
    cluster: ecs.ICluster,
    task_definition: ecs.ITaskDefinition,
    *,
    launch_type: ecs.LaunchType | None,
    strategies: Sequence[ecs.CapacityProviderStrategy] | None,
    vpc_subnets: ec2.SubnetSelection | None,
    security_groups: Sequence[ec2.ISecurityGroup] | None,
    assign_public_ip: bool,
) -> Target:
    """Return the target, from the cache if an earlier job had the same places."""
    kinds(scope, ecs.LaunchType, {"launch_type": launch_type})
    kinds(scope, ec2.SubnetSelection, {"vpc_subnets": vpc_subnets})
    groups = listed(scope, "security_groups", security_groups or (), "security_group_id", "ec2 security groups")
    providers = strategies
    if strategies is not None:
        providers = listed(
            scope, "capacity_provider_strategies", strategies, "capacity_provider", "ecs.CapacityProviderStrategy"
        )
    places = (cluster, task_definition, launch_type, vpc_subnets, len(groups), *groups)
    return cached(
        stack,
        (*places, assign_public_ip, providers is None, *(providers or ())),
        lambda: target_of(
            scope,
            cluster,
            task_definition,
            launch_type=launch_type,
            strategies=providers,
            vpc_subnets=vpc_subnets,
            security_groups=groups,
            assign_public_ip=assign_public_ip,
        ),
    )


def _description(scope: ScheduledTask, description: object, schedule: object) -> str | None:
    kinds(scope, str, {"description": description})
    if isinstance(description, str) and not is_token(description) and len(description) > DESCRIPTION:
        raise refusal(scope, "description", f"{len(description)} characters", f"at most {DESCRIPTION} characters")
    return "Started by people only" if schedule is None and description is None else str(description or "") or None


def _checked_tags(scope: ScheduledTask, tags: Mapping[str, str] | None) -> dict[str, str]:
    checked = text_map(scope, "tags", tags)
    if len(checked) > TAGS:
        raise refusal(scope, "tags", f"{len(checked)} tags", f"at most {TAGS} tags")
    for name, value in checked.items():
        if name.lower().startswith("aws:"):
            raise refusal(scope, "tags", name, "names that do not begin with aws:, which AWS reserves")
        for text, shortest, longest in ((name, 1, TAG_KEY), (value, 1, TAG_VALUE)):
            if not is_token(text) and not (shortest <= len(text) <= longest and TAG_TEXT.fullmatch(text)):
                allowed = f"{shortest} to {longest} letters, digits, spaces and any of _ . : / = + - @"
                raise refusal(scope, "tags", {name: value}, allowed)
    return checked


def _scheduler_role(scope: ScheduledTask, stack: cdk.Stack, ledger: RunLedgerBase, policy: str) -> iam.CfnRole:
    """Create the job's role, which EventBridge Scheduler can assume only for schedules of the ledger's group.

    An L1, because an L2 takes three times as long to synthesize and nothing is added to the role later.
    """

    def trust() -> dict[str, object]:
        group = stack.format_arn(
            service="scheduler", resource="schedule-group", resource_name=ledger.schedule_group_ref
        )
        statement = {
            "Effect": "Allow",
            "Principal": {"Service": "scheduler.amazonaws.com"},
            "Action": "sts:AssumeRole",
            "Condition": {"StringEquals": {"aws:SourceAccount": stack.account, "aws:SourceArn": group}},
        }
        return {"Version": "2012-10-17", "Statement": [statement]}

    return iam.CfnRole(
        scope,
        "Role",
        path=role_path(ledger.schedule_group_ref),
        assume_role_policy_document=cached(stack, (ledger, "trust"), trust),
        managed_policy_arns=[policy],
    )


def _start_policy(
    stack: cdk.Stack,
    ledger: RunLedgerBase,
    cluster: ecs.ICluster,
    task_definition: ecs.ITaskDefinition,
    *,
    target: Target,
    tagged: bool,
) -> str:
    """Create the policy of all jobs with this task definition, cluster and ledger, and return its reference.

    One policy per role would be one copy per job in the template, whose limit is 1 MB.
    """
    places = (ledger.node.addr, cluster.node.addr, task_definition.node.addr, str(tagged))
    construct_id = f"CronceStart{hashlib.sha256(''.join(places).encode()).hexdigest()[:8]}"
    if isinstance(existing := stack.node.try_find_child(construct_id), iam.CfnManagedPolicy):
        return existing.ref
    statements = start_statements(stack, target, tagged=tagged)
    reports = {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": ledger.dead_letter_queue_arn}
    document = {"Version": "2012-10-17", "Statement": [*statements, reports]}
    policy = iam.CfnManagedPolicy(
        stack,
        construct_id,
        policy_document=document,
        path=role_path(ledger.schedule_group_ref),
        description="Allows EventBridge Scheduler to start the tasks of scheduled jobs",
    )
    if tagged:
        acknowledge_wildcards(policy, {tasks_of(stack, target.cluster_name): TASKS_OF_A_CLUSTER})
    return policy.ref


def _task_override(
    scope: Construct, container: str, command: Sequence[str] | None, variables: Mapping[str, str]
) -> str:
    """Return the schedule's Input, the JSON of a TaskOverride.

    Raises:
        ConstructConfigError: It is too long for RunTask.
    """
    override: dict[str, object] = {
        "name": container,
        "environment": [{"name": name, "value": value} for name, value in sorted(variables.items())],
    }
    if command is not None:
        override["command"] = command
    text = json.dumps({"containerOverrides": [override]})
    known = len(TOKEN.sub("", text))
    if known > MAX_OVERRIDES:
        raise refusal(
            scope,
            "environment",
            f"{known} characters",
            f"at most {MAX_OVERRIDES} characters, with the command and CRONCE_*",
        )
    if any(is_token(value) for name, value in variables.items() if name != LEDGER) or is_token(str(command)):
        return stack_of(scope).to_json_string({"containerOverrides": [override]})
    return text


def _schedule_name(stack: cdk.Stack, path: str, job: str) -> str:
    """Return the schedule's name: the job's name, for people, and a hash of its stack and path.

    The name is stable while the job does not move. A job that moves gets a new schedule, so that CloudFormation can
    create it before it deletes the old one.
    """
    stack_name = cached(stack, ("name",), lambda: stack.stack_name)
    known = "" if is_token(stack_name) else stack_name
    digest = hashlib.sha256(f"{known}\0{path}".encode()).hexdigest()[:12]
    return f"{'job' if is_token(job) else schedule_name_stem(job)}-{digest}"


def _rendered_instant(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def _flexible(scope: ScheduledTask, window: object, policy: Policy) -> scheduler.CfnSchedule.FlexibleTimeWindowProperty:
    if window is None:
        return scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF")
    length = duration(scope, "flexible_window", window)
    if length % timedelta(minutes=1) or not timedelta(minutes=1) <= length <= timedelta(hours=24):
        raise refusal(scope, "flexible_window", format_duration(length), "whole minutes, 1m to 24h")
    deadline = policy.starting_deadline
    if deadline is not None and length >= deadline:
        raise refusal(
            scope,
            "flexible_window",
            format_duration(length),
            f"less than the starting_deadline of {format_duration(deadline)}; otherwise runs start too late by design",
        )
    return scheduler.CfnSchedule.FlexibleTimeWindowProperty(
        mode="FLEXIBLE", maximum_window_in_minutes=length // timedelta(minutes=1)
    )


def _rendered(placement: Placement) -> list[scheduler.CfnSchedule.CapacityProviderStrategyItemProperty] | None:
    return [
        scheduler.CfnSchedule.CapacityProviderStrategyItemProperty(
            capacity_provider=strategy.capacity_provider, base=strategy.base, weight=strategy.weight
        )
        for strategy in placement.strategies
    ] or None


def _version(version: ecs.FargatePlatformVersion | None) -> str | None:
    """Return the API's spelling, `1.4.0` for VERSION1_4."""
    if version is None or version is ecs.FargatePlatformVersion.LATEST:
        return version and "LATEST"
    return f"{version.name.removeprefix('VERSION').replace('_', '.')}.0"
