"""A span and metrics per run, sent by OTLP when the run has ended and is settled (extra `otel`).

Loaded only if an endpoint is set. Whatever the collector does, the run stays as it is settled, and its process ends
after at most five seconds more.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from datetime import datetime, timedelta

from opentelemetry.exporter.otlp.proto.http import metric_exporter, trace_exporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExportResult, MetricsData, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, StatusCode, TraceFlags
from opentelemetry.trace import Status as SpanStatus

from cronce.aws.answers import NoAnswerError
from cronce.aws.sdk import within
from cronce.guard.trace_context import trace_context
from cronce.protocol.records import RunRecord
from cronce.vocabulary.states import Status
from cronce.vocabulary.version import VERSION

_LONGEST = timedelta(seconds=5)

_PROTOCOL = "http/protobuf"
_SCOPE = "cronce"


def send_telemetry(run: RunRecord, environ: Mapping[str, str], *, ledger: str) -> str | None:
    """Send the span of the run's last attempt and its metrics; what was lost and why, or None.

    The environment says where to and how (OpenTelemetry, OTLP exporter configuration).

    Args:
        run: Ended.
        environ: Of this process.
        ledger: The ledger's name, for people.
    """
    protocol = environ.get("OTEL_EXPORTER_OTLP_PROTOCOL") or _PROTOCOL
    if protocol != _PROTOCOL:
        return f"OTEL_EXPORTER_OTLP_PROTOCOL: {protocol!r} is not usable; allowed: {_PROTOCOL}"
    if not logging.getLogger().handlers:  # Python would print what the exporters log, beside the line of the guard
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL + 1)
    try:
        lost = within(_LONGEST, lambda: _lost(run, environ, ledger))
    except NoAnswerError:
        return f"the collector did not answer within {_LONGEST.total_seconds():g} s"
    except Exception as error:  # noqa: BLE001  # a library's; the work is done, and its end is recorded
        return f"nothing could be sent: {type(error).__name__}"
    return f"the collector did not take {' and '.join(lost)}" if lost else None


def _lost(run: RunRecord, environ: Mapping[str, str], ledger: str) -> list[str]:
    resource = Resource.create({} if environ.get("OTEL_SERVICE_NAME") else {SERVICE_NAME: _SCOPE})
    lost = []
    if _is_on(environ, "TRACES") and trace_context(run, environ).sampled:
        exporter = trace_exporter.OTLPSpanExporter(timeout=_LONGEST.total_seconds())
        if exporter.export([_span(run, environ, ledger, resource)]) is not SpanExportResult.SUCCESS:
            lost.append("the span")
    if _is_on(environ, "METRICS") and not _send_metrics(run, ledger, resource):
        lost.append("the metrics")
    return lost


def _is_on(environ: Mapping[str, str], signal: str) -> bool:
    """Whether the signal has an endpoint, and is not switched off."""
    if environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return False
    endpoints = ("OTEL_EXPORTER_OTLP_ENDPOINT", f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT")
    return any(environ.get(name) for name in endpoints) and environ.get(f"OTEL_{signal}_EXPORTER") != "none"


def _span(run: RunRecord, environ: Mapping[str, str], ledger: str, resource: Resource) -> ReadableSpan:
    context = trace_context(run, environ)
    failed = run.status is not Status.SUCCEEDED
    found = {
        **_about(run, ledger),
        "cronce.period": run.period,
        "cronce.attempt": run.attempt,
        "cronce.trigger": run.trigger,
        "process.exit.code": run.exit_code,
    }
    return ReadableSpan(
        name=f"run {run.job}",
        context=_context(context.trace, context.span),
        parent=None if context.parent is None else _context(context.trace, context.parent),
        resource=resource,
        attributes={name: value for name, value in found.items() if value is not None},
        status=SpanStatus(StatusCode.ERROR, run.error or run.reason) if failed else SpanStatus(StatusCode.OK),
        start_time=_nanoseconds(run.claimed_at),
        end_time=_nanoseconds(run.finished_at),
        instrumentation_scope=InstrumentationScope(_SCOPE, VERSION),
    )


def _about(run: RunRecord, ledger: str) -> dict[str, str]:
    """The attributes of the metrics: few values each."""
    about = {"cronce.ledger": ledger, "cronce.job": run.job, "cronce.status": run.status}
    return about | ({"cronce.reason": run.reason} if run.reason else {})


def _context(trace: str, span: str) -> SpanContext:
    return SpanContext(int(trace, 16), int(span, 16), is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def _nanoseconds(at: datetime | None) -> int | None:
    return None if at is None else int(at.timestamp() * 1_000_000) * 1000


class _Exporter(metric_exporter.OTLPMetricExporter):
    """Remembers whether the collector took the metrics: a reader does not say."""

    taken = False

    def export(
        self, metrics_data: MetricsData, timeout_millis: float | None = None, **options: object
    ) -> MetricExportResult:
        """See `OTLPMetricExporter.export`."""
        result = super().export(metrics_data, timeout_millis, **options)
        self.taken = result is MetricExportResult.SUCCESS
        return result


def _send_metrics(run: RunRecord, ledger: str, resource: Resource) -> bool:
    exporter = _Exporter(timeout=_LONGEST.total_seconds())
    reader = PeriodicExportingMetricReader(exporter, export_interval_millis=math.inf)  # sent once, below
    provider = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
    meter, about = provider.get_meter(_SCOPE, VERSION), _about(run, ledger)
    if run.claimed_at and run.finished_at:
        duration = meter.create_histogram("cronce.run.duration", unit="s", description="How long an attempt took")
        duration.record((run.finished_at - run.claimed_at).total_seconds(), about)
    if run.claimed_at and run.scheduled_at and run.attempt == 1:
        delay = meter.create_histogram("cronce.run.delay", unit="s", description="From the tick to the first attempt")
        delay.record(max(0.0, (run.claimed_at - run.scheduled_at).total_seconds()), about)
    provider.force_flush(_LONGEST.total_seconds() * 1000)
    return exporter.taken
