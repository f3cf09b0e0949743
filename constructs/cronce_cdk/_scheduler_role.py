"""The role with which EventBridge Scheduler starts a job's task, and its permissions."""

from __future__ import annotations

import hashlib

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from constructs import Construct

from cronce_cdk._jsii_cache import cached
from cronce_cdk._nag_reasons import TASKS_OF_A_CLUSTER, acknowledge_wildcards
from cronce_cdk._permissions import role_path, schedules_of, tasks_of
from cronce_cdk._target import Target, start_statements
from cronce_cdk.keys import firing_statements
from cronce_cdk.run_ledger_base import RunLedgerBase


def scheduler_role(scope: Construct, stack: cdk.Stack, ledger: RunLedgerBase, policy: str) -> iam.CfnRole:
    """Create the job's role, which EventBridge Scheduler can assume only for schedules of the ledger's group.

    An L1, because an L2 takes three times as long to synthesize and nothing is added to the role later.
    """

    def trust() -> dict[str, object]:
        group = stack.format_arn(
            service="scheduler", resource="schedule-group", resource_name=ledger.schedule_group_ref
        )
        statement = {
            "Effect": "Allow",
            "Principal": {"Service": "scheduler.amazonaws.com"},
            "Action": "sts:AssumeRole",
            "Condition": {"StringEquals": {"aws:SourceAccount": stack.account, "aws:SourceArn": group}},
        }
        return {"Version": "2012-10-17", "Statement": [statement]}

    return iam.CfnRole(
        scope,
        "Role",
        path=role_path(ledger.schedule_group_ref),
        assume_role_policy_document=cached(stack, (ledger, "trust"), trust),
        managed_policy_arns=[policy],
    )


def start_policy(
    stack: cdk.Stack,
    ledger: RunLedgerBase,
    cluster: ecs.ICluster,
    task_definition: ecs.ITaskDefinition,
    *,
    target: Target,
    tagged: bool,
) -> str:
    """Create the policy of all jobs with this task definition, cluster and ledger, and return its reference.

    One policy per role would be one copy per job in the template, whose limit is 1 MB.
    """
    places = (ledger.node.addr, cluster.node.addr, task_definition.node.addr, str(tagged))
    construct_id = f"CronceStart{hashlib.sha256(''.join(places).encode()).hexdigest()[:8]}"
    if isinstance(existing := stack.node.try_find_child(construct_id), iam.CfnManagedPolicy):
        return existing.ref
    statements = start_statements(stack, target, tagged=tagged)
    reports = {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": ledger.dead_letter_queue_arn}
    firing = firing_statements(stack, ledger.keys, schedules_of(stack, ledger.schedule_group_ref))
    uses_keys = [each.to_statement_json() for each in firing]
    document = {"Version": "2012-10-17", "Statement": [*statements, reports, *uses_keys]}
    policy = iam.CfnManagedPolicy(
        stack,
        construct_id,
        policy_document=document,
        path=role_path(ledger.schedule_group_ref),
        description="Allows EventBridge Scheduler to start the tasks of scheduled jobs",
    )
    if tagged:
        acknowledge_wildcards(policy, {tasks_of(stack, target.cluster_name): TASKS_OF_A_CLUSTER})
    return policy.ref
