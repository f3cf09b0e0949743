"""The loop of commands that look at the ledger from time to time: `sweep` and `watchdog`."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from time import monotonic

from cronce.aws.errors import CallRefusedError, CallUnavailableError
from cronce.client.reporting import report
from cronce.guard.signals import SignalQueue
from cronce.vocabulary.errors import LedgerUnavailableError

_RED_AFTER = 60.0
"""Seconds without an answer, or in one pass beyond the pause between two, after which the process is not healthy."""


class Passes:
    """Calls a function again and again, with a pause after each pass, until asked to stop."""

    def __init__(self, once: Callable[[], object], every: float, signals: SignalQueue) -> None:
        """Call nothing yet.

        Args:
            once: One pass.
            every: Seconds between two passes.
            signals: Ends the loop.
        """
        self._once, self._every, self._signals = once, every, signals
        self._began: float | None = None
        self._away_since: float | None = None
        self._why = ""

    def run(self) -> int:
        """Run the loop. What does not answer, or refuses, is asked again. Returns 0."""
        while not self._signals.is_set():
            self._began = monotonic()
            try:
                self._once()
            except (LedgerUnavailableError, CallUnavailableError, CallRefusedError) as error:
                self._is_away(error)
            else:
                self._answers()
            self._began = None
            until = monotonic() + self._every
            while not self._signals.is_set() and (left := until - monotonic()) > 0:
                _reap()
                self._signals.next(left)
        return 0

    def trouble(self) -> str | None:
        """Why this process is not healthy; None if it is. Called from another thread."""
        now, began, away = monotonic(), self._began, self._away_since
        if away is not None and now - away >= _RED_AFTER:
            return f"no pass has succeeded for {now - away:.0f} s: {self._why}"
        if began is not None and now - began >= self._every + _RED_AFTER:
            return f"the pass has not ended for {now - began:.0f} s"
        return None

    def _is_away(self, error: Exception) -> None:
        self._why = str(error)
        if self._away_since is None:
            report("unavailable", level="ERROR", message=f"{error}; this process keeps asking")
            self._away_since = monotonic()

    def _answers(self) -> None:
        if self._away_since is not None:
            report("available", message="all requests succeed again")
        self._away_since = None


def _reap() -> None:
    """Collect what earlier commands left behind, which became children of this process."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
