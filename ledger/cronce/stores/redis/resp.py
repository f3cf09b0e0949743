"""RESP2, the protocol of Redis and Valkey: several commands in one packet, and one reply for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cronce.aws.http import AnswerGarbledError, ByteStream

Command = Sequence[bytes | str | int]
Reply = Any
"""bytes, int, None, a list of replies, or a `ReplyError`."""

_LARGEST_REPLY = 64 * 1024 * 1024
_MOST_ELEMENTS = 1024 * 1024
_DEEPEST = 4


class ReplyError(Exception):
    """The server refused a command.

    Attributes:
        code: The first word: `NOSCRIPT`, `MOVED`, `ERR`.
        message: The rest.
    """

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        self.message = message
        super().__init__(f"{code} {message}")


class RespConnection(ByteStream):
    """Sends commands and reads their replies, in order, on one connection."""

    def exchange(self, commands: Sequence[Command], *, by: float) -> list[Reply]:
        """Send the commands in one packet and read all replies. An error is a reply like any other.

        Args:
            commands: The commands with their arguments.
            by: The deadline for all of it.

        Raises:
            OSError: See `ByteStream.begin`.
            AnswerGarbledError: The bytes received are not replies of this protocol.
        """
        self.begin(b"".join(map(_encoded, commands)), by=by)
        return [self._read_reply(0) for _ in commands]

    def _read_reply(self, depth: int) -> Reply:
        line = self.read_line()
        kind, rest = line[:1], line[1:]
        match kind:
            case b"+":
                return rest
            case b"-":
                code, _, message = rest.decode("utf-8", "replace").partition(" ")
                return ReplyError(code, message)
            case b":":
                return _number(rest)
            case b"$" if (size := _number(rest)) >= 0:
                return self._read_bulk(size)
            case b"*" if (size := _number(rest)) >= 0:
                if size > _MOST_ELEMENTS or depth == _DEEPEST:
                    raise AnswerGarbledError(f"a reply with {size} elements at depth {depth}")
                return [self._read_reply(depth + 1) for _ in range(size)]
            case b"$" | b"*" if rest == b"-1":
                return None
            case _:
                raise AnswerGarbledError(f"not a reply of Redis: {line[:60]!r}")

    def _read_bulk(self, size: int) -> bytes:
        if size > _LARGEST_REPLY:
            raise AnswerGarbledError(f"a reply of {size} bytes")
        data = self.read_exactly(size)
        if self.read_exactly(2) != b"\r\n":
            raise AnswerGarbledError("a reply that is longer than its size")
        return data


def _encoded(command: Command) -> bytes:
    parts = [part if isinstance(part, bytes) else str(part).encode() for part in command]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%b\r\n" % (len(part), part) for part in parts)


def _number(text: bytes) -> int:
    digits = text.removeprefix(b"-")
    if not (digits.isdigit() and len(digits) < 20):
        raise AnswerGarbledError(f"not a number: {text[:60]!r}")
    return int(text)
