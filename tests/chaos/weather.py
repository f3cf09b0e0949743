"""A connection to the ledger with changing faults: calm, gusts, and storms in which nothing gets through."""

from __future__ import annotations

import random
import re
import socket
import struct
import threading
import time
from collections import Counter
from contextlib import suppress
from email.utils import formatdate
from enum import StrEnum
from typing import BinaryIO, assert_never

from tests.support.proxy import Proxy


class Fault(StrEnum):
    """What happens to a request."""

    NONE = "passed"
    DELAYED = "delayed"
    """It arrives later, and its answer too."""
    LATE = "late"
    """It arrives after the client has given up."""
    DROPPED = "dropped"
    """It never arrives, and there is no answer."""
    ANSWER_DROPPED = "answers dropped"
    """It arrives; the answer does not."""
    RESET = "reset"
    """The connection is reset before it arrives."""
    THROTTLED = "throttled"
    """It is answered by the store's own error, and does not arrive."""


_CALM = {Fault.NONE: 1}
_GUSTS = {
    Fault.NONE: 50,
    Fault.DELAYED: 12,
    Fault.LATE: 8,
    Fault.DROPPED: 6,
    Fault.ANSWER_DROPPED: 12,
    Fault.RESET: 6,
    Fault.THROTTLED: 6,
}
_STORM = {Fault.DROPPED: 5, Fault.LATE: 3, Fault.ANSWER_DROPPED: 1, Fault.RESET: 1, Fault.THROTTLED: 1}

_WEATHERS = (_CALM, _GUSTS, _STORM)
_LIKELY = (5, 4, 2)
_LONGEST = 10.0

_THROTTLE = (
    b'{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"The level of '
    b"configured provisioned throughput for the table was exceeded. Consider increasing your provisioning level with "
    b'the UpdateTable API."}'
)


class Weather:
    """The faults of the next requests; calm from `settle` on."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self._lock = threading.Lock()
        self._now = _CALM
        self._until = 0.0

    def next(self) -> Fault:
        """The fault that the next request meets."""
        with self._lock:
            if time.monotonic() >= self._until:
                self._now = self._dice.choices(_WEATHERS, _LIKELY)[0]
                self._until = time.monotonic() + self._dice.uniform(1.0, _LONGEST)
            return self._dice.choices(list(self._now), list(self._now.values()))[0]

    def seconds(self, least: float, most: float) -> float:
        """A random duration."""
        with self._lock:
            return self._dice.uniform(least, most)

    def settle(self) -> None:
        """Make it calm from now on."""
        with self._lock:
            self._now, self._until = _CALM, float("inf")


class Http:
    """The requests of one connection to DynamoDB."""

    def request(self, stream: BinaryIO) -> bytes:
        """One request as it was sent; nothing at the end of the stream."""
        head = b""
        while line := stream.readline():
            head += line
            if line == b"\r\n":
                length = re.search(rb"(?im)^content-length: *(\d+)", head)
                return head + stream.read(int(length[1]) if length else 0)
        return b""

    answer = request

    def throttle(self) -> bytes:
        """DynamoDB's error."""
        return (
            b"HTTP/1.1 400 Bad Request\r\nContent-Type: application/x-amz-json-1.0\r\n"
            + f"Date: {formatdate(usegmt=True)}\r\nContent-Length: {len(_THROTTLE)}\r\n\r\n".encode()
            + _THROTTLE
        )


class Postgres:
    """The messages of one connection to PostgreSQL, of a user without a password."""

    def __init__(self) -> None:
        self._kind = 0
        """Bytes before a message's length: none in the first one."""

    def request(self, stream: BinaryIO) -> bytes:
        """One message as it was sent; nothing at the end of the stream."""
        message = _framed(stream, self._kind)
        self._kind = 1
        return message

    def answer(self, stream: BinaryIO) -> bytes:
        """Every message until the server is ready for the next request."""
        messages = b""
        while message := _framed(stream, 1):
            messages += message
            if message[:1] == b"Z":
                break
        return messages

    def throttle(self) -> bytes:
        """PostgreSQL's error; it closes the connection."""
        fields = b"SFATAL\0VFATAL\0C53300\0Msorry, too many clients already\0\0"
        return b"E" + (len(fields) + 4).to_bytes(4) + fields


class Resp:
    """The commands of one connection to Redis or Valkey."""

    def request(self, stream: BinaryIO) -> bytes:
        """One command as it was sent, or one whole reply; nothing at the end of the stream."""
        line = stream.readline()
        size = int(line[1:]) if line[:1] in (b"*", b"$") else -1
        if size < 0:  # a reply of one line
            return line
        if line[:1] == b"$":
            return line + stream.read(size + 2)
        return line + b"".join(self.request(stream) for _ in range(size))

    answer = request

    def throttle(self) -> bytes:
        """The error of a server that reads its files."""
        return b"-LOADING Redis is loading the dataset in memory\r\n"


Wire = Http | Postgres | Resp

_WIRES: dict[str, type[Wire]] = {"dynamodb": Http, "postgresql": Postgres, "redis": Resp}
"""By the scheme of the ledger's URL."""


def _framed(stream: BinaryIO, kind: int) -> bytes:
    head = stream.read(kind + 4)
    return head + stream.read(int.from_bytes(head[kind:]) - 4) if len(head) == kind + 4 else b""


class WeatheredProxy(Proxy):
    """Passes requests of a ledger on one by one, with the weather's faults.

    Attributes:
        url: The ledger's URL through this proxy.
        met: The number of requests by fault.
    """

    def __init__(self, url: str, weather: Weather) -> None:
        place = re.search(r"127\.0\.0\.1:[0-9]+", url)
        assert place is not None, "the server is on this machine"
        super().__init__(f"tcp://{place[0]}")
        self.url = url.replace(place[0], f"127.0.0.1:{self.port}")
        self._wire = _WIRES[url.partition(":")[0]]
        self._weather = weather
        self.met: Counter[Fault] = Counter()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError), socket.create_connection(self._target) as server:  # it may be down
            self._open |= {client, server}
            if self._closed:
                self._reset_all()
            with suppress(OSError), client.makefile("rb") as requests, server.makefile("rb") as answers:
                wire = self._wire()
                while (request := wire.request(requests)) and self._pass_on(request, client, server, answers, wire):
                    pass
            self._open -= {client, server}

    def _pass_on(
        self,
        request: bytes,
        client: socket.socket,
        server: socket.socket,
        answers: BinaryIO,
        wire: Http | Postgres | Resp,
    ) -> bool:
        """Apply the weather's fault to one request; False if the connection has ended."""
        fault = self._weather.next()
        self.met[fault] += 1
        match fault:
            case Fault.NONE:
                server.sendall(request)
                client.sendall(wire.answer(answers))
            case Fault.DELAYED:
                self._wait(0.02, 0.4)
                server.sendall(request)
                answer = wire.answer(answers)
                self._wait(0.02, 0.4)
                client.sendall(answer)
            case Fault.LATE:
                self._wait(0.5, 20.0)
                server.sendall(request)
                client.sendall(wire.answer(answers))
            case Fault.DROPPED:
                pass
            case Fault.ANSWER_DROPPED:
                server.sendall(request)
                wire.answer(answers)
                if self._weather.seconds(0, 1) < 0.5:
                    return _reset(client)
            case Fault.RESET:
                return _reset(client)
            case Fault.THROTTLED:
                client.sendall(wire.throttle())
            case _:
                assert_never(fault)
        return True

    def _wait(self, least: float, most: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._closed, self._weather.seconds(least, most))


def _reset(client: socket.socket) -> bool:
    """Close the connection with a reset: it lingers for 0 s (man 7 socket)."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return False
