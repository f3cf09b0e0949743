"""The numbers that the story must produce. Pure; the counts come from what the processes left behind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from cronce.demo.mailboxes import customer_name
from cronce.protocol.records import RunRecord
from cronce.protocol.requests import RefusalReason
from cronce.vocabulary.states import Status

CONTAINERS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One number of the story.

    Attributes:
        what: What was counted, and where.
    """

    what: str
    counted: int | str
    expected: int | str

    @property
    def right(self) -> bool:
        """Whether the number is as expected."""
        return self.counted == self.expected


def mails_arrived(mails: Counter[str], *, customers: int, each: int) -> list[Check]:
    """Every customer has that many mails. A mail to anybody else would make the total larger."""
    known = [customer_name(number) for number in range(1, customers + 1)]
    right = sum(mails[name] == each for name in known)
    noun = "mail" if each == 1 else "mails"
    return [
        Check(what="mails in the mailbox", counted=mails.total(), expected=customers * each),
        Check(what=f"customers with exactly {each} {noun}", counted=right, expected=customers),
    ]


def started_once(*, worked: int, exit_codes: Sequence[int | None], refused: Sequence[str]) -> list[Check]:
    """One container did the work; the others were refused and exited with 0."""
    already = (RefusalReason.ALREADY_SUCCEEDED, RefusalReason.RUNNING_ELSEWHERE)
    return [
        Check(what="containers that sent mails", counted=worked, expected=1),
        Check(
            what='containers that said "already"', counted=sum(r in already for r in refused), expected=CONTAINERS - 1
        ),
        Check(
            what="containers that ended with exit code 0", counted=sum(c == 0 for c in exit_codes), expected=CONTAINERS
        ),
    ]


def killed_halfway(
    row: RunRecord | None, *, died: bool, mails: int, expected_mails: int, refused: Sequence[str]
) -> list[Check]:
    """The owner and its job are dead, the work is not done, and the ledger still refuses other starts."""
    return [
        Check(what="the job died with its wrapper", counted=_yes(yes=died), expected="yes"),
        Check(what="mails sent when it was killed", counted=mails, expected=expected_mails),
        Check(what="the ledger's row", counted=_state(row), expected=f"{Status.RUNNING}, attempt 1"),
        Check(
            what="a start before the lease has expired", counted=_all(refused), expected=RefusalReason.RUNNING_ELSEWHERE
        ),
    ]


def resumed(
    row: RunRecord | None, *, customers: int, sent_at_kill: int, done: int, unknown: int, sent: int
) -> list[Check]:
    """The next attempt sent what was not sent, and no mail again."""
    return [
        Check(what="the ledger's row", counted=_state(row), expected=f"{Status.SUCCEEDED}, attempt 2"),
        Check(what="mails that attempt 2 found done", counted=done, expected=sent_at_kill - 1),
        Check(what="mails that attempt 2 found unknown, and skipped", counted=unknown, expected=1),
        Check(what="mails that attempt 2 sent", counted=sent, expected=customers - sent_at_kill),
    ]


def asked_again(*, refused: Sequence[str], exit_codes: Sequence[int | None]) -> list[Check]:
    """A later start of the same period is refused because it has succeeded."""
    return [
        Check(what="the answer", counted=_all(refused), expected=RefusalReason.ALREADY_SUCCEEDED),
        Check(what="starts that ended with exit code 0", counted=sum(c == 0 for c in exit_codes), expected=1),
    ]


def _yes(*, yes: bool) -> str:
    return "yes" if yes else "no"


def _state(row: RunRecord | None) -> str:
    return "none" if row is None else f"{row.status}, attempt {row.attempt}"


def _all(reasons: Sequence[str]) -> str:
    return ", ".join(reasons) or "not refused"
