"""Where a task runs: its launch type or capacity providers, and its network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from cronce_cdk._checks import Tree, is_token, refusal
from cronce_cdk._jsii_cache import stack_of

FARGATE_PROVIDERS = ("FARGATE", "FARGATE_SPOT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """The launch type or capacity providers of RunTask.

    Attributes:
        launch_type: None with a capacity-provider strategy: the API accepts one of them.
    """

    launch_type: ecs.LaunchType | None
    strategies: Sequence[ecs.CapacityProviderStrategy]
    on_fargate: bool


def placement_of(
    scope: Tree,
    task_definition: ecs.ITaskDefinition,
    launch_type: ecs.LaunchType | None,
    strategies: Sequence[ecs.CapacityProviderStrategy] | None,
) -> Placement:
    """Return where the task runs.

    Raises:
        ConstructConfigError: The strategy or launch type cannot work, alone or with this task definition.
    """
    fitting = {
        ecs.LaunchType.FARGATE: task_definition.is_fargate_compatible,
        ecs.LaunchType.EC2: task_definition.is_ec2_compatible,
        ecs.LaunchType.EXTERNAL: task_definition.is_external_compatible,
    }
    if strategies is not None:
        if launch_type is not None:
            raise refusal(
                scope, "launch_type", launch_type, "no launch type together with capacity_provider_strategies"
            )
        on_fargate = checked_strategies(scope, strategies)
        if on_fargate and not fitting[ecs.LaunchType.FARGATE]:
            raise refusal(
                scope,
                "capacity_provider_strategies",
                names_of(strategies),
                "Fargate's providers only with a task definition for Fargate",
            )
        return Placement(launch_type=None, strategies=strategies, on_fargate=on_fargate)
    possible = [each for each, fits in fitting.items() if fits]
    if launch_type is None:
        if not possible:
            raise refusal(
                scope,
                "capacity_provider_strategies",
                None,
                "a strategy, because the task definition has no launch type",
            )
        launch_type = possible[0]
    elif launch_type not in possible:
        allowed = ", ".join(each.name for each in possible) or "none"
        raise refusal(
            scope, "launch_type", launch_type, f"a launch type that the task definition is compatible with: {allowed}"
        )
    return Placement(launch_type=launch_type, strategies=(), on_fargate=launch_type is ecs.LaunchType.FARGATE)


def checked_strategies(scope: Tree, strategies: Sequence[ecs.CapacityProviderStrategy]) -> bool:
    """Check a strategy and return whether its providers are Fargate's (ECS API, CapacityProviderStrategyItem).

    Raises:
        ConstructConfigError: RunTask would refuse them.
    """
    argument, names = "capacity_provider_strategies", names_of(strategies)
    if not 1 <= len(names) <= 6:
        raise refusal(scope, argument, names, "1 to 6 providers")
    if len({*names}) < len(names):
        raise refusal(scope, argument, names, "each provider once")
    known = [name for name in names if not is_token(name)]
    on_fargate = [name in FARGATE_PROVIDERS for name in known]
    if any(on_fargate) and not all(on_fargate):
        raise refusal(scope, argument, names, "Fargate's providers or others, not both")
    weights = [strategy.weight for strategy in strategies]
    if all(weight in (None, 0) for weight in weights):
        raise refusal(scope, argument, names, "a weight over 0 on at least one; by default it is 0, and no task starts")
    if sum(1 for strategy in strategies if strategy.base) > 1:
        raise refusal(scope, argument, names, "a base on at most one")
    return any(on_fargate)


def names_of(strategies: Sequence[ecs.CapacityProviderStrategy]) -> list[str]:
    """Return the names of the providers."""
    return [strategy.capacity_provider for strategy in strategies]


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """The task's network interface.

    Attributes:
        security_groups: The interface's security groups.
        rendered: The configuration of a schedule's target.
        unreachable: True if its subnets are public and it has no public address.
    """

    security_groups: Sequence[ec2.ISecurityGroup]
    rendered: scheduler.CfnSchedule.NetworkConfigurationProperty
    unreachable: bool


def network_of(
    scope: Construct,
    cluster: ecs.ICluster,
    task_definition: ecs.ITaskDefinition,
    placement: Placement,
    *,
    vpc_subnets: ec2.SubnetSelection | None,
    security_groups: Sequence[ec2.ISecurityGroup] | None,
    assign_public_ip: bool,
) -> Network | None:
    """Return the network of a task with its own interface, or None for a task that uses its host's.

    Raises:
        ConstructConfigError: An argument is about an interface that the task does not have.
    """
    if not _has_own_interface(scope, task_definition, placement):
        given = {"vpc_subnets": vpc_subnets, "security_groups": security_groups, "assign_public_ip": assign_public_ip}
        for argument, value in given.items():
            if value:
                raise refusal(
                    scope, argument, value, "no value: only tasks in the network mode awsvpc have their own interface"
                )
        return None
    if assign_public_ip and not placement.on_fargate:
        raise refusal(scope, "assign_public_ip", True, "False: only a task on Fargate can have one")
    try:
        vpc = cluster.vpc
        default = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PUBLIC) if assign_public_ip else None
        subnets = _selected(vpc, vpc_subnets or default)
    except RuntimeError as error:
        argument = "vpc_subnets" if vpc_subnets else "cluster"
        raise refusal(
            scope, argument, vpc_subnets or str(cluster.node.path), f"a cluster with its VPC, or subnets of it: {error}"
        ) from error
    groups = [*security_groups] if security_groups else [_shared_group(scope, vpc)]
    return Network(
        security_groups=groups,
        rendered=scheduler.CfnSchedule.NetworkConfigurationProperty(
            awsvpc_configuration=scheduler.CfnSchedule.AwsVpcConfigurationProperty(
                subnets=subnets.subnet_ids,
                security_groups=[group.security_group_id for group in groups],
                assign_public_ip="ENABLED" if assign_public_ip else "DISABLED",
            )
        ),
        unreachable=placement.on_fargate and subnets.has_public and not assign_public_ip,
    )


def _has_own_interface(scope: Tree, task_definition: ecs.ITaskDefinition, placement: Placement) -> bool:
    if placement.on_fargate:
        return True
    if placement.launch_type is ecs.LaunchType.EXTERNAL:
        return False
    try:
        return task_definition.network_mode is ecs.NetworkMode.AWS_VPC
    except RuntimeError as error:
        raise refusal(
            scope,
            "task_definition",
            task_definition.node.path,
            "a task definition that was imported with its network_mode",
        ) from error


def _shared_group(scope: Construct, vpc: ec2.IVpc) -> ec2.ISecurityGroup:
    """Return the stack's security group for this VPC. It allows no incoming traffic, so jobs can share it."""
    stack = stack_of(scope)
    construct_id = f"CronceTasks{vpc.node.addr[-8:]}"
    existing = stack.node.try_find_child(construct_id)
    if isinstance(existing, ec2.SecurityGroup):
        return existing
    return ec2.SecurityGroup(
        stack, construct_id, vpc=vpc, description="Scheduled tasks: all outgoing, no incoming traffic"
    )


def _selected(vpc: ec2.IVpc, selection: ec2.SubnetSelection | None) -> ec2.SelectedSubnets:
    if selection is None:
        return vpc.select_subnets()
    return vpc.select_subnets(
        availability_zones=selection.availability_zones,
        one_per_az=selection.one_per_az,
        subnet_filters=selection.subnet_filters,
        subnet_group_name=selection.subnet_group_name,
        subnets=selection.subnets,
        subnet_type=selection.subnet_type,
    )
