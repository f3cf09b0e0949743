"""Signals as a queue that one loop reads, so that no handler ever runs in the middle of something."""

from __future__ import annotations

import os
import select
import signal
from collections import deque
from contextlib import suppress
from types import FrameType

FORWARDED = (
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGWINCH,
)
STOPPING = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT})


_NO_SIGNAL = b"\0"


class SignalQueue:
    """Receives this process's signals from now on; one that was ignored stays ignored (`nohup`)."""

    def __init__(self) -> None:
        """Take over the signals. Only in the main thread."""
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        for number in (*FORWARDED, signal.SIGCHLD):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, _leave_to_the_queue)
        self._received: deque[signal.Signals] = deque()
        self._stopping: signal.Signals | None = None

    def next(self, timeout: float) -> signal.Signals | None:
        """The next signal, waited for at most `timeout` seconds; None if there is none."""
        if not self._received:
            self._read(timeout)
        return self._received.popleft() if self._received else None

    def wake(self) -> None:
        """Let `next` return, with no signal. From any thread."""
        with suppress(BlockingIOError):
            os.write(self._writer, _NO_SIGNAL)

    @property
    def stopping(self) -> signal.Signals | None:
        """The first signal that asks this process to stop, once it has arrived."""
        self._read(0)
        return self._stopping

    def is_set(self) -> bool:
        """True once this process is asked to stop (as `threading.Event` says it)."""
        return self.stopping is not None

    def wait(self, timeout: float) -> bool:
        """Wait until this process is asked to stop, at most that long; True if it is."""
        self._read(0 if self._stopping else timeout)
        return self._stopping is not None

    def _read(self, timeout: float) -> None:
        readable, _, _ = select.select([self._reader], [], [], timeout)
        if not readable:
            return
        for number in os.read(self._reader, 4096).replace(_NO_SIGNAL, b""):
            received = signal.Signals(number)
            self._received.append(received)
            if received in STOPPING and self._stopping is None:
                self._stopping = received


def _leave_to_the_queue(_signum: int, _frame: FrameType | None) -> None:
    """The number is in the pipe already; without a handler the signal would have its default effect."""
