"""Checkpoints of a child in any language: a socket between `cronce exec` and `cronce checkpoint`.

The child's `cronce checkpoint VALUE` returns once the value is in the ledger. The socket has an
abstract address (Linux, `man 7 unix`), so it needs no writable file system; only processes of the
same user may use it.
"""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections.abc import Callable

from cronce.vocabulary.payloads import MAX_JSON_BYTES

_MOST_BYTES = 2 * MAX_JSON_BYTES
_OK = b"ok"


class CheckpointServer:
    """Takes values from the child and hands each to `store`, one after the other."""

    def __init__(self, store: Callable[[str], None], *, name: str) -> None:
        """Take the address; `start` serves it.

        Args:
            store: Called with the text of a value; an exception's text goes back to the child.
            name: Unique and unguessable; part of the address.
        """
        self.address = f"@cronce-{name}"
        self._store = store
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(_bytes_of(self.address))
        self._listener.listen()

    def start(self) -> None:
        """Serve from a thread, until the process ends."""
        threading.Thread(target=self._serve, name="cronce-checkpoints", daemon=True).start()

    def _serve(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            with connection:
                try:
                    connection.settimeout(5)
                    if _peer_uid(connection) == os.getuid():
                        connection.sendall(self._answer(_receive(connection)))
                except OSError:
                    continue

    def _answer(self, data: bytes) -> bytes:
        try:
            self._store(data.decode())
        except Exception as error:  # noqa: BLE001  # whatever it is, the child must hear of it
            return str(error).encode("utf-8", "replace")
        return _OK


def send(address: str, text: str) -> str:
    """Hand the value over; empty if it was stored, else why not."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(_bytes_of(address))
        connection.sendall(text.encode("utf-8", "surrogateescape"))
        connection.shutdown(socket.SHUT_WR)
        answer = _receive(connection)
    if answer == _OK:
        return ""
    return answer.decode("utf-8", "replace") or "it was not taken"


def _receive(connection: socket.socket) -> bytes:
    data = b""
    while len(data) <= _MOST_BYTES and (more := connection.recv(65536)):
        data += more
    return data


def _bytes_of(address: str) -> bytes:
    return b"\0" + address.removeprefix("@").encode()


def _peer_uid(connection: socket.socket) -> int:
    pid_uid_gid = struct.Struct("3i")
    uid: int = pid_uid_gid.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, pid_uid_gid.size))[1]
    return uid
