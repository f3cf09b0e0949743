"""The metrics of a ledger: of one of its jobs, or of all."""

from __future__ import annotations

from datetime import timedelta
from functools import cached_property

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from cronce.vocabulary.metrics import METRIC_OF_EVENT, dimensions_of
from cronce_cdk._checks import job_name, refusal
from cronce_cdk._metrics import data_point, metric_of


class LedgerMetrics(Construct):
    """The part of a ledger that CloudWatch measures.

    Attributes:
        table: The DynamoDB table that holds the runs.
        dead_letter_queue: Receives ticks whose task could not be started.
        unsettled_queue: Receives messages of that queue that the recorder could not settle in all tries.
    """

    table: dynamodb.ITableV2
    dead_letter_queue: sqs.IQueue
    unsettled_queue: sqs.IQueue

    _name: str | None
    """The table's name, if it is known at synth."""

    @cached_property
    def ledger_name(self) -> str:
        """The table's name, a dimension of every metric. As text where it is known, so that no stack exports it."""
        return self._name or self.table.table_name

    def metric_too_long(
        self, *, job: str | None = None, period: timedelta | Duration | None = None
    ) -> cloudwatch.Metric:
        """Count the watchdog's looks at runs that take longer than they may, of one job or of all."""
        return self._metric("run_too_long", job, period)

    def metric_no_success(
        self, *, job: str | None = None, period: timedelta | Duration | None = None
    ) -> cloudwatch.Metric:
        """Count the watchdog's looks at jobs that have had no success for too long, of one job or of all."""
        return self._metric("no_success", job, period)

    def metric_failed(self, *, period: timedelta | Duration | None = None) -> cloudwatch.Metric:
        """Count attempts that failed, of all jobs; of one job, `ScheduledTask.metric_failed` does."""
        return self._metric("failed", None, period)

    def metric_missed(self, *, job: str | None = None, period: timedelta | Duration | None = None) -> cloudwatch.Metric:
        """Count ticks that were not delivered, of one job or of all."""
        return self._metric("missed", job, period)

    def metric_lost(self, *, job: str | None = None, period: timedelta | Duration | None = None) -> cloudwatch.Metric:
        """Count runs whose lease expired without a word from their owner, of one job or of all."""
        return self._metric("run_lost", job, period)

    def metric_launch_failed(
        self, *, job: str | None = None, period: timedelta | Duration | None = None
    ) -> cloudwatch.Metric:
        """Count ticks whose task could not be started or stopped before it claimed, of one job or of all."""
        return self._metric("launch_failed", job, period)

    def metric_held(self, *, job: str | None = None, period: timedelta | Duration | None = None) -> cloudwatch.Metric:
        """Count runs that wait for a person because of `on_lost=HOLD`, of one job or of all."""
        return self._metric("run_held", job, period)

    def metric_given_up(
        self, *, job: str | None = None, period: timedelta | Duration | None = None
    ) -> cloudwatch.Metric:
        """Count failed or missed runs that no machine starts again, of one job or of all."""
        return self._metric("run_given_up", job, period)

    def metric_unclaimed(
        self, *, job: str | None = None, period: timedelta | Duration | None = None
    ) -> cloudwatch.Metric:
        """Count tasks that ended with exit code 0 and never asked the ledger, of one job or of all."""
        return self._metric("unclaimed", job, period)

    def metric_not_judged(
        self, *, job: str | None = None, period: timedelta | Duration | None = None
    ) -> cloudwatch.Metric:
        """Count ticks that the watchdog did not judge: too many at once, or older than the table."""
        return self._metric("ticks_not_judged", job, period)

    def metric_schedule_gone(
        self, *, job: str | None = None, period: timedelta | Duration | None = None
    ) -> cloudwatch.Metric:
        """Count jobs that the watchdog knows and whose schedule does not exist any more."""
        return self._metric("schedule_gone", job, period)

    def metric_unreadable(
        self, *, job: str | None = None, period: timedelta | Duration | None = None
    ) -> cloudwatch.Metric:
        """Count rows that the functions found and cannot read, of one job or of all."""
        return self._metric("row_unreadable", job, period)

    def metric_events_ignored(self, *, period: timedelta | Duration | None = None) -> cloudwatch.Metric:
        """Count events and dead letters that do not fit the definition of the job that they name."""
        return self._metric("event_ignored", None, period)

    def metric_pinned_count_wrong(self, *, period: timedelta | Duration | None = None) -> cloudwatch.Metric:
        """Count the watchdog's looks that found a pinned service with a desired count other than one."""
        return self._metric("pinned_count_wrong", None, period)

    def metric_dead_letters(
        self, *, period: timedelta | Duration | None = None, statistic: str = "Maximum"
    ) -> cloudwatch.Metric:
        """Count the messages in the dead-letter queue: what the recorder could not settle yet."""
        return self._waiting(self.dead_letter_queue, period, statistic)

    def metric_unsettled(
        self, *, period: timedelta | Duration | None = None, statistic: str = "Maximum"
    ) -> cloudwatch.Metric:
        """Count the messages that the recorder could not settle in all tries: a person must look at them."""
        return self._waiting(self.unsettled_queue, period, statistic)

    def _waiting(self, queue: sqs.IQueue, period: object, statistic: object) -> cloudwatch.Metric:
        if not isinstance(statistic, str) or not statistic:
            raise refusal(self, "statistic", statistic, "text")
        length = data_point(self, period)
        return queue.metric_approximate_number_of_messages_visible(period=length, statistic=statistic)

    def _metric(self, event: str, job: str | None, period: timedelta | Duration | None) -> cloudwatch.Metric:
        """Of one job, or of the ledger: CloudWatch does not sum the metrics of all jobs for an alarm."""
        name = None if job is None else job_name(self, job)
        return metric_of(self, METRIC_OF_EVENT[event], dimensions_of(self.ledger_name, job=name), period=period)
