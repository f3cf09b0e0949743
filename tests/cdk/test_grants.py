"""What the constructs grant, to whom, and that they take part in CDK's own grants."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs

from cronce_cdk import ConstructConfigError, PinnedScheduler, RunLedger
from tests.cdk.shop import Shop, fargate_task, new_shop

EXEC = {f"ssmmessages:{verb}{kind}Channel" for verb in ("Create", "Open") for kind in ("Control", "Data")}


def _statements(stack: cdk.Stack, owner: str) -> list[dict[str, Any]]:
    resources = assertions.Template.from_stack(stack).to_json()["Resources"]
    return [
        statement
        for name, each in resources.items()
        if each["Type"] in ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy") and name.startswith(owner)
        for statement in each["Properties"]["PolicyDocument"]["Statement"]
    ]


def _allows(stack: cdk.Stack, owner: str) -> set[str]:
    actions: set[str] = set()
    for statement in _statements(stack, owner):
        action = statement["Action"]
        actions |= {action} if isinstance(action, str) else {*action}
    return actions


def test_a_task_into_which_commands_are_sent_may_open_their_channels(shop: Shop) -> None:
    """Once for two jobs of a role; without the flag not at all."""
    shop.job(enable_execute_command=True)
    shop.job("second", enable_execute_command=True)
    shop.job("third", task_definition=fargate_task(shop.stack, "Other"))
    granting = [each for each in _statements(shop.stack, "TaskTaskRole") if {*each["Action"]} == EXEC]
    assert [each["Resource"] for each in granting] == ["*"]
    assert _allows(shop.stack, "OtherTaskRole").isdisjoint(EXEC)


def test_a_job_is_a_grantee_and_a_peer(shop: Shop) -> None:
    """`queue.grant_send_messages(job)`; `database.connections.allow_from(job, port)`."""
    job = shop.job()
    sqs.Queue(shop.stack, "Queue").grant_send_messages(job)
    database = ec2.SecurityGroup(shop.stack, "Database", vpc=shop.cluster.vpc)
    peer = ec2.Connections(security_groups=[database], default_port=ec2.Port.tcp(5432))
    peer.allow_default_port_from(job)
    assert "sqs:SendMessage" in _allows(shop.stack, "TaskTaskRole")
    assert len(shop.resources("AWS::EC2::SecurityGroupIngress")) == 1


def test_a_clock_is_a_grantee_and_a_peer(shop: Shop) -> None:
    """The same."""
    clock = PinnedScheduler(
        shop.stack,
        "Clock",
        ledger=shop.ledger,
        cluster=shop.cluster,
        image=ecs.ContainerImage.from_registry("clock:1"),
        command=["beat"],
    )
    sqs.Queue(shop.stack, "Queue").grant_send_messages(clock)
    database = ec2.SecurityGroup(shop.stack, "Database", vpc=shop.cluster.vpc)
    ec2.Connections(security_groups=[database], default_port=ec2.Port.tcp(5432)).allow_default_port_from(clock)
    assert "sqs:SendMessage" in _allows(shop.stack, "ClockTaskTaskRole")
    assert len(shop.resources("AWS::EC2::SecurityGroupIngress")) == 1


def test_a_task_on_its_hosts_network_is_no_peer(shop: Shop) -> None:
    """The error is in words also where jsii asks."""
    task_definition = ecs.Ec2TaskDefinition(shop.stack, "OnEc2")
    task_definition.add_container("app", image=ecs.ContainerImage.from_registry("x"), memory_limit_mib=64)
    job = shop.job(task_definition=task_definition)
    database = ec2.SecurityGroup(shop.stack, "Database", vpc=shop.cluster.vpc)
    peer = ec2.Connections(security_groups=[database], default_port=ec2.Port.tcp(5432))
    with pytest.raises(Exception, match="a task in the network mode awsvpc"):
        peer.allow_default_port_from(job)


def test_on_call_may_release_and_follow(shop: Shop) -> None:
    """`cronce release` writes the job's row; `rerun --follow` looks at the task."""
    job = shop.job()
    shop.ledger.grant_release(iam.ManagedPolicy(shop.stack, "Releases"), "digest")
    job.grant_run(iam.ManagedPolicy(shop.stack, "Runs"))
    [statement] = _statements(shop.stack, "Releases")
    assert statement["Action"] == ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"]
    assert statement["Condition"] == {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["digest"]}}
    assert "ecs:DescribeTasks" in _allows(shop.stack, "Runs")


def _many_jobs(shop: Shop, count: int) -> None:
    for number in range(count):
        shop.job(f"{number:060}")


@pytest.mark.slow
@pytest.mark.parametrize(("count", "fits"), [(150, True), (170, False)])
def test_a_role_with_too_many_jobs_is_refused_with_numbers(count: int, *, fits: bool) -> None:
    """IAM takes 10,240 characters of inline policies; CloudFormation would fail in the middle."""
    shop = new_shop()
    _many_jobs(shop, count)
    if fits:
        assertions.Template.from_stack(shop.stack)
        return
    with pytest.raises(RuntimeError, match=r"\d{5} characters in the inline policies of Stack/Task/TaskRole") as caught:
        assertions.Template.from_stack(shop.stack)
    assert "at most 10240" in str(caught.value)
    assert str(caught.value).count("inline policies") == 1


def test_a_task_role_that_takes_no_policies_is_doubtful(shop: Shop) -> None:
    """The task would be denied its claim."""
    role = iam.Role(shop.stack, "Closed", assumed_by=iam.ServicePrincipal("ecs-tasks.amazonaws.com"))
    task_definition = ecs.FargateTaskDefinition(shop.stack, "Own", task_role=role.without_policy_updates())
    task_definition.add_container(
        "app", image=ecs.ContainerImage.from_registry("x"), logging=ecs.LogDrivers.aws_logs(stream_prefix="x")
    )
    shop.job(task_definition=task_definition)
    assert shop.warnings() == {"cronce:task-role-not-granted"}


def test_events_of_other_accounts_invoke_nothing(shop: Shop) -> None:
    """A bus may take events of other accounts; a rule names its own."""
    PinnedScheduler(
        shop.stack,
        "Clock",
        ledger=shop.ledger,
        cluster=shop.cluster,
        image=ecs.ContainerImage.from_registry("clock:1"),
        command=["beat"],
    )
    patterns = [
        each["Properties"]["EventPattern"]
        for each in shop.resources("AWS::Events::Rule").values()
        if "EventPattern" in each["Properties"]
    ]
    assert [each["account"] for each in patterns] == [["111122223333"]] * 2


def test_a_dead_letter_that_cannot_be_settled_ends_in_a_queue_of_its_own(shop: Shop) -> None:
    """After a hundred receives, some ten hours; it is kept for 14 days and counted."""
    queues = {name: each["Properties"] for name, each in shop.resources("AWS::SQS::Queue").items()}
    [(unsettled, last)] = [(name, each) for name, each in queues.items() if "RedrivePolicy" not in each]
    [first] = [each for each in queues.values() if "RedrivePolicy" in each]
    assert first["RedrivePolicy"] == {
        "deadLetterTargetArn": {"Fn::GetAtt": [unsettled, "Arn"]},
        "maxReceiveCount": 100,
    }
    assert last["MessageRetentionPeriod"] == 14 * 24 * 3600
    assert shop.stack.resolve(shop.ledger.metric_unsettled().dimensions) == {
        "QueueName": {"Fn::GetAtt": [unsettled, "QueueName"]}
    }


def test_a_ledger_known_by_its_name_has_that_queue_too() -> None:
    """By the name that follows from the table's."""
    stack = cdk.Stack(cdk.App(), "Stack")
    ledger = RunLedger.from_table_name(stack, "Ledger", table_name="my.runs")
    assert ledger.metric_unsettled().dimensions == {
        "QueueName": RunLedger.from_table_name(stack, "Other", table_name="my.runs").unsettled_queue.queue_name
    }


def test_a_cluster_by_arn_is_enough_with_subnets_and_groups(shop: Shop) -> None:
    """Nothing is asked of its VPC."""
    cluster = ecs.Cluster.from_cluster_arn(shop.stack, "ByArn", "arn:aws:ecs:eu-west-1:111122223333:cluster/main")
    subnet = ec2.Subnet.from_subnet_id(shop.stack, "Subnet", "subnet-0a1b2c3d4e5f60009")
    group = ec2.SecurityGroup.from_security_group_id(shop.stack, "Group", "sg-0a1b2c3d4e5f60009")
    shop.job(cluster=cluster, vpc_subnets=ec2.SubnetSelection(subnets=[subnet]), security_groups=[group])
    assert shop.ecs_parameters()["NetworkConfiguration"]["AwsvpcConfiguration"] == {
        "AssignPublicIp": "DISABLED",
        "SecurityGroups": ["sg-0a1b2c3d4e5f60009"],
        "Subnets": ["subnet-0a1b2c3d4e5f60009"],
    }


@pytest.mark.parametrize("missing", ["vpc_subnets", "security_groups"])
def test_a_cluster_by_arn_needs_both(shop: Shop, missing: str) -> None:
    """The error names what is missing."""
    cluster = ecs.Cluster.from_cluster_arn(shop.stack, "ByArn", "arn:aws:ecs:eu-west-1:111122223333:cluster/main")
    given: dict[str, Any] = {
        "vpc_subnets": ec2.SubnetSelection(subnets=[ec2.Subnet.from_subnet_id(shop.stack, "Subnet", "subnet-1")]),
        "security_groups": [ec2.SecurityGroup.from_security_group_id(shop.stack, "Group", "sg-1")],
    }
    del given[missing]
    with pytest.raises(ConstructConfigError) as caught:
        shop.job(cluster=cluster, **given)
    assert caught.value.argument == {"vpc_subnets": "cluster"}.get(missing, missing)
    assert missing.replace("_", " ") in caught.value.allowed.replace("_", " ")


def test_a_clock_in_a_cluster_by_arn_is_refused_in_words(shop: Shop) -> None:
    """CDK's service asks for the VPC."""
    cluster = ecs.Cluster.from_cluster_arn(shop.stack, "ByArn", "arn:aws:ecs:eu-west-1:111122223333:cluster/main")
    with pytest.raises(ConstructConfigError) as caught:
        PinnedScheduler(
            shop.stack,
            "Clock",
            ledger=shop.ledger,
            cluster=cluster,
            image=ecs.ContainerImage.from_registry("clock:1"),
            command=["beat"],
        )
    assert caught.value.argument == "cluster"
    assert "VPC" in caught.value.allowed
