"""The trace of a run, as W3C Trace Context names it. It follows from the run, so nothing has to be remembered."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import NamedTuple

from cronce.protocol.records import RunRecord

TRACEPARENT = "TRACEPARENT"
"""The variable that carries the context into a process (OpenTelemetry, environment variables as carriers)."""

_VALID = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?P<trace>(?!0{32})[0-9a-f]{32})-(?P<span>(?!0{16})[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})(-.*)?"
)
_SAMPLED = 1


class TraceContext(NamedTuple):
    """The ids of a span, as hexadecimal digits: 32 of the trace, 16 of a span; no parent is None.

    Not sampled means that whoever began the trace wants no spans of it.
    """

    trace: str
    span: str
    parent: str | None
    sampled: bool

    def __str__(self) -> str:
        """The value of `TRACEPARENT` for what the span starts (W3C Trace Context, level 1)."""
        return f"00-{self.trace}-{self.span}-{self.sampled:02}"


def trace_context(run: RunRecord, environ: Mapping[str, str]) -> TraceContext:
    """The span of the run's attempt: in the trace around this process, else in one that all attempts of the run share.

    Args:
        run: RUNNING or ended.
        environ: Of this process.
    """
    span = sha256(f"{run.job}\n{run.period}\n{run.attempt}\n{run.token}".encode()).hexdigest()[:16]
    if around := _VALID.fullmatch(environ.get(TRACEPARENT, "")):
        return TraceContext(around["trace"], span, around["span"], bool(int(around["flags"], 16) & _SAMPLED))
    return TraceContext(sha256(f"{run.job}\n{run.period}".encode()).hexdigest()[:32], span, None, sampled=True)
