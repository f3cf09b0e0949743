"""One JSON line on stderr for what happens to a run; with `CRONCE_METRICS=emf` a metric as well."""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime

from cronce.environment import METRICS
from cronce.metrics import METRIC_OF_EVENT, NAMESPACE, RUN_DURATION


def report(event: str, *, level: str = "INFO", **fields: object) -> None:
    """Write the line: `time`, `level`, and a key `cronce.<noun>` for everything that is not None.

    Args:
        event: What happened: claimed, refused, succeeded, failed, lost, unavailable, ...
        level: `INFO` or `ERROR`.
        fields: What about; `duration` in seconds, `job` also becomes the metric's dimension.
    """
    at = datetime.now(UTC)
    line: dict[str, object] = {"time": at.isoformat(timespec="milliseconds"), "level": level, "cronce.event": event}
    line |= {f"cronce.{name}": value for name, value in fields.items() if value is not None}
    if os.environ.get(METRICS) == "emf" and event in METRIC_OF_EVENT:
        line |= _embedded_metrics(event, at, fields)
    sys.stderr.write(json.dumps(line, default=str) + "\n")
    sys.stderr.flush()


def _embedded_metrics(event: str, at: datetime, fields: dict[str, object]) -> dict[str, object]:
    """The keys that make a log line a metric (CloudWatch User Guide, embedded metric format)."""
    metrics: dict[str, object] = {METRIC_OF_EVENT[event]: 1}
    units = [{"Name": METRIC_OF_EVENT[event], "Unit": "Count"}]
    if isinstance(duration := fields.get("duration"), float):
        metrics[RUN_DURATION] = duration
        units.append({"Name": RUN_DURATION, "Unit": "Seconds"})
    directive = {"Namespace": NAMESPACE, "Dimensions": [["Job"]], "Metrics": units}
    envelope = {"Timestamp": int(at.timestamp() * 1000), "CloudWatchMetrics": [directive]}
    return {"_aws": envelope, "Job": str(fields.get("job") or "unknown")} | metrics
