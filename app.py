"""The example app: two digests and a clock that act once however many containers there are, and what watches over them.

`cdk deploy` makes all of it, the image included. Two things can be said about it:

    cdk deploy -c alarm_email=you@example.com    # where the alarms go
    cdk deploy -c image=REGISTRY/NAME:TAG        # an image that exists; nothing is built then
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch_actions as cloudwatch_actions
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecr_assets as ecr_assets
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as sns_subscriptions
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from cronce import CatchUp, Policy
from cronce_cdk import ClockJob, PinnedScheduler, RunLedger, ScheduledTask, SqsTarget

PROJECT = Path(__file__).parent
DOCKERFILE = "examples/digest/Dockerfile"
PLATFORM = ecs.RuntimePlatform(
    cpu_architecture=ecs.CpuArchitecture.X86_64, operating_system_family=ecs.OperatingSystemFamily.LINUX
)


class DailyDigest(cdk.Stack):
    """A ledger, two jobs that write mails into a bucket under job, period and customer, and a clock for a queue."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id, description="Scheduled work that happens once per period")
        self._image = self._digest_image()
        self._outbox = s3.Bucket(
            self,
            "Outbox",
            encryption=s3.BucketEncryption.S3_MANAGED,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            enforce_ssl=True,
            lifecycle_rules=[s3.LifecycleRule(expiration=cdk.Duration.days(30))],
        )
        self._log = logs.LogGroup(
            self, "Log", retention=logs.RetentionDays.ONE_MONTH, removal_policy=cdk.RemovalPolicy.DESTROY
        )
        ledger = RunLedger(self, "Ledger")
        cluster = ecs.Cluster(self, "Cluster", vpc=self._vpc())
        ScheduledTask(
            self,
            "Daily",
            ledger=ledger,
            job="daily-digest",
            schedule="0 6 * * *",
            timezone="Europe/Berlin",
            cluster=cluster,
            task_definition=self._task("DailyTask", job="daily-digest"),
            environment={"DIGEST_BUCKET": self._outbox.bucket_name},
            assign_public_ip=True,
            policy=Policy(
                starting_deadline=timedelta(hours=2),
                active_deadline=timedelta(hours=1),
                backoff_limit=2,
                catch_up=CatchUp.LATEST,
            ),
        )
        ScheduledTask(
            self,
            "Weekly",
            ledger=ledger,
            job="weekly-digest",
            schedule="0 7 * * MON",
            timezone="Europe/Berlin",
            cluster=cluster,
            task_definition=self._task("WeeklyTask", job="weekly-digest"),
            command=["cronce", "exec", "--", "./digest.sh"],
            environment={"DIGEST_BUCKET": self._outbox.bucket_name},
            assign_public_ip=True,
            policy=Policy(starting_deadline=timedelta(hours=2), active_deadline=timedelta(hours=1), backoff_limit=2),
        )
        # More often than each minute, so not for EventBridge. The web app's workers take the reminders from the queue.
        clock = PinnedScheduler(
            self,
            "Clock",
            ledger=ledger,
            job="clock",
            cluster=cluster,
            image=self._image,
            jobs={"reminders": ClockJob(every=timedelta(seconds=30), target=SqsTarget(self._reminders()))},
            runtime_platform=PLATFORM,
            assign_public_ip=True,
        )
        topic, no_tick = self._topic(), clock.alarm_no_tick()
        ledger.add_alarms(topic)
        if topic:
            no_tick.add_alarm_action(cloudwatch_actions.SnsAction(topic))
        group = ledger.schedule_group.schedule_group_name
        cdk.CfnOutput(self, "LedgerUrl", value=ledger.table_url, description="For CRONCE_LEDGER")
        cdk.CfnOutput(self, "OutboxName", value=self._outbox.bucket_name, description="The mails, by job and period")
        cdk.CfnOutput(self, "ScheduleGroup", value=group, description="For CRONCE_SCHEDULE_GROUP")

    def _digest_image(self) -> ecs.ContainerImage:
        """The digest's image, built by `cdk deploy` with cronce as it is here, unless the context names one."""
        if image := self.node.try_get_context("image"):
            return ecs.ContainerImage.from_registry(image)
        return ecs.ContainerImage.from_asset(
            str(PROJECT),
            file=DOCKERFILE,
            ignore_mode=cdk.IgnoreMode.DOCKER,
            platform=ecr_assets.Platform.LINUX_AMD64,  # as the tasks say, whatever machine builds it
        )

    def _vpc(self) -> ec2.Vpc:
        """Public subnets only: a task has an address of its own, nothing comes in, and no NAT gateway is paid for."""
        return ec2.Vpc(
            self,
            "Vpc",
            max_azs=2,
            nat_gateways=0,
            subnet_configuration=[ec2.SubnetConfiguration(name="public", subnet_type=ec2.SubnetType.PUBLIC)],
            gateway_endpoints={
                "LedgerEndpoint": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.DYNAMODB),
                "OutboxEndpoint": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.S3),
            },
        )

    def _task(self, construct_id: str, *, job: str) -> ecs.FargateTaskDefinition:
        """What a digest runs in; it may write the mails of its own job, and no others."""
        task = ecs.FargateTaskDefinition(
            self,
            construct_id,
            cpu=256,
            memory_limit_mib=512,
            runtime_platform=PLATFORM,
        )
        task.add_container(
            "digest",
            image=self._image,
            logging=ecs.LogDrivers.aws_logs(stream_prefix=job, log_group=self._log),
        )
        task.add_to_task_role_policy(
            iam.PolicyStatement(actions=["s3:PutObject"], resources=[self._outbox.arn_for_objects(f"{job}/*")])
        )
        return task

    def _reminders(self) -> sqs.Queue:
        """What nobody takes within the hour is not worth a reminder any more."""
        return sqs.Queue(
            self,
            "Reminders",
            fifo=True,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=cdk.Duration.hours(1),
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
    """Synthesize the app."""
    app = cdk.App()
    DailyDigest(app, "CronceDailyDigest")
    app.synth()


if __name__ == "__main__":
    main()
