"""ARNs and statements that more than one construct grants."""

from __future__ import annotations

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam

from cronce_cdk._nag_reasons import ANY_RESOURCE, ROLES_OF_A_GROUP, SCHEDULES_OF_A_GROUP

EVENT_SOURCE = "cronce"
"""The source of the events that recorder and watchdog put on the default bus."""


def role_path(group: str) -> str:
    """Return the IAM path of the roles that fire a group's schedules; at most 73 of its 512 characters."""
    return f"/cronce/{group}/"


def roles_of(stack: cdk.Stack, group: str) -> str:
    """Return the ARN of the roles that fire a group's schedules."""
    return stack.format_arn(service="iam", region="", resource="role", resource_name=f"{role_path(group)[1:]}*")


def tasks_of(stack: cdk.Stack, cluster_name: str) -> str:
    """Return the ARN of a cluster's tasks."""
    return stack.format_arn(service="ecs", resource="task", resource_name=f"{cluster_name}/*")


def tasks_in(stack: cdk.Stack, clusters: Sequence[ecs.ICluster] | None) -> list[str]:
    """Return the ARNs of the tasks of the clusters, or of every cluster."""
    return [tasks_of(stack, cluster.cluster_name) for cluster in clusters or ()] or [tasks_of(stack, "*")]


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


def launching(stack: cdk.Stack, group: str) -> list[iam.PolicyStatement]:
    """Return the permissions to start a run by a one-shot schedule with its job's scheduler role.

    With these, nobody can start a task directly or pass a task's role.
    """
    return [
        iam.PolicyStatement(
            actions=["scheduler:CreateSchedule", "scheduler:GetSchedule"], resources=[schedules_of(stack, group)]
        ),
        listing_schedules(),
        iam.PolicyStatement(
            actions=["iam:PassRole"],
            resources=[roles_of(stack, group)],
            conditions={"StringEquals": {"iam:PassedToService": "scheduler.amazonaws.com"}},
        ),
    ]


def watching(stack: cdk.Stack, group: str, clusters: Sequence[ecs.ICluster] | None) -> list[iam.PolicyStatement]:
    """Return what a watchdog needs in addition to the ledger: start runs, send events, and look at tasks."""
    return [
        *launching(stack, group),
        sending_events(stack),
        _listing_tasks(stack, clusters),
        iam.PolicyStatement(actions=["ecs:DescribeTasks"], resources=tasks_in(stack, clusters)),
    ]


def sending_events(stack: cdk.Stack) -> iam.PolicyStatement:
    """Return the permission to put events of cronce on the default bus."""
    return iam.PolicyStatement(
        actions=["events:PutEvents"],
        resources=[stack.format_arn(service="events", resource="event-bus", resource_name="default")],
        conditions={"StringEquals": {"events:source": EVENT_SOURCE}},
    )


def launching_wildcards(stack: cdk.Stack, group: str) -> dict[str, str]:
    """Return the resources with a wildcard in `launching`, with the reason of each."""
    return {
        "*": ANY_RESOURCE,
        schedules_of(stack, group): SCHEDULES_OF_A_GROUP,
        roles_of(stack, group): ROLES_OF_A_GROUP,
    }


def _listing_tasks(stack: cdk.Stack, clusters: Sequence[ecs.ICluster] | None) -> iam.PolicyStatement:
    """Return the permission to list the tasks of the clusters, or of every cluster.

    The action's resource type is a container instance (Service Authorization Reference). A task on Fargate has none.
    """
    arns = [cluster.cluster_arn for cluster in clusters or ()]
    every = stack.format_arn(service="ecs", resource="cluster", resource_name="*")
    which = {"ArnEquals": {"ecs:cluster": arns}} if arns else {"ArnLike": {"ecs:cluster": every}}
    return iam.PolicyStatement(actions=["ecs:ListTasks"], resources=["*"], conditions=which)
