"""The ledger: the table, its schedule group, its dead-letter queue and the functions that watch over it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from typing import Any

from aws_cdk import Duration, RemovalPolicy, Stack, Stage
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from cronce.vocabulary.names import schedule_group_name
from cronce_cdk._account_and_region import deployed_together, is_of, same_place
from cronce_cdk._checks import FinishedTree, is_text, is_token, kinds, listed, refusal
from cronce_cdk._existing_table import KEY_SCHEMA, TIME_TO_LIVE, checked_table
from cronce_cdk._jsii_cache import stack_of, top_of
from cronce_cdk._limits import TABLE_NAME
from cronce_cdk._names import function_name, queue_name
from cronce_cdk._observers import Observers, board_function, rerun_function
from cronce_cdk.function_settings import FunctionSettings, checked_settings, seconds_of
from cronce_cdk.keys import LedgerKeys, checked_keys, let_logs_use
from cronce_cdk.run_ledger_base import RunLedgerBase, checked_patience

_MOST_RECEIVES = 100
"""Tries of the recorder for a dead letter, six minutes apart: a ledger may be away for ten hours."""

_STRONG = dynamodb.MultiRegionConsistency.STRONG


class RunLedger(RunLedgerBase):
    """A ledger: a DynamoDB table with point-in-time recovery that is kept when its stack is deleted.

    It also creates the schedule group of its jobs, a dead-letter queue for ticks that could not be started, and two
    Lambda functions. The recorder settles the run of a task as soon as ECS reports that the task stopped. The
    watchdog checks each minute for ticks that were not delivered and for runs whose lease expired. `grant_rerun` adds a
    third one, and `board=True` one that shows the runs on a dashboard.

    Example:
        ```python
        ledger = RunLedger(stack, "Runs", table_name="runs")
        elsewhere = RunLedger.from_table_name(other_stack, "Runs", table_name="runs")
        ```

    Attributes:
        recorder: The recorder's Lambda function.
        watchdog: The watchdog's Lambda function.
        board: The Lambda function that shows the runs on a dashboard; None without `board=True`.

    Args:
        scope: The construct that owns the ledger.
        construct_id: Its ID in that scope.
        table_name: The table's name; by default CloudFormation generates one. Jobs of other stacks need it, because
            they refer to the ledger by name.
        table: A table that exists already, of this app or imported, instead of one that the ledger creates. It needs
            `job` and `key`, both texts, as its keys, and should have time to live on `expires_at`.
        keys: Customer-managed KMS keys for the table, the queues, the logs and the schedules.
        clusters: The clusters of the jobs, to limit the task events that invoke the recorder, and the tasks that the
            watchdog may look at. None for every cluster of the account and Region.
        functions: How the functions run: memory, timeouts, concurrency, runtime, log retention, VPC.
        missed_after: How long after its time (and its flexible window) a tick without a run counts as missed.
        board: True to create the function behind `board_widget()`.
        replicas: Copies in other Regions. They need `multi_region_consistency=STRONG`: otherwise two Regions could
            both admit the same run.
        multi_region_consistency: How the copies are kept consistent.
        witness_region: The Region that votes without a copy, for a table with one replica.

    Raises:
        ConstructConfigError: An argument can never work.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        table_name: str | None = None,
        table: dynamodb.ITableV2 | dynamodb.ITable | None = None,
        keys: LedgerKeys | None = None,
        clusters: Sequence[ecs.ICluster] | None = None,
        missed_after: timedelta | Duration = timedelta(minutes=5),
        functions: FunctionSettings | None = None,
        board: bool = False,
        replicas: Sequence[dynamodb.ReplicaTableProps] | None = None,
        multi_region_consistency: dynamodb.MultiRegionConsistency | None = None,
        witness_region: str | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.keys = checked_keys(self, keys)
        self._name = _checked_table_name(self, table_name)
        self.missed_after = checked_patience(self, missed_after)
        self._clusters = listed(self, "clusters", clusters or (), "cluster_arn", "ECS clusters")
        for cluster in self._clusters:
            same_place(self, "clusters", cluster, cluster.cluster_arn, stack_of(self))
        self._functions = checked_settings(self, functions)
        kinds(self, dynamodb.MultiRegionConsistency, {"multi_region_consistency": multi_region_consistency})
        kinds(self, str, {"witness_region": witness_region})
        kinds(self, bool, {"board": board})
        copies = listed(self, "replicas", replicas or (), "region", "dynamodb.ReplicaTableProps")
        if table is None:
            self._check_replicas(copies, multi_region_consistency, witness_region)
            self.admit_table(self)
            self.table = self._new_table(table_name, copies, multi_region_consistency, witness_region)
        else:
            given = {"table_name": table_name, "replicas": copies, "witness_region": witness_region}
            for argument, value in {**given, "keys.table": self.keys.table}.items():
                if value:
                    raise refusal(self, argument, value, f"no {argument} together with table: that has its own")
            self.table = checked_table(self, table)
            self.keys = replace(self.keys, table=table.encryption_key)
            self._name = self.table.table_name if is_text(self.table.table_name) else None
            self.admit_table(self)
        let_logs_use(self, self.keys.logs)
        self.schedule_group = scheduler.ScheduleGroup(
            self,
            "Schedules",
            schedule_group_name=self._name and schedule_group_name(self._name),
            # Without its ledger no job may start.
            removal_policy=RemovalPolicy.DESTROY,
        )
        encryption = _encryption(self.keys)
        self.unsettled_queue = sqs.Queue(
            self,
            "Unsettled",
            queue_name=self._name and queue_name(self._name, "unsettled"),
            **encryption,
            enforce_ssl=True,
            retention_period=Duration.days(14),
        )
        self.dead_letter_queue = sqs.Queue(
            self,
            "DeadLetters",
            queue_name=self._name and queue_name(self._name, "dead-letters"),
            **encryption,
            enforce_ssl=True,
            retention_period=Duration.days(14),
            # Six times the timeout of the function that reads it (Lambda Developer Guide).
            visibility_timeout=Duration.seconds(6 * seconds_of(self._functions.recorder_timeout)),
            dead_letter_queue=sqs.DeadLetterQueue(queue=self.unsettled_queue, max_receive_count=_MOST_RECEIVES),
        )
        self._observers = Observers(self, self, self._clusters, self.missed_after, self._functions)
        self.recorder = self._observers.recorder.function
        self.watchdog = self._observers.watchdog.function
        self.board: lambda_.Function | None = None
        if board:
            named = self._name and function_name(self._name, "board")
            self.board = board_function(self, self, named, self._functions).function
        self.node.add_validation(FinishedTree(self._only_consistent_replicas))

    @classmethod
    def from_table_name(
        cls, scope: Construct, construct_id: str, *, table_name: str, keys: LedgerKeys | None = None
    ) -> RunLedgerBase:
        """Return the ledger that another stack of this account and Region created with this `table_name`.

        Args:
            scope: The construct that owns the reference.
            construct_id: Its ID in that scope.
            table_name: The table's name.
            keys: The customer-managed keys of that ledger, if it has any: imported by their ARNs.

        Raises:
            ConstructConfigError: The name cannot be a table's, or is not known at synth.
        """
        return _ExistingRunLedger(scope, construct_id, table_name=table_name, keys=keys)

    def seen_from(self, scope: Construct) -> RunLedgerBase:
        """See `RunLedgerBase.seen_from`."""
        own, other = stack_of(self), stack_of(scope)
        if deployed_together(own, other):
            return self
        if self._name is None:
            raise refusal(
                scope,
                "ledger",
                self.node.path,
                f"a ledger of the same stack, or one with a table_name: {own.node.path} has a generated name",
            )
        if _stage(own) != _stage(other):
            allowed = "one of the same stage, or RunLedger.from_table_name(...) in this one"
            raise refusal(scope, "ledger", self.node.path, allowed)
        for what in ("account", "region"):
            here, there = getattr(other, what), getattr(own, what)
            if is_text(here) and is_text(there) and here != there:
                raise refusal(scope, "ledger", f"{self.node.path} in {there}", f"a ledger in the same {what}, {here}")
        for cluster in self._clusters:
            if isinstance(cluster, ecs.Cluster) and is_of(cluster, other):
                allowed = f"a ledger without {cluster.node.path} in its clusters: the stacks would need each other"
                raise refusal(scope, "ledger", self.node.path, allowed)
        top_of(other).add_stack_dependency(top_of(own), "the ledger is referred to by its name")
        construct_id = f"CronceLedger{self.node.addr[-8:]}"
        existing = other.node.try_find_child(construct_id)
        if isinstance(existing, RunLedgerBase):
            return existing
        return RunLedger.from_table_name(other, construct_id, table_name=self._name, keys=self.keys)

    @cached_property
    def rerun_function(self) -> lambda_.Function:
        """The function that has a run started for a person; created when it is first asked for."""
        name = self._name and function_name(self._name, "rerun")
        return rerun_function(self, self, name, self._functions).function

    @property
    def rerun_function_name(self) -> str:
        """See `RunLedgerBase.rerun_function_name`. As text where it is known, so that no stack exports it."""
        function = self.rerun_function
        return function.function_name if self._name is None else super().rerun_function_name

    @property
    def rerun_function_arn(self) -> str:
        """See `RunLedgerBase.rerun_function_arn`."""
        return self.rerun_function.function_arn

    @property
    def board_function_arn(self) -> str:
        """See `RunLedgerBase.board_function_arn`. By its name where that is known, so that no stack exports it."""
        if self.board is None:
            raise refusal(self, "board", False, "RunLedger(board=True), which creates the function")
        return self.board.function_arn if self._name is None else super().board_function_arn

    def observes(self, cluster: ecs.ICluster) -> bool:
        """See `RunLedgerBase.observes`. Two references to one cluster may differ: one by name, one by a token."""
        stack = stack_of(self)
        known = [stack.resolve(each.cluster_arn) for each in self._clusters]
        return not known or stack.resolve(cluster.cluster_arn) in known

    def watch(self, scope: Construct, cluster: ecs.ICluster, service: ecs.FargateService, job: str) -> bool:
        """See `RunLedgerBase.watch`."""
        ours = stack_of(scope) is stack_of(self)
        if ours:
            self._observers.watch(scope, cluster, service, job)
        return ours

    def _check_replicas(
        self, copies: Sequence[dynamodb.ReplicaTableProps], consistency: object, witness_region: str | None
    ) -> None:
        strong, regions = consistency == _STRONG, [copy.region for copy in copies]
        if witness_region is not None and witness_region in (Stack.of(self).region, *regions):
            raise refusal(self, "witness_region", witness_region, "a Region without the table")
        if witness_region is not None and not (strong and len(copies) == 1):
            allowed = "no witness, or one replica and multi_region_consistency=STRONG"
            raise refusal(self, "witness_region", witness_region, allowed)
        if strong and len(copies) + (witness_region is not None) != 2:
            allowed = "two replicas, or one with a witness_region: strong consistency takes three Regions"
            raise refusal(self, "replicas", f"{len(copies)} replicas", allowed)
        if copies and not strong:
            raise refusal(self, "replicas", copies, "no replicas, or multi_region_consistency=STRONG")
        if copies and is_token(Stack.of(self).region):
            raise refusal(self, "replicas", copies, "no replicas, or a stack with a Region that is known at synth")
        if self.keys.table is not None and is_token(Stack.of(self).region):
            allowed = (
                "no key of the table, or a stack with a Region that is known at synth: the table has it per Region"
            )
            raise refusal(self, "keys.table", self.keys.table.node.path, allowed)
        if copies and self.keys.table is not None:
            allowed = "no key with replicas: each replica has its own; create the table, and give it as table="
            raise refusal(self, "keys.table", self.keys.table.node.path, allowed)

    def _new_table(
        self,
        table_name: str | None,
        copies: Sequence[dynamodb.ReplicaTableProps],
        consistency: dynamodb.MultiRegionConsistency | None,
        witness_region: str | None,
    ) -> dynamodb.TableV2:
        attributes = [dynamodb.Attribute(name=name, type=dynamodb.AttributeType.STRING) for name in KEY_SCHEMA.values()]
        key = self.keys.table
        try:
            return dynamodb.TableV2(
                self,
                "Table",
                table_name=table_name,
                partition_key=attributes[0],
                sort_key=attributes[1],
                billing=dynamodb.Billing.on_demand(),
                encryption=None if key is None else dynamodb.TableEncryptionV2.customer_managed_key(key),
                # A strongly consistent global table takes no TTL (Developer Guide, "Global tables: considerations").
                time_to_live_attribute=None if consistency == _STRONG else TIME_TO_LIVE,
                point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                    point_in_time_recovery_enabled=True
                ),
                deletion_protection=True,
                removal_policy=RemovalPolicy.RETAIN,
                replicas=copies or None,
                multi_region_consistency=consistency,
                witness_region=witness_region,
            )
        except RuntimeError as error:
            if not copies:
                raise
            why, regions = str(error).splitlines()[0], ", ".join(copy.region for copy in copies)
            raise refusal(self, "replicas", regions, f"Regions that CDK takes: {why}") from error

    def _only_consistent_replicas(self) -> list[str]:
        """Check the table at the end of synth: `table.add_replica` may be called after `__init__`."""
        table = self.table.node.default_child
        if not isinstance(table, dynamodb.CfnGlobalTable):  # of another app, or the older construct, without replicas
            return []
        stack = Stack.of(self)
        replicas = stack.resolve(table.replicas)
        if len(replicas) < 2 or stack.resolve(table.multi_region_consistency) == _STRONG.name:
            return []
        regions = ", ".join(json.dumps(replica.get("region", replica.get("Region"))) for replica in replicas)
        return [str(refusal(self, "replicas", regions, "one Region, or multi_region_consistency=STRONG"))]


class _ExistingRunLedger(RunLedgerBase):
    def __init__(self, scope: Construct, construct_id: str, *, table_name: str, keys: LedgerKeys | None) -> None:
        super().__init__(scope, construct_id)
        self.keys = checked_keys(self, keys)
        name = _checked_table_name(self, table_name)
        if name is None:
            raise refusal(self, "table_name", table_name, "a name that is known at synth")
        self._name = name
        self.table = dynamodb.TableV2.from_table_name(self, "Table", name)
        self.schedule_group = scheduler.ScheduleGroup.from_schedule_group_name(
            self, "Schedules", schedule_group_name(name)
        )
        self.dead_letter_queue = self._queue("DeadLetters", queue_name(name, "dead-letters"))
        self.unsettled_queue = self._queue("Unsettled", queue_name(name, "unsettled"))

    def _queue(self, construct_id: str, name: str) -> sqs.IQueue:
        arn = Stack.of(self).format_arn(service="sqs", resource=name)
        return sqs.Queue.from_queue_arn(self, construct_id, arn)


def _encryption(keys: LedgerKeys) -> dict[str, Any]:
    """Return how the queues are encrypted."""
    if keys.queues is None:
        return {"encryption": sqs.QueueEncryption.SQS_MANAGED}
    return {"encryption": sqs.QueueEncryption.KMS, "encryption_master_key": keys.queues}


def _checked_table_name(scope: Construct, name: object) -> str | None:
    """Return the name, or None if it is not known at synth."""
    if name is None or (isinstance(name, str) and is_token(name)):
        return None
    if not isinstance(name, str) or not TABLE_NAME.fullmatch(name):
        raise refusal(scope, "table_name", name, "3 to 255 of A-Z a-z 0-9 _ . -")
    return name


def _stage(stack: Stack) -> str:
    stage = Stage.of(stack)
    return stage.node.path if stage else ""
