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
from cronce_cdk._checks import Tree, duration, is_text, kinds, refusal

_SHORT = [timedelta(seconds=seconds) for seconds in (1, 5, 10, 20, 30)]
_LONGEST_BY_PERIOD = (
    (timedelta(minutes=1), timedelta(hours=2)),
    (timedelta(minutes=5), timedelta(days=1)),
    (timedelta(hours=1), timedelta(days=7)),
)
"""Length of a data point -> longest evaluation interval: 1 day, or 7 days for data points of at least an hour
(CloudWatch API Reference, PutMetricAlarm)."""


def metric_of(
    scope: Tree,
    name: str,
    dimensions: Mapping[str, str],
    *,
    namespace: str = NAMESPACE,
    statistic: str = "Sum",
    period: object = None,
    label: str | None = None,
    color: str | None = None,
) -> cloudwatch.Metric:
    """Return a metric with these dimensions.

    Raises:
        ConstructConfigError: An argument is of another type.
    """
    kinds(scope, str, {"metric_name": name, "statistic": statistic, "label": label, "color": color})
    for argument, text in {"metric_name": name, "statistic": statistic}.items():
        if not text:
            raise refusal(scope, argument, text, "text")
    try:
        return cloudwatch.Metric(
            namespace=namespace,
            metric_name=name,
            dimensions_map={**dimensions},
            statistic=statistic,
            period=data_point(scope, period),
            label=label,
            color=color,
        )
    except RuntimeError as error:  # such as a statistic that CloudWatch does not have
        raise refusal(scope, "metric", name, f"what CloudWatch takes: {str(error).splitlines()[0]}") from error


def data_point(scope: Tree, period: object) -> cdk.Duration | None:
    """Return the length of a data point; None for CDK's five minutes.

    Raises:
        ConstructConfigError: CloudWatch has no data points of that length (API Reference, GetMetricData).
    """
    if period is None:
        return None
    length = duration(scope, "period", period)
    if length not in _SHORT and (length <= timedelta(0) or length % timedelta(minutes=1)):
        raise refusal(scope, "period", format_duration(length), "1s, 5s, 10s, 20s, 30s or whole minutes")
    return cdk.Duration.seconds(int(length.total_seconds()))


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
    if not is_text(construct_id) or not construct_id or scope.node.try_find_child(construct_id):
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
