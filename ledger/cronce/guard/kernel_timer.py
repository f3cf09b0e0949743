"""A kernel timer that ends this process, and with it its command, when it is silent for too long.

A guard that is frozen alone (SIGSTOP, a debugger, a log that nobody reads) cannot stop its command
when its lease runs out. The kernel can: the timer kills this process, stopped or not, and the
command dies with it (`cronce.guard.child.Child`). It runs while the machine sleeps, too.

Linux. The kernel spares PID 1 of a container; there, give the container an init process.
"""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
import time

from cronce.client.claim import Claim

_ABSOLUTE = 1
_SIGNAL = 0


class Lifeline:
    """Keeps this process alive for as long as a claim can be trusted, and a moment to stop the command."""

    def __init__(self, claim: Claim) -> None:
        """Hold on to the claim from now on."""
        self._claim = claim
        self._lock = threading.Lock()
        self._timer = _timer_that_kills()
        self.extend()

    def extend(self) -> None:
        """Hold on for as long as the claim can be trusted now; a lost claim adds nothing. From any thread."""
        with self._lock:
            if self._timer is None:
                return
            now = time.clock_gettime(time.CLOCK_BOOTTIME)  # first: a pause right here must not lengthen anything
            if self._claim.lost:
                return
            lease = self._claim.lease.total_seconds()
            # The guard kills its command a tenth of the lease after trust is over. This is for where it cannot.
            _set(self._timer, now + self._claim.trust_left + lease / 10 + min(1.0, lease / 20))

    def let_go(self) -> None:
        """Live on, whatever becomes of the claim. Once the command has ended."""
        with self._lock:
            if self._timer is not None:
                _libc().timer_delete(self._timer)
                self._timer = None


class _SigEvent(ctypes.Structure):
    """`struct sigevent` (man 7 sigevent)."""

    _fields_ = (
        ("value", ctypes.c_void_p),
        ("signo", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("rest", ctypes.c_char * 48),
    )


class _ITimerSpec(ctypes.Structure):
    """`struct itimerspec` (man 2 timer_settime)."""

    _fields_ = (
        ("interval_s", ctypes.c_long),
        ("interval_ns", ctypes.c_long),
        ("value_s", ctypes.c_long),
        ("value_ns", ctypes.c_long),
    )


def _timer_that_kills() -> ctypes.c_void_p | None:
    """A timer that sends SIGKILL to this process; None where there is no such thing."""
    if sys.platform != "linux":
        return None
    timer = ctypes.c_void_p()
    event = _SigEvent(signo=signal.SIGKILL, notify=_SIGNAL)
    try:
        failed = _libc().timer_create(time.CLOCK_BOOTTIME, ctypes.byref(event), ctypes.byref(timer))
    except (AttributeError, OSError):
        return None
    return None if failed else timer


def _set(timer: ctypes.c_void_p, at: float) -> None:
    spec = _ITimerSpec(value_s=int(at), value_ns=int(at % 1 * 1e9))
    _libc().timer_settime(timer, _ABSOLUTE, ctypes.byref(spec), None)


def _libc() -> ctypes.CDLL:
    """Where the timers are; before glibc 2.34 they had a library of their own."""
    libc = ctypes.CDLL(None)
    return libc if hasattr(libc, "timer_create") else ctypes.CDLL("librt.so.1")
