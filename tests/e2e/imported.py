"""What the lane deploys of `cronce import`: the classes that it wrote, in a stack with a ledger."""

from __future__ import annotations

import inspect
import os
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs

from cronce_cdk import RunLedger
from tests.e2e import names


def main() -> None:
    """Synthesize a stack with every module's jobs."""
    app = cdk.App()
    stack = cdk.Stack(app, names.IMPORTED)
    public = ec2.SubnetConfiguration(name="public", subnet_type=ec2.SubnetType.PUBLIC)
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2, nat_gateways=0, subnet_configuration=[public])
    task = ecs.FargateTaskDefinition(stack, "Task")
    task.add_container(
        "app",
        image=ecs.ContainerImage.from_registry(os.environ[names.IMAGE]),
        logging=ecs.LogDrivers.aws_logs(stream_prefix="run"),
    )
    ledger = RunLedger(stack, "Ledger")
    given: dict[str, Any] = {
        "ledger": ledger,
        "cluster": ecs.Cluster(stack, "Cluster", vpc=vpc),
        "task_definitions": {"digest": task},
        "guard_image": ecs.ContainerImage.from_registry(names.GUARD_IMAGE),
        "assign_public_ip": True,
    }
    for number, file in enumerate(os.environ[names.IMPORTED_FILES].split(os.pathsep)):
        written: dict[str, Any] = {"__name__": f"imported_{number}"}
        exec(compile(Path(file).read_text(), file, "exec"), written)
        made = written["ImportedJobs"]
        wanted = inspect.signature(made.__init__).parameters.keys() & given.keys()
        made(stack, f"Jobs{number}", **{name: given[name] for name in wanted})
    cdk.CfnOutput(stack, "LedgerUrl", value=ledger.table_url)
    cdk.CfnOutput(stack, "ScheduleGroupName", value=ledger.schedule_group.schedule_group_name)
    app.synth()


if __name__ == "__main__":
    main()
