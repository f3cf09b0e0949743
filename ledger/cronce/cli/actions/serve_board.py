"""Serves one page on this host: read-only, and only to who names the host as it was started."""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from typing import ClassVar

from cronce.operate.wording import visible
from cronce.vocabulary.errors import CronceError

_LOCAL = ("localhost", "127.0.0.1", "[::1]")

_FRESH_FOR = 5.0
"""Seconds for which a page is served again without reading the ledger, however many ask for it."""


class BoardServer(ThreadingHTTPServer):
    """Answers `GET /` with the page; anything else, and any other Host, is refused.

    A site on the internet can let its own name mean 127.0.0.1 and so have a browser read what is served here (DNS
    rebinding). The browser then sends that name as Host.
    """

    daemon_threads = True

    def __init__(self, host: str, port: int, *, render: Callable[[], str], policy: str) -> None:
        """Listen on the address; nothing is read yet.

        Args:
            host: The address to bind; also a name that a client may use.
            port: The port; 0 for a free one.
            render: Makes the page.
            policy: Its Content Security Policy.

        Raises:
            OSError: The address cannot be used.
        """
        if ":" in host:
            self.address_family = socket.AF_INET6
        super().__init__((host, port), _Handler)
        self._render = render
        self.policy = f"{policy}; frame-ancestors 'none'"
        self._lock = threading.Lock()
        self._page, self._made_at = "", float("-inf")
        self.name = f"[{host}]" if ":" in host else host

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{self.name}:{self.server_port}/"

    def knows(self, host: str | None) -> bool:
        """True if the client names this server: by its address, or from this host as localhost."""
        name, _, port = (host or "").rpartition(":")
        return port == str(self.server_port) and (name in _LOCAL or name == self.name)

    def page(self) -> str:
        """The page, read again if it is older than five seconds."""
        with self._lock:
            if time.monotonic() - self._made_at > _FRESH_FOR:
                self._page = self._render()
                self._made_at = time.monotonic()
            return self._page


class _Handler(BaseHTTPRequestHandler):
    server: BoardServer
    protocol_version = "HTTP/1.0"
    server_version = "cronce"
    sys_version = ""
    timeout: ClassVar[int] = 30

    def do_GET(self) -> None:
        """Answer with the page."""
        if not self.server.knows(self.headers.get("Host")):
            self._answer(HTTPStatus.MISDIRECTED_REQUEST, f"This is {self.server.url}\n")
        elif self.path.partition("?")[0] != "/":
            self._answer(HTTPStatus.NOT_FOUND, "There is one page here: /\n")
        else:
            try:
                page = self.server.page()
            except CronceError as error:
                self._answer(HTTPStatus.SERVICE_UNAVAILABLE, f"{visible(str(error))}\n")
            else:
                self._answer(HTTPStatus.OK, page, kind="text/html")

    do_HEAD = do_GET  # noqa: N815  # the name of the base class

    def _answer(self, status: HTTPStatus, text: str, *, kind: str = "text/plain") -> None:
        body = text.encode("utf-8", "backslashreplace")
        self.send_response(status)
        for name, value in {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(body)),
            "Content-Security-Policy": self.server.policy,
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name of the base class
        """Log nothing about requests."""


def is_loopback(host: str) -> bool:
    """True if only this host can connect to the address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def serve(server: BoardServer) -> None:
    """Serve until Ctrl-C."""
    if not is_loopback(server.server_address[0] if isinstance(server.server_address[0], str) else server.name):
        sys.stderr.write("cronce: whoever reaches this address can read every run; there is no password\n")
    with server:
        server.serve_forever(poll_interval=0.2)
