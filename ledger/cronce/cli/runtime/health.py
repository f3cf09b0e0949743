"""`cronce health`: ask another process on this host whether it is healthy. ECS starts it every few seconds."""

from __future__ import annotations

import os
import sys

from cronce.guard.health import HEALTHY, ask
from cronce.vocabulary import exit_codes

# Of cronce.vocabulary.environment, which is not loaded: this runs every few seconds.
_JOB = "CRONCE_JOB"
_LEDGER = "CRONCE_LEDGER"

_LONGEST = 2.0

_HELP = """\
usage: cronce health [--name NAME] [--ledger URL]

Ask the 'cronce pin', 'cronce clock' or 'cronce watchdog' on this host whether
it is healthy (Linux only). NAME is the --job of that process, or
cronce:watchdog, and URL its --ledger; without them CRONCE_JOB and
CRONCE_LEDGER apply. Prints one line within 2 s. Use it as
the health check of an ECS container: ["CMD", "cronce", "health"].

example:
  cronce health --name clock --ledger sqlite:///runs.db

exit codes: 0 healthy; 1 not healthy, or nobody answers; 64 bad usage.
"""


def main(arguments: list[str]) -> int:
    """Ask, and print the answer; the exit code."""
    given: dict[str, str] = {}
    rest = iter(arguments)
    for argument in rest:
        if argument in ("-h", "--help"):
            sys.stdout.write(_HELP)
            return 0
        option, equals, value = argument.partition("=")
        if not equals:
            value = next(rest, "")
        if option not in ("--name", "--ledger"):
            return _usage("allowed: cronce health [--name NAME] [--ledger URL]")
        given[option] = value
    name = given.get("--name", os.environ.get(_JOB, ""))
    ledger = given.get("--ledger", os.environ.get(_LEDGER, ""))
    if not name:
        return _usage(f"the name is missing: give --name or set {_JOB}")
    if not ledger:
        return _usage(f"the ledger's URL is missing: give --ledger or set {_LEDGER}")
    reason = ask(name, ledger, within=_LONGEST)
    if reason is None:
        sys.stdout.write(f"{HEALTHY}\n")
        return 0
    sys.stderr.write(f"unhealthy: {' '.join(reason.split())}\n")
    return exit_codes.PROBLEM


def _usage(message: str) -> int:
    sys.stderr.write(f"cronce health: {message}\n")
    return exit_codes.USAGE
