"""ARNs and statements that more than one construct grants."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_iam as iam


def role_path(group: str) -> str:
    """Return the IAM path of the roles that fire a group's schedules; at most 73 of its 512 characters."""
    return f"/cronce/{group}/"


def roles_of(stack: cdk.Stack, group: str) -> str:
    """Return the ARN of the roles that fire a group's schedules."""
    return stack.format_arn(service="iam", region="", resource="role", resource_name=f"{role_path(group)[1:]}*")


def tasks_of(stack: cdk.Stack, cluster_name: str) -> str:
    """Return the ARN of a cluster's tasks."""
    return stack.format_arn(service="ecs", resource="task", resource_name=f"{cluster_name}/*")


def schedules_of(stack: cdk.Stack, group: str) -> str:
    """Return the ARN of a group's schedules.

    A policy cannot name a single schedule (Scheduler User Guide, "Identity-based policies").
    """
    return stack.format_arn(service="scheduler", resource="schedule", resource_name=f"{group}/*")


def executing_commands() -> iam.PolicyStatement:
    """Return what a task's role needs for `aws ecs execute-command` (ECS Developer Guide, "ECS Exec")."""
    channels = [f"ssmmessages:{verb}{kind}Channel" for verb in ("Create", "Open") for kind in ("Control", "Data")]
    return iam.PolicyStatement(actions=channels, resources=["*"])


def listing_schedules() -> iam.PolicyStatement:
    """Return the permission to list schedules. The action takes no resource (Service Authorization Reference)."""
    return iam.PolicyStatement(actions=["scheduler:ListSchedules"], resources=["*"])
