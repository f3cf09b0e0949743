"""The functions of a ledger: the recorder of stopped tasks, the watchdog of missed ticks and lost runs, and reruns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta

import aws_cdk as cdk
import jsii
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as events_targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda_event_sources as event_sources
from constructs import Construct

from cronce.vocabulary.durations import format_duration
from cronce.vocabulary.environment import LEDGER, METRICS, MISSED_AFTER, PINNED_SERVICES, SCHEDULE_GROUP
from cronce_cdk._checks import TOKEN, refusal
from cronce_cdk._functions import LedgerFunction
from cronce_cdk._limits import EVENT_PATTERN, FUNCTION_ENVIRONMENT
from cronce_cdk._nag_reasons import ANY_RESOURCE, ROLES_OF_A_GROUP, SCHEDULES_OF_A_GROUP, TASKS_OF_A_CLUSTER
from cronce_cdk._permissions import listing_schedules, roles_of, schedules_of, tasks_of
from cronce_cdk.run_ledger_base import RunLedgerBase

_OTHER_VARIABLES = 256
"""Bytes that the other variables of a function need at least."""

_REST_OF_PATTERN = 128
"""Characters of an event pattern besides its detail."""

EVENT_SOURCE = "cronce"
"""The source of the events that recorder and watchdog put on the default bus."""

RECORDER_MINUTES = 1
"""The recorder's timeout; its queue hides a message for six times as long (Lambda Developer Guide)."""

_WATCHDOG_MINUTES = 5
_RERUN_SECONDS = 30
_TASK_STOPPED = "ECS Task State Change"


class Observers:
    """The two functions that every ledger has, with the rules and the queue that invoke them.

    Attributes:
        recorder: Settles the run of a task that stopped, and of a tick that could not be delivered.
        watchdog: Checks each minute for missed ticks and lost runs.
    """

    def __init__(
        self, scope: Construct, ledger: RunLedgerBase, clusters: Sequence[ecs.ICluster] | None, missed_after: timedelta
    ) -> None:
        self._pinned: list[dict[str, str]] = []
        variables = _variables(ledger)
        self.recorder = LedgerFunction(
            scope,
            "Recorder",
            module="recorder",
            environment=variables,
            statements=[
                _rows(ledger, "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"),
                *_launching(scope, ledger),
                _sending_events(scope),
                _reporting_lost_events(ledger),
            ],
            description="Settles the run of a task that stopped or could not be started, and has it started again",
            timeout=cdk.Duration.minutes(RECORDER_MINUTES),
            lost_events=ledger.dead_letter_queue,
            wildcards=_wildcards(scope, ledger),
        )
        self._invoke_for_stopped_tasks(scope, ledger, clusters)
        self._invoke_for_dead_letters(ledger)
        tasks = _tasks(scope, clusters)
        self.watchdog = LedgerFunction(
            scope,
            "Watchdog",
            module="watchdog",
            environment={**variables, MISSED_AFTER: format_duration(missed_after)},
            statements=[
                _rows(ledger, "dynamodb:DescribeTable", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"),
                *_launching(scope, ledger),
                _sending_events(scope),
                _listing_tasks(scope, clusters),
                iam.PolicyStatement(actions=["ecs:DescribeTasks"], resources=tasks),
            ],
            description="Checks for missed ticks and lost runs",
            timeout=cdk.Duration.minutes(_WATCHDOG_MINUTES),
            lost_events=None,
            wildcards={**_wildcards(scope, ledger), **dict.fromkeys(tasks, TASKS_OF_A_CLUSTER)},
        )
        events.Rule(
            scope,
            "EachMinute",
            description="Invokes the watchdog",
            schedule=events.Schedule.rate(cdk.Duration.minutes(1)),
            targets=[events_targets.LambdaFunction(self.watchdog.function)],
        )

    def watch(self, scope: Construct, cluster: ecs.ICluster, service: ecs.FargateService, job: str) -> None:
        """Have the watchdog check a pinned service's count, and the recorder free its lease when its task stops."""
        if not self._pinned:
            known = cdk.Lazy.string(_AsJson(self._pinned))
            for function in (self.recorder.function, self.watchdog.function):
                function.add_environment(PINNED_SERVICES, known)
        self._pinned.append({"cluster": cluster.cluster_arn, "service": service.service_name, "job": job})
        if _known_length(self._pinned) > FUNCTION_ENVIRONMENT - _OTHER_VARIABLES:
            allowed = f"fewer clocks per ledger: the environment of its functions holds {FUNCTION_ENVIRONMENT} bytes"
            raise refusal(scope, "ledger", f"{len(self._pinned)} clocks", allowed)
        self.watchdog.allow(iam.PolicyStatement(actions=["ecs:DescribeServices"], resources=[service.service_arn]))
        # Its tasks have no overrides: their group, the service, identifies them.
        detail = {
            "lastStatus": ["STOPPED"],
            "clusterArn": [cluster.cluster_arn],
            "group": [f"service:{service.service_name}"],
        }
        self._invoke_recorder(scope, "Stopped", "Invokes the recorder when the clock stops", detail)

    def _invoke_for_stopped_tasks(
        self, scope: Construct, ledger: RunLedgerBase, clusters: Sequence[ecs.ICluster] | None
    ) -> None:
        # Only tasks of this ledger: the recorder is not invoked, and not paid, for others.
        ours = {"name": [LEDGER], "value": [ledger.table_url]}
        detail: dict[str, object] = {
            "lastStatus": ["STOPPED"],
            "overrides": {"containerOverrides": {"environment": ours}},
        }
        if clusters:
            detail["clusterArn"] = [cluster.cluster_arn for cluster in clusters]
        if _known_length(detail) > EVENT_PATTERN - _REST_OF_PATTERN:
            allowed = f"fewer clusters, or none for all: an event pattern has at most {EVENT_PATTERN} characters"
            raise refusal(scope, "clusters", f"{len(clusters or ())} clusters", allowed)
        self._invoke_recorder(scope, "TaskStopped", "Invokes the recorder when a task stops", detail)

    def _invoke_recorder(self, scope: Construct, rule_id: str, description: str, detail: Mapping[str, object]) -> None:
        events.Rule(
            scope,
            rule_id,
            description=description,
            event_pattern=events.EventPattern(
                # A bus may take events of other accounts.
                account=[cdk.Stack.of(scope).account],
                source=["aws.ecs"],
                detail_type=[_TASK_STOPPED],
                detail={**detail},
            ),
            targets=[events_targets.LambdaFunction(self.recorder.function)],
        )

    def _invoke_for_dead_letters(self, ledger: RunLedgerBase) -> None:
        self.recorder.function.add_event_source(
            event_sources.SqsEventSource(
                ledger.dead_letter_queue,
                batch_size=10,
                report_batch_item_failures=True,
                # The minimum, so that many dead letters do not use up the account's concurrency.
                max_concurrency=2,
            )
        )
        queue = [ledger.dead_letter_queue.queue_arn]
        # The function's role takes no grants of CDK, so the event source's permissions are added here.
        takes = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"]
        self.recorder.allow(iam.PolicyStatement(actions=takes, resources=queue))


def rerun_function(scope: Construct, ledger: RunLedgerBase, function_name: str | None) -> LedgerFunction:
    """Create the function that has a run started for a person, if its task would be admitted."""
    return LedgerFunction(
        scope,
        "Rerun",
        module="rerun",
        environment=_variables(ledger),
        statements=[_rows(ledger, "dynamodb:GetItem"), *_launching(scope, ledger)],
        description="Has a run started that a person asks for",
        timeout=cdk.Duration.seconds(_RERUN_SECONDS),
        lost_events=None,
        wildcards=_wildcards(scope, ledger),
        function_name=function_name,
    )


def _variables(ledger: RunLedgerBase) -> dict[str, str]:
    return {LEDGER: ledger.table_url, SCHEDULE_GROUP: ledger.schedule_group_ref, METRICS: "emf"}


def _known_length(value: object) -> int:
    """The length of the JSON, without what is known only at deployment."""
    return len(TOKEN.sub("", json.dumps(value)))


@jsii.implements(cdk.IStableStringProducer)
class _AsJson:
    def __init__(self, values: Sequence[Mapping[str, str]]) -> None:
        self._values = values

    def produce(self) -> str:
        """Return the JSON of the services at the end of synth. References in it contain nothing to escape."""
        return json.dumps(self._values)


def _rows(ledger: RunLedgerBase, *actions: str) -> iam.PolicyStatement:
    return iam.PolicyStatement(actions=[*actions], resources=[ledger.table_arn])


def _launching(scope: Construct, ledger: RunLedgerBase) -> list[iam.PolicyStatement]:
    """Return the permissions to start a run by a one-shot schedule with its job's scheduler role.

    With these, no function can start a task itself or pass a task's role.
    """
    stack = cdk.Stack.of(scope)
    group = ledger.schedule_group_ref
    roles = roles_of(stack, group)
    return [
        iam.PolicyStatement(
            actions=["scheduler:CreateSchedule", "scheduler:GetSchedule"], resources=[schedules_of(stack, group)]
        ),
        listing_schedules(),
        iam.PolicyStatement(
            actions=["iam:PassRole"],
            resources=[roles],
            conditions={"StringEquals": {"iam:PassedToService": "scheduler.amazonaws.com"}},
        ),
    ]


def _listing_tasks(scope: Construct, clusters: Sequence[ecs.ICluster] | None) -> iam.PolicyStatement:
    """Return the permission to list the tasks of the clusters, or of every cluster.

    Its resource would be a container instance (Service Authorization Reference), which a task on Fargate has not.
    """
    arns = [cluster.cluster_arn for cluster in clusters or ()]
    every = cdk.Stack.of(scope).format_arn(service="ecs", resource="cluster", resource_name="*")
    which = {"ArnEquals": {"ecs:cluster": arns}} if arns else {"ArnLike": {"ecs:cluster": every}}
    return iam.PolicyStatement(actions=["ecs:ListTasks"], resources=["*"], conditions=which)


def _tasks(scope: Construct, clusters: Sequence[ecs.ICluster] | None) -> list[str]:
    """Return the ARNs of the tasks of the clusters, or of every cluster."""
    stack = cdk.Stack.of(scope)
    return [tasks_of(stack, cluster.cluster_name) for cluster in clusters or ()] or [tasks_of(stack, "*")]


def _sending_events(scope: Construct) -> iam.PolicyStatement:
    bus = cdk.Stack.of(scope).format_arn(service="events", resource="event-bus", resource_name="default")
    return iam.PolicyStatement(
        actions=["events:PutEvents"],
        resources=[bus],
        conditions={"StringEquals": {"events:source": EVENT_SOURCE}},
    )


def _wildcards(scope: Construct, ledger: RunLedgerBase) -> dict[str, str]:
    stack, group = cdk.Stack.of(scope), ledger.schedule_group_ref
    return {
        "*": ANY_RESOURCE,
        schedules_of(stack, group): SCHEDULES_OF_A_GROUP,
        roles_of(stack, group): ROLES_OF_A_GROUP,
    }


def _reporting_lost_events(ledger: RunLedgerBase) -> iam.PolicyStatement:
    """Return the permission for Lambda to send an event there that failed three times."""
    return iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[ledger.dead_letter_queue.queue_arn])
