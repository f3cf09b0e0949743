"""A clock that only a test moves."""

from __future__ import annotations

import threading
from collections import deque
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from cronce.client.time_source import StopSignal


_LOOK_EVERY = 0.005
"""Seconds after which a thread that waits looks at the clock again."""


class ManualClock:
    """A `cronce.client.time_source.Clock` that moves only by calls.

    A wait of the thread that made the clock moves it at once. Another thread, such as the heartbeat of a claim in a
    `with` block, waits until the clock has been moved far enough.

    Attributes:
        waits: Every wait so far, in seconds.
    """

    def __init__(self, at: datetime | None = None) -> None:
        """Start at `at`, or at the current second, so that a store with its own time agrees."""
        self._now = at or datetime.now(UTC).replace(microsecond=0)
        self._monotonic = 1000.0
        self._thread = threading.get_ident()
        self._meanwhile: deque[Callable[[], object]] = deque()
        self.waits: list[float] = []

    def now(self) -> datetime:
        """The wall clock."""
        return self._now

    def monotonic(self) -> float:
        """Seconds since some fixed moment."""
        return self._monotonic

    def wait(self, stop: StopSignal, seconds: float) -> bool:
        """Advance by `seconds`, and perform the next action that was planned for a wait."""
        if threading.get_ident() != self._thread:
            due = self._monotonic + seconds
            while self._monotonic < due and not stop.wait(_LOOK_EVERY):
                pass
            return stop.is_set()
        self.waits.append(seconds)
        self.advance(timedelta(seconds=seconds))
        if self._meanwhile:
            self._meanwhile.popleft()()
        return stop.is_set()

    def advance(self, by: timedelta) -> None:
        """Advance both clocks."""
        self._now += by
        self._monotonic += by.total_seconds()

    def step(self, by: timedelta) -> None:
        """Set the wall clock forward or back, as NTP does; no time passes."""
        self._now += by

    def host(self) -> HostClock:
        """The clock of one host: the wall clock may be set, the time that passes is everybody's."""
        return HostClock(self)

    def meanwhile(self, *actions: Callable[[], object]) -> None:
        """Plan the actions, one for each of the next waits."""
        self._meanwhile.extend(actions)


class HostClock:
    """The clock of one host on a `ManualClock`, which is the true time."""

    def __init__(self, true: ManualClock) -> None:
        self._true = true
        self.wrong_by = timedelta(0)

    def now(self) -> datetime:
        """The wall clock, which may be wrong."""
        return self._true.now() + self.wrong_by

    def monotonic(self) -> float:
        """Seconds since some fixed moment."""
        return self._true.monotonic()

    def wait(self, stop: StopSignal, seconds: float) -> bool:
        """Move the true time on."""
        return self._true.wait(stop, seconds)
