"""The clock's service, and every way out of being the only one."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import aws_cdk as cdk
import constructs
import jsii
import pytest
from aws_cdk import assertions
from aws_cdk import aws_applicationautoscaling as autoscaling
from aws_cdk import aws_ecs as ecs

from cronce.vocabulary import environment
from cronce_cdk import ConstructConfigError, PinnedScheduler, RunLedger
from cronce_lambdas.settings import PinnedService, Settings
from tests.cdk.shop import ENVIRONMENT, PRIVATE_SUBNET, Shop, imported_cluster, new_shop

IMAGE = ecs.ContainerImage.from_registry("clock:1")


def _clock(shop: Shop, construct_id: str = "Clock", **changed: Any) -> PinnedScheduler:  # noqa: ANN401  # any argument
    """A clock of somebody else's, with some arguments changed; what `cronce clock` does is in test_clock_jobs.py."""
    arguments: dict[str, Any] = {"ledger": shop.ledger, "cluster": shop.cluster, "image": IMAGE}
    if not {"jobs", "config_file"} & changed.keys():
        arguments["command"] = ["celery", "beat"]
    return PinnedScheduler(shop.stack, construct_id, **(arguments | changed))


def _service(shop: Shop) -> dict[str, Any]:
    [service] = shop.resources("AWS::ECS::Service").values()
    properties: dict[str, Any] = service["Properties"]
    return properties


def _container(shop: Shop) -> dict[str, Any]:
    tasks = shop.resources("AWS::ECS::TaskDefinition")
    [task] = [each for name, each in tasks.items() if name.startswith("Clock")]
    [container] = task["Properties"]["ContainerDefinitions"]
    found: dict[str, Any] = container
    return found


def _l1(clock: PinnedScheduler) -> ecs.CfnService:
    service = clock.service.node.default_child
    assert isinstance(service, ecs.CfnService)
    return service


def test_there_is_one_clock_and_a_deployment_stops_it_first(shop: Shop) -> None:
    """One, 0 %, 100 %, no rebalancing, circuit breaker: 0/100 is all that works (case C6)."""
    clock = _clock(shop)
    service = _service(shop)
    [task] = [name for name in shop.resources("AWS::ECS::TaskDefinition") if name.startswith("Clock")]
    assert service["DesiredCount"] == 1
    assert service["AvailabilityZoneRebalancing"] == "DISABLED"
    assert service["DeploymentConfiguration"] | {"Alarms": None} == {
        "MinimumHealthyPercent": 0,
        "MaximumPercent": 100,
        "DeploymentCircuitBreaker": {"Enable": True, "Rollback": True},
        "Alarms": None,
    }
    assert (service["LaunchType"], service["TaskDefinition"]) == ("FARGATE", {"Ref": task})
    assert service["NetworkConfiguration"]["AwsvpcConfiguration"]["Subnets"] == [PRIVATE_SUBNET]
    assert clock.connections.security_groups


def test_its_container_reaps_children_and_has_time_to_give_up_the_lease(shop: Shop) -> None:
    """An init process, 30 s to stop, a log, and the ledger in its environment."""
    _clock(shop, environment={"MODE": "live"}, lease=timedelta(seconds=30))
    container = _container(shop)
    environ = {each["Name"]: each["Value"] for each in container["Environment"]}
    assert container["LinuxParameters"]["InitProcessEnabled"] is True
    assert container["StopTimeout"] == 30
    assert container["Command"] == ["cronce", "pin", "--", "celery", "beat"]
    assert container["LogConfiguration"]["LogDriver"] == "awslogs"
    assert environ | {"CRONCE_LEDGER": None} == {
        "CRONCE_JOB": "Clock",
        "CRONCE_LEDGER": None,
        "CRONCE_METRICS": "emf",
        "CRONCE_POLICY": '{"lease": "30s"}',
        "MODE": "live",
    }


def test_its_role_may_hold_its_own_lease_alone(shop: Shop) -> None:
    """By the ledger's grant, under the clock's name."""
    _clock(shop, job="the-clock")
    [policy] = [p for n, p in shop.resources("AWS::IAM::Policy").items() if n.startswith("ClockTaskTaskRole")]
    [statement] = policy["Properties"]["PolicyDocument"]["Statement"]
    assert statement["Condition"] == {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["the-clock"]}}


def test_any_other_clock_runs_pinned(shop: Shop) -> None:
    """Clockwork, celery beat: its own command is given, `cronce pin --` comes before it."""
    _clock(shop, command=["clockwork", "clock.rb"], stop_timeout=cdk.Duration.seconds(90))
    assert _container(shop)["Command"] == ["cronce", "pin", "--", "clockwork", "clock.rb"]
    assert _container(shop)["StopTimeout"] == 90
    assert environment.SCHEDULE_GROUP not in {each["Name"] for each in _container(shop)["Environment"]}


@pytest.mark.parametrize("given", [{"command": ["celery", "beat"]}, {"config_file": "clock.toml"}])
def test_ecs_asks_the_clock_whether_it_is_well(shop: Shop, given: dict[str, Any]) -> None:
    """Three bad answers in half a minute replace it; a minute at the start does not count."""
    _clock(shop, **given)
    assert _container(shop)["HealthCheck"] == {
        "Command": ["CMD", "cronce", "health"],
        "Interval": 10,
        "Timeout": 5,
        "Retries": 3,
        "StartPeriod": 60,
    }


def test_the_ledgers_functions_look_after_it(shop: Shop) -> None:
    """They are told its cluster, service and lease; the watchdog may look at it, the recorder hears of its tasks."""
    _clock(shop, "First")
    _clock(shop, "Second", job="the-second")
    first, second = sorted(shop.resources("AWS::ECS::Service"))
    functions = shop.resources("AWS::Lambda::Function")
    told = [each["Properties"]["Environment"]["Variables"][environment.PINNED_SERVICES] for each in functions.values()]
    assert told[0] == told[1]
    values = [part if isinstance(part, str) else "{REF}" for part in told[0]["Fn::Join"][1]]
    cluster = "arn:{REF}:ecs:eu-west-1:111122223333:cluster/main"
    environ = {environment.LEDGER: "dynamodb://runs?region=eu-west-1", environment.PINNED_SERVICES: "".join(values)}
    assert Settings.from_environ(environ).pinned == (
        PinnedService(cluster=cluster, service="{REF}", job="First"),
        PinnedService(cluster=cluster, service="{REF}", job="the-second"),
    )
    looks = [each for each in shop.role_statements("LedgerWatchdogRole") if each["Action"] == "ecs:DescribeServices"]
    assert [each["Resource"] for each in looks] == [{"Ref": first}, {"Ref": second}]
    assert [each for each in shop.role_statements("LedgerRecorderRole") if "ecs" in str(each["Action"])] == []
    [recorder] = [name for name in functions if name.startswith("LedgerRecorder")]
    rules = {name: each["Properties"] for name, each in shop.resources("AWS::Events::Rule").items()}
    for prefix, service in (("First", first), ("Second", second)):
        [rule] = [each for name, each in rules.items() if name.startswith(prefix)]
        assert [target["Arn"] for target in rule["Targets"]] == [{"Fn::GetAtt": [recorder, "Arn"]}]
        assert rule["EventPattern"] == {
            "account": ["111122223333"],
            "source": ["aws.ecs"],
            "detail-type": ["ECS Task State Change"],
            "detail": {
                "lastStatus": ["STOPPED"],
                "clusterArn": [
                    {"Fn::Join": ["", ["arn:", {"Ref": "AWS::Partition"}, ":ecs:eu-west-1:111122223333:cluster/main"]]}
                ],
                "group": [{"Fn::Join": ["", ["service:", {"Fn::GetAtt": [service, "Name"]}]]}],
            },
        }
    assert shop.warnings() == set()


def test_a_clock_in_another_stack_than_its_ledger_says_that_nobody_looks_after_it() -> None:
    """And makes no export."""
    app = cdk.App()
    shop, clocks = new_shop(app, "Ledgers"), cdk.Stack(app, "Clocks", env=ENVIRONMENT)
    ledger = RunLedger(shop.stack, "Named", table_name="runs")
    PinnedScheduler(
        clocks, "Clock", ledger=ledger, cluster=imported_cluster(clocks), image=IMAGE, command=["celery", "beat"]
    )
    found = assertions.Annotations.from_stack(clocks).find_warning("*", assertions.Match.any_value())
    assert ["[ack: cronce:pinned-service-not-watched]" in str(each.entry.data) for each in found] == [True]
    assert environment.PINNED_SERVICES not in json.dumps(assertions.Template.from_stack(shop.stack).to_json())
    assert "Outputs" not in assertions.Template.from_stack(shop.stack).to_json()
    assert "Fn::ImportValue" not in json.dumps(assertions.Template.from_stack(clocks).to_json())


def test_a_second_clock_of_that_name_is_refused() -> None:
    """They would take turns with one lease."""
    shop = new_shop()
    _clock(shop, job="the-clock")
    with pytest.raises(ConstructConfigError) as caught:
        _clock(shop, "Other", job="the-clock")
    assert (caught.value.path, caught.value.argument, caught.value.value) == ("Stack/Other", "job", "the-clock")
    assert "Stack/Clock uses this one" in caught.value.allowed


@pytest.mark.parametrize(
    ("stage", "environment", "refused"),
    [
        (None, ENVIRONMENT, True),
        (None, cdk.Environment(account="111122223333", region="eu-central-1"), False),
        (None, cdk.Environment(account="444455556666", region="eu-west-1"), False),
        ("Prod", ENVIRONMENT, False),
    ],
)
def test_nor_in_another_stack_that_knows_the_ledger_by_its_name(
    stage: str | None, environment: cdk.Environment, *, refused: bool
) -> None:
    """In one stage, account and Region one name is one ledger."""
    app = cdk.App()
    first = cdk.Stack(app, "First", env=ENVIRONMENT)
    second = cdk.Stack(cdk.Stage(app, stage) if stage else app, "Second", env=environment)

    def add(stack: cdk.Stack) -> None:
        ledger = RunLedger.from_table_name(stack, "Ledger", table_name="runs")
        cluster = imported_cluster(stack)
        PinnedScheduler(stack, "Clock", ledger=ledger, cluster=cluster, image=IMAGE, command=["celery", "beat"])

    add(first)
    if refused:
        with pytest.raises(ConstructConfigError, match="First/Clock uses this one"):
            add(second)
    else:
        add(second)


def test_a_job_and_a_clock_share_no_name(shop: Shop) -> None:
    """A scheduled task's runs would stand in the clock's rows."""
    _clock(shop, job="the-clock")
    with pytest.raises(ConstructConfigError, match="Stack/Clock uses this one"):
        shop.job(job="the-clock")


def test_silence_without_a_leader_can_ring(shop: Shop) -> None:
    """Missing data counts, because a dead clock writes none."""
    alarm = _clock(shop).alarm_no_leader()
    [found] = shop.resources("AWS::CloudWatch::Alarm").values()
    assert found["Properties"] == {
        "AlarmDescription": "No clock holds the lease for 5m",
        "Namespace": "cronce",
        "MetricName": "Leading",
        "Dimensions": [
            {"Name": "Job", "Value": "Clock"},
            {"Name": "Ledger", "Value": shop.stack.resolve(shop.ledger.table.table_name)},
        ],
        "Statistic": "Sum",
        "Period": 60,
        "EvaluationPeriods": 5,
        "Threshold": 1,
        "ComparisonOperator": "LessThanThreshold",
        "TreatMissingData": "breaching",
    }
    assert alarm.node.path == "Stack/Clock/NoLeader"


def test_spot_is_fine_beside_on_demand(shop: Shop) -> None:
    """And then there is no launch type."""
    strategies = [
        ecs.CapacityProviderStrategy(capacity_provider="FARGATE_SPOT", weight=3),
        ecs.CapacityProviderStrategy(capacity_provider="FARGATE", weight=1),
    ]
    _clock(shop, capacity_provider_strategies=strategies)
    assert "LaunchType" not in _service(shop)
    assert [each["CapacityProvider"] for each in _service(shop)["CapacityProviderStrategy"]] == [
        "FARGATE_SPOT",
        "FARGATE",
    ]


def _scale(clock: PinnedScheduler) -> None:
    clock.service.auto_scale_task_count(max_capacity=3)


def _scale_by_l1(clock: PinnedScheduler) -> None:
    autoscaling.CfnScalableTarget(
        cdk.Stack.of(clock),
        "Target",
        max_capacity=2,
        min_capacity=1,
        resource_id=cdk.Fn.join("/", ["service", "main", clock.service.service_name]),
        scalable_dimension="ecs:service:DesiredCount",
        service_namespace="ecs",
    )


def _scale_as_raw_resource(clock: PinnedScheduler) -> None:
    cdk.CfnResource(
        cdk.Stack.of(clock),
        "Raw",
        type="AWS::ApplicationAutoScaling::ScalableTarget",
        properties={"ResourceId": cdk.Fn.sub("service/main/${S}", {"S": clock.service.service_name})},
    )


def _scale_by_literal_name(clock: PinnedScheduler) -> None:
    _l1(clock).service_name = "the-clock"
    cdk.CfnResource(
        cdk.Stack.of(clock),
        "Raw",
        type="AWS::ApplicationAutoScaling::ScalableTarget",
        properties={"ResourceId": "service/main/the-clock"},
    )


def _scale_from_another_stack(clock: PinnedScheduler) -> None:
    root = cdk.Stage.of(clock)
    assert root is not None
    cdk.CfnResource(
        cdk.Stack(root, "Elsewhere", env=cdk.Environment(account="111122223333", region="eu-west-1")),
        "Raw",
        type="AWS::ApplicationAutoScaling::ScalableTarget",
        properties={"ResourceId": cdk.Fn.join("/", ["service", "main", clock.service.service_name])},
    )


@jsii.implements(cdk.IAspect)
class _TwoOfEverything:
    def visit(self, node: constructs.IConstruct) -> None:
        """Set every service's count to 2."""
        if isinstance(node, ecs.CfnService):
            node.desired_count = 2


def _aspect(clock: PinnedScheduler) -> None:
    cdk.Aspects.of(cdk.Stack.of(clock)).add(_TwoOfEverything())


def _override(path: str, value: object) -> Callable[[PinnedScheduler], None]:
    return lambda clock: _l1(clock).add_property_override(path, value)


def _override_task(path: str, value: object) -> Callable[[PinnedScheduler], None]:
    def change(clock: PinnedScheduler) -> None:
        task = clock.task_definition.node.default_child
        assert isinstance(task, ecs.CfnTaskDefinition)
        task.add_property_override(path, value)

    return change


SERVICE, TASK = "Stack/Clock/Service/Service", "Stack/Clock/Task/Resource"


@pytest.mark.parametrize(
    ("escape", "message"),
    [
        (_scale, "scaling at Stack/Clock/Service/TaskCount/Target/Resource: 'a scaling target'"),
        (_scale_by_l1, "scaling at Stack/Target: 'a scaling target'"),
        (_scale_as_raw_resource, "scaling at Stack/Raw: 'a scaling target'"),
        (_scale_by_literal_name, "scaling at Stack/Raw: 'a scaling target'"),
        (_scale_from_another_stack, "scaling at Elsewhere/Raw: 'a scaling target'"),
        (_aspect, f"DesiredCount at {SERVICE}: 2 is not usable; allowed: 1"),
        (lambda clock: setattr(_l1(clock), "desired_count", 0), f"DesiredCount at {SERVICE}: 0"),
        (_override("DesiredCount", 2), f"DesiredCount at {SERVICE}: 2"),
        (
            lambda clock: _l1(clock).add_property_deletion_override("DesiredCount"),
            f"DesiredCount at {SERVICE}: None",
        ),
        (_override("AvailabilityZoneRebalancing", "ENABLED"), f"AvailabilityZoneRebalancing at {SERVICE}: 'ENABLED'"),
        (
            _override("DeploymentConfiguration.MaximumPercent", 200),
            f"DeploymentConfiguration.MaximumPercent at {SERVICE}: 200",
        ),
        (
            _override("DeploymentConfiguration.MinimumHealthyPercent", 50),
            f"DeploymentConfiguration.MinimumHealthyPercent at {SERVICE}: 50",
        ),
        (
            _override("DeploymentConfiguration.Strategy", "BLUE_GREEN"),
            f"DeploymentConfiguration.Strategy at {SERVICE}: 'BLUE_GREEN'",
        ),
        (
            _override("DeploymentConfiguration.DeploymentCircuitBreaker.Enable", value=False),
            f"DeploymentCircuitBreaker.Enable at {SERVICE}: False",
        ),
        (_override("SchedulingStrategy", "DAEMON"), f"SchedulingStrategy at {SERVICE}: 'DAEMON'"),
        (
            _override("CapacityProviderStrategy", [{"CapacityProvider": "FARGATE_SPOT", "Weight": 1}]),
            f"CapacityProviderStrategy at {SERVICE}: ['FARGATE_SPOT']",
        ),
        (
            _override_task("ContainerDefinitions.0.LinuxParameters.InitProcessEnabled", value=False),
            f"LinuxParameters.InitProcessEnabled at {TASK}: False",
        ),
        (_override_task("ContainerDefinitions.0.StopTimeout", 5), f"StopTimeout at {TASK}: 5"),
    ],
)
def test_every_way_to_another_count_fails_the_synth(escape: Callable[[PinnedScheduler], None], message: str) -> None:
    """With the clock's path and that of what undid it, however it was done."""
    app = cdk.App()
    escape(_clock(new_shop(app)))
    with pytest.raises(RuntimeError) as caught:
        app.synth()
    assert "[Stack/Clock] Stack/Clock: " in str(caught.value)
    assert message in str(caught.value)


def test_what_scales_another_service_is_none_of_its_business() -> None:
    """By another reference or another name."""
    app = cdk.App()
    shop = new_shop(app)
    _clock(shop)
    other = ecs.FargateService(shop.stack, "Web", cluster=shop.cluster, task_definition=shop.task_definition)
    other.auto_scale_task_count(max_capacity=3)
    cdk.CfnResource(
        shop.stack,
        "Raw",
        type="AWS::ApplicationAutoScaling::ScalableTarget",
        properties={"ResourceId": "service/main/the-clock"},
    )
    app.synth()


def test_looking_at_the_templates_leaves_the_assembly_as_it_was() -> None:
    """The validation renders aside: artifacts, assets and templates are those of a stack that was not looked at."""
    app = cdk.App()
    shop = new_shop(app)
    _clock(shop)
    assembly = app.synth()
    assert [stack.stack_name for stack in assembly.stacks] == ["Stack"]
    assert assembly.get_stack_by_name("Stack").template == assertions.Template.from_stack(shop.stack).to_json()


def test_a_clock_in_a_nested_stack_is_looked_at_too() -> None:
    """Whose template is a file of its own."""
    app = cdk.App()
    shop = new_shop(app)
    nested = cdk.NestedStack(shop.stack, "Inner")
    clock = PinnedScheduler(
        nested,
        "Clock",
        ledger=RunLedger.from_table_name(nested, "Ledger", table_name="runs"),
        cluster=shop.cluster,
        image=IMAGE,
        command=["celery", "beat"],
    )
    _l1(clock).add_property_override("DesiredCount", 4)
    with pytest.raises(RuntimeError, match="DesiredCount at Stack/Inner/Clock/Service/Service: 4"):
        app.synth()
