"""What all constructs know of a ledger: its names, its grants, its metrics."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from functools import cached_property
from weakref import WeakKeyDictionary

import aws_cdk as cdk
import jsii
from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sqs as sqs
from constructs import Construct, IConstruct

from cronce.clock.config import SEPARATOR
from cronce.vocabulary.metrics import METRIC_OF_EVENT, dimensions_of
from cronce_cdk._checks import is_text, is_token, job_name, refusal
from cronce_cdk._jsii_cache import stack_of
from cronce_cdk._metrics import count_of
from cronce_cdk._names import function_name

READ_ACTIONS = ("dynamodb:GetItem", "dynamodb:Query")

SWAP_ACTIONS = ("dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query")
"""What a writer needs that never acquires a slot: a person who releases runs, and a clock that dispatches ticks."""

CLAIM_ACTIONS = (*SWAP_ACTIONS, "dynamodb:UpdateItem")
"""What a task needs to claim, renew and finish its runs. It never scans and never deletes."""

_jobs_of_apps: WeakKeyDictionary[IConstruct, dict[tuple[str, ...], str]] = WeakKeyDictionary()
"""App -> (ledger, job) -> path of the construct that has this job."""


class RunLedgerBase(Construct):
    """A run ledger of this app (`RunLedger`) or of another one (`RunLedger.from_table_name`).

    Attributes:
        table: The DynamoDB table that holds the runs.
        schedule_group: The EventBridge Scheduler group of the ledger's jobs.
        dead_letter_queue: Receives ticks whose task could not be started.
        unsettled_queue: Receives messages of that queue that the recorder could not settle in all tries.
    """

    table: dynamodb.ITableV2
    schedule_group: scheduler.IScheduleGroup
    dead_letter_queue: sqs.IQueue
    unsettled_queue: sqs.IQueue

    _name: str | None
    """The table's name, if it is known at synth."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        self._claimed_jobs: dict[iam.IRole, list[str]] = {}

    missed_after: timedelta | None = None
    """How long after its time a tick without a run counts as missed; None if another app decides it."""

    @cached_property
    def identity(self) -> tuple[str, ...]:
        """A value that is equal for two constructs of the same ledger: stage, account, Region and table name.

        The stage is part of it because two stages may go to accounts that are not known at synth. A ledger whose
        name is not known equals only itself.
        """
        if self._name is None:
            return (self.node.path,)
        stack, stage = stack_of(self), cdk.Stage.of(self)
        places = ("" if is_token(where) else where for where in (stack.account, stack.region))
        return (stage.node.path if stage else "", *places, self._name)

    @cached_property
    def _jobs_of_the_app(self) -> dict[tuple[str, ...], str]:
        return _jobs_of_apps.setdefault(self.node.root, {})

    @cached_property
    def table_url(self) -> str:
        """The value of a task's `CRONCE_LEDGER`: `dynamodb://NAME?region=REGION`."""
        return f"dynamodb://{self.table.table_name}?region={self.table.env.region}"

    @cached_property
    def ledger_name(self) -> str:
        """The table's name, a dimension of every metric. As text where it is known, so that no stack exports it."""
        return self._name or self.table.table_name

    @cached_property
    def schedule_group_ref(self) -> str:
        """The group's name. For a group of this app it is a reference, so that the group is created first."""
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
        """Allow `grantee` to claim and finish runs of `job`, and nothing on other jobs.

        Raises:
            ConstructConfigError: The ledger cannot hold a job of this name.
        """
        return self._grant(grantee, CLAIM_ACTIONS, job)

    def let_claim(self, role: iam.IRole, job: str) -> None:
        """Allow the same as `grant_claim` to a role that several jobs share, in one statement that names them all.

        One statement per job would exceed IAM's limit for a policy at about a hundred jobs.
        """
        jobs = self._claimed_jobs.get(role)
        if jobs is None:
            jobs = self._claimed_jobs[role] = []
            role.add_to_principal_policy(
                iam.PolicyStatement(
                    actions=[*CLAIM_ACTIONS],
                    resources=[self.table_arn],
                    conditions={"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": cdk.Lazy.any(_Jobs(jobs))}},
                )
            )
        jobs.append(_literal(job))

    def grant_dispatch(self, grantee: iam.IGrantable, clock: str) -> iam.Grant:
        """Allow `grantee` to hold the lease of `clock` and to claim the ticks of its jobs, `<clock>:<job>`.

        Raises:
            ConstructConfigError: The ledger cannot hold a job of this name.
        """
        name = _literal(job_name(self, clock), also="*?")
        return self._grant_on(grantee, SWAP_ACTIONS, "ForAllValues:StringLike", [name, f"{name}{SEPARATOR}*"])

    def grant_read(self, grantee: iam.IGrantable, job: str | None = None) -> iam.Grant:
        """Allow `grantee` to read the runs of `job`, or of all jobs.

        Raises:
            ConstructConfigError: The ledger cannot hold a job of this name.
        """
        return self._grant(grantee, READ_ACTIONS, job)

    def grant_release(self, grantee: iam.IGrantable, job: str | None = None) -> iam.Grant:
        """Allow `grantee` to read runs of `job`, or of all jobs, and to write them, as `cronce release` does.

        This is for people. It also allows claiming runs, which cannot be told apart: both write a run's row.

        Raises:
            ConstructConfigError: The ledger cannot hold a job of this name.
        """
        return self._grant(grantee, SWAP_ACTIONS, job)

    def grant_rerun(self, grantee: iam.IGrantable) -> iam.Grant:
        """Allow `grantee` to invoke the ledger's rerun function, as `cronce rerun --through` does, and nothing else.

        This is for people who must not hold `ScheduledTask.grant_run`: they choose a job, a period and a reason, and no
        command. A `RunLedger` creates the function at the first grant; another app's ledger must have it.
        `grant_read` is needed as well for `--follow`.

        Raises:
            ConstructConfigError: The function is in another stack, and the ledger has no `table_name`.
        """
        arn = self.rerun_function_arn
        if isinstance(grantee, Construct):
            arn = self.seen_from(grantee).rerun_function_arn
        return iam.Grant.add_to_principal(grantee=grantee, actions=["lambda:InvokeFunction"], resource_arns=[arn])

    @property
    def rerun_function_arn(self) -> str:
        """The ARN of the function behind `cronce rerun --through`, by its name."""
        assert self._name is not None  # noqa: S101  # only a `RunLedger` has none, and knows its function
        return cdk.Stack.of(self).format_arn(
            service="lambda",
            resource="function",
            resource_name=function_name(self._name, "rerun"),
            arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
        )

    def metric_missed(self, *, job: str | None = None, period: Duration | None = None) -> cloudwatch.Metric:
        """Count ticks that were not delivered, of one job or of all."""
        return self._metric("missed", job, period)

    def metric_lost(self, *, job: str | None = None, period: Duration | None = None) -> cloudwatch.Metric:
        """Count runs whose lease expired without a word from their owner, of one job or of all."""
        return self._metric("run_lost", job, period)

    def metric_launch_failed(self, *, job: str | None = None, period: Duration | None = None) -> cloudwatch.Metric:
        """Count ticks whose task could not be started or stopped before it claimed, of one job or of all."""
        return self._metric("launch_failed", job, period)

    def metric_held(self, *, job: str | None = None, period: Duration | None = None) -> cloudwatch.Metric:
        """Count runs that wait for a person because of `on_lost=HOLD`, of one job or of all."""
        return self._metric("run_held", job, period)

    def metric_given_up(self, *, job: str | None = None, period: Duration | None = None) -> cloudwatch.Metric:
        """Count failed or missed runs that no machine starts again, of one job or of all."""
        return self._metric("run_given_up", job, period)

    def metric_unclaimed(self, *, job: str | None = None, period: Duration | None = None) -> cloudwatch.Metric:
        """Count tasks that ended with exit code 0 and never asked the ledger, of one job or of all."""
        return self._metric("unclaimed", job, period)

    def metric_not_judged(self, *, job: str | None = None, period: Duration | None = None) -> cloudwatch.Metric:
        """Count ticks that the watchdog did not judge: too many at once, or older than the table."""
        return self._metric("ticks_not_judged", job, period)

    def metric_schedule_gone(self, *, job: str | None = None, period: Duration | None = None) -> cloudwatch.Metric:
        """Count jobs that the watchdog knows and whose schedule does not exist any more."""
        return self._metric("schedule_gone", job, period)

    def metric_unreadable(self, *, job: str | None = None, period: Duration | None = None) -> cloudwatch.Metric:
        """Count rows that the functions found and cannot read, of one job or of all."""
        return self._metric("row_unreadable", job, period)

    def metric_events_ignored(self, *, period: Duration | None = None) -> cloudwatch.Metric:
        """Count events and dead letters that do not fit the definition of the job that they name."""
        return self._metric("event_ignored", None, period)

    def metric_pinned_count_wrong(self, *, period: Duration | None = None) -> cloudwatch.Metric:
        """Count the watchdog's looks that found a pinned service with a desired count other than one."""
        return self._metric("pinned_count_wrong", None, period)

    def metric_dead_letters(self, *, period: Duration | None = None, statistic: str = "Maximum") -> cloudwatch.Metric:
        """Count the messages in the dead-letter queue: what the recorder could not settle yet."""
        return self.dead_letter_queue.metric_approximate_number_of_messages_visible(period=period, statistic=statistic)

    def metric_unsettled(self, *, period: Duration | None = None, statistic: str = "Maximum") -> cloudwatch.Metric:
        """Count the messages that the recorder could not settle in all tries: a person must look at them."""
        return self.unsettled_queue.metric_approximate_number_of_messages_visible(period=period, statistic=statistic)

    def admit(self, task: Construct, path: str, job: str) -> None:
        """Register a job of this app.

        Raises:
            ConstructConfigError: Another construct, in any stack, has a job of this name. Each would refuse the
                other's runs.
        """
        other = self._jobs_of_the_app.setdefault((*self.identity, job), path)
        if other != path and is_text(job):
            raise refusal(task, "job", job, f"a name that no other construct uses; {other} uses this one")

    def admit_table(self, ledger: Construct) -> None:
        """Register the table of a ledger of this app.

        Raises:
            ConstructConfigError: Another `RunLedger` creates a table of this name in this account and Region.
        """
        if self._name is None:
            return
        other = self._jobs_of_the_app.setdefault(("table", *self.identity), ledger.node.path)
        if other != ledger.node.path:
            raise refusal(ledger, "table_name", self._name, f"a name that no other ledger uses; {other} uses this one")

    def seen_from(self, scope: Construct) -> RunLedgerBase:
        """Return this ledger as constructs of `scope`'s stack refer to it, without an export that would tie the stacks.

        Raises:
            ConstructConfigError: The ledger is in another stack and has no `table_name`, or is in another account or
                Region.
        """
        del scope
        return self

    def watch(self, scope: Construct, cluster: ecs.ICluster, service: ecs.FargateService, job: str) -> bool:
        """Have the watchdog check the count of a pinned service and the recorder free its lease when its task stops.

        Returns:
            False if this is not possible: another stack owns the functions, and they cannot be changed from here.
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


@jsii.implements(cdk.IStableAnyProducer)
class _Jobs:
    """The jobs of a statement at the end of synth."""

    def __init__(self, jobs: list[str]) -> None:
        self._jobs = jobs

    def produce(self) -> list[str]:
        """Return their names."""
        return self._jobs


def _literal(job: str, *, also: str = "") -> str:
    """Return `job` as a literal value of a policy: IAM expands `${...}`, and `${$}` stands for `$`; same for `also`."""
    if is_token(job):
        return job
    text = job.replace("${", "${$}{")
    return "".join(f"${{{each}}}" if each in also else each for each in text)
