"""Metrics that tasks, clocks and functions write with their log lines, and alarms on missing data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import timedelta

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from cronce.vocabulary.durations import format_duration
from cronce.vocabulary.metrics import NAMESPACE
from cronce_cdk._checks import refusal

_LONGEST_BY_PERIOD = (
    (timedelta(minutes=1), timedelta(hours=2)),
    (timedelta(minutes=5), timedelta(days=1)),
    (timedelta(hours=1), timedelta(days=7)),
)
"""Length of a data point -> longest evaluation interval: 1 day, or 7 days for data points of at least an hour
(CloudWatch API Reference, PutMetricAlarm)."""


def count_of(name: str, dimensions: Mapping[str, str], *, period: cdk.Duration | None) -> cloudwatch.Metric:
    """Return the number of occurrences in each data point."""
    return cloudwatch.Metric(
        namespace=NAMESPACE, metric_name=name, dimensions_map={**dimensions}, statistic="Sum", period=period
    )


def silence_of(
    scope: Construct, construct_id: str, metric: cloudwatch.Metric, within: timedelta, description: str
) -> cloudwatch.Alarm:
    """Create an alarm for when nothing was counted within that time.

    Raises:
        ConstructConfigError: The time is longer than CloudWatch can evaluate.
    """
    shortest, (_, longest) = timedelta(minutes=1), _LONGEST_BY_PERIOD[-1]
    if not shortest <= within <= longest:
        raise refusal(scope, "within", format_duration(within), "1m to 7d, the longest time that CloudWatch evaluates")
    if scope.node.try_find_child(construct_id):
        raise refusal(scope, "construct_id", construct_id, "a name that no other construct here has")
    period = next(period for period, reach in _LONGEST_BY_PERIOD if within <= reach)
    return cloudwatch.Alarm(
        scope,
        construct_id,
        metric=metric.with_(period=cdk.Duration.seconds(int(period.total_seconds()))),
        threshold=1,
        evaluation_periods=math.ceil(within / period),
        comparison_operator=cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD,
        treat_missing_data=cloudwatch.TreatMissingData.BREACHING,
        alarm_description=f"{description} for {format_duration(within)}",
    )
