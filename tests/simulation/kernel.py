"""Virtual time for ordinary blocking code: many threads of which exactly one runs, in a fixed order.

A thread gives the baton back whenever it waits; the kernel then moves time to the next thing that
is due. So a day passes in a second, and the same seed gives the same day.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from cronce.client.time_source import StopSignal

EPOCH = datetime(2026, 11, 29, tzinfo=UTC)
"""When every fleet begins."""


class KilledError(BaseException):
    """The process does not live any more; unwinds its thread."""


class Proc:
    """A process of the fleet: one thread, which may be paused, asked to stop, or killed."""

    def __init__(self, name: str, body: Callable[[Proc], None]) -> None:
        self.name = name
        self.stop = threading.Event()
        self.alive = True
        self.killed = False
        self.paused_until = 0.0
        self.body = body
        self.turn = threading.Semaphore(0)
        self.due = 0
        self.thread: threading.Thread | None = None


class Kernel:
    """Owns the time and the baton."""

    def __init__(self) -> None:
        self.now = 0.0
        self.steps = 0
        self._queue: list[tuple[float, int, Proc | Callable[[], None]]] = []
        self._number = 0
        self._baton = threading.Semaphore(0)
        self._current: Proc | None = None
        self._failure: BaseException | None = None

    def spawn(self, name: str, body: Callable[[Proc], None], *, at: float | None = None) -> Proc:
        """Start a process, now or later."""
        proc = Proc(name, body)
        self._wake(proc, self.now if at is None else at)
        return proc

    def call(self, at: float, what: Callable[[], None]) -> None:
        """Do something that does not wait, at that time."""
        self._number += 1
        heapq.heappush(self._queue, (at, self._number, what))

    def sleep(self, seconds: float) -> None:
        """Let time pass for the calling process.

        Raises:
            KilledError: It was killed meanwhile.
        """
        proc = self._current
        assert proc is not None
        if not proc.killed:
            self._wake(proc, self.now + max(0.0, seconds))
            self._baton.release()
            proc.turn.acquire()
        if proc.killed:
            raise KilledError

    def kill(self, proc: Proc) -> None:
        """End a process where it stands, without a word."""
        proc.killed = True
        proc.paused_until = 0.0
        self._wake(proc, self.now)

    def ask_to_stop(self, proc: Proc) -> None:
        """Send SIGTERM: whatever the process waits for ends."""
        proc.stop.set()
        self._wake(proc, self.now)

    def run(self, until: float) -> None:
        """Let everything happen that is due by then.

        Raises:
            BaseException: Whatever a process raised first.
        """
        while self._queue and self._queue[0][0] <= until and self._failure is None:
            at, number, what = heapq.heappop(self._queue)
            self.now = max(self.now, at)
            if not isinstance(what, Proc):
                what()
            elif what.alive and number == what.due:
                if what.paused_until > self.now:
                    self._wake(what, what.paused_until)
                else:
                    self._resume(what)
        if self._failure is not None:
            raise self._failure
        self.now = until

    def end(self) -> None:
        """Kill what still lives, so that no thread is left."""
        self._failure = None
        for _, number, what in sorted(self._queue, key=lambda entry: entry[:2]):
            if isinstance(what, Proc) and what.alive and number == what.due:
                what.killed = True
                self._resume(what)

    def _wake(self, proc: Proc, at: float) -> None:
        self._number += 1
        proc.due = self._number
        heapq.heappush(self._queue, (at, self._number, proc))

    def _resume(self, proc: Proc) -> None:
        self.steps += 1
        self._current = proc
        if proc.thread is None:
            proc.thread = threading.Thread(target=self._live, args=(proc,), name=proc.name, daemon=True)
            proc.thread.start()
        else:
            proc.turn.release()
        self._baton.acquire()
        self._current = None

    def _live(self, proc: Proc) -> None:
        try:
            if not proc.killed:
                proc.body(proc)
        except KilledError:
            pass
        except BaseException as error:  # noqa: BLE001  # the kernel raises it where the fleet is run
            self._failure = self._failure or error
        finally:
            proc.alive = False
            self._baton.release()


class HostClock:
    """A host's clock: the true time, wrong by a constant.

    Attributes:
        ahead: Seconds.
    """

    def __init__(self, kernel: Kernel, *, ahead: float) -> None:
        self._kernel = kernel
        self.ahead = ahead

    def now(self) -> datetime:
        """The wall clock."""
        return EPOCH + timedelta(seconds=self._kernel.now + self.ahead)

    def monotonic(self) -> float:
        """Seconds of true time."""
        return self._kernel.now

    def wait(self, stop: StopSignal, seconds: float) -> bool:
        """Let the time pass, at most until the process is asked to stop."""
        if not stop.is_set():
            self._kernel.sleep(seconds)
        return stop.is_set()
