"""The stack of `same/main.tf`, by the constructs. A test compares the two."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import aws_cdk as cdk
from aws_cdk import assertions
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as cloudwatch_actions
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sns as sns

from cronce.vocabulary.policy import Policy
from cronce_cdk import (
    ClockJob,
    CommandTarget,
    ExternalLedger,
    FunctionSettings,
    LedgerKeys,
    PinnedScheduler,
    RunLedger,
    RunLedgerBase,
    ScheduledTask,
    TaskSize,
)
from tests.cdk.shop import ENVIRONMENT, imported_cluster

_ARN = "arn:aws:ecs:eu-west-1:111122223333:task-definition/"
_KEY = "arn:aws:kms:eu-west-1:111122223333:key/"
_SECRET = "arn:aws:secretsmanager:eu-west-1:111122223333:secret:"
KEYS = ("table", "queues", "logs", "schedules")
_START, _END = datetime(2026, 12, 1, tzinfo=UTC), datetime(2027, 12, 1, tzinfo=UTC)


def synthesized() -> dict[str, Any]:
    """The template's resources by logical ID; the metadata of each has its construct's path."""
    app = cdk.App(context={"aws:cdk:enable-path-metadata": True})
    stack = cdk.Stack(app, "Stack", env=ENVIRONMENT)
    cluster = imported_cluster(stack)
    groups = [ec2.SecurityGroup.from_security_group_id(stack, "Group", "sg-0a1b2c3d4e5f60001")]
    subnets = ec2.SubnetSelection(subnets=[ec2.Subnet.from_subnet_id(stack, "Subnet", "subnet-0a1b2c3d4e5f60001")])
    network: dict[str, Any] = {"security_groups": groups, "vpc_subnets": subnets}
    ledger = RunLedger(
        stack, "Ledger", table_name="runs.of-shop", clusters=[cluster], missed_after=timedelta(minutes=10), board=True
    )
    assert ledger.rerun_function.node.id == "Function"  # created when it is first asked for
    digest = ScheduledTask(
        stack,
        "Digest",
        ledger=ledger,
        job="daily-digest",
        schedule="0 6 * * *",
        timezone="Europe/Berlin",
        description="Sends the digest",
        period="date",
        start=_START,
        end=_END,
        flexible_window=timedelta(minutes=15),
        policy=Policy(
            concurrency_policy="WAIT",  # type: ignore[arg-type]  # as people write it
            starting_deadline=timedelta(hours=2),
            active_deadline=timedelta(seconds=90),
            backoff_limit=2,
            catch_up="LATEST",  # type: ignore[arg-type]
            on_lost="HOLD",  # type: ignore[arg-type]
            lease=timedelta(minutes=2),
            exclusion_group="billing",
        ),
        cluster=cluster,
        task_definition=_fargate(stack, "digest", ":7"),
        container_name="digest",
        command=["cronce", "exec", "--", "./digest", '<&> "\\u003c" é ${x}'],
        environment={"GREETING": '<hello> & "goodbye" \\u003caws.scheduler.x\\u003e'},
        platform_version=ecs.FargatePlatformVersion.VERSION1_4,
        assign_public_ip=True,
        propagate_tags=True,
        tags={"team": "mail"},
        **network,
    )
    ScheduledTask(
        stack,
        "Report",
        ledger=ledger,
        job="weekly ${report} (ü)",
        schedule="rate(20 minutes)",
        start=_START,
        enabled=False,
        policy=Policy(suspend=True),
        alert_without_success_for=timedelta(hours=36),
        cluster=cluster,
        task_definition=_fargate(stack, "report", ""),
        container_name="report",
        metrics=False,
        capacity_provider_strategies=[
            ecs.CapacityProviderStrategy(capacity_provider="FARGATE_SPOT", weight=3),
            ecs.CapacityProviderStrategy(capacity_provider="FARGATE", weight=1, base=1),
        ],
        enable_execute_command=True,
        **network,
    )
    ScheduledTask(
        stack,
        "OnRequest",
        ledger=ledger,
        job="migration",
        schedule=None,
        cluster=cluster,
        task_definition=ecs.Ec2TaskDefinition.from_ec2_task_definition_attributes(
            stack,
            "migration",
            task_definition_arn=f"{_ARN}migration:3",
            task_role=_role(stack, "migration-task"),
            execution_role=_role(stack, "migration-execution"),
            network_mode=ecs.NetworkMode.BRIDGE,
        ),
        container_name="migration",
        launch_type=ecs.LaunchType.EC2,
    )
    clock = PinnedScheduler(
        stack,
        "Clock",
        ledger=ledger,
        job="clock",
        cluster=cluster,
        image=ecs.ContainerImage.from_registry("clock:1"),
        jobs={"hourly": ClockJob(every=timedelta(hours=1), target=CommandTarget(["./enqueue", "{period}"]))},
        environment={"TZ": "UTC"},
        **network,
    )
    beat = PinnedScheduler(
        stack,
        "Beat",
        ledger=ledger,
        job="beat",
        cluster=cluster,
        image=ecs.ContainerImage.from_registry("beat:1"),
        guard=ecs.ContainerImage.from_registry("cronce:1"),
        command=["celery", "beat"],
        cpu=512,
        memory_limit_mib=1024,
        lease=timedelta(seconds=20),
        stop_timeout=timedelta(seconds=60),
        runtime_platform=ecs.RuntimePlatform(
            cpu_architecture=ecs.CpuArchitecture.ARM64, operating_system_family=ecs.OperatingSystemFamily.LINUX
        ),
        capacity_provider_strategies=[
            ecs.CapacityProviderStrategy(capacity_provider="FARGATE", weight=1, base=1),
            ecs.CapacityProviderStrategy(capacity_provider="FARGATE_SPOT", weight=1),
        ],
        assign_public_ip=True,
        **network,
    )
    topic = sns.Topic.from_topic_arn(stack, "Topic", "arn:aws:sns:eu-west-1:111122223333:alarms")
    ledger.add_alarms(topic, rerun_function=True)
    connection = events.Connection.from_connection_attributes(
        stack,
        "Slack",
        connection_arn="arn:aws:events:eu-west-1:111122223333:connection/slack/0f1e2d3c",
        connection_name="slack",
        connection_secret_arn="arn:aws:secretsmanager:eu-west-1:111122223333:secret:events!connection/slack/0f1e2d3c",
    )
    ledger.notify_webhook(connection, url="https://slack.com/api/chat.postMessage", channel="#ops")
    silences = [
        clock.alarm_no_leader(within=timedelta(minutes=10)),
        clock.alarm_no_tick(within=timedelta(hours=26)),
        beat.alarm_no_leader(),
    ]
    of_job = _alarms(
        stack,
        {
            "daily-digest.failed": (digest.metric_failed(), "An attempt failed: daily-digest"),
            "daily-digest.missed": (digest.metric_missed(), "A tick was not delivered: daily-digest"),
            "daily-digest.launch_failed": (
                digest.metric_launch_failed(),
                "A task could not be started: daily-digest",
            ),
            "daily-digest.lost": (digest.metric_lost(), "The owner of a run was gone without a word: daily-digest"),
        },
    )
    for alarm in (*silences, *of_job):
        alarm.add_alarm_action(cloudwatch_actions.SnsAction(topic))
    _locked(stack, cluster, network)
    _outside(stack, cluster, network, topic)
    resources: dict[str, Any] = assertions.Template.from_stack(stack).to_json()["Resources"]
    return resources


def _locked(stack: cdk.Stack, cluster: ecs.ICluster, network: dict[str, Any]) -> None:
    """Another ledger, with everything that platform teams ask for."""
    ledger = RunLedger(
        stack,
        "Locked",
        table_name="locked-runs",
        board=True,
        clusters=[cluster],
        functions=FunctionSettings(
            architecture=lambda_.Architecture.ARM_64,
            memory_size=768,
            recorder_timeout=timedelta(seconds=90),
            rerun_timeout=timedelta(seconds=20),
            reserved_concurrency=4,
            vpc=cluster.vpc,
            security_groups=network["security_groups"],
            log_retention=logs.RetentionDays.ONE_YEAR,
        ),
        keys=LedgerKeys(
            **{
                name: kms.Key.from_key_arn(stack, name, f"arn:aws:kms:eu-west-1:111122223333:key/{name}")
                for name in KEYS
            }
        ),
    )
    ScheduledTask(
        stack,
        "Closed",
        ledger=ledger,
        job="closed",
        schedule=["0 5 * * *", "0 9 * * 0"],
        cluster=cluster,
        task_definition=_fargate(stack, "closed", ":1"),
        container_name="closed",
        size=TaskSize(
            cpu=1024,
            memory_mib=4096,
            container_cpu=512,
            container_memory_mib=2048,
            container_memory_reservation_mib=1024,
        ),
        managed_tags=True,
        **network,
    )
    _hourly(stack, "Vault", ledger, cluster, network)
    assert ledger.rerun_function.node.id == "Function"


def _outside(stack: cdk.Stack, cluster: ecs.ICluster, network: dict[str, Any], topic: sns.ITopic) -> None:
    """A ledger in PostgreSQL with its jobs, and one in Redis with as few arguments as possible."""
    url, other = (
        secretsmanager.Secret.from_secret_complete_arn(stack, f"{name}-url", f"{_SECRET}{name}-AbCdEf")
        for name in ("shop", "cache")
    )
    ledger = ExternalLedger(
        stack,
        "Outside",
        name="shop",
        url=ecs.Secret.from_secrets_manager(url, "url"),
        schedule_group_name="shop-jobs",
        missed_after=timedelta(minutes=10),
        cluster=cluster,
        clusters=[cluster],
        image=ecs.ContainerImage.from_registry("cronce:1"),
        runtime_platform=ecs.RuntimePlatform(
            cpu_architecture=ecs.CpuArchitecture.ARM64, operating_system_family=ecs.OperatingSystemFamily.LINUX
        ),
        **network,
    )
    ExternalLedger(
        stack,
        "Anywhere",
        name="cache.example.com:6379",
        url=ecs.Secret.from_secrets_manager(other),
        schedule_group_name="cache-jobs",
        cluster=cluster,
        image=ecs.ContainerImage.from_registry("cronce:1"),
        **network,
    )
    task_definition = ecs.FargateTaskDefinition(stack, "OrdersTask", cpu=256, memory_limit_mib=512)
    task_definition.add_container("orders", image=ecs.ContainerImage.from_registry("orders:1"))
    ScheduledTask(
        stack,
        "Orders",
        ledger=ledger,
        job="orders",
        schedule="0 5 * * *",
        cluster=cluster,
        task_definition=task_definition,
        **network,
    )
    _hourly(stack, "Pulse", ledger, cluster, network)
    ledger.add_alarms(topic)


def _hourly(stack: cdk.Stack, name: str, ledger: RunLedgerBase, cluster: ecs.ICluster, network: dict[str, Any]) -> None:
    """A clock with as few arguments as possible."""
    PinnedScheduler(
        stack,
        name,
        ledger=ledger,
        job=name.lower(),
        cluster=cluster,
        image=ecs.ContainerImage.from_registry("clock:1"),
        jobs={"hourly": ClockJob(every=timedelta(hours=1), target=CommandTarget(["true"]))},
        **network,
    )


def _alarms(stack: cdk.Stack, metrics: dict[str, tuple[cloudwatch.IMetric, str]]) -> list[cloudwatch.Alarm]:
    """Of single jobs, as people create them."""
    return [
        cloudwatch.Alarm(
            stack,
            name,
            metric=metric,
            threshold=1,
            evaluation_periods=1,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
            alarm_description=description,
        )
        for name, (metric, description) in metrics.items()
    ]


def _fargate(stack: cdk.Stack, name: str, revision: str) -> ecs.IFargateTaskDefinition:
    return ecs.FargateTaskDefinition.from_fargate_task_definition_attributes(
        stack,
        name,
        task_definition_arn=f"{_ARN}{name}{revision}",
        task_role=_role(stack, f"{name}-task"),
        execution_role=_role(stack, f"{name}-execution"),
        network_mode=ecs.NetworkMode.AWS_VPC,
    )


def _role(stack: cdk.Stack, name: str) -> iam.IRole:
    return iam.Role.from_role_arn(stack, name, f"arn:aws:iam::111122223333:role/{name}")
