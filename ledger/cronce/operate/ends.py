"""What an end means: an exit code, with what AWS or the task's log says beside it. Pure."""

from __future__ import annotations

import signal
from dataclasses import replace

from cronce.operate.aws_causes import Cause, aws_cause
from cronce.operate.wording import one_line
from cronce.vocabulary import exit_codes

_CODES = {
    exit_codes.USAGE: Cause("bad-usage", "cronce refused an option or variable of its task (exit code 64)"),
    exit_codes.UNAVAILABLE: Cause(
        "ledger-unreachable",
        "Its task could not use the ledger (exit code 69), so the work did not start",
        "Look at the last line of its log: the table, the task role's grant_claim, or the network.",
    ),
    exit_codes.LEASE_LOST: Cause(
        "lease-lost", "It lost its lease (exit code 70): its task could not reach the ledger in time, and was stopped"
    ),
    exit_codes.GUARD_FAILED: Cause("guard-failed", "The guard itself failed in its task (exit code 71)"),
    exit_codes.DEADLINE: Cause("deadline-passed", "It ran longer than its active deadline and was stopped"),
    exit_codes.NOT_EXECUTABLE: Cause(
        "command-broken",
        "Its command cannot be executed (exit code 126)",
        "Correct the command or its file mode.",
    ),
    exit_codes.NOT_FOUND: Cause(
        "command-broken",
        "Its command does not exist in the image (exit code 127)",
        "Correct the command or the image.",
    ),
    exit_codes.BY_SIGNAL + signal.SIGKILL: Cause(
        "killed", "It was killed (SIGKILL, exit code 137)", "If its memory was used up, give it more."
    ),
    exit_codes.BY_SIGNAL + signal.SIGTERM: Cause("terminated", "It was asked to stop (SIGTERM, exit code 143)"),
}


def cause_of_end(exit_code: int | None, *texts: str | None, logged: str = "") -> Cause | None:
    """The cause of a container's end: what AWS says, else what the exit code means; None if neither is known.

    Args:
        exit_code: Of the job's container; None if it has none.
        texts: What AWS says about the end, the most precise first.
        logged: The last line of the task's log.
    """
    for text in texts:
        if text and (said := aws_cause(text)):
            return said
    if not exit_code:
        return None
    known = _CODES.get(exit_code)
    in_log = aws_cause(logged)
    if known is not None and in_log is not None and exit_code == exit_codes.UNAVAILABLE:
        return replace(known, sentence=f"{known.sentence}: {continued(in_log.sentence)}", remedy=in_log.remedy)
    if known is not None:
        return known
    if in_log is not None and in_log.code in ("wrong-architecture", "command-broken"):
        return in_log
    if exit_codes.BY_SIGNAL < exit_code < exit_codes.BY_SIGNAL + signal.NSIG:
        return Cause("killed", f"It was ended by {_signal(exit_code - exit_codes.BY_SIGNAL)} (exit code {exit_code})")
    last = next((f": {one_line(text)}" for text in (*texts, logged) if text), "")
    return Cause("command-failed", f"Its command failed with exit code {exit_code}{last}")


def continued(sentence: str) -> str:
    """A sentence as the second half of another one; a name such as AWS stays as it is."""
    return sentence if sentence[:2].isupper() else sentence[:1].lower() + sentence[1:]


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
