"""Checkpoints of a command in any language: a socket between `cronce exec` and `cronce checkpoint`.

`cronce checkpoint VALUE` returns once the value is in the ledger. The socket has an abstract address
(Linux, `man 7 unix`), so it needs no writable file system. The address is public on its host; only the
command's own processes are answered, whatever user they run as.
"""

from __future__ import annotations

import os
import select
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from cronce.guard.processes import is_descendant
from cronce.vocabulary.payloads import MAX_JSON_BYTES

_MOST_BYTES = 2 * MAX_JSON_BYTES
_OK = b"ok"

_LONGEST_SILENCE = 5.0
"""Seconds that a connection may take to send its value."""

_LONGEST_ANSWER = 600.0
"""Seconds that `send` waits. The ledger may be away for as long as the lease lasts."""

_MOST_CONNECTIONS = 64
_PAUSE_AFTER_ERROR = 0.1
_CREDENTIALS = struct.Struct("3i")
"""`struct ucred` (man 7 unix): process, user, group."""


class CheckpointServer:
    """Takes values from the command and passes each to `store`, one after the other."""

    def __init__(self, store: Callable[[str], None]) -> None:
        """Open the socket; `start` serves it.

        Args:
            store: Called with the text of a value; an exception's text goes back to the command.

        Raises:
            OSError: The system has no descriptor left, or forbids such sockets.
        """
        self.address = f"@cronce-{os.urandom(16).hex()}"
        self._store = store
        self._root = 0
        self._open: dict[int, _Connection] = {}
        self._poll = select.poll()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(_bytes_of(self.address))
        self._listener.listen()
        self._listener.setblocking(False)

    def start(self, root: int) -> None:
        """Serve the descendants of that process from a thread, until this process ends.

        Raises:
            RuntimeError: The system has no thread left.
        """
        self._root = root
        self._poll.register(self._listener, select.POLLIN)
        threading.Thread(target=self._serve, name="cronce-checkpoints", daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                self._serve_once()
            except Exception:  # noqa: BLE001  # the command can ask again; a thread that ended could not answer
                time.sleep(_PAUSE_AFTER_ERROR)

    def _serve_once(self) -> None:
        now = time.monotonic()
        for number, connection in list(self._open.items()):
            if connection.until <= now:
                self._close(number)
        for number, _ in self._poll.poll(1000 if self._open else None):
            if number == self._listener.fileno():
                self._accept()
                continue
            try:
                if self._open[number].read():
                    self._answer(self._open[number])
                elif not self._open[number].failed:
                    continue
            except Exception:  # noqa: BLE001  # whatever it is, that connection must not wait for ever
                self._close(number)
            else:
                self._close(number)

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        number = connection.fileno()
        try:
            ours = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
            pid, _, _ = _CREDENTIALS.unpack(ours)
            if len(self._open) < _MOST_CONNECTIONS and is_descendant(pid, of=self._root):
                connection.setblocking(False)
                self._poll.register(connection, select.POLLIN)
                self._open[number] = _Connection(connection)
        finally:
            if number not in self._open:
                connection.close()

    def _close(self, number: int) -> None:
        with suppress(Exception):
            self._poll.unregister(number)
        if connection := self._open.pop(number, None):
            connection.socket.close()

    def _answer(self, connection: _Connection) -> None:
        """Store the value and say so, or say why not."""
        answer = _OK
        try:
            self._store(connection.text)
        except Exception as error:  # noqa: BLE001  # whatever it is, the command must be told
            answer = str(error).encode("utf-8", "replace") or b"it could not be stored"
        with suppress(OSError):
            connection.socket.sendall(answer)


class _Connection:
    """One that is still sending: the length of its value in bytes, a line feed, the value."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.until = time.monotonic() + _LONGEST_SILENCE
        self.failed = False
        self._data = b""

    @property
    def text(self) -> str:
        """The value that arrived."""
        return self._data.partition(b"\n")[2].decode("utf-8", "surrogateescape")

    def read(self) -> bool:
        """Take in what has arrived; true once the value is complete. `failed` says that it never will be."""
        try:
            more = self.socket.recv(65536)
        except BlockingIOError:
            return False
        except OSError:
            more = b""
        self._data += more
        length, line_feed, value = self._data.partition(b"\n")
        self.failed = not more or len(self._data) > _MOST_BYTES
        return bool(line_feed) and length.isdigit() and len(value) >= min(int(length), _MOST_BYTES)


def send(address: str, text: str) -> str:
    """Hand the value over; the empty string if it was stored, else the reason."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_LONGEST_ANSWER)
        connection.connect(_bytes_of(address))
        with suppress(BrokenPipeError):  # the answer says why no more was read
            data = text.encode("utf-8", "surrogateescape")[:_MOST_BYTES]  # far too much to be stored, as it was before
            connection.sendall(b"%d\n%b" % (len(data), data))
        answer = _receive(connection)
    if answer == _OK:
        return ""
    return answer.decode("utf-8", "replace") or "refused: this process was not started by that 'cronce exec'"


def _receive(connection: socket.socket) -> bytes:
    data = b""
    with suppress(ConnectionResetError):
        while len(data) <= _MOST_BYTES and (more := connection.recv(65536)):
            data += more
    return data


def _bytes_of(address: str) -> bytes:
    return b"\0" + address.removeprefix("@").encode()
