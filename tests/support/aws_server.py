"""The services of `tests.support.cloud` over HTTP, for processes: EventBridge Scheduler, ECS and EventBridge."""

from __future__ import annotations

import json
import re
import threading
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qsl, urlsplit

from botocore.exceptions import ClientError

from tests.support.cloud import FakeEcs, FakeEvents, FakeScheduler

if TYPE_CHECKING:
    from types import TracebackType

_ARGUMENTS = {"ScheduleGroup": "GroupName", "groupName": "GroupName"}


class AwsServer:
    """Serves the fakes on a port of this host while the `with` block runs.

    Attributes:
        scheduler: EventBridge Scheduler.
        ecs: ECS.
        events: EventBridge.
        hangs: Names of operations, such as `RunTask`, that are carried out and never answered.
    """

    def __init__(self) -> None:
        self.scheduler, self.ecs, self.events = FakeScheduler(), FakeEcs(), FakeEvents()
        self.hangs: set[str] = set()
        self._lock = threading.Lock()
        self._closed = threading.Event()
        aws = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._answer()

            def do_POST(self) -> None:
                self._answer()

            def log_message(self, *_: object) -> None:
                """Nothing."""

            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                target = self.headers.get("X-Amz-Target", "")
                status, answer = aws.answer(self.path, target, json.loads(body or "{}"))
                if target.rpartition(".")[2] in aws.hangs:
                    aws._closed.wait()  # our own
                text = json.dumps(answer, default=_seconds).encode()
                self.send_response(status)
                if code := answer.get("__type"):
                    self.send_header("x-amzn-ErrorType", code)
                self.send_header("Content-Type", "application/x-amz-json-1.1")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs to use it."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self._server.server_port}",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "eu-west-1",
        }

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._closed.set()
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str, target: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Status and answer of one request."""
        parts = urlsplit(path)
        query = {_ARGUMENTS.get(name, name): value for name, value in parse_qsl(parts.query)}
        name = parts.path.removeprefix("/schedules").strip("/")
        with self._lock:
            try:
                if target:
                    service = self.ecs if "ContainerService" in target else self.events
                    operation = re.sub(r"(?<!^)(?=[A-Z])", "_", target.rpartition(".")[2]).lower()
                    return 200, getattr(service, operation)(**body)
                if not name:
                    return 200, self.scheduler.list_schedules(**query)
                if body:
                    return 200, self.scheduler.create_schedule(Name=name, **body)
                return 200, self.scheduler.get_schedule(Name=name, **query)
            except ClientError as error:
                told = error.response["Error"]
                status = error.response["ResponseMetadata"]["HTTPStatusCode"]
                return status, {"__type": told["Code"], "Message": told["Message"]}


def _seconds(value: object) -> float:
    assert isinstance(value, datetime)
    return value.timestamp()
