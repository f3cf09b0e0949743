"""What is doubtful is said, with an identifier to acknowledge it by; what is fine is not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs

from cronce import Policy
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
