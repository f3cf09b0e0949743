"""The limits that the constructs check are those of the service models that botocore ships."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from botocore.loaders import Loader

from cronce.vocabulary import metrics, names
from cronce_cdk import ConstructConfigError, PinnedScheduler, RunLedger, ScheduledTask, _limits
from cronce_cdk import _timing as timing
from tests.cdk.shop import Shop


def model_shape(service: str, name: str) -> dict[str, Any]:
    """A shape of the service model that botocore ships."""
    shapes: dict[str, Any] = Loader().load_service_model(service, "service-2")["shapes"]
    found: dict[str, Any] = shapes[name]
    return found


@pytest.mark.parametrize(
    ("service", "shape", "bound", "ours"),
    [
        ("scheduler", "Description", "max", _limits.DESCRIPTION),
        ("scheduler", "Tags", "max", _limits.TAGS),
        ("scheduler", "TagKey", "max", _limits.TAG_KEY),
        ("scheduler", "TagValue", "max", _limits.TAG_VALUE),
        ("scheduler", "CapacityProviderStrategy", "max", _limits.PROVIDERS),
        ("scheduler", "CapacityProviderStrategyItemWeight", "max", _limits.WEIGHT),
        ("scheduler", "CapacityProviderStrategyItemBase", "max", _limits.BASE),
        ("scheduler", "SecurityGroups", "max", _limits.SECURITY_GROUPS),
        ("scheduler", "Subnets", "max", _limits.SUBNETS),
        ("scheduler", "Name", "max", names.MAX_SCHEDULE_NAME),
        ("scheduler", "MaximumEventAgeInSeconds", "max", timing._LONGEST_RETRY.total_seconds()),
        ("scheduler", "MaximumEventAgeInSeconds", "min", timing._SHORTEST_RETRY.total_seconds()),
        ("scheduler", "MaximumRetryAttempts", "max", timing._MOST_RETRIES),
        ("scheduler", "MaximumWindowInMinutes", "max", 24 * 60),
        ("scheduler", "ScheduleExpressionTimezone", "max", _limits.TIMEZONE),
        ("ecs", "TagKey", "max", _limits.TAG_KEY),
        ("ecs", "TagValue", "max", _limits.TAG_VALUE),
        ("ecs", "Tags", "max", _limits.TAGS),
        ("events", "EventPattern", "max", _limits.EVENT_PATTERN),
        ("ecs", "CapacityProviderStrategyItemWeight", "max", _limits.WEIGHT),
        ("ecs", "CapacityProviderStrategyItemBase", "max", _limits.BASE),
        ("cloudwatch", "DimensionValue", "max", len(metrics.dimension_value("x" * 5000))),
    ],
)
def test_a_limit_is_that_of_the_service(service: str, shape: str, bound: str, ours: float) -> None:
    """None is kept by hand."""
    assert model_shape(service, shape)[bound] == ours


def test_patterns_are_those_of_the_services() -> None:
    """Character by character, for the first 256."""
    every = [chr(code) for code in range(256)]
    table = model_shape("dynamodb", "TableName")
    of_service = re.compile(table["pattern"])
    assert (table["min"], table["max"]) == (3, 255)
    for character in every:
        assert bool(_limits.TABLE_NAME.fullmatch(3 * character)) == bool(of_service.fullmatch(3 * character))
    assert model_shape("ecs", "TagKey")["pattern"] == r"([\p{L}\p{Z}\p{N}_.:/=+\-@]*)"
    in_tags = [c for c in every if unicodedata.category(c)[0] in "LZN" or c in "_.:/=+-@"]
    assert [c for c in every if _limits.TAG_TEXT.fullmatch(c)] == in_tags
    policy = re.compile(model_shape("iam", "policyDocumentType")["pattern"])
    assert [c for c in every if bool(_limits.POLICY_TEXT.fullmatch(c)) != bool(policy.fullmatch(c))] == []
    assert not _limits.POLICY_TEXT.fullmatch("\u0100")


def test_what_the_functions_and_rules_are_given_fits_the_models(shop: Shop) -> None:
    """SQS's model has no limits, and Lambda's none for the whole of the variables."""
    shapes = {"MemorySize": "MemorySize", "Timeout": "Timeout", "Description": "Description"}
    functions = [each["Properties"] for each in shop.resources("AWS::Lambda::Function").values()]
    ours = [each for each in functions if each["Handler"].startswith("cronce_lambdas.")]
    assert len(ours) == 2
    for function in ours:
        for name, shape in shapes.items():
            limits, value = model_shape("lambda", shape), function[name]
            assert limits["min"] <= (len(value) if isinstance(value, str) else value) <= limits["max"]
    for rule in shop.resources("AWS::Events::Rule").values():
        assert len(rule["Properties"]["Description"]) <= model_shape("events", "RuleDescription")["max"]


GROUPS = 6


@pytest.mark.parametrize(
    ("argument", "value", "allowed"),
    [
        ("description", "x" * 513, "at most 512"),
        ("description", 7, "text"),
        ("tags", {f"t{n}": "v" for n in range(51)}, "at most 50"),
        ("tags", {"aws:team": "v"}, "aws:"),
        ("tags", {"AWS:team": "v"}, "aws:"),
        ("tags", {"k" * 129: "v"}, "1 to 128"),
        ("tags", {"k": "v" * 257}, "1 to 256"),
        ("tags", {"k": ""}, "1 to 256"),
        ("tags", {"k": "a*b"}, "letters, digits"),
        ("tags", ["team"], "a mapping"),
        ("environment", [("A", "b")], "a mapping"),
        ("environment", "A=b", "a mapping"),
        ("capacity_provider_strategies", [("FARGATE", 1001, None)], "a weight from 0 to 1000"),
        ("capacity_provider_strategies", [("FARGATE", -1, None)], "a weight from 0 to 1000"),
        ("capacity_provider_strategies", [("FARGATE", 1, 100_001)], "a base from 0 to 100000"),
        ("capacity_provider_strategies", [("mine", 1, None)], "FARGATE or FARGATE_SPOT"),
        ("capacity_provider_strategies", [None], "a list of ecs.CapacityProviderStrategy"),
        ("capacity_provider_strategies", ["FARGATE_SPOT"], "a list of ecs.CapacityProviderStrategy"),
        ("capacity_provider_strategies", "FARGATE_SPOT", "a list of ecs.CapacityProviderStrategy"),
        ("security_groups", [None], "a list of ec2 security groups"),
        ("security_groups", ["sg-1"], "a list of ec2 security groups"),
        ("security_groups", "sg-1", "a list of ec2 security groups"),
        ("vpc_subnets", "subnet-1", "SubnetSelection"),
        ("launch_type", "FARGATE", "LaunchType"),
        ("platform_version", "1.4.0", "FargatePlatformVersion"),
        ("enabled", "yes", "True or False"),
        ("enabled", None, "True or False"),
        ("metrics", 1, "True or False"),
        ("assign_public_ip", "yes", "True or False"),
        ("propagate_tags", "TASK_DEFINITION", "True or False"),
        ("enable_execute_command", None, "True or False"),
        ("container_name", "", "the name of a container"),
        ("container_name", 7, "the name of a container"),
        ("job", "日報", "U+00FF"),
        ("command", {"a": "b"}, "a list of at least one word"),
    ],
)
def test_a_value_that_aws_refuses_is_refused_at_synth(
    try_job: Callable[..., ScheduledTask],
    argument: str,
    value: object,
    allowed: str,
) -> None:
    """And a value of the wrong kind gets the own error, not jsii's."""
    if isinstance(value, list) and isinstance(value[0], tuple) and argument == "capacity_provider_strategies":
        value = [ecs.CapacityProviderStrategy(capacity_provider=p, weight=w, base=b) for p, w, b in value]
    with pytest.raises(ConstructConfigError) as caught:
        try_job(**{argument: value})
    assert caught.value.argument == argument
    assert allowed in caught.value.allowed


def test_six_security_groups_are_refused(shop: Shop) -> None:
    """An interface has five."""
    groups = [ec2.SecurityGroup.from_security_group_id(shop.stack, f"G{n}", f"sg-{n}") for n in range(GROUPS)]
    with pytest.raises(ConstructConfigError, match="at most 5 groups"):
        shop.job(security_groups=groups)
    shop.job("five", security_groups=groups[:5])


@pytest.mark.parametrize("value", ["Ünïcode 日本 _.:/=+-@", "x" * 256])
def test_what_a_tag_may_hold_is_taken(try_job: Callable[..., ScheduledTask], value: str) -> None:
    """Letters of every script."""
    try_job(tags={"team": value})


@pytest.mark.parametrize(("count", "fits"), [(40, True), (70, False)])
def test_an_event_pattern_that_is_too_long_is_refused(shop: Shop, count: int, *, fits: bool) -> None:
    """Of 70 clusters' ARNs; the error says what is allowed."""
    arn = "arn:aws:ecs:eu-west-1:111122223333:cluster/"
    clusters = [ecs.Cluster.from_cluster_arn(shop.stack, f"C{n}", f"{arn}cluster-{n:014}") for n in range(count)]
    if fits:
        RunLedger(shop.stack, "Other", clusters=clusters)
        return
    with pytest.raises(ConstructConfigError, match="4096 characters") as caught:
        RunLedger(shop.stack, "Other", clusters=clusters)
    assert caught.value.argument == "clusters"


def test_more_clocks_than_a_functions_environment_holds_are_refused(shop: Shop) -> None:
    """Lambda takes 4 KB of variables in all."""
    image = ecs.ContainerImage.from_registry("web:1")

    def clock(number: int) -> None:
        PinnedScheduler(
            shop.stack,
            f"Clock{number}",
            ledger=shop.ledger,
            cluster=shop.cluster,
            image=image,
            job=f"clock-{number}-{'x' * 1000}",
            command=["beat"],
        )

    for number in range(3):
        clock(number)
    with pytest.raises(ConstructConfigError, match="4096 bytes") as caught:
        clock(3)
    assert caught.value.argument == "ledger"
