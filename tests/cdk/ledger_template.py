"""Parts of the template of a stack with a ledger."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
from aws_cdk import assertions
from aws_cdk import aws_iam as iam


def resources_of(stack: cdk.Stack, kind: str) -> list[dict[str, Any]]:
    """All resources of the type."""
    template = assertions.Template.from_stack(stack).to_json()
    return [resource for resource in template["Resources"].values() if resource["Type"] == kind]


def dead_letter_queues(stack: cdk.Stack) -> list[tuple[str, dict[str, Any]]]:
    """The queue whose messages end in another one."""
    queues = assertions.Template.from_stack(stack).find_resources("AWS::SQS::Queue")
    return [(name, {**each}) for name, each in queues.items() if "RedrivePolicy" in each["Properties"]]


def only(stack: cdk.Stack, kind: str) -> dict[str, Any]:
    """The only resource of the type."""
    [resource] = resources_of(stack, kind)
    return resource


def resources_named(stack: cdk.Stack, kind: str, prefix: str) -> list[tuple[str, dict[str, Any]]]:
    """The resources of the type whose logical ID begins so."""
    found = assertions.Template.from_stack(stack).find_resources(kind)
    return [(name, {**each}) for name, each in found.items() if name.startswith(prefix)]


def a_role(stack: cdk.Stack) -> iam.Role:
    """The role of a task."""
    return iam.Role(stack, "TaskRole", assumed_by=iam.ServicePrincipal("ecs-tasks.amazonaws.com"))


def function_of(stack: cdk.Stack, module: str) -> dict[str, Any]:
    """The function with the handler of this module of `cronce_lambdas`."""
    handler = f"cronce_lambdas.{module}.handler"
    [found] = [
        each["Properties"]
        for each in resources_of(stack, "AWS::Lambda::Function")
        if each["Properties"]["Handler"] == handler
    ]
    properties: dict[str, Any] = found
    return properties
