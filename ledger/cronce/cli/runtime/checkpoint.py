"""`cronce checkpoint VALUE`: store a cursor with the run around this process."""

from __future__ import annotations

import os
import sys

from cronce.guard.checkpoints import send
from cronce.vocabulary import exit_codes
from cronce.vocabulary.environment import CHECKPOINT_SOCKET

_HELP = """\
usage: cronce checkpoint VALUE

Store VALUE (JSON, or any text) with the run of the 'cronce exec' around this process. The next attempt finds it
in CRONCE_RESUME_FROM. It returns once the value is in the ledger.

example:
  cronce checkpoint 1500

exit codes: 0 stored; 1 refused; 64 bad usage, or no 'cronce exec' around this process; 69 it does not answer.
"""


def main(arguments: list[str]) -> int:
    """Pass the value to the guard, and print why it was refused; the exit code."""
    if arguments in (["-h"], ["--help"]):
        sys.stdout.write(_HELP)
        return 0
    if len(arguments) != 1:
        sys.stderr.write("cronce checkpoint: exactly one VALUE is needed, e.g. cronce checkpoint 1500\n")
        return exit_codes.USAGE
    address = os.environ.get(CHECKPOINT_SOCKET)
    if not address:
        sys.stderr.write("cronce checkpoint: there is no 'cronce exec' around this process (Linux only)\n")
        return exit_codes.USAGE
    try:
        answer = send(address, arguments[0])
    except OSError as error:
        sys.stderr.write(f"cronce checkpoint: the 'cronce exec' around this process does not answer: {error}\n")
        return exit_codes.UNAVAILABLE
    if answer:
        sys.stderr.write(f"cronce checkpoint: {answer}\n")
        return exit_codes.PROBLEM
    return 0
