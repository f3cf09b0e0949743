"""Chooses the command. The runtime commands load only what they use."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from typing import NoReturn

from cronce.cli.runtime import run_runtime
from cronce.vocabulary import exit_codes

RUNTIME = ("exec", "pin", "clock", "sweep", "watchdog", "health", "checkpoint", "once")
FOR_PEOPLE = (
    "jobs",
    "runs",
    "show",
    "why",
    "doctor",
    "board",
    "next",
    "logs",
    "open",
    "tail",
    "wait",
    "rerun",
    "backfill",
    "pause",
    "resume",
    "release",
    "init",
    "check",
    "audit",
    "lambda-archive",
    "new",
    "import",
    "demo",
    "help",
)

_HELP = """\
usage: cronce COMMAND [ARGUMENT ...]

Scheduled work that happens once per period across the whole fleet.

Commands of this install:
  exec        Run a command if this process is the one to run it.
  clock       Be the clock: start each job's work when it is due.
  sweep       Run a command for the runs that died or may be retried.
  watchdog    Find missed ticks, lost runs and ticks to catch up.
  pin         Run a command only while this process is the leader.
  health      Ask a clock or a pinned command on this host how it is.
  checkpoint  Store a cursor from inside 'cronce exec'.
  once        Run a command that must not run twice, from inside 'cronce exec'.

The commands jobs, runs, show, why, doctor, board, next, logs, open, tail, wait, rerun, backfill,
pause, resume, release, init, check, lambda-archive, new, import and demo need the extra 'cli' (click
and rich): pip install 'cronce[cli]'; audit needs the extra 'audit', import of YAML the extra 'import'.

  cronce COMMAND --help    options, examples and exit codes of a command
  cronce --version         the version
"""
"""The help of an install without click; with click, `cronce.cli.app` has it."""


def main() -> NoReturn:
    """Run the command of `sys.argv` and end the process with its exit code."""
    # Loading a program makes 16,000 objects and no garbage; looking for some takes longer than asking DynamoDB.
    gc.set_threshold(50_000)
    arguments = sys.argv[1:]
    if arguments[:1] == ["help"] and arguments[1:] in [[name] for name in RUNTIME]:
        arguments = [arguments[1], "--help"]
    if not arguments[:1] or arguments[0] not in RUNTIME:
        _main_for_people(arguments)
    _occupy_standard_files()
    if arguments[0] != "clock" and sys.stdout is sys.__stdout__ and sys.stderr is sys.__stderr__:
        sys.stdout, sys.stderr = _Lossy(1), _Lossy(2)
    try:
        code = run_runtime(arguments[0], arguments[1:])
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else exit_codes.PROBLEM
    except BaseException as error:  # noqa: BLE001  # the exit code is documented whatever happens
        # What is claimed is settled by now (`cronce.guard.attempt`).
        sys.stderr.write(f"cronce {arguments[0]}: unexpected error: {error!r}\n")
        code = exit_codes.GUARD_FAILED
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # what cannot be written is lost
            stream.flush()
    # The interpreter's own exit takes half as long again as everything before it.
    os._exit(code)


class _Lossy:
    """A standard stream that loses what cannot be written: no text is worth more than the work."""

    encoding = "utf-8"

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, text: str) -> int:
        """Write the text now, as far as anybody takes it."""
        data = text.encode("utf-8", "backslashreplace")
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError:
            pass  # no reader, no space, or a full pipe that does not block
        return len(text)

    def flush(self) -> None:
        """Do nothing: nothing is buffered."""

    def fileno(self) -> int:
        """The descriptor."""
        return self._descriptor

    def isatty(self) -> bool:
        """True if it is a terminal."""
        return os.isatty(self._descriptor)


def _occupy_standard_files() -> None:
    """Open /dev/null for each standard file that is closed; otherwise the next file opened would take its place."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


def _main_for_people(arguments: list[str]) -> NoReturn:
    try:
        from cronce.cli.app import main as command  # noqa: PLC0415

        sys.exit(command(arguments))
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("click", "rich"):
            raise
    sys.exit(_without_click(arguments))


def _without_click(arguments: list[str]) -> int:
    """What the base install answers where click would: help, version, and the name of a mistyped command."""
    match arguments:
        case ["-h"] | ["--help"] | ["help"]:
            sys.stdout.write(_HELP)
            return 0
        case ["--version"]:
            from cronce.vocabulary.version import VERSION  # noqa: PLC0415  # only for this

            sys.stdout.write(f"cronce {VERSION}\n")
            return 0
        case []:
            sys.stderr.write(_HELP)
        case [name, *_] if name in FOR_PEOPLE:
            sys.stderr.write(f"cronce: '{name}' needs the extra 'cli': pip install 'cronce[cli]'\n")
        case _:
            name = arguments[0]
            from cronce.cli.runtime.options import escaped, meant  # noqa: PLC0415  # only for a mistake

            close = meant(name, (*RUNTIME, *FOR_PEOPLE))
            sys.stderr.write(f"cronce: no such command: {escaped(name)}{close}; see cronce --help\n")
    return exit_codes.USAGE
