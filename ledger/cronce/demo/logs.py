"""Read the logs of the processes: `cronce exec` writes JSON lines on stderr, the digest one line per mail."""

from __future__ import annotations

from cronce.demo.processes import Member

_WORDS = {"ALREADY_SUCCEEDED": "already done", "RUNNING_ELSEWHERE": "already running elsewhere"}


def handed_over(member: Member) -> list[str]:
    """The result of each mail that the container sent: `sent`, or `absorbed` if the mailbox had it already."""
    return [line.split()[0] for line in member.log() if line.startswith(("sent ", "absorbed "))]


def began_after(member: Member) -> int:
    """The number of the mail after which its job started; -1 if it did not start."""
    return next((int(line.removeprefix("from ")) for line in member.log() if line.startswith("from ")), -1)


def refusals(member: Member) -> list[str]:
    """The reasons why its job was not started."""
    return [str(event["cronce.reason"]) for event in member.events() if event["cronce.event"] == "refused"]


def word(member: Member) -> str:
    """The refusal in words; empty if there is none."""
    return ", ".join(_WORDS.get(reason, reason) for reason in refusals(member))
