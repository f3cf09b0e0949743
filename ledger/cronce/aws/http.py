"""Just enough HTTP/1.1 to ask DynamoDB and ECS: one request, one answer, on a connection kept open.

`http.client` brings the whole `email` package along, and sends a request in two packets;
`urllib.parse` knows all URLs there are. On the way of `cronce exec` to its decision that was a
quarter of the time (docs/adr/0006-lean-transport.md).
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from datetime import UTC, datetime

from cronce.vocabulary.values import value_class

_LONGEST_LINE = 65536
_MOST_HEADERS = 100
_MOST_BYTES = 16 * 1024 * 1024
"""DynamoDB's largest answer is 1 MB (Developer Guide, "Query")."""

_PORTS = {"http": 80, "https": 443}
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class AnswerGarbledError(ValueError):
    """What came back is not an HTTP answer."""


@value_class
class Response:
    """An answer: its status, its headers with names in lower case, and its body."""

    status: int
    headers: dict[str, str]
    body: bytes


@value_class
class Url:
    """A URL of http or https.

    Attributes:
        netloc: Host and port as they were given, for the header `Host`.
        path: With its slash, or empty.
    """

    scheme: str
    netloc: str
    host: str
    port: int
    path: str


def parse_url(text: str) -> Url:
    """The parts of `http://host:port/path`.

    Raises:
        ValueError: It is something else, or holds what no endpoint needs: a user, a query, a fragment.
    """
    scheme, _, rest = text.partition("://")
    netloc, slash, path = rest.partition("/")
    at = netloc.find(":", netloc.find("]") + 1)  # an address of IPv6 has colons of its own
    host, port = (netloc, "") if at < 0 else (netloc[:at], netloc[at + 1 :])
    if scheme not in _PORTS or not host or any(char in rest for char in "@?# ") or (at >= 0 and not _is_port(port)):
        raise ValueError(f"not a URL of an endpoint: {text[:200]!r}")
    return Url(scheme, netloc, host.strip("[]"), int(port or _PORTS[scheme]), slash + path)


def is_endpoint(text: str) -> bool:
    """True for the URL of a whole host, such as `http://localhost:8000`."""
    try:
        return parse_url(text).path in ("", "/")
    except ValueError:
        return False


def connect(host: str, port: int, *, timeout: float) -> socket.socket:
    """An open connection. Proxies of the environment are not for the hosts that this is for.

    Raises:
        OSError: It could not be opened in time.
    """
    # As bytes: a str loads the codec for international names and its tables.
    address: tuple[bytes, int] = (host.encode("ascii"), port)
    connection = socket.create_connection(address, timeout=timeout)  # type: ignore[arg-type]
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


class HttpConnection:
    """Requests, one after the other, on one connection.

    Attributes:
        reusable: False once the peer has said that it closes.
    """

    def __init__(self, connection: socket.socket) -> None:
        """Take over an open connection, with TLS or without."""
        self._socket = connection
        self._answers = connection.makefile("rb")
        self.reusable = True

    def exchange(self, method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> Response:
        """Send a request and read its answer.

        Raises:
            OSError: The connection failed; `ConnectionResetError` if the peer had closed it.
            AnswerGarbledError: What came back is not an HTTP answer.
            ValueError: A part of the request holds a character that would end its line.
        """
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {text}" for name, text in headers.items())]
        if not all(line.isprintable() for line in lines):
            raise ValueError("a header holds a character that is not printable")
        if body:
            lines.append(f"Content-Length: {len(body)}")
        self._socket.sendall("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
        status = self._read_status()
        received = self._read_headers()
        while 100 <= status < 200:
            status = self._read_status()
            received = self._read_headers()
        self.reusable = received.get("connection", "").lower() != "close"
        return Response(status, received, self._read_body(received))

    def close(self) -> None:
        """Close the connection."""
        self._answers.close()
        self._socket.close()

    def _read_line(self) -> bytes:
        line = self._answers.readline(_LONGEST_LINE)
        if not line.endswith(b"\n"):
            raise AnswerGarbledError(f"a line that does not end: {line[:60]!r}")
        return line.rstrip(b"\r\n")

    def _read_status(self) -> int:
        if not self._answers.peek(1):
            raise ConnectionResetError("the peer closed the connection without an answer")
        parts = self._read_line().split(b" ", 2)
        if len(parts) < 2 or not parts[0].startswith(b"HTTP/1.") or not parts[1].isdigit() or len(parts[1]) != 3:
            raise AnswerGarbledError(f"not an HTTP answer: {b' '.join(parts)[:60]!r}")
        return int(parts[1])

    def _read_headers(self) -> dict[str, str]:
        received: dict[str, str] = {}
        for _ in range(_MOST_HEADERS):
            line = self._read_line()
            if not line:
                return received
            name, _, text = line.decode("latin-1").partition(":")
            received[name.strip().lower()] = text.strip()
        raise AnswerGarbledError(f"over {_MOST_HEADERS} headers")

    def _read_body(self, headers: Mapping[str, str]) -> bytes:
        if headers.get("transfer-encoding", "").lower() == "chunked":
            return self._read_chunks()
        length = headers.get("content-length")
        if length is not None:
            return self._read_exactly(_size(length, 10))
        self.reusable = False
        return self._answers.read(_MOST_BYTES)

    def _read_chunks(self) -> bytes:
        body = b""
        while size := _size(self._read_line().partition(b";")[0].strip().decode("latin-1"), 16):
            body += self._read_exactly(size)
            self._read_line()
            _size(str(len(body)), 10)
        self._read_headers()
        return body

    def _read_exactly(self, size: int) -> bytes:
        data = self._answers.read(size)
        if len(data) != size:
            raise AnswerGarbledError(f"{len(data)} bytes of {size}")
        return data


def parse_date(text: str | None) -> datetime | None:
    """The time in a `Date` header, e.g. `Sun, 29 Nov 2026 06:00:00 GMT`; None for anything else."""
    try:
        _, day, month, year, clock, zone = (text or "").split()
        hour, minute, second = map(int, clock.split(":"))
        at = datetime(int(year), _MONTHS.index(month) + 1, int(day), hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    return at if zone == "GMT" else None


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and 0 < int(text) < 65536


def _size(text: str, base: int) -> int:
    try:
        size = int(text, base)
    except ValueError:
        raise AnswerGarbledError(f"not a length: {text[:60]!r}") from None
    if not 0 <= size <= _MOST_BYTES:
        raise AnswerGarbledError(f"a length of {size}")
    return size
