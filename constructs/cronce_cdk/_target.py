"""The target of a schedule, and the permissions to start it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import aws_cdk as cdk
import jsii
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from constructs import Construct

from cronce_cdk._account_and_region import is_of, same_account, same_place
from cronce_cdk._checks import having, is_text, is_token, refusal
from cronce_cdk._jsii_cache import stack_of
from cronce_cdk._network import Network, network_of
from cronce_cdk._permissions import tasks_of
from cronce_cdk._placement import Placement, placement_of

_REVISION = re.compile(r":[0-9]+$")

Statement = dict[str, Any]
"""A statement of an IAM policy, as JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A task definition with its cluster, placement and network.

    Attributes:
        task_definition_arn: The ARN of its revision.
        without_revision: True if an imported ARN names no revision.
        revisions: The resources of the permission for RunTask.
        task_role: The role of the task's own code.
        roles: The ARNs of the roles that RunTask passes.
    """

    cluster: ecs.ICluster
    cluster_arn: str
    cluster_name: str
    task_definition_arn: str
    without_revision: bool
    revisions: Sequence[str]
    task_role: iam.IRole
    roles: Sequence[str]
    placement: Placement
    network: Network | None


def target_of(
    scope: Construct,
    cluster: ecs.ICluster,
    task_definition: ecs.ITaskDefinition,
    *,
    launch_type: ecs.LaunchType | None,
    strategies: Sequence[ecs.CapacityProviderStrategy] | None,
    vpc_subnets: ec2.SubnetSelection | None,
    security_groups: Sequence[ec2.ISecurityGroup],
    assign_public_ip: bool,
) -> Target:
    """Return the target of these arguments.

    Raises:
        ConstructConfigError: They can never work together.
    """
    having(scope, "cluster", cluster, "cluster_arn", "an ECS cluster")
    having(scope, "task_definition", task_definition, "task_definition_arn", "an ECS task definition")
    stack = stack_of(scope)
    arn = task_definition.task_definition_arn
    same_place(scope, "cluster", cluster, cluster.cluster_arn, stack)
    same_place(scope, "task_definition", task_definition, arn, stack)
    ours = isinstance(task_definition, ecs.TaskDefinition)
    if ours and not is_of(task_definition, stack):
        allowed = "one of the same stack: as an export, its revision could never change again"
        raise refusal(scope, "task_definition", task_definition.node.path, allowed)
    placement = placement_of(scope, task_definition, launch_type, strategies)
    task_role = _task_role(scope, task_definition)
    for role in (task_role, task_definition.execution_role):
        if role is not None:
            same_account(scope, "task_definition", role, stack)
    return Target(
        cluster=cluster,
        cluster_arn=cluster.cluster_arn,
        cluster_name=cluster.cluster_name,
        task_definition_arn=arn,
        without_revision=not ours and is_text(arn) and not _REVISION.search(arn),
        revisions=[arn] if ours else _revisions(arn),
        task_role=task_role,
        roles=_roles(task_definition, task_role),
        placement=placement,
        network=network_of(
            scope,
            cluster,
            task_definition,
            placement,
            vpc_subnets=vpc_subnets,
            security_groups=security_groups,
            assign_public_ip=assign_public_ip,
        ),
    )


def start_statements(stack: cdk.Stack, target: Target, *, tagged: bool) -> list[Statement]:
    """Return the permissions to start a task of this revision in this cluster with its two roles."""
    statements: list[Statement] = [
        {
            "Effect": "Allow",
            "Action": "ecs:RunTask",
            "Resource": _one_or_all(target.revisions),
            "Condition": {"ArnEquals": {"ecs:cluster": target.cluster_arn}},
        },
        {
            "Effect": "Allow",
            "Action": "iam:PassRole",
            "Resource": _one_or_all(target.roles),
            "Condition": {"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}},
        },
    ]
    if tagged:
        statements.append(
            {
                "Effect": "Allow",
                "Action": "ecs:TagResource",
                "Resource": tasks_of(stack, target.cluster_name),
                "Condition": {"StringEquals": {"ecs:CreateAction": "RunTask"}},
            }
        )
    return statements


def describe_statement(stack: cdk.Stack, target: Target) -> Statement:
    """Return the permission to look at tasks of this cluster, as `cronce rerun --follow` does."""
    return {
        "Effect": "Allow",
        "Action": "ecs:DescribeTasks",
        "Resource": tasks_of(stack, target.cluster_name),
    }


def _one_or_all(values: Sequence[str]) -> str | list[str]:
    """Return a list as IAM writes it: one value stands alone, unless it is a list token."""
    return values[0] if len(values) == 1 and not values[0].startswith("#{Token[") else [*values]


@jsii.implements(cdk.IStableListProducer)
class _RolesAtSynth:
    """The roles at the end of synth: the first ECS secret of a container creates the execution role."""

    def __init__(self, task_definition: ecs.TaskDefinition) -> None:
        self._task_definition = task_definition

    def produce(self) -> list[str]:
        """Return the ARNs of the roles."""
        execution_role = self._task_definition.execution_role
        return [self._task_definition.task_role.role_arn, *([execution_role.role_arn] if execution_role else [])]


def _roles(task_definition: ecs.ITaskDefinition, task_role: iam.IRole) -> list[str]:
    execution_role = task_definition.execution_role
    if execution_role is None and isinstance(task_definition, ecs.TaskDefinition):
        return cdk.Lazy.list(_RolesAtSynth(task_definition))
    return [task_role.role_arn, *([execution_role.role_arn] if execution_role else [])]


def _revisions(arn: str) -> list[str]:
    """Return the resources for RunTask: a revision, or all revisions of a family that was imported without one.

    ECS denies a resource without a revision since October 2024.
    """
    if is_token(arn):
        return [arn, f"{arn}:*"]
    return [arn if _REVISION.search(arn) else f"{arn}:*"]


def _task_role(scope: Construct, task_definition: ecs.ITaskDefinition) -> iam.IRole:
    """Return the task role.

    Raises:
        ConstructConfigError: The task definition was imported without its roles. EventBridge Scheduler needs the
            permission to pass exactly these.
    """
    allowed = (
        "a task definition that was imported with task_role and execution_role, as by"
        " from_fargate_task_definition_attributes"
    )
    try:
        role = task_definition.task_role
    except RuntimeError as error:
        raise refusal(scope, "task_definition", task_definition.node.path, allowed) from error
    if not isinstance(task_definition, ecs.TaskDefinition) and task_definition.execution_role is None:
        raise refusal(scope, "task_definition", task_definition.node.path, allowed)
    return role
