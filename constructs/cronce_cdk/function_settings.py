"""How the functions of a ledger run: code platform, size, times, log and network."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import timedelta

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from cronce.vocabulary.durations import format_duration
from cronce_cdk._account_and_region import same_place
from cronce_cdk._checks import Tree, duration, is_text, is_whole, kinds, listed, refusal, warn
from cronce_cdk._limits import FUNCTION_MEMORY, FUNCTION_SUBNETS, FUNCTION_TIMEOUT, QUEUE_READERS
from cronce_cdk._network import checked_groups, isolated, selected

_RUNTIME = re.compile(r"python3\.1[1-9]")


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSettings:
    """How all functions of a ledger run.

    Example:
        ```python
        settings = FunctionSettings(vpc=vpc, log_retention=logs.RetentionDays.ONE_YEAR, reserved_concurrency=5)
        ledger = RunLedger(stack, "Runs", functions=settings)
        ```

    Attributes:
        memory_size: MiB of each function. CPU is in proportion to it; with less than 512 the imports take seconds.
        recorder_timeout: The longest time to settle a batch of stopped tasks or dead letters.
        watchdog_timeout: The longest time for one look at all jobs.
        rerun_timeout: The longest time that a person waits for an answer.
        reserved_concurrency: How many invocations of each function can run at the same time. The account reserves them
            for it. At least 2, because two invocations read the dead-letter queue at once. None: no limit and no
            reservation.
        runtime: Python 3.11 or newer; by default 3.13, on which the functions are tested.
        architecture: The processor; by default x86_64. The code has no machine code, so ARM64 works.
        log_retention: How long the logs are kept.
        log_removal_policy: Whether the logs are deleted with the ledger.
        vpc: A VPC for the functions; by default none. They call DynamoDB, EventBridge Scheduler, ECS and EventBridge,
            so its subnets need a way to those: NAT, or endpoints.
        vpc_subnets: The subnets; by default the VPC's private ones.
        security_groups: The security groups; by default one that allows all outgoing and no incoming traffic.
    """

    memory_size: int = 512
    recorder_timeout: timedelta | cdk.Duration = timedelta(minutes=1)
    watchdog_timeout: timedelta | cdk.Duration = timedelta(minutes=5)
    rerun_timeout: timedelta | cdk.Duration = timedelta(seconds=30)
    reserved_concurrency: int | None = None
    runtime: lambda_.Runtime | None = None
    architecture: lambda_.Architecture | None = None
    log_retention: logs.RetentionDays = logs.RetentionDays.ONE_MONTH
    log_removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.DESTROY
    vpc: ec2.IVpc | None = None
    vpc_subnets: ec2.SubnetSelection | None = None
    security_groups: Sequence[ec2.ISecurityGroup] = ()


def checked_settings(scope: Construct, settings: object) -> FunctionSettings:
    """Return the settings, or the default ones for None. In a VPC, their subnets and security groups are chosen.

    Raises:
        ConstructConfigError: A field can never work.
    """
    if settings is None:
        return FunctionSettings()
    if not isinstance(settings, FunctionSettings):
        raise refusal(scope, "functions", settings, "a cronce_cdk.FunctionSettings")
    _numbers(scope, settings)
    for field in fields(settings):
        if field.name.endswith("_timeout"):
            timeout = duration(scope, f"functions.{field.name}", getattr(settings, field.name))
            shortest, longest = FUNCTION_TIMEOUT
            if timeout % timedelta(seconds=1) or not shortest <= timeout <= longest:
                allowed = f"whole seconds, {format_duration(shortest)} to {format_duration(longest)}"
                raise refusal(scope, f"functions.{field.name}", format_duration(timeout), allowed)
    kinds(scope, lambda_.Runtime, {"functions.runtime": settings.runtime})
    if settings.runtime is not None and not _RUNTIME.fullmatch(settings.runtime.name):
        raise refusal(scope, "functions.runtime", settings.runtime.name, "python3.11 or newer")
    kinds(scope, lambda_.Architecture, {"functions.architecture": settings.architecture})
    for kind, name in ((logs.RetentionDays, "log_retention"), (cdk.RemovalPolicy, "log_removal_policy")):
        if not isinstance(value := getattr(settings, name), kind):
            raise refusal(scope, f"functions.{name}", value, f"a member of {kind.__name__}")
    if settings.log_removal_policy is cdk.RemovalPolicy.SNAPSHOT:
        raise refusal(scope, "functions.log_removal_policy", "SNAPSHOT", "DESTROY or RETAIN: a log has no snapshots")
    return _in_vpc(scope, settings)


def _numbers(scope: Tree, settings: FunctionSettings) -> None:
    least, most = FUNCTION_MEMORY
    memory: object = settings.memory_size
    reserved: object = settings.reserved_concurrency
    if not is_whole(memory) or not least <= memory <= most:
        raise refusal(scope, "functions.memory_size", memory, f"a whole number of MiB, {least} to {most}")
    if reserved is not None and (not is_whole(reserved) or reserved < QUEUE_READERS):
        minimum = f"{QUEUE_READERS}, because {QUEUE_READERS} invocations read the dead-letter queue at once"
        allowed = f"None, or a whole number of at least {minimum}"
        raise refusal(scope, "functions.reserved_concurrency", reserved, allowed)


def seconds_of(timeout: timedelta | cdk.Duration) -> int:
    """Return the seconds of a timeout that `checked_settings` accepted."""
    whole = timeout if isinstance(timeout, timedelta) else timedelta(milliseconds=timeout.to_milliseconds())
    return int(whole.total_seconds())


def _in_vpc(scope: Construct, settings: FunctionSettings) -> FunctionSettings:
    """Return the settings with the subnets and security groups in the VPC; warn of subnets without a way out."""
    vpc, groups = settings.vpc, settings.security_groups
    checked = listed(scope, "functions.security_groups", groups, "security_group_id", "ec2 security groups")
    kinds(scope, ec2.SubnetSelection, {"functions.vpc_subnets": settings.vpc_subnets})
    if vpc is None:
        for name, value in {"vpc_subnets": settings.vpc_subnets, "security_groups": checked}.items():
            if value:
                raise refusal(scope, f"functions.{name}", value, "no value without functions.vpc")
        return settings
    if not hasattr(vpc, "vpc_id"):
        raise refusal(scope, "functions.vpc", vpc, "an ec2.Vpc")
    same_place(scope, "functions.vpc", vpc, "", cdk.Stack.of(scope))
    checked_groups(scope, checked, argument="functions.security_groups")
    try:
        subnets = selected(vpc, settings.vpc_subnets)
    except RuntimeError as error:
        given = settings.vpc_subnets or vpc.node.path
        raise refusal(scope, "functions.vpc_subnets", given, f"subnets of that VPC: {error}") from error
    ids = subnets.subnet_ids
    if all(is_text(each) for each in ids) and not 1 <= len(ids) <= FUNCTION_SUBNETS:
        raise refusal(scope, "functions.vpc_subnets", f"{len(ids)} subnets", f"1 to {FUNCTION_SUBNETS} subnets")
    public = {subnet.subnet_id for subnet in vpc.public_subnets}
    if public.intersection(ids):
        allowed = "private subnets: a function has no public address, so a public subnet has no way out for it"
        raise refusal(scope, "functions.vpc_subnets", "public subnets", allowed)
    if isolated(scope, vpc, ids):
        warn(
            scope,
            "functions-in-isolated-subnets",
            "The functions' subnets have no route to the internet. Without VPC endpoints for DynamoDB, EventBridge"
            " Scheduler, EventBridge and ECS they cannot settle runs, find missed ticks or start reruns.",
        )
    if not checked:
        name = "FunctionsGroup"
        description = "Functions of a run ledger: all outgoing, no incoming traffic"
        checked = [ec2.SecurityGroup(scope, name, vpc=vpc, description=description)]
    return replace(settings, vpc_subnets=ec2.SubnetSelection(subnets=subnets.subnets), security_groups=checked)
