"""What the processes' own logs say. `cronce exec` writes JSON lines on stderr, the digest a line a mail."""

from __future__ import annotations

from cronce.demo.processes import Member

_WORDS = {"ALREADY_SUCCEEDED": "already done", "RUNNING_ELSEWHERE": "already running elsewhere"}


def handed_over(member: Member) -> list[str]:
    """What became of each mail that the container handed over: `sent` or `absorbed`."""
    return [line.split()[0] for line in member.log() if line.startswith(("sent ", "absorbed "))]


def began_after(member: Member) -> int:
    """The number of the last mail that its job took for sent already; -1 if it never began."""
    return next((int(line.removeprefix("from ")) for line in member.log() if line.startswith("from ")), -1)


def refusals(member: Member) -> list[str]:
    """The reasons for which it was not started."""
    return [str(event["cronce.reason"]) for event in member.events() if event["cronce.event"] == "refused"]


def word(member: Member) -> str:
    """The refusal as a person says it; empty if there is none."""
    return ", ".join(_WORDS.get(reason, reason) for reason in refusals(member))
