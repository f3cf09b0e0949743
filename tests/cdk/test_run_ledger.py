"""The ledger's table: what CloudFormation is told, and what a task's role may do with it."""

from __future__ import annotations

import json
import re
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_dynamodb as dynamodb

from cronce.vocabulary import environment
from cronce.vocabulary.metrics import METRIC_OF_EVENT, NAMESPACE
from cronce_cdk import ConstructConfigError, RunLedger, ScheduledTask
from tests.cdk.ledger_template import (
    a_role,
    dead_letter_queues,
    function_of,
    only,
    resources_of,
)
from tests.cdk.shop import ENVIRONMENT, fargate_task, imported_cluster


def test_the_table_is_exactly_this(stack: cdk.Stack) -> None:
    """Keys, billing, retention, recovery and protection; nothing more is asked for."""
    RunLedger(stack, "Ledger")
    assert only(stack, "AWS::DynamoDB::GlobalTable") == {
        "Type": "AWS::DynamoDB::GlobalTable",
        "Properties": {
            "AttributeDefinitions": [
                {"AttributeName": "job", "AttributeType": "S"},
                {"AttributeName": "key", "AttributeType": "S"},
            ],
            "KeySchema": [
                {"AttributeName": "job", "KeyType": "HASH"},
                {"AttributeName": "key", "KeyType": "RANGE"},
            ],
            "BillingMode": "PAY_PER_REQUEST",
            "TimeToLiveSpecification": {"AttributeName": "expires_at", "Enabled": True},
            "Replicas": [
                {
                    "Region": "eu-west-1",
                    "DeletionProtectionEnabled": True,
                    "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
                }
            ],
        },
        "DeletionPolicy": "Retain",
        "UpdateReplacePolicy": "Retain",
    }


def test_a_ledger_makes_its_table_group_queue_recorder_and_watchdog(stack: cdk.Stack) -> None:
    """No custom resource comes along, and no managed policy."""
    RunLedger(stack, "Ledger")
    template = assertions.Template.from_stack(stack).to_json()
    assert sorted(resource["Type"] for resource in template["Resources"].values()) == [
        "AWS::DynamoDB::GlobalTable",
        "AWS::Events::Rule",
        "AWS::Events::Rule",
        "AWS::IAM::Role",
        "AWS::IAM::Role",
        "AWS::Lambda::EventInvokeConfig",
        "AWS::Lambda::EventSourceMapping",
        "AWS::Lambda::Function",
        "AWS::Lambda::Function",
        "AWS::Lambda::Permission",
        "AWS::Lambda::Permission",
        "AWS::Logs::LogGroup",
        "AWS::Logs::LogGroup",
        "AWS::SQS::Queue",
        "AWS::SQS::Queue",
        "AWS::SQS::QueuePolicy",
        "AWS::SQS::QueuePolicy",
        "AWS::Scheduler::ScheduleGroup",
    ]


def test_the_table_takes_a_name_that_was_given(stack: cdk.Stack) -> None:
    """Without one, CloudFormation makes it up."""
    RunLedger(stack, "Ledger", table_name="runs")
    assert only(stack, "AWS::DynamoDB::GlobalTable")["Properties"]["TableName"] == "runs"


def test_the_url_names_the_table_and_its_region(stack: cdk.Stack) -> None:
    """A task in this stack is told where to ask."""
    ledger = RunLedger(stack, "Ledger")
    [logical_id] = assertions.Template.from_stack(stack).find_resources("AWS::DynamoDB::GlobalTable")
    assert stack.resolve(ledger.table_url) == {
        "Fn::Join": ["", ["dynamodb://", {"Ref": logical_id}, "?region=eu-west-1"]]
    }


def test_the_url_follows_the_stack_where_the_region_is_not_known_yet() -> None:
    """An environment-agnostic stack gets the Region it is deployed to."""
    stack = cdk.Stack(cdk.App(), "Stack")
    ledger = RunLedger.from_table_name(stack, "Ledger", table_name="runs")
    assert stack.resolve(ledger.table_url) == {"Fn::Join": ["", ["dynamodb://runs?region=", {"Ref": "AWS::Region"}]]}


def test_a_claim_grant_is_exactly_three_actions_on_one_job(stack: cdk.Stack) -> None:
    """No Scan, no DeleteItem, no other job, no index, no other table."""
    ledger = RunLedger(stack, "Ledger")
    ledger.grant_claim(a_role(stack), "daily-digest")
    [logical_id] = assertions.Template.from_stack(stack).find_resources("AWS::DynamoDB::GlobalTable")
    assert only(stack, "AWS::IAM::Policy")["Properties"]["PolicyDocument"] == {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Action": ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"],
                "Resource": {"Fn::GetAtt": [logical_id, "Arn"]},
                "Condition": {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["daily-digest"]}},
            }
        ],
    }


def test_a_claim_grant_may_name_the_jobs_exclusion_group(stack: cdk.Stack) -> None:
    """One more partition, and nothing of the other jobs."""
    ledger = RunLedger(stack, "Ledger")
    role = a_role(stack)
    ledger.grant_claim(role, "close", exclusion_group="billing")
    [statement] = only(stack, "AWS::IAM::Policy")["Properties"]["PolicyDocument"]["Statement"]
    assert statement["Condition"]["ForAllValues:StringEquals"] == {
        "dynamodb:LeadingKeys": ["close", "cronce:group:billing"]
    }
    with pytest.raises(
        ConstructConfigError, match=r"exclusion_group: 'a b' is not usable; allowed: the name of a group"
    ):
        ledger.grant_claim(role, "close", exclusion_group="a b")


def test_grants_for_two_jobs_stay_two_statements(stack: cdk.Stack) -> None:
    """One role that runs two jobs may touch both, and each by its own condition."""
    ledger = RunLedger(stack, "Ledger")
    role = a_role(stack)
    for job in ("daily-digest", "invoices"):
        ledger.grant_claim(role, job)
    statements = only(stack, "AWS::IAM::Policy")["Properties"]["PolicyDocument"]["Statement"]
    keys = [statement["Condition"]["ForAllValues:StringEquals"]["dynamodb:LeadingKeys"] for statement in statements]
    assert keys == [["daily-digest"], ["invoices"]]


def test_a_job_named_like_a_policy_variable_is_taken_literally(stack: cdk.Stack) -> None:
    """IAM would otherwise put the caller's own name there, and the task could be denied or let in elsewhere."""
    RunLedger(stack, "Ledger").grant_claim(a_role(stack), "report-${aws:username}")
    [statement] = only(stack, "AWS::IAM::Policy")["Properties"]["PolicyDocument"]["Statement"]
    assert statement["Condition"]["ForAllValues:StringEquals"] == {
        "dynamodb:LeadingKeys": ["report-${$}{aws:username}"]
    }


@pytest.mark.parametrize("job", ["", " daily", "a\nb", "x" * 2049, "é" * 1025])
def test_a_name_that_the_ledger_cannot_hold_is_refused_at_synth(stack: cdk.Stack, job: str) -> None:
    """Not at 06:00 by a task that was denied."""
    ledger = RunLedger(stack, "Ledger")
    with pytest.raises(ConstructConfigError) as caught:
        ledger.grant_claim(a_role(stack), job)
    assert (caught.value.path, caught.value.argument, caught.value.value) == ("Stack/Ledger", "job", job)


@pytest.mark.parametrize("job", [None, "daily-digest"])
def test_a_read_grant_writes_nothing(stack: cdk.Stack, job: str | None) -> None:
    """For on-call: one job's runs, or everybody's."""
    RunLedger(stack, "Ledger").grant_read(a_role(stack), job)
    [statement] = only(stack, "AWS::IAM::Policy")["Properties"]["PolicyDocument"]["Statement"]
    one_job = {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["daily-digest"]}}
    assert statement["Action"] == ["dynamodb:GetItem", "dynamodb:Query"]
    assert statement.get("Condition") == (one_job if job else None)


def test_a_job_that_is_known_only_at_deploy_time_is_not_measured(stack: cdk.Stack) -> None:
    """A parameter's value goes into the condition as it is."""
    parameter = cdk.CfnParameter(stack, "Job")
    RunLedger(stack, "Ledger").grant_claim(a_role(stack), parameter.value_as_string)
    [statement] = only(stack, "AWS::IAM::Policy")["Properties"]["PolicyDocument"]["Statement"]
    assert statement["Condition"]["ForAllValues:StringEquals"] == {"dynamodb:LeadingKeys": [{"Ref": "Job"}]}


def test_a_ledger_of_another_stack_is_used_by_its_name(stack: cdk.Stack) -> None:
    """Nothing is made, and the grant names that table of this account and Region."""
    ledger = RunLedger.from_table_name(stack, "Ledger", table_name="runs")
    ledger.grant_claim(a_role(stack), "daily-digest")
    [statement] = only(stack, "AWS::IAM::Policy")["Properties"]["PolicyDocument"]["Statement"]
    assert resources_of(stack, "AWS::DynamoDB::GlobalTable") == []
    assert ledger.table_url == "dynamodb://runs?region=eu-west-1"
    assert statement["Resource"] == {
        "Fn::Join": ["", ["arn:", {"Ref": "AWS::Partition"}, ":dynamodb:eu-west-1:111122223333:table/runs"]]
    }


def test_dead_letters_are_kept_for_two_weeks_and_encrypted(stack: cdk.Stack) -> None:
    """And nobody sends them in the clear; one that is being read is hidden six times as long as reading may take."""
    ledger = RunLedger(stack, "Ledger")
    [(_, queue)] = dead_letter_queues(stack)
    assert {name: value for name, value in queue["Properties"].items() if name != "RedrivePolicy"} == {
        "MessageRetentionPeriod": 1_209_600,
        "SqsManagedSseEnabled": True,
        "VisibilityTimeout": 360,
    }
    assert function_of(stack, "recorder")["Timeout"] == 60
    metric = ledger.metric_dead_letters()
    assert (metric.namespace, metric.metric_name) == ("AWS/SQS", "ApproximateNumberOfMessagesVisible")


def test_the_group_goes_with_its_ledger(stack: cdk.Stack) -> None:
    """A job without its ledger must not start."""
    RunLedger(stack, "Ledger")
    assert only(stack, "AWS::Scheduler::ScheduleGroup")["DeletionPolicy"] == "Delete"


def test_the_recorder_hears_of_stopped_tasks_of_its_own_ledger(stack: cdk.Stack) -> None:
    """Whose container was told to ask this very table; tasks of others invoke nothing."""
    ledger = RunLedger(stack, "Ledger", clusters=[imported_cluster(stack)])
    function = function_of(stack, "recorder")
    url = stack.resolve(ledger.table_url)
    [group] = assertions.Template.from_stack(stack).find_resources("AWS::Scheduler::ScheduleGroup")
    assert _task_events(stack) == {
        "account": ["111122223333"],
        "source": ["aws.ecs"],
        "detail-type": ["ECS Task State Change"],
        "detail": {
            "lastStatus": ["STOPPED"],
            "overrides": {"containerOverrides": {"environment": {"name": [environment.LEDGER], "value": [url]}}},
            "clusterArn": [
                {"Fn::Join": ["", ["arn:", {"Ref": "AWS::Partition"}, ":ecs:eu-west-1:111122223333:cluster/main"]]}
            ],
        },
    }
    assert function["Runtime"] == "python3.13"
    assert function["Environment"]["Variables"] == {
        environment.LEDGER: url,
        environment.SCHEDULE_GROUP: {"Ref": group},
        environment.METRICS: "emf",
    }


def test_the_recorder_hears_of_every_cluster_unless_told_otherwise(stack: cdk.Stack) -> None:
    """Jobs may come to clusters that are made later."""
    RunLedger(stack, "Ledger")
    assert "clusterArn" not in _task_events(stack)["detail"]


def _task_events(stack: cdk.Stack) -> dict[str, Any]:
    rules = [each["Properties"] for each in resources_of(stack, "AWS::Events::Rule")]
    [pattern] = [rule["EventPattern"] for rule in rules if "EventPattern" in rule]
    found: dict[str, Any] = pattern
    return found


@pytest.mark.parametrize(
    ("method", "event"),
    [
        ("metric_missed", "missed"),
        ("metric_lost", "run_lost"),
        ("metric_launch_failed", "launch_failed"),
        ("metric_held", "run_held"),
        ("metric_given_up", "run_given_up"),
        ("metric_unclaimed", "unclaimed"),
        ("metric_not_judged", "ticks_not_judged"),
        ("metric_schedule_gone", "schedule_gone"),
        ("metric_unreadable", "row_unreadable"),
    ],
)
def test_metrics_are_those_of_the_watchdog_and_recorder(stack: cdk.Stack, method: str, event: str) -> None:
    """Of one job of the ledger, or of all: an alarm cannot sum jobs."""
    ledger = RunLedger(stack, "Ledger", table_name="runs")
    of_all, of_one = getattr(ledger, method)(), getattr(ledger, method)(job="digest", period=cdk.Duration.minutes(1))
    assert {(each.namespace, each.metric_name, each.statistic) for each in (of_all, of_one)} == {
        (NAMESPACE, METRIC_OF_EVENT[event], "Sum")
    }
    assert (stack.resolve(of_all.dimensions), of_one.dimensions) == (
        {"Ledger": "runs"},
        {"Ledger": "runs", "Job": "digest"},
    )
    assert of_one.period.to_minutes() == 1


def test_a_wrong_count_of_a_pinned_service_is_a_metric_of_the_ledger(stack: cdk.Stack) -> None:
    """For an alarm."""
    ledger = RunLedger.from_table_name(stack, "Ledger", table_name="runs")
    metric = ledger.metric_pinned_count_wrong()
    assert (metric.metric_name, metric.dimensions) == (METRIC_OF_EVENT["pinned_count_wrong"], {"Ledger": "runs"})


def test_strong_replicas_are_taken_and_then_there_is_no_ttl(stack: cdk.Stack) -> None:
    """A strongly consistent global table supports none."""
    RunLedger(
        stack,
        "Ledger",
        replicas=[dynamodb.ReplicaTableProps(region="eu-central-1")],
        multi_region_consistency=dynamodb.MultiRegionConsistency.STRONG,
        witness_region="eu-west-2",
    )
    table = only(stack, "AWS::DynamoDB::GlobalTable")["Properties"]
    assert table["MultiRegionConsistency"] == "STRONG"
    assert {replica["Region"] for replica in table["Replicas"]} == {"eu-west-1", "eu-central-1"}
    assert "TimeToLiveSpecification" not in table


@pytest.mark.parametrize("table_name", ["runs", "prod.runs_v2", "r" * 64, "r" * 65, "r" * 67, "a.b" * 85])
def test_a_name_leads_to_the_same_group_and_queue_from_either_side(table_name: str) -> None:
    """Which is all that another stack needs to know."""
    stack = cdk.Stack(cdk.App(), "Stack", env=ENVIRONMENT)
    RunLedger(stack, "Ledger", table_name=table_name)
    seen = RunLedger.from_table_name(stack, "Seen", table_name=table_name)
    group = only(stack, "AWS::Scheduler::ScheduleGroup")["Properties"]["Name"]
    queues = {each["Properties"]["QueueName"] for each in resources_of(stack, "AWS::SQS::Queue")}
    assert seen.schedule_group.schedule_group_name == group
    assert {seen.dead_letter_queue.queue_name, seen.unsettled_queue.queue_name} == queues
    assert len(queues) == 2
    assert len(group) <= 64
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,80}", queue) for queue in queues)


def test_names_that_look_alike_lead_to_different_groups_and_queues() -> None:
    """Cut or rewritten names end in a hash of the whole."""
    stack = cdk.Stack(cdk.App(), "Stack", env=ENVIRONMENT)
    tables = ["runs.a", "runs-a", "r" * 70 + "1", "r" * 70 + "2"]
    ledgers = [RunLedger.from_table_name(stack, f"L{i}", table_name=name) for i, name in enumerate(tables)]
    assert len({ledger.schedule_group.schedule_group_name for ledger in ledgers}) == 4
    assert len({ledger.dead_letter_queue.queue_name for ledger in ledgers}) == 4


def test_two_stacks_share_a_ledger_without_an_export() -> None:
    """The last job can be removed, and the ledger's stack is deployed first."""
    app = cdk.App()
    ledgers = cdk.Stack(app, "Ledgers", env=ENVIRONMENT)
    ledger = RunLedger(ledgers, "Ledger", table_name="runs")
    jobs = cdk.Stack(app, "Jobs", env=ENVIRONMENT)
    cluster = imported_cluster(jobs)
    for name in ("first", "second"):
        ScheduledTask(
            jobs,
            name,
            ledger=ledger,
            schedule="@daily",
            cluster=cluster,
            task_definition=fargate_task(jobs, f"Task-{name}"),
        )
    template = assertions.Template.from_stack(jobs).to_json()
    text = json.dumps(template)
    assert "Fn::ImportValue" not in text
    assert "Outputs" not in assertions.Template.from_stack(ledgers).to_json()
    assert [stack.node.id for stack in jobs.dependencies] == ["Ledgers"]
    schedules = [each["Properties"] for each in template["Resources"].values() if each["Type"].endswith("::Schedule")]
    assert [schedule["GroupName"] for schedule in schedules] == ["runs", "runs"]
    assert "dynamodb://runs?region=eu-west-1" in text
    assert ":sqs:eu-west-1:111122223333:runs-dead-letters" in text
    assert ":table/runs" in text


def test_a_grant_to_a_role_of_another_stack_makes_no_export() -> None:
    """The role's policy names the table."""
    app = cdk.App()
    ledgers, others = (cdk.Stack(app, name, env=ENVIRONMENT) for name in ("Ledgers", "Others"))
    RunLedger(ledgers, "Ledger", table_name="runs").grant_read(a_role(others))
    [statement] = only(others, "AWS::IAM::Policy")["Properties"]["PolicyDocument"]["Statement"]
    assert statement["Resource"]["Fn::Join"][1][-1] == ":dynamodb:eu-west-1:111122223333:table/runs"
    assert "Outputs" not in assertions.Template.from_stack(ledgers).to_json()
