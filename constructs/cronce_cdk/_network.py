"""The network interface of a task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from cronce_cdk._checks import Tree, is_token, refusal
from cronce_cdk._jsii_cache import stack_of
from cronce_cdk._limits import SECURITY_GROUPS, SUBNETS
from cronce_cdk._placement import Placement


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """The task's network interface.

    Attributes:
        security_groups: The interface's security groups.
        rendered: The configuration of a schedule's target.
        place: What is known of its subnets.
        public_ip: True if it has a public address.
    """

    security_groups: Sequence[ec2.ISecurityGroup]
    rendered: scheduler.CfnSchedule.NetworkConfigurationProperty
    place: Place
    public_ip: bool

    def doubts(self) -> Iterator[tuple[str, str]]:
        """Yield a warning if its subnets have no way to the image and the ledger."""
        yield from self.place.doubts(public_ip=self.public_ip)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Whether a task in these subnets has a route out.

    Attributes:
        public: True if one of them is public.
        isolated: True if they have no route to the internet, and this app creates no interface endpoint for the VPC.
    """

    public: bool
    isolated: bool

    def doubts(self, *, public_ip: bool) -> Iterator[tuple[str, str]]:
        """Yield a warning if a task has no way to the image and the ledger."""
        if self.public and not public_ip:
            yield (
                "public-subnet-without-public-ip",
                (
                    "The task's subnets are public, but it has no public address. Without VPC endpoints it cannot pull"
                    " its image or reach the ledger. Set assign_public_ip=True, or choose other subnets."
                ),
            )
        if self.isolated:
            yield (
                "isolated-subnets",
                (
                    "The task's subnets have no route to the internet. Without VPC endpoints for ECR, S3, CloudWatch"
                    " Logs and DynamoDB it cannot pull its image or reach the ledger."
                ),
            )


NOWHERE = Place(public=False, isolated=False)


def network_of(
    scope: Construct,
    cluster: ecs.ICluster,
    task_definition: ecs.ITaskDefinition,
    placement: Placement,
    *,
    vpc_subnets: ec2.SubnetSelection | None,
    security_groups: Sequence[ec2.ISecurityGroup],
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
    checked_groups(scope, security_groups)
    subnet_ids, place = subnets_of(scope, cluster, vpc_subnets, assign_public_ip=assign_public_ip)
    if not security_groups:
        vpc = vpc_of(scope, cluster, "security_groups", "security groups, or a cluster that was imported with its VPC")
        security_groups = [_shared_group(scope, vpc)]
    return Network(
        security_groups=security_groups,
        rendered=scheduler.CfnSchedule.NetworkConfigurationProperty(
            awsvpc_configuration=scheduler.CfnSchedule.AwsVpcConfigurationProperty(
                subnets=subnet_ids,
                security_groups=[group.security_group_id for group in security_groups],
                assign_public_ip="ENABLED" if assign_public_ip else "DISABLED",
            )
        ),
        place=place if placement.on_fargate else NOWHERE,
        public_ip=assign_public_ip,
    )


def with_vpc(scope: Construct, cluster: ecs.ICluster) -> ecs.ICluster:
    """Return the cluster; an ECS service of CDK needs its VPC even where subnets are listed."""
    try:
        _ = cluster.vpc
    except RuntimeError as error:
        allowed = "a cluster that was imported with its VPC, as by ecs.Cluster.from_cluster_attributes"
        raise refusal(scope, "cluster", cluster.node.path, allowed) from error
    return cluster


def checked_groups(
    scope: Construct, groups: Sequence[ec2.ISecurityGroup], *, argument: str = "security_groups"
) -> None:
    """Refuse more security groups than an interface can have."""
    if len(groups) > SECURITY_GROUPS:
        raise refusal(scope, argument, f"{len(groups)} groups", f"at most {SECURITY_GROUPS} groups")


def subnets_of(
    scope: Construct, cluster: ecs.ICluster, selection: ec2.SubnetSelection | None, *, assign_public_ip: bool
) -> tuple[list[str], Place]:
    """Return the IDs of the subnets, and what is known of them. Subnets that are listed need no VPC.

    Raises:
        ConstructConfigError: There are none or too many, or the VPC is needed and not known.
    """
    if selection is not None and selection.subnets:
        ids = [subnet.subnet_id for subnet in selection.subnets]
        place = NOWHERE
    else:
        vpc = vpc_of(scope, cluster, "cluster", "a cluster that was imported with its VPC, or vpc_subnets with subnets")
        default = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PUBLIC) if assign_public_ip else None
        try:
            chosen = selected(vpc, selection or default)
        except RuntimeError as error:
            given = selection or vpc.node.path
            raise refusal(scope, "vpc_subnets", given, f"subnets of the cluster's VPC: {error}") from error
        ids = chosen.subnet_ids
        place = Place(public=chosen.has_public, isolated=isolated(scope, vpc, ids))
    if not 1 <= len(ids) <= SUBNETS and not is_token(ids):
        raise refusal(scope, "vpc_subnets", f"{len(ids)} subnets", f"1 to {SUBNETS} subnets")
    return ids, place


def vpc_of(scope: Construct, cluster: ecs.ICluster, argument: str, allowed: str) -> ec2.IVpc:
    """Return the cluster's VPC, which one that was imported by its ARN does not have."""
    try:
        return cluster.vpc
    except RuntimeError as error:
        value = cluster.node.path if argument == "cluster" else None
        raise refusal(scope, argument, value, allowed) from error


def isolated(scope: Construct, vpc: ec2.IVpc, subnet_ids: list[str]) -> bool:
    """Return whether a subnet is isolated and the app has no interface endpoint for the VPC so far."""
    isolated = {subnet.subnet_id for subnet in vpc.isolated_subnets}
    if not isolated.intersection(subnet_ids):
        return False
    trees = {vpc, stack_of(scope)}
    return not any(isinstance(each, ec2.InterfaceVpcEndpoint) for tree in trees for each in tree.node.find_all())


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


def selected(vpc: ec2.IVpc, selection: ec2.SubnetSelection | None) -> ec2.SelectedSubnets:
    """Return the subnets of the VPC; by default its private ones."""
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
