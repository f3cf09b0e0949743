"""The alarms of a ledger as a whole, and the messages about single runs."""

from __future__ import annotations

import re
from typing import Protocol

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as cloudwatch_actions
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from constructs import Construct

from cronce_cdk._checks import Tree, is_token, kinds, refusal
from cronce_cdk._jsii_cache import stack_of

DESCRIPTIONS = {
    "failed": "An attempt failed",
    "missed": "A tick was not delivered",
    "launch_failed": "A task could not be started",
    "lost": "The owner of a run was gone without a word",
    "held": "A run waits for a person (on_lost=HOLD)",
    "given_up": "No machine starts a run again",
    "unclaimed": "A task ended without asking the ledger",
    "not_judged": "Nobody knows what became of some ticks",
    "unreadable": "A row of the ledger or the schedule of a job cannot be read",
    "too_long": "A run takes longer than it may",
    "no_success": "A job has had no success for too long",
    "dead_letters": "The recorder cannot settle what it was told",
    "unsettled": "The recorder could not settle a dead letter in all tries",
    "rerun_errors": "The rerun function could not answer a person",
}
"""Kind of an alarm -> what it says. The Terraform module `alarms` has the same."""

TOLD = (
    "Cronce Run Missed",
    "Cronce Run Held",
    "Cronce Run Given Up",
    "Cronce Run Unclaimed",
    "Cronce Ticks Not Judged",
    "Cronce Schedule Gone",
    "Cronce Pinned Count Wrong",
    "Cronce Run Too Long",
    "Cronce Job Without Success",
)
"""The events that people get a message about. A changed schedule is none of them."""


_WEBHOOK = re.compile(r"https://[^/@\s?#*]+(/[^\s*]*)?", re.ASCII)
"""A URL that the webhook may have: without a user, and without `*`, which an API destination would fill in."""

_LONGEST_URL = 2048
"""The limit of an API destination's endpoint (EventBridge API Reference, CreateApiDestination)."""


class WithMetrics(Protocol):
    """The metrics of a ledger, as `metric_KIND`."""

    @property
    def ledger_name(self) -> str:
        """The table's name, a dimension of each metric."""


def add_alarms(scope: Construct, ledger: WithMetrics, kinds: list[str]) -> dict[str, cloudwatch.Alarm]:
    """Create an alarm per kind for when it has happened once, and return them by kind."""
    return {
        kind: cloudwatch.Alarm(
            scope,
            kind.title().replace("_", ""),
            metric=getattr(ledger, f"metric_{kind}")(),
            threshold=1,
            evaluation_periods=1,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
            alarm_description=DESCRIPTIONS[kind],
        )
        for kind in kinds
    }


def tell(scope: Construct, ledger: WithMetrics, topic: sns.ITopic, alarms: list[cloudwatch.Alarm]) -> events.Rule:
    """Send the alarms to the topic, and a message for each run that needs attention: its job, period and reason."""
    for alarm in alarms:
        alarm.add_alarm_action(cloudwatch_actions.SnsAction(topic))
    stack = stack_of(scope)
    # A topic with a policy, as that of `enforce_ssl`, has no default statement for its account's alarms.
    topic.add_to_resource_policy(
        iam.PolicyStatement(
            actions=["sns:Publish"],
            principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
            resources=[topic.topic_arn],
            conditions={"StringEquals": {"aws:SourceAccount": stack.account}},
        )
    )
    message = events.RuleTargetInput.from_text(events.EventField.from_path("$.detail.text"))
    return _notices(scope, ledger, targets.SnsTopic(topic, message=message))


def check_webhook(scope: Tree, connection: object, url: object, channel: object) -> None:
    """Refuse what no API destination can call, and a second webhook."""
    kinds(scope, str, {"channel": channel})
    if not hasattr(connection, "connection_arn"):
        raise refusal(scope, "connection", connection, "an events.Connection")
    if not isinstance(url, str) or not (is_token(url) or (_WEBHOOK.fullmatch(url) and len(url) <= _LONGEST_URL)):
        allowed = f"https://HOST/PATH, at most {_LONGEST_URL} characters, without user and password"
        raise refusal(scope, "url", url, allowed)
    if scope.node.try_find_child("Webhook"):
        raise refusal(scope, "notify_webhook", "a second call", "one call per ledger")


def tell_webhook(
    scope: Construct, ledger: WithMetrics, connection: events.IConnection, url: str, channel: str | None
) -> events.Rule:
    """Send the same messages to the webhook: `{"text": ...}`, and the channel for Slack's `chat.postMessage`.

    Its secret is in the connection, which EventBridge keeps in Secrets Manager.
    """
    destination = events.ApiDestination(
        scope,
        "Destination",
        connection=connection,
        endpoint=url,
        http_method=events.HttpMethod.POST,
        rate_limit_per_second=1,
        description="Takes notices of runs",
    )
    calls = iam.PolicyStatement(actions=["events:InvokeApiDestination"], resources=[destination.api_destination_arn])
    role = iam.Role(
        scope,
        "Role",
        assumed_by=iam.ServicePrincipal("events.amazonaws.com"),
        inline_policies={"Webhook": iam.PolicyDocument(statements=[calls])},
    )
    told = {"text": events.EventField.from_path("$.detail.text")}
    target = targets.ApiDestination(
        destination,
        event=events.RuleTargetInput.from_object({"channel": channel, **told} if channel else told),
        event_role=role.without_policy_updates(),
        max_event_age=cdk.Duration.hours(1),
        retry_attempts=10,
    )
    return _notices(scope, ledger, target)


def _notices(scope: Construct, ledger: WithMetrics, target: events.IRuleTarget) -> events.Rule:
    return events.Rule(
        scope,
        "Notices",
        description="Tells people of runs that need one",
        event_pattern=events.EventPattern(
            account=[stack_of(scope).account],
            source=["cronce"],
            detail_type=[*TOLD],
            detail={"ledger": [ledger.ledger_name]},
        ),
        targets=[target],
    )
