"""Checkpoints and effects of a command in any language: a socket between `cronce exec` and what it runs.

`cronce checkpoint VALUE` returns once the value is in the ledger. `cronce once KEY -- COMMAND` asks before it starts
the command, and says how it ended. The socket has an abstract address (Linux, `man 7 unix`), so it needs no writable
file system. The address is public on its host; only the command's own processes are answered, whatever user they run
as.

A connection is one request: `LENGTH`, or a word, a space and `LENGTH`, then a line feed and that many
bytes. The answer is `ok`, `skip STATE`, or what went wrong. docs/effects.md describes it for other languages.
"""

from __future__ import annotations

import os
import select
import socket
import struct
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from cronce.guard.processes import is_descendant
from cronce.vocabulary.payloads import MAX_JSON_BYTES

if TYPE_CHECKING:
    from cronce.client.claim import Claim
    from cronce.client.effects import Effect

_MOST_BYTES = 2 * MAX_JSON_BYTES
_OK = b"ok"
_BEGINNINGS = ("skip", "repeat")
"""How an effect is begun: what is to happen if it is unknown."""
_ENDS = ("done", "unknown", "never_tried")
"""What became of an effect that was begun."""

_LONGEST_SILENCE = 5.0
"""Seconds that a connection may take to send its value."""

_LONGEST_ANSWER = 600.0
"""Seconds that `send` waits. The ledger may be away for as long as the lease lasts."""

_MOST_CONNECTIONS = 64
_PAUSE_AFTER_ERROR = 0.1
_CREDENTIALS = struct.Struct("3i")
"""`struct ucred` (man 7 unix): process, user, group."""


class CheckpointServer:
    """Takes requests of the command about its claim, one after the other."""

    def __init__(self, claim: Claim) -> None:
        """Open the socket; `start` serves it.

        Args:
            claim: Stores the values. The text of an error goes back to the command.

        Raises:
            OSError: The system has no descriptor left, or forbids such sockets.
        """
        self.address = f"@cronce-{os.urandom(16).hex()}"
        self._claim = claim
        self._begun: dict[str, Effect] = {}
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
            except Exception:  # noqa: BLE001  # whatever it is, that connection must not wait without a limit
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
        """Do what was asked and say so, or say why not."""
        try:
            answer = self._serve_request(connection.word, connection.text).encode()
        except Exception as error:  # noqa: BLE001  # whatever it is, the command must be told
            answer = str(error).encode("utf-8", "replace") or b"it could not be stored"
        with suppress(OSError):
            connection.socket.sendall(answer)

    def _serve_request(self, word: str, text: str) -> str:
        if not word:
            self._claim.checkpoint_text(text)
        elif word in _BEGINNINGS:
            effect = self._claim.once(text, on_unknown=word)
            if not effect:
                return f"skip {effect.state}"
            self._begun[text] = effect
        elif word in _ENDS:
            if text not in self._begun:
                return f"the effect {text!r} was not begun"
            self._begun.pop(text).end(word)
        else:
            return f"unknown request {word!r}; known are {', '.join((*_BEGINNINGS, *_ENDS))}"
        return _OK.decode()


class _Connection:
    """One that is still sending its request."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.until = time.monotonic() + _LONGEST_SILENCE
        self.failed = False
        self._data = b""

    @property
    def word(self) -> str:
        """What is asked for; empty for a checkpoint."""
        return self._data.partition(b"\n")[0].rpartition(b" ")[0].decode("ascii", "replace")

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
        line, line_feed, value = self._data.partition(b"\n")
        length = line.rpartition(b" ")[2]
        self.failed = not more or len(self._data) > _MOST_BYTES
        return bool(line_feed) and length.isdigit() and len(value) >= min(int(length), _MOST_BYTES)


def send(address: str, text: str) -> str:
    """Hand the checkpoint over; the empty string if it was stored, else the reason."""
    answer = exchange(address, "", text)
    return "" if answer == _OK.decode() else answer


def exchange(address: str, word: str, text: str) -> str:
    """Send a request; the answer: `ok`, `skip STATE`, or the reason why not."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_LONGEST_ANSWER)
        connection.connect(_bytes_of(address))
        with suppress(BrokenPipeError):  # the answer says why no more was read
            data = text.encode("utf-8", "surrogateescape")[:_MOST_BYTES]  # far too much to be stored, as it was before
            connection.sendall(b"%b%d\n%b" % (f"{word} ".encode() if word else b"", len(data), data))
        answer = _receive(connection)
    return answer.decode("utf-8", "replace") or "refused: this process was not started by that 'cronce exec'"


def _receive(connection: socket.socket) -> bytes:
    data = b""
    with suppress(ConnectionResetError):
        while len(data) <= _MOST_BYTES and (more := connection.recv(65536)):
            data += more
    return data


def _bytes_of(address: str) -> bytes:
    return b"\0" + address.removeprefix("@").encode()
