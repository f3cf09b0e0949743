"""What the functions of a ledger may do, exactly."""

from __future__ import annotations

import json
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam

from cronce.vocabulary import environment
from cronce_cdk import ConstructConfigError, RunLedger, ScheduledTask
from cronce_lambdas.board import Request
from tests.cdk.ledger_template import (
    a_role,
    dead_letter_queues,
    function_of,
    only,
    resources_named,
    resources_of,
)
from tests.cdk.shop import ENVIRONMENT, fargate_task, imported_cluster

WATCHDOG_ON_TABLE = ["dynamodb:DescribeTable", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"]


def statements_of(stack: cdk.Stack, function: str) -> list[dict[str, Any]]:
    """What the role of the function allows; it has one inline policy and nothing else."""
    roles = assertions.Template.from_stack(stack).find_resources("AWS::IAM::Role")
    [role] = [each["Properties"] for name, each in roles.items() if name.startswith(f"Ledger{function}Role")]
    [policy] = role.pop("Policies")
    assert list(role) == ["AssumeRolePolicyDocument"]
    statements: list[dict[str, Any]] = policy["PolicyDocument"]["Statement"]
    return statements


def arn_of(*rest: object) -> dict[str, Any]:
    """An ARN in the partition of the deployment."""
    return {"Fn::Join": ["", ["arn:", {"Ref": "AWS::Partition"}, *rest]]}


def expected_statements(stack: cdk.Stack, function: str, table_actions: list[str]) -> list[dict[str, Any]]:
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
            "Resource": arn_of(":scheduler:eu-west-1:111122223333:schedule/", {"Ref": group}, "/*"),
        },
        {"Effect": "Allow", "Action": "scheduler:ListSchedules", "Resource": "*"},
        {
            "Effect": "Allow",
            "Action": "iam:PassRole",
            "Resource": arn_of(":iam::111122223333:role/cronce/", {"Ref": group}, "/*"),
            "Condition": {"StringEquals": {"iam:PassedToService": "scheduler.amazonaws.com"}},
        },
        {
            "Effect": "Allow",
            "Action": "events:PutEvents",
            "Resource": arn_of(":events:eu-west-1:111122223333:event-bus/default"),
            "Condition": {"StringEquals": {"events:source": "cronce"}},
        },
    ]


def test_the_recorder_may_do_exactly_this(stack: cdk.Stack) -> None:
    """It looks at single runs only; it reads dead letters, and its own lost events are put among them."""
    RunLedger(stack, "Ledger")
    [queue] = [name for name, _ in dead_letter_queues(stack)]
    arn = {"Fn::GetAtt": [queue, "Arn"]}
    assert statements_of(stack, "Recorder") == [
        *expected_statements(stack, "Recorder", ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"]),
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
    assert statements_of(stack, "Watchdog") == [
        *expected_statements(stack, "Watchdog", WATCHDOG_ON_TABLE),
        {
            "Effect": "Allow",
            "Action": "ecs:ListTasks",
            "Resource": "*",
            "Condition": {"ArnLike": {"ecs:cluster": arn_of(f"{here}cluster/*")}},
        },
        {"Effect": "Allow", "Action": "ecs:DescribeTasks", "Resource": arn_of(f"{here}task/*/*")},
    ]


def test_with_clusters_the_watchdog_looks_only_at_their_tasks(stack: cdk.Stack) -> None:
    """A cluster that was imported, and one of the stack."""
    imported = imported_cluster(stack)
    RunLedger(stack, "Ledger", clusters=[imported, ecs.Cluster(stack, "Own", vpc=imported.vpc)])
    [own] = assertions.Template.from_stack(stack).find_resources("AWS::ECS::Cluster")
    here = ":ecs:eu-west-1:111122223333:"
    assert statements_of(stack, "Watchdog") == [
        *expected_statements(stack, "Watchdog", WATCHDOG_ON_TABLE),
        {
            "Effect": "Allow",
            "Action": "ecs:ListTasks",
            "Resource": "*",
            "Condition": {"ArnEquals": {"ecs:cluster": [arn_of(f"{here}cluster/main"), {"Fn::GetAtt": [own, "Arn"]}]}},
        },
        {
            "Effect": "Allow",
            "Action": "ecs:DescribeTasks",
            "Resource": [arn_of(f"{here}task/main/*"), arn_of(f"{here}task/", {"Ref": own}, "/*")],
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
    name = only(stack, "AWS::Scheduler::ScheduleGroup")["Properties"].get("Name", "g" * 64)
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
    [path] = [
        role["Properties"]["Path"] for role in resources_of(jobs, "AWS::IAM::Role") if "Path" in role["Properties"]
    ]
    group = only(ledgers, "AWS::Scheduler::ScheduleGroup")["Properties"]["Name"]
    assert (path, group) == ("/cronce/runs/", "runs")


def test_an_event_that_the_recorder_cannot_get_done_is_not_lost(stack: cdk.Stack) -> None:
    """After Lambda's three tries it goes to the queue that the recorder reads, which keeps it for two weeks."""
    RunLedger(stack, "Ledger")
    template = assertions.Template.from_stack(stack)
    [queue] = [name for name, _ in dead_letter_queues(stack)]
    [recorder] = [name for name in template.find_resources("AWS::Lambda::Function") if "Recorder" in name]
    arn = {"Fn::GetAtt": [queue, "Arn"]}
    assert function_of(stack, "recorder")["DeadLetterConfig"] == {"TargetArn": arn}
    assert only(stack, "AWS::Lambda::EventSourceMapping")["Properties"] == {
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
    [rule] = [each["Properties"] for each in resources_of(stack, "AWS::Events::Rule") if "Watchdog" in json.dumps(each)]
    retries = only(stack, "AWS::Lambda::EventInvokeConfig")["Properties"]
    function = function_of(stack, "watchdog")
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


def test_a_rerun_grant_is_to_invoke_one_function_and_nothing_else(stack: cdk.Stack) -> None:
    """By its exact ARN, without versions; the function is made at the first grant, and once."""
    ledger = RunLedger(stack, "Ledger")
    ledger.grant_rerun(a_role(stack))
    ledger.grant_rerun(iam.ManagedPolicy(stack, "Others"))
    [(name, _)] = resources_named(stack, "AWS::Lambda::Function", "LedgerRerun")
    document = only(stack, "AWS::IAM::Policy")["Properties"]["PolicyDocument"]
    assert document["Statement"] == [
        {"Action": "lambda:InvokeFunction", "Effect": "Allow", "Resource": {"Fn::GetAtt": [name, "Arn"]}}
    ]


def test_without_a_grant_there_is_no_rerun_function(stack: cdk.Stack) -> None:
    """Two functions, as before; what is not there cannot be invoked."""
    RunLedger(stack, "Ledger")
    assert len(resources_of(stack, "AWS::Lambda::Function")) == 2
    assert resources_named(stack, "AWS::IAM::Role", "LedgerRerun") == []


def test_the_rerun_function_reads_rows_and_creates_schedules_with_the_jobs_roles(stack: cdk.Stack) -> None:
    """It writes no row, sends no event and cannot call RunTask."""
    ledger = RunLedger(stack, "Ledger", table_name="my.runs")
    ledger.grant_rerun(a_role(stack))
    [(_, role)] = resources_named(stack, "AWS::IAM::Role", "LedgerRerun")
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
    [(_, function)] = resources_named(stack, "AWS::Lambda::Function", "LedgerRerun")
    properties = function["Properties"]
    assert properties["FunctionName"] == "my-runs-8db6d1a191cd-rerun"
    assert (properties["Handler"], properties["Timeout"]) == ("cronce_lambdas.rerun.handler", 30)
    [(_, log)] = resources_named(stack, "AWS::Logs::LogGroup", "LedgerRerun")
    assert log["Properties"]["RetentionInDays"] == 30


def test_a_rerun_grant_in_another_stack_names_the_function(stack: cdk.Stack) -> None:
    """By the name that follows from the table's; a ledger of another app gets no function from here."""
    app = cdk.App()
    ledgers, others = (cdk.Stack(app, name, env=ENVIRONMENT) for name in ("Ledgers", "Others"))
    RunLedger(ledgers, "Ledger", table_name="runs").grant_rerun(a_role(others))
    RunLedger.from_table_name(stack, "Ledger", table_name="runs").grant_rerun(a_role(stack))
    for grantees in (others, stack):
        [statement] = only(grantees, "AWS::IAM::Policy")["Properties"]["PolicyDocument"]["Statement"]
        assert statement["Resource"]["Fn::Join"][1][-1] == ":lambda:eu-west-1:111122223333:function:runs-rerun"
    assert "Outputs" not in assertions.Template.from_stack(ledgers).to_json()
    assert resources_of(stack, "AWS::Lambda::Function") == []
    [(_, function)] = resources_named(ledgers, "AWS::Lambda::Function", "LedgerRerun")
    assert function["Properties"]["FunctionName"] == "runs-rerun"


def test_the_board_function_reads_rows_and_may_do_nothing_else(stack: cdk.Stack) -> None:
    """By the exact ARN of the table; it has one vCPU, and is made only if it is asked for."""
    ledger = RunLedger(stack, "Ledger", table_name="my.runs", board=True)
    [(_, role)] = resources_named(stack, "AWS::IAM::Role", "LedgerBoard")
    [policy] = role["Properties"]["Policies"]
    log, rows = policy["PolicyDocument"]["Statement"]
    assert log["Action"] == ["logs:CreateLogStream", "logs:PutLogEvents"]
    assert rows == {
        "Action": ["dynamodb:GetItem", "dynamodb:Query"],
        "Effect": "Allow",
        "Resource": stack.resolve(ledger.table_arn),
    }
    [(_, function)] = resources_named(stack, "AWS::Lambda::Function", "LedgerBoard")
    properties = function["Properties"]
    assert (properties["FunctionName"], properties["MemorySize"]) == ("my-runs-8db6d1a191cd-board", 1769)
    assert set(properties["Environment"]["Variables"]) == {environment.LEDGER}
    other = cdk.Stack(cdk.App(), "Other", env=ENVIRONMENT)
    assert RunLedger(other, "Ledger").board is None
    assert resources_named(other, "AWS::Lambda::Function", "LedgerBoard") == []


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
        ledger.grant_board(a_role(scope))
    for scope, _ in asked:
        body = "".join(
            each if isinstance(each, str) else "aws"
            for each in only(scope, "AWS::CloudWatch::Dashboard")["Properties"]["DashboardBody"]["Fn::Join"][1]
        )
        [shown] = json.loads(body)["widgets"]
        assert (shown["type"], shown["width"]) == ("custom", 12)
        assert shown["properties"]["endpoint"] == "arn:aws:lambda:eu-west-1:111122223333:function:runs-board"
        assert shown["properties"]["updateOn"] == {"refresh": True, "resize": False, "timeRange": False}
        assert Request.of(shown["properties"]["params"]).jobs == ("digest",)
        [statement] = only(scope, "AWS::IAM::Policy")["Properties"]["PolicyDocument"]["Statement"]
        assert statement["Action"] == "lambda:InvokeFunction"
        assert statement["Resource"]["Fn::Join"][1][-1] == ":lambda:eu-west-1:111122223333:function:runs-board"
    assert "Outputs" not in assertions.Template.from_stack(ledgers).to_json()


def test_a_board_that_cannot_work_is_refused_where_it_is_written(stack: cdk.Stack) -> None:
    """A ledger without the function, and what the function would refuse."""
    without = RunLedger(stack, "Ledger", table_name="runs")
    for ask in (without.board_widget, lambda: without.grant_board(a_role(stack))):
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
        properties = only(scope, "AWS::CloudWatch::Alarm")["Properties"]
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
    [(name, _)] = resources_named(stack, "AWS::Lambda::Function", "LedgerRerun")
    [dimension] = only(stack, "AWS::CloudWatch::Alarm")["Properties"]["Dimensions"]
    assert dimension == {"Name": "FunctionName", "Value": {"Ref": name}}


def test_a_rerun_grant_in_another_stack_needs_a_table_name() -> None:
    """The function would have a name that only the other stack knows."""
    app = cdk.App()
    ledgers, others = (cdk.Stack(app, name, env=ENVIRONMENT) for name in ("Ledgers", "Others"))
    with pytest.raises(ConstructConfigError, match="one with a table_name"):
        RunLedger(ledgers, "Ledger").grant_rerun(a_role(others))
