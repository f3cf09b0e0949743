"""One server, or the nodes of a cluster: connections, log-in, redirections, and what the server can promise."""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

from cronce.aws.http import AnswerGarbledError, connect, deadline
from cronce.stores.redis.promises import QUESTIONS, Promises, promises_of
from cronce.stores.redis.resp import Command, Reply, ReplyError, RespConnection
from cronce.vocabulary.errors import LedgerUnavailableError

Node = tuple[str, int]

_MOST_REDIRECTIONS = 5
_NOT_NOW = frozenset(
    {
        "BUSY",
        "CLUSTERDOWN",
        "LOADING",
        "MASTERDOWN",
        "MISCONF",
        "NOREPLICAS",
        "OOM",
        "READONLY",
        "TRYAGAIN",
    }
)
"""Errors after which the same command may succeed."""

_ELSEWHERE = frozenset({"CLUSTERDOWN", "LOADING", "MASTERDOWN", "READONLY"})
"""Errors of a server that is not the one to ask now: the next call looks its name up again."""

_HINTS = {
    "MISCONF": "the server cannot write to its disk",
    "NOAUTH": "give user and password in the ledger's URL, or REDISCLI_AUTH",
    "NOPERM": "the user needs the commands and keys that docs/stores.md lists",
    "OOM": "the server's memory is full; raise maxmemory, rows are not evicted",
    "READONLY": "this server is a replica; give the primary's address",
    "WRONGPASS": "check user and password in the ledger's URL and REDISCLI_AUTH",
    "WRONGTYPE": "another program uses a key of this ledger; choose another prefix",
}


_CLOSED = "a server that closes new connections has too many clients, is in protected mode, or expects TLS"
"""It says which, but the reset of the connection overtakes that."""


class RedisServer:
    """Sends commands to the server that has their keys. Thread-safe; a connection serves one call at a time.

    Keys of one group are on one node of a cluster. Which node that is, the cluster says at the first call.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        where: str,
        call_timeout: timedelta,
        database: int = 0,
        username: str | None = None,
        password: str | None = None,
        tls: bool = False,
        ca: str | None = None,
    ) -> None:
        """Set the address; nothing is connected yet.

        Args:
            host: Name or address of the server, or of any node of a cluster.
            port: Its port.
            where: The ledger, for messages.
            call_timeout: The longest that one call may take, with name look-up, connection and redirections.
            database: The database's number; a cluster has only 0.
            username: The user; None for the default user.
            password: The password; None if the server asks for none.
            tls: True to connect with TLS; the server's certificate is always verified.
            ca: A file of certificates to trust instead of the system's.
        """
        self._address = (host, port)
        self._where = where
        self._call_timeout = call_timeout.total_seconds()
        self._database = database
        self._login: tuple[Command, ...] = (
            () if password is None else (("AUTH", *([username] if username else []), password),)
        )
        self._tls = tls
        self._ca = ca
        self._idle: dict[Node, deque[RespConnection]] = {}
        self._homes: dict[str, Node] = {}
        self._promises: Promises | None = None

    def ask(self, group: str, *commands: Command) -> list[Reply]:
        """The replies of the server that has the keys of the group. None of them is an error.

        Raises:
            LedgerUnavailableError: There is no usable reply to one of the commands.
        """
        replies = self._replies(group, commands)
        for reply in replies:
            if isinstance(reply, ReplyError):
                raise self._refused(reply)
        return replies

    def run(self, group: str, script: tuple[str, str], keys: Sequence[str], arguments: Command) -> Reply:
        """The reply of a script.

        Args:
            group: The group of all keys.
            script: The script's SHA-1 and its text, which is sent only if the server does not know it.
            keys: The keys that the script uses.
            arguments: Its arguments.

        Raises:
            LedgerUnavailableError: There is no usable reply.
        """
        digest, text = script
        rest = (len(keys), *keys, *arguments)
        [reply] = self._replies(group, [("EVALSHA", digest, *rest)])
        if isinstance(reply, ReplyError) and reply.code == "NOSCRIPT":
            [reply] = self._replies(group, [("EVAL", text, *rest)])
        if isinstance(reply, ReplyError):
            raise self._refused(reply)
        return reply

    def promises(self) -> Promises:
        """What the server said about itself on the newest connection; connects if there was none.

        Raises:
            LedgerUnavailableError: The server cannot be used.
        """
        if self._promises is None:
            self.ask("", ("TIME",))
        assert self._promises is not None  # noqa: S101  # `ask` connected
        return self._promises

    @property
    def exposed(self) -> str | None:
        """What others on the network can read of this connection; None for TLS and for a server on this host."""
        host = self._address[0]
        if self._tls or not self._login or host.startswith("127.") or host in ("localhost", "::1"):
            return None
        return "the password crosses the network in plain text: use rediss://"

    @property
    def caution(self) -> str | None:
        """What a person should know about this server, if a connection has shown it."""
        return self._promises.caution if self._promises else None

    def close(self) -> None:
        """Close every connection that is not in use."""
        for connections in self._idle.values():
            while connections:
                connections.pop().close()

    def _replies(self, group: str, commands: Sequence[Command]) -> list[Reply]:
        """The replies of the node that serves the group, after redirections."""
        by = deadline(self._call_timeout)
        home, asking = self._homes.get(group, self._address), False
        for _ in range(_MOST_REDIRECTIONS):
            try:
                replies = self._exchange(home, _asking(commands) if asking else commands, by)
            except (OSError, AnswerGarbledError) as error:
                self._homes.pop(group, None)  # the node may have gone: the next call asks the first address again
                raise self._unavailable(error) from error
            replies = replies[1::2] if asking else replies
            redirection = next((r for r in replies if isinstance(r, ReplyError) and r.code in ("MOVED", "ASK")), None)
            if redirection is None:
                return replies
            home, asking = self._target(redirection, home), redirection.code == "ASK"
            if not asking:
                self._homes[group] = home
        raise LedgerUnavailableError(self._where, f"{_MOST_REDIRECTIONS} redirections in a row", transient=True)

    def _target(self, redirection: ReplyError, sender: Node) -> Node:
        """The node in `MOVED 3999 10.0.0.7:6381`; without a host it is the sender's (Redis 7, "Cluster spec")."""
        host, colon, port = redirection.message.rpartition(" ")[2].rpartition(":")
        if not colon or not port.isdigit():
            raise LedgerUnavailableError(self._where, f"an unusable redirection: {redirection}", transient=True)
        return (host.strip("[]") or sender[0], int(port))

    def _exchange(self, address: Node, commands: Sequence[Command], by: float) -> list[Reply]:
        """Send the commands on a connection that is kept open, or on a new one.

        The server may close an idle connection at the moment of the request: it is then sent again on a new one. The
        first one may have been carried out; the protocol's tokens make that harmless.
        """
        if (idle := self._idle_connection(address)) is not None:
            with suppress(BrokenPipeError, ConnectionResetError):
                return self._perform(address, idle, commands, by)
        return self._perform(address, self._open(address, by), commands, by)

    def _perform(
        self, address: Node, connection: RespConnection, commands: Sequence[Command], by: float
    ) -> list[Reply]:
        try:
            replies = connection.exchange(commands, by=by)
        except BaseException:
            connection.close()
            raise
        if any(isinstance(reply, ReplyError) and reply.code in _ELSEWHERE for reply in replies):
            connection.close()
            self._homes.clear()
        else:
            self._idle.setdefault(address, deque()).append(connection)
        return replies

    def _idle_connection(self, address: Node) -> RespConnection | None:
        connections = self._idle.get(address, deque())
        with suppress(IndexError):
            while True:
                connection = connections.pop()
                if connection.is_quiet():
                    return connection
                connection.close()
        return None

    def _open(self, address: Node, by: float) -> RespConnection:
        """A connection on which a user is logged in, to a server that can keep what it is told.

        Raises:
            LedgerUnavailableError: The server refuses the user, or can forget claims.
        """
        connection = RespConnection(self._connect(address, by))
        try:
            self._greet(connection, by)
        except (BrokenPipeError, ConnectionResetError, AnswerGarbledError) as error:
            connection.close()
            raise self._unavailable(error, hint=_CLOSED) from error
        except BaseException:
            connection.close()
            raise
        return connection

    def _greet(self, connection: RespConnection, by: float) -> None:
        select: tuple[Command, ...] = (("SELECT", self._database),) if self._database else ()
        begin = (*self._login, *select)
        replies = connection.exchange([*begin, *QUESTIONS], by=by)
        for command, reply in zip(begin, replies, strict=False):
            if isinstance(reply, ReplyError):
                raise self._refused(_without_arguments(command, reply))
        try:
            self._promises = promises_of(replies[len(begin) :], host=self._address[0])
        except ReplyError as error:
            raise self._refused(error) from None
        if (broken := self._promises.broken) is not None:
            raise LedgerUnavailableError(self._where, broken.problem, transient=broken.transient, hint=broken.hint)

    def _connect(self, address: Node, by: float) -> socket.socket:
        if not self._tls:
            return connect(*address, by=by)
        from cronce.aws.answers import NoAnswerError  # noqa: PLC0415  # for TLS only
        from cronce.aws.tls import connect_tls  # noqa: PLC0415  # loads OpenSSL

        try:
            return connect_tls(
                *address,
                by=by,
                bundle=self._ca,
                bundle_called="the ledger's option ca",
                is_aws=".amazonaws." in self._address[0],
            )
        except NoAnswerError as error:
            raise LedgerUnavailableError(self._where, error.message, transient=error.transient) from error

    def _refused(self, error: ReplyError) -> LedgerUnavailableError:
        full = error.code == "ERR" and "max number of clients" in error.message
        return LedgerUnavailableError(
            self._where, str(error), transient=full or error.code in _NOT_NOW, hint=_HINTS.get(error.code, "")
        )

    def _unavailable(self, error: Exception, *, hint: str = "") -> LedgerUnavailableError:
        is_about_trust = type(error).__name__ == "SSLCertVerificationError"  # another try would not change it
        cause = f"{type(error).__name__}: {error}"
        return LedgerUnavailableError(self._where, cause, transient=not is_about_trust, hint=hint)


def _asking(commands: Sequence[Command]) -> list[Command]:
    return [each for command in commands for each in (("ASKING",), command)]


def _without_arguments(command: Command, error: ReplyError) -> ReplyError:
    """The error without the command's arguments, which a server may repeat in it: one is the password."""
    if error.code in ("WRONGPASS", "NOAUTH", "NOPERM") or command[0] != "AUTH":
        return error
    return ReplyError(error.code, f"{command[0]} was refused")
