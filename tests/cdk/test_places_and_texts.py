"""Places that do not fit, texts that nobody can take, and parts that are changed later: our own error, before 06:00."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_ssm as ssm

from cronce_cdk import ConstructConfigError, Guard, PinnedScheduler, RunLedger, ScheduledTask
from tests.cdk.shop import ENVIRONMENT, Shop, new_shop

if TYPE_CHECKING:
    from collections.abc import Callable

IMAGE = ecs.ContainerImage.from_registry("x")


def _clock(shop: Shop, **changed: Any) -> PinnedScheduler:  # noqa: ANN401  # any argument
    arguments: dict[str, Any] = {"ledger": shop.ledger, "cluster": shop.cluster, "image": IMAGE, "command": ["beat"]}
    return PinnedScheduler(shop.stack, "Clock", **{**arguments, **changed})


def _secret(shop: Shop) -> ecs.Secret:
    return ecs.Secret.from_ssm_parameter(ssm.StringParameter.from_string_parameter_name(shop.stack, "Secret", "/x"))


@pytest.mark.parametrize(
    ("argument", "changed"),
    [
        ("job", {"job": "<aws.scheduler.execution-id>"}),
        ("environment", {"environment": {"A=B": "x"}}),
        ("environment", {"environment": {"A": "x\0y"}}),
        ("environment", {"environment": {"A": "\udcff"}}),
        ("environment", {"environment": {"A\udcff": "x"}}),
        ("command", {"command": ["x", "\0"]}),
        ("command", {"command": ["\udcff"]}),
        ("description", {"description": "\udcff"}),
        ("tags", {"tags": {"a": "x\n"}}),
        ("tags", {"tags": {"a\t": "x"}}),
        ("start", {"start": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))}),
        ("end", {"end": datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-10)))}),
        ("start", {"start": datetime.max.replace(tzinfo=UTC)}),
    ],
)
def test_a_text_or_an_instant_that_a_task_cannot_have_is_refused(
    try_job: Callable[..., ScheduledTask], argument: str, changed: dict[str, Any]
) -> None:
    """Each passed the synth, and failed in CloudFormation, in ECS or in the container."""
    with pytest.raises(ConstructConfigError, match=f": {argument}: "):
        try_job(**changed)


def test_variables_may_have_what_eventbridge_scheduler_fills_in(shop: Shop) -> None:
    """Only in names would it be another name at each delivery."""
    shop.job(environment={"ATTEMPT": "<aws.scheduler.attempt-number>", "LINES": "a\nb\té"})
    assert "attempt-number" in str(shop.override())


@pytest.mark.parametrize("name", ["CRONCE_PERIOD", "CRONCE_FORCE", "CRONCE_DATE_IN", "CRONCE_LAUNCH"])
@pytest.mark.parametrize("as_secret", [False, True])
def test_a_task_definition_that_fixes_the_run_is_refused(shared_shop: Shop, name: str, *, as_secret: bool) -> None:
    """Every tick would be the same run, and after the first success nothing would run again."""
    task = ecs.FargateTaskDefinition(shared_shop.stack, f"Fixed{name}{as_secret}")
    parameter = ssm.StringParameter.from_string_parameter_name(task, "P", "/x")
    given: dict[str, Any] = (
        {"secrets": {name: ecs.Secret.from_ssm_parameter(parameter)}} if as_secret else {"environment": {name: "x"}}
    )
    task.add_container("work", image=IMAGE, **given)
    with pytest.raises(ConstructConfigError, match=f"'{name} of work' is not usable"):
        shared_shop.job(f"Fixed{name}{as_secret}Job", task_definition=task)


def test_a_clocks_variable_is_plain_or_secret(shop: Shop) -> None:
    """ECS refuses a task definition with both."""
    with pytest.raises(ConstructConfigError, match=r": secrets: 'A' is not usable; allowed: names that are not in env"):
        _clock(shop, environment={"A": "x"}, secrets={"A": _secret(shop)})


def test_a_clock_whose_command_is_changed_later_fails_the_synth(shop: Shop) -> None:
    """An aspect or an override that takes `cronce pin` away would leave a clock without a lease."""
    clock = _clock(shop)
    task = clock.task_definition.node.default_child
    assert isinstance(task, ecs.CfnTaskDefinition)
    task.add_property_override("ContainerDefinitions.0.Command", ["beat"])
    with pytest.raises(RuntimeError, match=r"Command at .*: \['beat'\] is not usable; allowed: cronce pin"):
        cdk.App.of(shop.stack).synth()  # type: ignore[union-attr]  # it has one


@pytest.mark.parametrize("scope", [None, "x", cdk.App(), cdk.Stage(cdk.App(), "Stage")])
@pytest.mark.parametrize("kind", [RunLedger, ScheduledTask, PinnedScheduler])
def test_a_scope_without_a_stack_is_refused(shared_shop: Shop, kind: type, scope: object) -> None:
    """Before CDK fails on it."""
    more: dict[str, Any] = {"ledger": shared_shop.ledger, "cluster": shared_shop.cluster}
    more = {} if kind is RunLedger else more
    more |= {"schedule": "0 6 * * *", "task_definition": None} if kind is ScheduledTask else {}
    more |= {"image": IMAGE} if kind is PinnedScheduler else {}
    with pytest.raises(ConstructConfigError, match=r"scope: .* is not usable; allowed: a construct within a stack"):
        kind(scope, "Digest", **more)


@pytest.mark.parametrize("construct_id", [None, "", 7, b"x"])
@pytest.mark.parametrize("kind", [RunLedger, ScheduledTask])
def test_an_id_that_is_none_is_refused(shared_shop: Shop, kind: type, construct_id: object) -> None:
    """Likewise."""
    more: dict[str, Any] = {"ledger": shared_shop.ledger, "cluster": shared_shop.cluster}
    more = {} if kind is RunLedger else more
    more |= {"schedule": "0 6 * * *", "task_definition": None} if kind is ScheduledTask else {}
    with pytest.raises(ConstructConfigError, match="construct_id: "):
        kind(shared_shop.stack, construct_id, **more)


def test_a_ledger_of_another_stage_is_refused() -> None:
    """A dependency cannot cross stages; by its name the ledger can be used there."""
    app = cdk.App()
    stages = [cdk.Stage(app, name, env=ENVIRONMENT) for name in ("A", "B")]
    ledger = RunLedger(cdk.Stack(stages[0], "L"), "Ledger", table_name="runs")
    other = cdk.Stack(stages[1], "S")
    with pytest.raises(ConstructConfigError, match=r"one of the same stage, or RunLedger\.from_table_name"):
        ledger.seen_from(other)
    RunLedger.from_table_name(other, "Ledger", table_name="runs")


@pytest.mark.parametrize(
    "arn", ["arn:aws:ecs:us-east-1:111122223333:cluster/x", "arn:aws:ecs:eu-west-1:999988887777:cluster/x"]
)
def test_a_ledger_observes_clusters_of_its_own_account_and_region(arn: str) -> None:
    """The events of others never reach its recorder."""
    scope = cdk.Stack(cdk.App(), "S", env=ENVIRONMENT)
    cluster = ecs.Cluster.from_cluster_arn(scope, "Cluster", arn)
    with pytest.raises(ConstructConfigError, match=r"S/Ledger: clusters: .* one in the same"):
        RunLedger(scope, "Ledger", clusters=[cluster])


@pytest.mark.parametrize("observed", [True, False])
def test_a_job_in_a_cluster_that_its_ledger_does_not_observe_warns(*, observed: bool) -> None:
    """Its crash would be found only when the lease expires."""
    shop = new_shop()
    other = ecs.Cluster.from_cluster_arn(shop.stack, "O", "arn:aws:ecs:eu-west-1:111122223333:cluster/other")
    clusters = [other, shop.cluster] if observed else [other]
    shop.job(ledger=RunLedger(shop.stack, "Own", clusters=clusters))
    assert ("cronce:cluster-not-observed" in shop.warnings()) is not observed


@pytest.mark.parametrize(
    ("copies", "witness", "argument", "says"),
    [
        (["eu-west-1", "eu-west-2"], None, "replicas", "same region as the primary"),
        (["eu-west-2", "eu-west-2"], None, "replicas", "Duplicate"),
        (["us-east-1", "us-east-2"], None, "replicas", "region set"),
        (["eu-west-2"], "eu-west-1", "witness_region", "a Region without the table"),
        (["eu-west-2"], "eu-west-2", "witness_region", "a Region without the table"),
    ],
)
def test_regions_that_cannot_be_those_of_one_table_are_refused(
    copies: list[str], witness: str | None, argument: str, says: str
) -> None:
    """In our own error, with CDK's reason."""
    scope = cdk.Stack(cdk.App(), "S", env=ENVIRONMENT)
    replicas = [dynamodb.ReplicaTableProps(region=region) for region in copies]
    strong = dynamodb.MultiRegionConsistency.STRONG
    with pytest.raises(ConstructConfigError, match=rf"S/Ledger: {argument}: .*{says}"):
        RunLedger(scope, "Ledger", replicas=replicas, multi_region_consistency=strong, witness_region=witness)


def test_a_guard_is_attached_to_a_container_that_runs_under_it(shop: Shop) -> None:
    """Another entry point would run the work without the guard; another task definition has no such volume."""
    guard = Guard(shop.task_definition, image=IMAGE)
    entry_point = [guard.program, "exec", "--"]
    other = ecs.FargateTaskDefinition(shop.stack, "Other")
    foreign = other.add_container("work", image=IMAGE, entry_point=entry_point, command=["x"])
    plain = shop.task_definition.add_container("plain", image=IMAGE)
    for container in (foreign, plain, None, "work"):
        with pytest.raises(ConstructConfigError, match=": container: "):
            guard.attach(container)  # type: ignore[arg-type]  # that is the point
    guard.attach(shop.task_definition.add_container("own", image=IMAGE, entry_point=entry_point, command=["x"]))


@pytest.mark.parametrize("name", ["plain", "", None, 7])
def test_a_guarded_container_has_a_name_of_its_own(shop: Shop, name: Any) -> None:  # noqa: ANN401
    """Before CDK fails on it."""
    shop.task_definition.add_container("plain", image=IMAGE)
    guard = Guard(shop.task_definition, image=IMAGE)
    with pytest.raises(ConstructConfigError, match=": construct_id: "):
        guard.add_container(name, image=IMAGE, command=["x"])


def test_the_secrets_of_a_container_stay_in_its_task_definition(shop: Shop) -> None:
    """A schedule, and all that is started from it, has the names and values of plain variables only."""
    task = ecs.FargateTaskDefinition(shop.stack, "Sender")
    logs = ecs.LogDrivers.aws_logs(stream_prefix="x")
    secrets = {"SMTP_PASSWORD": _secret(shop)}
    task.add_container("work", image=IMAGE, secrets=secrets, environment={"PLAIN_OF_TASK": "1"}, logging=logs)
    shop.job(task_definition=task, environment={"PLAIN": "2"})
    given = {each["name"]: each["value"] for each in shop.override()["environment"]}
    assert {name for name in given if not name.startswith("CRONCE_")} == {"PLAIN"}
    assert "SMTP" not in str(shop.schedule())
    [made] = [each for each in shop.resources("AWS::ECS::TaskDefinition").values() if "SMTP" in str(each)]
    [container] = made["Properties"]["ContainerDefinitions"]
    assert [each["Name"] for each in container["Secrets"]] == ["SMTP_PASSWORD"]
