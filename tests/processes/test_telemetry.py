"""A span and metrics per run by OTLP: a real receiver, and collectors that do not behave."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from cronce.vocabulary.names import ledger_name
from tests.support.host import JOB, PERIOD, Host

Answer = Callable[[BaseHTTPRequestHandler], None]

AROUND = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"


def taken(request: BaseHTTPRequestHandler) -> None:
    """What a collector answers."""
    request.send_response(200)
    request.send_header("Content-Length", "0")
    request.end_headers()


def refused(request: BaseHTTPRequestHandler) -> None:
    """A refusal that no second try changes, with a text that is not for a terminal."""
    body = b"\x1b[31mno\r\n" * 10
    request.send_response(401)
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    request.wfile.write(body)


def broken(request: BaseHTTPRequestHandler) -> None:
    """Each try is worth another one."""
    request.send_response(503)
    request.send_header("Content-Length", "0")
    request.end_headers()


def silent(_: BaseHTTPRequestHandler) -> None:
    """Longer than anybody waits."""
    time.sleep(20)


class Collector:
    """A receiver of OTLP/HTTP and what it got."""

    def __init__(self, answer: Answer) -> None:
        self.spans: list[Span] = []
        self.resources: list[dict[str, str]] = []
        self.metrics: dict[str, Any] = {}
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.path == "/v1/traces":
                    for each in ExportTraceServiceRequest.FromString(body).resource_spans:
                        collector.resources.append(texts(each.resource.attributes))
                        collector.spans.extend(span for scope in each.scope_spans for span in scope.spans)
                elif self.path == "/v1/metrics":
                    for each_metric in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                        for scope in each_metric.scope_metrics:
                            collector.metrics |= {metric.name: metric for metric in scope.metrics}
                answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


@contextmanager
def collecting(answer: Answer = taken) -> Iterator[Collector]:
    """A collector that answers so."""
    collector = Collector(answer)
    thread = threading.Thread(target=collector.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        collector.server.shutdown()
        collector.server.server_close()
        thread.join()


def texts(attributes: Any) -> dict[str, str]:  # noqa: ANN401  # of protobuf
    """The attributes by name, as text."""
    return {
        each.key: each.value.string_value if each.value.HasField("string_value") else str(each.value.int_value)
        for each in attributes
    }


def test_a_run_is_a_span_and_what_it_starts_knows_that_span(host: Host) -> None:
    """With the run's times; all attempts of a run are in one trace."""
    with collecting() as collector:
        script = 'echo "trace $TRACEPARENT" >>"$LOG"; exit $((2 - CRONCE_ATTEMPT))'
        environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "CRONCE_LEDGER": host.url}
        first = host.guard("sh", "-c", script, options="--backoff-limit 1", env=environ)
        assert first.wait() == 1
        assert host.guard("sh", "-c", script, options="--backoff-limit 1", env=environ).wait() == 0
        loser = host.guard("sh", "-c", script, options="--backoff-limit 1", env=environ)
        assert (loser.wait(), loser.event("refused")["reason"]) == (0, "ALREADY_SUCCEEDED")
    failed, succeeded = collector.spans
    assert failed.trace_id == succeeded.trace_id
    assert failed.span_id != succeeded.span_id
    assert host.logged == [f"trace 00-{span.trace_id.hex()}-{span.span_id.hex()}-01" for span in (failed, succeeded)]
    assert texts(failed.attributes) == {
        "cronce.ledger": ledger_name(host.url),
        "cronce.job": JOB,
        "cronce.period": PERIOD,
        "cronce.attempt": "1",
        "cronce.trigger": "schedule",
        "cronce.status": "FAILED",
        "cronce.reason": "exit_code",
        "process.exit.code": "1",
    }
    assert (failed.name, failed.status.code, failed.status.message) == (
        f"run {JOB}",
        Status.STATUS_CODE_ERROR,
        "exit_code",
    )
    assert (succeeded.status.code, succeeded.parent_span_id) == (Status.STATUS_CODE_OK, b"")
    run = host.run()
    assert run is not None
    assert run.claimed_at is not None
    assert run.finished_at is not None
    found = (succeeded.start_time_unix_nano / 1e9, succeeded.end_time_unix_nano / 1e9)
    assert found == pytest.approx((run.claimed_at.timestamp(), run.finished_at.timestamp()), abs=1e-5)
    assert {each["service.name"] for each in collector.resources} == {"cronce"}
    [point] = collector.metrics["cronce.run.duration"].histogram.data_points
    assert (point.count, texts(point.attributes)["cronce.status"]) == (1, "SUCCEEDED")
    assert point.sum == pytest.approx((run.finished_at - run.claimed_at).total_seconds())


def test_a_run_joins_the_trace_around_it(host: Host) -> None:
    """As the environment says; one signal may be switched off, and the service has the name that is given."""
    with collecting() as collector:
        environ = {
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{collector.url}/v1/traces",
            "OTEL_SERVICE_NAME": "digests",
            "TRACEPARENT": AROUND,
        }
        assert host.guard("true", env=environ).wait() == 0
    [span] = collector.spans
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == ("a" * 32, "b" * 16)
    assert collector.resources[0]["service.name"] == "digests"
    assert collector.metrics == {}


@pytest.mark.parametrize("off", [{"TRACEPARENT": f"{AROUND[:-2]}00"}, {"OTEL_TRACES_EXPORTER": "none"}])
def test_a_span_that_nobody_wants_is_not_sent(host: Host, off: dict[str, str]) -> None:
    """The trace is not sampled, or spans are switched off; the metrics are sent."""
    with collecting() as collector:
        assert host.guard("true", env={"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url} | off).wait() == 0
    assert (collector.spans, "cronce.run.duration" in collector.metrics) == ([], True)


def test_work_in_python_is_a_span_too(host: Host) -> None:
    """`run_once`, for work that fails."""
    program = "from cronce import run_once; run_once(lambda claim: 1 / 0)"
    with collecting() as collector:
        environ = {"CRONCE_LEDGER": host.url, "CRONCE_JOB": JOB, "CRONCE_PERIOD": PERIOD}
        endpoint = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
        assert host.start(sys.executable, "-c", program, env=environ | endpoint).wait() == 1
    [span] = collector.spans
    assert (span.status.code, texts(span.attributes)["cronce.reason"]) == (Status.STATUS_CODE_ERROR, "error")
    assert "ZeroDivisionError" in span.status.message


@pytest.mark.parametrize("answer", [refused, broken, silent])
def test_no_collector_changes_how_a_run_ends(host: Host, answer: Answer) -> None:
    """One line says what is lost; the work is done, and the process ends."""
    with collecting(answer) as collector:
        guard = host.guard("sh", "-c", "exit 7", env={"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url})
        assert guard.wait() == 7
    assert host.ended_run() == ("FAILED", "exit_code")
    assert guard.event("telemetry_lost")["message"].startswith("the collector did not")
    assert all(line.startswith("{") for line in guard.err.splitlines())
    assert "\x1b" not in guard.err


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}, "the collector did not"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://user:s3cret@[::1"}, "the collector did not"),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
            "OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' is not usable; allowed: http/protobuf",
        ),
    ],
    ids=["nobody listens", "no address", "another protocol"],
)
def test_an_endpoint_that_cannot_be_used_is_one_line(host: Host, environ: dict[str, str], message: str) -> None:
    """Without what the address contains."""
    guard = host.guard("true", env=environ)
    assert guard.wait() == 0
    assert host.ended_run() == ("SUCCEEDED", None)
    assert guard.event("telemetry_lost")["message"].startswith(message)
    assert "s3cret" not in guard.err


def test_without_an_endpoint_nothing_is_loaded_and_nothing_is_passed_on(host: Host) -> None:
    """Nor without the extra: then a line says so, and the run is as any other."""
    script = 'echo "trace ${TRACEPARENT-none}" >>"$LOG"'
    assert host.guarded_shell(script).wait() == 0
    assert host.logged == ["trace none"]
    hidden = "import sys; sys.modules['opentelemetry'] = None; from cronce.cli.main import main; main()"
    which = ["exec", "--ledger", host.url, "--job", JOB, "--period", "another", "--", "true"]
    environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    guard = host.start(sys.executable, "-c", hidden, *which, env=environ)
    assert guard.wait() == 0
    assert "pip install 'cronce[otel]'" in guard.event("telemetry_off")["message"]
    loaded = "import sys, cronce.guard.attempt; print([m for m in sys.modules if m.startswith('opentelemetry')])"
    told = subprocess.run([sys.executable, "-c", loaded], check=True, capture_output=True, text=True)
    assert told.stdout == "[]\n"
