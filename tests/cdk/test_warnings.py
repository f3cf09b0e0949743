"""What is doubtful is said, with an identifier to acknowledge it by; what is fine is not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs

from cronce import CatchUp, Policy
from cronce_cdk import PinnedScheduler
from tests.cdk.shop import Shop

PUBLIC = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PUBLIC)


def test_a_plain_job_has_no_warning(shop: Shop) -> None:
    """None at all, CDK's own included."""
    shop.job()
    found = assertions.Annotations.from_stack(shop.stack).find_warning("*", assertions.Match.any_value())
    assert [each.entry.data for each in found] == []


@pytest.mark.parametrize(
    ("identifier", "doubtful", "fine"),
    [
        (
            "lost-to-daylight-saving",
            {"schedule": "30 2 * * *", "timezone": "America/New_York"},
            {"schedule": "30 3 * * *", "timezone": "America/New_York"},
        ),
        (
            "lost-to-daylight-saving",
            {"schedule": "cron(30 2 ? * SUN *)", "timezone": "Europe/Berlin"},
            {"schedule": "cron(30 2 ? * MON *)", "timezone": "Europe/Berlin"},
        ),
        (
            "rate-without-start",
            {"schedule": "rate(5 minutes)"},
            {"schedule": "rate(5 minutes)", "start": datetime(2026, 11, 29, tzinfo=UTC)},
        ),
        ("rate-without-start", {"schedule": "rate(1 day)"}, {"schedule": "rate(1 day)", "enabled": False}),
        ("schedule-is-over", {"schedule": "at(2020-01-01T00:00:00)"}, {"schedule": "at(2126-01-01T00:00:00)"}),
        ("schedule-is-over", {"schedule": "cron(0 6 * * ? 2025)"}, {"schedule": "cron(0 6 * * ? 2025-2126)"}),
        (
            "starting-deadline-beyond-retries",
            {"policy": Policy(starting_deadline=timedelta(hours=24, seconds=1))},
            {"policy": Policy(starting_deadline=timedelta(hours=24))},
        ),
        (
            "starting-deadline-too-short",
            {"policy": Policy(starting_deadline=timedelta(seconds=59))},
            {"policy": Policy(starting_deadline=timedelta(minutes=1))},
        ),
        (
            "catch-up-after-the-deadline",
            {"policy": Policy(catch_up=CatchUp.ALL, starting_deadline=timedelta(minutes=6, seconds=59))},
            {"policy": Policy(catch_up=CatchUp.ALL, starting_deadline=timedelta(minutes=7))},
        ),
        ("uncertain-ticks", {"schedule": "cron(0 6 31W * ? *)"}, {"schedule": "cron(0 6 LW * ? *)"}),
        (
            "schedule-is-over",
            {"end": datetime(2026, 1, 1, tzinfo=UTC), "start": datetime(2025, 1, 1, tzinfo=UTC)},
            {"end": datetime(2126, 1, 1, tzinfo=UTC)},
        ),
        (
            "shell-ignores-sigterm",
            {"command": ["sh", "-c", "digest; report"]},
            {"command": ["sh", "-c", "exec digest"]},
        ),
        (
            "shell-ignores-sigterm",
            {"command": ["/bin/bash", "-e", "-c", "digest"]},
            {"command": ["cronce", "exec", "--", "sh", "-c", "digest"]},
        ),
        ("public-subnet-without-public-ip", {"vpc_subnets": PUBLIC}, {"vpc_subnets": PUBLIC, "assign_public_ip": True}),
    ],
)
def test_a_doubtful_argument_warns_and_its_neighbour_does_not(
    shop: Shop, identifier: str, doubtful: dict[str, Any], fine: dict[str, Any]
) -> None:
    """On both sides of the line."""
    shop.job("Fine", **fine)
    shop.job("Doubtful", **doubtful)
    assert _warned(shop) == [("/Stack/Doubtful", f"cronce:{identifier}")]


def test_a_container_without_a_log_warns(shop: Shop) -> None:
    """Nobody would see why a run was refused."""
    task_definition = ecs.FargateTaskDefinition(shop.stack, "Silent")
    task_definition.add_container("app", image=ecs.ContainerImage.from_registry("x"))
    shop.job("Doubtful", task_definition=task_definition)
    assert _warned(shop) == [("/Stack/Doubtful", "cronce:container-without-logs")]


def test_a_schedule_that_is_kept_warns(shop: Shop) -> None:
    """It would fire on after its job is removed from the app."""
    shop.job("Doubtful")
    cdk.RemovalPolicies.of(shop.stack).retain()
    assert _warned(shop) == [("/Stack/Doubtful", "cronce:schedule-is-retained")]


@pytest.mark.parametrize("endpoint", [False, True])
def test_isolated_subnets_without_an_endpoint_warn(shop: Shop, *, endpoint: bool) -> None:
    """The task has no way to its image, nor a clock to its own."""
    isolated = ec2.SubnetConfiguration(name="isolated", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED)
    vpc = ec2.Vpc(shop.stack, "Inner", max_azs=1, nat_gateways=0, subnet_configuration=[isolated])
    if endpoint:
        vpc.add_interface_endpoint("Ecr", service=ec2.InterfaceVpcEndpointAwsService.ECR)
    cluster = ecs.Cluster(shop.stack, "Hidden", vpc=vpc)
    shop.job("Doubtful", cluster=cluster, vpc_subnets=ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED))
    PinnedScheduler(
        shop.stack,
        "Clock",
        ledger=shop.ledger,
        cluster=cluster,
        image=ecs.ContainerImage.from_registry("clock:1"),
        command=["beat"],
        vpc_subnets=ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED),
    )
    paths = [] if endpoint else ["/Stack/Clock", "/Stack/Doubtful"]
    assert sorted(_warned(shop)) == [(path, "cronce:isolated-subnets") for path in paths]


def test_a_clock_in_public_subnets_without_an_address_warns(shop: Shop) -> None:
    """As a job does."""
    PinnedScheduler(
        shop.stack,
        "Clock",
        ledger=shop.ledger,
        cluster=shop.cluster,
        image=ecs.ContainerImage.from_registry("clock:1"),
        command=["beat"],
        vpc_subnets=PUBLIC,
    )
    assert _warned(shop) == [("/Stack/Clock", "cronce:public-subnet-without-public-ip")]


def test_a_warning_can_be_acknowledged(shop: Shop) -> None:
    """By its identifier, as any warning of CDK's."""
    job = shop.job(schedule="at(2020-01-01T00:00:00)")
    cdk.Annotations.of(job).acknowledge_warning("cronce:schedule-is-over")
    assert _warned(shop) == []


def _warned(shop: Shop) -> list[tuple[str, str]]:
    """Path and identifier of our warnings."""
    found = assertions.Annotations.from_stack(shop.stack).find_warning("*", assertions.Match.any_value())
    texts: list[tuple[str, str]] = [(each.id, str(each.entry.data)) for each in found]
    return [(path, text.rpartition("[ack: ")[2].rstrip("]")) for path, text in texts if "[ack: cronce:" in text]
