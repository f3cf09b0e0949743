"""The permissions of a person on call: everything that the commands of cronce read, and nothing that they write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs

from cronce_cdk._permissions import schedules_of, tasks_in
from cronce_cdk.keys import LedgerKeys, schedule_statements, table_statements

_WITHOUT_RESOURCE = (
    "cloudwatch:DescribeAlarms",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSubnets",
    "ecs:DescribeTaskDefinition",
    "ecs:ListServices",
    "ecs:ListTasks",
    "events:ListRuleNamesByTarget",
    "lambda:ListEventSourceMappings",
    "lambda:ListFunctions",
    "logs:DescribeLogGroups",
    "scheduler:ListSchedules",
)
"""Lists, whose resource cannot be named or is not known (Service Authorization Reference)."""


class Readable(Protocol):
    """The parts of a ledger that the statements name."""

    keys: LedgerKeys

    @property
    def table_arn(self) -> str:
        """The table's ARN."""

    @property
    def schedule_group_ref(self) -> str:
        """The schedule group's name."""

    @property
    def dead_letter_queue_arn(self) -> str:
        """The queue's ARN."""


def reading(
    stack: cdk.Stack,
    ledger: Readable,
    clusters: Sequence[ecs.ICluster],
    log_groups: Sequence[logs.ILogGroup],
) -> list[iam.PolicyStatement]:
    """Return the statements for `why`, `doctor`, `jobs`, `logs`, `open`, `tail`, `runs`, `show`, `next` and `board`.

    Args:
        stack: The stack whose account and Region the ARNs have.
        ledger: The ledger, as the grantee's stack refers to it.
        clusters: The clusters whose tasks may be described; empty for all.
        log_groups: The log groups of the jobs that may be read.
    """

    def arn(service: str, resource: str, name: str = "*", separator: cdk.ArnFormat | None = None) -> str:
        where = {"region": ""} if service == "iam" else {}
        return stack.format_arn(
            service=service,
            resource=resource,
            resource_name=name,
            arn_format=separator or cdk.ArnFormat.SLASH_RESOURCE_NAME,
            **where,
        )

    schedules = schedules_of(stack, ledger.schedule_group_ref)
    by_colon = cdk.ArnFormat.COLON_RESOURCE_NAME
    names = [cluster.cluster_name for cluster in clusters] or ["*"]
    parts = [
        (
            ["dynamodb:DescribeTable", "dynamodb:DescribeTimeToLive", "dynamodb:GetItem", "dynamodb:Query"],
            [ledger.table_arn],
        ),
        (["scheduler:GetSchedule"], [schedules]),
        (["ecs:DescribeTasks"], tasks_in(stack, clusters)),
        (["ecs:DescribeServices"], [arn("ecs", "service", f"{name}/*") for name in names]),
        (["ecs:DescribeClusters"], [arn("ecs", "cluster", name) for name in names]),
        (["iam:SimulatePrincipalPolicy"], [arn("iam", "role")]),
        (["sqs:GetQueueAttributes", "sqs:GetQueueUrl"], [ledger.dead_letter_queue_arn]),
        (["lambda:GetFunctionConcurrency"], [arn("lambda", "function", separator=by_colon)]),
        (["events:DescribeRule"], [arn("events", "rule")]),
        (["ecr:DescribeImages"], [arn("ecr", "repository")]),
        (["secretsmanager:DescribeSecret"], [arn("secretsmanager", "secret", separator=by_colon)]),
        ([*_WITHOUT_RESOURCE], ["*"]),
    ]
    if log_groups:
        parts.append((["logs:GetLogEvents"], [each.log_group_arn for each in log_groups]))
    return [
        *(iam.PolicyStatement(actions=actions, resources=resources) for actions, resources in parts),
        *table_statements(stack, ledger.keys, writes=False),
        *schedule_statements(stack, ledger.keys, schedules, creates=False),
    ]
