"""PostgreSQL's protocol 3.0, as far as a ledger needs it: one message with SQL, its answer, on a connection kept open.

Every operation has a deadline on the monotonic clock, name look-up and authentication included. A driver has none for
the answer of a server that hangs, and takes longer to load than the loser of a race takes to be out
(docs/adr/0013-postgresql-without-a-driver.md). The protocol: PostgreSQL documentation, "Frontend/Backend Protocol".
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping
from typing import Any

from cronce.aws.http import AnswerGarbledError, ByteStream, connect, time_left
from cronce.stores.postgres.address import Address, SslMode
from cronce.stores.postgres.errors import AddressUnusableError, ServerError
from cronce.vocabulary.values import value_class

_PROTOCOL = (196608).to_bytes(4)  # 3.0
_SSL_REQUEST = b"\0\0\0\x08" + (80877103).to_bytes(4)
_LONGEST_MESSAGE = 16 * 1024 * 1024
"""A row has at most 400 KB in DynamoDB, and not much more here."""

Password = Callable[[float], str | None]
"""Gives the password by a deadline; None if there is none."""


@value_class
class QueryResult:
    """What one statement returned.

    Attributes:
        tag: E.g. `INSERT 0 1`.
        rows: The rows; each value is a text, or None for NULL.
    """

    tag: str
    rows: list[tuple[str | None, ...]]


class Session:
    """One authenticated connection; used by one thread at a time."""

    def __init__(self, address: Address, password: Password, *, by: float) -> None:
        """Connect and authenticate.

        Args:
            address: The server, the database and the user.
            password: Called only if the server asks for one.
            by: The deadline for all of it.

        Raises:
            OSError: The connection failed; `ssl.SSLCertVerificationError` if the certificate is not trusted.
            ServerError: The server refused.
            AnswerGarbledError: The peer does not speak PostgreSQL's protocol.
            AddressUnusableError: See there.
        """
        self._by = by
        self._process = os.getpid()
        self._settings: dict[str, str] = {}
        self._idle = False
        self._encrypted = address.ssl_mode is not SslMode.DISABLE
        connection = _connected(address, by)
        try:
            self._stream = ByteStream(_secured(connection, address, by) if self._encrypted else connection)
            self._start(address, password)
        except BaseException:
            connection.close()
            raise

    def query(self, sql: str, *, by: float, results: int | None = None) -> list[QueryResult]:
        """The results of the statements, which are one message and therefore one transaction.

        Args:
            sql: The statements.
            by: The deadline.
            results: The number of statements, which is that of the results; None if it is not known.

        Raises:
            OSError: The connection failed; `ConnectionResetError` if the peer closed it before it sent any byte of an
                answer, `TimeoutError` if the deadline passed.
            ServerError: The server refused a statement; none has an effect.
            AnswerGarbledError: The bytes received are not an answer.
            ValueError: The text cannot be sent.
        """
        if "\0" in sql:
            raise ValueError("a text contains the character NUL, which PostgreSQL does not have")
        self._by = by
        self._idle = False
        self._begin(b"Q", sql.encode() + b"\0")
        found: list[QueryResult] = []
        rows: list[tuple[str | None, ...]] = []
        error: ServerError | None = None
        while True:
            kind, body = self._message()
            match kind:
                case b"D":
                    rows.append(_row(body))
                case b"C":
                    found.append(QueryResult(_text(body[:-1]), rows))
                    rows = []
                case b"E":
                    error = _error(body)
                    if error.fatal:
                        raise error
                case b"Z":
                    self._idle = body == b"I"
                    if error is not None:
                        raise error
                    if results is not None and len(found) != results:
                        raise AnswerGarbledError(f"the answer to another request: {len(found)} results, not {results}")
                    return found
                case b"T" | b"I":
                    pass
                case _:
                    raise AnswerGarbledError(f"an unexpected message {kind!r}")

    def is_idle(self) -> bool:
        """True if the connection can carry another request.

        False if the server has closed it, announced that or sent anything else unasked, and in a forked process: its
        parent uses the same connection.
        """
        return self._idle and self._process == os.getpid() and self._stream.is_quiet()

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()

    def __del__(self) -> None:
        """Close the connection of a ledger that a program only drops."""
        if stream := getattr(self, "_stream", None):
            stream.close()

    def _start(self, address: Address, password: Password) -> None:
        """Authenticate and wait until the server is ready."""
        wanted = {"client_encoding": "UTF8", "standard_conforming_strings": "on"}
        names = {"user": address.user, "database": address.database, "application_name": "cronce", **wanted}
        body = _PROTOCOL + b"".join(b"%b\0%b\0" % (k.encode(), v.encode()) for k, v in names.items()) + b"\0"
        self._begin(b"", body)
        authenticated = False
        while True:
            kind, body = self._message()
            match kind:
                case b"R" if not authenticated:
                    self._authenticate(body, address, password)
                    authenticated = True
                case b"E":
                    raise _error(body)
                case b"K":
                    pass
                case b"Z" if authenticated:
                    break
                case _:
                    raise AnswerGarbledError(f"an unexpected message {kind!r}")
        self._idle = True
        # Texts are quoted for this setting; with another one, a backslash would end a quotation.
        if any(self._settings.get(name) != value for name, value in wanted.items()):
            raise AnswerGarbledError(f"the server did not accept {wanted}")

    def _authenticate(self, body: bytes, address: Address, password: Password) -> None:
        """Answer the server's request to authenticate, to its end."""
        method = int.from_bytes(body[:4])
        if method == _OK:
            return
        if method not in (_PLAIN, _MD5, _SASL):
            raise AddressUnusableError(f"the server asks for authentication method {method}")
        secret = password(self._by)
        if secret is None:
            raise AddressUnusableError("the server asks for a password: set PGPASSWORD")
        if method == _SASL:
            self._authenticate_scram(body, secret)
        elif method == _MD5:
            from hashlib import md5  # noqa: PLC0415  # old servers only

            inner = md5((secret + address.user).encode(), usedforsecurity=False).hexdigest()
            outer = md5(inner.encode() + body[4:8], usedforsecurity=False).hexdigest()
            self._begin(b"p", f"md5{outer}".encode() + b"\0")
        elif self._encrypted or address.is_local:
            self._begin(b"p", secret.encode() + b"\0")
        else:
            raise AddressUnusableError("the server asks for the password in plain text, without TLS")
        if self._authentication() != (_OK, b""):
            raise AnswerGarbledError("an authentication that does not end")

    def _authenticate_scram(self, body: bytes, secret: str) -> None:
        from cronce.stores.postgres.scram import MECHANISM, Scram, ScramError  # noqa: PLC0415  # loads hashlib

        if MECHANISM not in body[4:].split(b"\0"):
            raise AddressUnusableError("the server offers no SCRAM-SHA-256")
        scram = Scram(secret, os.urandom(18).hex())
        first = scram.first()
        try:
            self._begin(b"p", MECHANISM + b"\0" + len(first).to_bytes(4) + first)
            self._begin(b"p", scram.final(self._sasl(_SASL_CONTINUE)))
            scram.verify(self._sasl(_SASL_FINAL))
        except ScramError as error:
            raise AddressUnusableError(str(error)) from None

    def _sasl(self, wanted: int) -> bytes:
        method, body = self._authentication()
        if method != wanted:
            raise AnswerGarbledError(f"the authentication message {method} instead of {wanted}")
        return body

    def _authentication(self) -> tuple[int, bytes]:
        kind, body = self._message()
        if kind == b"E":
            raise _error(body)
        if kind != b"R" or len(body) < 4:
            raise AnswerGarbledError(f"the message {kind!r} during authentication")
        return int.from_bytes(body[:4]), body[4:]

    def _begin(self, kind: bytes, body: bytes) -> None:
        self._stream.begin(kind + (len(body) + 4).to_bytes(4) + body, by=self._by)

    def _message(self) -> tuple[bytes, bytes]:
        """The next message that is not about a setting or a notice."""
        while True:
            head = self._stream.read_exactly(5)
            kind, length = head[:1], int.from_bytes(head[1:])
            if not 4 <= length <= _LONGEST_MESSAGE:
                raise AnswerGarbledError(f"not a message of PostgreSQL: {head!r}")
            body = self._stream.read_exactly(length - 4)
            if kind == b"S":
                name, _, value = _text(body).partition("\0")
                self._settings[name] = value.rstrip("\0")
            elif kind not in (b"N", b"A"):
                return kind, body


def literal(text: str) -> str:
    """The text as a literal of SQL, for sessions with `standard_conforming_strings`, which `Session` checks."""
    return "'" + text.replace("'", "''") + "'"


_OK, _PLAIN, _MD5, _SASL, _SASL_CONTINUE, _SASL_FINAL = 0, 3, 5, 10, 11, 12


def _connected(address: Address, by: float) -> socket.socket:
    if not address.host.startswith("/"):
        return connect(address.host, address.port, by=by)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(time_left(by))
        connection.connect(f"{address.host}/.s.PGSQL.{address.port}")
    except BaseException:
        connection.close()
        raise
    return connection


def _secured(connection: socket.socket, address: Address, by: float) -> socket.socket:
    """The connection with TLS, as the address demands."""
    from cronce.stores.postgres.trust import context_of  # noqa: PLC0415  # loads OpenSSL

    connection.settimeout(time_left(by))
    connection.sendall(_SSL_REQUEST)
    connection.settimeout(time_left(by))
    answer = connection.recv(1)  # no more: bytes that follow in plain text must not count as encrypted
    if answer == b"N":
        raise AddressUnusableError(f"the server does not offer TLS, and sslmode is {address.ssl_mode}")
    if answer != b"S":
        raise AnswerGarbledError(f"{answer!r} as the answer to a request for TLS")
    context = context_of(address)
    connection.settimeout(time_left(by))  # for the handshake as a whole, not for each `recv` (see _ssl.c)
    return context.wrap_socket(connection, server_hostname=address.host)


def _row(body: bytes) -> tuple[str | None, ...]:
    values: list[str | None] = []
    at = 2
    for _ in range(int.from_bytes(body[:2])):
        size = int.from_bytes(body[at : at + 4], signed=True)
        at += 4
        if size < -1 or at + size > len(body) or len(body) < at:
            raise AnswerGarbledError("a row that is shorter than its values")
        values.append(None if size < 0 else _text(body[at : at + size]))
        at += max(size, 0)
    return tuple(values)


def _error(body: bytes) -> ServerError:
    fields: Mapping[bytes, Any] = {part[:1]: part[1:] for part in body.split(b"\0") if part}
    message = fields.get(b"M", b"").decode("utf-8", "replace")
    shown = "".join(char if char.isprintable() else " " for char in message)
    code, severity = (fields.get(name, b"").decode("ascii", "replace") for name in (b"C", b"S"))
    return ServerError(code, shown[:500], fatal=(fields.get(b"V") or severity.encode()) in (b"FATAL", b"PANIC"))


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise AnswerGarbledError(f"a text that is not UTF-8: {data[:60]!r}") from None
