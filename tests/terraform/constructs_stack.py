"""The stack of `same/main.tf`, by the constructs. A test compares the two."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import aws_cdk as cdk
from aws_cdk import assertions
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam

from cronce.vocabulary.policy import Policy
from cronce_cdk import ClockJob, CommandTarget, PinnedScheduler, RunLedger, ScheduledTask
from tests.cdk.shop import ENVIRONMENT, imported_cluster

_ARN = "arn:aws:ecs:eu-west-1:111122223333:task-definition/"
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
        stack, "Ledger", table_name="runs.of-shop", clusters=[cluster], missed_after=timedelta(minutes=10)
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
    clock.alarm_no_leader(within=timedelta(minutes=10))
    clock.alarm_no_tick(within=timedelta(hours=26))
    beat.alarm_no_leader()
    _alarms(
        stack,
        {
            "missed": (ledger.metric_missed(), "A tick was not delivered"),
            "launch_failed": (ledger.metric_launch_failed(), "A task could not be started"),
            "lost": (ledger.metric_lost(), "The owner of a run was gone without a word"),
            "held": (ledger.metric_held(), "A run waits for a person (on_lost=HOLD)"),
            "given_up": (ledger.metric_given_up(), "No machine starts a run again"),
            "unclaimed": (ledger.metric_unclaimed(), "A task ended without asking the ledger"),
            "not_judged": (ledger.metric_not_judged(), "Nobody knows what became of some ticks"),
            "unreadable": (ledger.metric_unreadable(), "A row of the ledger cannot be read"),
            "dead_letters": (ledger.metric_dead_letters(), "The recorder cannot settle what it was told"),
            "unsettled": (ledger.metric_unsettled(), "The recorder could not settle a dead letter in all tries"),
            "daily-digest.failed": (digest.metric_failed(), "An attempt failed: daily-digest"),
            "daily-digest.missed": (digest.metric_missed(), "A tick was not delivered: daily-digest"),
            "daily-digest.launch_failed": (
                digest.metric_launch_failed(),
                "A task could not be started: daily-digest",
            ),
            "daily-digest.lost": (digest.metric_lost(), "The owner of a run was gone without a word: daily-digest"),
        },
    )
    resources: dict[str, Any] = assertions.Template.from_stack(stack).to_json()["Resources"]
    return resources


def _alarms(stack: cdk.Stack, metrics: dict[str, tuple[cloudwatch.IMetric, str]]) -> None:
    """As `app.py` creates them."""
    for name, (metric, description) in metrics.items():
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
