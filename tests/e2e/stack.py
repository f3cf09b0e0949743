"""What the lane deploys: the ledger, and the two digests as scheduled tasks."""

from __future__ import annotations

import os

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from constructs import Construct

from cronce_cdk import RunLedger, ScheduledTask
from tests.e2e.names import IMAGE, STACK

COMMANDS = {
    "daily-digest": ("python", "-m", "digest"),
    "shell-digest": ("cronce", "exec", "--", "./digest.sh"),
}
"""The command of each job."""


class EndToEnd(cdk.Stack):
    """The stack under test."""

    def __init__(self, scope: Construct, construct_id: str, *, image: str) -> None:
        super().__init__(scope, construct_id)
        public = ec2.SubnetConfiguration(name="public", subnet_type=ec2.SubnetType.PUBLIC)
        vpc = ec2.Vpc(self, "Vpc", max_azs=2, nat_gateways=0, subnet_configuration=[public])
        cluster = ecs.Cluster(self, "Cluster", vpc=vpc)
        # Versioned, so that a mail that was sent twice can be told from one that was sent once.
        outbox = s3.Bucket(self, "Outbox", versioned=True)
        log = logs.LogGroup(self, "Log")
        ledger = RunLedger(self, "Ledger", clusters=[cluster])
        schedules = {}
        for job, command in COMMANDS.items():
            task = ecs.FargateTaskDefinition(self, f"{job}-task", cpu=256, memory_limit_mib=512)
            task.add_container(
                "digest",
                image=ecs.ContainerImage.from_registry(image),
                logging=ecs.LogDrivers.aws_logs(stream_prefix=job, log_group=log),
                environment={"DIGEST_BUCKET": outbox.bucket_name},
            )
            outbox.grant_put(task.task_role, f"{job}/*")
            scheduled = ScheduledTask(
                self,
                job,
                ledger=ledger,
                schedule="0 6 * * *",
                cluster=cluster,
                task_definition=task,
                command=command,
                assign_public_ip=True,
                backoff_limit=2,
            )
            schedules[job] = scheduled.schedule_name
        outputs = {
            "ClusterName": cluster.cluster_name,
            "LedgerUrl": ledger.table_url,
            "LogGroupName": log.log_group_name,
            "OutboxName": outbox.bucket_name,
            "ScheduleGroupName": ledger.schedule_group.schedule_group_name,
            "Schedules": self.to_json_string(schedules),
        }
        for name, value in outputs.items():
            cdk.CfnOutput(self, name, value=value)


def main() -> None:
    """Synthesize the stack."""
    app = cdk.App()
    EndToEnd(app, STACK, image=os.environ[IMAGE])
    app.synth()


if __name__ == "__main__":
    main()
