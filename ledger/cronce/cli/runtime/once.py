"""`cronce once KEY -- COMMAND`: an effect of the run around this process, at most once or at least once."""

from __future__ import annotations

import os
import signal
import sys

from cronce.guard.checkpoints import exchange
from cronce.vocabulary import exit_codes
from cronce.vocabulary.environment import CHECKPOINT_SOCKET

_HELP = """\
usage: cronce once [--on-unknown skip|repeat] KEY -- COMMAND [ARGUMENT ...]

Run COMMAND if KEY was not done before in the run of the 'cronce exec' around this process. KEY is noted in the
ledger before COMMAND starts, and again when it has ended with exit code 0. If neither attempt nor command lived to
note the end, or COMMAND ended with another code, KEY is unknown: it may have happened.

options:
  --on-unknown skip     do not run COMMAND for an unknown KEY: at most once (default)
  --on-unknown repeat   run it again: at least once

example:
  cronce once customer-17 -- sendmail -t < mail-17

exit codes: COMMAND's own; 0 also if KEY is skipped; 1 refused; 64 bad usage, or no 'cronce exec' around this
process; 69 it does not answer; 126 or 127 COMMAND cannot be started. With 75, 126 and 127 KEY counts as never tried.
"""

_CHOICES = ("skip", "repeat")


def main(own: list[str], command: list[str]) -> int:
    """Ask the guard, run the command, and say how it ended; the exit code."""
    if own in (["-h"], ["--help"]):
        sys.stdout.write(_HELP)
        return 0
    choice = _CHOICES[0]
    match own:
        case ["--on-unknown", given, *rest] if given in _CHOICES:
            choice, own = given, rest
        case [option, *rest] if option.removeprefix("--on-unknown=") in _CHOICES:
            choice, own = option.removeprefix("--on-unknown="), rest
        case _:
            pass
    if len(own) != 1 or own[0].startswith("-") or not command:
        sys.stderr.write("cronce once: give a KEY and a command, e.g. cronce once customer-17 -- ./send-mail 17\n")
        return exit_codes.USAGE
    address = os.environ.get(CHECKPOINT_SOCKET)
    if not address:
        sys.stderr.write("cronce once: there is no 'cronce exec' around this process (Linux only)\n")
        return exit_codes.USAGE
    try:
        return _once(address, choice, own[0], command)
    except OSError as error:
        sys.stderr.write(f"cronce once: the 'cronce exec' around this process does not answer: {error}\n")
        return exit_codes.UNAVAILABLE


def _once(address: str, choice: str, key: str, command: list[str]) -> int:
    answer = exchange(address, choice, key)
    if answer == "skip done":
        return 0
    if answer == "skip unknown":
        sys.stderr.write(f"cronce once: {key} is skipped: it was tried before, and nobody knows whether it happened\n")
        return 0
    if answer == "ok":
        code = _run(command)
        tried_nothing = code in (exit_codes.TRY_LATER, exit_codes.NOT_EXECUTABLE, exit_codes.NOT_FOUND)
        answer = exchange(address, "done" if code == 0 else "never_tried" if tried_nothing else "unknown", key)
        if answer == "ok":
            return code
    sys.stderr.write(f"cronce once: {': '.join(filter(None, (key, answer)))}\n")
    return exit_codes.PROBLEM


def _run(command: list[str]) -> int:
    """The command's exit code. A signal that the guard sends to all reaches the command too; its end is awaited."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, lambda *_: None)  # not ignored: the command would inherit that
    try:
        pid = os.posix_spawnp(command[0], command, os.environ, setsigdef=(signal.SIGPIPE, signal.SIGXFSZ))
    except FileNotFoundError as error:
        return _unable(command, error, exit_codes.NOT_FOUND)
    except OSError as error:
        return _unable(command, error, exit_codes.NOT_EXECUTABLE)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return exit_codes.BY_SIGNAL - code if code < 0 else code


def _unable(command: list[str], error: OSError, code: int) -> int:
    sys.stderr.write(f"cronce once: {command[0]!r} cannot be started: {error.strerror}\n")
    return code
