"""The keeper: a small process between the guard and its command, which outlives the guard until the command is dead.

    guard ──pipe──> keeper ──> command ──> what the command starts

The keeper runs as the guard's own user, so a command that changes its user, its session or its process
group stays within reach. It adopts orphans, so a daemon stays its descendant. It kills all of them

- when the guard is gone: the pipe closes, whatever ended the guard;
- when the guard is silent: it extends the time with every renewed lease;
- when the guard asks.

A keeper that is frozen is killed by a kernel timer; the command then dies with it (`PR_SET_PDEATHSIG`),
and the guard adopts and kills the rest. Without Linux there is neither: only the process group is killed.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from errno import EINVAL, ENOMEM
from math import ceil, inf
from typing import NoReturn

from cronce.guard.kernel_timer import BOOT_CLOCK, KernelTimer
from cronce.guard.processes import adopt_orphans, descendants, die_with_parent, name_this_process

START, TRUST, SIGNAL, KILL, LEAVE = "start", "trust", "signal", "kill", "leave"
"""What the guard says: start the command; kill everything at that time; send that signal; kill everything; end.

The keeper answers `started` (process id), `failed` (errno of the command), `unable` (errno of the keeper itself),
`ended` (exit code), and `dead` once `kill` is done.
"""

_LOOK_AGAIN = 0.05
_LONGEST_POLL = 60.0
_MOST_FAILURES = 20
_TRIES = 3


class Keeper:
    """The process's own side. It runs in a fork of the guard and never returns to the guard's code."""

    def __init__(
        self, command: Sequence[str], environ: Mapping[str, str], *, hears: int, says: int, group: int | None
    ) -> None:
        """Prepare; nothing is started yet. Called in the guard, where a failure can still be reported.

        Args:
            command: Program and arguments.
            environ: The command's environment.
            hears: The end of the pipe on which the guard speaks.
            says: The end of the pipe on which the keeper answers.
            group: The process group that the command joins; None for a new one.
        """
        self._command, self._environ, self._group = command, environ, group
        self._hears, self._says = hears, says
        self._reader, self._writer = os.pipe()  # wakes the loop at SIGCHLD
        self._pid = 0
        self._running = False
        self._killing = False
        self._kill_at = inf
        self._unread = b""

    def close(self) -> None:
        """Release what `__init__` opened. In the guard, after the fork."""
        os.close(self._reader)
        os.close(self._writer)

    def run(self) -> NoReturn:
        """Serve the guard until no process is left, or it says `leave`."""
        try:
            name_this_process(b"guard-keeper")
            os.setpgid(0, 0)  # out of reach of what is sent to the guard's group, Ctrl-C and Ctrl-Z too
            adopt_orphans()
            self._timer = KernelTimer()
            signal.set_wakeup_fd(-1)
            os.set_blocking(self._writer, False)
            signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})  # all others stay blocked
            self._close_inherited()
            self._serve()
        finally:
            os._exit(0)

    def _serve(self) -> None:
        failures, longest = 0, _LONGEST_POLL
        poll = select.poll()
        poll.register(self._hears, select.POLLIN)
        poll.register(self._reader, select.POLLIN)
        while True:
            try:
                self._wait(poll, _LOOK_AGAIN if self._killing else longest)
                longest = _LONGEST_POLL
                self._reap()
                if self._kill_at <= time.clock_gettime(BOOT_CLOCK):
                    self._killing = True
                if self._killing and self._kill():
                    return
            except Exception:  # the command's life depends on this loop: try again
                failures, longest = failures + 1, 0.0  # what woke us is taken, so do not wait for it
                if failures > _MOST_FAILURES:
                    raise

    def _wait(self, poll: select.poll, longest: float) -> None:
        """Wait for a word, the end of a child, or the time limit; do what was said."""
        pause = min(self._kill_at - time.clock_gettime(BOOT_CLOCK), longest)
        for descriptor, _ in poll.poll(ceil(max(pause, 0.0) * 1000)):
            if descriptor == self._reader:
                os.read(self._reader, 4096)
            elif data := os.read(self._hears, 65536):
                *lines, self._unread = (self._unread + data).split(b"\n")
                for line in lines:
                    self._obey(*line.decode().split())
            else:
                poll.unregister(self._hears)
                self._killing = True

    def _obey(self, word: str, number: str = "0") -> None:
        match word:
            case "start":
                self._start()
            case "trust":  # until that time, plus seconds until the kernel's turn
                at, margin = map(float, number.split("+"))
                self._kill_at = at
                self._timer.set(at + margin)
            case "signal":
                self._send(int(number))
            case "kill":
                self._killing = True
            case _:  # leave
                os._exit(0)

    def _start(self) -> None:
        """Start the command. Its parent is the keeper; SIGKILL of the keeper ends it too (Linux)."""
        keeper = os.getpid()
        try:
            failure, told = os.pipe()  # closed by a successful exec; otherwise the child writes why it failed
            pid = os.fork()
        except Exception as error:  # noqa: BLE001  # whatever it is, the guard must hear of it
            self._say("unable", getattr(error, "errno", None) or ENOMEM)
            return
        if pid == 0:
            try:
                os.setpgid(0, self._group or 0)
                for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and a child would inherit that
                    signal.signal(number, signal.SIG_DFL)
                die_with_parent()
                signal.pthread_sigmask(signal.SIG_SETMASK, ())
                if os.getppid() == keeper:
                    os.execvpe(self._command[0], tuple(self._command), self._environ)  # noqa: S606  # the given command
            except OSError as error:
                os.write(told, str(error.errno).encode())
            except Exception:  # noqa: BLE001  # an argument that no program can have
                os.write(told, str(EINVAL).encode())
            finally:
                os._exit(128 + signal.SIGKILL)  # never back into the keeper's code
        self._pid, self._running = pid, True
        self._say("started", pid)
        _close(told)
        with suppress(Exception):  # then the exit code says enough
            if errno := os.read(failure, 16):
                self._running = False
                self._say("failed", int(errno))
        _close(failure)

    def _send(self, number: int) -> None:
        """Send the signal to the command and what it started; beyond its group too where that is not its own."""
        if self._running and self._group is None:
            with suppress(OSError):
                os.killpg(self._pid, number)
        else:
            for pid in descendants(os.getpid()) or ([self._pid] if self._running else []):
                with suppress(OSError):
                    os.kill(pid, number)

    def _kill(self) -> bool:
        """Kill every descendant; True once none is left."""
        below = descendants(os.getpid())
        if below is None:  # not to be seen here: what can be reached by number
            below = []
            with suppress(OSError):
                if self._pid and self._group is None:
                    os.killpg(self._pid, signal.SIGKILL)
                elif self._running:
                    os.kill(self._pid, signal.SIGKILL)
        for pid in below:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        self._reap()
        if not self._childless:
            return False
        self._say("dead", 0)
        return True

    def _reap(self) -> None:
        """Collect every child that has ended. The command's end is reported before it is collected."""
        self._childless = False
        try:
            while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
                if ended.si_pid == self._pid and self._running:
                    exited = ended.si_code == os.CLD_EXITED
                    self._say("ended", ended.si_status if exited else 128 + ended.si_status)
                    self._running = False
                os.waitpid(ended.si_pid, 0)
        except ChildProcessError:
            self._childless = True

    def _say(self, word: str, number: int) -> None:
        line = f"{word} {number}\n".encode()
        for _ in range(_TRIES):
            try:
                os.write(self._says, line)
            except BrokenPipeError:  # the guard is gone
                return
            except Exception:  # noqa: BLE001, S112  # what the guard does not hear, it waits for
                continue
            return

    def _close_inherited(self) -> None:
        """Close the guard's own files, its end of the pipes above all. What the command inherits stays open."""
        needed = {self._hears, self._says, self._reader, self._writer}
        try:
            numbers = [int(name) for name in os.listdir("/proc/self/fd")]  # noqa: PTH208
        except OSError:
            numbers = [*range(3, min(os.sysconf("SC_OPEN_MAX"), 4096))]
        for number in numbers:
            with suppress(OSError):
                if number not in needed and not os.get_inheritable(number):
                    os.close(number)


def _close(descriptor: int) -> None:
    """Close it, whatever happens: an end of a pipe that stays open would be waited for."""
    try:
        os.close(descriptor)
    except Exception:  # noqa: BLE001  # tried once more
        with suppress(OSError):
            os.close(descriptor)
