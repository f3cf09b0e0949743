"""`cronce jobs` and `cronce doctor` with 1,000 jobs: the ledger on DynamoDB Local, the schedules over HTTP.

Every request passes a server that counts it, and answers for EventBridge Scheduler or asks DynamoDB Local. Other
services refuse. What counts is the number of requests; `docs/operations.md` states it, with the seconds of one run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import urllib.error
import urllib.request
import uuid
from collections import Counter
from contextlib import closing
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from cronce.client.at_once import at_once
from cronce.stores.store import Inspectable
from cronce.stores.urls import open_store
from cronce.vocabulary.policy import Policy
from cronce.vocabulary.states import Status
from tests.support.builders import run
from tests.support.cloud import schedule

if TYPE_CHECKING:
    from collections.abc import Iterator

JOBS = [f"job-{number:04}" for number in range(1_000)]
GROUP = "runs"
MOST_OTHERS = 100
"""The requests of `cronce doctor` to services that refuse everything."""

pytestmark = pytest.mark.slow


class Aws(ThreadingHTTPServer):
    """EventBridge Scheduler with a schedule per job, and the way to DynamoDB Local.

    Attributes:
        asked: How often each operation was asked for.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, dynamodb: str) -> None:
        self.dynamodb = dynamodb
        self.asked: Counter[str] = Counter()
        self.lock = threading.Lock()
        self.schedules = {each["Name"]: each for each in map(schedule, JOBS)}
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Aws

    def do_GET(self) -> None:
        """ListSchedules and GetSchedule."""
        address = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(address.query).items()}
        _, kind, *names = address.path.split("/")
        if kind != "schedules":
            self._answer(403, {"message": "no"}, "AccessDenied")
        elif names and names[0]:
            self._answer(200, _in_json(self.server.schedules[unquote(names[0])]), "GetSchedule")
        else:
            first, many = int(query.get("NextToken", 0)), int(query["MaxResults"])
            every = sorted(self.server.schedules)
            page = [_summary(self.server.schedules[name]) for name in every[first : first + many]]
            more = {"NextToken": str(first + many)} if first + many < len(every) else {}
            self._answer(200, {"Schedules": page, **more}, "ListSchedules")

    def do_POST(self) -> None:
        """DynamoDB; everything else is refused."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        target = self.headers.get("X-Amz-Target", "")
        if not target.startswith("DynamoDB_"):
            self._answer(403, {"__type": "AccessDeniedException", "message": "no"}, "AccessDenied")
            return
        names = ("X-Amz-Target", "Content-Type", "Authorization", "X-Amz-Date")
        headers = {name: self.headers[name] for name in names if name in self.headers}
        request = urllib.request.Request(self.server.dynamodb, body, headers)  # loopback
        try:
            with urllib.request.urlopen(request) as answer:
                status, said, checksum = answer.status, answer.read(), answer.headers["x-amz-crc32"]
        except urllib.error.HTTPError as error:
            with error:
                status, said, checksum = error.code, error.read(), error.headers["x-amz-crc32"]
        self._send(status, said, target.partition(".")[2], checksum)

    def _answer(self, status: int, document: object, operation: str) -> None:
        self._send(status, json.dumps(document).encode(), operation)

    def _send(self, status: int, body: bytes, operation: str, checksum: str | None = None) -> None:
        with self.server.lock:
            self.server.asked[operation] += 1
        self.send_response(status)
        self.send_header("Content-Type", "application/x-amz-json-1.0")
        self.send_header("Content-Length", str(len(body)))
        if checksum:
            self.send_header("x-amz-crc32", checksum)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _summary(schedule: dict[str, Any]) -> Any:  # noqa: ANN401  # JSON
    kept = ("Arn", "CreationDate", "GroupName", "LastModificationDate", "Name", "State")
    return _in_json({name: schedule[name] for name in kept})


def _in_json(value: object) -> Any:  # noqa: ANN401  # JSON
    return json.loads(json.dumps(value, default=lambda at: at.timestamp() if isinstance(at, datetime) else str(at)))


@pytest.fixture(scope="module")
def aws(dynamodb_local: str) -> Iterator[Aws]:
    """The server, while the tests run."""
    with Aws(dynamodb_local) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def ledger(aws: Aws, dynamodb_local: str) -> str:
    """The URL of a table with a run of each job."""
    name = f"thousand-{uuid.uuid4().hex[:12]}"
    with pytest.MonkeyPatch.context() as here:
        for variable, value in environment(aws).items():
            here.setenv(variable, value)
        with closing(
            open_store(f"dynamodb://{name}?region=eu-west-1&endpoint={dynamodb_local}", lease=Policy().lease)
        ) as store:
            assert isinstance(store, Inspectable)
            store.create()
            rows = [run(job=job, period="2026-11-29T06:00:00Z", status=Status.SUCCEEDED) for job in JOBS]
            assert all(at_once(lambda row: store.swap(row, None).written, rows))
    return f"dynamodb://{name}?region=eu-west-1&endpoint={aws.url}"


def environment(aws: Aws) -> dict[str, str]:
    """Credentials, and that server for every service."""
    key = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
    return key | {"AWS_ENDPOINT_URL": aws.url, "AWS_REGION": "eu-west-1", "AWS_EC2_METADATA_DISABLED": "true"}


def cronce(aws: Aws, ledger: str, *words: str) -> subprocess.CompletedProcess[str]:
    """What the command printed; the counts begin at nothing."""
    aws.asked.clear()
    command = Path(sys.executable).with_name("cronce")
    given = [*words, "--ledger", ledger, "--schedule-group", GROUP, "--json"]
    env = os.environ | environment(aws)
    return subprocess.run([command, *given], env=env, capture_output=True, text=True, timeout=120, check=False)


def test_jobs_asks_three_times_per_job_and_once_per_hundred(aws: Aws, ledger: str) -> None:
    """Its newest rows, its slot, its schedule; nothing scans."""
    answer = cronce(aws, ledger, "jobs")
    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)["jobs"]
    assert [job["job"] for job in found] == JOBS
    assert {job["last"]["status"] for job in found} == {"SUCCEEDED"}
    assert aws.asked == {"ListSchedules": 10, "GetSchedule": 1_000, "Query": 1_000, "GetItem": 1_000}


def test_doctor_asks_twice_per_job_and_a_bounded_number_of_others(aws: Aws, ledger: str) -> None:
    """Its newest rows and its schedule. What other services refuse does not grow with the jobs."""
    answer = cronce(aws, ledger, "doctor")
    assert answer.returncode in (0, 1), answer.stderr
    checks = {check["name"]: check for check in json.loads(answer.stdout)["checks"] if check["name"] == "guard"}
    assert checks["guard"]["sentence"] == "the newest task of 1000 of 1000 jobs claimed its run"
    asked = dict(aws.asked)
    assert (asked.pop("ListSchedules"), asked.pop("GetSchedule"), asked.pop("Query")) == (10, 1_000, 1_000)
    assert sum(asked.values()) <= MOST_OTHERS, asked
