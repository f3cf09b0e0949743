"""Where a task runs: its launch type or capacity providers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import aws_ecs as ecs

from cronce_cdk._checks import Tree, is_text, is_token, refusal
from cronce_cdk._limits import BASE, PROVIDERS, WEIGHT

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
        if (
            not on_fargate
            and all(is_text(name) for name in names_of(strategies))
            and not _on_instances(task_definition)
        ):
            allowed = "FARGATE or FARGATE_SPOT: the task definition is for Fargate only"
            raise refusal(scope, "capacity_provider_strategies", names_of(strategies), allowed)
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
    if not 1 <= len(names) <= PROVIDERS:
        raise refusal(scope, argument, names, f"1 to {PROVIDERS} providers")
    for strategy in strategies:
        for what, value, most in (("weight", strategy.weight, WEIGHT), ("base", strategy.base, BASE)):
            if value is not None and not is_token(value) and not 0 <= value <= most:
                given = f"{what} {value} of {strategy.capacity_provider}"
                raise refusal(scope, argument, given, f"a {what} from 0 to {most}")
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


def _on_instances(task_definition: ecs.ITaskDefinition) -> bool:
    """Return whether the task can run on instances of a capacity provider."""
    managed = bool(getattr(task_definition, "is_managed_instances_compatible", False))
    return managed or task_definition.is_ec2_compatible
