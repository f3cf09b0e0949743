"""One line on stderr per event of a run, as JSON or for people; with `CRONCE_METRICS=emf` it is a metric too.

A line that cannot be written is lost, and nothing else: `report` never raises.
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime

from cronce.vocabulary import environment
from cronce.vocabulary.environment import LEDGER, METRICS
from cronce.vocabulary.metrics import (
    LEDGER_DIMENSION,
    METRIC_OF_EVENT,
    METRIC_OF_SECONDS,
    NAMESPACE,
    dimensions_of,
)
from cronce.vocabulary.names import ledger_name

_WAIT_FOR_READER = 1000
"""Milliseconds that a line waits for a pipe that is full. The guard must not hang on a log that nobody reads."""

_VARIABLES = frozenset(value for name, value in vars(environment).items() if name.isupper())

_IN_WORDS = ("attempt", "reason", "exit_code", "error", "holder", "duration")
"""The fields that a line for people has, in their order."""

_style = {"text": False, "quiet": False}


def write_lines(*, text: bool = False, quiet: bool = False) -> None:
    """Choose how this process reports from now on.

    Args:
        text: True for lines for people instead of JSON.
        quiet: True to write only warnings and errors.
    """
    _style.update(text=text, quiet=quiet)


def report(event: str, *, level: str = "INFO", **fields: object) -> None:
    """Write the line: `time`, `level`, and a key `cronce.<noun>` for everything that is not None.

    Args:
        event: What happened: claimed, refused, succeeded, failed, lost, unavailable, ...
        level: `INFO`, `WARNING` or `ERROR`.
        fields: What about; `duration` and `lateness` in seconds, `count` if it is not 1. `ledger` (the table's
            name, by default that of `CRONCE_LEDGER`), `job` and `clock` are the metric's dimensions.
    """
    if _style["quiet"] and level == "INFO":
        return
    with suppress(Exception):
        _write(_for_people(event, fields) if _style["text"] else _as_json(event, level, fields))


def warn_of_unknown_variables(environ: Mapping[str, str]) -> None:
    """Report each `CRONCE_` variable that cronce does not know: a mistyped one would be ignored in silence."""
    unknown = [name for name in environ if name.startswith("CRONCE_") and name not in _VARIABLES]
    if unknown:
        from difflib import get_close_matches  # noqa: PLC0415  # only for a mistake

        for name in unknown:
            close = get_close_matches(name, _VARIABLES, 1)
            hint = f"; did you mean {close[0]}?" if close else ""
            report("unknown_variable", level="WARNING", message=f"{name} is not a variable of cronce{hint}")


def _as_json(event: str, level: str, fields: dict[str, object]) -> str:
    at = datetime.now(UTC)
    line: dict[str, object] = {"time": at.isoformat(timespec="milliseconds"), "level": level, "cronce.event": event}
    line |= {f"cronce.{name}": value for name, value in fields.items() if value is not None}
    if os.environ.get(METRICS) == "emf" and event in METRIC_OF_EVENT:
        line |= _embedded_metrics(event, at, fields)
    import json  # noqa: PLC0415  # with the store; `from cronce import Ledger` alone has no use for it

    return json.dumps(line, default=str)


def _for_people(event: str, fields: dict[str, object]) -> str:
    about = " ".join(str(fields[name]) for name in ("job", "period") if fields.get(name))
    details = [
        f"{fields[name]:.1f} s" if name == "duration" else f"{name.replace('_', ' ')} {fields[name]}"
        for name in _IN_WORDS
        if fields.get(name) is not None
    ]
    suffix = f" ({', '.join(details)})" if details else ""
    message = fields.get("message") or f"{about} {event}{suffix}"
    line = "".join(char if char.isprintable() else repr(char)[1:-1] for char in str(message))
    return f"cronce: {line}"


def _write(line: str) -> None:
    """Write the line past the buffer of `sys.stderr`, which would keep a failed line and fail again at exit."""
    stream = sys.stderr
    if stream is None:
        return
    try:
        descriptor = stream.fileno()
    except (OSError, AttributeError, ValueError):  # a stream without a file
        stream.write(f"{line}\n")
        return
    stream.flush()
    data = f"{line}\n".encode("utf-8", "backslashreplace")
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    while data and poll.poll(_WAIT_FOR_READER):
        data = data[os.write(descriptor, data) :]


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
