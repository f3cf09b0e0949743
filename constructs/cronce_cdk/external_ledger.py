"""A ledger in PostgreSQL or Redis: its URL is a secret, and a service replaces the Lambda functions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from functools import cached_property
from typing import ClassVar, NoReturn

import aws_cdk as cdk
import jsii
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from cronce.vocabulary.durations import format_duration
from cronce.vocabulary.environment import LEDGER, METRICS, MISSED_AFTER, SCHEDULE_GROUP
from cronce.vocabulary.names import checked_schedule_group
from cronce_cdk._account_and_region import deployed_together, same_place
from cronce_cdk._alarms import DESCRIPTIONS
from cronce_cdk._checks import flags, having, is_text, is_token, kinds, listed, naming, refusal, warn
from cronce_cdk._jsii_cache import cached, stack_of
from cronce_cdk._nag_reasons import DEAD_LETTERS, TASKS_OF_A_CLUSTER, VARIABLES, acknowledge, acknowledge_wildcards
from cronce_cdk._network import checked_groups, subnets_of, with_vpc
from cronce_cdk._permissions import launching_wildcards, tasks_in, watching
from cronce_cdk.run_ledger_base import RunLedgerBase, checked_patience

_REPORTED_BY_FUNCTIONS = frozenset({"launch_failed", "unclaimed", "event_ignored", "pinned_count_wrong"})
"""The events that only the Lambda functions of a `RunLedger` report."""

_ALARMS_OF_FUNCTIONS = frozenset({"launch_failed", "unclaimed", "dead_letters", "unsettled", "rerun_errors"})
"""The alarms on these events, on the recorder's two queues, and on the rerun function."""

_HEALTH = ["CMD", "cronce", "health", "--name", "cronce:watchdog"]


@jsii.implements(ec2.IConnectable)
class ExternalLedger(RunLedgerBase):
    """A ledger that is a PostgreSQL database or a Redis server, for `ScheduledTask` and `PinnedScheduler`.

    The containers of the jobs get its URL as an ECS secret, so that it is in no template, no schedule and no override.
    It creates a schedule group and a dead-letter queue, and instead of the Lambda functions a service that runs `cronce
    watchdog`. The service marks missed ticks and lost runs, and starts them and failed runs again. During a deployment
    two of its tasks run: one works, the other waits.

    Everybody who has the URL can claim runs of every job, so there are no grants. To separate jobs, use several users
    and tables of the database.

    Example:
        ```python
        ledger = ExternalLedger(
            stack,
            "Runs",
            name="shop",  # postgresql://ada:...@db.example.com/shop
            url=ecs.Secret.from_secrets_manager(secret, "url"),
            cluster=cluster,
            image=ecs.ContainerImage.from_registry("registry.example.com/cronce:1"),
        )
        database.connections.allow_from(ledger, ec2.Port.tcp(5432))
        ```

    Attributes:
        service: The service of the watchdog.
        task_definition: Its task definition.
        log_group: Its log, kept for a month.

    Args:
        scope: The construct that owns the ledger.
        construct_id: Its ID in that scope.
        name: The ledger's name in logs, metrics and events, which follows from its URL: the database of PostgreSQL, or
            `HOST:PORT` of Redis as the URL has them. With another name, alarms have no data.
        url: The secret with the URL, as `docs/stores.md` describes it. `cronce init` must have prepared the database.
        cluster: The cluster in which the watchdog runs.
        image: An image with cronce installed.
        schedule_group_name: The name of the schedule group, for `cronce rerun --schedule-group`; by default
            CloudFormation generates one.
        clusters: The clusters of the jobs: the watchdog may look at tasks of these only. None for every cluster of
            the account and Region.
        missed_after: How long after its time (and its flexible window) a tick without a run counts as missed.
        runtime_platform: Operating system and processor of the watchdog.
        vpc_subnets: The subnets of the watchdog's network interface; by default the VPC's private ones.
        security_groups: The security groups of that interface; by default one for this service.
        assign_public_ip: True for a public address; the default subnets are then the public ones.

    Raises:
        ConstructConfigError: An argument can never work.
    """

    alarm_kinds: ClassVar[Sequence[str]] = tuple(kind for kind in DESCRIPTIONS if kind not in _ALARMS_OF_FUNCTIONS)

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        name: str,
        url: ecs.Secret,
        cluster: ecs.ICluster,
        image: ecs.ContainerImage,
        schedule_group_name: str | None = None,
        clusters: Sequence[ecs.ICluster] | None = None,
        missed_after: timedelta | cdk.Duration = timedelta(minutes=5),
        runtime_platform: ecs.RuntimePlatform | None = None,
        vpc_subnets: ec2.SubnetSelection | None = None,
        security_groups: Sequence[ec2.ISecurityGroup] | None = None,
        assign_public_ip: bool = False,
    ) -> None:
        super().__init__(scope, construct_id)
        if not is_text(name) or not name or "@" in name or "/" in name or not name.isprintable():
            allowed = "the database of a PostgreSQL URL, or HOST:PORT of a Redis URL, as text that is known at synth"
            raise refusal(self, "name", "..." if "@" in str(name) else name, allowed)
        if not isinstance(url, ecs.Secret):
            raise refusal(self, "url", type(url).__name__, "an ecs.Secret: the URL has a password")
        having(self, "cluster", cluster, "cluster_arn", "an ECS cluster")
        stack = stack_of(self)
        same_place(self, "cluster", cluster, cluster.cluster_arn, stack)
        if not isinstance(image, ecs.ContainerImage):
            raise refusal(self, "image", image, "an ecs.ContainerImage with cronce installed")
        flags(self, {"assign_public_ip": assign_public_ip})
        kinds(self, ec2.SubnetSelection, {"vpc_subnets": vpc_subnets})
        kinds(self, ecs.RuntimePlatform, {"runtime_platform": runtime_platform})
        groups = listed(self, "security_groups", security_groups or (), "security_group_id", "ec2 security groups")
        checked_groups(self, groups)
        watched = listed(self, "clusters", clusters or (), "cluster_arn", "ECS clusters")
        for each in watched:
            same_place(self, "clusters", each, each.cluster_arn, stack)
        self._name, self.url_secrets = name, {LEDGER: url}
        self.missed_after = checked_patience(self, missed_after)
        _, place = subnets_of(self, with_vpc(self, cluster), vpc_subnets, assign_public_ip=assign_public_ip)
        self.schedule_group = scheduler.ScheduleGroup(
            self,
            "Schedules",
            schedule_group_name=_checked_group(self, schedule_group_name),
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        self.dead_letter_queue = sqs.Queue(
            self,
            "DeadLetters",
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=cdk.Duration.days(14),
        )
        acknowledge(self.dead_letter_queue, "SQS3", DEAD_LETTERS)
        self.log_group = logs.LogGroup(
            self, "Log", retention=logs.RetentionDays.ONE_MONTH, removal_policy=cdk.RemovalPolicy.DESTROY
        )
        self.task_definition = ecs.FargateTaskDefinition(
            self, "Task", cpu=256, memory_limit_mib=512, runtime_platform=runtime_platform
        )
        self.task_definition.add_container(
            "watchdog",
            image=image,
            command=["cronce", "watchdog"],
            environment={
                SCHEDULE_GROUP: self.schedule_group_ref,
                MISSED_AFTER: format_duration(self.missed_after),
                METRICS: "emf",
            },
            secrets={**self.url_secrets},
            linux_parameters=ecs.LinuxParameters(self, "Linux", init_process_enabled=True),
            logging=ecs.LogDrivers.aws_logs(stream_prefix="watchdog", log_group=self.log_group),
            health_check=ecs.HealthCheck(
                command=_HEALTH,
                interval=cdk.Duration.seconds(30),
                timeout=cdk.Duration.seconds(5),
                retries=3,
                start_period=cdk.Duration.minutes(1),
            ),
        )
        acknowledge(self.task_definition, "ECS2", VARIABLES)
        self.service = ecs.FargateService(
            self,
            "Service",
            cluster=cluster,
            task_definition=self.task_definition,
            desired_count=1,
            min_healthy_percent=100,
            max_healthy_percent=200,
            circuit_breaker=ecs.DeploymentCircuitBreaker(enable=True, rollback=True),
            vpc_subnets=vpc_subnets,
            security_groups=groups or None,
            assign_public_ip=assign_public_ip,
        )
        role, group = self.task_definition.task_role, self.schedule_group_ref
        for statement in watching(stack, group, watched):
            role.add_to_principal_policy(statement)
        of_tasks = dict.fromkeys(tasks_in(stack, watched), TASKS_OF_A_CLUSTER)
        acknowledge_wildcards(role, {**launching_wildcards(stack, group), **of_tasks})
        for identifier, message in place.doubts(public_ip=assign_public_ip):
            warn(self, identifier, message)

    @property
    def connections(self) -> ec2.Connections:
        """The connections of the watchdog: `database.connections.allow_default_port_from(ledger)`."""
        return self.service.connections

    @cached_property
    def identity(self) -> tuple[str, ...]:
        """See `RunLedgerBase.identity`. A table of the same name is another ledger."""
        return ("external", *super().identity)

    def url_variables(
        self, job: Construct, task_definition: ecs.ITaskDefinition, container_name: str
    ) -> dict[str, str]:
        """Give the URL to the container as a secret, once, and return no variables for the override.

        Raises:
            ConstructConfigError: The container cannot get it, or has another ledger's URL.
        """
        if not isinstance(task_definition, ecs.TaskDefinition):
            allowed = f"one of this app: an imported one cannot get {LEDGER} as a secret"
            raise refusal(job, "task_definition", task_definition.node.path, allowed)
        about = (container_name, LEDGER)
        owner = cached(task_definition, about, lambda: self._put(job, task_definition, container_name))
        if owner is not self:
            allowed = f"a container without the ledger {owner.node.path}: it has one {LEDGER}"
            raise refusal(job, "ledger", self.node.path, allowed)
        return {}

    def let_claim(self, role: iam.IRole, job: str, group: str | None) -> None:
        """Do nothing: the URL is the permission."""

    def seen_from(self, scope: Construct) -> RunLedgerBase:
        """See `RunLedgerBase.seen_from`.

        Raises:
            ConstructConfigError: The ledger is in another stack.
        """
        if not deployed_together(stack_of(self), stack_of(scope)):
            raise refusal(scope, "ledger", self.node.path, "a ledger of the same stack, for an ExternalLedger")
        return self

    def watch(self, scope: Construct, cluster: ecs.ICluster, service: ecs.FargateService, job: str) -> bool:
        """Return True: nothing counts the tasks of pinned services, and their lease is enough."""
        del scope, cluster, service, job
        return True

    def add_alarms(
        self, topic: sns.ITopic | None = None, *, rerun_function: bool = False
    ) -> dict[str, cloudwatch.Alarm]:
        """See `RunLedgerBase.add_alarms`; there are no alarms for what only a Lambda function reports."""
        if rerun_function:
            self._needs_functions("rerun_function", rerun_function)
        return super().add_alarms(topic)

    def grant_operate(
        self,
        grantee: iam.IGrantable,
        *,
        clusters: Sequence[ecs.ICluster] | None = None,
        log_groups: Sequence[logs.ILogGroup] | None = None,
    ) -> None:
        """There is no such grant.

        Raises:
            ConstructConfigError: Always.
        """
        del grantee, clusters, log_groups
        allowed = "a RunLedger. For an ExternalLedger write the statements of docs/iam.md, without those on the table"
        raise refusal(self, "grant_operate", self.node.path, allowed)

    def metric_unsettled(
        self, *, period: timedelta | cdk.Duration | None = None, statistic: str = "Maximum"
    ) -> cloudwatch.Metric:
        """There is none.

        Raises:
            ConstructConfigError: Always.
        """
        del period, statistic
        self._needs_functions("metric_unsettled", None)

    def _put(self, job: Construct, task_definition: ecs.TaskDefinition, name: str) -> ExternalLedger:
        container = task_definition.find_container(name)
        if container is None:
            raise refusal(job, "container_name", name, "a container that was added before")
        rendered = container.render_container_definition(task_definition)
        for kind in ("environment", "secrets"):
            given = stack_of(self).resolve(getattr(rendered, kind)) or ()
            if any(LEDGER in (each.get("name"), each.get("Name")) for each in given):
                allowed = f"a container without it: an ExternalLedger adds {LEDGER} as a secret"
                raise refusal(job, "task_definition", f"{LEDGER} in the {kind} of {name}", allowed)
        container.add_secret(LEDGER, self.url_secrets[LEDGER])
        return self

    def _function_name(self, role: str) -> str:
        self._needs_functions(f"{role}_function", None)

    def _metric(self, event: str, job: str | None, period: timedelta | cdk.Duration | None) -> cloudwatch.Metric:
        if event in _REPORTED_BY_FUNCTIONS:
            self._needs_functions(f"metric_{event}", None)
        return super()._metric(event, job, period)

    def _grant_on(
        self, grantee: iam.IGrantable, actions: Sequence[str], operator: str, keys: Sequence[str] | None
    ) -> iam.Grant:
        del grantee, actions, operator, keys
        allowed = "a RunLedger. The URL of an ExternalLedger permits everything: use users of the database"
        raise refusal(self, "grant", self.node.path, allowed)

    def _needs_functions(self, what: str, value: object) -> NoReturn:
        raise refusal(self, what, value, "a RunLedger: its Lambda functions read DynamoDB, and no other store")


def _checked_group(scope: Construct, name: object) -> str | None:
    if name is None or (isinstance(name, str) and is_token(name)):
        return name
    kinds(scope, str, {"schedule_group_name": name})
    if name == "default":
        raise refusal(scope, "schedule_group_name", name, "another name: this group exists in each account")
    with naming(scope, "schedule_group_name"):
        return checked_schedule_group(str(name), what="schedule_group_name")
