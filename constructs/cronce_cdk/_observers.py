"""The functions of a ledger: the recorder, the watchdog, reruns and the board."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
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
from cronce_cdk._limits import EVENT_PATTERN, FUNCTION_ENVIRONMENT, QUEUE_READERS
from cronce_cdk._nag_reasons import TASKS_OF_A_CLUSTER
from cronce_cdk._permissions import launching, launching_wildcards, schedules_of, sending_events, tasks_in, watching
from cronce_cdk.function_settings import FunctionSettings, seconds_of
from cronce_cdk.keys import queue_statements, schedule_statements, table_statements
from cronce_cdk.run_ledger_base import RunLedgerBase

_OTHER_VARIABLES = 256
"""Bytes that the other variables of a function need at least."""

_REST_OF_PATTERN = 128
"""Characters of an event pattern besides its detail."""

_BOARD_SECONDS = 15
_BOARD_MIB = 1769
"""One vCPU (Lambda Developer Guide, "Memory"): the newest rows of a thousand jobs take most of a second of it."""

_TASK_STOPPED = "ECS Task State Change"


class Observers:
    """The two functions that every ledger has, with the rules and the queue that invoke them.

    Attributes:
        recorder: Settles the run of a task that stopped, and of a tick that could not be delivered.
        watchdog: Checks each minute for missed ticks and lost runs.
    """

    def __init__(
        self,
        scope: Construct,
        ledger: RunLedgerBase,
        clusters: Sequence[ecs.ICluster] | None,
        missed_after: timedelta,
        settings: FunctionSettings,
    ) -> None:
        self._pinned: list[dict[str, str]] = []
        variables, stack, group = _variables(ledger), cdk.Stack.of(scope), ledger.schedule_group_ref
        self.recorder = LedgerFunction(
            scope,
            "Recorder",
            module="recorder",
            environment=variables,
            statements=[
                *_rows(scope, ledger, "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"),
                *launching(stack, group),
                *_keys_of_schedules(stack, ledger),
                sending_events(stack),
                *_reporting_lost_events(scope, ledger),
            ],
            description="Settles the run of a task that stopped or could not be started, and has it started again",
            timeout=seconds_of(settings.recorder_timeout),
            settings=settings,
            log_key=ledger.keys.logs,
            lost_events=ledger.dead_letter_queue,
            wildcards=launching_wildcards(stack, group),
        )
        self._invoke_for_stopped_tasks(scope, ledger, clusters)
        self._invoke_for_dead_letters(ledger)
        tasks = tasks_in(stack, clusters)
        self.watchdog = LedgerFunction(
            scope,
            "Watchdog",
            module="watchdog",
            environment={**variables, MISSED_AFTER: format_duration(missed_after)},
            statements=[
                *_rows(
                    scope, ledger, "dynamodb:DescribeTable", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"
                ),
                *watching(stack, group, clusters),
                *_keys_of_schedules(stack, ledger),
            ],
            description="Checks for missed ticks and lost runs",
            timeout=seconds_of(settings.watchdog_timeout),
            settings=settings,
            log_key=ledger.keys.logs,
            lost_events=None,
            wildcards={**launching_wildcards(stack, group), **dict.fromkeys(tasks, TASKS_OF_A_CLUSTER)},
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
                max_concurrency=QUEUE_READERS,
            )
        )
        queue = [ledger.dead_letter_queue.queue_arn]
        # The function's role takes no grants of CDK, so the event source's permissions are added here.
        takes = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"]
        self.recorder.allow(iam.PolicyStatement(actions=takes, resources=queue))


def rerun_function(
    scope: Construct, ledger: RunLedgerBase, function_name: str | None, settings: FunctionSettings
) -> LedgerFunction:
    """Create the function that has a run started for a person, if its task would be admitted."""
    stack, group = cdk.Stack.of(scope), ledger.schedule_group_ref
    return LedgerFunction(
        scope,
        "Rerun",
        module="rerun",
        environment=_variables(ledger),
        statements=[
            *_rows(scope, ledger, "dynamodb:GetItem"),
            *launching(stack, group),
            *_keys_of_schedules(stack, ledger),
        ],
        description="Has a run started that a person asks for",
        timeout=seconds_of(settings.rerun_timeout),
        settings=settings,
        log_key=ledger.keys.logs,
        lost_events=None,
        wildcards=launching_wildcards(stack, group),
        function_name=function_name,
    )


def board_function(
    scope: Construct, ledger: RunLedgerBase, function_name: str | None, settings: FunctionSettings
) -> LedgerFunction:
    """Create the function that shows the runs on a dashboard. It can read rows, and nothing else."""
    return LedgerFunction(
        scope,
        "Board",
        module="board",
        environment={LEDGER: ledger.table_url},
        statements=_rows(scope, ledger, "dynamodb:GetItem", "dynamodb:Query"),
        description="Shows the runs on a dashboard",
        timeout=_BOARD_SECONDS,
        settings=replace(settings, memory_size=max(settings.memory_size, _BOARD_MIB)),
        log_key=ledger.keys.logs,
        lost_events=None,
        wildcards={},
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


def _rows(scope: Construct, ledger: RunLedgerBase, *actions: str) -> list[iam.PolicyStatement]:
    return [
        iam.PolicyStatement(actions=[*actions], resources=[ledger.table_arn]),
        *table_statements(cdk.Stack.of(scope), ledger.keys, writes="dynamodb:PutItem" in actions),
    ]


def _keys_of_schedules(stack: cdk.Stack, ledger: RunLedgerBase) -> list[iam.PolicyStatement]:
    """Return the permissions to read schedules and create one-shot schedules, if they are encrypted with a key."""
    return schedule_statements(stack, ledger.keys, schedules_of(stack, ledger.schedule_group_ref), creates=True)


def _reporting_lost_events(scope: Construct, ledger: RunLedgerBase) -> list[iam.PolicyStatement]:
    """Return the permission for Lambda to send events there that failed three times, also if it is encrypted."""
    return [
        iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[ledger.dead_letter_queue.queue_arn]),
        *queue_statements(cdk.Stack.of(scope), ledger.keys),
    ]
