"""A ledger in PostgreSQL or Redis: its URL is only ever a secret, and a process watches over it."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sns as sns

from cronce_cdk import ClockJob, CommandTarget, ConstructConfigError, ExternalLedger, PinnedScheduler, ScheduledTask
from tests.cdk.shop import ENVIRONMENT, Shop, add_container, container_override, fargate_task, imported_cluster

if TYPE_CHECKING:
    from collections.abc import Callable

SECRET = "arn:aws:secretsmanager:eu-west-1:111122223333:secret:shop-AbCdEf"
GIVEN = {"Name": "CRONCE_LEDGER", "ValueFrom": f"{SECRET}:url::"}
READS = {
    "Action": ["secretsmanager:GetSecretValue", "secretsmanager:DescribeSecret"],
    "Effect": "Allow",
    "Resource": SECRET,
}


def external(stack: cdk.Stack, construct_id: str = "Ledger", **changed: Any) -> ExternalLedger:  # noqa: ANN401
    """A ledger in a database `shop`, with some arguments changed."""
    secret = secretsmanager.Secret.from_secret_complete_arn(stack, f"{construct_id}Url", SECRET)
    arguments: dict[str, Any] = {
        "name": "shop",
        "url": ecs.Secret.from_secrets_manager(secret, "url"),
        "cluster": stack.node.find_child("Cluster"),
        "image": ecs.ContainerImage.from_registry("cronce:1"),
        **changed,
    }
    return ExternalLedger(stack, construct_id, **arguments)


@pytest.fixture(scope="module")
def whole() -> Shop:
    """A stack with two jobs of one task definition and a clock, on such a ledger. Nobody changes it."""
    shop = new_external_shop()
    shop.job()
    shop.job("report")
    PinnedScheduler(
        shop.stack,
        "Clock",
        ledger=shop.ledger,
        cluster=shop.cluster,
        image=ecs.ContainerImage.from_registry("clock:1"),
        jobs={"hourly": ClockJob(every=timedelta(hours=1), target=CommandTarget(["./enqueue"]))},
    )
    return shop


@pytest.fixture
def shop() -> Shop:
    """A stack with nothing but such a ledger."""
    return new_external_shop()


def new_external_shop() -> Shop:
    """A shop whose ledger is external."""
    stack = cdk.Stack(cdk.App(), "Stack", env=ENVIRONMENT)
    cluster = imported_cluster(stack)
    ledger: Any = external(stack)
    return Shop(stack=stack, cluster=cluster, task_definition=fargate_task(stack), ledger=ledger)


def statements(shop: Shop, name: str) -> list[dict[str, Any]]:
    """The statements of the one policy of a role."""
    [policy] = [each for key, each in shop.resources("AWS::IAM::Policy").items() if key.startswith(name)]
    found: list[dict[str, Any]] = policy["Properties"]["PolicyDocument"]["Statement"]
    return found


def containers(shop: Shop) -> dict[str, dict[str, Any]]:
    """The containers of all task definitions by name."""
    every = shop.resources("AWS::ECS::TaskDefinition").values()
    return {each["Name"]: each for task in every for each in task["Properties"]["ContainerDefinitions"]}


def test_every_container_has_the_url_as_a_secret_once_and_nowhere_else(whole: Shop) -> None:
    """No variable, no override, no other property of the template names it."""
    found = containers(whole)
    assert {name: container["Secrets"] for name, container in found.items()} == {
        name: [GIVEN] for name in ("app", "watchdog", "clock")
    }
    for container in found.values():
        assert "CRONCE_LEDGER" not in {each["Name"] for each in container.get("Environment", ())}
    for schedule in whole.resources("AWS::Scheduler::Schedule").values():
        given = container_override(schedule["Properties"]["Target"]["Input"])["environment"]
        names = {each["name"] for each in given}
        assert "CRONCE_LEDGER" not in names
        assert {"CRONCE_JOB", "CRONCE_POLICY", "CRONCE_SCHEDULED_TIME"} <= names
    text = json.dumps(assertions.Template.from_stack(whole.stack).to_json())
    assert text.count("CRONCE_LEDGER") == len(found)


@pytest.mark.parametrize("role", ["TaskExecutionRole", "LedgerTaskExecutionRole", "ClockTaskExecutionRole"])
def test_an_execution_role_reads_exactly_that_secret(whole: Shop, role: str) -> None:
    """And no other role does."""
    assert [each for each in statements(whole, role) if "secretsmanager" in str(each["Action"])] == [READS]
    text = json.dumps(assertions.Template.from_stack(whole.stack).to_json())
    assert text.count("secretsmanager:GetSecretValue") == 3
    assert "dynamodb:" not in text


def test_a_schedule_has_the_group_and_the_queue_of_its_ledger(whole: Shop) -> None:
    """And EventBridge Scheduler may start nothing else."""
    [group], [queue] = whole.resources("AWS::Scheduler::ScheduleGroup"), whole.resources("AWS::SQS::Queue")
    for schedule in whole.resources("AWS::Scheduler::Schedule").values():
        assert schedule["Properties"]["GroupName"] == {"Ref": group}
        assert schedule["Properties"]["Target"]["DeadLetterConfig"] == {"Arn": {"Fn::GetAtt": [queue, "Arn"]}}
    assert whole.resources("AWS::DynamoDB::GlobalTable") == whole.resources("AWS::Lambda::Function") == {}


def test_the_watchdog_is_a_service_that_asks_for_its_health(whole: Shop) -> None:
    """Two at a time do no harm, so a deployment starts the new one first."""
    watchdog = containers(whole)["watchdog"]
    [group] = whole.resources("AWS::Scheduler::ScheduleGroup")
    assert watchdog["Command"] == ["cronce", "watchdog"]
    assert watchdog["Environment"] == [
        {"Name": "CRONCE_SCHEDULE_GROUP", "Value": {"Ref": group}},
        {"Name": "CRONCE_MISSED_AFTER", "Value": "5m"},
        {"Name": "CRONCE_METRICS", "Value": "emf"},
    ]
    assert watchdog["HealthCheck"]["Command"] == ["CMD", "cronce", "health", "--name", "cronce:watchdog"]
    [service] = [
        each["Properties"]
        for name, each in whole.resources("AWS::ECS::Service").items()
        if name.startswith("LedgerService")
    ]
    assert service["DesiredCount"] == 1
    assert service["DeploymentConfiguration"]["MinimumHealthyPercent"] == 100
    assert {
        each["Action"] if isinstance(each["Action"], str) else tuple(each["Action"])
        for each in statements(whole, "LedgerTaskTaskRole")
    } == {
        ("scheduler:CreateSchedule", "scheduler:GetSchedule"),
        "scheduler:ListSchedules",
        "iam:PassRole",
        "events:PutEvents",
        "ecs:ListTasks",
        "ecs:DescribeTasks",
    }


def test_alarms_are_of_what_the_process_reports(shop: Shop) -> None:
    """With the ledger's name as the dimension; a topic is told of single runs."""
    topic = sns.Topic(shop.stack, "Topic")
    alarms = shop.ledger.add_alarms(topic)
    assert {*alarms} == {
        *("failed", "missed", "lost", "held", "given_up", "not_judged", "unreadable", "too_long", "no_success")
    }
    found = shop.resources("AWS::CloudWatch::Alarm").values()
    assert {each["Properties"]["Dimensions"][0]["Value"] for each in found} == {"shop"}


def test_nothing_is_doubtful(whole: Shop) -> None:
    """A task role without policies is right here: the URL is the permission."""
    assert whole.warnings() == set()


REFUSED: dict[str, tuple[Callable[[Shop], object], str]] = {
    "url-as-text": (lambda shop: external(shop.stack, "Two", url="postgresql://ada:pw@db/shop"), "an ecs.Secret"),
    "a URL as the name": (lambda shop: external(shop.stack, "Two", name="postgresql://ada:pw@db/shop"), "the database"),
    "group": (lambda shop: external(shop.stack, "Two", schedule_group_name="a/b"), "schedule_group_name"),
    "the group of the account": (lambda shop: external(shop.stack, "Two", schedule_group_name="default"), "exists"),
    "image": (lambda shop: external(shop.stack, "Two", image="cronce:1"), "cronce installed"),
    "patience": (lambda shop: external(shop.stack, "Two", missed_after=timedelta(seconds=5)), "1m"),
    "grant_claim": (lambda shop: shop.ledger.grant_claim(shop.task_definition.task_role, "digest"), "a RunLedger"),
    "grant_read": (lambda shop: shop.ledger.grant_read(shop.task_definition.task_role), "users of the database"),
    "grant_operate": (lambda shop: shop.ledger.grant_operate(shop.task_definition.task_role), "docs/iam.md"),
    "grant_rerun": (lambda shop: shop.ledger.grant_rerun(shop.task_definition.task_role), "Lambda functions"),
    "board_widget": (lambda shop: shop.ledger.board_widget(), "Lambda functions"),
    "rerun alarm": (lambda shop: shop.ledger.add_alarms(rerun_function=True), "Lambda functions"),
    "metric_unclaimed": (lambda shop: shop.ledger.metric_unclaimed(), "Lambda functions"),
    "metric_unsettled": (lambda shop: shop.ledger.metric_unsettled(), "Lambda functions"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_apply_is_refused_in_words(shop: Shop, what: str) -> None:
    """And no error has a password."""
    refused, told = REFUSED[what]
    with pytest.raises(ConstructConfigError, match=told) as error:
        refused(shop)
    assert "pw" not in str(error.value)


def test_an_imported_task_definition_cannot_get_the_url(shop: Shop) -> None:
    """Its containers are not of this app."""
    role = iam.Role.from_role_arn(shop.stack, "Role", "arn:aws:iam::111122223333:role/digest")
    imported = ecs.FargateTaskDefinition.from_fargate_task_definition_attributes(
        shop.stack,
        "Imported",
        task_definition_arn="arn:aws:ecs:eu-west-1:111122223333:task-definition/digest:7",
        task_role=role,
        execution_role=role,
    )
    with pytest.raises(ConstructConfigError, match="as a secret"):
        shop.job(task_definition=imported, container_name="app")


@pytest.mark.parametrize("kind", ["environment", "secrets"])
def test_a_container_that_names_a_ledger_itself_is_refused(shop: Shop, kind: str) -> None:
    """In plain text everybody could read it; as a secret it may be another ledger's."""
    task_definition = ecs.FargateTaskDefinition(shop.stack, "Own")
    add_container(task_definition)
    container = task_definition.find_container("app")
    assert container is not None
    if kind == "environment":
        container.add_environment("CRONCE_LEDGER", "postgresql://ada:pw@db/shop")
    else:
        container.add_secret("CRONCE_LEDGER", shop.ledger.url_secrets["CRONCE_LEDGER"])
    with pytest.raises(ConstructConfigError, match=f"CRONCE_LEDGER in the {kind} of app") as error:
        shop.job(task_definition=task_definition)
    assert "pw" not in str(error.value)


def test_a_container_has_one_ledger(shop: Shop) -> None:
    """The jobs of one task definition have one."""
    shop.job()
    other = external(shop.stack, "Other", name="other")
    with pytest.raises(ConstructConfigError, match="without the ledger Stack/Ledger"):
        shop.job("second", ledger=other)


def test_another_stack_cannot_have_its_jobs(shop: Shop) -> None:
    """Its URL would become an export."""
    other = cdk.Stack(shop.stack.node.root, "Other", env=ENVIRONMENT)  # type: ignore[arg-type]
    cluster = imported_cluster(other)
    with pytest.raises(ConstructConfigError, match="of the same stack"):
        ScheduledTask(
            other,
            "digest",
            ledger=shop.ledger,
            schedule="0 6 * * *",
            cluster=cluster,
            task_definition=fargate_task(other),
        )


def test_the_database_is_opened_for_the_watchdog_and_the_jobs(shop: Shop) -> None:
    """Both are connectable."""
    vpc = shop.cluster.vpc
    database = ec2.SecurityGroup(shop.stack, "Database", vpc=vpc)
    for each in (shop.ledger, shop.job()):
        database.connections.allow_from(each, ec2.Port.tcp(5432))  # type: ignore[arg-type]
    assert len(shop.resources("AWS::EC2::SecurityGroupIngress")) == 2
