"""What a loop waits on: being asked to stop, or told that there is news."""

from __future__ import annotations

import threading


class Bell:
    """A `StopSignal` whose waits also end when it is rung. One loop waits, any thread rings."""

    def __init__(self) -> None:
        self._rung = threading.Event()
        self._stopped = False

    def ring(self) -> None:
        """Let the loop look around, now or as soon as it waits."""
        self._rung.set()

    def stop(self) -> None:
        """Ask the loop to stop."""
        self._stopped = True
        self._rung.set()

    def is_set(self) -> bool:
        """True once asked to stop."""
        return self._stopped

    def wait(self, timeout: float) -> bool:
        """Wait for the bell, at most that long; True if asked to stop."""
        self._rung.wait(timeout)
        self._rung.clear()
        return self._stopped
