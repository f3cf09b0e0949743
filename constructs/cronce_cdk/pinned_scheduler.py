"""A clock of one's own, as an ECS service of which there is never more than one by design."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import jsii
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_logs as logs
from aws_cdk import cx_api
from constructs import Construct

from cronce import environment as names
from cronce.durations import format_duration
from cronce.policy import Policy
from cronce_cdk._checks import FinishedTree, duration, having, job_name, refusal, text_map, texts
from cronce_cdk._placement import checked_strategies, names_of
from cronce_cdk._policy import policy_of
from cronce_cdk.run_ledger import RunLedgerBase

RELEASE_WITHIN = timedelta(seconds=5)
"""How long giving up the lease takes at most, a slow store included."""

_LONGEST_STOP = timedelta(seconds=120)
"""Of a container on Fargate (ECS API Reference, ContainerDefinition, stopTimeout)."""

_SCALING_TARGET = "AWS::ApplicationAutoScaling::ScalableTarget"

_SERVICE_FACTS: Mapping[str, object] = {
    "DesiredCount": 1,
    "DeploymentConfiguration.MinimumHealthyPercent": 0,
    "DeploymentConfiguration.MaximumPercent": 100,
    "DeploymentConfiguration.DeploymentCircuitBreaker.Enable": True,
    "DeploymentConfiguration.Strategy": ("ROLLING", None),
    "DeploymentController.Type": ("ECS", None),
    "AvailabilityZoneRebalancing": "DISABLED",
    "SchedulingStrategy": ("REPLICA", None),
}
"""What the template must say in the end, by the property's path."""


class PinnedScheduler(Construct):
    """A clock as an ECS service: one task, and a deployment stops it before it starts the next.

    That is the best ECS can do and no guarantee: a task that is *stopping* overlaps the next one.
    So the clock also holds a lease in the ledger and works only while it does: `cronce clock`, or
    `cronce pin -- COMMAND` for any other clock.

    Whatever changes the count later, a scaling target, an aspect or an override of the L1, fails
    the synth with the construct's path.

    Attributes:
        job: The name that the lease has in the ledger.
        service: The ECS service.
        task_definition: Its task definition.
        container: The clock's container.
        log_group: Where it writes; kept for a month.

    Args:
        scope: The construct that owns the clock.
        construct_id: Its name there.
        ledger: Where the lease is.
        cluster: Where the clock runs.
        image: The clock's image.
        command: What runs in it; `cronce clock` if not given. Another clock goes behind `cronce pin --`.
        job: The lease's name in the ledger; `construct_id` if not given.
        environment: Variables for the clock.
        secrets: Secret variables for it.
        cpu: CPU units, 1024 to the core.
        memory_limit_mib: Memory in MiB.
        runtime_platform: Operating system and processor.
        capacity_provider_strategies: Instead of Fargate on demand; not Spot alone, which may be taken away
            with nothing in its place.
        vpc_subnets: Where its network interface is; the VPC's private ones if not given.
        security_groups: Of that interface; the service's own if not given.
        assign_public_ip: True for a public address, in public subnets if no others are given.
        enable_execute_command: True to allow `aws ecs execute-command` into the clock.
        stop_timeout: How long it may take to stop; more than giving up the lease takes.
        lease: How long the lease outlives a clock that died.

    Raises:
        ConstructConfigError: An argument can never work.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        ledger: RunLedgerBase,
        cluster: ecs.ICluster,
        image: ecs.ContainerImage,
        command: Sequence[str] | None = None,
        job: str | None = None,
        environment: Mapping[str, str] | None = None,
        secrets: Mapping[str, ecs.Secret] | None = None,
        cpu: int = 256,
        memory_limit_mib: int = 512,
        runtime_platform: ecs.RuntimePlatform | None = None,
        capacity_provider_strategies: Sequence[ecs.CapacityProviderStrategy] | None = None,
        vpc_subnets: ec2.SubnetSelection | None = None,
        security_groups: Sequence[ec2.ISecurityGroup] | None = None,
        assign_public_ip: bool = False,
        enable_execute_command: bool = False,
        stop_timeout: timedelta | cdk.Duration = timedelta(seconds=30),
        lease: timedelta | cdk.Duration | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        if not isinstance(ledger, RunLedgerBase):
            raise refusal(self, "ledger", ledger, "a RunLedger, or RunLedger.from_table_name(...)")
        having(self, "cluster", cluster, "cluster_arn", "an ECS cluster")
        if not isinstance(image, ecs.ContainerImage):
            raise refusal(self, "image", image, "an ecs.ContainerImage")
        self.job = job_name(self, construct_id if job is None else job)
        policy = policy_of(self, {"lease": lease})
        stop = _checked_stop(self, stop_timeout)
        if capacity_provider_strategies is not None:
            _checked_pinned_strategies(self, capacity_provider_strategies)
        own_variables = text_map(self, "environment", environment, reserved="CRONCE_")
        words = texts(self, "command", command) or ["cronce", "clock"]
        ledger.admit(self, self.node.path, self.job)
        seen = ledger.seen_from(self)
        self.log_group = logs.LogGroup(
            self, "Log", retention=logs.RetentionDays.ONE_MONTH, removal_policy=cdk.RemovalPolicy.DESTROY
        )
        self.task_definition = ecs.FargateTaskDefinition(
            self, "Task", cpu=cpu, memory_limit_mib=memory_limit_mib, runtime_platform=runtime_platform
        )
        self.container = self.task_definition.add_container(
            "clock",
            image=image,
            command=words,
            environment={**own_variables, **_variables(seen, self.job, policy)},
            secrets=secrets and {**secrets},
            linux_parameters=ecs.LinuxParameters(self, "Linux", init_process_enabled=True),
            logging=ecs.LogDrivers.aws_logs(stream_prefix="clock", log_group=self.log_group),
            stop_timeout=cdk.Duration.seconds(stop),
        )
        self.service = ecs.FargateService(
            self,
            "Service",
            cluster=cluster,
            task_definition=self.task_definition,
            desired_count=1,
            min_healthy_percent=0,
            max_healthy_percent=100,
            availability_zone_rebalancing=ecs.AvailabilityZoneRebalancing.DISABLED,
            circuit_breaker=ecs.DeploymentCircuitBreaker(enable=True, rollback=True),
            capacity_provider_strategies=capacity_provider_strategies and [*capacity_provider_strategies],
            vpc_subnets=vpc_subnets,
            security_groups=security_groups and [*security_groups],
            assign_public_ip=assign_public_ip,
            enable_execute_command=enable_execute_command or None,
        )
        self.connections = self.service.connections
        seen.grant_claim(self.task_definition.task_role, self.job)
        self.node.add_validation(FinishedTree(self._still_pinned))

    def _still_pinned(self) -> list[str]:
        """What undid the pinning, in the templates as they will be deployed.

        Only there an override of the L1 can be seen.
        """
        service, task = self.service.node.default_child, self.task_definition.node.default_child
        assert isinstance(service, ecs.CfnService)  # noqa: S101  # that is what an L2 is made of
        assert isinstance(task, ecs.CfnTaskDefinition)  # noqa: S101
        own = cdk.Stack.of(self)
        service_id, task_id = (own.resolve(each.logical_id) for each in (service, task))
        problems: list[str] = []
        service_name: object = None
        rendered = [*_templates(self)]
        for stack, resources in rendered:
            if stack.node.path == own.node.path:
                made, task_made = resources.get(service_id) or {}, resources.get(task_id) or {}
                service_name = _at(made, "Properties.ServiceName")
                problems += self._changed(service.node.path, made)
                problems += self._spot_only(service.node.path, made)
                problems += self._container_changed(task.node.path, task_made)
        for stack, resources in rendered:
            problems += [
                self._refused(_path_of(stack, target), "scaling", "a scaling target", "none: there is one clock")
                for target, resource in resources.items()
                if resource.get("Type") == _SCALING_TARGET and _scales(resource, service_id, service_name)
            ]
        return problems

    def _changed(self, path: str, resource: Mapping[str, Any]) -> Iterator[str]:
        for name, wanted in _SERVICE_FACTS.items():
            found = _at(resource, f"Properties.{name}")
            choices = wanted if isinstance(wanted, tuple) else (wanted,)
            if found not in choices:
                yield self._refused(path, name, found, repr(choices[0]))

    def _spot_only(self, path: str, resource: Mapping[str, Any]) -> Iterator[str]:
        strategy = _at(resource, "Properties.CapacityProviderStrategy") or []
        names_found = [item.get("CapacityProvider") for item in strategy if _counts(item)]
        if names_found and all(name == "FARGATE_SPOT" for name in names_found):
            yield self._refused(path, "CapacityProviderStrategy", names_found, "not Spot alone")

    def _container_changed(self, path: str, resource: Mapping[str, Any]) -> Iterator[str]:
        containers = _at(resource, "Properties.ContainerDefinitions") or []
        own: Mapping[str, Any] = next(
            (each for each in containers if each.get("Name") == self.container.container_name), {}
        )
        init = _at(own, "LinuxParameters.InitProcessEnabled")
        if init is not True:
            yield self._refused(path, "LinuxParameters.InitProcessEnabled", init, "True")
        stop = own.get("StopTimeout")
        if not isinstance(stop, int | float) or stop <= RELEASE_WITHIN.total_seconds():
            yield self._refused(path, "StopTimeout", stop, f"more than {format_duration(RELEASE_WITHIN)}")

    def _refused(self, path: str, argument: str, value: object, allowed: str) -> str:
        """One line of the failed synth: what, where, and whose clock it undoes."""
        return str(refusal(self, f"{argument} at {path}", value, allowed))


def _variables(ledger: RunLedgerBase, job: str, policy: Policy) -> dict[str, str]:
    return {names.LEDGER: ledger.table_url, names.JOB: job, names.POLICY: policy.to_json(), names.METRICS: "emf"}


def _checked_stop(scope: Construct, stop_timeout: object) -> int:
    stop = duration(scope, "stop_timeout", stop_timeout)
    if not RELEASE_WITHIN < stop <= _LONGEST_STOP or stop % timedelta(seconds=1):
        allowed = f"whole seconds, over {format_duration(RELEASE_WITHIN)} (to give up the lease), at most 2m"
        raise refusal(scope, "stop_timeout", format_duration(stop), allowed)
    return int(stop.total_seconds())


def _checked_pinned_strategies(scope: Construct, strategies: Sequence[ecs.CapacityProviderStrategy]) -> None:
    if not checked_strategies(scope, strategies):
        raise refusal(
            scope, "capacity_provider_strategies", names_of(strategies), "FARGATE, with or without FARGATE_SPOT"
        )
    counting = [each.capacity_provider for each in strategies if each.weight or each.base]
    if all(name == "FARGATE_SPOT" for name in counting):
        raise refusal(
            scope,
            "capacity_provider_strategies",
            names_of(strategies),
            "not Spot alone: its task may be taken away with nothing in its place",
        )


def _counts(item: Mapping[str, Any]) -> bool:
    return bool(item.get("Weight") or item.get("Base"))


def _at(resource: Mapping[str, Any], path: str) -> Any:  # noqa: ANN401  # JSON
    """The value at `a.b.c`, None if there is none."""
    value: Any = resource
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _path_of(stack: cdk.Stack, logical_id: str) -> str:
    """The construct that made the resource; an included template's has none."""
    made = (each for each in stack.node.find_all() if isinstance(each, cdk.CfnElement))
    return next((each.node.path for each in made if stack.resolve(each.logical_id) == logical_id), logical_id)


def _scales(target: Mapping[str, Any], service_id: str, service_name: object) -> bool:
    """Whether its ResourceId, `service/CLUSTER/SERVICE`, is the service's: by reference, import or name."""
    resource_id = _at(target, "Properties.ResourceId")
    if isinstance(resource_id, str):
        return isinstance(service_name, str) and resource_id.endswith(f"/{service_name}")
    return service_id in json.dumps(resource_id)


@jsii.implements(cdk.ISynthesisSession)
class _Session:
    """Where a stack is asked to write its template."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._assembly = cx_api.CloudAssemblyBuilder(folder)

    @property
    def assembly(self) -> cx_api.CloudAssemblyBuilder:
        """The builder."""
        return self._assembly

    @property
    def outdir(self) -> str:
        """The folder."""
        return self._folder

    @property
    def validate_on_synth(self) -> bool:
        """No: a validation asks."""
        return False


def _templates(scope: Construct) -> Iterator[tuple[cdk.Stack, Mapping[str, Any]]]:
    """Each stack of the app with its template's resources, rendered aside, from the finished tree.

    `Stage.synth` would do it, but it would visit every aspect a second time.
    """
    stage = cdk.Stage.of(scope)
    assert stage is not None  # noqa: S101  # every construct of a stack has one
    stacks = [each for each in stage.node.find_all() if isinstance(each, cdk.Stack)]
    with tempfile.TemporaryDirectory(prefix="cronce-") as folder:
        session = _Session(folder)
        for stack in stacks:
            stack.synthesizer.synthesize(session)  # type: ignore[arg-type]  # jsii reads the properties, and only that
            yield stack, json.loads((Path(folder) / stack.template_file).read_text()).get("Resources", {})
