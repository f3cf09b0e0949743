"""The connection between a Redis store and its server, with faults that a test plans for single requests."""

from __future__ import annotations

import select
import socket
import struct
import threading
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Self, assert_never

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType

_QUIET = 0.005
"""Seconds without a byte after which a reply is whole; a server on this machine writes it at once."""
_SCRIPTS = (b"EVALSHA", b"EVAL")


class Fault(StrEnum):
    """What can happen to a request."""

    REQUEST_LOST = "request lost"
    REQUEST_CUT = "request cut"
    ANSWER_LOST = "answer lost"
    ANSWER_CUT = "answer cut"
    NO_ANSWER = "no answer"
    DUPLICATE_DELIVERY = "duplicate delivery"
    LOADING = "LOADING Redis is loading the dataset in memory"
    OUT_OF_MEMORY = "OOM command not allowed when used memory > 'maxmemory'."
    READ_ONLY = "READONLY You can't write against a read only replica."
    SCRIPT_FORGOTTEN = "NOSCRIPT No matching script."
    NOT_PERMITTED = "NOPERM User app has no permissions to run the 'evalsha' command"


class RespWire:
    """A proxy: first the planned faults, one for each request with a script, then none.

    Attributes:
        arrived: How many scripts reached the server.
    """

    def __init__(self, port: int) -> None:
        self._server = ("127.0.0.1", port)
        self._planned: Iterator[Fault | None] = iter(())
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: set[socket.socket] = set()
        self.arrived = 0

    @property
    def port(self) -> int:
        """The port for a client, instead of the server's."""
        port: int = self._listener.getsockname()[1]
        return port

    def meets(self, faults: Iterable[Fault | None]) -> None:
        """Plan one fault for each of the next scripts."""
        self._planned = iter(faults)

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, name="resp-wire", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for side in list(self._open):
            with suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), name="resp-connection", daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        """Pass on request after request. The client waits for each answer, so a packet is a request."""
        with client, socket.create_connection(self._server) as server, suppress(OSError):
            self._open |= {client, server}
            while request := client.recv(1 << 20):
                is_script = any(word in request[:40] for word in _SCRIPTS)
                self._pass_on(request, client, server, next(self._planned, None) if is_script else None, is_script)
        self._open -= {client, server}

    def _pass_on(
        self,
        request: bytes,
        client: socket.socket,
        server: socket.socket,
        fault: Fault | None,
        is_script: bool,  # noqa: FBT001
    ) -> None:
        match fault:
            case None:
                client.sendall(self._answer(request, server, is_script))
            case Fault.REQUEST_LOST:
                _reset(client)
            case Fault.REQUEST_CUT:
                server.sendall(request[: len(request) // 2])
                _reset(client)
            case Fault.ANSWER_LOST:
                self._answer(request, server, is_script)
                _reset(client)
            case Fault.ANSWER_CUT:
                answer = self._answer(request, server, is_script)
                client.sendall(answer[: len(answer) // 2])
                client.shutdown(socket.SHUT_RDWR)
            case Fault.NO_ANSWER:
                self._answer(request, server, is_script)
            case Fault.DUPLICATE_DELIVERY:
                self._answer(request, server, is_script)
                client.sendall(self._answer(request, server, is_script))
            case Fault.LOADING | Fault.OUT_OF_MEMORY | Fault.READ_ONLY | Fault.SCRIPT_FORGOTTEN | Fault.NOT_PERMITTED:
                client.sendall(f"-{fault}\r\n".encode())
            case _:
                assert_never(fault)

    def _answer(self, request: bytes, server: socket.socket, is_script: bool) -> bytes:  # noqa: FBT001
        self.arrived += is_script
        server.sendall(request)
        answer = server.recv(1 << 20)
        while select.select([server], [], [], _QUIET)[0] and (more := server.recv(1 << 20)):
            answer += more
        return answer


def _reset(side: socket.socket) -> None:
    """Close the connection by a reset: lingering for 0 s does that (man 7 socket)."""
    side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    side.close()
