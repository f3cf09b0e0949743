"""The capacity providers that a cluster of this app has at the end of synth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aws_cdk import aws_ecs as ecs
from constructs import Construct

from cronce_cdk._checks import is_token, refusal
from cronce_cdk._jsii_cache import cached, stack_of
from cronce_cdk._placement import names_of


def missing_providers(
    scope: Construct, cluster: ecs.ICluster, strategies: Sequence[ecs.CapacityProviderStrategy]
) -> Iterator[str]:
    """Yield an error for providers that the cluster does not have. Nothing is known of an imported cluster's."""
    if not strategies or not isinstance(cluster, ecs.Cluster):
        return
    known = cached(stack_of(cluster), (cluster, "providers"), lambda: _providers_of(cluster))
    missing = [name for name in names_of(strategies) if not is_token(name) and name not in known]
    if missing:
        allowed = f"providers of {cluster.node.path}: {', '.join(known) or 'it has none'}"
        if any(name.startswith("FARGATE") for name in missing):
            allowed += " (call its enable_fargate_capacity_providers())"
        yield str(refusal(scope, "capacity_provider_strategies", ", ".join(missing), allowed))


def _providers_of(cluster: ecs.Cluster) -> list[str]:
    stack = stack_of(cluster)
    own = cluster.node.default_child
    assert isinstance(own, ecs.CfnCluster)  # noqa: S101  # a Cluster creates one
    names = (stack.resolve(own.ref), stack.resolve(cluster.cluster_name))
    found = _texts(stack.resolve(own.capacity_providers))
    for each in stack.node.find_all():
        if isinstance(each, ecs.CfnClusterCapacityProviderAssociations) and stack.resolve(each.cluster) in names:
            found += _texts(stack.resolve(each.capacity_providers))
    return found


def _texts(values: object) -> list[str]:
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []
