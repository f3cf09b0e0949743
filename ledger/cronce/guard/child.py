"""Runs a command while the claim is held, and stops it before anybody else may begin.

Works as PID 1: it forwards signals and reaps adopted processes. The command runs in its own process
group, so that a signal reaches what it started too; with a terminal on stdin it stays in the
foreground group, where Ctrl-C reaches it directly. What runs between this process and the command
is in `cronce.guard.keeper`.
"""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from enum import Enum, auto
from errno import ENOENT

from cronce.client.claim import Claim
from cronce.guard.checkpoints import CheckpointServer
from cronce.guard.keeper import KILL, LEAVE, SIGNAL, START, TRUST, Keeper
from cronce.guard.kernel_timer import BOOT_CLOCK
from cronce.guard.processes import adopt_orphans, descendants
from cronce.guard.signals import STOPPING, SignalQueue
from cronce.vocabulary import exit_codes
from cronce.vocabulary.environment import CHECKPOINT_SOCKET
from cronce.vocabulary.errors import LeaseLostError, StopRequestedError
from cronce.vocabulary.states import Reason
from cronce.vocabulary.values import value_class

_BETWEEN_KILLS = 1.0
_LOOK_AGAIN = 0.05
_PATIENCE_WITH_KEEPER = 3
_MOST_FAILURES = 20
_TRIES = 3


class Ending(Enum):
    """What ended the command."""

    ITSELF = auto()
    INTERRUPTED = auto()
    REPLACED = auto()
    DEADLINE = auto()
    LOST = auto()
    GUARD = auto()
    """The guard failed: no process, thread or descriptor was left."""


_ENDINGS = {Reason.REPLACED: Ending.REPLACED, Reason.ACTIVE_DEADLINE: Ending.DEADLINE}


@value_class
class Ended:
    """How the command ended.

    Attributes:
        ending: What ended it.
        code: The command's exit code, or 128 plus the number of its signal; 126 or 127 if it could not be started.
        error: Why the command could not be started, or why the guard failed.
    """

    ending: Ending
    code: int
    error: str | None = None

    @property
    def exit_code(self) -> int:
        """The exit code of the guard."""
        match self.ending:
            case Ending.DEADLINE:
                return exit_codes.DEADLINE
            case Ending.LOST:
                return exit_codes.LEASE_LOST
            case Ending.GUARD:
                return exit_codes.GUARD_FAILED
            case _:
                return self.code


class Child:
    """The command, behind its keeper."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str]) -> None:
        """Start the keeper; the command starts with `start`.

        The command gets the files of this process, so nothing of its output is buffered on the way.

        Raises:
            OSError: The system has no process or descriptor left.
        """
        self.code: int | None = None
        self.error: str | None = None
        self.failure: OSError | None = None
        self.gone = False
        self.alone = False
        self._program = command[0]
        self._interactive = os.isatty(0)
        self._pid = 0
        self._unread = b""
        self._kills = 0
        self._limit = math.inf
        self.expired = False
        self._lock = threading.Lock()
        adopt_orphans()  # they come here if the keeper is killed
        heard, self._writer = os.pipe()
        try:
            self.answers, said = os.pipe()
            os.set_blocking(self.answers, False)
            os.set_blocking(self._writer, False)
            try:
                self._keeper = _fork(command, environ, heard, said, os.getpgrp() if self._interactive else None)
            finally:
                os.close(said)
        finally:
            os.close(heard)

    @property
    def keeper(self) -> int:
        """The process whose descendants are the command and what it started."""
        return self._keeper

    def start(self, claim: Claim) -> None:
        """Start the command; it may live for as long as the claim is trusted."""
        self.trust(claim)
        self._say(START)

    def trust(self, claim: Claim) -> None:
        """Let the command live for as long as the claim is trusted now. A lost claim adds nothing. From any thread."""
        now = time.clock_gettime(BOOT_CLOCK)  # first: a pause after it must not lengthen anything
        self.expired = self.expired or now >= self._limit
        if claim.is_lost() or self.expired:
            return
        lease = claim.lease.total_seconds()
        # `supervise` kills a tenth of the lease after the trust has ended. These two limits are for when it cannot.
        margin = min(1.0, lease / 20)
        self._limit = now + claim.trust_left + lease / 10 + margin
        with suppress(OSError):  # `hear` finds out what became of the keeper
            self._say(f"{TRUST} {self._limit:.6f}+{margin:.6f}")

    def may_go_on(self) -> bool:
        """False once the keeper, or the kernel, has killed the command because nobody extended its time."""
        return time.clock_gettime(BOOT_CLOCK) < self._limit

    def send(self, number: int) -> None:
        """Send the signal to the command and to what it started."""
        with suppress(OSError):
            self._say(f"{SIGNAL} {int(number)}")

    def forward(self, number: int) -> None:
        """Pass on a signal that we received, unless the terminal gave it to the command as well."""
        if not (self._interactive and number in (signal.SIGINT, signal.SIGQUIT, signal.SIGWINCH)):
            self.send(number)

    def kill(self) -> None:
        """Kill the command and everything that descends from it. Once nothing is left, `gone` is true."""
        self._kills += 1
        with suppress(OSError):
            self._say(KILL)
        if self._kills > _PATIENCE_WITH_KEEPER:
            with suppress(OSError):
                os.kill(self._keeper, signal.SIGKILL)  # it hangs; the kernel then gives its children to us

    def leave(self) -> None:
        """Let what the command left behind live on."""
        with suppress(OSError):
            self._say(LEAVE)

    def close(self) -> None:
        """Close the pipes. What is still alive then, the keeper kills, unless `leave` was called before."""
        with self._lock:
            for descriptor in (self._writer, self.answers):
                with suppress(Exception):  # the command's end is known, and counts
                    os.close(descriptor)
            self._writer = self.answers = -1

    def abandon(self) -> None:
        """Have the keeper kill everything, and wait for that."""
        with self._lock, suppress(Exception):
            os.close(self._writer)
            self._writer = -1
        with suppress(Exception):
            os.set_blocking(self.answers, True)
        while not self.gone and not self.alone:
            self.hear()

    def hear(self) -> None:
        """Take in what the keeper said. Reap what has ended, and what became our child as PID 1."""
        with suppress(BlockingIOError):
            while data := os.read(self.answers, 4096):
                *lines, self._unread = (self._unread + data).split(b"\n")
                for line in lines:
                    self._note(*line.decode().split())
            self._take_over()
            return
        self._reap()

    def _note(self, word: str, number: str) -> None:
        match word:
            case "started":
                self._pid = int(number)
            case "ended":
                self.code = int(number)
            case "unable":
                self.failure = OSError(int(number), os.strerror(int(number)))
            case "failed":
                found = int(number) != ENOENT
                self.code = exit_codes.NOT_EXECUTABLE if found else exit_codes.NOT_FOUND
                self.error = f"{self._program}: {os.strerror(int(number))}"
            case _:  # dead
                self.gone = True

    def _take_over(self) -> None:
        """The keeper is gone: without it the command does not go on. Kill what came to us."""
        self.alone = True
        for pid in descendants(os.getpid()) or ([self._pid] if self._pid and self.code is None else []):
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if self._reap():
            self.gone = True
            if self.code is None:
                self.code = exit_codes.BY_SIGNAL + signal.SIGKILL

    def _reap(self) -> bool:
        """Collect every child that has ended; true if none is left."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return False
                if pid == self._pid and self.code is None:
                    code = os.waitstatus_to_exitcode(status)
                    self.code = exit_codes.BY_SIGNAL - code if code < 0 else code
        except ChildProcessError:
            return True

    def _say(self, line: str) -> None:
        """Tell the keeper.

        Raises:
            OSError: It cannot be told. It is gone, or its pipe is full because it hangs.
        """
        with self._lock:
            for left in reversed(range(_TRIES)):
                try:
                    os.kill(self._keeper, signal.SIGCONT)  # it may have been stopped
                    os.write(self._writer, line.encode() + b"\n")
                except Exception:
                    if not left:
                        raise
                else:
                    return


def under_claim(
    claim: Claim,
    command: Sequence[str],
    environ: Mapping[str, str],
    signals: SignalQueue,
    *,
    grace: float,
    checkpoints: bool = False,
    leave_nothing: bool = False,
) -> Ended:
    """Run a command while the claim is held, with heartbeats; how it ended.

    Everything that can fail apart from the command is done before the command starts. Nothing
    acts for the claim afterwards.

    Args:
        claim: Held, without a heartbeat yet.
        command: Program and arguments.
        environ: The command's environment.
        signals: What this process receives.
        grace: Seconds between SIGTERM and SIGKILL.
        checkpoints: True to serve `cronce checkpoint` and `cronce once`.
        leave_nothing: True to kill what the command left behind, also if it ended by itself.
    """
    child = None
    try:
        server = CheckpointServer(claim) if checkpoints else None
        child = Child(command, environ if server is None else {**environ, CHECKPOINT_SOCKET: server.address})
        claim.start_heartbeat(after=_after_beat(child, claim, signals), may_go_on=child.may_go_on)
        if server is not None:
            server.start(child.keeper)
        claim.check()  # this process may have been stopped since the claim, for longer than its lease
        return supervise(child, claim, signals, grace=grace, leave_nothing=leave_nothing)
    except LeaseLostError:
        return Ended(Ending.LOST, exit_codes.LEASE_LOST)
    except StopRequestedError:
        return Ended(_ENDINGS[claim.stop_requested or Reason.REPLACED], exit_codes.BY_SIGNAL + signal.SIGTERM)
    except Exception as error:  # noqa: BLE001  # whatever it is, the run is given back
        if child is not None:
            child.abandon()
            if child.code is not None:
                return Ended(Ending.ITSELF, child.code, child.error)
        return Ended(Ending.GUARD, exit_codes.GUARD_FAILED, f"the guard failed: {error!r}")
    finally:
        if child is not None:
            child.close()


def _after_beat(child: Child, claim: Claim, signals: SignalQueue) -> Callable[[], None]:
    def after_beat() -> None:
        child.trust(claim)
        signals.wake()

    return after_beat


def supervise(child: Child, claim: Claim, signals: SignalQueue, *, grace: float, leave_nothing: bool = False) -> Ended:
    """Start the command and wait for its end, or stop it when the claim, its deadline or a signal says so.

    Where the command did not end by itself, nothing that it started is alive afterwards.

    Args:
        child: The command, not started yet.
        claim: Held, with a heartbeat. This function watches its trust independently of the heartbeat.
        signals: What this process receives.
        grace: Seconds between SIGTERM and SIGKILL; a lost claim allows only a tenth of its lease.
        leave_nothing: True to kill what the command left behind, also if it ended by itself.
    """
    ending, kill_at, failures, longest = Ending.ITSELF, math.inf, 0, math.inf
    signals.watch(child.answers)
    child.start(claim)
    while not child.gone:
        if child.failure is not None:
            raise child.failure
        try:
            now = time.monotonic()
            if ending is not Ending.LOST and (claim.is_lost() or child.expired):
                ending, kill_at = Ending.LOST, min(kill_at, now + claim.lease.total_seconds() / 10)
                child.send(signal.SIGTERM)
            elif ending is Ending.ITSELF and (asked := claim.stop_requested):
                ending, kill_at = _ENDINGS[asked], now + grace
                child.send(signal.SIGTERM)
            if child.code is not None:
                if ending is Ending.ITSELF and signals.stopping:
                    ending = Ending.INTERRUPTED  # Ctrl-C reaches the command first
                if child.error or (ending is Ending.ITSELF and not leave_nothing):
                    child.leave()
                    break
                kill_at = min(kill_at, now)
            if now >= kill_at:
                child.kill()
                kill_at = now + _BETWEEN_KILLS
            received = signals.next(min(longest, _pause(claim, ending, until_kill=kill_at - now)))
            longest = math.inf
            if received is not None and received != signal.SIGCHLD and child.code is None:
                child.forward(received)
                if received in STOPPING and ending is Ending.ITSELF:
                    ending, kill_at = Ending.INTERRUPTED, time.monotonic() + grace
            child.hear()
            if child.alone:
                signals.unwatch(child.answers)
                kill_at = time.monotonic() + _LOOK_AGAIN
        except Exception:  # the command's life depends on this loop: try again
            failures, longest = failures + 1, 0.0  # what woke us is taken, so do not wait for it
            if failures > _MOST_FAILURES:
                raise
    signals.unwatch(child.answers)
    if child.code is None:
        child.code = exit_codes.BY_SIGNAL + signal.SIGKILL
    if ending is Ending.ITSELF and child.code and (claim.is_lost() or child.expired):
        ending = Ending.LOST  # the keeper ended it, while this process could not
    return Ended(ending, child.code, child.error)


def _pause(claim: Claim, ending: Ending, *, until_kill: float) -> float:
    """Seconds until something has to be looked at that neither a signal nor a heartbeat announces."""
    ends = [until_kill]
    if ending is not Ending.LOST:
        ends.append(claim.trust_left)
    if ending is Ending.ITSELF and (active_for := claim.active_for) is not None:
        ends.append(active_for)
    return max(0.0, min(ends))


def _fork(command: Sequence[str], environ: Mapping[str, str], heard: int, said: int, group: int | None) -> int:
    """The process id of a new keeper.

    Not `subprocess`, which would wait for processes that `Child` reaps, and takes longer to load than this to run.
    """
    keeper = Keeper(command, environ, hears=heard, says=said, group=group)
    try:
        # Blocked in the keeper for good, and here until it is its own process: its queue of signals is ours.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            pid = os.fork()
            if pid == 0:
                keeper.run()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    finally:
        keeper.close()
    return pid
