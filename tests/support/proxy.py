"""A TCP proxy between a client and a real server that can inject faults."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress
from enum import StrEnum, auto
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from types import TracebackType


_TRICKLE = 0.1
"""Seconds between two bytes: an answer takes half a minute, and no `recv` waits for longer than this."""


class Mode(StrEnum):
    """What the proxy does with bytes and connections, old and new."""

    PASS = auto()
    """Passes everything on."""
    DELAY = auto()
    """Passes everything on with a delay."""
    BLACKHOLE = auto()
    """Accepts and does not answer. What was sent is kept, and arrives when the mode changes."""
    TRICKLE = auto()
    """Passes requests on, and answers one byte at a time."""
    RESET = auto()
    """Resets every connection."""
    LOSE_REQUEST = auto()
    """Resets every connection at the next request, which is lost; then passes everything on."""
    LOSE_ANSWER = auto()
    """Resets every connection at the next answer, which is lost; then passes everything on."""
    CUT_ANSWER = auto()
    """Passes on half of the next answer, closes the connection, then passes everything on."""


class Proxy:
    """Listens on a free port, by default of loopback, as long as the `with` block lasts.

    Attributes:
        delay: Seconds by which `DELAY` delays each chunk, in both directions.
        connections: The number of connections so far.
    """

    def __init__(self, endpoint: str, *, delay: float = 0.0, address: str = "127.0.0.1") -> None:
        parts = urlsplit(endpoint)
        self._target = (parts.hostname or "", parts.port or 80)
        self.delay = delay
        self.connections = 0
        self._mode = Mode.PASS
        self._closed = False
        self._changed = threading.Condition()
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server((address, 0))
        self._threads = [threading.Thread(target=self._accept, name="proxy", daemon=True)]

    @property
    def endpoint(self) -> str:
        """The URL for a client, instead of the server's."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def port(self) -> int:
        """The port for a client, instead of the server's."""
        port: int = self._listener.getsockname()[1]
        return port

    @property
    def mode(self) -> Mode:
        """The current mode."""
        return self._mode

    @mode.setter
    def mode(self, mode: Mode) -> None:
        with self._changed:
            self._mode = mode
            self._changed.notify_all()
        if mode is Mode.RESET:
            self._reset_all()

    def __enter__(self) -> Self:
        """Start accepting."""
        self._threads[0].start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close every connection, and wait until all threads have ended."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes `accept`
        self._reset_all()
        for thread in self._threads:
            thread.join(10)
        self._listener.close()

    def _accept(self) -> None:
        while not self._closed:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            thread = threading.Thread(target=self._serve, args=(client,), name="proxy-connection", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(self._target) as server:
            self._open |= {client, server}
            if self._closed or self._mode is Mode.RESET:
                self._reset_all()
            back = threading.Thread(target=self._pump, args=(server, client, True), name="proxy-answers", daemon=True)
            back.start()
            self._pump(client, server)
            back.join()
            self._open -= {client, server}

    def _pump(self, source: socket.socket, sink: socket.socket, answers: bool = False) -> None:  # noqa: FBT001, FBT002
        """Pass on what `source` sends, as the mode defines, until one side is closed."""
        with suppress(OSError):
            while data := source.recv(65536):
                with self._changed:
                    if self._mode is Mode.DELAY:
                        self._changed.wait_for(lambda: self._closed, self.delay)
                    self._changed.wait_for(lambda: self._closed or self._mode is not Mode.BLACKHOLE)
                while answers and self._mode is Mode.TRICKLE and data:
                    sink.sendall(data[:1])
                    data = data[1:]
                    with self._changed:
                        self._changed.wait_for(lambda: self._closed or self._mode is not Mode.TRICKLE, _TRICKLE)
                if self._mode in ((Mode.LOSE_ANSWER, Mode.CUT_ANSWER) if answers else (Mode.LOSE_REQUEST,)):
                    mode, self.mode = self._mode, Mode.PASS
                    if mode is Mode.CUT_ANSWER:
                        sink.sendall(data[: len(data) // 2])
                    else:
                        self._reset_all()
                    break
                sink.sendall(data)
        for side in (source, sink):
            with suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)

    def _reset_all(self) -> None:
        for side in list(self._open):
            with suppress(OSError):
                # Lingering for 0 s makes the close a reset (man 7 socket).
                side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                side.shutdown(socket.SHUT_RDWR)
