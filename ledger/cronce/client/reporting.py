"""One JSON line on stderr per event of a run; with `CRONCE_METRICS=emf` it is a metric too."""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime

from cronce.vocabulary.environment import LEDGER, METRICS
from cronce.vocabulary.metrics import (
    LEDGER_DIMENSION,
    METRIC_OF_EVENT,
    METRIC_OF_SECONDS,
    NAMESPACE,
    dimensions_of,
)
from cronce.vocabulary.names import ledger_name


def report(event: str, *, level: str = "INFO", **fields: object) -> None:
    """Write the line: `time`, `level`, and a key `cronce.<noun>` for each field that is not None.

    Args:
        event: What happened: claimed, refused, succeeded, failed, lost, unavailable, ...
        level: `INFO` or `ERROR`.
        fields: Details; `duration` and `lateness` in seconds, `count` if it is not 1. `ledger` (the table's
            name, by default that of `CRONCE_LEDGER`), `job` and `clock` are the metric's dimensions.
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
    count = fields.get("count")
    metrics: dict[str, object] = {METRIC_OF_EVENT[event]: count if isinstance(count, int) else 1}
    units = [{"Name": METRIC_OF_EVENT[event], "Unit": "Count"}]
    for field, name in METRIC_OF_SECONDS.items():
        if isinstance(seconds := fields.get(field), float):
            metrics[name] = seconds
            units.append({"Name": name, "Unit": "Seconds"})
    ledger = fields.get("ledger") or ledger_name(os.environ.get(LEDGER, "")) or "unknown"
    about = {name: str(fields[name]) for name in ("job", "clock") if fields.get(name)}
    of = dimensions_of(str(ledger), **about)
    sets = [[LEDGER_DIMENSION], *([LEDGER_DIMENSION, name] for name in of if name != LEDGER_DIMENSION)]
    directive = {"Namespace": NAMESPACE, "Dimensions": sets, "Metrics": units}
    envelope = {"Timestamp": int(at.timestamp() * 1000), "CloudWatchMetrics": [directive]}
    return {"_aws": envelope} | of | metrics
