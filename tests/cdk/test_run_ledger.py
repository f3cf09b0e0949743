"""The ledger's table: what CloudFormation is told, and what a task's role may do with it."""

from __future__ import annotations

import json
import re
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns

from cronce.vocabulary import environment
from cronce.vocabulary.metrics import METRIC_OF_EVENT, NAMESPACE
from cronce.watch import notices
from cronce_cdk import ConstructConfigError, RunLedger, ScheduledTask
from cronce_cdk._alarms import DESCRIPTIONS, TOLD
from cronce_lambdas.board import Request
from tests.cdk.shop import ENVIRONMENT, fargate_task, imported_cluster

WATCHDOG_ON_TABLE = ["dynamodb:DescribeTable", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"]


@pytest.fixture
def stack() -> cdk.Stack:
    """An empty stack with a known account and Region."""
    return cdk.Stack(cdk.App(), "Stack", env=ENVIRONMENT)


def _resources(stack: cdk.Stack, kind: str) -> list[dict[str, Any]]:
    template = assertions.Template.from_stack(stack).to_json()
    return [resource for resource in template["Resources"].values() if resource["Type"] == kind]


def _dead_letters(stack: cdk.Stack) -> list[tuple[str, dict[str, Any]]]:
    """The queue whose messages end in another one."""
    queues = assertions.Template.from_stack(stack).find_resources("AWS::SQS::Queue")
    return [(name, {**each}) for name, each in queues.items() if "RedrivePolicy" in each["Properties"]]


def _only(stack: cdk.Stack, kind: str) -> dict[str, Any]:
    [resource] = _resources(stack, kind)
    return resource


def _named(stack: cdk.Stack, kind: str, prefix: str) -> list[tuple[str, dict[str, Any]]]:
    """The resources of the type whose logical ID begins so."""
    found = assertions.Template.from_stack(stack).find_resources(kind)
    return [(name, {**each}) for name, each in found.items() if name.startswith(prefix)]


def _role(stack: cdk.Stack) -> iam.Role:
    return iam.Role(stack, "TaskRole", assumed_by=iam.ServicePrincipal("ecs-tasks.amazonaws.com"))


def test_the_table_is_exactly_this(stack: cdk.Stack) -> None:
    """Keys, billing, retention, recovery and protection; nothing more is asked for."""
    RunLedger(stack, "Ledger")
    assert _only(stack, "AWS::DynamoDB::GlobalTable") == {
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
    assert _only(stack, "AWS::DynamoDB::GlobalTable")["Properties"]["TableName"] == "runs"


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
    ledger.grant_claim(_role(stack), "daily-digest")
    [logical_id] = assertions.Template.from_stack(stack).find_resources("AWS::DynamoDB::GlobalTable")
    assert _only(stack, "AWS::IAM::Policy")["Properties"]["PolicyDocument"] == {
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
    role = _role(stack)
    ledger.grant_claim(role, "close", exclusion_group="billing")
    [statement] = _only(stack, "AWS::IAM::Policy")["Properties"]["PolicyDocument"]["Statement"]
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
    role = _role(stack)
    for job in ("daily-digest", "invoices"):
        ledger.grant_claim(role, job)
    statements = _only(stack, "AWS::IAM::Policy")["Properties"]["PolicyDocument"]["Statement"]
    keys = [statement["Condition"]["ForAllValues:StringEquals"]["dynamodb:LeadingKeys"] for statement in statements]
    assert keys == [["daily-digest"], ["invoices"]]


def test_a_job_named_like_a_policy_variable_is_taken_literally(stack: cdk.Stack) -> None:
    """IAM would otherwise put the caller's own name there, and the task could be denied or let in elsewhere."""
    RunLedger(stack, "Ledger").grant_claim(_role(stack), "report-${aws:username}")
    [statement] = _only(stack, "AWS::IAM::Policy")["Properties"]["PolicyDocument"]["Statement"]
    assert statement["Condition"]["ForAllValues:StringEquals"] == {
        "dynamodb:LeadingKeys": ["report-${$}{aws:username}"]
    }


@pytest.mark.parametrize("job", ["", " daily", "a\nb", "x" * 2049, "é" * 1025])
def test_a_name_that_the_ledger_cannot_hold_is_refused_at_synth(stack: cdk.Stack, job: str) -> None:
    """Not at 06:00 by a task that was denied."""
    ledger = RunLedger(stack, "Ledger")
    with pytest.raises(ConstructConfigError) as caught:
        ledger.grant_claim(_role(stack), job)
    assert (caught.value.path, caught.value.argument, caught.value.value) == ("Stack/Ledger", "job", job)


@pytest.mark.parametrize("job", [None, "daily-digest"])
def test_a_read_grant_writes_nothing(stack: cdk.Stack, job: str | None) -> None:
    """For on-call: one job's runs, or everybody's."""
    RunLedger(stack, "Ledger").grant_read(_role(stack), job)
    [statement] = _only(stack, "AWS::IAM::Policy")["Properties"]["PolicyDocument"]["Statement"]
    one_job = {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["daily-digest"]}}
    assert statement["Action"] == ["dynamodb:GetItem", "dynamodb:Query"]
    assert statement.get("Condition") == (one_job if job else None)


def test_a_job_that_is_known_only_at_deploy_time_is_not_measured(stack: cdk.Stack) -> None:
    """A parameter's value goes into the condition as it is."""
    parameter = cdk.CfnParameter(stack, "Job")
    RunLedger(stack, "Ledger").grant_claim(_role(stack), parameter.value_as_string)
    [statement] = _only(stack, "AWS::IAM::Policy")["Properties"]["PolicyDocument"]["Statement"]
    assert statement["Condition"]["ForAllValues:StringEquals"] == {"dynamodb:LeadingKeys": [{"Ref": "Job"}]}


def test_a_ledger_of_another_stack_is_used_by_its_name(stack: cdk.Stack) -> None:
    """Nothing is made, and the grant names that table of this account and Region."""
    ledger = RunLedger.from_table_name(stack, "Ledger", table_name="runs")
    ledger.grant_claim(_role(stack), "daily-digest")
    [statement] = _only(stack, "AWS::IAM::Policy")["Properties"]["PolicyDocument"]["Statement"]
    assert _resources(stack, "AWS::DynamoDB::GlobalTable") == []
    assert ledger.table_url == "dynamodb://runs?region=eu-west-1"
    assert statement["Resource"] == {
        "Fn::Join": ["", ["arn:", {"Ref": "AWS::Partition"}, ":dynamodb:eu-west-1:111122223333:table/runs"]]
    }


def test_dead_letters_are_kept_for_two_weeks_and_encrypted(stack: cdk.Stack) -> None:
    """And nobody sends them in the clear; one that is being read is hidden six times as long as reading may take."""
    ledger = RunLedger(stack, "Ledger")
    [(_, queue)] = _dead_letters(stack)
    assert {name: value for name, value in queue["Properties"].items() if name != "RedrivePolicy"} == {
        "MessageRetentionPeriod": 1_209_600,
        "SqsManagedSseEnabled": True,
        "VisibilityTimeout": 360,
    }
    assert _function(stack, "recorder")["Timeout"] == 60
    metric = ledger.metric_dead_letters()
    assert (metric.namespace, metric.metric_name) == ("AWS/SQS", "ApproximateNumberOfMessagesVisible")


def test_the_group_goes_with_its_ledger(stack: cdk.Stack) -> None:
    """A job without its ledger must not start."""
    RunLedger(stack, "Ledger")
    assert _only(stack, "AWS::Scheduler::ScheduleGroup")["DeletionPolicy"] == "Delete"


def _function(stack: cdk.Stack, module: str) -> dict[str, Any]:
    handler = f"cronce_lambdas.{module}.handler"
    [found] = [
        each["Properties"]
        for each in _resources(stack, "AWS::Lambda::Function")
        if each["Properties"]["Handler"] == handler
    ]
    properties: dict[str, Any] = found
    return properties


def _statements(stack: cdk.Stack, function: str) -> list[dict[str, Any]]:
    """What the role of the function allows; it has one inline policy and nothing else."""
    roles = assertions.Template.from_stack(stack).find_resources("AWS::IAM::Role")
    [role] = [each["Properties"] for name, each in roles.items() if name.startswith(f"Ledger{function}Role")]
    [policy] = role.pop("Policies")
    assert list(role) == ["AssumeRolePolicyDocument"]
    statements: list[dict[str, Any]] = policy["PolicyDocument"]["Statement"]
    return statements


def _arn(*rest: object) -> dict[str, Any]:
    return {"Fn::Join": ["", ["arn:", {"Ref": "AWS::Partition"}, *rest]]}


def _expected_statements(stack: cdk.Stack, function: str, table_actions: list[str]) -> list[dict[str, Any]]:
    """What both functions may do: their log, the table, the group's schedules, its jobs' roles, and to tell of it."""
    template = assertions.Template.from_stack(stack)
    [table] = template.find_resources("AWS::DynamoDB::GlobalTable")
    [log] = [name for name in template.find_resources("AWS::Logs::LogGroup") if function in name]
    [group] = template.find_resources("AWS::Scheduler::ScheduleGroup")
    return [
        {
            "Effect": "Allow",
            "Action": ["logs:CreateLogStream", "logs:PutLogEvents"],
            "Resource": {"Fn::GetAtt": [log, "Arn"]},
        },
        {"Effect": "Allow", "Action": table_actions, "Resource": {"Fn::GetAtt": [table, "Arn"]}},
        {
            "Effect": "Allow",
            "Action": ["scheduler:CreateSchedule", "scheduler:GetSchedule"],
            "Resource": _arn(":scheduler:eu-west-1:111122223333:schedule/", {"Ref": group}, "/*"),
        },
        {"Effect": "Allow", "Action": "scheduler:ListSchedules", "Resource": "*"},
        {
            "Effect": "Allow",
            "Action": "iam:PassRole",
            "Resource": _arn(":iam::111122223333:role/cronce/", {"Ref": group}, "/*"),
            "Condition": {"StringEquals": {"iam:PassedToService": "scheduler.amazonaws.com"}},
        },
        {
            "Effect": "Allow",
            "Action": "events:PutEvents",
            "Resource": _arn(":events:eu-west-1:111122223333:event-bus/default"),
            "Condition": {"StringEquals": {"events:source": "cronce"}},
        },
    ]


def test_the_recorder_may_do_exactly_this(stack: cdk.Stack) -> None:
    """It looks at single runs only; it reads dead letters, and its own lost events are put among them."""
    RunLedger(stack, "Ledger")
    [queue] = [name for name, _ in _dead_letters(stack)]
    arn = {"Fn::GetAtt": [queue, "Arn"]}
    assert _statements(stack, "Recorder") == [
        *_expected_statements(stack, "Recorder", ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"]),
        {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": arn},
        {
            "Effect": "Allow",
            "Action": ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"],
            "Resource": arn,
        },
    ]


def test_the_watchdog_may_do_exactly_this(stack: cdk.Stack) -> None:
    """It also pages through a job's runs, and looks at the tasks of every cluster of this account and Region."""
    RunLedger(stack, "Ledger")
    here = ":ecs:eu-west-1:111122223333:"
    assert _statements(stack, "Watchdog") == [
        *_expected_statements(stack, "Watchdog", WATCHDOG_ON_TABLE),
        {
            "Effect": "Allow",
            "Action": "ecs:ListTasks",
            "Resource": "*",
            "Condition": {"ArnLike": {"ecs:cluster": _arn(f"{here}cluster/*")}},
        },
        {"Effect": "Allow", "Action": "ecs:DescribeTasks", "Resource": _arn(f"{here}task/*/*")},
    ]


def test_with_clusters_the_watchdog_looks_only_at_their_tasks(stack: cdk.Stack) -> None:
    """A cluster that was imported, and one of the stack."""
    imported = imported_cluster(stack)
    RunLedger(stack, "Ledger", clusters=[imported, ecs.Cluster(stack, "Own", vpc=imported.vpc)])
    [own] = assertions.Template.from_stack(stack).find_resources("AWS::ECS::Cluster")
    here = ":ecs:eu-west-1:111122223333:"
    assert _statements(stack, "Watchdog") == [
        *_expected_statements(stack, "Watchdog", WATCHDOG_ON_TABLE),
        {
            "Effect": "Allow",
            "Action": "ecs:ListTasks",
            "Resource": "*",
            "Condition": {"ArnEquals": {"ecs:cluster": [_arn(f"{here}cluster/main"), {"Fn::GetAtt": [own, "Arn"]}]}},
        },
        {
            "Effect": "Allow",
            "Action": "ecs:DescribeTasks",
            "Resource": [_arn(f"{here}task/main/*"), _arn(f"{here}task/", {"Ref": own}, "/*")],
        },
    ]


@pytest.mark.parametrize("table_name", [None, "r" * 255])
def test_the_roles_that_the_functions_pass_are_those_of_the_groups_jobs(table_name: str | None) -> None:
    """By their IAM path, of this stack and of others; 512 characters are the limit, 64 that of the last part."""
    app = cdk.App()
    stack = cdk.Stack(app, "S" * 120, env=ENVIRONMENT)
    ledger = RunLedger(stack, "Ledger", table_name=table_name)
    ScheduledTask(
        stack,
        "Job",
        ledger=ledger,
        schedule="@daily",
        cluster=imported_cluster(stack),
        task_definition=fargate_task(stack),
    )
    roles = assertions.Template.from_stack(stack).find_resources("AWS::IAM::Role")
    [role] = [each["Properties"] for name, each in roles.items() if name.startswith("JobRole")]
    [group] = assertions.Template.from_stack(stack).find_resources("AWS::Scheduler::ScheduleGroup")
    assert role["Path"] == {"Fn::Join": ["", ["/cronce/", {"Ref": group}, "/"]]}
    assert "RoleName" not in role
    name = _only(stack, "AWS::Scheduler::ScheduleGroup")["Properties"].get("Name", "g" * 64)
    assert len(f"/cronce/{name}/") <= 73


def test_a_job_of_another_stack_has_a_role_that_the_functions_may_pass() -> None:
    """The path is the same text on both sides."""
    app = cdk.App()
    ledgers, jobs = (cdk.Stack(app, name, env=ENVIRONMENT) for name in ("Ledgers", "Jobs"))
    ledger = RunLedger(ledgers, "Ledger", table_name="runs")
    ScheduledTask(
        jobs,
        "Job",
        ledger=ledger,
        schedule="@daily",
        cluster=imported_cluster(jobs),
        task_definition=fargate_task(jobs),
    )
    [path] = [each["Properties"]["Path"] for each in _resources(jobs, "AWS::IAM::Role") if "Path" in each["Properties"]]
    group = _only(ledgers, "AWS::Scheduler::ScheduleGroup")["Properties"]["Name"]
    assert (path, group) == ("/cronce/runs/", "runs")


def test_an_event_that_the_recorder_cannot_get_done_is_not_lost(stack: cdk.Stack) -> None:
    """After Lambda's three tries it goes to the queue that the recorder reads, which keeps it for two weeks."""
    RunLedger(stack, "Ledger")
    template = assertions.Template.from_stack(stack)
    [queue] = [name for name, _ in _dead_letters(stack)]
    [recorder] = [name for name in template.find_resources("AWS::Lambda::Function") if "Recorder" in name]
    arn = {"Fn::GetAtt": [queue, "Arn"]}
    assert _function(stack, "recorder")["DeadLetterConfig"] == {"TargetArn": arn}
    assert _only(stack, "AWS::Lambda::EventSourceMapping")["Properties"] == {
        "BatchSize": 10,
        "EventSourceArn": arn,
        "FunctionName": {"Ref": recorder},
        "FunctionResponseTypes": ["ReportBatchItemFailures"],
        "ScalingConfig": {"MaximumConcurrency": 2},
    }


def test_the_watchdog_looks_each_minute_and_no_look_is_repeated(stack: cdk.Stack) -> None:
    """The next one makes up for it."""
    ledger = RunLedger(stack, "Ledger", missed_after=cdk.Duration.minutes(10))
    template = assertions.Template.from_stack(stack)
    [watchdog] = [name for name in template.find_resources("AWS::Lambda::Function") if "Watchdog" in name]
    [rule] = [each["Properties"] for each in _resources(stack, "AWS::Events::Rule") if "Watchdog" in json.dumps(each)]
    retries = _only(stack, "AWS::Lambda::EventInvokeConfig")["Properties"]
    function = _function(stack, "watchdog")
    [group] = template.find_resources("AWS::Scheduler::ScheduleGroup")
    assert (rule["ScheduleExpression"], rule["State"]) == ("rate(1 minute)", "ENABLED")
    assert [each["Arn"] for each in rule["Targets"]] == [{"Fn::GetAtt": [watchdog, "Arn"]}]
    assert (retries["MaximumRetryAttempts"], retries["MaximumEventAgeInSeconds"]) == (0, 60)
    assert retries["FunctionName"] == {"Ref": watchdog}
    assert "DeadLetterConfig" not in function
    assert function["Environment"]["Variables"] == {
        environment.LEDGER: stack.resolve(ledger.table_url),
        environment.SCHEDULE_GROUP: {"Ref": group},
        environment.METRICS: "emf",
        environment.MISSED_AFTER: "10m",
    }


def test_the_recorder_hears_of_stopped_tasks_of_its_own_ledger(stack: cdk.Stack) -> None:
    """Whose container was told to ask this very table; tasks of others invoke nothing."""
    ledger = RunLedger(stack, "Ledger", clusters=[imported_cluster(stack)])
    function = _function(stack, "recorder")
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
    rules = [each["Properties"] for each in _resources(stack, "AWS::Events::Rule")]
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
    table = _only(stack, "AWS::DynamoDB::GlobalTable")["Properties"]
    assert table["MultiRegionConsistency"] == "STRONG"
    assert {replica["Region"] for replica in table["Replicas"]} == {"eu-west-1", "eu-central-1"}
    assert "TimeToLiveSpecification" not in table


@pytest.mark.parametrize("table_name", ["runs", "prod.runs_v2", "r" * 64, "r" * 65, "r" * 67, "a.b" * 85])
def test_a_name_leads_to_the_same_group_and_queue_from_either_side(table_name: str) -> None:
    """Which is all that another stack needs to know."""
    stack = cdk.Stack(cdk.App(), "Stack", env=ENVIRONMENT)
    RunLedger(stack, "Ledger", table_name=table_name)
    seen = RunLedger.from_table_name(stack, "Seen", table_name=table_name)
    group = _only(stack, "AWS::Scheduler::ScheduleGroup")["Properties"]["Name"]
    queues = {each["Properties"]["QueueName"] for each in _resources(stack, "AWS::SQS::Queue")}
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


def test_a_rerun_grant_is_to_invoke_one_function_and_nothing_else(stack: cdk.Stack) -> None:
    """By its exact ARN, without versions; the function is made at the first grant, and once."""
    ledger = RunLedger(stack, "Ledger")
    ledger.grant_rerun(_role(stack))
    ledger.grant_rerun(iam.ManagedPolicy(stack, "Others"))
    [(name, _)] = _named(stack, "AWS::Lambda::Function", "LedgerRerun")
    document = _only(stack, "AWS::IAM::Policy")["Properties"]["PolicyDocument"]
    assert document["Statement"] == [
        {"Action": "lambda:InvokeFunction", "Effect": "Allow", "Resource": {"Fn::GetAtt": [name, "Arn"]}}
    ]


def test_without_a_grant_there_is_no_rerun_function(stack: cdk.Stack) -> None:
    """Two functions, as before; what is not there cannot be invoked."""
    RunLedger(stack, "Ledger")
    assert len(_resources(stack, "AWS::Lambda::Function")) == 2
    assert _named(stack, "AWS::IAM::Role", "LedgerRerun") == []


def test_the_rerun_function_reads_rows_and_creates_schedules_with_the_jobs_roles(stack: cdk.Stack) -> None:
    """It writes no row, sends no event and cannot call RunTask."""
    ledger = RunLedger(stack, "Ledger", table_name="my.runs")
    ledger.grant_rerun(_role(stack))
    [(_, role)] = _named(stack, "AWS::IAM::Role", "LedgerRerun")
    [policy] = role["Properties"]["Policies"]
    actions = [each["Action"] for each in policy["PolicyDocument"]["Statement"]]
    assert {action for each in actions for action in (each if isinstance(each, list) else [each])} == {
        "logs:CreateLogStream",
        "logs:PutLogEvents",
        "dynamodb:GetItem",
        "scheduler:CreateSchedule",
        "scheduler:GetSchedule",
        "scheduler:ListSchedules",
        "iam:PassRole",
    }
    [passing] = [each for each in policy["PolicyDocument"]["Statement"] if each["Action"] == "iam:PassRole"]
    assert passing["Condition"] == {"StringEquals": {"iam:PassedToService": "scheduler.amazonaws.com"}}
    [(_, function)] = _named(stack, "AWS::Lambda::Function", "LedgerRerun")
    properties = function["Properties"]
    assert properties["FunctionName"] == "my-runs-8db6d1a191cd-rerun"
    assert (properties["Handler"], properties["Timeout"]) == ("cronce_lambdas.rerun.handler", 30)
    [(_, log)] = _named(stack, "AWS::Logs::LogGroup", "LedgerRerun")
    assert log["Properties"]["RetentionInDays"] == 30


def test_a_rerun_grant_in_another_stack_names_the_function(stack: cdk.Stack) -> None:
    """By the name that follows from the table's; a ledger of another app gets no function from here."""
    app = cdk.App()
    ledgers, others = (cdk.Stack(app, name, env=ENVIRONMENT) for name in ("Ledgers", "Others"))
    RunLedger(ledgers, "Ledger", table_name="runs").grant_rerun(_role(others))
    RunLedger.from_table_name(stack, "Ledger", table_name="runs").grant_rerun(_role(stack))
    for grantees in (others, stack):
        [statement] = _only(grantees, "AWS::IAM::Policy")["Properties"]["PolicyDocument"]["Statement"]
        assert statement["Resource"]["Fn::Join"][1][-1] == ":lambda:eu-west-1:111122223333:function:runs-rerun"
    assert "Outputs" not in assertions.Template.from_stack(ledgers).to_json()
    assert _resources(stack, "AWS::Lambda::Function") == []
    [(_, function)] = _named(ledgers, "AWS::Lambda::Function", "LedgerRerun")
    assert function["Properties"]["FunctionName"] == "runs-rerun"


def test_the_board_function_reads_rows_and_may_do_nothing_else(stack: cdk.Stack) -> None:
    """By the exact ARN of the table; it has one vCPU, and is made only if it is asked for."""
    ledger = RunLedger(stack, "Ledger", table_name="my.runs", board=True)
    [(_, role)] = _named(stack, "AWS::IAM::Role", "LedgerBoard")
    [policy] = role["Properties"]["Policies"]
    log, rows = policy["PolicyDocument"]["Statement"]
    assert log["Action"] == ["logs:CreateLogStream", "logs:PutLogEvents"]
    assert rows == {
        "Action": ["dynamodb:GetItem", "dynamodb:Query"],
        "Effect": "Allow",
        "Resource": stack.resolve(ledger.table_arn),
    }
    [(_, function)] = _named(stack, "AWS::Lambda::Function", "LedgerBoard")
    properties = function["Properties"]
    assert (properties["FunctionName"], properties["MemorySize"]) == ("my-runs-8db6d1a191cd-board", 1769)
    assert set(properties["Environment"]["Variables"]) == {environment.LEDGER}
    other = cdk.Stack(cdk.App(), "Other", env=ENVIRONMENT)
    assert RunLedger(other, "Ledger").board is None
    assert _named(other, "AWS::Lambda::Function", "LedgerBoard") == []


def test_the_board_is_a_widget_of_a_dashboard_in_every_stack() -> None:
    """By the function's name, without an export, with the parameters that the function takes."""
    app = cdk.App()
    ledgers, others, foreign = (cdk.Stack(app, name, env=ENVIRONMENT) for name in ("Ledgers", "Others", "Foreign"))
    made = RunLedger(ledgers, "Ledger", table_name="runs", board=True)
    existing = RunLedger.from_table_name(foreign, "Ledger", table_name="runs")
    asked = ((others, made), (foreign, existing))
    for scope, ledger in asked:
        widget = ledger.board_widget(days=7, jobs=["digest"], part="dig", width=12)
        cloudwatch.Dashboard(scope, "Dashboard", widgets=[[widget]])
        ledger.grant_board(_role(scope))
    for scope, _ in asked:
        body = "".join(
            each if isinstance(each, str) else "aws"
            for each in _only(scope, "AWS::CloudWatch::Dashboard")["Properties"]["DashboardBody"]["Fn::Join"][1]
        )
        [shown] = json.loads(body)["widgets"]
        assert (shown["type"], shown["width"]) == ("custom", 12)
        assert shown["properties"]["endpoint"] == "arn:aws:lambda:eu-west-1:111122223333:function:runs-board"
        assert shown["properties"]["updateOn"] == {"refresh": True, "resize": False, "timeRange": False}
        assert Request.of(shown["properties"]["params"]).jobs == ("digest",)
        [statement] = _only(scope, "AWS::IAM::Policy")["Properties"]["PolicyDocument"]["Statement"]
        assert statement["Action"] == "lambda:InvokeFunction"
        assert statement["Resource"]["Fn::Join"][1][-1] == ":lambda:eu-west-1:111122223333:function:runs-board"
    assert "Outputs" not in assertions.Template.from_stack(ledgers).to_json()


def test_a_board_that_cannot_work_is_refused_where_it_is_written(stack: cdk.Stack) -> None:
    """A ledger without the function, and what the function would refuse."""
    without = RunLedger(stack, "Ledger", table_name="runs")
    for ask in (without.board_widget, lambda: without.grant_board(_role(stack))):
        with pytest.raises(ConstructConfigError, match=r"RunLedger\(board=True\)"):
            ask()
    made = RunLedger(stack, "Board", table_name="other", board=True)
    for name, value in {"days": 32, "jobs": "digest", "part": 7, "title": 7, "width": "wide"}.items():
        with pytest.raises(ConstructConfigError, match=name):
            made.board_widget(**{name: value})  # type: ignore[arg-type]
    with pytest.raises(ConstructConfigError, match="board"):
        RunLedger(stack, "Text", board="yes")  # type: ignore[arg-type]


def test_the_errors_of_the_rerun_function_are_a_metric_in_every_stack(stack: cdk.Stack) -> None:
    """By the function's name, without an export; a ledger of another app is asked for its own."""
    app = cdk.App()
    ledgers, others = (cdk.Stack(app, name, env=ENVIRONMENT) for name in ("Ledgers", "Others"))
    named = RunLedger(ledgers, "Ledger", table_name="my.runs").metric_rerun_errors()
    other = RunLedger.from_table_name(stack, "Ledger", table_name="my.runs").metric_rerun_errors()
    for metric, scope in ((named, others), (other, stack)):
        metric.create_alarm(scope, "Alarm", threshold=1, evaluation_periods=1)
        properties = _only(scope, "AWS::CloudWatch::Alarm")["Properties"]
        assert (properties["Namespace"], properties["MetricName"], properties["Statistic"]) == (
            "AWS/Lambda",
            "Errors",
            "Sum",
        )
        assert properties["Dimensions"] == [{"Name": "FunctionName", "Value": "my-runs-8db6d1a191cd-rerun"}]
    assert "Outputs" not in assertions.Template.from_stack(ledgers).to_json()


def test_the_errors_of_a_rerun_function_without_a_name_are_a_metric_in_its_own_stack(stack: cdk.Stack) -> None:
    """The function is made for it, if nobody was granted it before."""
    RunLedger(stack, "Ledger").metric_rerun_errors().create_alarm(stack, "Alarm", threshold=1, evaluation_periods=1)
    [(name, _)] = _named(stack, "AWS::Lambda::Function", "LedgerRerun")
    [dimension] = _only(stack, "AWS::CloudWatch::Alarm")["Properties"]["Dimensions"]
    assert dimension == {"Name": "FunctionName", "Value": {"Ref": name}}


def test_a_rerun_grant_in_another_stack_needs_a_table_name() -> None:
    """The function would have a name that only the other stack knows."""
    app = cdk.App()
    ledgers, others = (cdk.Stack(app, name, env=ENVIRONMENT) for name in ("Ledgers", "Others"))
    with pytest.raises(ConstructConfigError, match="one with a table_name"):
        RunLedger(ledgers, "Ledger").grant_rerun(_role(others))


def test_a_grant_to_a_role_of_another_stack_makes_no_export() -> None:
    """The role's policy names the table."""
    app = cdk.App()
    ledgers, others = (cdk.Stack(app, name, env=ENVIRONMENT) for name in ("Ledgers", "Others"))
    RunLedger(ledgers, "Ledger", table_name="runs").grant_read(_role(others))
    [statement] = _only(others, "AWS::IAM::Policy")["Properties"]["PolicyDocument"]["Statement"]
    assert statement["Resource"]["Fn::Join"][1][-1] == ":dynamodb:eu-west-1:111122223333:table/runs"
    assert "Outputs" not in assertions.Template.from_stack(ledgers).to_json()


def test_one_call_makes_the_alarms_of_the_whole_ledger_and_tells_a_topic_of_each_run(stack: cdk.Stack) -> None:
    """The number of alarms does not depend on the number of jobs; the text has job, period and why."""
    ledger = RunLedger(stack, "Ledger", table_name="runs")
    topic = sns.Topic(stack, "Topic", enforce_ssl=True)
    alarms = ledger.add_alarms(topic)
    assert set(alarms) == set(DESCRIPTIONS) - {"rerun_errors"}
    found = [each["Properties"] for each in _resources(stack, "AWS::CloudWatch::Alarm")]
    assert {each["AlarmDescription"] for each in found} == {DESCRIPTIONS[kind] for kind in alarms}
    assert {json.dumps(each["AlarmActions"]) for each in found} == {json.dumps([stack.resolve(topic.topic_arn)])}
    [rule] = [
        each["Properties"]
        for each in _resources(stack, "AWS::Events::Rule")
        if "cronce" in each["Properties"].get("EventPattern", {}).get("source", ())
    ]
    assert rule["EventPattern"]["detail"] == {"ledger": [stack.resolve(ledger.ledger_name)]}
    [target] = rule["Targets"]
    assert target["InputTransformer"]["InputTemplate"] == ('"<detail-text>"')
    policy = _only(stack, "AWS::SNS::TopicPolicy")["Properties"]["PolicyDocument"]["Statement"]
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
    destination = _only(stack, "AWS::Events::ApiDestination")["Properties"]
    assert destination["InvocationEndpoint"] == "https://slack.com/api/chat.postMessage"
    [rule] = [each["Properties"] for each in _resources(stack, "AWS::Events::Rule") if "InputTransformer" in str(each)]
    assert rule["EventPattern"]["detail-type"] == [*TOLD]
    [target] = rule["Targets"]
    assert target["InputTransformer"]["InputTemplate"] == '{"channel":"#ops","text":<detail-text>}'
    [(name, role)] = _named(stack, "AWS::IAM::Role", "LedgerWebhookRole")
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
    assert [each for each in _resources(stack, "AWS::CloudWatch::Alarm") if "AlarmActions" in each["Properties"]] == []
    assert _resources(stack, "AWS::Events::Rule") == []
    with pytest.raises(ConstructConfigError, match="one call per ledger"):
        ledger.add_alarms()
