"""The size of a job's task, its security group and its managed tags."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs

from cronce.ecs.definition import definition_of, launch_overrides
from cronce.vocabulary.states import Trigger
from cronce_cdk import ConstructConfigError, ScheduledTask, TaskSize
from tests.cdk.shop import Shop, add_container
from tests.cdk.test_sweep import raw_error, values_of_every_kind

if TYPE_CHECKING:
    from collections.abc import Callable

SIZE = TaskSize(
    cpu=1024, memory_mib=4096, container_cpu=512, container_memory_mib=2048, container_memory_reservation_mib=1024
)


def _input(shop: Shop) -> dict[str, Any]:
    text = shop.schedule()["Target"]["Input"]
    if isinstance(text, dict):
        text = "".join(part if isinstance(part, str) else "runs" for part in text["Fn::Join"][1])
    found: dict[str, Any] = json.loads(text)
    return found


def test_the_overrides_of_task_and_container_are_these(shop: Shop) -> None:
    """Text for the task and numbers for the container, as ECS has them; a rerun starts the same."""
    shop.job(size=SIZE)
    override = _input(shop)
    [container] = override.pop("containerOverrides")
    assert override == {"cpu": "1024", "memory": "4096"}
    told = {name: container[name] for name in ("cpu", "memory", "memoryReservation")}
    assert told == {"cpu": 512, "memory": 2048, "memoryReservation": 1024}
    at = datetime(2026, 12, 1, tzinfo=UTC)
    schedule = {
        "Name": "digest",
        "GroupName": "runs",
        "ScheduleExpression": "cron(0 6 * * ? *)",
        "CreationDate": at,
        "LastModificationDate": at,
        "Target": {"Input": json.dumps(_input(shop)), "EcsParameters": {}},
    }
    definition = definition_of(schedule)
    assert definition is not None
    again = launch_overrides(definition, "2026-12-01", scheduled_at=None, trigger=Trigger.RETRY)
    assert {name: again[name] for name in ("cpu", "memory")} == override
    assert {name: again["containerOverrides"][0][name] for name in told} == told


def test_without_a_size_nothing_is_overridden(shop: Shop) -> None:
    """Not even with empty values."""
    shop.job()
    override = _input(shop)
    assert [*override] == ["containerOverrides"]
    assert {*override["containerOverrides"][0]} == {"name", "environment"}


@pytest.mark.parametrize(
    ("size", "field", "allowed"),
    [
        ({"cpu": 300}, "cpu", "256, 512, 1024"),
        ({"cpu": 1024, "memory_mib": 1024}, "memory_mib", "2048 to 8192 in steps of 1024"),
        ({"cpu": 256, "memory_mib": 1536}, "memory_mib", "512, 1024 or 2048"),
        ({"memory_mib": 4096}, "memory_mib", "with 256 CPU units"),
        ({"cpu": 4096}, "memory_mib", "with 4096 CPU units"),
        ({"cpu": 512, "memory_mib": 1024, "container_cpu": 513}, "container_cpu", "at most 512"),
        ({"container_memory_mib": 513}, "container_memory_mib", "at most 512"),
        ({"container_memory_mib": 5}, "container_memory_mib", "at least 6"),
        (
            {"container_memory_mib": 100, "container_memory_reservation_mib": 101},
            "container_memory_reservation_mib",
            "the hard limit, 100",
        ),
    ],
)
def test_a_size_that_ecs_refuses_is_refused(
    try_job: Callable[..., ScheduledTask], size: dict[str, int], field: str, allowed: str
) -> None:
    """Fargate's table, with what the task definition has of its own."""
    with pytest.raises(ConstructConfigError) as caught:
        try_job(size=TaskSize(**size))
    assert caught.value.argument == f"size.{field}"
    assert allowed in caught.value.allowed


def test_on_instances_a_size_is_free_within_the_limits(shop: Shop) -> None:
    """128 CPU units at least."""
    task_definition = ecs.Ec2TaskDefinition(shop.stack, "OnEc2")
    add_container(task_definition, memory_limit_mib=64)
    with pytest.raises(ConstructConfigError, match="128 to 196608"):
        shop.job("small", task_definition=task_definition, size=TaskSize(cpu=127))
    shop.job("large", task_definition=task_definition, size=TaskSize(cpu=196_608, memory_mib=5000))


@pytest.mark.parametrize("field", [each.name for each in dataclasses.fields(TaskSize)])
def test_a_field_of_any_kind_works_or_gets_our_own_error(
    shared_shop: Shop, try_job: Callable[..., ScheduledTask], field: str
) -> None:
    """As every argument of the constructs."""
    found = {
        name: raw_error(lambda value=value: try_job(size=TaskSize(**{field: value})))  # type: ignore[misc]  # in the loop
        for name, value in values_of_every_kind(shared_shop).items()
    }
    assert {name: raw for name, raw in found.items() if raw} == {}


def test_a_security_group_of_the_job_alone(shop: Shop) -> None:
    """Two jobs have two, and a third the one that all others share."""
    jobs = [shop.job(name, own_security_group=name != "c") for name in ("a", "b", "c")]
    groups = [job.connections.security_groups for job in jobs]
    assert len({group.security_group_id for each in groups for group in each}) == 3
    made = shop.resources("AWS::EC2::SecurityGroup")
    assert sorted(name.rstrip("0123456789ABCDEF")[:6] for name in made) == ["Cronce", "aGroup", "bGroup"]
    given = ec2.SecurityGroup.from_security_group_id(shop.stack, "Given", "sg-1")
    with pytest.raises(ConstructConfigError, match="together with own_security_group"):
        shop.job("d", own_security_group=True, security_groups=[given])


def test_managed_tags_are_asked_for_and_may_be_set(shop: Shop) -> None:
    """ECS tags the task in the name of the schedule's role."""
    shop.job(managed_tags=True)
    assert shop.ecs_parameters()["EnableECSManagedTags"] is True
    assert "ecs:TagResource" in [each["Action"] for each in shop.role_statements()]
