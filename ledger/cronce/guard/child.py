"""Runs a command while the claim holds, and stops it before anybody else may begin.

Works as PID 1: it forwards signals and reaps whatever becomes its child. The command runs in a
process group of its own, so that stopping it stops what it started; with a terminal on stdin it
stays in the foreground group, where Ctrl-C reaches it directly.
"""

from __future__ import annotations

import ctypes
import math
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from enum import Enum, auto

from cronce.client.claim import Claim
from cronce.guard.signals import STOPPING, SignalQueue
from cronce.vocabulary.states import Reason
from cronce.vocabulary.values import value_class

_PR_SET_PDEATHSIG = 1
_BETWEEN_KILLS = 1.0


class Ending(Enum):
    """What ended the command."""

    ITSELF = auto()
    INTERRUPTED = auto()
    REPLACED = auto()
    DEADLINE = auto()
    LOST = auto()


_ENDINGS = {Reason.REPLACED: Ending.REPLACED, Reason.ACTIVE_DEADLINE: Ending.DEADLINE}


@value_class
class Ended:
    """How the command ended; `code` is its exit code, or 128 plus the number of its signal."""

    ending: Ending
    code: int


class Child:
    """The command as a process."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str]) -> None:
        """Start the command with our files, so that nothing of its output is buffered on the way.

        Raises:
            OSError: It cannot be started.
        """
        self._interactive = os.isatty(sys.stdin.fileno()) if sys.stdin else False
        self._pid = _start(command, environ, group_of_its_own=not self._interactive)
        self.code: int | None = None

    def send(self, number: signal.Signals) -> None:
        """Send the signal to the command and to what it started."""
        with suppress(ProcessLookupError, PermissionError):
            if self._interactive:
                os.kill(self._pid, number)
            else:
                os.killpg(self._pid, number)

    def forward(self, number: signal.Signals) -> None:
        """Pass on a signal that we received, unless the terminal gave it to the command as well."""
        if not (self._interactive and number in (signal.SIGINT, signal.SIGQUIT, signal.SIGWINCH)):
            self.send(number)

    def reap(self) -> None:
        """Collect every child that is over, orphans that came to us as PID 1 too."""
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                if pid == self._pid:
                    code = os.waitstatus_to_exitcode(status)
                    self.code = 128 - code if code < 0 else code


def supervise(child: Child, claim: Claim, signals: SignalQueue, *, grace: float) -> Ended:
    """Wait for the command's end, or stop it when the claim, its deadline or a signal says so.

    Args:
        child: The running command.
        claim: Held, with a heartbeat. Its trust is watched here, whatever the heartbeat does.
        signals: What this process receives.
        grace: Seconds between SIGTERM and SIGKILL; a lost claim allows only a tenth of its lease.
    """
    ending, kill_at = Ending.ITSELF, math.inf
    while child.code is None:
        now = time.monotonic()
        if claim.lost and ending is not Ending.LOST:
            ending, kill_at = Ending.LOST, min(kill_at, now + claim.lease.total_seconds() / 10)
            child.send(signal.SIGTERM)
        elif ending is Ending.ITSELF and (asked := claim.stop_requested):
            ending, kill_at = _ENDINGS[asked], now + grace
            child.send(signal.SIGTERM)
        if now >= kill_at:
            child.send(signal.SIGKILL)
            kill_at = now + _BETWEEN_KILLS
        received = signals.next(_pause(claim, ending, until_kill=kill_at - now))
        if received is not None and received is not signal.SIGCHLD:
            child.forward(received)
            if received in STOPPING and ending is Ending.ITSELF:
                ending, kill_at = Ending.INTERRUPTED, time.monotonic() + grace
        child.reap()
    if ending is not Ending.ITSELF:
        # What the command started may ignore SIGTERM and live on; its work has no claim any more.
        child.send(signal.SIGKILL)
    return Ended(ending, child.code)


def _pause(claim: Claim, ending: Ending, *, until_kill: float) -> float:
    """Seconds until something has to be looked at that neither a signal nor a heartbeat tells."""
    ends = [until_kill]
    if ending is not Ending.LOST:
        ends.append(claim.trust_left)
    if ending is Ending.ITSELF and (active_for := claim.active_for) is not None:
        ends.append(active_for)
    return max(0.0, min(ends))


def _start(command: Sequence[str], environ: Mapping[str, str], *, group_of_its_own: bool) -> int:
    """The process id of the command, which runs by now; on Linux a SIGKILL of the guard ends it too.

    Not `subprocess`, which has to be talked out of waiting for what `Child.reap` waits for, and
    takes longer to load than this takes to work.

    Raises:
        OSError: It cannot be started.
    """
    prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None
    guard = os.getpid()
    failure, told = os.pipe()  # closed by the start of the command; or the child tells why it cannot be
    pid = os.fork()
    if pid == 0:
        try:
            if group_of_its_own:
                os.setpgid(0, 0)
            for number in (signal.SIGPIPE, signal.SIGXFSZ):  # ignored by Python, and so by what it starts
                signal.signal(number, signal.SIG_DFL)
            if prctl:
                prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() == guard:
                os.execvpe(command[0], tuple(command), environ)  # noqa: S606  # running the given command is what this is for
        except OSError as error:
            os.write(told, str(error.errno).encode())
        finally:
            os._exit(128 + signal.SIGKILL)  # never back into the guard's own code
    os.close(told)
    errno = os.read(failure, 16)
    os.close(failure)
    if errno:
        os.waitpid(pid, 0)
        raise OSError(int(errno), os.strerror(int(errno)))
    return pid
