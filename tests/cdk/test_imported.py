"""What `cronce import` writes for CDK synthesizes, and says what the source said."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pytest
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_secretsmanager as secretsmanager

from cronce import Policy
from cronce.adopt.convert.model import ImageWork
from tests.adopt.convert.files import FILES, converted
from tests.cdk.shop import container_override

if TYPE_CHECKING:
    from tests.cdk.shop import Shop

KINDS = ("ecschedule", "cronjob")


class Anything(dict[str, Any]):
    """A mapping that has an entry for every name, made when it is asked for."""

    def __init__(self, make: Any) -> None:  # noqa: ANN401  # a function
        super().__init__()
        self._make = make

    def __missing__(self, name: str) -> Any:  # noqa: ANN401
        self[name] = self._make(name)
        return self[name]


def imported(shop: Shop, kind: str, name: str) -> dict[str, dict[str, Any]]:
    """The file as a construct of the shop's stack; the properties of each schedule, by job."""
    names: dict[str, Any] = {"__name__": "imported"}
    exec(compile(converted(kind, name).code, name, "exec"), names)
    made = names["ImportedJobs"]
    numbers = iter(range(100))

    def task(name: str) -> ecs.TaskDefinition:
        container = {"digest": "app", "report": "app", "sync": "app", "carts:12": "carts", "api": "api", "crm": "crm"}
        definition = ecs.FargateTaskDefinition(shop.stack, f"Definition{next(numbers)}")
        definition.add_container(
            container.get(name, "purge" if "purge" in name else "app" if "export" in name else "stock"),
            image=ecs.ContainerImage.from_registry("app:1"),
            logging=ecs.LogDrivers.aws_logs(stream_prefix="app"),
        )
        return definition

    given = {
        "cluster": shop.cluster,
        "clusters": Anything(lambda _: shop.cluster),
        "task_definition": shop.task_definition,
        "task_definitions": Anything(task),
        "entry_points": Anything(lambda _: ["/entry"]),
        "secrets": Anything(
            lambda _: secretsmanager.Secret.from_secret_name_v2(shop.stack, f"Secret{next(numbers)}", "db")
        ),
        "config": Anything(lambda _: Anything(lambda key: key.upper())),
        "guard_image": ecs.ContainerImage.from_registry("cronce:1"),
    }
    wanted = inspect.signature(made.__init__).parameters.keys() & given.keys()
    made(shop.stack, "Jobs", ledger=shop.ledger, **{name: given[name] for name in wanted})
    schedules = shop.resources("AWS::Scheduler::Schedule").values()
    properties = [each["Properties"] for each in schedules]
    return {variables(each["Target"]["Input"])["CRONCE_JOB"]: each for each in properties}


def variables(task_input: Any) -> dict[str, str]:  # noqa: ANN401  # a template's value
    """The environment that a schedule gives its task."""
    return {each["name"]: each["value"] for each in container_override(task_input)["environment"]}


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), FILES)
def test_every_file_synthesizes(shop: Shop, kind: str, name: str) -> None:
    """With the schedule, the zone and the policy that were read."""
    schedules = imported(shop, kind, name)
    jobs = converted(kind, name).jobs
    assert schedules.keys() == {job.name for job in jobs}
    for job in jobs:
        schedule = schedules[job.name]
        assert schedule["ScheduleExpressionTimezone"] == job.when.timezone
        assert schedule["State"] == ("ENABLED" if job.enabled else "DISABLED")
        assert Policy.from_json(variables(schedule["Target"]["Input"])["CRONCE_POLICY"]) == job.policy
        assert job.environment.items() <= variables(schedule["Target"]["Input"]).items() or isinstance(
            job.work, ImageWork
        )


def test_a_rule_of_ecschedule_is_a_schedule_with_the_same_target(shop: Shop) -> None:
    """Expression, command, network, tags; under the guard."""
    schedule = imported(shop, "ecschedule", "fargate.yaml")["expire-carts"]
    assert schedule["ScheduleExpression"] == "rate(1 hour)"
    override = container_override(schedule["Target"]["Input"])
    assert override["command"] == ["cronce", "exec", "--", "expire", "--older-than", "30d"]
    parameters = schedule["Target"]["EcsParameters"]
    assert parameters["NetworkConfiguration"]["AwsvpcConfiguration"] == {
        "AssignPublicIp": "ENABLED",
        "SecurityGroups": ["sg-0a1b2c3d4e5f60001"],
        "Subnets": ["subnet-0a1b2c3d4e5f60001", "subnet-0a1b2c3d4e5f60002"],
    }
    assert (parameters["PlatformVersion"], parameters["PropagateTags"]) == ("1.4.0", "TASK_DEFINITION")


def test_a_cronjob_is_a_task_definition_under_the_guard(shop: Shop) -> None:
    """The ENTRYPOINT is in the task definition, with its secret and without a plain one."""
    schedule = imported(shop, "cronjob", "backup.yaml")["postgres-backup"]
    assert "command" not in container_override(schedule["Target"]["Input"])
    definitions = [each["Properties"] for each in shop.resources("AWS::ECS::TaskDefinition").values()]
    [work] = [
        each for definition in definitions for each in definition["ContainerDefinitions"] if each["Name"] == "backup"
    ]
    assert work["EntryPoint"] == ["/cronce/cronce", "exec", "--"]
    assert work["Command"][:2] == ["/bin/sh", "-c"]
    assert [each["Name"] for each in work["Secrets"]] == ["PGPASSWORD"]
    assert work["Environment"] == [{"Name": "DB_HOST", "Value": "db.internal"}]
