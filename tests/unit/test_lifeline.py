"""The kernel ends a guard that does not say in time that it lives."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from datetime import timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from cronce.guard.kernel_timer import Lifeline

if TYPE_CHECKING:
    from cronce import Claim

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the timer is Linux's")

LEASE = timedelta(seconds=1)


def claim(*, trust_left: float, lost: bool = False) -> Claim:
    """As much of a claim as a lifeline asks."""
    return cast("Claim", SimpleNamespace(trust_left=trust_left, lost=lost, lease=LEASE))


def guard(program: str) -> int:
    """The exit code of a process that does this with lifelines, then says nothing for a while."""
    begin = "import time; from tests.unit.test_lifeline import *; "
    return subprocess.run([sys.executable, "-c", begin + program], check=False, timeout=60).returncode


def test_a_guard_that_says_nothing_more_is_killed() -> None:
    """Soon after its claim cannot be trusted any more."""
    began = time.monotonic()
    assert guard("line = Lifeline(claim(trust_left=0.2)); time.sleep(30)") == -signal.SIGKILL
    assert time.monotonic() - began > 0.3


def test_a_stopped_guard_is_killed_too() -> None:
    """SIGSTOP keeps it from acting, not from dying."""
    stop = "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)"
    assert guard(f"line = Lifeline(claim(trust_left=0.2)); {stop}") == -signal.SIGKILL


def test_a_guard_whose_claim_is_renewed_lives() -> None:
    """Each heartbeat puts it off."""
    renewed = "held.trust_left = 30; line.extend()"
    assert guard(f"held = claim(trust_left=0.5); line = Lifeline(held); {renewed}; time.sleep(1.5)") == 0


def test_a_lost_claim_puts_nothing_off() -> None:
    """However much trust it once had."""
    lost = "held.lost = True; held.trust_left = 30; line.extend()"
    program = f"held = claim(trust_left=0.2); line = Lifeline(held); {lost}; time.sleep(30)"
    assert guard(program) == -signal.SIGKILL


def test_a_guard_without_a_command_lives() -> None:
    """A heartbeat that is late with its word does not change that."""
    assert guard("line = Lifeline(claim(trust_left=0.2)); line.let_go(); line.extend(); time.sleep(1.5)") == 0


def test_where_there_is_no_timer_there_is_no_lifeline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some sandboxes have none; the guard does its own part all the same."""
    monkeypatch.setattr("cronce.guard.kernel_timer._timer_that_kills", lambda: None)
    line = Lifeline(claim(trust_left=0))
    line.extend()
    line.let_go()
