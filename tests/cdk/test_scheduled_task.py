"""A job's template: its schedule, its target and its role, property by property."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_secretsmanager as secretsmanager

from cronce import CatchUp, ConcurrencyPolicy, OnLost, Policy
from cronce.client.settings import TaskSettings
from cronce.ecs.definition import definition_of
from cronce.schedule import PeriodForm
from cronce.vocabulary.metrics import METRIC_OF_EVENT, NAMESPACE
from cronce.vocabulary.names import further_schedule_name
from cronce_cdk import ConstructConfigError, RunLedger, ScheduledTask
from tests.cdk.shop import (
    PRIVATE_SUBNET,
    PUBLIC_SUBNET,
    Shop,
    container_override,
    fargate_task,
    imported_cluster,
    new_shop,
)

if TYPE_CHECKING:
    from collections.abc import Callable

CLUSTER_ARN = {"Fn::Join": ["", ["arn:", {"Ref": "AWS::Partition"}, ":ecs:eu-west-1:111122223333:cluster/main"]]}
SCHEDULE = "AWS::Scheduler::Schedule"
PASSED = {"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}}
ROLE_ARN = "arn:aws:iam::111122223333:role/"
REVISION = "arn:aws:ecs:eu-west-1:111122223333:task-definition/digest:7"


def _ids(shop: Shop, kind: str, prefix: str = "") -> list[str]:
    return [logical_id for logical_id in shop.resources(kind) if logical_id.startswith(prefix)]


def _imported(shop: Shop, arn: str = REVISION) -> ecs.ITaskDefinition:
    roles = {name: iam.Role.from_role_arn(shop.stack, name, ROLE_ARN + name) for name in ("Task-role", "Exec-role")}
    return ecs.FargateTaskDefinition.from_fargate_task_definition_attributes(
        shop.stack,
        "Imported",
        task_definition_arn=arn,
        task_role=roles["Task-role"],
        execution_role=roles["Exec-role"],
    )


def test_the_schedule_is_exactly_this(shop: Shop) -> None:
    """Zone, retries, dead letters, target and overrides; nothing is left to a default that nobody knows."""
    shop.job(timezone="Europe/Berlin", policy=Policy(starting_deadline=timedelta(hours=2), backoff_limit=2))
    schedule = shop.schedule()
    override = container_override(schedule["Target"].pop("Input"))
    [queue], [task] = _ids(shop, "AWS::SQS::Queue", "LedgerDeadLetters"), _ids(shop, "AWS::ECS::TaskDefinition")
    [role] = _ids(shop, "AWS::IAM::Role", "digestRole")
    [group] = _ids(shop, "AWS::EC2::SecurityGroup")
    [schedules] = _ids(shop, "AWS::Scheduler::ScheduleGroup")
    name = schedule.pop("Name")
    assert name.startswith("digest-")
    assert schedule == {
        "FlexibleTimeWindow": {"Mode": "OFF"},
        "GroupName": {"Ref": schedules},
        "ScheduleExpression": "cron(0 6 * * ? *)",
        "ScheduleExpressionTimezone": "Europe/Berlin",
        "State": "ENABLED",
        "Target": {
            "Arn": CLUSTER_ARN,
            "RoleArn": {"Fn::GetAtt": [role, "Arn"]},
            "RetryPolicy": {"MaximumEventAgeInSeconds": 7200, "MaximumRetryAttempts": 120},
            "DeadLetterConfig": {"Arn": {"Fn::GetAtt": [queue, "Arn"]}},
            "EcsParameters": {
                "LaunchType": "FARGATE",
                "TaskCount": 1,
                "TaskDefinitionArn": {"Ref": task},
                "NetworkConfiguration": {
                    "AwsvpcConfiguration": {
                        "AssignPublicIp": "DISABLED",
                        "SecurityGroups": [{"Fn::GetAtt": [group, "GroupId"]}],
                        "Subnets": [PRIVATE_SUBNET],
                    }
                },
            },
        },
    }
    assert override == {
        "name": "app",
        "environment": [
            {"name": "CRONCE_EXECUTION_ID", "value": "<aws.scheduler.execution-id>"},
            {"name": "CRONCE_JOB", "value": "digest"},
            {"name": "CRONCE_LEDGER", "value": "dynamodb://{REF}?region=eu-west-1"},
            {"name": "CRONCE_METRICS", "value": "emf"},
            {"name": "CRONCE_POLICY", "value": '{"starting_deadline": "2h", "backoff_limit": 2}'},
            {"name": "CRONCE_SCHEDULED_TIME", "value": "<aws.scheduler.scheduled-time>"},
            {"name": "CRONCE_TRIGGER", "value": "schedule"},
        ],
    }


def test_the_role_may_start_this_revision_here_under_its_two_roles_and_nothing_else(shop: Shop) -> None:
    """RunTask, PassRole, and the message to the dead-letter queue."""
    shop.job()
    [task], [queue] = _ids(shop, "AWS::ECS::TaskDefinition"), _ids(shop, "AWS::SQS::Queue", "LedgerDeadLetters")
    [task_role] = _ids(shop, "AWS::IAM::Role", "TaskTaskRole")
    [execution_role] = _ids(shop, "AWS::IAM::Role", "TaskExecutionRole")
    assert shop.role_statements() == [
        {
            "Effect": "Allow",
            "Action": "ecs:RunTask",
            "Resource": {"Ref": task},
            "Condition": {"ArnEquals": {"ecs:cluster": CLUSTER_ARN}},
        },
        {
            "Effect": "Allow",
            "Action": "iam:PassRole",
            "Resource": [{"Fn::GetAtt": [task_role, "Arn"]}, {"Fn::GetAtt": [execution_role, "Arn"]}],
            "Condition": PASSED,
        },
        {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": {"Fn::GetAtt": [queue, "Arn"]}},
    ]


def test_jobs_that_start_the_same_share_one_policy_and_no_role(shop: Shop) -> None:
    """A new image changes one resource, however many jobs have it; what differs is not shared."""
    other = fargate_task(shop.stack, "Other")
    jobs: dict[str, dict[str, Any]] = {
        "first": {},
        "second": {"assign_public_ip": True},
        "tagged": {"propagate_tags": True},
        "other": {"task_definition": other},
        "another": {"task_definition": other, "tags": {"team": "growth"}},
    }
    for name, changed in jobs.items():
        shop.job(name, **changed)
    roles = shop.resources("AWS::IAM::Role")
    policies = {
        name: role["Properties"]["ManagedPolicyArns"]
        for name, role in roles.items()
        if "ManagedPolicyArns" in role["Properties"]
    }
    by_job = {name.partition("Role")[0]: each["Ref"] for name, [each] in policies.items()}
    assert by_job["first"] == by_job["second"]
    assert len({*by_job.values()}) == 4
    assert {*by_job.values()} == {*shop.resources("AWS::IAM::ManagedPolicy")}
    assert len({json.dumps(shop.role_statements(f"{name}Role")) for name in by_job}) == 4
    assert all(
        set(each["Properties"]) == {"PolicyDocument", "Description", "Path"}
        for each in shop.resources("AWS::IAM::ManagedPolicy").values()
    )


def test_only_schedules_of_the_ledgers_group_may_take_the_role(shop: Shop) -> None:
    """Another account's scheduler, or another group's, is not let in."""
    shop.job()
    [role] = [each for name, each in shop.resources("AWS::IAM::Role").items() if name.startswith("digestRole")]
    [statement] = role["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    [schedules] = _ids(shop, "AWS::Scheduler::ScheduleGroup")
    group = ":scheduler:eu-west-1:111122223333:schedule-group/"
    assert statement["Principal"] == {"Service": "scheduler.amazonaws.com"}
    assert statement["Condition"] == {
        "StringEquals": {
            "aws:SourceAccount": "111122223333",
            "aws:SourceArn": {"Fn::Join": ["", ["arn:", {"Ref": "AWS::Partition"}, group, {"Ref": schedules}]]},
        }
    }


def test_the_task_may_claim_its_own_job_alone(shop: Shop) -> None:
    """The job's task role gets the ledger's grant."""
    shop.job(job="daily-digest")
    [policy] = [p for n, p in shop.resources("AWS::IAM::Policy").items() if n.startswith("TaskTaskRole")]
    [statement] = policy["Properties"]["PolicyDocument"]["Statement"]
    assert statement["Action"] == ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"]
    assert statement["Condition"] == {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["daily-digest"]}}


def test_jobs_that_share_a_role_share_one_statement(shop: Shop) -> None:
    """A statement each would be over IAM's limit for a policy at some hundred jobs."""
    for name in ("first", "second", "a-${third}"):
        shop.job(name.strip("a-${}"), job=name)
    [policy] = [p for n, p in shop.resources("AWS::IAM::Policy").items() if n.startswith("TaskTaskRole")]
    [statement] = policy["Properties"]["PolicyDocument"]["Statement"]
    assert statement["Condition"] == {
        "ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["first", "second", "a-${$}{third}"]}
    }


def test_jobs_of_an_exclusion_group_may_write_its_row_too(shop: Shop) -> None:
    """And no row of each other; the group is in the policy that the task reads."""
    for name in ("close", "bills"):
        shop.job(name, job=name, policy=Policy(exclusion_group="billing"))
    [policy] = [p for n, p in shop.resources("AWS::IAM::Policy").items() if n.startswith("TaskTaskRole")]
    [statement] = policy["Properties"]["PolicyDocument"]["Statement"]
    assert statement["Condition"] == {
        "ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["close", "cronce:group:billing", "bills"]}
    }
    for each in shop.resources("AWS::Scheduler::Schedule").values():
        [variable] = [
            given
            for given in container_override(each["Properties"]["Target"]["Input"])["environment"]
            if given["name"] == "CRONCE_POLICY"
        ]
        assert variable["value"] == '{"exclusion_group": "billing"}'


def test_an_execution_role_that_a_later_secret_makes_may_be_passed_too(shop: Shop) -> None:
    """Without it every run fails from the day of that secret (case C1)."""
    task_definition = ecs.FargateTaskDefinition(shop.stack, "Bare")
    container = task_definition.add_container("app", image=ecs.ContainerImage.from_registry("digest:1"))
    shop.job(task_definition=task_definition)
    assert task_definition.execution_role is None
    container.add_secret("TOKEN", ecs.Secret.from_secrets_manager(secretsmanager.Secret(shop.stack, "Token")))
    [passes] = [each for each in shop.role_statements() if each["Action"] == "iam:PassRole"]
    passed = {each["Fn::GetAtt"][0] for each in passes["Resource"]}
    assert passed == {*_ids(shop, "AWS::IAM::Role", "BareTaskRole"), *_ids(shop, "AWS::IAM::Role", "BareExecutionRole")}
    assert len(passed) == 2


@pytest.mark.parametrize(
    ("arguments", "tagged"),
    [({}, False), ({"propagate_tags": True}, True), ({"tags": {"team": "growth"}}, True)],
)
def test_tagging_is_allowed_exactly_where_tasks_get_tags(
    shop: Shop, arguments: dict[str, Any], *, tagged: bool
) -> None:
    """Otherwise `propagate_tags` breaks every run (case C4)."""
    shop.job(**arguments)
    expected = {
        "Effect": "Allow",
        "Action": "ecs:TagResource",
        "Resource": {"Fn::Join": ["", ["arn:", {"Ref": "AWS::Partition"}, ":ecs:eu-west-1:111122223333:task/main/*"]]},
        "Condition": {"StringEquals": {"ecs:CreateAction": "RunTask"}},
    }
    assert [each for each in shop.role_statements() if "Tag" in each["Action"]] == [expected] * tagged
    parameters = shop.ecs_parameters()
    assert parameters.get("PropagateTags") == ("TASK_DEFINITION" if "propagate_tags" in arguments else None)
    assert parameters.get("Tags") == ([{"Key": "team", "Value": "growth"}] if "tags" in arguments else None)


def test_a_strategy_goes_without_a_launch_type(shop: Shop) -> None:
    """The API refuses both together (case C5)."""
    spot = ecs.CapacityProviderStrategy(capacity_provider="FARGATE_SPOT", weight=3)
    base = ecs.CapacityProviderStrategy(capacity_provider="FARGATE", weight=1, base=1)
    shop.job(capacity_provider_strategies=[spot, base])
    parameters = shop.ecs_parameters()
    assert "LaunchType" not in parameters
    assert parameters["CapacityProviderStrategy"] == [
        {"CapacityProvider": "FARGATE_SPOT", "Weight": 3},
        {"Base": 1, "CapacityProvider": "FARGATE", "Weight": 1},
    ]
    assert "NetworkConfiguration" in parameters


def test_ec2_on_the_hosts_network_has_no_network_of_its_own(shop: Shop) -> None:
    """The default network mode of EC2 is its host's bridge."""
    task_definition = ecs.Ec2TaskDefinition(shop.stack, "OnEc2")
    task_definition.add_container("app", image=ecs.ContainerImage.from_registry("x"), memory_limit_mib=64)
    job = shop.job(task_definition=task_definition)
    assert shop.ecs_parameters()["LaunchType"] == "EC2"
    assert "NetworkConfiguration" not in shop.ecs_parameters()
    with pytest.raises(ConstructConfigError, match="connections: None is not usable; allowed: a task in"):
        _ = job.connections


def test_ec2_with_an_interface_of_its_own_says_where(shop: Shop) -> None:
    """Network mode awsvpc works on EC2 as well."""
    task_definition = ecs.Ec2TaskDefinition(shop.stack, "OnEc2", network_mode=ecs.NetworkMode.AWS_VPC)
    task_definition.add_container("app", image=ecs.ContainerImage.from_registry("x"), memory_limit_mib=64)
    shop.job(task_definition=task_definition)
    assert shop.ecs_parameters()["NetworkConfiguration"]["AwsvpcConfiguration"]["Subnets"] == [PRIVATE_SUBNET]


def test_an_external_task_is_started_as_external(shop: Shop) -> None:
    """On one's own machines, under ECS Anywhere."""
    task_definition = ecs.ExternalTaskDefinition(shop.stack, "Anywhere")
    task_definition.add_container("app", image=ecs.ContainerImage.from_registry("x"), memory_limit_mib=64)
    shop.job(task_definition=task_definition)
    assert shop.ecs_parameters()["LaunchType"] == "EXTERNAL"
    assert "NetworkConfiguration" not in shop.ecs_parameters()


def test_a_task_definition_for_both_goes_where_it_is_told(shop: Shop) -> None:
    """EC2_AND_FARGATE needs a choice, or it is Fargate."""
    task_definition = ecs.TaskDefinition(
        shop.stack, "Both", compatibility=ecs.Compatibility.EC2_AND_FARGATE, cpu="256", memory_mib="512"
    )
    task_definition.add_container("app", image=ecs.ContainerImage.from_registry("x"))
    shop.job(task_definition=task_definition, launch_type=ecs.LaunchType.EC2)
    assert shop.ecs_parameters()["LaunchType"] == "EC2"


def test_an_imported_task_definition_is_run_by_its_revision_under_its_roles(shop: Shop) -> None:
    """Exactly what was imported; its role gets the claim."""
    shop.job(task_definition=_imported(shop), container_name="app")
    run, passes, _ = shop.role_statements()
    assert run["Resource"] == REVISION
    assert passes["Resource"] == [f"{ROLE_ARN}Task-role", f"{ROLE_ARN}Exec-role"]
    [claims] = [p for p in shop.resources("AWS::IAM::Policy").values() if p["Properties"].get("Roles") == ["Task-role"]]
    assert claims["Properties"]["PolicyDocument"]["Statement"][0]["Action"][0] == "dynamodb:GetItem"


def test_a_family_without_a_revision_is_allowed_by_all_its_revisions(shop: Shop) -> None:
    """A resource without a revision is denied since October 2024 (case C2)."""
    family = REVISION.rpartition(":")[0]
    shop.job(task_definition=_imported(shop, family), container_name="app")
    assert shop.role_statements()[0]["Resource"] == f"{family}:*"
    assert shop.ecs_parameters()["TaskDefinitionArn"] == family
    assert shop.warnings() == {"cronce:task-definition-without-revision"}


def test_an_image_moves_schedule_and_role_in_one_deployment(shop: Shop) -> None:
    """Both *refer* to the task definition; CloudFormation replaces it and updates them (case C8)."""
    shop.job()
    [task] = _ids(shop, "AWS::ECS::TaskDefinition")
    assert shop.ecs_parameters()["TaskDefinitionArn"] == {"Ref": task}
    assert shop.role_statements()[0]["Resource"] == {"Ref": task}


@pytest.mark.parametrize(
    ("schedule", "expression", "age", "tries"),
    [
        ("0 6 * * *", "cron(0 6 * * ? *)", 3600, 60),
        ("0 6 * * 1-5", "cron(0 6 ? * MON-FRI *)", 3600, 60),
        ("cron(0 6 * * ? *)", "cron(0 6 * * ? *)", 3600, 60),
        ("@hourly", "cron(0 * * * ? *)", 3600, 60),
        ("*/5 * * * *", "cron(*/5 * * * ? *)", 300, 5),
        ("* * * * *", "cron(* * * * ? *)", 60, 1),
        ("0,10 8 * * *", "cron(0,10 8 * * ? *)", 600, 10),
        ("rate(5 minutes)", "rate(5 minutes)", 300, 5),
        ("rate(1 day)", "rate(1 day)", 3600, 60),
        ("at(2126-11-29T06:00:00)", "at(2126-11-29T06:00:00)", 3600, 60),
    ],
)
def test_what_people_write_becomes_eventbridges_expression_and_bounded_retries(
    shop: Shop, schedule: str, expression: str, age: int, tries: int
) -> None:
    """Retried until the next tick and at most an hour: CDK's default starts a 06:00 job a day late."""
    shop.job(schedule=schedule)
    found = shop.schedule()
    assert (found["ScheduleExpression"], found["ScheduleExpressionTimezone"]) == (expression, "UTC")
    assert found["Target"]["RetryPolicy"] == {"MaximumEventAgeInSeconds": age, "MaximumRetryAttempts": tries}


@pytest.mark.parametrize(
    ("deadline", "age", "tries"),
    [(1, 60, 1), (60, 60, 1), (61, 61, 2), (7200, 7200, 120), (11_100, 11_100, 185), (86_400, 86_400, 185)],
)
def test_retries_end_with_the_starting_deadline(shop: Shop, deadline: int, age: int, tries: int) -> None:
    """Within the API's bounds: 60 s to 24 h, at most 185 tries."""
    shop.job(policy=Policy(starting_deadline=timedelta(seconds=deadline)))
    assert shop.schedule()["Target"]["RetryPolicy"] == {
        "MaximumEventAgeInSeconds": age,
        "MaximumRetryAttempts": tries,
    }


def test_a_cdk_expression_brings_its_own_zone(shop: Shop) -> None:
    """Which EventBridge Scheduler is told."""
    expression = scheduler.ScheduleExpression.cron(minute="0", hour="6", time_zone=cdk.TimeZone.EUROPE_BERLIN)
    shop.job(schedule=expression)
    assert shop.schedule()["ScheduleExpressionTimezone"] == "Europe/Berlin"


def test_the_policy_reaches_the_task_as_the_ledger_reads_it(shop: Shop) -> None:
    """Every field; two jobs share one policy."""
    policy = Policy(
        concurrency_policy=ConcurrencyPolicy.REPLACE,
        starting_deadline=timedelta(hours=2),
        active_deadline=timedelta(minutes=30),
        backoff_limit=3,
        suspend=True,
        catch_up=CatchUp.LATEST,
        on_lost=OnLost.HOLD,
        lease=timedelta(seconds=90),
    )
    first, second = shop.job(policy=policy), shop.job("other", policy=policy)
    assert (first.policy, second.policy) == (policy, policy)
    overrides = [
        container_override(each["Properties"]["Target"]["Input"])
        for each in shop.resources("AWS::Scheduler::Schedule").values()
    ]
    tick = {"CRONCE_SCHEDULED_TIME": "2026-11-29T06:00:00Z"}
    found = {}
    for override in overrides:
        settings = TaskSettings.from_environ({each["name"]: each["value"] for each in override["environment"]} | tick)
        found[settings.job] = (settings.policy, settings.period)
    assert found == dict.fromkeys(("digest", "other"), (policy, "2026-11-29T06:00:00Z"))


def test_what_else_was_asked_for_is_passed_on(shop: Shop) -> None:
    """Command, variables, start and end, window, state, description, platform, access."""
    shop.job(
        command=["cronce", "exec", "--", "digest", "{period}"],
        environment={"MODE": "live"},
        start=datetime(2026, 11, 29, 7, tzinfo=timezone(timedelta(hours=1))),
        end=datetime(2027, 1, 1, tzinfo=UTC),
        enabled=False,
        flexible_window=timedelta(minutes=15),
        description="Mails",
        platform_version=ecs.FargatePlatformVersion.VERSION1_4,
        enable_execute_command=True,
        metrics=False,
    )
    schedule, override = shop.schedule(), shop.override()
    assert override["command"] == ["cronce", "exec", "--", "digest", "{period}"]
    assert {"name": "MODE", "value": "live"} in override["environment"]
    assert "CRONCE_METRICS" not in {each["name"] for each in override["environment"]}
    assert schedule["FlexibleTimeWindow"] == {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 15}
    assert (schedule["StartDate"], schedule["EndDate"]) == ("2026-11-29T06:00:00.000Z", "2027-01-01T00:00:00.000Z")
    assert (schedule["State"], schedule["Description"]) == ("DISABLED", "Mails")
    assert shop.ecs_parameters()["PlatformVersion"] == "1.4.0"
    assert shop.ecs_parameters()["EnableExecuteCommand"] is True


def test_a_public_address_brings_public_subnets(shop: Shop) -> None:
    """So that an account without NAT needs no further argument."""
    shop.job(assign_public_ip=True)
    network = shop.ecs_parameters()["NetworkConfiguration"]["AwsvpcConfiguration"]
    assert (network["AssignPublicIp"], network["Subnets"]) == ("ENABLED", [PUBLIC_SUBNET])
    assert shop.warnings() == set()


def test_given_security_groups_are_the_only_ones(shop: Shop) -> None:
    """And none is made."""
    own = ec2.SecurityGroup.from_security_group_id(shop.stack, "Own", "sg-0a1b2c3d4e5f60718")
    job = shop.job(security_groups=[own])
    network = shop.ecs_parameters()["NetworkConfiguration"]["AwsvpcConfiguration"]
    assert network["SecurityGroups"] == ["sg-0a1b2c3d4e5f60718"]
    assert shop.resources("AWS::EC2::SecurityGroup") == {}
    assert job.connections is not None


def test_another_container_does_the_work_if_it_is_named(shop: Shop) -> None:
    """The default is the first essential one."""
    shop.task_definition.add_container("worker", image=ecs.ContainerImage.from_registry("x"))
    shop.job(container_name="worker")
    assert shop.override()["name"] == "worker"


def test_tokens_are_passed_on_and_not_measured(shop: Shop) -> None:
    """A parameter's value is known to nobody at synth."""
    given = {
        name: cdk.CfnParameter(shop.stack, name).value_as_string
        for name in ("When", "Zone", "Job", "Variable", "Container")
    }
    shop.job(
        schedule=given["When"],
        timezone=given["Zone"],
        job=given["Job"],
        environment={"X": given["Variable"]},
        container_name=given["Container"],
    )
    schedule = shop.schedule()
    assert schedule["ScheduleExpression"] == {"Ref": "When"}
    assert schedule["ScheduleExpressionTimezone"] == {"Ref": "Zone"}
    assert schedule["Name"].startswith("job-")
    assert {"Ref": "Job"} in schedule["Target"]["Input"]["Fn::Join"][1]


def test_names_fit_and_differ_and_stay_with_the_longest_stack_names() -> None:
    """64 characters at most; by job, by place, and by stack."""
    names = [_names(f"{'S' * 119}{last}") for last in "12"]
    assert names == [_names(f"{'S' * 119}{last}") for last in "12"]
    flat = [name for both in names for name in both]
    assert len({*flat}) == 4
    assert max(len(name) for name in flat) <= 64
    assert flat[0].startswith("daily-digest-of-")


def _names(stack_name: str) -> list[str]:
    shop = new_shop(name=stack_name)
    jobs = ("daily digest of " + "x" * 100, "daily digest of " + "x" * 99 + "y")
    return [shop.job(f"job{i}", job=job).schedule_name for i, job in enumerate(jobs)]


def test_one_app_deployed_twice_under_two_names_shares_no_schedule() -> None:
    """The path is the same then; the stack's name is not."""
    found = []
    for name in ("digest-a", "digest-b"):
        stack = cdk.Stack(cdk.App(), "Digest", stack_name=name)
        ledger = RunLedger.from_table_name(stack, "Ledger", table_name="runs")
        job = ScheduledTask(
            stack,
            "Job",
            ledger=ledger,
            schedule="@daily",
            cluster=imported_cluster(stack),
            task_definition=fargate_task(stack),
        )
        found.append(job.schedule_name)
    assert found[0] != found[1]


def test_a_grant_to_run_is_what_the_schedule_itself_may_and_to_find_it(shop: Shop) -> None:
    """Reruns and backfills start the schedule's own target."""
    operator = iam.Role(shop.stack, "Operator", assumed_by=iam.AccountRootPrincipal())
    shop.job(propagate_tags=True).grant_run(operator)
    [policy] = [p for n, p in shop.resources("AWS::IAM::Policy").items() if n.startswith("Operator")]
    reads, lists, *starts, looks = policy["Properties"]["PolicyDocument"]["Statement"]
    [group] = _ids(shop, "AWS::Scheduler::ScheduleGroup")
    schedules = ["arn:", {"Ref": "AWS::Partition"}, ":scheduler:eu-west-1:111122223333:schedule/", {"Ref": group}, "/*"]
    assert reads == {"Effect": "Allow", "Action": "scheduler:GetSchedule", "Resource": {"Fn::Join": ["", schedules]}}
    assert lists == {"Effect": "Allow", "Action": "scheduler:ListSchedules", "Resource": "*"}
    assert starts == [each for each in shop.role_statements() if each["Action"] != "sqs:SendMessage"]
    tasks = ["arn:", {"Ref": "AWS::Partition"}, ":ecs:eu-west-1:111122223333:task/main/*"]
    assert looks == {"Effect": "Allow", "Action": "ecs:DescribeTasks", "Resource": {"Fn::Join": ["", tasks]}}


@pytest.mark.parametrize(
    ("method", "event"),
    [
        ("metric_succeeded", "succeeded"),
        ("metric_failed", "failed"),
        ("metric_refused", "refused"),
        ("metric_missed", "missed"),
        ("metric_lost", "run_lost"),
        ("metric_launch_failed", "launch_failed"),
    ],
)
def test_metrics_are_those_that_the_task_reports(shop: Shop, method: str, event: str) -> None:
    """Same namespace, name and dimensions."""
    ledger = RunLedger.from_table_name(shop.stack, "Runs", table_name="runs")
    metric = getattr(shop.job(ledger=ledger), method)(period=cdk.Duration.minutes(10))
    assert (metric.namespace, metric.metric_name) == (NAMESPACE, METRIC_OF_EVENT[event])
    assert (metric.dimensions, metric.statistic) == ({"Ledger": "runs", "Job": "digest"}, "Sum")
    assert metric.period.to_minutes() == 10


def test_a_further_job_costs_two_resources(shop: Shop) -> None:
    """A schedule and a role; CloudFormation's limit is 500 a stack. `ScheduledFargateTask` takes 9."""
    for index in range(3):
        shop.job(f"job{index}")
    counts = []
    for count in (0, 1, 5):
        other = _with_jobs(count)
        counts.append(len(assertions.Template.from_stack(other.stack).to_json()["Resources"]))
    per_job = (counts[2] - counts[1]) / 4
    print(f"resources: {counts[0]} without a job, {counts[1]} with one, {per_job:g} for each further one")  # noqa: T201
    assert per_job == 2


@pytest.mark.slow
def test_two_hundred_jobs_fit_into_a_stack() -> None:
    """CloudFormation takes 500 resources and 1 MB, as CDK writes the template."""
    template = assertions.Template.from_stack(_with_jobs(200).stack).to_json()
    resources, size = len(template["Resources"]), len(json.dumps(template, indent=1))
    print(f"200 jobs: {resources} resources, {size} bytes")  # noqa: T201
    assert resources < 500
    assert size < 1_000_000


def _with_jobs(count: int) -> Shop:
    shop = new_shop()
    for index in range(count):
        shop.job(f"job{index}")
    return shop


def test_a_list_has_a_schedule_per_expression_that_differ_in_nothing_else() -> None:
    """The first is that of a job with one; the others come before it, and are named after their expressions."""

    def made(schedule: object) -> tuple[Shop, dict[str, Any]]:
        shop = new_shop()
        shop.job(schedule=schedule)
        found = {each["Properties"]["ScheduleExpression"]: each for each in shop.resources(SCHEDULE).values()}
        return shop, found

    weekdays, sundays, firsts = "cron(0 6 ? * MON-FRI *)", "cron(0 9 ? * SUN *)", "cron(0 12 1 * ? *)"
    one, alone = made("0 6 * * 1-5")
    shop, found = made(["0 6 * * 1-5", scheduler.ScheduleExpression.expression(sundays), "0 12 1 * *"])
    other, turned = made("0 12 1 * *; 0 6 * * 1-5; 0 9 * * 0")
    names = {expression: each["Properties"]["Name"] for expression, each in found.items()}
    assert names[weekdays] == alone[weekdays]["Properties"]["Name"]
    assert names == {weekdays: names[weekdays]} | {
        each: further_schedule_name(names[weekdays], each) for each in (sundays, firsts)
    }
    first, *others = (found[each]["Properties"] for each in (weekdays, sundays, firsts))
    assert [
        first | {"Name": each["Name"], "ScheduleExpression": each["ScheduleExpression"]} for each in others
    ] == others
    told = {each["name"]: each["value"] for each in container_override(first["Target"]["Input"])["environment"]}
    assert told["CRONCE_FURTHER_SCHEDULES"] == f"{sundays}; {firsts}"
    assert {*found[weekdays]["DependsOn"]} == {*shop.resources(SCHEDULE)} - {*one.resources(SCHEDULE)}
    assert turned[sundays]["Properties"]["Name"] == names[sundays]
    assert {*other.resources(SCHEDULE)} & {*shop.resources(SCHEDULE)} >= {*one.resources(SCHEDULE)}
    assert len(shop.resources("AWS::IAM::Role")) == len(one.resources("AWS::IAM::Role"))


def test_retries_of_a_list_end_before_its_next_tick(try_job: Callable[..., ScheduledTask]) -> None:
    """Whichever expression has it; and the warnings are those of each."""
    job = try_job(schedule=["0 6 * * *", "20 6 * * *"])
    policies = [each.target.retry_policy for each in (job.schedule, *job.further_schedules)]  # type: ignore[union-attr]
    assert [each.maximum_event_age_in_seconds for each in policies] == [1200, 1200]  # type: ignore[union-attr]


def test_a_job_that_only_people_start_has_a_schedule_that_never_fires(shop: Shop) -> None:
    """Its definition is there for `cronce rerun`; the task gets no scheduled time, so no tick of it is ever judged."""
    shop.job(schedule=None)
    schedule = shop.schedule()
    assert (schedule["ScheduleExpression"], schedule["State"]) == ("at(2199-12-31T23:59:59)", "ENABLED")
    assert schedule["Description"] == "Started by people only"
    at = datetime(2026, 11, 29, tzinfo=UTC)
    text = json.dumps({"containerOverrides": [shop.override()]}).replace("{REF}", "runs")
    target = {"Input": text, "EcsParameters": {"TaskDefinitionArn": "digest:1"}}
    definition = definition_of(
        schedule
        | {"Target": target, "Name": "digest", "GroupName": "runs", "CreationDate": at, "LastModificationDate": at}
    )
    assert definition is not None
    assert (definition.job, definition.enabled, definition.delivers_ticks) == ("digest", True, False)


def test_the_period_may_be_the_date(shop: Shop) -> None:
    """The task is told the zone of the day, and the Lambda functions read it from the schedule."""
    shop.job(timezone="Europe/Berlin", period="date")
    variables = {each["name"]: each["value"] for each in shop.override()["environment"]}
    assert variables["CRONCE_DATE_IN"] == "Europe/Berlin"


@pytest.mark.parametrize("period", [None, "time", PeriodForm.TIME])
def test_the_period_is_the_time_by_default(try_job: Callable[..., ScheduledTask], period: object) -> None:
    """No variable says so."""
    job = try_job(period=period)
    assert "CRONCE_DATE_IN" not in str(cdk.Stack.of(job).resolve(job.schedule.target))


@pytest.mark.parametrize(
    ("period", "schedule", "timezone", "allowed"),
    [
        ("day", "0 6 * * *", None, "time, date"),
        (7, "0 6 * * *", None, "time, date"),
        ("date", "0 6,18 * * *", None, "at most one tick per day"),
        ("date", "rate(1 day)", "Europe/Berlin", "at most one tick per day"),
        ("date", None, None, "no period for a job without a schedule"),
        ("time", None, None, "no period for a job without a schedule"),
    ],
)
def test_a_period_that_cannot_be_is_refused(
    try_job: Callable[..., ScheduledTask], period: object, schedule: str | None, timezone: str | None, allowed: str
) -> None:
    """A second tick of the day would be refused as done; and who starts a job names its period."""
    with pytest.raises(ConstructConfigError) as caught:
        try_job(period=period, schedule=schedule, timezone=timezone)
    assert caught.value.argument == "period"
    assert allowed in caught.value.allowed
