"""What watches over a ledger: the recorder of tasks that stop, and the watchdog of what did not happen."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

import aws_cdk as cdk
import jsii
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as events_targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda_event_sources as event_sources
from constructs import Construct

from cronce.vocabulary import environment as names
from cronce.vocabulary.durations import format_duration
from cronce_cdk._functions import LedgerFunction

if TYPE_CHECKING:
    from cronce_cdk.run_ledger import RunLedgerBase

EVENT_SOURCE = "cronce"
"""The source of the events that both put on the default bus."""

RECORDER_MINUTES = 1
"""How long the recorder may take for an event; a queue hides a message six times as long (Lambda Developer Guide)."""

_WATCHDOG_MINUTES = 5
_TASK_STOPPED = "ECS Task State Change"


class Observers:
    """Both functions of a ledger, and what tells them.

    Attributes:
        recorder: Settles the run of a task that stopped, and of a tick that could not be delivered.
        watchdog: Looks each minute for what did not happen.
    """

    def __init__(
        self, scope: Construct, ledger: RunLedgerBase, clusters: Sequence[ecs.ICluster] | None, missed_after: timedelta
    ) -> None:
        self._pinned: list[dict[str, str]] = []
        environment = {
            names.LEDGER: ledger.table_url,
            names.SCHEDULE_GROUP: ledger.schedule_group_ref,
            names.METRICS: "emf",
        }
        self.recorder = LedgerFunction(
            scope,
            "Recorder",
            module="recorder",
            environment=environment,
            statements=[
                _rows(ledger, "dynamodb:GetItem", "dynamodb:PutItem"),
                *_launching(scope, ledger),
                _reporting_lost_events(ledger),
            ],
            description="Settles the run of a task that stopped or could not be started, and has it tried again",
            timeout=cdk.Duration.minutes(RECORDER_MINUTES),
            lost_events=ledger.dead_letter_queue,
        )
        self._tell_of_stopped_tasks(scope, ledger, clusters)
        self._tell_of_dead_letters(ledger)
        self.watchdog = LedgerFunction(
            scope,
            "Watchdog",
            module="watchdog",
            environment={**environment, names.MISSED_AFTER: format_duration(missed_after)},
            statements=[
                _rows(ledger, "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"),
                *_launching(scope, ledger),
            ],
            description="Looks for ticks that were missed and runs that were lost",
            timeout=cdk.Duration.minutes(_WATCHDOG_MINUTES),
            lost_events=None,
        )
        events.Rule(
            scope,
            "EachMinute",
            description="Has the watchdog look",
            schedule=events.Schedule.rate(cdk.Duration.minutes(1)),
            targets=[events_targets.LambdaFunction(self.watchdog.function)],
        )

    def watch(self, scope: Construct, cluster: ecs.ICluster, service: ecs.FargateService, job: str) -> None:
        """Have the watchdog look at a pinned service's count, and the recorder free its lease when its task stops."""
        if not self._pinned:
            known = cdk.Lazy.string(_AsJson(self._pinned))
            for function in (self.recorder.function, self.watchdog.function):
                function.add_environment(names.PINNED_SERVICES, known)
        self._pinned.append({"cluster": cluster.cluster_arn, "service": service.service_name, "job": job})
        self.watchdog.allow(iam.PolicyStatement(actions=["ecs:DescribeServices"], resources=[service.service_arn]))
        # Its tasks have no overrides: they are known by the service that they are of.
        detail = {
            "lastStatus": ["STOPPED"],
            "clusterArn": [cluster.cluster_arn],
            "group": [f"service:{service.service_name}"],
        }
        self._tell_recorder(scope, "Stopped", "Tells the recorder that the clock stopped", detail)

    def _tell_of_stopped_tasks(
        self, scope: Construct, ledger: RunLedgerBase, clusters: Sequence[ecs.ICluster] | None
    ) -> None:
        # Only tasks that were told to ask *this* ledger: nothing is invoked, nor paid, for others.
        ours = {"name": [names.LEDGER], "value": [ledger.table_url]}
        detail: dict[str, object] = {
            "lastStatus": ["STOPPED"],
            "overrides": {"containerOverrides": {"environment": ours}},
        }
        if clusters:
            detail["clusterArn"] = [cluster.cluster_arn for cluster in clusters]
        self._tell_recorder(scope, "TaskStopped", "Tells the recorder of stopped tasks", detail)

    def _tell_recorder(self, scope: Construct, rule_id: str, description: str, detail: Mapping[str, object]) -> None:
        events.Rule(
            scope,
            rule_id,
            description=description,
            event_pattern=events.EventPattern(source=["aws.ecs"], detail_type=[_TASK_STOPPED], detail={**detail}),
            targets=[events_targets.LambdaFunction(self.recorder.function)],
        )

    def _tell_of_dead_letters(self, ledger: RunLedgerBase) -> None:
        self.recorder.function.add_event_source(
            event_sources.SqsEventSource(
                ledger.dead_letter_queue,
                batch_size=10,
                report_batch_item_failures=True,
                # The least there is: a pile of dead letters must not take the account's concurrency.
                max_concurrency=2,
            )
        )
        queue = [ledger.dead_letter_queue.queue_arn]
        # As the function's own role is closed to CDK's grants, what the event source would add stands here.
        takes = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"]
        self.recorder.allow(iam.PolicyStatement(actions=takes, resources=queue))


@jsii.implements(cdk.IStableStringProducer)
class _AsJson:
    def __init__(self, values: Sequence[Mapping[str, str]]) -> None:
        self._values = values

    def produce(self) -> str:
        """The JSON of what there is in the end; a reference in it stays one, and has nothing to escape."""
        return json.dumps(self._values)


def _rows(ledger: RunLedgerBase, *actions: str) -> iam.PolicyStatement:
    return iam.PolicyStatement(actions=[*actions], resources=[ledger.table_arn])


def _launching(scope: Construct, ledger: RunLedgerBase) -> list[iam.PolicyStatement]:
    """To have a run started (again): by a schedule for once, with its job's own role; and to tell of it.

    So neither function can start a task itself, nor pass a task's role.
    """
    stack = cdk.Stack.of(scope)
    group = ledger.schedule_group_ref
    roles = stack.format_arn(service="iam", region="", resource="role", resource_name=f"{role_path(group)[1:]}*")
    bus = stack.format_arn(service="events", resource="event-bus", resource_name="default")
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
        iam.PolicyStatement(
            actions=["events:PutEvents"],
            resources=[bus],
            conditions={"StringEquals": {"events:source": EVENT_SOURCE}},
        ),
    ]


def role_path(group: str) -> str:
    """The IAM path of the roles that a group's schedules are fired with; at most 73 of its 512 characters."""
    return f"/cronce/{group}/"


def schedules_of(stack: cdk.Stack, group: str) -> str:
    """The schedules of a group; a single one cannot be named (Scheduler User Guide, "Identity-based policies")."""
    return stack.format_arn(service="scheduler", resource="schedule", resource_name=f"{group}/*")


def listing_schedules() -> iam.PolicyStatement:
    """To list them; the action takes no resource (Service Authorization Reference), and is denied on a group's."""
    return iam.PolicyStatement(actions=["scheduler:ListSchedules"], resources=["*"])


def _reporting_lost_events(ledger: RunLedgerBase) -> iam.PolicyStatement:
    """For Lambda, which puts an event there that it could not get done in three tries."""
    return iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[ledger.dead_letter_queue.queue_arn])
