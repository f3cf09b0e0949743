"""How the functions of a ledger run, as people set it for all of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from cronce_cdk import ConstructConfigError, FunctionSettings, RunLedger
from cronce_cdk.function_settings import checked_settings
from tests.cdk.test_limits import model_shape
from tests.cdk.test_sweep import raw_error, values_of_every_kind

if TYPE_CHECKING:
    from tests.cdk.shop import Shop

KEY = "lambda:SourceFunctionArn"
ATTACHING = {
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:AssignPrivateIpAddresses",
    "ec2:UnassignPrivateIpAddresses",
}


def _vpc(shop: Shop, name: str = "Net", **changed: Any) -> ec2.IVpc:  # noqa: ANN401  # any attribute
    attributes: dict[str, Any] = {
        "vpc_id": "vpc-0a1b2c3d4e5f60001",
        "availability_zones": ["eu-west-1a"],
        "private_subnet_ids": ["subnet-0a1b2c3d4e5f60001"],
        "public_subnet_ids": ["subnet-0a1b2c3d4e5f60002"],
        "isolated_subnet_ids": ["subnet-0a1b2c3d4e5f60003"],
        **changed,
    }
    return ec2.Vpc.from_vpc_attributes(shop.stack, name, **attributes)


def _of(shop: Shop, kind: str, ledger_id: str = "Set") -> list[dict[str, Any]]:
    return [each for name, each in shop.resources(kind).items() if name.startswith(ledger_id)]


def _made(shop: Shop, **settings: Any) -> RunLedger:  # noqa: ANN401  # any field
    ledger = RunLedger(shop.stack, "Set", functions=FunctionSettings(**settings))
    assert ledger.rerun_function.node.id == "Function"  # created when it is first asked for
    return ledger


def _plain(properties: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in properties.items() if isinstance(value, int | str)}


def test_each_function_has_what_is_set(shop: Shop) -> None:
    """The recorder's queue hides a message for six times its timeout, whatever that is."""
    _made(
        shop,
        memory_size=1024,
        recorder_timeout=cdk.Duration.seconds(90),
        watchdog_timeout=timedelta(minutes=2),
        rerun_timeout=timedelta(seconds=45),
        reserved_concurrency=3,
        runtime=lambda_.Runtime.PYTHON_3_14,
        architecture=lambda_.Architecture.ARM_64,
        log_retention=logs.RetentionDays.ONE_YEAR,
        log_removal_policy=cdk.RemovalPolicy.RETAIN,
    )
    functions = [each["Properties"] for each in _of(shop, "AWS::Lambda::Function")]
    assert {each["Handler"].split(".")[1]: each["Timeout"] for each in functions} == {
        "recorder": 90,
        "watchdog": 120,
        "rerun": 45,
    }
    for function in functions:
        told = {name: function[name] for name in ("MemorySize", "ReservedConcurrentExecutions", "Runtime")}
        assert told == {"MemorySize": 1024, "ReservedConcurrentExecutions": 3, "Runtime": "python3.14"}
        assert function["Architectures"] == ["arm64"]
        assert "VpcConfig" not in function
    groups = _of(shop, "AWS::Logs::LogGroup")
    assert [(each["Properties"]["RetentionInDays"], each["DeletionPolicy"]) for each in groups] == [(365, "Retain")] * 3
    queues = [each["Properties"] for each in _of(shop, "AWS::SQS::Queue")]
    assert {each["VisibilityTimeout"] for each in queues if "RedrivePolicy" in each} == {540}


def test_nothing_set_is_the_template_of_before(shop: Shop) -> None:
    """Defaults are said once, and change no template."""
    RunLedger(shop.stack, "Set", functions=FunctionSettings())
    RunLedger(shop.stack, "Not")
    for kind in ("AWS::Lambda::Function", "AWS::Logs::LogGroup"):
        told = [
            [
                {k: v for k, v in each["Properties"].items() if isinstance(v, int | str)}
                for each in _of(shop, kind, name)
            ]
            for name in ("Set", "Not")
        ]
        assert told[0] == told[1] != []


def test_in_a_vpc_lambda_may_attach_the_function_and_its_code_may_not(shop: Shop) -> None:
    """One security group for all functions, without incoming traffic."""
    _made(shop, vpc=_vpc(shop))
    [group] = [name for name in shop.resources("AWS::EC2::SecurityGroup") if name.startswith("Set")]
    assert "SecurityGroupIngress" not in shop.resources("AWS::EC2::SecurityGroup")[group]["Properties"]
    functions = [each["Properties"] for each in _of(shop, "AWS::Lambda::Function")]
    assert [each["VpcConfig"] for each in functions] == 3 * [
        {
            "SecurityGroupIds": [{"Fn::GetAtt": [group, "GroupId"]}],
            "SubnetIds": ["subnet-0a1b2c3d4e5f60001"],
        }
    ]
    for role in _of(shop, "AWS::IAM::Role"):
        [policy] = role["Properties"]["Policies"]
        assert "ManagedPolicyArns" not in role["Properties"]
        ours = [each for each in policy["PolicyDocument"]["Statement"] if "ec2:" in str(each["Action"])]
        assert [(each["Effect"], {*each["Action"]}, each["Resource"]) for each in ours] == [
            ("Allow", ATTACHING, "*"),
            ("Deny", ATTACHING, "*"),
        ]
        assert "Condition" not in ours[0]
        [(operator, condition)] = ours[1]["Condition"].items()
        assert (operator, [*condition]) == ("ArnLike", [KEY])
        assert condition[KEY]["Fn::Join"][1][-1] == ":lambda:eu-west-1:111122223333:function:*"
    assert shop.warnings() == set()


def test_the_security_groups_and_subnets_that_are_given_are_taken(shop: Shop) -> None:
    """Then none is created."""
    groups = [ec2.SecurityGroup.from_security_group_id(shop.stack, "Group", "sg-1")]
    isolated = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED)
    _made(shop, vpc=_vpc(shop), vpc_subnets=isolated, security_groups=groups)
    assert _of(shop, "AWS::EC2::SecurityGroup") == []
    functions = [each["Properties"] for each in _of(shop, "AWS::Lambda::Function")]
    assert functions[0]["VpcConfig"] == {"SecurityGroupIds": ["sg-1"], "SubnetIds": ["subnet-0a1b2c3d4e5f60003"]}
    assert shop.warnings() == {"cronce:functions-in-isolated-subnets"}


NOWHERE = {"availability_zones": ["eu-west-1a"], "vpc_id": "vpc-1"}

WRONG: list[tuple[str, Callable[[Shop], dict[str, object]], str]] = [
    ("memory_size", lambda _: {"memory_size": 127}, "128 to 10240"),
    ("memory_size", lambda _: {"memory_size": 10_241}, "128 to 10240"),
    ("recorder_timeout", lambda _: {"recorder_timeout": timedelta(seconds=9)}, "10s to 15m"),
    ("watchdog_timeout", lambda _: {"watchdog_timeout": timedelta(seconds=901)}, "10s to 15m"),
    ("rerun_timeout", lambda _: {"rerun_timeout": timedelta(seconds=10.5)}, "whole seconds"),
    ("reserved_concurrency", lambda _: {"reserved_concurrency": 1}, "at least 2"),
    ("runtime", lambda _: {"runtime": lambda_.Runtime.PYTHON_3_10}, "python3.11"),
    ("runtime", lambda _: {"runtime": lambda_.Runtime.NODEJS_22_X}, "python3.11"),
    ("log_removal_policy", lambda _: {"log_removal_policy": cdk.RemovalPolicy.SNAPSHOT}, "DESTROY or RETAIN"),
    ("vpc_subnets", lambda _: {"vpc_subnets": ec2.SubnetSelection()}, "without functions.vpc"),
    (
        "security_groups",
        lambda shop: {"security_groups": [ec2.SecurityGroup.from_security_group_id(shop.stack, "Alone", "sg-1")]},
        "without functions.vpc",
    ),
    (
        "security_groups",
        lambda shop: {
            "vpc": _vpc(shop, "Six"),
            "security_groups": [
                ec2.SecurityGroup.from_security_group_id(shop.stack, f"G{n}", f"sg-{n}") for n in range(6)
            ],
        },
        "at most 5",
    ),
    (
        "vpc_subnets",
        lambda shop: {
            "vpc": _vpc(shop, "Public"),
            "vpc_subnets": ec2.SubnetSelection(subnet_type=ec2.SubnetType.PUBLIC),
        },
        "private subnets",
    ),
    (
        "vpc_subnets",
        lambda shop: {
            "vpc": ec2.Vpc.from_vpc_attributes(shop.stack, "Bare", **NOWHERE),  # type: ignore[arg-type]
            "vpc_subnets": ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED),
        },
        "subnets of that VPC",
    ),
    ("vpc", lambda shop: {"vpc": _vpc(shop, "Elsewhere", region="eu-central-1")}, "the same region"),
]


@pytest.mark.parametrize(("field", "settings", "allowed"), WRONG)
def test_what_can_never_work_is_refused(
    shared_shop: Shop, field: str, settings: Callable[[Shop], dict[str, object]], allowed: str
) -> None:
    """Where it is written, and in words."""
    wrong: dict[str, Any] = settings(shared_shop)
    with pytest.raises(ConstructConfigError, match=f"functions.{field}") as caught:
        RunLedger(shared_shop.stack, f"No{len(shared_shop.stack.node.children)}", functions=FunctionSettings(**wrong))
    assert allowed in caught.value.allowed


@pytest.mark.parametrize("field", [each.name for each in dataclasses.fields(FunctionSettings)])
def test_a_field_of_any_kind_works_or_gets_our_own_error(shared_shop: Shop, field: str) -> None:
    """As every argument of the constructs."""
    needs = {"vpc_subnets": "vpc", "security_groups": "vpc"}
    vpc = shared_shop.cluster.vpc
    found = {}
    for name, value in values_of_every_kind(shared_shop).items():
        settings: dict[str, Any] = {needs[field]: vpc} if field in needs else {}
        scope = Construct(shared_shop.stack, f"Any{len(shared_shop.stack.node.children)}")
        found[name] = raw_error(
            lambda scope=scope, settings=settings | {field: value}: checked_settings(  # type: ignore[misc]  # in the loop
                scope, FunctionSettings(**settings)
            )
        )
    assert {name: raw for name, raw in found.items() if raw} == {}


def test_the_limits_are_those_of_lambda() -> None:
    """Its model may take more than its quotas; never less."""
    from cronce_cdk import _limits  # noqa: PLC0415  # only here

    least, most = _limits.FUNCTION_MEMORY
    assert model_shape("lambda", "MemorySize")["min"] == least
    assert model_shape("lambda", "MemorySize")["max"] >= most
    assert model_shape("lambda", "MaximumConcurrency")["min"] == _limits.QUEUE_READERS
    assert model_shape("lambda", "SubnetIds")["max"] == _limits.FUNCTION_SUBNETS
    assert model_shape("lambda", "SecurityGroupIds")["max"] == _limits.SECURITY_GROUPS
