"""Just enough HTTP/1.1 for DynamoDB and the endpoints of ECS: one request, one answer, on a connection kept open.

Every operation has a deadline on the monotonic clock, name look-up included: a socket's own time limit applies to
each `recv`, so that an answer that trickles would never exceed it.

`http.client` loads the whole `email` package and sends a request in two packets; `urllib.parse` handles every kind of
URL. They took a quarter of the time that `cronce exec` needs for its decision (docs/adr/0006-lean-transport.md).
"""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache

from cronce.vocabulary.values import value_class

_LONGEST_LINE = 65536
_MOST_HEADERS = 100
_MOST_BYTES = 16 * 1024 * 1024
"""DynamoDB's largest answer is 1 MB (Developer Guide, "Query")."""

_PORTS = {"http": 80, "https": 443}
_DATE = re.compile(r"[A-Z][a-z]{2}, (\d\d) ([A-Z][a-z]{2}) (\d{4}) (\d\d):(\d\d):(\d\d) GMT", re.ASCII)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class AnswerGarbledError(ValueError):
    """The bytes received are not an HTTP answer."""


@value_class
class Response:
    """An answer.

    Attributes:
        status: The HTTP status.
        headers: The headers, with names in lower case. Values of a repeated header are joined by commas.
        body: The body.
    """

    status: int
    headers: dict[str, str]
    body: bytes


@value_class
class Url:
    """A URL of http or https.

    Attributes:
        scheme: `http` or `https`.
        netloc: Host and port as written, for the header `Host`.
        host: The host, without the brackets of an IPv6 address.
        port: The port, or the scheme's default port.
        path: Starts with a slash, or is empty.
    """

    scheme: str
    netloc: str
    host: str
    port: int
    path: str


def parse_url(text: str) -> Url:
    """The parts of `http://host:port/path`.

    Raises:
        ValueError: The text is not such a URL, or has a part that no endpoint needs: user, query, fragment.
    """
    scheme, _, rest = text.partition("://")
    netloc, slash, path = rest.partition("/")
    at = netloc.find(":", netloc.find("]") + 1)  # an IPv6 address contains colons
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


def deadline(seconds: float) -> float:
    """The moment that many seconds from now, for the argument `by` of this module's functions."""
    return time.monotonic() + seconds


def time_left(by: float) -> float:
    """Seconds until the deadline.

    Raises:
        TimeoutError: The deadline has passed.
    """
    left = by - time.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    return left


def connect(host: str, port: int, *, by: float) -> socket.socket:
    """An open connection. Proxy settings are ignored: this module connects to local and AWS endpoints only.

    Args:
        host: Name or address.
        port: The port.
        by: The deadline; each of the host's addresses gets an equal share of the time.

    Raises:
        OSError: No address could be connected to in time.
    """
    addresses = _addresses_of(host, port, by)
    failure: OSError = OSError(f"{host} has no address")
    for number, (family, kind, protocol, _, address) in enumerate(addresses):
        connection = None
        try:
            connection = socket.socket(family, kind, protocol)
            connection.settimeout(time_left(by) / (len(addresses) - number))
            connection.connect(address)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            failure = error
            if connection is not None:
                connection.close()
        else:
            return connection
    raise failure


class ByteStream:
    """Bytes in both directions on one connection, each operation within a deadline."""

    def __init__(self, connection: socket.socket) -> None:
        """Take over an open connection, with TLS or without."""
        self._socket = connection
        self._received = b""
        self._by = 0.0

    def begin(self, data: bytes, *, by: float) -> None:
        """Send a request and wait for the first byte of its answer.

        Args:
            data: The request.
            by: The deadline for this and for everything that is read afterwards.

        Raises:
            OSError: The connection failed; `ConnectionResetError` if the peer closed it before it sent any byte of an
                answer, `TimeoutError` if the deadline passed.
        """
        self._by = by
        unsent = memoryview(data)
        while unsent:
            self._socket.settimeout(time_left(by))
            unsent = unsent[self._socket.send(unsent) :]
        if not self._received and not self.receive():
            raise ConnectionResetError("the peer closed the connection without an answer")

    def is_quiet(self) -> bool:
        """True if the connection is open and nothing has arrived.

        Bytes that are no part of an answer would be taken for the answer to the next request.
        """
        if self._received:
            return False
        self._socket.settimeout(0)
        try:
            self._socket.recv(1)
        except OSError as error:
            # With TLS, records that carry no data (session tickets) are processed here, and then nothing is left.
            return isinstance(error, BlockingIOError) or type(error).__name__ == "SSLWantReadError"
        return False

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def receive(self) -> bool:
        """Append received bytes to the buffer; False at the end of the stream."""
        self._socket.settimeout(time_left(self._by))
        data = self._socket.recv(65536)
        self._received += data
        return bool(data)

    def read_line(self) -> bytes:
        """The next line, without its end."""
        searched = 0
        while (end := self._received.find(b"\n", searched)) < 0:
            searched = len(self._received)
            if searched >= _LONGEST_LINE or not self.receive():
                raise AnswerGarbledError(f"a line that does not end: {self._received[:60]!r}")
        if end >= _LONGEST_LINE:
            raise AnswerGarbledError(f"a line of {end} bytes")
        line, self._received = self._received[:end], self._received[end + 1 :]
        return line.removesuffix(b"\r")

    def read_exactly(self, size: int) -> bytes:
        """The next `size` bytes."""
        while len(self._received) < size:
            if not self.receive():
                raise AnswerGarbledError(f"{len(self._received)} bytes of {size}")
        data, self._received = self._received[:size], self._received[size:]
        return data

    def read_to_end(self) -> bytes:
        """Everything until the peer closes the connection."""
        while self.receive():
            _check_size(len(self._received))
        body, self._received = self._received, b""
        return body


class HttpConnection(ByteStream):
    """Sends requests one after the other on one connection."""

    def __init__(self, connection: socket.socket) -> None:
        """Take over an open connection, with TLS or without."""
        super().__init__(connection)
        self._kept_open = True

    def exchange(self, method: str, path: str, headers: Mapping[str, str], body: bytes = b"", *, by: float) -> Response:
        """Send a request and read its answer.

        Args:
            method: E.g. `POST`.
            path: The request's target.
            headers: Its headers.
            body: Its body.
            by: The deadline for all of it.

        Raises:
            OSError: The connection failed; `ConnectionResetError` if the peer closed it before it sent any byte of an
                answer, `TimeoutError` if the deadline passed.
            AnswerGarbledError: The bytes received are not an HTTP answer.
            ValueError: A part of the request contains a character that is not printable ASCII.
        """
        lines = [f"{method} {path} HTTP/1.1", *[f"{name}: {text}" for name, text in headers.items()]]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        unbroken = "".join(lines)
        if not (unbroken.isascii() and unbroken.isprintable()):
            raise ValueError("the request has a header with a character that is not printable ASCII")
        self.begin("\r\n".join([*lines, "", ""]).encode("ascii") + body, by=by)
        status = 100
        while 100 <= status < 200:
            version, status = self._read_status()
            received = self._read_headers()
        options = {option.strip() for option in received.get("connection", "").lower().split(",")}
        self._kept_open = "keep-alive" in options if version == b"HTTP/1.0" else "close" not in options
        return Response(status, received, self._read_body(status, received))

    def is_idle(self) -> bool:
        """True if the connection can carry another request.

        False if the peer has closed it, announced that, or sent bytes that are no part of an answer.
        """
        return self._kept_open and self.is_quiet()

    def _read_status(self) -> tuple[bytes, int]:
        line = self.read_line()
        version, _, rest = line.partition(b" ")
        code = rest.partition(b" ")[0]
        if version not in (b"HTTP/1.0", b"HTTP/1.1") or len(code) != 3 or not code.isdigit():
            raise AnswerGarbledError(f"not an HTTP answer: {line[:60]!r}")
        return version, int(code)

    def _read_headers(self) -> dict[str, str]:
        received: dict[str, str] = {}
        for _ in range(_MOST_HEADERS + 1):
            line = self.read_line()
            if not line:
                return received
            name, colon, text = line.decode("latin-1").partition(":")
            if not colon or not name or name != name.strip():
                raise AnswerGarbledError(f"not a header: {line[:60]!r}")
            name, text = name.lower(), text.strip()
            received[name] = f"{received[name]}, {text}" if name in received else text
        raise AnswerGarbledError(f"more than {_MOST_HEADERS} headers")

    def _read_body(self, status: int, headers: Mapping[str, str]) -> bytes:
        coding, length = headers.get("transfer-encoding"), headers.get("content-length")
        if coding is not None:
            # With a length beside it, two readers of this answer could disagree about its end (RFC 9112, 6.1).
            if coding.lower() != "chunked" or length is not None:
                raise AnswerGarbledError(f"a body with the coding {coding[:60]!r} and the length {length!r}"[:200])
            return self._read_chunks()
        if length is not None:
            return self.read_exactly(_size(length, _DECIMAL, 10))
        if status in (204, 304):
            return b""
        self._kept_open = False
        return self.read_to_end()

    def _read_chunks(self) -> bytes:
        chunks: list[bytes] = []
        total = 0
        while size := _size(self.read_line().partition(b";")[0].rstrip().decode("latin-1"), _HEXADECIMAL, 16):
            total += size
            _check_size(total)
            chunks.append(self.read_exactly(size))
            if self.read_line():
                raise AnswerGarbledError("a chunk that is longer than its size")
        self._read_headers()
        return b"".join(chunks)


@lru_cache(maxsize=2)
def parse_date(text: str | None) -> datetime | None:
    """The time in a `Date` header, e.g. `Sun, 29 Nov 2026 06:00:00 GMT`; None for anything else.

    Other forms have no reliable time zone, and time cannot be calculated at the end of the year 9999.
    """
    match = _DATE.fullmatch(text or "")
    if match is None or match[2] not in _MONTHS or match[3] == "9999":
        return None
    day, year, hour, minute, second = (int(match[number]) for number in (1, 3, 4, 5, 6))
    try:
        return datetime(year, _MONTHS.index(match[2]) + 1, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None


class _LookUp(threading.Thread):
    """A name look-up, which no time limit ends; it can only be abandoned."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(name=f"cronce-look-up-{host}", daemon=True)
        # Pass bytes: a str would load the IDNA codec and its tables.
        self._name = (host.encode("ascii"), port)
        self.addresses: list[tuple[socket.AddressFamily, socket.SocketKind, int, str, tuple[str, int]]] = []
        self.error: OSError | None = None

    def run(self) -> None:
        try:
            self.addresses = socket.getaddrinfo(*self._name, type=socket.SOCK_STREAM)  # type: ignore[assignment]
        except OSError as error:
            self.error = error


_look_ups: dict[tuple[str, int], _LookUp] = {}
"""Those that have not answered yet: the next try waits for the same one instead of starting another."""
_look_ups_lock = threading.Lock()


def _addresses_of(
    host: str, port: int, by: float
) -> list[tuple[socket.AddressFamily, socket.SocketKind, int, str, tuple[str, int]]]:
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host)
        except OSError:
            continue
        return [(family, socket.SOCK_STREAM, 0, "", (host, port))]
    left = time_left(by)
    with _look_ups_lock:
        look_up = _look_ups.get((host, port))
        if look_up is None or not look_up.is_alive():
            look_up = _look_ups[host, port] = _LookUp(host, port)
            look_up.start()
    look_up.join(left)
    if look_up.is_alive():
        raise TimeoutError(f"the name look-up of {host} timed out")
    with _look_ups_lock:
        if _look_ups.get((host, port)) is look_up:
            del _look_ups[host, port]
    if look_up.error is not None:
        raise look_up.error
    return look_up.addresses


_DECIMAL = "0123456789"
_HEXADECIMAL = "0123456789abcdefABCDEF"


def _size(text: str, digits: str, base: int) -> int:
    if not 0 < len(text) <= 20 or text.strip(digits):
        raise AnswerGarbledError(f"not a length: {text[:60]!r}")
    size = int(text, base)
    _check_size(size)
    return size


def _check_size(size: int) -> None:
    if size > _MOST_BYTES:
        raise AnswerGarbledError(f"an answer of more than {_MOST_BYTES} bytes")


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and 0 < int(text) < 65536
