"""The names of the metrics: what the log lines carry, and what alarms are set on."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

NAMESPACE = "cronce"
"""The CloudWatch namespace of every metric; the dimension is `Job`."""

RUN_DURATION = "RunDuration"
"""Seconds that the work took."""

METRIC_OF_EVENT: Mapping[str, str] = MappingProxyType(
    {
        "claimed": "RunClaimed",
        "refused": "RunRefused",
        "succeeded": "RunSucceeded",
        "failed": "RunFailed",
        "lost": "LeaseLost",
        "unavailable": "LedgerUnavailable",
    }
)
"""Event of a log line -> the metric that counts it."""
