"""A guard in which one call fails. Run it as a program: `python failing.py NAME ARGUMENT ...` is `cronce NAME ...`.

From its first write to the ledger on, each call that the guard makes is counted: of the operating system, of the
store, each start of a thread, each import. The one that the environment names fails, once. With `FAIL_AT=0`
nothing fails. At its end each process writes how many calls it has counted to the file `FAIL_COUNTS`.
"""

from __future__ import annotations

import builtins
import errno
import importlib
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any, NoReturn

from cronce.stores.sqlite import SqliteStore

OURS = ("cronce.guard.", "cronce.client.", "cronce.cli.")
LOOKS = 12
"""How many calls of the look through /proc are counted: it makes the same ones for every process."""

NEVER = frozenset({"_exit", "execvpe", "fsencode", "fsdecode", "fspath", "getpid", "isatty"})
"""What ends a process, cannot fail, or is Python's own helper."""

ERRORS: dict[str, Callable[[], Exception]] = {
    "OSError": lambda: OSError(errno.EIO, "injected"),
    "MemoryError": MemoryError,
    "RuntimeError": lambda: RuntimeError("injected"),
}

role, counted, looked, counting = "guard", 0, 0, False


def main() -> None:
    """Set the calls up, and be `cronce`, or a program with `run_once`."""
    for module in (os, signal):
        for name in dir(module):
            call = getattr(module, name)
            if type(call).__name__ == "builtin_function_or_method" and name not in NEVER:
                setattr(module, name, failing(call, f"{module.__name__}.{name}"))
    os.fork, os._exit = fork_of(os.fork), exit_of(os._exit)  # type: ignore[assignment]  # same signature
    select.poll = Poll  # type: ignore[misc, assignment]
    socket.socket = Socket  # type: ignore[misc]
    threading.Thread.start = failing(threading.Thread.start, "Thread.start", deep=2)  # type: ignore[method-assign]
    builtins.__import__ = failing(builtins.__import__, "import")
    for name in ("swap", "take", "get"):
        setattr(SqliteStore, name, of_store(getattr(SqliteStore, name), name))
    if sys.argv[1] == "once":
        once()
    cronce_main = importlib.import_module("cronce.cli.main").main
    cronce_main()


def once() -> NoReturn:
    """`run_once` with work that writes `done`."""
    from cronce import run_once  # noqa: PLC0415  # the calls are set up by now

    def work(claim: object) -> dict[str, int]:
        claim.checkpoint(7)  # type: ignore[attr-defined]
        with open(os.environ["LOG"], "a") as log:  # noqa: PTH123
            log.write("done\n")
        return {"sent": 1}

    code = 0
    try:
        run_once(work)
    except SystemExit as end:
        code = int(end.code or 0)
    except Exception as error:  # noqa: BLE001  # what would be a traceback
        sys.stderr.write(f"{error!r}\n")
        code = 1
    os._exit(code)


def step(name: str) -> None:
    """Count a call; fail if it is the one."""
    global counted  # noqa: PLW0603  # one count for each process
    if not counting:
        return
    counted += 1
    if role == os.environ["FAIL_ROLE"] and counted == int(os.environ["FAIL_AT"]):
        sys.stderr.write(f"injected: {role} {counted} {name}\n")
        error = ERRORS[os.environ["FAIL_HOW"]]()
        raise error


def enough() -> bool:
    """True if this process has looked through /proc for long enough."""
    global looked  # noqa: PLW0603  # one count for each process
    looked += 1
    return looked > LOOKS


def failing(call: Callable[..., Any], name: str, *, deep: int = 1) -> Callable[..., Any]:
    """The call, counted where code of the guard makes it."""

    def counted_call(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401
        caller = str(sys._getframe(deep).f_globals.get("__name__"))
        if counting and caller.startswith(OURS) and not (caller == "cronce.guard.processes" and enough()):
            step(name)
        return call(*arguments, **named)

    return counted_call


def of_store(call: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A call of the store, which fails before it has an effect or after it."""

    def counted_call(*arguments: Any) -> Any:  # noqa: ANN401
        global counting  # noqa: PLW0603  # from the first write on
        counting = counting or name == "swap"
        step(f"{name} before")
        answer = call(*arguments)
        step(f"{name} after")
        return answer

    return counted_call


def fork_of(fork: Callable[[], int]) -> Callable[[], int]:
    """A fork whose new process counts anew."""

    def forked() -> int:
        global role, counted, looked  # noqa: PLW0603  # of the new process
        pid = fork()
        if pid == 0:
            role, counted = ("keeper" if role == "guard" else "command"), 0
            looked = 0
        return pid

    return forked


def exit_of(leave: Callable[[int], NoReturn]) -> Callable[[int], NoReturn]:
    """An exit that says how much was counted."""

    def left(code: int) -> NoReturn:
        global counting  # noqa: PLW0603  # what follows is not the guard's
        counting = False
        with open(os.environ["FAIL_COUNTS"], "a") as file:  # noqa: PTH123
            file.write(f"{role} {counted}\n")
        leave(code)

    return left


class Poll:
    """`select.poll`, counted."""

    def __init__(self, new: Callable[[], Any] = select.poll) -> None:
        self._poll = new()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return failing(getattr(self._poll, name), f"poll.{name}")


class Socket(socket.socket):
    """A socket, counted."""

    def __getattribute__(self, name: str) -> Any:  # noqa: ANN401
        found = super().__getattribute__(name)
        return failing(found, f"socket.{name}") if name in ("bind", "listen", "accept", "getsockopt", "recv") else found


if __name__ == "__main__":
    main()
