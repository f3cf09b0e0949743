"""Where time comes from: the one edge at which cronce reads a clock."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

from cronce.protocol.records import whole_milliseconds

_MONOTONIC = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Counts through a suspended virtual machine too, where the system offers that."""


class StopSignal(Protocol):
    """Tells that this process is asked to stop; a `threading.Event` is one."""

    def is_set(self) -> bool:
        """True once it is asked to."""

    def wait(self, timeout: float) -> bool:
        """Wait until it is asked to, at most that many seconds; True if it is."""


class Clock(Protocol):
    """A source of time; `SystemClock`, or one that a test moves by hand."""

    def now(self) -> datetime:
        """The wall clock, aware, in UTC. It may step."""

    def monotonic(self) -> float:
        """Seconds since some fixed moment; never runs back and never stops."""

    def wait(self, stop: StopSignal, seconds: float) -> bool:
        """Wait until `stop` is set, at most that long; True if it is set."""


class SystemClock:
    """This host's clock."""

    def now(self) -> datetime:
        """The wall clock, aware, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds since boot."""
        return time.clock_gettime(_MONOTONIC)

    def wait(self, stop: StopSignal, seconds: float) -> bool:
        """Wait until `stop` is set, at most that long; True if it is set."""
        return stop.wait(seconds)


class SteadyClock:
    """Wall time as of one reading, carried on by the monotonic clock: it never steps.

    A claim keeps one from its beginning to its end, so that a stepped wall clock in between can
    neither shorten nor stretch its lease.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began_at = clock.now()
        self._began = clock.monotonic()

    def now(self) -> datetime:
        """The time, in whole milliseconds as it is stored."""
        return whole_milliseconds(self._began_at + timedelta(seconds=self._clock.monotonic() - self._began))

    def seconds_until(self, at: datetime) -> float:
        """Seconds from now to that moment; negative once it is past."""
        return (at - self._began_at).total_seconds() - (self._clock.monotonic() - self._began)

    def wait(self, stop: StopSignal, seconds: float) -> bool:
        """Wait until `stop` is set, at most that long; True if it is set."""
        return self._clock.wait(stop, seconds)
