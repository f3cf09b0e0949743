"""`cronce health`: ask the process beside this one whether it does its work. ECS starts it every few seconds."""

from __future__ import annotations

import os
import sys

from cronce.guard.health import HEALTHY, ask
from cronce.vocabulary import exit_codes

_JOB = "CRONCE_JOB"  # of cronce.vocabulary.environment, which would load the ledger's whole vocabulary

_LONGEST = 2.0

_HELP = """\
usage: cronce health [--name NAME]

Ask the 'cronce pin' or 'cronce clock' of that name on this host whether it does
its work (Linux only). The name is the --job of that process; without it
CRONCE_JOB says it. One line, within 2 s. It is the health check of an ECS
container: ["CMD", "cronce", "health"].

example:
  cronce health --name clock

exit codes: 0 healthy; 1 not healthy, or nobody answers; 64 bad usage.
"""


def main(arguments: list[str]) -> int:
    """Ask, say what was answered; the exit code."""
    match arguments:
        case ["-h"] | ["--help"]:
            sys.stdout.write(_HELP)
            return 0
        case []:
            name = os.environ.get(_JOB, "")
        case ["--name", name]:
            pass
        case [option] if option.startswith("--name="):
            name = option.removeprefix("--name=")
        case _:
            return _usage("allowed: cronce health [--name NAME]")
    if not name:
        return _usage(f"the name is missing: give --name or set {_JOB}")
    reason = ask(name, within=_LONGEST)
    if reason is None:
        sys.stdout.write(f"{HEALTHY}\n")
        return 0
    sys.stderr.write(f"unhealthy: {' '.join(reason.split())}\n")
    return exit_codes.PROBLEM


def _usage(message: str) -> int:
    sys.stderr.write(f"cronce health: {message}\n")
    return exit_codes.USAGE
