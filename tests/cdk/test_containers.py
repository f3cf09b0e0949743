"""Which container of a task definition does the work."""

from __future__ import annotations

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ecs as ecs

from cronce_cdk import ConstructConfigError
from tests.cdk.shop import Shop

IMAGE = ecs.ContainerImage.from_registry("digest:1")


def _task(shop: Shop, *names: str) -> ecs.FargateTaskDefinition:
    task_definition = ecs.FargateTaskDefinition(shop.stack, "Several")
    for name in names:
        _add(task_definition, name)
    return task_definition


def _add(task_definition: ecs.TaskDefinition, name: str, *, essential: bool = True) -> ecs.ContainerDefinition:
    logging = ecs.LogDrivers.aws_logs(stream_prefix=name)
    return task_definition.add_container(name, image=IMAGE, logging=logging, essential=essential)


@pytest.mark.parametrize("names", [("datadog", "app"), ("app", "datadog"), ("a", "b", "c")])
def test_one_of_several_containers_must_be_named(shop: Shop, names: tuple[str, ...]) -> None:
    """The first one may be a sidecar, which would get the command and the variables."""
    with pytest.raises(ConstructConfigError) as caught:
        shop.job(task_definition=_task(shop, *names), command=["digest"])
    assert (caught.value.argument, caught.value.value) == ("container_name", None)
    assert caught.value.allowed.endswith(", ".join(names))


@pytest.mark.parametrize("essential", [True, False])
def test_nor_is_an_essential_container_the_one_that_is_meant(shop: Shop, *, essential: bool) -> None:
    """A sidecar can be the only essential container."""
    task_definition = _task(shop, "datadog")
    _add(task_definition, "app", essential=essential)
    with pytest.raises(ConstructConfigError, match="datadog, app"):
        shop.job(task_definition=task_definition)


def test_a_named_container_is_the_one(shop: Shop) -> None:
    """Whatever else the task has."""
    shop.job(task_definition=_task(shop, "datadog", "app"), container_name="app")
    assert shop.override()["name"] == "app"


def test_a_log_router_is_never_the_one(shop: Shop) -> None:
    """It is left out of the choice, and refused by name."""
    task_definition = ecs.FargateTaskDefinition(shop.stack, "Routed")
    task_definition.add_firelens_log_router(
        "router",
        image=IMAGE,
        firelens_config=ecs.FirelensConfig(type=ecs.FirelensLogRouterType.FLUENTBIT),
        logging=ecs.LogDrivers.aws_logs(stream_prefix="router"),
    )
    _add(task_definition, "app")
    with pytest.raises(ConstructConfigError) as caught:
        shop.job("other", task_definition=task_definition, container_name="router")
    assert (caught.value.argument, caught.value.value) == ("container_name", "router")
    assert caught.value.allowed.endswith("app")
    shop.job(task_definition=task_definition)
    assert shop.override()["name"] == "app"


def test_a_container_that_is_added_between_two_jobs_counts(shop: Shop) -> None:
    """Nothing is remembered from the first job."""
    task_definition = _task(shop, "app")
    shop.job(task_definition=task_definition)
    _add(task_definition, "datadog")
    with pytest.raises(ConstructConfigError, match="app, datadog"):
        shop.job("other", task_definition=task_definition)


def test_a_default_container_that_was_chosen_is_the_one_for_each_job_anew(shop: Shop) -> None:
    """CDK's own default is the first essential container; another one was set by a person."""
    task_definition = _task(shop, "datadog", "app", "second")
    names = []
    for container in ("app", "second"):
        task_definition.default_container = task_definition.find_container(container)
        job = shop.job(container, task_definition=task_definition)
        names.append(job.container_name)
    assert names == ["app", "second"]


def test_a_job_container_that_is_not_essential_is_doubtful(shop: Shop) -> None:
    """Beside an essential sidecar the task never ends."""
    task_definition = ecs.FargateTaskDefinition(shop.stack, "Sidecar")
    _add(task_definition, "app", essential=False)
    _add(task_definition, "datadog")
    shop.job(task_definition=task_definition, container_name="app")
    assert shop.warnings() == {"cronce:task-never-ends"}


def test_a_sidecar_that_is_not_essential_is_fine(shop: Shop) -> None:
    """The task ends with the job's container."""
    task_definition = _task(shop, "app")
    _add(task_definition, "datadog", essential=False)
    shop.job(task_definition=task_definition, container_name="app")
    assert shop.warnings() == set()


@pytest.mark.parametrize(
    ("driver", "metrics", "warnings"),
    [
        (ecs.LogDrivers.firelens(options={"Name": "datadog"}), True, {"cronce:logs-without-metrics"}),
        (ecs.LogDrivers.firelens(options={"Name": "datadog"}), False, set()),
        (ecs.LogDrivers.json_file(), True, {"cronce:logs-without-metrics"}),
        (ecs.LogDrivers.aws_logs(stream_prefix="app"), True, set()),
        (None, True, {"cronce:container-without-logs"}),
    ],
)
def test_metrics_need_cloudwatch_logs(
    shop: Shop,
    driver: ecs.LogDriver | None,
    *,
    metrics: bool,
    warnings: set[str],
) -> None:
    """A log line that goes elsewhere becomes no metric."""
    task_definition = ecs.FargateTaskDefinition(shop.stack, "Logs")
    task_definition.add_container("app", image=IMAGE, logging=driver)
    shop.job(task_definition=task_definition, metrics=metrics, container_name="app")
    assert shop.warnings() == warnings


def test_a_stop_timeout_that_fargate_does_not_take_is_refused(shop: Shop) -> None:
    """At most 120 seconds there; on instances it may be longer."""
    task_definition = ecs.FargateTaskDefinition(shop.stack, "Slow")
    task_definition.add_container("app", image=IMAGE, stop_timeout=cdk.Duration.seconds(121))
    with pytest.raises(ConstructConfigError) as caught:
        shop.job(task_definition=task_definition)
    assert (caught.value.argument, caught.value.value) == ("task_definition", "stop_timeout 121s of app")
    assert caught.value.allowed == "at most 120s on Fargate"
