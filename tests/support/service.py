"""An HTTP server on this machine that answers as a test defines, and records its requests."""

from __future__ import annotations

import json
import ssl
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(kw_only=True)
class Request:
    """A request that arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    connection: int
    """The client's port: two requests of one connection have the same."""


@dataclass(kw_only=True)
class Reply:
    """What to answer.

    Attributes:
        body: As JSON unless it is bytes.
        hangs_up: True to close the connection after this answer without announcing it.
    """

    body: object = field(default_factory=dict)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    hangs_up: bool = False


@dataclass(kw_only=True)
class Service:
    """The running server."""

    port: int
    requests: list[Request] = field(default_factory=list)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore a client that has gone, which is often what the test is about; report any other error."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


@contextmanager
def serving(answer: Callable[[Request], Reply], *, tls: ssl.SSLContext | None = None) -> Iterator[Service]:
    """Serve on a free port of 127.0.0.1 until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            request = Request(
                method=self.command,
                path=self.path,
                headers=dict(self.headers.items()),
                body=body,
                connection=self.client_address[1],
            )
            service.requests.append(request)
            reply = answer(request)
            data = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            if "Date" in reply.headers:
                self.send_response_only(reply.status)
            else:
                self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            self.close_connection = reply.hangs_up

        do_GET = do_POST = _answer  # noqa: N815  # the names that http.server calls

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = _Server(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    service = Service(port=server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
