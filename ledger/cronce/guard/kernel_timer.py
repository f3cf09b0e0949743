"""A kernel timer that kills this process at a set time, even while it is stopped.

A process that is frozen (SIGSTOP, a debugger) cannot stop the command when the lease expires. The
kernel can kill that process, and the command with it (`PR_SET_PDEATHSIG`). The timer also counts
while the machine sleeps. See docs/adr/0009-kernel-timer.md.

Linux only. The kernel never kills PID 1 of a container this way, so the timer belongs in another process.
"""

from __future__ import annotations

import ctypes
import signal
import sys
import time

BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""The clock of the timer: seconds since boot, including suspended time."""

_ABSOLUTE = 1
_SIGNAL = 0


class KernelTimer:
    """Sends SIGKILL to this process at the time that was set last. Without kernel support it does nothing."""

    def __init__(self) -> None:
        """Create the timer; it is not running yet."""
        self._timer = _timer_that_kills()

    def set(self, at: float) -> None:
        """Kill this process at `at`, in seconds of `BOOT_CLOCK`, instead of the time that was set before."""
        if self._timer is not None:
            spec = _ITimerSpec(value_s=int(at), value_ns=int(at % 1 * 1e9))
            _libc().timer_settime(self._timer, _ABSOLUTE, ctypes.byref(spec), None)


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
    """A timer that sends SIGKILL to this process; None if the system has none."""
    if sys.platform != "linux":
        return None
    timer = ctypes.c_void_p()
    event = _SigEvent(signo=signal.SIGKILL, notify=_SIGNAL)
    try:
        failed = _libc().timer_create(BOOT_CLOCK, ctypes.byref(event), ctypes.byref(timer))
    except (AttributeError, OSError):
        return None
    return None if failed else timer


def _libc() -> ctypes.CDLL:
    """The C library; before glibc 2.34 timers were in librt."""
    libc = ctypes.CDLL(None)
    return libc if hasattr(libc, "timer_create") else ctypes.CDLL("librt.so.1")
