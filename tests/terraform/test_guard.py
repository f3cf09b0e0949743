"""The module `guard` beside the construct `Guard`: the same containers from the same words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_ecs as ecs

from cronce_cdk import Guard
from tests.cdk.shop import ENVIRONMENT
from tests.support.terraform import write_configuration
from tests.terraform.of_plan import spelled_as_cloudformation

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.terraform import Terraform

FOLDER, SHOP, CLOCK = (ecs.ContainerImage.from_registry(f"{name}:1") for name in ("cronce", "shop", "clock"))
COMMAND = ["bundle", "exec", "rails", "digest:send"]

ONE_JOB = """
  containers = { digest = { image = "shop:1", command = ["bundle", "exec", "rails", "digest:send"] } }
"""
TWO_JOBS = """
  containers = {
    digest = {
      image             = "shop:1"
      command           = ["bundle", "exec", "rails", "digest:send"]
      memoryReservation = 256
      essential         = false
      mountPoints       = [{ sourceVolume = "mails", containerPath = "/mails", readOnly = false }]
    }
    beat = { image = "clock:1", command = ["clockwork"], memory = 128 }
  }
  options           = { digest = ["--grace", "60s"] }
  pinned            = ["beat"]
  path              = "/opt/cronce"
  memory            = 32
  log_configuration = { logDriver = "syslog", options = { tag = "guard" } }
"""


def one_job(stack: cdk.Stack) -> None:
    """On Fargate."""
    Guard(ecs.FargateTaskDefinition(stack, "Task"), image=FOLDER).add_container("digest", image=SHOP, command=COMMAND)


def two_jobs(stack: cdk.Stack) -> None:
    """On instances, with everything that one can say."""
    task_definition = ecs.Ec2TaskDefinition(stack, "Task")
    logging = ecs.LogDrivers.syslog(tag="guard")
    guard = Guard(task_definition, image=FOLDER, path="/opt/cronce", logging=logging)
    task_definition.add_volume(name="mails", host=ecs.Host(source_path="/srv/mails"))
    digest = task_definition.add_container(
        "digest",
        image=SHOP,
        entry_point=[guard.program, "exec", "--grace", "60s", "--"],
        command=COMMAND,
        memory_reservation_mib=256,
        essential=False,
    )
    digest.add_mount_points(ecs.MountPoint(source_volume="mails", container_path="/mails", read_only=False))
    guard.attach(digest)
    guard.add_container("beat", image=CLOCK, command=["clockwork"], pin=True, memory_limit_mib=128)


@pytest.mark.parametrize(("words", "construct"), [(ONE_JOB, one_job), (TWO_JOBS, two_jobs)], ids=["one", "two"])
def test_the_module_writes_the_containers_of_the_construct(
    terraform: Terraform, tmp_path: Path, words: str, construct: Callable[[cdk.Stack], None]
) -> None:
    """Container by container, and the volume that they share."""
    text = f'module "guard" {{\n  source = "MODULES/guard"\n  image = "cronce:1"\n{words}}}\n'
    for name in ("container_definitions", "volume_name"):
        text += f'output "{name}" {{\n  value = module.guard.{name}\n}}\n'
    write_configuration(tmp_path, text)
    outputs = terraform.plan(tmp_path)["planned_values"]["outputs"]
    planned = {each["name"]: each for each in json.loads(outputs["container_definitions"]["value"])}

    stack = cdk.Stack(cdk.App(), "Stack", env=ENVIRONMENT)
    construct(stack)
    found: dict[str, Any] = assertions.Template.from_stack(stack).to_json()["Resources"]
    [task] = [each["Properties"] for each in found.values() if each["Type"] == "AWS::ECS::TaskDefinition"]
    synthesized = {each["Name"]: each for each in task["ContainerDefinitions"]}

    assert {name: spelled_as_cloudformation(each) for name, each in planned.items()} == synthesized
    assert {"Name": outputs["volume_name"]["value"]} in task["Volumes"]
