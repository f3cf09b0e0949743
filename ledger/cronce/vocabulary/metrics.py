"""The names of the metrics: what the log lines carry, and what alarms are set on."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

NAMESPACE = "cronce"
"""The CloudWatch namespace of every metric."""

DIMENSIONS: Mapping[str, str] = MappingProxyType({"job": "Job", "ledger": "Ledger", "clock": "Clock"})
"""Field of a log line -> the dimension that it is. Each is a set of its own: an alarm cannot be set on all jobs of
a ledger, or of a clock, otherwise."""

RUN_DURATION = "RunDuration"
"""Seconds that the work took."""

TICK_LATENESS = "TickLateness"
"""Seconds from a tick's nominal time until its target had taken it."""

METRIC_OF_SECONDS: Mapping[str, str] = MappingProxyType({"duration": RUN_DURATION, "lateness": TICK_LATENESS})
"""Field of a log line that holds seconds -> the metric that it is."""

METRIC_OF_EVENT: Mapping[str, str] = MappingProxyType(
    {
        "claimed": "RunClaimed",
        "refused": "RunRefused",
        "succeeded": "RunSucceeded",
        "failed": "RunFailed",
        "lost": "LeaseLost",
        "unavailable": "LedgerUnavailable",
        "missed": "TickMissed",
        "launch_failed": "LaunchFailed",
        "run_lost": "RunLost",
        "relaunched": "RunRelaunched",
        "caught_up": "TickCaughtUp",
        "pinned_count_wrong": "PinnedCountWrong",
        "tick_dispatched": "TickDispatched",
        "tick_failed": "TickFailed",
        "tick_missed": "TickMissed",
        "leading": "LeadershipTaken",
        "released": "LeadershipReleased",
        "leads": "Leading",
    }
)
"""Event of a log line -> the metric that counts it, by the line's `count` where it has one."""
