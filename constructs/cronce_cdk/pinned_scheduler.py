"""A clock of one's own, as an ECS service of which there is never more than one by design."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_logs as logs
from constructs import Construct

from cronce.clock.config import SEPARATOR
from cronce.vocabulary import environment as names
from cronce.vocabulary.durations import format_duration
from cronce.vocabulary.metrics import METRIC_OF_EVENT, NAMESPACE, TICK_LATENESS, dimensions_of
from cronce_cdk._checks import (
    TOKEN,
    FinishedTree,
    duration,
    having,
    is_text,
    is_token,
    job_name,
    refusal,
    text_map,
    texts,
    warn,
)
from cronce_cdk._metrics import count_of, silence_of
from cronce_cdk._pinning import RELEASE_WITHIN, Pinning
from cronce_cdk._placement import checked_strategies, names_of
from cronce_cdk._policy import policy_of
from cronce_cdk.clock_jobs import ClockJob, Configuration, configuration_of
from cronce_cdk.run_ledger import RunLedgerBase

MAX_DEFINITION = 60 * 1024
"""Characters of command and variables, as JSON; a task definition has 64 KiB (ECS Developer Guide, quotas)."""

_LONGEST_STOP = timedelta(seconds=120)
"""Of a container on Fargate (ECS API Reference, ContainerDefinition, stopTimeout)."""

_TICK_SLACK = timedelta(minutes=5)


class PinnedScheduler(Construct):
    """A clock as an ECS service: one task, and a deployment stops it before it starts the next.

    That is the best ECS can do and no guarantee: a task that is *stopping* overlaps the next one.
    So the clock also holds a lease in the ledger and works only while it does: `cronce clock`, with
    its jobs from here or from a file of its image, or any other clock under `cronce pin`.

    Whatever changes the count later, a scaling target, an aspect or an override of the L1, fails
    the synth with the construct's path. The watchdog of a ledger of the same stack looks at the count too.

    Attributes:
        job: The name that the lease has in the ledger.
        service: The ECS service.
        task_definition: Its task definition.
        container: The clock's container.
        log_group: Where it writes; kept for a month.

    Args:
        scope: The construct that owns the clock.
        construct_id: Its name there.
        ledger: Where the lease is, and a row for each tick that was sent.
        cluster: Where the clock runs.
        image: The clock's image; cronce is installed in it.
        jobs: What `cronce clock` sends when, by name; its role may do exactly that. Or else
        config_file: Where in the image the configuration of `cronce clock` is; what its targets need is
            for you to grant to `task_definition.task_role`. Or else
        command: Any other clock, such as `["celery", "beat"]`; `cronce pin --` is put before it.
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
        jobs: Mapping[str, ClockJob] | None = None,
        config_file: str | None = None,
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
        self._ledger = ledger
        self.job = _clock_name(self, construct_id if job is None else job)
        policy = policy_of(self, {"lease": lease})
        stop = _checked_stop(self, stop_timeout)
        if capacity_provider_strategies is not None:
            _checked_pinned_strategies(self, capacity_provider_strategies)
        own_variables = text_map(self, "environment", environment, reserved="CRONCE_")
        _one_of(self, {"jobs": jobs, "config_file": config_file, "command": command})
        self._jobs: Configuration | None = None if jobs is None else configuration_of(self, ledger, jobs)
        self._foreign = texts(self, "command", command)
        words = _words(self, config_file, self._foreign)
        path = self.node.path
        for name in (self.job, *(f"{self.job}{SEPARATOR}{each}" for each in (self._jobs.gaps if self._jobs else ()))):
            ledger.admit(self, path, name)
        seen = ledger.seen_from(self)
        variables = {
            **own_variables,
            names.LEDGER: seen.table_url,
            names.JOB: self.job,
            names.POLICY: policy.to_json(),
            names.METRICS: "emf",
        }
        if command is None:
            variables[names.SCHEDULE_GROUP] = seen.schedule_group_ref
        settings = json.dumps(self._jobs.settings) if self._jobs else ""
        _checked_size(self, words, {**variables, names.CLOCK: settings})
        if self._jobs:
            known = not is_token(settings)
            variables[names.CLOCK] = settings if known else cdk.Stack.of(self).to_json_string(self._jobs.settings)
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
            environment=variables,
            secrets=secrets and {**secrets},
            linux_parameters=ecs.LinuxParameters(self, "Linux", init_process_enabled=True),
            logging=ecs.LogDrivers.aws_logs(stream_prefix="clock", log_group=self.log_group),
            stop_timeout=cdk.Duration.seconds(stop),
            health_check=ecs.HealthCheck(
                command=["CMD", "cronce", "health"],
                interval=cdk.Duration.seconds(10),
                timeout=cdk.Duration.seconds(5),
                retries=3,
                start_period=cdk.Duration.minutes(1),
            ),
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
        if command is not None:
            seen.grant_claim(self.task_definition.task_role, self.job)
        else:
            seen.grant_dispatch(self.task_definition.task_role, self.job)
        for target in self._jobs.targets if self._jobs else ():
            target.allow(self.task_definition.task_role)
        if not ledger.watch(self, cluster, self.service, self.job):
            warn(
                self,
                "pinned-service-not-watched",
                "Its ledger is of another stack, whose watchdog does not look at the count of this service, and whose"
                " recorder does not free its lease: after a crash the next clock waits until the lease is over.",
            )
        self.node.add_validation(FinishedTree(Pinning(self, self.service, self.container).undone))

    def metric(
        self, metric_name: str, *, job: str | None = None, statistic: str = "Sum", period: cdk.Duration | None = None
    ) -> cloudwatch.Metric:
        """A metric of `cronce clock`: of one job's ticks, or of all."""
        return cloudwatch.Metric(
            namespace=NAMESPACE,
            metric_name=metric_name,
            dimensions_map=self._dimensions(job),
            statistic=statistic,
            period=period,
        )

    def metric_dispatched(self, *, job: str | None = None, period: cdk.Duration | None = None) -> cloudwatch.Metric:
        """Ticks that were sent; of one job, or of all."""
        return count_of(METRIC_OF_EVENT["tick_dispatched"], self._dimensions(job), period=period)

    def metric_failed(self, *, job: str | None = None, period: cdk.Duration | None = None) -> cloudwatch.Metric:
        """Ticks that could not be sent, however often it was tried; of one job, or of all."""
        return count_of(METRIC_OF_EVENT["tick_failed"], self._dimensions(job), period=period)

    def metric_missed(self, *, job: str | None = None, period: cdk.Duration | None = None) -> cloudwatch.Metric:
        """Ticks that fell into a gap without a clock and were not caught up; of one job, or of all."""
        return count_of(METRIC_OF_EVENT["tick_missed"], self._dimensions(job), period=period)

    def metric_lateness(
        self, *, job: str | None = None, statistic: str = "p99", period: cdk.Duration | None = None
    ) -> cloudwatch.Metric:
        """Seconds from a tick's time until it was sent; of one job, or of all."""
        return self.metric(TICK_LATENESS, job=job, statistic=statistic, period=period)

    def metric_leading(self, *, period: cdk.Duration | None = None) -> cloudwatch.Metric:
        """One a minute while a clock holds the lease."""
        return count_of(METRIC_OF_EVENT["leads"], dimensions_of(self._ledger.ledger_name, job=self.job), period=period)

    def alarm_no_tick(
        self, construct_id: str = "NoTick", *, job: str | None = None, within: timedelta | cdk.Duration | None = None
    ) -> cloudwatch.Alarm:
        """An alarm on the silence of the clock, or of one job.

        Args:
            construct_id: The alarm's name.
            job: One of `jobs`; if not given, any tick will do.
            within: How long no tick may be sent; if not given, the longest gap between two ticks of the job (of the
                busiest one) and 5 minutes.

        Raises:
            ConstructConfigError: There are no ticks to wait for, or they are too rare for CloudWatch.
        """
        if self._foreign:
            allowed = "jobs or config_file: another clock reports no ticks; alarm_no_leader is for any clock"
            raise refusal(self, "command", self._foreign, allowed)
        gaps = self._jobs.gaps if self._jobs else {}
        if job is not None and self._jobs and job not in gaps:
            raise refusal(self, "job", job, ", ".join(gaps))
        known = [gap for name, gap in gaps.items() if gap is not None and job in (None, name)]
        if within is not None:
            longest = duration(self, "within", within)
        elif known:
            longest = min(known) + _TICK_SLACK
        else:
            raise refusal(self, "within", None, "how long no tick may be sent: the jobs are not known here")
        return silence_of(self, construct_id, self.metric_dispatched(job=job), longest, "No tick was sent")

    def alarm_no_leader(
        self, construct_id: str = "NoLeader", *, within: timedelta | cdk.Duration = timedelta(minutes=5)
    ) -> cloudwatch.Alarm:
        """An alarm on the time without any clock that holds the lease.

        Raises:
            ConstructConfigError: `within` is no time that CloudWatch can look back.
        """
        longest = duration(self, "within", within)
        return silence_of(self, construct_id, self.metric_leading(), longest, "No clock holds the lease")

    def _dimensions(self, job: str | None) -> dict[str, str]:
        if job is None:
            return dimensions_of(self._ledger.ledger_name, clock=self.job)
        return dimensions_of(self._ledger.ledger_name, job=f"{self.job}{SEPARATOR}{job}")


def _clock_name(scope: Construct, job: str) -> str:
    name = job_name(scope, job)
    if is_text(name) and (SEPARATOR in name or name == "cronce"):
        raise refusal(
            scope, "job", name, "a name without a colon, which parts a clock's name from its jobs', nor cronce"
        )
    return name


def _one_of(scope: Construct, given: Mapping[str, object]) -> None:
    here = [argument for argument, value in given.items() if value is not None]
    if len(here) != 1:
        raise refusal(scope, ", ".join(given), ", ".join(here) or None, "exactly one of them")


def _words(scope: Construct, config_file: object, foreign: Sequence[str] | None) -> list[str]:
    if config_file is not None:
        if not isinstance(config_file, str) or not config_file:
            raise refusal(scope, "config_file", config_file, "where the configuration is in the image")
        return ["cronce", "clock", "--config", config_file]
    if foreign is None:
        return ["cronce", "clock"]
    if foreign[0].rpartition("/")[2] == "cronce":
        raise refusal(scope, "command", foreign, "the other clock's own command; cronce pin -- is put before it")
    return ["cronce", "pin", "--", *foreign]


def _checked_size(scope: Construct, words: Sequence[str], variables: Mapping[str, str]) -> None:
    known = len(TOKEN.sub("", json.dumps([words, variables])))
    if known > MAX_DEFINITION:
        raise refusal(scope, "jobs", f"{known} characters", f"{MAX_DEFINITION} with command and variables")


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
