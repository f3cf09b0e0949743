"""The clock's service, and every way out of being the only one."""

from __future__ import annotations

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

from cronce_cdk import PinnedScheduler, RunLedger
from tests.cdk.shop import PRIVATE_SUBNET, Shop, new_shop

IMAGE = ecs.ContainerImage.from_registry("clock:1")


def _clock(shop: Shop, **changed: Any) -> PinnedScheduler:  # noqa: ANN401  # any argument
    arguments: dict[str, Any] = {"ledger": shop.ledger, "cluster": shop.cluster, "image": IMAGE, **changed}
    return PinnedScheduler(shop.stack, "Clock", **arguments)


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
    assert container["Command"] == ["cronce", "clock"]
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


def test_any_clock_of_ones_own_runs_pinned(shop: Shop) -> None:
    """Clockwork, celery beat: whatever goes behind `cronce pin --`."""
    _clock(shop, command=["cronce", "pin", "--", "clockwork", "clock.rb"], stop_timeout=cdk.Duration.seconds(90))
    assert _container(shop)["Command"] == ["cronce", "pin", "--", "clockwork", "clock.rb"]
    assert _container(shop)["StopTimeout"] == 90


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
    )
    _l1(clock).add_property_override("DesiredCount", 4)
    with pytest.raises(RuntimeError, match="DesiredCount at Stack/Inner/Clock/Service/Service: 4"):
        app.synth()
