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
    """It is answered by DynamoDB's own error, and does not arrive."""


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


class WeatheredProxy(Proxy):
    """Passes HTTP requests on one by one, with the weather's faults.

    Attributes:
        met: The number of requests by fault.
    """

    def __init__(self, endpoint: str, weather: Weather) -> None:
        super().__init__(endpoint)
        self._weather = weather
        self.met: Counter[Fault] = Counter()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(self._target) as server:
            self._open |= {client, server}
            if self._closed:
                self._reset_all()
            with suppress(OSError), client.makefile("rb") as requests, server.makefile("rb") as answers:
                while (request := _message(requests)) and self._pass_on(request, client, server, answers):
                    pass
            self._open -= {client, server}

    def _pass_on(self, request: bytes, client: socket.socket, server: socket.socket, answers: BinaryIO) -> bool:
        """Apply the weather's fault to one request; False if the connection has ended."""
        fault = self._weather.next()
        self.met[fault] += 1
        match fault:
            case Fault.NONE:
                server.sendall(request)
                client.sendall(_message(answers))
            case Fault.DELAYED:
                self._wait(0.02, 0.4)
                server.sendall(request)
                answer = _message(answers)
                self._wait(0.02, 0.4)
                client.sendall(answer)
            case Fault.LATE:
                self._wait(0.5, 20.0)
                server.sendall(request)
                client.sendall(_message(answers))
            case Fault.DROPPED:
                pass
            case Fault.ANSWER_DROPPED:
                server.sendall(request)
                _message(answers)
                if self._weather.seconds(0, 1) < 0.5:
                    return _reset(client)
            case Fault.RESET:
                return _reset(client)
            case Fault.THROTTLED:
                client.sendall(_throttle())
            case _:
                assert_never(fault)
        return True

    def _wait(self, least: float, most: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._closed, self._weather.seconds(least, most))


def _message(stream: BinaryIO) -> bytes:
    """One request or answer with its body, as it was sent; nothing at the end of the stream."""
    head = b""
    while line := stream.readline():
        head += line
        if line == b"\r\n":
            length = re.search(rb"(?im)^content-length: *(\d+)", head)
            return head + stream.read(int(length[1]) if length else 0)
    return b""


def _throttle() -> bytes:
    return (
        b"HTTP/1.1 400 Bad Request\r\nContent-Type: application/x-amz-json-1.0\r\n"
        + f"Date: {formatdate(usegmt=True)}\r\nContent-Length: {len(_THROTTLE)}\r\n\r\n".encode()
        + _THROTTLE
    )


def _reset(client: socket.socket) -> bool:
    """Close the connection with a reset: it lingers for 0 s (man 7 socket)."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return False
