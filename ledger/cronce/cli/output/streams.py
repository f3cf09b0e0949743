"""The standard streams of a command: lost output is an error of its own, a lost message is only lost."""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress
from typing import Any


class OutputLostError(Exception):
    """Standard output cannot be written.

    It is no `OSError`, which click and rich would handle in their own ways.

    Attributes:
        reader_left: True if the output goes to a pipe whose reader has gone.
        cause: What the operating system says.
    """

    def __init__(self, error: OSError) -> None:
        self.reader_left = error.errno == errno.EPIPE
        self.cause = error.strerror or str(error)
        super().__init__(self.cause)


class _Output(io.TextIOWrapper):
    """Standard output; what cannot be written raises `OutputLostError`."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError as error:
            raise OutputLostError(error) from None

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            raise OutputLostError(error) from None


class _Messages(io.TextIOWrapper):
    """Standard error; what cannot be written is lost."""

    def write(self, text: str) -> int:
        with suppress(OSError):
            return super().write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            super().flush()


class _ClosedFile(io.RawIOBase):
    """Stands for a standard file that was closed when the process was started."""

    is_silent = False

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:  # noqa: ANN401  # a buffer
        if self.is_silent:
            return len(data)
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))


def prepare_streams() -> None:
    """Make the streams report lost output, and print characters that their encoding lacks as escapes."""
    if sys.stdout is sys.__stdout__:  # else a caller has replaced it, and captures what is printed
        sys.stdout = _wrapped(sys.stdout, _Output)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _wrapped(sys.stderr, _Messages)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def silence_output() -> None:
    """Discard what is still to be written, so that the interpreter's last flush does not fail."""
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    if isinstance(raw, _ClosedFile):
        raw.is_silent = True
        return
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _wrapped(stream: object, wrapper: type[io.TextIOWrapper]) -> io.TextIOWrapper:
    if not isinstance(stream, io.TextIOWrapper):  # None: the process was started with a closed file
        return wrapper(io.BufferedWriter(_ClosedFile()), encoding="utf-8", write_through=True)
    encoding, line_buffering = stream.encoding, stream.line_buffering
    return wrapper(stream.detach(), encoding=encoding, line_buffering=line_buffering)
