"""Read the logs of the processes: `cronce exec` writes JSON lines on stderr, the digest one line per mail."""

from __future__ import annotations

from cronce.demo.processes import Member

_WORDS = {"ALREADY_SUCCEEDED": "already done", "RUNNING_ELSEWHERE": "already running elsewhere"}


def sent(member: Member) -> int:
    """How many mails the container sent."""
    return sum(line.startswith("sent ") for line in member.log())


def skipped(member: Member, state: str) -> int:
    """How many mails it did not send because the ledger had them as `done` or `unknown`."""
    return sum(line.startswith(f"skip {state} ") for line in member.log())


def refusals(member: Member) -> list[str]:
    """The reasons why its job was not started."""
    return [str(event["cronce.reason"]) for event in member.events() if event["cronce.event"] == "refused"]


def word(member: Member) -> str:
    """The refusal in words; empty if there is none."""
    return ", ".join(_WORDS.get(reason, reason) for reason in refusals(member))
