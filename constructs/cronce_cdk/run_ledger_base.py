"""What all constructs know of a ledger: its names, its grants, its alarms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar
from weakref import WeakKeyDictionary

import aws_cdk as cdk
import jsii
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sns as sns
from constructs import Construct, IConstruct

from cronce.clock.config import SEPARATOR
from cronce.vocabulary.durations import format_duration
from cronce.vocabulary.environment import LEDGER
from cronce.vocabulary.names import group_key
from cronce_cdk._alarms import DESCRIPTIONS, add_alarms, check_webhook, tell, tell_webhook
from cronce_cdk._checks import (
    duration,
    grantee_of,
    group_ref,
    is_text,
    is_token,
    job_name,
    kinds,
    listed,
    placed,
    refusal,
)
from cronce_cdk._jsii_cache import stack_of
from cronce_cdk._ledger_metrics import LedgerMetrics
from cronce_cdk._metrics import metric_of
from cronce_cdk._names import function_name
from cronce_cdk._operating import reading
from cronce_cdk.keys import LedgerKeys, table_statements

READ_ACTIONS = ("dynamodb:GetItem", "dynamodb:Query")

SWAP_ACTIONS = ("dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query")
"""What a writer needs that never acquires a slot: a person who releases runs, and a clock that dispatches ticks."""

CLAIM_ACTIONS = (*SWAP_ACTIONS, "dynamodb:UpdateItem")
"""What a task needs to claim, renew and finish its runs. It never scans and never deletes."""

MOST_BOARD_DAYS = 31
"""The most days of a widget's calendar; the function says the same."""

LEDGERS = "a RunLedger, RunLedger.from_table_name(...), or an ExternalLedger"

_jobs_of_apps: WeakKeyDictionary[IConstruct, dict[tuple[str, ...], str]] = WeakKeyDictionary()
"""App -> (ledger, job) -> path of the construct that has this job."""


class RunLedgerBase(LedgerMetrics):
    """A run ledger of this app (`RunLedger`) or of another one (`RunLedger.from_table_name`).

    Attributes:
        schedule_group: The EventBridge Scheduler group of the ledger's jobs.
        keys: The customer-managed keys with which all this is encrypted.
    """

    schedule_group: scheduler.IScheduleGroup
    keys: LedgerKeys = LedgerKeys()

    def __init__(self, scope: Construct, construct_id: str) -> None:
        placed(scope, construct_id)
        super().__init__(scope, construct_id)
        self._claimed_jobs: dict[iam.IRole, list[str]] = {}

    alarm_kinds: ClassVar[Sequence[str]] = tuple(DESCRIPTIONS)
    """The alarms that `add_alarms` can create."""

    url_secrets: Mapping[str, ecs.Secret] = MappingProxyType({})
    """`CRONCE_LEDGER` with its secret, if the ledger's URL is one."""

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

    def grant_claim(self, grantee: iam.IGrantable, job: str, *, exclusion_group: str | None = None) -> iam.Grant:
        """Allow `grantee` to claim and finish runs of `job`, and nothing on other jobs.

        Args:
            grantee: The role of the task.
            job: Name of the job.
            exclusion_group: Its exclusion group, whose row it may write as well.

        Raises:
            ConstructConfigError: The ledger cannot hold a job of this name, or no group can have that name.
        """
        group = () if exclusion_group is None else (group_ref(self, exclusion_group),)
        return self._grant(grantee, CLAIM_ACTIONS, job, *group)

    def let_claim(self, role: iam.IRole, job: str, group: str | None) -> None:
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
            for statement in table_statements(stack_of(self), self.keys, writes=True):
                role.add_to_principal_policy(statement)
        jobs.append(_literal(job))
        if group is not None and group_key(group) not in jobs:
            jobs.append(group_key(group))

    def url_variables(
        self, job: Construct, task_definition: ecs.ITaskDefinition, container_name: str
    ) -> dict[str, str]:
        """Return the variables by which the override of a job's task names this ledger."""
        del job, task_definition, container_name
        return {LEDGER: self.table_url}

    def grant_dispatch(self, grantee: iam.IGrantable, clock: str, *, starts: Sequence[str] = ()) -> iam.Grant:
        """Allow `grantee` to hold the lease of `clock` and to claim the ticks of its jobs, `<clock>:<job>`.

        Args:
            grantee: The clock's role.
            clock: The clock's name.
            starts: The jobs that its targets start. The clock may get single rows of theirs, to see whether they are
                paused. IAM cannot limit this to the row of the pause.

        Raises:
            ConstructConfigError: The ledger cannot hold a job of this name, or `starts` is no list.
        """
        if not isinstance(starts, list | tuple):
            raise refusal(self, "starts", starts, "a list of names of jobs")
        name = _literal(job_name(self, clock), also="*?")
        grant = self._grant_on(grantee, SWAP_ACTIONS, "ForAllValues:StringLike", [name, f"{name}{SEPARATOR}*"])
        if starts:
            keys = {"dynamodb:LeadingKeys": [_literal(job_name(self, job)) for job in starts]}
            only = iam.PolicyStatement(actions=["dynamodb:GetItem"], resources=[self.table_arn])
            only.add_condition("ForAllValues:StringEquals", keys)
            grantee.grant_principal.add_to_principal_policy(only)
        return grant

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
        return self._grant_invoke(grantee, lambda ledger: ledger.rerun_function_arn)

    def grant_operate(
        self,
        grantee: iam.IGrantable,
        *,
        clusters: Sequence[ecs.ICluster] | None = None,
        log_groups: Sequence[logs.ILogGroup] | None = None,
    ) -> None:
        """Allow `grantee` to read all that `cronce why`, `doctor`, `jobs`, `logs`, `open`, `tail` and `board` read.

        Nothing can be written, started or stopped with it: `grant_release` allows `release`, `pause` and `resume`, and
        `grant_rerun` or `ScheduledTask.grant_run` allow `rerun`.

        Args:
            grantee: The role of people on call.
            clusters: The clusters whose tasks may be described. A description includes the task's variables. None for
                all clusters.
            log_groups: The log groups that may be read; None for no log.

        Raises:
            ConstructConfigError: An argument is of another type.
        """
        grantee_of(self, grantee)
        wanted = listed(self, "clusters", clusters or (), "cluster_name", "ECS clusters")
        groups = listed(self, "log_groups", log_groups or (), "log_group_arn", "log groups")
        seen = self.seen_from(grantee) if isinstance(grantee, Construct) else self
        for statement in reading(cdk.Stack.of(self), seen, wanted, groups):
            grantee.grant_principal.add_to_principal_policy(statement)

    @property
    def rerun_function_name(self) -> str:
        """The name of the function behind `cronce rerun --through`, the value of `CRONCE_RERUN_FUNCTION`.

        Raises:
            ConstructConfigError: The ledger has no such function.
        """
        return self._function_name("rerun")

    @property
    def rerun_function_arn(self) -> str:
        """The ARN of that function, by its name.

        Raises:
            ConstructConfigError: The ledger has no such function.
        """
        return self._function_arn("rerun")

    def metric_rerun_errors(self, *, period: timedelta | cdk.Duration | None = None) -> cloudwatch.Metric:
        """Count the requests of people that the rerun function could not answer; a refusal is an answer.

        A `RunLedger` creates the function if it has none yet.
        """
        return metric_of(
            self, "Errors", {"FunctionName": self.rerun_function_name}, namespace="AWS/Lambda", period=period
        )

    @property
    def board_function_arn(self) -> str:
        """The ARN of the function behind `board_widget()`, by its name.

        Raises:
            ConstructConfigError: The ledger has no such function.
        """
        return self._function_arn("board")

    def board_widget(
        self,
        *,
        title: str = "Runs",
        width: int = 24,
        height: int = 12,
        days: int | None = None,
        jobs: Sequence[str] | None = None,
        part: str | None = None,
    ) -> cloudwatch.CustomWidget:
        """Return the runs of this ledger as a widget for a CloudWatch dashboard.

        Whoever looks at the dashboard needs `grant_board`. A ledger of another app must have `board=True` there.

        Args:
            title: The widget's title.
            width: In the columns of a dashboard, 1 to 24.
            height: In the rows of a dashboard.
            days: Days of the calendar, 1 to 31; None for 14.
            jobs: Names of jobs to show instead of all.
            part: Show jobs whose name has this part.

        Raises:
            ConstructConfigError: An argument cannot be used, or the ledger has no such function.
        """
        kinds(self, str, {"title": title, "part": part})
        kinds(self, int, {"width": width, "height": height, "days": days})
        if days is not None and not 1 <= days <= MOST_BOARD_DAYS:
            raise refusal(self, "days", days, f"1 to {MOST_BOARD_DAYS}")
        if isinstance(jobs, str):
            raise refusal(self, "jobs", jobs, "a list of names")
        names = None if jobs is None else [job_name(self, job) for job in jobs]
        given = {"days": days, "jobs": names, "part": part}
        return cloudwatch.CustomWidget(
            function_arn=self.board_function_arn,
            title=title,
            width=width,
            height=height,
            params={name: value for name, value in given.items() if value is not None},
            update_on_resize=False,
            update_on_time_range_change=False,
        )

    def grant_board(self, grantee: iam.IGrantable) -> iam.Grant:
        """Allow `grantee` to invoke the function behind `board_widget()`, as the console does for its viewer.

        Raises:
            ConstructConfigError: The ledger has no such function.
        """
        return self._grant_invoke(grantee, lambda ledger: ledger.board_function_arn)

    def add_alarms(
        self, topic: sns.ITopic | None = None, *, rerun_function: bool = False
    ) -> dict[str, cloudwatch.Alarm]:
        """Create the alarms of the ledger as a whole, however many jobs it has, and return them by kind.

        The topic gets each alarm, and a message with job, period and reason for each run that is missed, held, given
        up, unclaimed or takes too long. It also gets a message when a job had no success for too long, when ticks were
        not judged, and when a schedule does not exist any more.

        Args:
            topic: Receives alarms and messages. None if you add actions to the alarms yourself. A topic of another
                stack needs a policy that lets CloudWatch and EventBridge publish.
            rerun_function: True for an alarm on the errors of the rerun function; a `RunLedger` creates that.

        Raises:
            ConstructConfigError: An argument is of another type, or the ledger has its alarms already.
        """
        kinds(self, bool, {"rerun_function": rerun_function})
        if topic is not None and not hasattr(topic, "topic_arn"):
            raise refusal(self, "topic", topic, "an sns.ITopic, or None")
        if self.node.try_find_child("Alarms"):
            raise refusal(self, "add_alarms", "a second call", "one call per ledger")
        scope = Construct(self, "Alarms")
        alarms = add_alarms(
            scope, self, [kind for kind in self.alarm_kinds if kind != "rerun_errors" or rerun_function]
        )
        if topic is not None:
            tell(scope, self, topic, [*alarms.values()])
        return alarms

    def notify_webhook(self, connection: events.IConnection, *, url: str, channel: str | None = None) -> events.Rule:
        """Send the messages about single runs, which the topic of `add_alarms` gets, to a webhook.

        It gets `{"text": ...}` by POST, at most once per second. A message that fails is sent again for up to an hour.

        Args:
            connection: Holds the secret with which EventBridge calls the webhook, such as Slack's bot token in a header
                `Authorization`. The secret appears in no template of these constructs.
            url: An https URL without a secret in it: `https://slack.com/api/chat.postMessage`.
            channel: Slack's channel, which that method needs.

        Raises:
            ConstructConfigError: An argument cannot be used, or the ledger has its webhook already.
        """
        check_webhook(self, connection, url, channel)
        return tell_webhook(Construct(self, "Webhook"), self, connection, url, channel)

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

    def observes(self, cluster: ecs.ICluster) -> bool:
        """Return False if the recorder does not hear of tasks that stop in this cluster."""
        del cluster
        return True

    def watch(self, scope: Construct, cluster: ecs.ICluster, service: ecs.FargateService, job: str) -> bool:
        """Have the watchdog check the count of a pinned service and the recorder free its lease when its task stops.

        Returns:
            False if this is not possible: another stack owns the functions, and they cannot be changed from here.
        """
        del scope, cluster, service, job
        return False

    def _function_name(self, role: str) -> str:
        assert self._name is not None  # noqa: S101  # only a `RunLedger` has none, and knows its functions
        return function_name(self._name, role)

    def _function_arn(self, role: str) -> str:
        return cdk.Stack.of(self).format_arn(
            service="lambda",
            resource="function",
            resource_name=self._function_name(role),
            arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
        )

    def _grant_invoke(self, grantee: iam.IGrantable, arn_of: Callable[[RunLedgerBase], str]) -> iam.Grant:
        """Allow `grantee` to invoke a function of the ledger, by the ARN that its stack can refer to."""
        grantee_of(self, grantee)
        arn = arn_of(self)  # also for another stack: the ledger creates or refuses the function when it is asked for
        if isinstance(grantee, Construct):
            arn = arn_of(self.seen_from(grantee))
        return iam.Grant.add_to_principal(grantee=grantee, actions=["lambda:InvokeFunction"], resource_arns=[arn])

    def _grant(self, grantee: iam.IGrantable, actions: Sequence[str], job: str | None, *also: str) -> iam.Grant:
        keys = None if job is None else [_literal(job_name(self, job)), *also]
        return self._grant_on(grantee, actions, "ForAllValues:StringEquals", keys)

    def _grant_on(
        self, grantee: iam.IGrantable, actions: Sequence[str], operator: str, keys: Sequence[str] | None
    ) -> iam.Grant:
        grantee_of(self, grantee)
        seen = self.seen_from(grantee) if isinstance(grantee, Construct) else self
        for statement in table_statements(stack_of(seen), seen.keys, writes="dynamodb:PutItem" in actions):
            grantee.grant_principal.add_to_principal_policy(statement)
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


def checked_patience(scope: Construct, missed_after: object) -> timedelta:
    """Return how long after its time a tick without a run counts as missed."""
    patience = duration(scope, "missed_after", missed_after)
    if patience % timedelta(seconds=1) or not timedelta(minutes=1) <= patience <= timedelta(hours=24):
        allowed = "whole seconds, from 1m (the precision of EventBridge Scheduler) to 24h"
        raise refusal(scope, "missed_after", format_duration(patience), allowed)
    return patience
