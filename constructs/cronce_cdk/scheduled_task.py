"""A job: EventBridge Scheduler starts its ECS task, and the ledger admits one task per period."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import aws_cdk as cdk
import jsii
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from cronce.schedule import PeriodForm
from cronce.vocabulary.durations import format_duration
from cronce.vocabulary.environment import (
    DATE_IN,
    EXECUTION_ID,
    JOB,
    METRICS,
    NO_SUCCESS_FOR,
    POLICY,
    SCHEDULED_TIME,
    TRIGGER,
)
from cronce.vocabulary.metrics import METRIC_OF_EVENT, dimensions_of
from cronce.vocabulary.policy import Policy
from cronce.vocabulary.states import Trigger
from cronce_cdk._checks import (
    FinishedTree,
    checked_policy,
    duration,
    flags,
    grantee_of,
    having,
    job_name,
    kinds,
    listed,
    placed,
    refusal,
    text_map,
    texts,
)
from cronce_cdk._containers import check_guarded, container_of
from cronce_cdk._jsii_cache import cached, path_of, stack_of
from cronce_cdk._metrics import metric_of
from cronce_cdk._nag_reasons import ANY_RESOURCE, SCHEDULES_OF_A_GROUP, TASKS_OF_A_CLUSTER, acknowledge_wildcards
from cronce_cdk._network import vpc_of
from cronce_cdk._permissions import executing_commands, listing_schedules, schedules_of, tasks_of
from cronce_cdk._rendering import (
    api_version,
    checked_tags,
    description_of,
    rendered_instant,
    rendered_strategies,
    rendered_window,
    schedule_name,
    task_override,
)
from cronce_cdk._scheduler_role import scheduler_role, start_policy
from cronce_cdk._schedules import further_variables, schedules_of_job
from cronce_cdk._target import Target, describe_statement, start_statements, target_of
from cronce_cdk._timing import ON_REQUEST, Timing, is_by_date, retry_policy, timing_of
from cronce_cdk._warnings import JobDoubts
from cronce_cdk.keys import schedule_statements
from cronce_cdk.run_ledger_base import LEDGERS, RunLedgerBase
from cronce_cdk.task_size import TaskSize, checked_size

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
        further_schedules: Those of further expressions, if `schedule` is a list.
        schedule_name: The schedule's name.
        role: The role with which EventBridge Scheduler starts the task.
        container_name: The container that does the work.

    Args:
        scope: The construct that owns the job.
        construct_id: Its ID in that scope.
        ledger: The ledger that admits its tasks.
        schedule: `"0 6 * * *"`, `"cron(0 6 * * ? *)"`, `"rate(5 minutes)"`, `"at(2026-11-29T06:00:00)"` or a
            CDK `ScheduleExpression`. An hour needs a minute: CDK's `cron(hour="8")` is due 60 times. None for a job
            that only people start, with `cronce rerun` and a period. Or a list of cron expressions, such as
            `["0 6 * * 1-5", "0 9 * * 0"]`: due whenever one of them is, once when two are. Put the one that the job
            had before first: its EventBridge schedule stays.
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
        own_security_group: True for a security group of this job alone, which other groups can allow by `connections`.
        size: CPU and memory of the task and of its container, instead of those of the task definition.
        propagate_tags: True to give the task its task definition's tags.
        managed_tags: True for the tags that ECS manages, such as `aws:ecs:clusterName`, for cost allocation.
        tags: Further tags of the task.
        enable_execute_command: True to allow `aws ecs execute-command` into the task.
        metrics: False to keep its log lines from becoming CloudWatch metrics, which cost money per job.
        policy: How the job treats overlaps, lateness, failures and crashes; several jobs can share one.
        alert_without_success_for: The longest time without a success before an alert, also while its schedule is
            disabled, because a clock may start it; zero for no alert. By default twice the longest time between its
            ticks, plus an hour; no alert while it is disabled.

    Raises:
        ConstructConfigError: An argument can never work.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        ledger: RunLedgerBase,
        schedule: str | scheduler.ScheduleExpression | Sequence[str | scheduler.ScheduleExpression] | None,
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
        size: TaskSize | None = None,
        own_security_group: bool = False,
        propagate_tags: bool = False,
        managed_tags: bool = False,
        tags: Mapping[str, str] | None = None,
        enable_execute_command: bool = False,
        metrics: bool = True,
        policy: Policy | None = None,
        alert_without_success_for: timedelta | cdk.Duration | None = None,
    ) -> None:
        placed(scope, construct_id)
        super().__init__(scope, construct_id)
        path = f"{path_of(scope)}/{construct_id}"
        if not isinstance(ledger, RunLedgerBase):
            raise refusal(self, "ledger", ledger, LEDGERS)
        flags(
            self,
            {
                "enabled": enabled,
                "assign_public_ip": assign_public_ip,
                "own_security_group": own_security_group,
                "propagate_tags": propagate_tags,
                "managed_tags": managed_tags,
                "enable_execute_command": enable_execute_command,
                "metrics": metrics,
            },
        )
        kinds(self, ecs.FargatePlatformVersion, {"platform_version": platform_version})
        self.ledger, self.enabled = ledger, enabled
        self.job = job_name(self, construct_id if job is None else job)
        self.policy = checked_policy(self, policy)
        self._timing = _timing(self, schedule, timezone, start, end)
        by_date = is_by_date(self, period, self._timing)
        stack = stack_of(scope)
        if own_security_group:
            security_groups = [self._own_group(cluster, security_groups)]
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
            **seen.url_variables(self, task_definition, container.name),
            JOB: self.job,
            POLICY: self.policy.to_json(),
            TRIGGER: Trigger.SCHEDULE.value,
            **({} if schedule is None else _FROM_SCHEDULER),
            **further_variables(self._timing.expressions),
            **({DATE_IN: self._timing.timezone} if by_date else {}),
            **_longest_without_success(self, alert_without_success_for),
            **({METRICS: "emf"} if metrics else {}),
        }
        words = texts(self, "command", command)
        task_size = checked_size(self, size, task_definition, on_fargate=on_fargate)
        own_tags = checked_tags(self, tags)
        self._stack, self._target, self._seen = stack, target, seen
        self._tagged = propagate_tags or managed_tags or bool(own_tags)
        policy_ref = cached(
            stack,
            (seen, cluster, task_definition, self._tagged, "start"),
            lambda: start_policy(stack, seen, cluster, task_definition, tagged=self._tagged, target=target),
        )
        self.role = scheduler_role(self, stack, seen, policy_ref)
        self.schedule_name = schedule_name(stack, path, self.job)
        seconds, retries = retry_policy(self._timing.interval, self.policy.starting_deadline)
        rendered_target = scheduler.CfnSchedule.TargetProperty(
            arn=target.cluster_arn,
            role_arn=self.role.attr_arn,
            input=task_override(self, container.name, words, variables, task_size),
            retry_policy=scheduler.CfnSchedule.RetryPolicyProperty(
                maximum_event_age_in_seconds=seconds, maximum_retry_attempts=retries
            ),
            dead_letter_config=scheduler.CfnSchedule.DeadLetterConfigProperty(arn=seen.dead_letter_queue_arn),
            ecs_parameters=scheduler.CfnSchedule.EcsParametersProperty(
                task_definition_arn=target.task_definition_arn,
                task_count=1,
                launch_type=target.placement.launch_type and target.placement.launch_type.name,
                capacity_provider_strategy=rendered_strategies(target.placement),
                platform_version=api_version(platform_version),
                network_configuration=target.network.rendered if target.network else None,
                propagate_tags="TASK_DEFINITION" if propagate_tags else None,
                tags=[{"Key": key, "Value": value} for key, value in own_tags.items()] or None,
                enable_ecs_managed_tags=managed_tags or None,
                enable_execute_command=enable_execute_command or None,
            ),
        )
        self.schedule, self.further_schedules = schedules_of_job(
            self,
            self.schedule_name,
            self._timing.expressions,
            group_name=seen.schedule_group_ref,
            description=description_of(self, description, schedule),
            schedule_expression_timezone=self._timing.timezone,
            start_date=rendered_instant(start),
            end_date=rendered_instant(end),
            state="ENABLED" if enabled else "DISABLED",
            flexible_time_window=rendered_window(self, flexible_window, self.policy),
            kms_key_arn=seen.keys.schedules and seen.keys.schedules.key_arn,
            target=rendered_target,
        )
        seen.let_claim(target.task_role, self.job, self.policy.exclusion_group)
        if enable_execute_command:
            target.task_role.add_to_principal_policy(executing_commands())
            acknowledge_wildcards(target.task_role, {"*": ANY_RESOURCE})
        doubts = JobDoubts(
            job=self,
            schedules=(self.schedule, *self.further_schedules),
            policy=self.policy,
            enabled=enabled,
            missed_after=ledger.missed_after,
            timing=self._timing,
            container=container,
            target=target,
            command=words,
            metrics=metrics,
            by_role=not seen.url_secrets,
            observed=cached(stack, (ledger, cluster, "observed"), lambda: ledger.observes(cluster)),
        )
        doubts.warn()
        self.node.add_validation(FinishedTree(doubts.errors))

    def _own_group(self, cluster: ecs.ICluster, given: object) -> ec2.SecurityGroup:
        """Create the security group of this job alone."""
        if given:
            raise refusal(self, "security_groups", given, "no security_groups together with own_security_group")
        having(self, "cluster", cluster, "cluster_arn", "an ECS cluster")
        vpc = vpc_of(self, cluster, "own_security_group", "False, or a cluster that was imported with its VPC")
        return ec2.SecurityGroup(
            self, "Group", vpc=vpc, description="A scheduled task: all outgoing, no incoming traffic"
        )

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
        grantee_of(self, grantee)
        group = schedules_of(self._stack, self._seen.schedule_group_ref)
        reads = iam.Grant.add_to_principal(grantee=grantee, actions=["scheduler:GetSchedule"], resource_arns=[group])
        grantee.grant_principal.add_to_principal_policy(listing_schedules())
        for reading in schedule_statements(self._stack, self._seen.keys, group, creates=False):
            grantee.grant_principal.add_to_principal_policy(reading)
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
        period: timedelta | cdk.Duration | None = None,
        label: str | None = None,
        color: str | None = None,
    ) -> cloudwatch.Metric:
        """Return a metric of this job's runs, such as `RunDuration`. Its tasks must log to CloudWatch."""
        return metric_of(
            self,
            metric_name,
            dimensions_of(self.ledger.ledger_name, job=self.job),
            statistic=statistic,
            period=period,
            label=label,
            color=color,
        )

    def metric_succeeded(self, *, period: timedelta | cdk.Duration | None = None) -> cloudwatch.Metric:
        """Count runs that succeeded."""
        return self._count("succeeded", period)

    def metric_failed(self, *, period: timedelta | cdk.Duration | None = None) -> cloudwatch.Metric:
        """Count attempts that failed."""
        return self._count("failed", period)

    def metric_refused(self, *, period: timedelta | cdk.Duration | None = None) -> cloudwatch.Metric:
        """Count tasks that exited at once because the ledger refused them."""
        return self._count("refused", period)

    def metric_missed(self, *, period: timedelta | cdk.Duration | None = None) -> cloudwatch.Metric:
        """Count ticks that were not delivered, as the ledger's watchdog finds them."""
        return self._count("missed", period)

    def metric_lost(self, *, period: timedelta | cdk.Duration | None = None) -> cloudwatch.Metric:
        """Count runs whose lease expired without a word from their owner."""
        return self._count("run_lost", period)

    def metric_launch_failed(self, *, period: timedelta | cdk.Duration | None = None) -> cloudwatch.Metric:
        """Count ticks whose task could not be started or stopped before it claimed."""
        return self._count("launch_failed", period)

    def _count(self, event: str, period: timedelta | cdk.Duration | None) -> cloudwatch.Metric:
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


def _longest_without_success(scope: ScheduledTask, patience: object) -> dict[str, str]:
    """Return the variable from which the watchdog knows when to report a job without a success."""
    if patience is None:
        return {}
    length = duration(scope, "alert_without_success_for", patience)
    if length % timedelta(seconds=1) or not (not length or timedelta(minutes=1) <= length <= timedelta(days=366)):
        allowed = "whole seconds, 1m to 366d, or 0 for never"
        raise refusal(scope, "alert_without_success_for", format_duration(length), allowed)
    return {NO_SUCCESS_FOR: format_duration(length)}
