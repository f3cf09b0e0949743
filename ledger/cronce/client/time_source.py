"""The source of time: the only place where cronce reads a clock."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

from cronce.protocol.records import whole_milliseconds

_MONOTONIC = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""If the system has it, a clock that also counts while a virtual machine is suspended."""


class StopSignal(Protocol):
    """Says whether this process is asked to stop; for example a `threading.Event`."""

    def is_set(self) -> bool:
        """True once this process is asked to stop."""

    def wait(self, timeout: float) -> bool:
        """Wait until this process is asked to stop, at most `timeout` seconds; True if it is."""


class Clock(Protocol):
    """A source of time: `SystemClock`, or one that a test moves by hand."""

    def now(self) -> datetime:
        """The wall clock, aware, in UTC. It may step."""

    def monotonic(self) -> float:
        """Seconds since a fixed moment; never goes back and never stops."""

    def wait(self, stop: StopSignal, seconds: float) -> bool:
        """Wait until `stop` is set, at most `seconds`; True if it is set."""


class SystemClock:
    """This host's clock."""

    def now(self) -> datetime:
        """The wall clock, aware, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds since boot."""
        return time.clock_gettime(_MONOTONIC)

    def wait(self, stop: StopSignal, seconds: float) -> bool:
        """Wait until `stop` is set, at most `seconds`; True if it is set."""
        return stop.wait(seconds)


class SteadyClock:
    """One reading of the wall clock, continued by the monotonic clock: it never steps.

    A claim uses one from its beginning to its end, so that a step of the wall clock can neither shorten nor extend
    its lease.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began_at = clock.now()
        self._began = clock.monotonic()

    def now(self) -> datetime:
        """The time in whole milliseconds, as stored."""
        return whole_milliseconds(self._began_at + timedelta(seconds=self._clock.monotonic() - self._began))

    def seconds_until(self, at: datetime) -> float:
        """Seconds from now until `at`; negative once it has passed."""
        return (at - self._began_at).total_seconds() - (self._clock.monotonic() - self._began)

    def wait(self, stop: StopSignal, seconds: float) -> bool:
        """Wait until `stop` is set, at most `seconds`; True if it is set."""
        return self._clock.wait(stop, seconds)
