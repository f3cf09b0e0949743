"""A TCP server on this machine that reads whole requests and answers with any bytes, at any speed, or not at all."""

from __future__ import annotations

import re
import socket
import struct
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


@dataclass(kw_only=True)
class Peer:
    """One connection of a client.

    Attributes:
        number: The connection's number, from 1.
        served: How many requests of this connection were read before the current one.
        over: Set when the test is over: nothing may wait longer.
    """

    socket: socket.socket
    number: int
    over: threading.Event
    served: int = 0

    def send(self, data: bytes) -> None:
        """Send the bytes at once."""
        self.socket.sendall(data)

    def trickle(self, data: bytes, *, pause: float = 0.02) -> None:
        """Send one byte at a time, again and again from the start, until the client hangs up or the test is over."""
        while not self.over.is_set():
            for byte in data:
                self.socket.sendall(bytes([byte]))
                if self.over.wait(pause):
                    return

    def reset(self) -> None:
        """Close the connection by a reset: a linger time of 0 discards what was not sent yet (man 7 socket)."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


@dataclass(kw_only=True)
class HostileServer:
    """The running server.

    Attributes:
        requests: Head and body of each request, in the order of their arrival.
    """

    port: int
    requests: list[bytes] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def endpoint(self) -> str:
        """The URL to give to a client."""
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def hostile(speak: Callable[[Peer, bytes], object], *, tls: ssl.SSLContext | None = None) -> Iterator[HostileServer]:
    """Serve until the block ends. `speak` answers each request; if it returns True, the connection stays open."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        server = HostileServer(port=listener.getsockname()[1])
        threads: list[threading.Thread] = []
        open_sockets: list[socket.socket] = []

        def serve(connection: socket.socket, number: int) -> None:
            with suppress(OSError, ValueError):
                if tls is not None:
                    connection = tls.wrap_socket(connection, server_side=True)
                    open_sockets.append(connection)
                with connection:
                    peer = Peer(socket=connection, number=number, over=server.over)
                    while request := _read_request(connection):
                        server.requests.append(request)
                        if speak(peer, request) is not True:
                            return
                        peer.served += 1

        def accept() -> None:
            number = 0
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    number += 1
                    open_sockets.append(connection)
                    threads.append(threading.Thread(target=serve, args=(connection, number), daemon=True))
                    threads[-1].start()

        accepting = threading.Thread(target=accept, daemon=True)
        accepting.start()
        try:
            yield server
        finally:
            server.over.set()
            listener.shutdown(socket.SHUT_RDWR)
            accepting.join(10)
            for each in open_sockets:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join(10)
            for each in open_sockets:
                each.close()


def _read_request(connection: socket.socket) -> bytes:
    """Head and body of the next request; empty when the client has closed the connection."""
    data = b""
    while b"\r\n\r\n" not in data:
        received = connection.recv(65536)
        if not received:
            return b""
        data += received
    head, _, body = data.partition(b"\r\n\r\n")
    length = _LENGTH.search(head)
    while length and len(body) < int(length[1]):
        received = connection.recv(65536)
        if not received:
            return b""
        body += received
    return head + b"\r\n\r\n" + body
