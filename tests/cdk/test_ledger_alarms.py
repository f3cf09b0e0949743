"""The alarms and notifications of a ledger."""

from __future__ import annotations

import json
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_events as events
from aws_cdk import aws_sns as sns

from cronce.watch import notices
from cronce_cdk import ConstructConfigError, RunLedger
from cronce_cdk._alarms import DESCRIPTIONS, TOLD
from tests.cdk.ledger_template import (
    only,
    resources_named,
    resources_of,
)


def test_one_call_makes_the_alarms_of_the_whole_ledger_and_tells_a_topic_of_each_run(stack: cdk.Stack) -> None:
    """The number of alarms does not depend on the number of jobs; the text has job, period and why."""
    ledger = RunLedger(stack, "Ledger", table_name="runs")
    topic = sns.Topic(stack, "Topic", enforce_ssl=True)
    alarms = ledger.add_alarms(topic)
    assert set(alarms) == set(DESCRIPTIONS) - {"rerun_errors"}
    found = [each["Properties"] for each in resources_of(stack, "AWS::CloudWatch::Alarm")]
    assert {each["AlarmDescription"] for each in found} == {DESCRIPTIONS[kind] for kind in alarms}
    assert {json.dumps(each["AlarmActions"]) for each in found} == {json.dumps([stack.resolve(topic.topic_arn)])}
    [rule] = [
        each["Properties"]
        for each in resources_of(stack, "AWS::Events::Rule")
        if "cronce" in each["Properties"].get("EventPattern", {}).get("source", ())
    ]
    assert rule["EventPattern"]["detail"] == {"ledger": [stack.resolve(ledger.ledger_name)]}
    [target] = rule["Targets"]
    assert target["InputTransformer"]["InputTemplate"] == ('"<detail-text>"')
    policy = only(stack, "AWS::SNS::TopicPolicy")["Properties"]["PolicyDocument"]["Statement"]
    allowed = [each for each in policy if each["Effect"] == "Allow"]
    assert {each["Principal"]["Service"]: each["Action"] for each in allowed} == {
        "cloudwatch.amazonaws.com": "sns:Publish",
        "events.amazonaws.com": "sns:Publish",
    }


def test_people_are_told_of_every_event_but_a_changed_schedule() -> None:
    """The names are those that the functions send."""
    sent = {value for name, value in vars(notices).items() if isinstance(value, str) and value.startswith("Cronce ")}
    assert {*TOLD} == sent - {notices.SCHEDULE_CHANGED}


def test_a_webhook_gets_the_text_and_no_secret_is_in_the_template(stack: cdk.Stack) -> None:
    """With a channel as Slack takes it; the role may call this destination and nothing else."""
    ledger = RunLedger(stack, "Ledger", table_name="runs")
    secret = cdk.SecretValue.secrets_manager("slack", json_field="token")
    connection = events.Connection(stack, "Slack", authorization=events.Authorization.api_key("Authorization", secret))
    ledger.notify_webhook(connection, url="https://slack.com/api/chat.postMessage", channel="#ops")
    destination = only(stack, "AWS::Events::ApiDestination")["Properties"]
    assert destination["InvocationEndpoint"] == "https://slack.com/api/chat.postMessage"
    [rule] = [
        each["Properties"] for each in resources_of(stack, "AWS::Events::Rule") if "InputTransformer" in str(each)
    ]
    assert rule["EventPattern"]["detail-type"] == [*TOLD]
    [target] = rule["Targets"]
    assert target["InputTransformer"]["InputTemplate"] == '{"channel":"#ops","text":<detail-text>}'
    [(name, role)] = resources_named(stack, "AWS::IAM::Role", "LedgerWebhookRole")
    assert target["RoleArn"] == {"Fn::GetAtt": [name, "Arn"]}
    [statement] = role["Properties"]["Policies"][0]["PolicyDocument"]["Statement"]
    assert statement["Action"] == "events:InvokeApiDestination"
    assert statement["Resource"]["Fn::GetAtt"][1] == "Arn"
    with pytest.raises(ConstructConfigError, match="one call per ledger"):
        ledger.notify_webhook(connection, url="https://slack.com/x")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"url": "http://hooks.example.com/"}, "https://HOST/PATH"),
        ({"url": "https://user:secret@example.com/"}, "https://HOST/PATH"),
        ({"url": "https://example.com/*"}, "https://HOST/PATH"),
        ({"url": "https://example.com/" + "x" * 2048}, "https://HOST/PATH"),
        ({"url": None}, "https://HOST/PATH"),
        ({"channel": 7}, "channel"),
        ({"connection": "arn:aws:events:eu-west-1:111122223333:connection/slack/1"}, "an events.Connection"),
    ],
)
def test_a_webhook_that_cannot_be_called_is_refused(stack: cdk.Stack, given: dict[str, Any], said: str) -> None:
    """Where it is written."""
    ledger = RunLedger.from_table_name(stack, "Ledger", table_name="runs")
    connection = events.Connection.from_connection_attributes(
        stack,
        "Slack",
        connection_arn="arn:aws:events:eu-west-1:111122223333:connection/slack/1",
        connection_name="slack",
        connection_secret_arn="arn:aws:secretsmanager:eu-west-1:111122223333:secret:slack",
    )
    with pytest.raises(ConstructConfigError, match=said):
        ledger.notify_webhook(**{"connection": connection, "url": "https://example.com/", **given})


def test_alarms_without_a_topic_have_no_actions_and_are_made_once(stack: cdk.Stack) -> None:
    """Also for a ledger of another app; what is no topic is refused."""
    ledger = RunLedger.from_table_name(stack, "Ledger", table_name="runs")
    with pytest.raises(ConstructConfigError, match="topic"):
        ledger.add_alarms("arn:aws:sns:eu-west-1:111122223333:alarms")  # type: ignore[arg-type]
    alarms = ledger.add_alarms(rerun_function=True)
    assert set(alarms) == set(DESCRIPTIONS)
    assert [
        each for each in resources_of(stack, "AWS::CloudWatch::Alarm") if "AlarmActions" in each["Properties"]
    ] == []
    assert resources_of(stack, "AWS::Events::Rule") == []
    with pytest.raises(ConstructConfigError, match="one call per ledger"):
        ledger.add_alarms()
