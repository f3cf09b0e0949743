"""Chooses the command. The runtime commands load only what they use."""

from __future__ import annotations

import gc
import os
import sys
from typing import NoReturn

from cronce.vocabulary import exit_codes

_RUNTIME = ("exec", "pin", "clock", "health", "checkpoint")


def main() -> NoReturn:
    """Run the command of `sys.argv` and end the process with its exit code."""
    # Loading a program makes 16,000 objects and no garbage; looking for some takes longer than asking DynamoDB.
    gc.set_threshold(50_000)
    arguments = sys.argv[1:]
    if arguments[:1] and arguments[0] in _RUNTIME:
        code = run_runtime(arguments[0], arguments[1:])
    else:
        _main_for_people(arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    # The interpreter's own exit takes half as long again as everything before it.
    os._exit(code)


def run_runtime(name: str, arguments: list[str]) -> int:
    """Run one of the commands that do not use click and return its exit code."""
    if name == "health":
        from cronce.cli.runtime.health import main as health  # noqa: PLC0415  # only what is used is loaded

        return health(arguments)
    if name == "checkpoint":
        from cronce.cli.runtime.checkpoint import main as checkpoint  # noqa: PLC0415  # only what is used is loaded

        return checkpoint(arguments)
    return _supervise(name, arguments)


def _supervise(name: str, arguments: list[str]) -> int:
    # First of all: until then PID 1 does not even hear SIGTERM (man 7 pid_namespaces).
    from cronce.guard.signals import SignalQueue  # noqa: PLC0415

    signals = SignalQueue()
    if name == "exec":
        from cronce.cli.runtime.exec import main as run_exec  # noqa: PLC0415

        return run_exec(*_around_command(arguments), signals)
    if name == "pin":
        from cronce.cli.runtime.pin import main as run_pin  # noqa: PLC0415

        return run_pin(*_around_command(arguments), signals)
    from cronce.cli.runtime.clock import main as run_clock  # noqa: PLC0415

    return run_clock(arguments, signals)


def _around_command(arguments: list[str]) -> tuple[list[str], list[str]]:
    """The arguments before the first `--`, and the command after it."""
    at = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:at], arguments[at + 1 :]


def _main_for_people(arguments: list[str]) -> NoReturn:
    try:
        from cronce.cli.app import main as command  # noqa: PLC0415

        sys.exit(command(arguments))
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("click", "rich"):
            raise
        sys.stderr.write("cronce: this command needs the extra 'cli': pip install 'cronce[cli]'\n")
        sys.exit(exit_codes.USAGE)
