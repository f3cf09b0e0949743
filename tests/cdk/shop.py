"""Small stacks to put constructs into, and how to read what became of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import aws_cdk as cdk
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_events as events
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs

from cronce import CatchUp
from cronce_cdk import (
    ClockJob,
    CommandTarget,
    EventTarget,
    LambdaTarget,
    RunLedger,
    ScheduledTask,
    SqsTarget,
    TaskTarget,
)

PRIVATE_SUBNET, PUBLIC_SUBNET = "subnet-0a1b2c3d4e5f60001", "subnet-0a1b2c3d4e5f60002"
ENVIRONMENT = cdk.Environment(account="111122223333", region="eu-west-1")


@dataclass(kw_only=True)
class Shop:
    """A stack with a cluster, a Fargate task definition and a ledger.

    The network and cluster are imported ones, so that a template holds little else than what is
    looked at.
    """

    stack: cdk.Stack
    cluster: ecs.ICluster
    task_definition: ecs.FargateTaskDefinition
    ledger: RunLedger

    def job(self, construct_id: str = "digest", **changed: Any) -> ScheduledTask:  # noqa: ANN401  # any argument
        """A job as simple as it gets, with some arguments changed."""
        arguments: dict[str, Any] = {
            "ledger": self.ledger,
            "schedule": "0 6 * * *",
            "cluster": self.cluster,
            "task_definition": self.task_definition,
            **changed,
        }
        return ScheduledTask(self.stack, construct_id, **arguments)

    def resources(self, kind: str) -> dict[str, Any]:
        """The template's resources of that type, by logical ID."""
        return dict(assertions.Template.from_stack(self.stack).find_resources(kind))

    def schedule(self) -> dict[str, Any]:
        """The properties of the one schedule."""
        [found] = self.resources("AWS::Scheduler::Schedule").values()
        properties: dict[str, Any] = found["Properties"]
        return properties

    def ecs_parameters(self) -> dict[str, Any]:
        """What RunTask is told by the one schedule."""
        found: dict[str, Any] = self.schedule()["Target"]["EcsParameters"]
        return found

    def override(self) -> dict[str, Any]:
        """The container override in the Input of the one schedule; references in it as `{REF}`."""
        return container_override(self.schedule()["Target"]["Input"])

    def role_statements(self, role_id: str = "digestRole") -> list[dict[str, Any]]:
        """What the one policy of a role allows, be it the role's own or one that several have."""
        [role] = [each for name, each in self.resources("AWS::IAM::Role").items() if name.startswith(role_id)]
        managed = self.resources("AWS::IAM::ManagedPolicy")
        policies: list[dict[str, Any]] = [*role["Properties"].get("Policies", ())]
        policies += [managed[each["Ref"]]["Properties"] for each in role["Properties"].get("ManagedPolicyArns", ())]
        [policy] = policies
        statements: list[dict[str, Any]] = policy["PolicyDocument"]["Statement"]
        return statements

    def warnings(self) -> set[str]:
        """The identifiers of our own warnings."""
        found = assertions.Annotations.from_stack(self.stack).find_warning("*", assertions.Match.any_value())
        texts = [str(each.entry.data) for each in found]
        return {text.rpartition("[ack: ")[2].rstrip("]") for text in texts if "[ack: cronce:" in text}


def every_target(shop: Shop) -> dict[str, ClockJob]:
    """A clock's job for each kind of target."""
    stack = shop.stack
    queue = sqs.Queue.from_queue_arn(stack, "Queue", "arn:aws:sqs:eu-west-1:111122223333:work.fifo")
    function = lambda_.Function.from_function_arn(
        stack, "Function", "arn:aws:lambda:eu-west-1:111122223333:function:tick"
    )
    bus = events.EventBus.from_event_bus_arn(stack, "Bus", "arn:aws:events:eu-west-1:111122223333:event-bus/ticks")
    task = shop.job("Report", enabled=False)
    return {
        "to-queue": ClockJob(every=timedelta(seconds=10), target=SqsTarget(queue)),
        "to-task": ClockJob(schedule="0 6 * * *", timezone="Europe/Berlin", target=TaskTarget(task)),
        "to-function": ClockJob(schedule="rate(5 minutes)", target=LambdaTarget(function)),
        "to-bus": ClockJob(
            every=cdk.Duration.hours(1), target=EventTarget(source="clock", detail_type="Tick", bus=bus)
        ),
        "to-default-bus": ClockJob(every=timedelta(hours=1), target=EventTarget(source="clock", detail_type="Tick")),
        "to-command": ClockJob(
            schedule="cron(0/5 * * * ? *)",
            starting_deadline=timedelta(minutes=5),
            catch_up=CatchUp.LATEST,
            timeout=timedelta(seconds=10),
            backoff_limit=3,
            target=CommandTarget(["./enqueue", "{period}"]),
        ),
    }


def container_override(task_input: Any) -> dict[str, Any]:  # noqa: ANN401  # a template's value
    """The one container override of a schedule's Input."""
    if isinstance(task_input, dict):
        parts = task_input["Fn::Join"][1]
        task_input = "".join(part if isinstance(part, str) else "{REF}" for part in parts)
    [override] = json.loads(task_input)["containerOverrides"]
    found: dict[str, Any] = override
    return found


def imported_cluster(stack: cdk.Stack) -> ecs.ICluster:
    """A cluster with its VPC, both from elsewhere."""
    vpc = ec2.Vpc.from_vpc_attributes(
        stack,
        "Vpc",
        vpc_id="vpc-0a1b2c3d4e5f60718",
        availability_zones=["eu-west-1a"],
        private_subnet_ids=[PRIVATE_SUBNET],
        private_subnet_route_table_ids=["rtb-0a1b2c3d4e5f60001"],
        public_subnet_ids=[PUBLIC_SUBNET],
        public_subnet_route_table_ids=["rtb-0a1b2c3d4e5f60002"],
    )
    return ecs.Cluster.from_cluster_attributes(stack, "Cluster", cluster_name="main", vpc=vpc)


def fargate_task(stack: cdk.Stack, construct_id: str = "Task") -> ecs.FargateTaskDefinition:
    """A task definition with one container `app`, which has a log."""
    task_definition = ecs.FargateTaskDefinition(stack, construct_id)
    add_container(task_definition)
    return task_definition


def add_container(task_definition: ecs.TaskDefinition, *, memory_limit_mib: int | None = None) -> None:
    """The container `app`; elsewhere than on Fargate it needs a limit of its own."""
    task_definition.add_container(
        "app",
        image=ecs.ContainerImage.from_registry("digest:1"),
        logging=ecs.LogDrivers.aws_logs(stream_prefix="app"),
        memory_limit_mib=memory_limit_mib,
    )


def new_shop(
    app: cdk.App | None = None, name: str = "Stack", *, env: cdk.Environment | None = ENVIRONMENT, board: bool = False
) -> Shop:
    """A shop of its own."""
    stack = cdk.Stack(app or cdk.App(), name, env=env)
    return Shop(
        stack=stack,
        cluster=imported_cluster(stack),
        task_definition=fargate_task(stack),
        ledger=RunLedger(stack, "Ledger", board=board),
    )
