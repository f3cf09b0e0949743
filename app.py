"""The example app: the daily digest, which goes out once however many containers there are."""

from __future__ import annotations

from datetime import timedelta

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_logs as logs
from constructs import Construct

from cronce_cdk import RunLedger, ScheduledTask

IMAGE = "public.ecr.aws/docker/library/python:3.13-slim"
"""A stand-in that does nothing; `cdk deploy -c image=...` names the digest's own image."""


class DailyDigest(cdk.Stack):
    """The digest's stack: a ledger, a cluster without a NAT gateway, and a job at 06:00."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id, description="Scheduled work that happens once per period")
        ledger = RunLedger(self, "Ledger")
        cluster = ecs.Cluster(self, "Cluster", vpc=self._vpc(), container_insights_v2=ecs.ContainerInsights.ENABLED)
        digest = ScheduledTask(
            self,
            "Digest",
            ledger=ledger,
            job="daily-digest",
            schedule="0 6 * * *",
            timezone="Europe/Berlin",
            cluster=cluster,
            task_definition=self._task(),
            assign_public_ip=True,
            starting_deadline=timedelta(hours=2),
            active_deadline=timedelta(hours=1),
            backoff_limit=2,
        )
        self._alarm("DigestFailed", digest.metric_failed(), "An attempt at the daily digest failed")
        self._alarm("DeadLetters", ledger.metric_dead_letters(), "A task could not be started")
        cdk.CfnOutput(self, "LedgerUrl", value=ledger.table_url, description="For CRONCE_LEDGER and `cronce --ledger`")

    def _vpc(self) -> ec2.Vpc:
        """Public subnets only: a task has an address of its own, and nothing comes in."""
        return ec2.Vpc(
            self,
            "Vpc",
            max_azs=2,
            nat_gateways=0,
            subnet_configuration=[ec2.SubnetConfiguration(name="public", subnet_type=ec2.SubnetType.PUBLIC)],
            gateway_endpoints={
                "Ledger": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.DYNAMODB)
            },
        )

    def _task(self) -> ecs.FargateTaskDefinition:
        task = ecs.FargateTaskDefinition(self, "Task", cpu=256, memory_limit_mib=512)
        log = logs.LogGroup(
            self, "Log", retention=logs.RetentionDays.ONE_MONTH, removal_policy=cdk.RemovalPolicy.DESTROY
        )
        task.add_container(
            "digest",
            image=ecs.ContainerImage.from_registry(self.node.try_get_context("image") or IMAGE),
            logging=ecs.LogDrivers.aws_logs(stream_prefix="digest", log_group=log),
        )
        return task

    def _alarm(self, construct_id: str, metric: cloudwatch.Metric, description: str) -> None:
        cloudwatch.Alarm(
            self,
            construct_id,
            metric=metric,
            threshold=1,
            evaluation_periods=1,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
            alarm_description=description,
        )


def main() -> None:
    """Synthesize the app."""
    app = cdk.App()
    DailyDigest(app, "CronceDailyDigest")
    app.synth()


if __name__ == "__main__":
    main()
