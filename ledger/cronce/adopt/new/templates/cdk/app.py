"""The stack: a ledger, a job that runs once per period, and alarms.

It has two settings:

    npx aws-cdk@2 deploy -c alarm_email=you@example.com    # where the alarms go
    npx aws-cdk@2 deploy -c image=REGISTRY/NAME:TAG        # an image that exists; nothing is built then

Without them no address receives the alarms, and the image is built from the Dockerfile here.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecr_assets as ecr_assets
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as sns_subscriptions
from constructs import Construct

from cronce import ConcurrencyPolicy, Policy
from cronce_cdk import RunLedger, ScheduledTask

PROJECT = Path(__file__).parent


class ScheduledJob(cdk.Stack):
    """The ledger, the job with its network and its image, and the alarms."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id, description="A job that runs once per period")
        log = logs.LogGroup(
            self, "Log", retention=logs.RetentionDays.ONE_MONTH, removal_policy=cdk.RemovalPolicy.DESTROY
        )
        task_definition = ecs.FargateTaskDefinition(
            self,
            "Task",
            cpu=256,
            memory_limit_mib=512,
            runtime_platform=ecs.RuntimePlatform(
                cpu_architecture=ecs.CpuArchitecture.X86_64, operating_system_family=ecs.OperatingSystemFamily.LINUX
            ),
        )
        task_definition.add_container(
            "job", image=self._job_image(), logging=ecs.LogDrivers.aws_logs(stream_prefix="run", log_group=log)
        )
        ledger = RunLedger(self, "Ledger")
        ScheduledTask(
            self,
            "Job",
            ledger=ledger,
            job="{{job}}",
            schedule="{{schedule}}",
            timezone="{{timezone}}",
            cluster=ecs.Cluster(self, "Cluster", vpc=self._vpc()),
            task_definition=task_definition,
            assign_public_ip=True,
            policy=Policy(
                concurrency_policy=ConcurrencyPolicy.FORBID,  # a run that would overlap the one before it is skipped
                starting_deadline=timedelta(hours=1),
                active_deadline=timedelta(hours=1),
                backoff_limit=2,
            ),
        )
        ledger.add_alarms(self._topic())
        group = ledger.schedule_group.schedule_group_name
        cdk.CfnOutput(self, "LedgerUrl", value=ledger.table_url, description="For CRONCE_LEDGER")
        cdk.CfnOutput(self, "ScheduleGroup", value=group, description="For CRONCE_SCHEDULE_GROUP")

    def _job_image(self) -> ecs.ContainerImage:
        """The image of this folder, built by `cdk deploy`, unless the context names one."""
        if image := self.node.try_get_context("image"):
            return ecs.ContainerImage.from_registry(image)
        return ecs.ContainerImage.from_asset(
            str(PROJECT),
            ignore_mode=cdk.IgnoreMode.DOCKER,
            platform=ecr_assets.Platform.LINUX_AMD64,  # as the task says, whatever machine builds it
        )

    def _vpc(self) -> ec2.Vpc:
        """Public subnets only: a task has an address, nothing comes in, and no NAT gateway is paid for."""
        return ec2.Vpc(
            self,
            "Vpc",
            max_azs=2,
            nat_gateways=0,
            subnet_configuration=[ec2.SubnetConfiguration(name="public", subnet_type=ec2.SubnetType.PUBLIC)],
            gateway_endpoints={
                "LedgerEndpoint": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.DYNAMODB)
            },
        )

    def _topic(self) -> sns.Topic | None:
        """A topic with the address of the context, if there is one."""
        address = self.node.try_get_context("alarm_email")
        if not address:
            return None
        topic = sns.Topic(self, "Alarms", enforce_ssl=True)
        topic.add_subscription(sns_subscriptions.EmailSubscription(address))
        return topic


def main() -> None:
    """Synthesize the stack."""
    app = cdk.App()
    ScheduledJob(app, "{{stack}}")
    app.synth()


if __name__ == "__main__":
    main()
