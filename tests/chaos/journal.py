"""The lines that work appends to a file, each in one write: the only evidence of what really ran.

The work of `cronce exec` is started with this folder as its only path, so this module imports only what loads quickly.
"""

from __future__ import annotations

import os
import time
from typing import NamedTuple

STEP = 0.05
"""Seconds between two lines of work."""

FAILED = 3
"""Exit code of work that is to fail."""


class Line(NamedTuple):
    """One line.

    Attributes:
        kind: `start`, `work`, and finally `end` (complete) or `failed`.
        at: When it was written, in nanoseconds on a clock that cannot be set.
        born: When its process was created, or its function called, on the same clock.
        process: Number of the started program that it belongs to.
    """

    kind: str
    job: str
    period: str
    attempt: int
    fence: int
    at: int
    born: int
    process: int
    pid: int

    @classmethod
    def parsed(cls, text: str) -> Line:
        """The line that was written as this text."""
        kind, job, period, *numbers = text.split()
        return cls(kind, job, period, *map(int, numbers))

    def __str__(self) -> str:
        return " ".join(map(str, self))


class Journal:
    """The file, for one attempt."""

    def __init__(self, *, job: str, period: str, attempt: int, fence: int, born: int) -> None:
        """Open the file that the environment names."""
        self._file = os.open(os.environ["LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._whose = (job, period, attempt, fence)
        self._process = (born, int(os.environ["CHAOS_PROCESS"]), os.getpid())

    def write(self, kind: str) -> None:
        """Append one line."""
        born, process, pid = self._process
        line = Line(kind, *self._whose, now(), born, process, pid)
        os.write(self._file, f"{line}\n".encode())


def now() -> int:
    """Nanoseconds since boot."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def born() -> int:
    """When this process was created (man 5 proc: field 22 of its stat, the second after the name in brackets is 4)."""
    with open("/proc/self/stat", "rb") as stat:  # noqa: PTH123  # pathlib takes as long to load as all the rest
        ticks = int(stat.read().rpartition(b")")[2].split()[19])
    return ticks * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
