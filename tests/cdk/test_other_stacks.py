"""Constructs of several stacks, nested ones too, and every synthesizer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import aws_cdk as cdk
import pytest
from aws_cdk import aws_applicationautoscaling as autoscaling
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam

from cronce_cdk import ConstructConfigError, PinnedScheduler, RunLedger, ScheduledTask
from tests.cdk.shop import ENVIRONMENT, Shop, fargate_task, imported_cluster, new_shop

IMAGE = ecs.ContainerImage.from_registry("clock:1")
ELSEWHERE = {
    "account": cdk.Environment(account="444455556666", region="eu-west-1"),
    "region": cdk.Environment(account="111122223333", region="us-east-1"),
}


def _templates(app: cdk.App) -> dict[str, Any]:
    folder = Path(app.synth().directory)
    return {path.name: json.loads(path.read_text()) for path in folder.glob("*.template.json")}


def _exports(app: cdk.App) -> list[str]:
    return [
        name
        for template in _templates(app).values()
        for name, output in template.get("Outputs", {}).items()
        if "Export" in output
    ]


SYNTHESIZERS: dict[str, Callable[[], cdk.IStackSynthesizer]] = {
    "default": cdk.DefaultStackSynthesizer,
    "qualifier": lambda: cdk.DefaultStackSynthesizer(qualifier="mine"),
    "bootstrapless": cdk.BootstraplessSynthesizer,
    "cli": lambda: cdk.CliCredentialsStackSynthesizer(qualifier="mine"),
    "legacy": cdk.LegacyStackSynthesizer,
}


@pytest.mark.parametrize("name", SYNTHESIZERS)
@pytest.mark.parametrize("of_the_app", [True, False])
def test_a_clock_works_with_every_synthesizer(name: str, *, of_the_app: bool) -> None:
    """Of the stack, or of the app for all stacks; the check of the count still sees an override."""
    make = SYNTHESIZERS[name]
    synthesizer = make()
    if of_the_app and not hasattr(synthesizer, "reusable_bind"):
        pytest.skip("CDK takes this one for single stacks only")
    app = cdk.App(default_stack_synthesizer=cast("cdk.IReusableStackSynthesizer", synthesizer) if of_the_app else None)
    other = cdk.Stack(app, "Other", synthesizer=None if of_the_app else make())
    cdk.CfnResource(other, "Any", type="AWS::SNS::Topic")
    stack = cdk.Stack(app, "Stack", env=ENVIRONMENT, synthesizer=None if of_the_app else make())
    ledger = RunLedger.from_table_name(stack, "Ledger", table_name="runs")
    clock = PinnedScheduler(
        stack, "Clock", ledger=ledger, cluster=imported_cluster(stack), image=IMAGE, command=["beat"]
    )
    assert "Stack.template.json" in _templates(app)
    service = clock.service.node.default_child
    assert isinstance(service, cdk.CfnResource)
    service.add_property_override("DesiredCount", 2)
    with pytest.raises(RuntimeError, match="DesiredCount at Stack/Clock/Service/Service"):
        app.synth(force=True)


def _nested_job(parent: cdk.Stack, ledger: RunLedger, *, nested: bool, **changed: Any) -> ScheduledTask:  # noqa: ANN401
    stack = cdk.NestedStack(parent, "Nested") if nested else parent
    return ScheduledTask(
        stack,
        "Job",
        ledger=ledger,
        schedule="0 6 * * *",
        cluster=imported_cluster(stack),
        task_definition=fargate_task(stack, "JobTask"),
        **changed,
    )


def _schedule_of(app: cdk.App) -> dict[str, Any]:
    [schedule] = [
        resource
        for template in _templates(app).values()
        for resource in template["Resources"].values()
        if resource["Type"] == "AWS::Scheduler::Schedule"
    ]
    found: dict[str, Any] = schedule
    return found


@pytest.mark.parametrize("table_name", ["runs", None])
def test_a_job_of_a_nested_stack_uses_a_ledger_of_its_parent(table_name: str | None) -> None:
    """By parameters, without an export; the parent creates the group first."""
    app = cdk.App()
    parent = cdk.Stack(app, "Parent", env=ENVIRONMENT)
    _nested_job(parent, RunLedger(parent, "Ledger", table_name=table_name), nested=True)
    schedule = _schedule_of(app)
    assert schedule["Properties"]["GroupName"]["Ref"].startswith("referencetoParentLedgerSchedules")
    assert _exports(app) == []


@pytest.mark.parametrize("table_name", ["runs", None])
def test_a_job_uses_a_ledger_of_a_nested_stack(table_name: str | None) -> None:
    """The schedule waits for the nested stack, whose output is the group's name."""
    app = cdk.App()
    parent = cdk.Stack(app, "Parent", env=ENVIRONMENT)
    nested = cdk.NestedStack(parent, "Watch")
    _nested_job(parent, RunLedger(nested, "Ledger", table_name=table_name), nested=False)
    group = _schedule_of(app)["Properties"]["GroupName"]["Fn::GetAtt"]
    assert group[0].startswith("WatchNestedStack")
    assert group[1].startswith("Outputs.ParentWatchLedgerSchedules")
    assert _exports(app) == []


@pytest.mark.parametrize("ledger_nested", [True, False])
def test_a_clock_and_its_ledger_may_be_in_two_nested_levels(*, ledger_nested: bool) -> None:
    """No circle: such a clock is not watched, which is a warning."""
    app = cdk.App()
    parent = cdk.Stack(app, "Parent", env=ENVIRONMENT)
    nested = cdk.NestedStack(parent, "Nested")
    ledgers, clocks = (nested, parent) if ledger_nested else (parent, nested)
    ledger = RunLedger(ledgers, "Ledger")
    PinnedScheduler(
        clocks, "Clock", ledger=ledger, cluster=imported_cluster(clocks), image=IMAGE, config_file="clock.toml"
    )
    assert len(_templates(app)) == 2
    messages = [str(each.entry.data) for each in app.synth().get_stack_by_name("Parent").messages]
    assert any("cronce:pinned-service-not-watched" in message for message in messages)


def test_a_scaling_target_in_the_parent_of_a_nested_clock_is_found() -> None:
    """It refers to the service by an output of the nested stack."""
    app = cdk.App()
    parent = cdk.Stack(app, "Parent", env=ENVIRONMENT)
    nested = cdk.NestedStack(parent, "Nested")
    clock = PinnedScheduler(
        nested,
        "Clock",
        ledger=RunLedger.from_table_name(nested, "Ledger", table_name="runs"),
        cluster=imported_cluster(nested),
        image=IMAGE,
        command=["beat"],
    )
    autoscaling.CfnScalableTarget(
        parent,
        "Scaling",
        max_capacity=2,
        min_capacity=1,
        resource_id=f"service/main/{clock.service.service_name}",
        scalable_dimension="ecs:service:DesiredCount",
        service_namespace="ecs",
    )
    with pytest.raises(RuntimeError, match="scaling at Parent/Scaling"):
        app.synth()


def test_a_task_definition_of_another_stack_is_refused() -> None:
    """Its revision would be an export, which that stack could never change again."""
    app = cdk.App()
    images, jobs = (cdk.Stack(app, name, env=ENVIRONMENT) for name in ("Images", "Jobs"))
    ledger = RunLedger.from_table_name(jobs, "Ledger", table_name="runs")
    with pytest.raises(ConstructConfigError) as caught:
        ScheduledTask(
            jobs,
            "Job",
            ledger=ledger,
            schedule="0 6 * * *",
            cluster=imported_cluster(jobs),
            task_definition=fargate_task(images),
        )
    assert (caught.value.argument, caught.value.value) == ("task_definition", "Images/Task")
    assert "revision" in caught.value.allowed


def test_a_task_definition_of_the_parent_of_a_nested_stack_is_fine() -> None:
    """Its revision is a parameter of the nested stack."""
    app = cdk.App()
    parent = cdk.Stack(app, "Parent", env=ENVIRONMENT)
    task_definition = fargate_task(parent)
    nested = cdk.NestedStack(parent, "Nested")
    ScheduledTask(
        nested,
        "Job",
        ledger=RunLedger(parent, "Ledger"),
        schedule="0 6 * * *",
        cluster=imported_cluster(nested),
        task_definition=task_definition,
    )
    assert _exports(app) == []
    assert _schedule_of(app)["Properties"]["Target"]["EcsParameters"]["TaskDefinitionArn"]["Ref"].startswith(
        "reference"
    )


@pytest.mark.parametrize("what", ELSEWHERE)
@pytest.mark.parametrize("argument", ["cluster", "task_definition"])
def test_a_cluster_or_task_definition_of_another_account_or_region_is_refused(
    shop: Shop, argument: str, what: str
) -> None:
    """EventBridge Scheduler starts tasks in its own Region and account only."""
    place = ELSEWHERE[what]
    arn = f"arn:aws:ecs:{place.region}:{place.account}"
    roles = [iam.Role.from_role_arn(shop.stack, n, f"arn:aws:iam::111122223333:role/{n}") for n in ("Task-", "Exec-")]
    there: dict[str, Any] = {
        "cluster": ecs.Cluster.from_cluster_attributes(
            shop.stack, "There", cluster_name="there", cluster_arn=f"{arn}:cluster/there", vpc=shop.cluster.vpc
        ),
        "task_definition": ecs.FargateTaskDefinition.from_fargate_task_definition_attributes(
            shop.stack,
            "Imported",
            task_definition_arn=f"{arn}:task-definition/digest:7",
            task_role=roles[0],
            execution_role=roles[1],
        ),
    }
    with pytest.raises(ConstructConfigError) as caught:
        shop.job(container_name="app", **{argument: there[argument]})
    assert caught.value.argument == argument
    assert f"the same {what}" in caught.value.allowed


@pytest.mark.parametrize("what", ELSEWHERE)
def test_a_cluster_of_a_stack_elsewhere_is_refused(what: str) -> None:
    """The same for one of the app."""
    app = cdk.App()
    shop = new_shop(app)
    there = cdk.Stack(app, "There", env=ELSEWHERE[what])
    cluster = ecs.Cluster(there, "Own", vpc=imported_cluster(there).vpc)
    with pytest.raises(ConstructConfigError) as caught:
        shop.job(cluster=cluster)
    assert (caught.value.argument, caught.value.value) == (
        "cluster",
        f"There/Own in {getattr(ELSEWHERE[what], what)}",
    )


def test_a_role_of_another_account_is_refused(shop: Shop) -> None:
    """iam:PassRole takes roles of the same account."""
    roles = [iam.Role.from_role_arn(shop.stack, n, f"arn:aws:iam::444455556666:role/{n}") for n in ("Task-", "Exec-")]
    task_definition = ecs.FargateTaskDefinition.from_fargate_task_definition_attributes(
        shop.stack,
        "Imported",
        task_definition_arn="arn:aws:ecs:eu-west-1:111122223333:task-definition/digest:7",
        task_role=roles[0],
        execution_role=roles[1],
    )
    with pytest.raises(ConstructConfigError, match="the same account"):
        shop.job(task_definition=task_definition, container_name="app")


def test_a_cluster_of_the_jobs_stack_is_refused_for_the_ledgers_rule() -> None:
    """The two stacks would wait for each other."""
    app = cdk.App()
    ledgers, jobs = (cdk.Stack(app, name, env=ENVIRONMENT) for name in ("Ledgers", "Jobs"))
    cluster = ecs.Cluster(jobs, "Own", vpc=imported_cluster(jobs).vpc)
    ledger = RunLedger(ledgers, "Ledger", table_name="runs", clusters=[cluster])
    with pytest.raises(ConstructConfigError) as caught:
        ScheduledTask(
            jobs, "Job", ledger=ledger, schedule="0 6 * * *", cluster=cluster, task_definition=fargate_task(jobs)
        )
    assert caught.value.argument == "ledger"
    assert "clusters" in caught.value.allowed


def test_two_ledgers_of_one_table_name_are_refused() -> None:
    """The second deployment would fail, or take over the table."""
    app = cdk.App()
    for name in ("First", "Second"):
        stack = cdk.Stack(app, name, env=ENVIRONMENT)
        if name == "First":
            RunLedger(stack, "Ledger", table_name="runs")
            RunLedger.from_table_name(stack, "Known", table_name="runs")
            continue
        with pytest.raises(ConstructConfigError) as caught:
            RunLedger(stack, "Ledger", table_name="runs")
    assert (caught.value.path, caught.value.argument, caught.value.value) == ("Second/Ledger", "table_name", "runs")
    assert "First/Ledger" in caught.value.allowed
