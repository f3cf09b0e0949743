"""The table that every task asks before it works, who may ask it what, and what watches over it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from datetime import timedelta
from functools import cached_property

import aws_cdk as cdk
import jsii
from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from cronce.clock.config import SEPARATOR
from cronce.vocabulary.durations import format_duration
from cronce.vocabulary.metrics import METRIC_OF_EVENT, dimensions_of
from cronce.vocabulary.names import schedule_group_name
from cronce_cdk._checks import FinishedTree, duration, having, is_text, is_token, job_name, refusal
from cronce_cdk._memory import remembered, stack_of
from cronce_cdk._metrics import count_of
from cronce_cdk._observers import RECORDER_MINUTES, Observers

CLAIM_ACTIONS = ("dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query")
"""All that a task needs to claim, renew and finish its runs. It never scans and never deletes."""

READ_ACTIONS = ("dynamodb:GetItem", "dynamodb:Query")

_TABLE_NAME = re.compile(r"[A-Za-z0-9_.-]{3,255}")
_STRONG = dynamodb.MultiRegionConsistency.STRONG


class RunLedgerBase(Construct):
    """A run ledger, made here or elsewhere.

    Attributes:
        table: The DynamoDB table that holds the runs.
        schedule_group: The EventBridge Scheduler group of the ledger's jobs.
        dead_letter_queue: Where a tick goes whose task could not be started.
    """

    table: dynamodb.ITableV2
    schedule_group: scheduler.IScheduleGroup
    dead_letter_queue: sqs.IQueue

    _name: str | None
    """The table's name, if it is known at synth."""

    @cached_property
    def identity(self) -> tuple[str, ...]:
        """Equal for two constructs that are one ledger: by its name within a stage's account and Region.

        Two stages may go to accounts that nobody knows at synth. A ledger without a name is only itself.
        """
        if self._name is None:
            return (self.node.path,)
        stack, stage = stack_of(self), cdk.Stage.of(self)
        places = ("" if is_token(where) else where for where in (stack.account, stack.region))
        return (stage.node.path if stage else "", *places, self._name)

    @cached_property
    def _jobs_of_the_app(self) -> dict[tuple[str, ...], str]:
        """Ledger and job -> path of the construct that has it."""
        return remembered(self.node.root, ("jobs",), dict)

    @cached_property
    def table_url(self) -> str:
        """What a task's `CRONCE_LEDGER` says: `dynamodb://NAME?region=REGION`."""
        return f"dynamodb://{self.table.table_name}?region={self.table.env.region}"

    @cached_property
    def ledger_name(self) -> str:
        """The table's name, a dimension of every metric. As text where it is known, so that no stack exports it."""
        return self._name or self.table.table_name

    @cached_property
    def schedule_group_ref(self) -> str:
        """The group's name; of a group of this stack as a reference, so that it is made before its schedules."""
        group = self.schedule_group.node.default_child
        return group.ref if isinstance(group, cdk.CfnResource) else self.schedule_group.schedule_group_name

    @cached_property
    def dead_letter_queue_arn(self) -> str:
        """The queue's ARN."""
        return self.dead_letter_queue.queue_arn

    @cached_property
    def table_arn(self) -> str:
        """The table's ARN."""
        return self.table.table_arn

    def grant_claim(self, grantee: iam.IGrantable, job: str) -> iam.Grant:
        """Let `grantee` claim and finish runs of `job`, and touch nothing of any other job.

        Raises:
            ConstructConfigError: The ledger cannot hold a job of this name.
        """
        return self._grant(grantee, CLAIM_ACTIONS, job)

    def let_claim(self, role: iam.IRole, job: str) -> None:
        """Like `grant_claim`, for a role that many jobs share: one statement names them all.

        A statement each would be over IAM's limit for a policy at some hundred jobs.
        """

        def statement() -> list[str]:
            jobs: list[str] = []
            keys = cdk.Lazy.any(_Jobs(jobs))
            role.add_to_principal_policy(
                iam.PolicyStatement(
                    actions=[*CLAIM_ACTIONS],
                    resources=[self.table_arn],
                    conditions={"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": keys}},
                )
            )
            return jobs

        remembered(self, (role, "claims"), statement).append(_literal(job))

    def grant_dispatch(self, grantee: iam.IGrantable, clock: str) -> iam.Grant:
        """Let `grantee` hold the lease of `clock` and claim the ticks of its jobs, which are all called `<clock>:...`.

        Raises:
            ConstructConfigError: The ledger cannot hold a job of this name.
        """
        name = _literal(job_name(self, clock), also="*?")
        return self._grant_on(grantee, CLAIM_ACTIONS, "ForAllValues:StringLike", [name, f"{name}{SEPARATOR}*"])

    def grant_read(self, grantee: iam.IGrantable, job: str | None = None) -> iam.Grant:
        """Let `grantee` look at the runs of `job`, or of every job.

        Raises:
            ConstructConfigError: The ledger cannot hold a job of this name.
        """
        return self._grant(grantee, READ_ACTIONS, job)

    def metric_missed(self, *, job: str | None = None, period: Duration | None = None) -> cloudwatch.Metric:
        """Ticks that nobody delivered; of one job, or of all."""
        return self._metric("missed", job, period)

    def metric_lost(self, *, job: str | None = None, period: Duration | None = None) -> cloudwatch.Metric:
        """Runs whose owner was gone when their lease ran out; of one job, or of all."""
        return self._metric("run_lost", job, period)

    def metric_launch_failed(self, *, job: str | None = None, period: Duration | None = None) -> cloudwatch.Metric:
        """Ticks whose task could not be started, or stopped before it asked; of one job, or of all."""
        return self._metric("launch_failed", job, period)

    def metric_pinned_count_wrong(self, *, period: Duration | None = None) -> cloudwatch.Metric:
        """Looks at which a pinned service was wanted with another count than one."""
        return self._metric("pinned_count_wrong", None, period)

    def metric_dead_letters(self, *, period: Duration | None = None, statistic: str = "Maximum") -> cloudwatch.Metric:
        """How many messages wait in the dead-letter queue: what the recorder could not settle yet."""
        return self.dead_letter_queue.metric_approximate_number_of_messages_visible(period=period, statistic=statistic)

    def admit(self, task: Construct, path: str, job: str) -> None:
        """Take note of a job of this app.

        Raises:
            ConstructConfigError: Another construct has a job of that name, in whatever stack: they would
                take each other's runs.
        """
        other = self._jobs_of_the_app.setdefault((*self.identity, job), path)
        if other != path and is_text(job):
            raise refusal(task, "job", job, f"a name of its own; {other} has this one")

    def seen_from(self, scope: Construct) -> RunLedgerBase:
        """This ledger as constructs of `scope`'s stack name it, without an export that would tie the stacks.

        Raises:
            ConstructConfigError: The ledger is of another stack and has no name of its own, or is
                of another account or Region.
        """
        del scope
        return self

    def watch(self, scope: Construct, cluster: ecs.ICluster, service: ecs.FargateService, job: str) -> bool:
        """Have the count of a pinned service looked at, and its lease freed when its task stops; False if it cannot be.

        Only the stack that makes the ledger can: the functions of another one are not to be changed from here.
        """
        del scope, cluster, service, job
        return False

    def _metric(self, event: str, job: str | None, period: Duration | None) -> cloudwatch.Metric:
        """Of one job, or of the ledger: CloudWatch does not sum the metrics of all jobs for an alarm."""
        name = None if job is None else job_name(self, job)
        return count_of(METRIC_OF_EVENT[event], dimensions_of(self.ledger_name, job=name), period=period)

    def _grant(self, grantee: iam.IGrantable, actions: Sequence[str], job: str | None) -> iam.Grant:
        keys = None if job is None else [_literal(job_name(self, job))]
        return self._grant_on(grantee, actions, "ForAllValues:StringEquals", keys)

    def _grant_on(
        self, grantee: iam.IGrantable, actions: Sequence[str], operator: str, keys: Sequence[str] | None
    ) -> iam.Grant:
        seen = self.seen_from(grantee) if isinstance(grantee, Construct) else self
        return iam.Grant.add_to_principal(
            grantee=grantee,
            actions=[*actions],
            resource_arns=[seen.table_arn],
            conditions={operator: {"dynamodb:LeadingKeys": [*keys]}} if keys else None,
        )


class RunLedger(RunLedgerBase):
    """The ledger, hard to lose: recoverable to any second, and kept when its stack goes.

    Besides the table it makes the schedule group of its jobs, the queue of ticks that could not be
    started, and two Lambda functions. The recorder settles the run of a task as soon as ECS says that it
    stopped. The watchdog looks each minute for ticks that nobody delivered and runs whose owner is gone.

    Attributes:
        recorder: The recorder's Lambda function.
        watchdog: The watchdog's Lambda function.

    Args:
        scope: The construct that owns the ledger.
        construct_id: Its name there.
        table_name: The table's name; CloudFormation makes one up if there is none. Jobs of *other* stacks
            need it, because they know the ledger by its name.
        clusters: Where the jobs run, if the recorder shall not hear of tasks elsewhere.
        missed_after: How long after its time (and its flexible window) a tick counts as missed if there is
            no run of it.
        replicas: Copies in other Regions. Two Regions that both let a job in are no ledger, so
            they are refused without `multi_region_consistency=STRONG`.
        multi_region_consistency: How the copies agree.
        witness_region: The Region that votes without a copy, with one replica.

    Raises:
        ConstructConfigError: An argument can never work.
    """

    table: dynamodb.TableV2

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        table_name: str | None = None,
        clusters: Sequence[ecs.ICluster] | None = None,
        missed_after: timedelta | Duration = timedelta(minutes=5),
        replicas: Sequence[dynamodb.ReplicaTableProps] | None = None,
        multi_region_consistency: dynamodb.MultiRegionConsistency | None = None,
        witness_region: str | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self._name = _checked_table_name(self, table_name)
        patience = _checked_patience(self, missed_after)
        for cluster in clusters or ():
            having(self, "clusters", cluster, "cluster_arn", "ECS clusters")
        strong = multi_region_consistency == _STRONG
        if replicas and not strong:
            raise refusal(self, "replicas", replicas, "none without multi_region_consistency=STRONG")
        if replicas and is_token(Stack.of(self).region):
            raise refusal(self, "replicas", replicas, "none in a stack whose Region is not known at synth")
        self.table = dynamodb.TableV2(
            self,
            "Table",
            table_name=table_name,
            partition_key=dynamodb.Attribute(name="job", type=dynamodb.AttributeType.STRING),
            sort_key=dynamodb.Attribute(name="key", type=dynamodb.AttributeType.STRING),
            billing=dynamodb.Billing.on_demand(),
            # A strongly consistent global table takes no TTL (Developer Guide, "Global tables: considerations").
            time_to_live_attribute=None if strong else "expires_at",
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            deletion_protection=True,
            removal_policy=RemovalPolicy.RETAIN,
            replicas=replicas and [*replicas],
            multi_region_consistency=multi_region_consistency,
            witness_region=witness_region,
        )
        self.schedule_group = scheduler.ScheduleGroup(
            self,
            "Schedules",
            schedule_group_name=self._name and schedule_group_name(self._name),
            # A job without its ledger must not start.
            removal_policy=RemovalPolicy.DESTROY,
        )
        self.dead_letter_queue = sqs.Queue(
            self,
            "DeadLetters",
            queue_name=self._name and _queue_name(self._name),
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=Duration.days(14),
            visibility_timeout=Duration.minutes(6 * RECORDER_MINUTES),
        )
        self._observers = Observers(self, self, clusters, patience)
        self.recorder = self._observers.recorder.function
        self.watchdog = self._observers.watchdog.function
        self.node.add_validation(FinishedTree(self._only_consistent_replicas))

    @classmethod
    def from_table_name(cls, scope: Construct, construct_id: str, *, table_name: str) -> RunLedgerBase:
        """The ledger that another stack of this account and Region made under this `table_name`.

        Raises:
            ConstructConfigError: It is no table's name, or not known at synth.
        """
        return _ExistingRunLedger(scope, construct_id, table_name=table_name)

    def seen_from(self, scope: Construct) -> RunLedgerBase:
        """See `RunLedgerBase.seen_from`."""
        own, other = stack_of(self), stack_of(scope)
        if own is other:
            return self
        if self._name is None:
            raise refusal(
                scope,
                "ledger",
                self.node.path,
                f"a ledger of the same stack, or one with a table_name: {own.node.path} names it differently each time",
            )
        for what in ("account", "region"):
            here, there = getattr(other, what), getattr(own, what)
            if is_text(here) and is_text(there) and here != there:
                raise refusal(scope, "ledger", f"{self.node.path} in {there}", f"a ledger of the same {what}, {here}")
        other.add_stack_dependency(own, "the ledger is known by its name")
        construct_id = f"CronceLedger{self.node.addr[-8:]}"
        existing = other.node.try_find_child(construct_id)
        if isinstance(existing, RunLedgerBase):
            return existing
        return RunLedger.from_table_name(other, construct_id, table_name=self._name)

    def watch(self, scope: Construct, cluster: ecs.ICluster, service: ecs.FargateService, job: str) -> bool:
        """See `RunLedgerBase.watch`."""
        ours = stack_of(scope) is stack_of(self)
        if ours:
            self._observers.watch(scope, cluster, service, job)
        return ours

    def _only_consistent_replicas(self) -> list[str]:
        """The table as it ended up: `table.add_replica` comes after `__init__`."""
        table = self.table.node.default_child
        assert isinstance(table, dynamodb.CfnGlobalTable)  # noqa: S101  # that is what a TableV2 is made of
        stack = Stack.of(self)
        replicas = stack.resolve(table.replicas)
        if len(replicas) < 2 or stack.resolve(table.multi_region_consistency) == _STRONG.name:
            return []
        regions = ", ".join(json.dumps(replica.get("region", replica.get("Region"))) for replica in replicas)
        return [str(refusal(self, "replicas", regions, "one Region, or multi_region_consistency=STRONG"))]


@jsii.implements(cdk.IStableAnyProducer)
class _Jobs:
    """The jobs of a statement, as many as there are in the end."""

    def __init__(self, jobs: list[str]) -> None:
        self._jobs = jobs

    def produce(self) -> list[str]:
        """Their names."""
        return self._jobs


class _ExistingRunLedger(RunLedgerBase):
    def __init__(self, scope: Construct, construct_id: str, *, table_name: str) -> None:
        super().__init__(scope, construct_id)
        name = _checked_table_name(self, table_name)
        if name is None:
            raise refusal(self, "table_name", table_name, "a name that is known at synth")
        self._name = name
        self.table = dynamodb.TableV2.from_table_name(self, "Table", name)
        self.schedule_group = scheduler.ScheduleGroup.from_schedule_group_name(
            self, "Schedules", schedule_group_name(name)
        )
        self.dead_letter_queue = sqs.Queue.from_queue_arn(
            self, "DeadLetters", Stack.of(self).format_arn(service="sqs", resource=_queue_name(name))
        )


def _checked_table_name(scope: Construct, name: object) -> str | None:
    """The name if it is known now; a token's value is not."""
    if name is None or is_token(name):
        return None
    if not isinstance(name, str) or not _TABLE_NAME.fullmatch(name):
        raise refusal(scope, "table_name", name, "3 to 255 of A-Z a-z 0-9 _ . -")
    return name


def _checked_patience(scope: Construct, missed_after: object) -> timedelta:
    patience = duration(scope, "missed_after", missed_after)
    if patience % timedelta(seconds=1) or not timedelta(minutes=1) <= patience <= timedelta(hours=24):
        allowed = "whole seconds, 1m (EventBridge Scheduler is no more exact) to 24h"
        raise refusal(scope, "missed_after", format_duration(patience), allowed)
    return patience


def _queue_name(table_name: str) -> str:
    """The queue that goes with it, at most 80 characters; a queue's name takes no dot."""
    name = table_name.replace(".", "-")
    stem = name if name == table_name and len(name) <= 66 else f"{name[:50]}-{_short_hash(table_name)}"
    return f"{stem}-dead-letters"


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _literal(job: str, *, also: str = "") -> str:
    """`job` as a policy's value: IAM would expand `${...}` in it, and `${$}` is its `$`; so with `also`."""
    if is_token(job):
        return job
    text = job.replace("${", "${$}{")
    return "".join(f"${{{each}}}" if each in also else each for each in text)
