"""A clock as an ECS service with one task."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import aws_cdk as cdk
import jsii
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from cronce.clock.config import SEPARATOR
from cronce.vocabulary.durations import format_duration
from cronce.vocabulary.environment import CLOCK, JOB, LEDGER, METRICS, POLICY, SCHEDULE_GROUP
from cronce.vocabulary.metrics import METRIC_OF_EVENT, TICK_LATENESS, dimensions_of
from cronce.vocabulary.policy import Policy
from cronce_cdk._account_and_region import same_place
from cronce_cdk._capacity_providers import missing_providers
from cronce_cdk._checks import (
    TOKEN,
    FinishedTree,
    duration,
    flags,
    having,
    is_text,
    is_token,
    job_name,
    kinds,
    listed,
    naming,
    placed,
    refusal,
    text_map,
    texts,
    warn,
    whole,
)
from cronce_cdk._limits import FARGATE_MEMORY, STOP_TIMEOUT
from cronce_cdk._metrics import metric_of, silence_of
from cronce_cdk._nag_reasons import VARIABLES, acknowledge
from cronce_cdk._network import checked_groups, subnets_of, with_vpc
from cronce_cdk._pinning import RELEASE_WITHIN, Pinning
from cronce_cdk._placement import checked_strategies, names_of
from cronce_cdk._policy_size import check_policies
from cronce_cdk.clock_jobs import ClockJob, Configuration, configuration_of
from cronce_cdk.guard import Guard
from cronce_cdk.run_ledger_base import LEDGERS, RunLedgerBase
from cronce_cdk.task_size import check_fargate_memory

MAX_DEFINITION = 60 * 1024
"""Longest command and variables, as JSON: 64 KiB for a task definition (ECS Developer Guide, quotas), less the rest."""

_LONGEST_STOP = timedelta(seconds=STOP_TIMEOUT)
_TICK_SLACK = timedelta(minutes=5)


@jsii.implements(ec2.IConnectable, iam.IGrantable)
class PinnedScheduler(Construct):
    """A clock as an ECS service with one task. A deployment stops the old task before it starts the new one.

    ECS does not guarantee a single task: a task that is stopping can overlap the next one. The clock therefore also
    holds a lease in the ledger and works only while it holds it. It is `cronce clock`, with its jobs from here or
    from a file of its image, or any other clock under `cronce pin`.

    A later change of the count by a scaling target, an aspect or an override of the L1 fails the synth with the
    construct's path. The watchdog of a ledger in the same stack checks the count as well.

    Example:
        ```python
        clock = PinnedScheduler(
            stack,
            "Clock",
            ledger=ledger,
            cluster=cluster,
            image=ecs.ContainerImage.from_registry("registry.example.com/clock:1"),
            jobs={"reminders": ClockJob(every=timedelta(seconds=30), target=SqsTarget(queue))},
        )
        clock.alarm_no_leader()
        ```

    Attributes:
        job: The name of the clock's lease in the ledger.
        service: The ECS service.
        task_definition: The service's task definition.
        container: The clock's container.
        log_group: The clock's log, kept for a month.

    Args:
        scope: The construct that owns the clock.
        construct_id: Its ID in that scope.
        ledger: The ledger with the lease, and with a row per tick that was sent.
        cluster: The cluster in which the clock runs.
        image: The clock's image, with cronce installed (or see `guard`).
        jobs: The jobs of `cronce clock` by name; its role may do exactly what they send. Alternatively
        config_file: The path in the image of the configuration of `cronce clock`. Grant the permissions that its
            targets need to `task_definition.task_role`. Alternatively
        command: The command of any other clock, such as `["celery", "beat"]`; it runs under `cronce pin --`.
        guard: True for an image without Python, with the full `command`: a `Guard` brings cronce. A
            `ContainerImage` for a Guard with that image.
        job: The name of the lease in the ledger; by default `construct_id`.
        environment: Variables for the clock.
        secrets: Secret variables for the clock.
        cpu: CPU units, 1024 per vCPU.
        memory_limit_mib: Memory in MiB.
        runtime_platform: Operating system and processor.
        capacity_provider_strategies: Capacity providers instead of Fargate on demand. Spot alone is refused, because
            a Spot task can be taken away without a replacement.
        vpc_subnets: The subnets of its network interface; by default the VPC's private ones.
        security_groups: The security groups of that interface; by default one for this service.
        assign_public_ip: True for a public address; the default subnets are then the public ones.
        enable_execute_command: True to allow `aws ecs execute-command` into the clock.
        stop_timeout: How long the clock may take to stop; longer than releasing the lease takes.
        lease: How long the lease lasts after the clock dies.

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
        jobs: Mapping[str, ClockJob] | None = None,
        config_file: str | None = None,
        command: Sequence[str] | None = None,
        guard: ecs.ContainerImage | bool = False,
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
        placed(scope, construct_id)
        super().__init__(scope, construct_id)
        if not isinstance(ledger, RunLedgerBase):
            raise refusal(self, "ledger", ledger, LEDGERS)
        having(self, "cluster", cluster, "cluster_arn", "an ECS cluster")
        same_place(self, "cluster", cluster, cluster.cluster_arn, cdk.Stack.of(self))
        flags(self, {"assign_public_ip": assign_public_ip, "enable_execute_command": enable_execute_command})
        kinds(self, ec2.SubnetSelection, {"vpc_subnets": vpc_subnets})
        kinds(self, ecs.RuntimePlatform, {"runtime_platform": runtime_platform})
        _checked_platform(self, runtime_platform)
        _check_size_of_task(self, cpu, memory_limit_mib)
        own_secrets = _checked_secrets(self, secrets)
        groups = listed(self, "security_groups", security_groups or (), "security_group_id", "ec2 security groups")
        checked_groups(self, groups)
        if not isinstance(image, ecs.ContainerImage):
            raise refusal(self, "image", image, "an ecs.ContainerImage")
        self._ledger = ledger
        _checked_guard(self, guard, command)
        self.job = _clock_name(self, construct_id if job is None else job)
        policy = _policy(self, lease)
        stop = _checked_stop(self, stop_timeout)
        strategies = _checked_pinned_strategies(self, capacity_provider_strategies)
        own_variables = text_map(self, "environment", environment, reserved="CRONCE_")
        if both := own_variables.keys() & own_secrets.keys():
            raise refusal(self, "secrets", ", ".join(sorted(both)), "names that are not in environment too")
        _one_of(self, {"jobs": jobs, "config_file": config_file, "command": command})
        self._jobs: Configuration | None = None if jobs is None else configuration_of(self, ledger, jobs)
        self._foreign = texts(self, "command", command)
        words = _words(self, config_file, self._foreign)
        for name in (self.job, *(f"{self.job}{SEPARATOR}{each}" for each in (self._jobs.gaps if self._jobs else ()))):
            ledger.admit(self, self.node.path, name)
        seen = ledger.seen_from(self)
        variables = {**own_variables, **self._variables(seen, policy, words)}
        _checked_size(self, words, variables)
        _, place = subnets_of(self, with_vpc(self, cluster), vpc_subnets, assign_public_ip=assign_public_ip)
        self.log_group = logs.LogGroup(
            self,
            "Log",
            retention=logs.RetentionDays.ONE_MONTH,
            removal_policy=cdk.RemovalPolicy.DESTROY,
            encryption_key=ledger.keys.logs,
        )
        self.task_definition = ecs.FargateTaskDefinition(
            self, "Task", cpu=cpu, memory_limit_mib=memory_limit_mib, runtime_platform=runtime_platform
        )
        self._guard = Guard(self.task_definition, image=None if guard is True else guard) if guard else None
        self.container = self._add_container(image, words, variables, {**own_secrets, **seen.url_secrets}, stop)
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
            capacity_provider_strategies=strategies or None,
            vpc_subnets=vpc_subnets,
            security_groups=groups or None,
            assign_public_ip=assign_public_ip,
            enable_execute_command=enable_execute_command or None,
        )
        self._allow(seen)
        if not ledger.watch(self, cluster, self.service, self.job):
            warn(
                self,
                "pinned-service-not-watched",
                "The ledger is in another stack. Its watchdog does not check the count of this service, and its"
                " recorder does not free the lease: after a crash the next clock waits until the lease expires.",
            )
        acknowledge(self.task_definition, "ECS2", VARIABLES)
        for identifier, message in place.doubts(public_ip=assign_public_ip):
            warn(self, identifier, message)
        pinning, role = Pinning(self, self.service, self.container, words[1]), self.task_definition.task_role
        self.node.add_validation(
            FinishedTree(
                lambda: [
                    *pinning.undone(),
                    *missing_providers(self, cluster, strategies),
                    *check_policies(self, role, by_role=not seen.url_secrets),
                ]
            )
        )

    def _allow(self, ledger: RunLedgerBase) -> None:
        """Grant the clock's role its rows, unless the ledger's URL is the permission, and what its targets need."""
        role = self.task_definition.task_role
        jobs = self._jobs
        if not ledger.url_secrets:
            if self._foreign:
                ledger.grant_claim(role, self.job)
            else:
                ledger.grant_dispatch(role, self.job, starts=jobs.seen_pauses(self) if jobs else ())
        for target in jobs.targets if jobs else ():
            target.allow(role)

    @property
    def connections(self) -> ec2.Connections:
        """The connections of the service: `database.connections.allow_default_port_from(clock)`."""
        return self.service.connections

    @property
    def grant_principal(self) -> iam.IPrincipal:
        """The task role: `queue.grant_send_messages(clock)` lets the clock send messages."""
        return self.task_definition.task_role.grant_principal

    def metric(
        self,
        metric_name: str,
        *,
        job: str | None = None,
        statistic: str = "Sum",
        period: timedelta | cdk.Duration | None = None,
    ) -> cloudwatch.Metric:
        """Return a metric of `cronce clock`, of one job's ticks or of all."""
        return metric_of(self, metric_name, self._dimensions(job), statistic=statistic, period=period)

    def metric_dispatched(
        self, *, job: str | None = None, period: timedelta | cdk.Duration | None = None
    ) -> cloudwatch.Metric:
        """Count ticks that were sent, of one job or of all."""
        return metric_of(self, METRIC_OF_EVENT["tick_dispatched"], self._dimensions(job), period=period)

    def metric_failed(
        self, *, job: str | None = None, period: timedelta | cdk.Duration | None = None
    ) -> cloudwatch.Metric:
        """Count ticks that could not be sent in all tries, of one job or of all."""
        return metric_of(self, METRIC_OF_EVENT["tick_failed"], self._dimensions(job), period=period)

    def metric_missed(
        self, *, job: str | None = None, period: timedelta | cdk.Duration | None = None
    ) -> cloudwatch.Metric:
        """Count ticks that no clock sent or caught up, of one job or of all."""
        return metric_of(self, METRIC_OF_EVENT["tick_missed"], self._dimensions(job), period=period)

    def metric_lateness(
        self, *, job: str | None = None, statistic: str = "p99", period: timedelta | cdk.Duration | None = None
    ) -> cloudwatch.Metric:
        """Return the seconds from a tick's time until it was sent, of one job or of all."""
        return self.metric(TICK_LATENESS, job=job, statistic=statistic, period=period)

    def metric_leading(self, *, period: timedelta | cdk.Duration | None = None) -> cloudwatch.Metric:
        """Count one per minute while a clock holds the lease."""
        return metric_of(
            self, METRIC_OF_EVENT["leads"], dimensions_of(self._ledger.ledger_name, job=self.job), period=period
        )

    def alarm_no_tick(
        self, construct_id: str | None = None, *, job: str | None = None, within: timedelta | cdk.Duration | None = None
    ) -> cloudwatch.Alarm:
        """Create an alarm for when no tick was sent, of the clock or of one job.

        Args:
            construct_id: The alarm's ID; by default `NoTick`, with the job's name if there is one.
            job: One of `jobs`; by default a tick of any job counts.
            within: The longest time without a tick; by default 5 minutes more than the longest gap between two ticks
                of the job (of the most frequent one).

        Raises:
            ConstructConfigError: The clock reports no ticks, or they are too rare for CloudWatch.
        """
        if self._foreign:
            allowed = "jobs or config_file: other clocks report no ticks; use alarm_no_leader"
            raise refusal(self, "command", self._foreign, allowed)
        kinds(self, str, {"job": job})
        gaps = self._jobs.gaps if self._jobs else {}
        if job is not None and self._jobs and job not in gaps:
            raise refusal(self, "job", job, ", ".join(gaps))
        known = [gap for name, gap in gaps.items() if gap is not None and job in (None, name)]
        if within is not None:
            longest = duration(self, "within", within)
        elif known:
            longest = min(known) + _TICK_SLACK
        else:
            raise refusal(self, "within", None, "the longest time without a tick: the jobs are not known here")
        name = f"NoTick{job or ''}" if construct_id is None else construct_id
        return silence_of(self, name, self.metric_dispatched(job=job), longest, "No tick was sent")

    def alarm_no_leader(
        self, construct_id: str = "NoLeader", *, within: timedelta | cdk.Duration = timedelta(minutes=5)
    ) -> cloudwatch.Alarm:
        """Create an alarm for when no clock held the lease.

        Raises:
            ConstructConfigError: CloudWatch cannot evaluate a time of this length.
        """
        longest = duration(self, "within", within)
        return silence_of(self, construct_id, self.metric_leading(), longest, "No clock holds the lease")

    def _variables(self, seen: RunLedgerBase, policy: Policy, words: Sequence[str]) -> dict[str, str]:
        """Return the variables that the construct sets."""
        url = {} if seen.url_secrets else {LEDGER: seen.table_url}
        variables = {**url, JOB: self.job, POLICY: policy.to_json(), METRICS: "emf"}
        if words[1] == "clock":
            variables[SCHEDULE_GROUP] = seen.schedule_group_ref
        if self._jobs:
            settings = json.dumps(self._jobs.settings)
            known = not is_token(settings)
            variables[CLOCK] = settings if known else cdk.Stack.of(self).to_json_string(self._jobs.settings)
            _checked_size(self, words, {**variables, CLOCK: settings})
        return variables

    def _add_container(
        self,
        image: ecs.ContainerImage,
        words: Sequence[str],
        variables: Mapping[str, str],
        secrets: Mapping[str, ecs.Secret],
        stop: int,
    ) -> ecs.ContainerDefinition:
        more: dict[str, Any] = {
            "image": image,
            "environment": {**variables},
            "secrets": {**secrets} or None,
            "linux_parameters": ecs.LinuxParameters(self, "Linux", init_process_enabled=True),
            "logging": ecs.LogDrivers.aws_logs(stream_prefix="clock", log_group=self.log_group),
            "stop_timeout": cdk.Duration.seconds(stop),
            "health_check": ecs.HealthCheck(
                command=["CMD", self._guard.program if self._guard else "cronce", "health"],
                interval=cdk.Duration.seconds(10),
                timeout=cdk.Duration.seconds(5),
                retries=3,
                start_period=cdk.Duration.minutes(1),
            ),
        }
        if self._guard and self._foreign:
            return self._guard.add_container("clock", command=self._foreign, pin=True, **more)
        return self.task_definition.add_container("clock", command=[*words], **more)

    def _dimensions(self, job: str | None) -> dict[str, str]:
        if job is None:
            return dimensions_of(self._ledger.ledger_name, clock=self.job)
        return dimensions_of(self._ledger.ledger_name, job=f"{self.job}{SEPARATOR}{job}")


def _clock_name(scope: Construct, job: str) -> str:
    name = job_name(scope, job)
    if is_text(name) and (SEPARATOR in name or name == "cronce"):
        raise refusal(scope, "job", name, "a name other than cronce and without a colon, which separates clock and job")
    return name


def _checked_guard(scope: Construct, guard: object, command: object) -> None:
    if not isinstance(guard, bool | ecs.ContainerImage):
        raise refusal(scope, "guard", guard, "True, False or an ecs.ContainerImage")
    if guard and command is None:
        allowed = "no guard without a command: the image of `cronce clock` has cronce installed"
        raise refusal(scope, "guard", guard, allowed)


def _one_of(scope: Construct, given: Mapping[str, object]) -> None:
    here = [argument for argument, value in given.items() if value is not None]
    if len(here) != 1:
        raise refusal(scope, ", ".join(given), ", ".join(here) or None, "exactly one of them")


def _words(scope: Construct, config_file: object, foreign: Sequence[str] | None) -> list[str]:
    if config_file is not None:
        if not isinstance(config_file, str) or not config_file:
            raise refusal(scope, "config_file", config_file, "the configuration's path in the image")
        return ["cronce", "clock", "--config", config_file]
    if foreign is None:
        return ["cronce", "clock"]
    if foreign[0].rpartition("/")[2] == "cronce":
        raise refusal(scope, "command", foreign, "the other clock's own command: it runs under cronce pin -- already")
    return ["cronce", "pin", "--", *foreign]


def _checked_size(scope: Construct, words: Sequence[str], variables: Mapping[str, str]) -> None:
    known = len(TOKEN.sub("", json.dumps([words, variables])))
    if known > MAX_DEFINITION:
        raise refusal(
            scope, "jobs", f"{known} characters", f"at most {MAX_DEFINITION} characters, with command and variables"
        )


def _policy(scope: Construct, lease: object) -> Policy:
    if lease is None:
        return Policy()
    with naming(scope, "lease"):
        return Policy(lease=duration(scope, "lease", lease))


def _checked_stop(scope: Construct, stop_timeout: object) -> int:
    stop = duration(scope, "stop_timeout", stop_timeout)
    if not RELEASE_WITHIN < stop <= _LONGEST_STOP or stop % timedelta(seconds=1):
        allowed = f"whole seconds, more than {format_duration(RELEASE_WITHIN)} (to release the lease), at most 2m"
        raise refusal(scope, "stop_timeout", format_duration(stop), allowed)
    return int(stop.total_seconds())


def _checked_platform(scope: Construct, platform: ecs.RuntimePlatform | None) -> None:
    family = platform.operating_system_family if platform else None
    if family is not None and not family.is_linux():
        raise refusal(scope, "runtime_platform", "an operating system other than Linux", "Linux: cronce needs it")


def _check_size_of_task(scope: Construct, cpu: int, memory: int) -> None:
    for argument, value in {"cpu": cpu, "memory_limit_mib": memory}.items():
        whole(scope, argument, value)
    if cdk.Token.is_unresolved(cpu) or cdk.Token.is_unresolved(memory):
        return
    if cpu not in FARGATE_MEMORY:
        raise refusal(scope, "cpu", cpu, ", ".join(map(str, FARGATE_MEMORY)))
    check_fargate_memory(scope, "memory_limit_mib", cpu, memory)


def _checked_secrets(scope: Construct, secrets: object) -> dict[str, ecs.Secret]:
    if secrets is None:
        return {}
    if not isinstance(secrets, Mapping):
        raise refusal(scope, "secrets", secrets, "a mapping of names to ecs.Secret")
    for name, secret in secrets.items():
        if not isinstance(name, str) or not name or not isinstance(secret, ecs.Secret):
            raise refusal(scope, "secrets", {name: secret}, "names with an ecs.Secret each")
        if name.startswith("CRONCE_"):
            raise refusal(scope, "secrets", name, "names that do not begin with CRONCE_: the construct sets those")
    return {**secrets}


def _checked_pinned_strategies(scope: Construct, given: object) -> list[ecs.CapacityProviderStrategy]:
    if given is None:
        return []
    strategies: list[ecs.CapacityProviderStrategy] = listed(
        scope, "capacity_provider_strategies", given, "capacity_provider", "ecs.CapacityProviderStrategy"
    )
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
            "FARGATE with a weight or base: a Spot task can be taken away without a replacement",
        )
    return strategies
