"""The kernel kills a process that does not move its timer forward."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from cronce.guard.kernel_timer import BOOT_CLOCK, KernelTimer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the timer is Linux's")


def now() -> float:
    """The time of the timer's clock."""
    return time.clock_gettime(BOOT_CLOCK)


def process(program: str) -> int:
    """The exit code of a process with a timer that runs a program."""
    begin = "import time; from tests.unit.test_kernel_timer import *; timer = KernelTimer(); "
    return subprocess.run([sys.executable, "-c", begin + program], check=False, timeout=60).returncode


def test_a_silent_process_is_killed() -> None:
    """At the time that was set, not before."""
    began = time.monotonic()
    assert process("timer.set(now() + 0.5); time.sleep(30)") == -signal.SIGKILL
    assert time.monotonic() - began > 0.5


def test_a_stopped_process_is_killed_too() -> None:
    """SIGSTOP keeps it from acting, not from dying."""
    stop = "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)"
    assert process(f"timer.set(now() + 0.2); {stop}") == -signal.SIGKILL


def test_a_process_that_moves_its_timer_lives() -> None:
    """The last time that was set counts."""
    assert process("timer.set(now() + 0.5); timer.set(now() + 30); time.sleep(1.5)") == 0


def test_a_timer_that_was_not_set_kills_nobody() -> None:
    """Only `set` starts it."""
    assert process("time.sleep(0.5)") == 0


def test_without_kernel_support_there_is_no_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some sandboxes have none; the keeper still has its own time limit."""
    monkeypatch.setattr("cronce.guard.kernel_timer._timer_that_kills", lambda: None)
    KernelTimer().set(0)
