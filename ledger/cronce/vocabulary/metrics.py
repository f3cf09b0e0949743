"""The names of the metrics: what the log lines carry, and what alarms are set on."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

NAMESPACE = "cronce"
"""The CloudWatch namespace of every metric."""

LEDGER_DIMENSION = "Ledger"
"""The dimension of every metric, so that two ledgers of an account never share one."""

DIMENSIONS: Mapping[str, str] = MappingProxyType({"job": "Job", "clock": "Clock"})
"""Field of a log line -> the dimension that it adds to the ledger's. There is one set of dimensions for the ledger
alone and one per field: CloudWatch does not sum the metrics of all jobs for an alarm."""


def dimensions_of(ledger: str, *, job: str | None = None, clock: str | None = None) -> dict[str, str]:
    """Return the dimensions of the metrics of a ledger, or of one job or clock of it."""
    given = {LEDGER_DIMENSION: ledger, DIMENSIONS["job"]: job, DIMENSIONS["clock"]: clock}
    return {name: dimension_value(value) for name, value in given.items() if value is not None}


def dimension_value(text: str) -> str:
    """Return the text as CloudWatch takes it: ASCII, at most 1,024 characters (CloudWatch API Reference, Dimension)."""
    return text.encode("ascii", "backslashreplace").decode()[:1024]


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
        "run_held": "RunHeld",
        "run_given_up": "RunGivenUp",
        "unclaimed": "RunUnclaimed",
        "event_ignored": "EventsIgnored",
        "row_unreadable": "RowUnreadable",
        "unreadable_job": "RowUnreadable",
        "ticks_not_judged": "TicksNotJudged",
        "schedule_gone": "ScheduleGone",
        "run_too_long": "RunTooLong",
        "no_success": "NoSuccess",
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
