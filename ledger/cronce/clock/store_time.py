"""The time of a clock's process: a wall clock that is checked against the ledger's.

A host's wall clock can be wrong for seconds or hours: after a virtual machine resumes, before NTP has
synchronized it, or because somebody set it. Each answer of the store has the store's time, and the
monotonic clock measures the time since that answer. Together they give a span of a second or less in which
the store's clock must be. The time is the first of these that is in the span:

1. the host's wall clock, unless it has stepped within the last minute (`HOLD`);
2. the time before that step, plus the monotonic time since;
3. the host's wall clock, although it has stepped: the step corrected it;
4. the earliest time in the span.

A store without a clock (SQLite, memory) gives no span. There, a step is accepted after it has lasted for `HOLD`.

So a step of the wall clock, of any size and in either direction, makes no tick early and none late. Every
time in the process comes from here: what is due, what is late, and the leases.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TypeVar

from cronce.client.time_source import Clock, StopSignal
from cronce.stores.passing import PassingStore
from cronce.stores.store import Cautious, Store
from cronce.vocabulary.errors import LedgerUnavailableError

T = TypeVar("T")

HOLD = timedelta(minutes=1)
"""How long a step of the host's clock must last before it is accepted without proof."""

_SLACK = timedelta(milliseconds=100)
"""A smaller step is ordinary adjustment, and a time this far outside the span still agrees."""

_RESOLUTION = timedelta(seconds=1)
"""The store's time is truncated to this (RFC 9110, "Date")."""


class StoreTime:
    """A `Clock` that never follows a step of the host's wall clock that the store contradicts. Thread-safe."""

    def __init__(self, host: Clock) -> None:
        """Agree with the host's clock until the store has answered."""
        self._host = host
        self._lock = threading.Lock()
        # Times at monotonic zero: what this clock showed last, and the store's earliest and latest possible time.
        self._agreed = host.now() - timedelta(seconds=host.monotonic())
        self._bounds: tuple[datetime, datetime] | None = None
        self._step: tuple[datetime, timedelta] | None = None

    def now(self) -> datetime:
        """The wall clock, aware, in UTC."""
        with self._lock:
            wall, elapsed = self._host.now(), timedelta(seconds=self._host.monotonic())
            agreed = self._agreed + elapsed
            now = self._without_new_steps(wall, agreed, elapsed)
            if self._bounds is not None:
                earliest, latest = (bound + elapsed for bound in self._bounds)
                possible = (at for at in (now, agreed, wall) if earliest - _SLACK <= at <= latest + _SLACK)
                now = next(possible, earliest)
            self._agreed = now - elapsed
            return now

    def monotonic(self) -> float:
        """Seconds since some fixed moment."""
        return self._host.monotonic()

    def wait(self, stop: StopSignal, seconds: float) -> bool:
        """Wait until `stop` is set, at most that long; True if it is set."""
        return self._host.wait(stop, seconds)

    def heard(self, store_at: datetime, *, sent: float, received: float) -> None:
        """Use an answer of the store.

        Args:
            store_at: The store's time in it, in whole seconds.
            sent: When the request was sent, in monotonic seconds.
            received: When the answer was received.
        """
        earliest = store_at - timedelta(seconds=received)
        latest = store_at + _RESOLUTION - timedelta(seconds=sent)
        with self._lock:
            if self._bounds is not None:
                low, high = max(earliest, self._bounds[0]), min(latest, self._bounds[1])
                if low <= high:
                    earliest, latest = low, high
                # else the clocks have drifted apart since: only the newest answer counts
            self._bounds = earliest, latest

    def _without_new_steps(self, wall: datetime, agreed: datetime, elapsed: timedelta) -> datetime:
        if abs(wall - agreed) <= _SLACK:
            self._step = None
            return wall
        stepped = wall - elapsed
        if self._step is None or abs(stepped - self._step[0]) > _SLACK:
            self._step = stepped, elapsed
        return wall if elapsed - self._step[1] >= HOLD else agreed


class TimedStore(PassingStore):
    """A store that passes the time of each answer to a `StoreTime`."""

    def __init__(self, store: Store, time: StoreTime) -> None:
        super().__init__(store)
        self._time = time

    def hear(self, job: str, key: str) -> None:
        """Read a row for the time in the answer: no lease is then written by a clock that is wrong. Never raises."""
        with suppress(LedgerUnavailableError):
            self.get(job, key)

    @property
    def caution(self) -> str | None:
        """The store's, if it has one."""
        return self._store.caution if isinstance(self._store, Cautious) else None

    def _read(self, call: Callable[[], T]) -> T:
        sent = self._time.monotonic()
        answer = call()
        if (at := self._store.answered_at) is not None:
            self._time.heard(at, sent=sent, received=self._time.monotonic())
        return answer

    _write = _read
