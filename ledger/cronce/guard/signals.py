"""Signals as a queue that one loop reads, so that no handler interrupts other code."""

from __future__ import annotations

import os
import select
import signal
from collections import deque
from contextlib import suppress
from math import ceil
from types import FrameType

STOPPING = frozenset(
    {
        signal.SIGTERM,
        signal.SIGINT,
        signal.SIGHUP,
        signal.SIGQUIT,
        # A timer or CPU limit that this process inherited (`alarm` and `setrlimit` survive `execve`).
        signal.SIGALRM,
        signal.SIGVTALRM,
        signal.SIGPROF,
        signal.SIGXCPU,
    }
)
"""Signals that ask this process to stop."""

_NAMES = ("SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGIO", "SIGPWR", "SIGSTKFLT")
_OF_THE_COMMAND = frozenset(
    {getattr(signal, name) for name in _NAMES if hasattr(signal, name)}
    | {*range(getattr(signal, "SIGRTMIN", 0), getattr(signal, "SIGRTMAX", -1) + 1)}
)
"""Signals that only the command has a use for; most of them would end this process."""

_ALWAYS_HEARD = frozenset({signal.SIGTERM, signal.SIGCHLD})

_NO_SIGNAL = b"\0"
_LONGEST_POLL = 3600.0


class SignalQueue:
    """Receives the signals of this process from now on.

    A signal that was ignored before stays ignored (`nohup`), except SIGTERM and SIGCHLD. Blocked
    signals are unblocked: a mask is inherited, and a blocked SIGTERM would never arrive.
    """

    def __init__(self) -> None:
        """Take over the signals. Only in the main thread."""
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        self._poll = select.poll()  # `select` cannot watch descriptors from 1024 on
        self._poll.register(self._reader, select.POLLIN)
        self._received: deque[int] = deque()
        self._stopping: signal.Signals | None = None
        self._that_stop = STOPPING
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        for number in STOPPING | _OF_THE_COMMAND | {signal.SIGCHLD}:
            if number in _ALWAYS_HEARD or signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, _leave_to_the_queue)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())

    def hear(self, number: signal.Signals) -> None:
        """Let `next` return the signal, which from now on does not ask this process to stop, nor is it ignored."""
        self._that_stop = self._that_stop - {number}
        signal.signal(number, _leave_to_the_queue)

    def watch(self, descriptor: int) -> None:
        """Let `next` return, with no signal, whenever the descriptor can be read."""
        self._poll.register(descriptor, select.POLLIN)

    def unwatch(self, descriptor: int) -> None:
        """Stop watching a descriptor."""
        with suppress(KeyError):
            self._poll.unregister(descriptor)

    def next(self, timeout: float) -> int | None:
        """The next signal, waited for at most `timeout` seconds; None if there is none."""
        if not self._received:
            self._read(timeout)
        return self._received.popleft() if self._received else None

    def wake(self) -> None:
        """Let `next` return, with no signal. From any thread."""
        with suppress(OSError):
            os.write(self._writer, _NO_SIGNAL)

    @property
    def stopping(self) -> signal.Signals | None:
        """The first signal that asked this process to stop; None so far."""
        self._read(0)
        return self._stopping

    def is_set(self) -> bool:
        """True once this process is asked to stop (the interface of `threading.Event`)."""
        return self.stopping is not None

    def wait(self, timeout: float) -> bool:
        """Wait until this process is asked to stop, at most that long; True if it is."""
        self._read(0 if self._stopping else timeout)
        return self._stopping is not None

    def _read(self, timeout: float) -> None:
        self._poll.poll(ceil(min(max(timeout, 0.0), _LONGEST_POLL) * 1000))
        with suppress(BlockingIOError):
            for number in os.read(self._reader, 4096).replace(_NO_SIGNAL, b""):
                self._received.append(number)
                if number in self._that_stop and self._stopping is None:
                    self._stopping = signal.Signals(number)


def _leave_to_the_queue(_signum: int, _frame: FrameType | None) -> None:
    """Do nothing: Python has written the number to the pipe. Without a handler the default action would apply."""
