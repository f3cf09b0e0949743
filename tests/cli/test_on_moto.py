"""The commands against EventBridge Scheduler and ECS as moto plays them: their API's names, types and errors."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from moto import mock_aws

from cronce import Ledger
from cronce.ecs import Launcher
from cronce.vocabulary.policy import Policy
from cronce_lambdas.rerun import Reruns
from tests.cli.conftest import Said
from tests.support.builders import JOB

if TYPE_CHECKING:
    from mypy_boto3_ecs import ECSClient

PERIOD = "2026-11-27T05:00:00Z"


@pytest.fixture(scope="module")
def ecs() -> Iterator[ECSClient]:
    """An account with one job: its cluster, its task definition, its schedule in the group `runs`."""
    with pytest.MonkeyPatch.context() as environ, mock_aws():
        environ.setenv("AWS_ACCESS_KEY_ID", "testing")
        environ.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        environ.setenv("AWS_DEFAULT_REGION", "eu-west-1")
        environ.setenv("CRONCE_SCHEDULE_GROUP", "runs")
        ec2: Any = boto3.client("ec2")
        subnet = ec2.describe_subnets()["Subnets"][0]["SubnetId"]
        security_group = ec2.describe_security_groups()["SecurityGroups"][0]["GroupId"]
        client = boto3.client("ecs")
        cluster = client.create_cluster(clusterName="shop")["cluster"]["clusterArn"]
        definition = client.register_task_definition(
            family="digest",
            requiresCompatibilities=["FARGATE"],
            networkMode="awsvpc",
            cpu="256",
            memory="512",
            containerDefinitions=[{"name": "digest", "image": "digest", "cpu": 256, "memory": 512}],
        )
        scheduler: Any = boto3.client("scheduler")
        scheduler.create_schedule_group(Name="runs")
        given = {
            "CRONCE_JOB": JOB,
            "CRONCE_POLICY": Policy().to_json(),
            "CRONCE_SCHEDULED_TIME": "<aws.scheduler.scheduled-time>",
        }
        variables = [{"name": name, "value": value} for name, value in given.items()]
        scheduler.create_schedule(
            Name=f"{JOB}-0123456789ab",
            GroupName="runs",
            ScheduleExpression="cron(0 6 * * ? *)",
            ScheduleExpressionTimezone="Europe/Berlin",
            FlexibleTimeWindow={"Mode": "OFF"},
            Target={
                "Arn": cluster,
                "RoleArn": "arn:aws:iam::123456789012:role/cronce/runs/digest",
                "Input": json.dumps({"containerOverrides": [{"name": "digest", "environment": variables}]}),
                "EcsParameters": {
                    "TaskDefinitionArn": definition["taskDefinition"]["taskDefinitionArn"],
                    "TaskCount": 1,
                    "LaunchType": "FARGATE",
                    "NetworkConfiguration": {
                        "awsvpcConfiguration": {"Subnets": [subnet], "SecurityGroups": [security_group]}
                    },
                },
            },
        )
        yield client


def test_next_reads_the_schedule(ecs: ECSClient, cronce: Callable[..., Said]) -> None:
    """Its zone, from GetSchedule."""
    assert ecs.list_tasks(cluster="shop")["taskArns"] == []
    said = cronce("next", JOB, "--from", "2026-11-27", "--count", "1", "--json")
    assert json.loads(said.out)["ticks"] == [{"period": PERIOD, "local": "2026-11-27T06:00:00+01:00", "note": ""}]


def test_a_plan_starts_nothing(ecs: ECSClient, cronce: Callable[..., Said]) -> None:
    """It only reads."""
    assert cronce("init").code == 0
    said = cronce("backfill", JOB, "--from", "2026-11-24", "--to", "2026-11-27", "--json")
    assert (said.code, json.loads(said.out)["counts"]) == (0, {"missing": 4})
    assert ecs.list_tasks(cluster="shop")["taskArns"] == []


def test_rerun_starts_the_schedules_task(ecs: ECSClient, cronce: Callable[..., Said]) -> None:
    """RunTask takes what the schedule's parameters become, and the overrides arrive."""
    said = cronce("rerun", JOB, PERIOD, "--json", "--reason", "why not")
    document = json.loads(said.out)
    assert (said.code, document["started"]) == (0, True)
    (task,) = ecs.describe_tasks(cluster="shop", tasks=[document["task"]])["tasks"]
    (override,) = task["overrides"]["containerOverrides"]
    environ = {each["name"]: each["value"] for each in override["environment"]}
    assert (environ["CRONCE_PERIOD"], environ["CRONCE_TRIGGER"]) == (PERIOD, "manual")
    assert environ["CRONCE_NOTE"] == "why not"


def test_the_rerun_function_creates_a_schedule_that_eventbridge_takes(
    ecs: ECSClient, cronce: Callable[..., Said]
) -> None:
    """By the names and types of the API, with the job's own role; it starts no task itself."""
    assert cronce("init").code == 0
    before = ecs.list_tasks(cluster="shop")["taskArns"]
    with closing(Ledger.from_url(os.environ["CRONCE_LEDGER"])) as ledger:
        reruns = Reruns(ledger=ledger, launcher=Launcher(group="runs"), name="runs")
        wish = {"job": JOB, "period": "2026-11-26T05:00:00Z", "actor": "ann", "reason": "why not"}
        assert [reruns.answer(wish)["before"] for _ in range(2)] == [False, True]
    scheduler: Any = boto3.client("scheduler")
    names = [each["Name"] for each in scheduler.list_schedules(GroupName="runs")["Schedules"]]
    [name] = [each for each in names if each.startswith("once-")]
    made = scheduler.get_schedule(GroupName="runs", Name=name)
    assert made["Target"]["RoleArn"] == "arn:aws:iam::123456789012:role/cronce/runs/digest"
    (override,) = json.loads(made["Target"]["Input"])["containerOverrides"]
    environ = {each["name"]: each["value"] for each in override["environment"]}
    assert (environ["CRONCE_PERIOD"], environ["CRONCE_ACTOR"]) == ("2026-11-26T05:00:00Z", "ann")
    assert ecs.list_tasks(cluster="shop")["taskArns"] == before
