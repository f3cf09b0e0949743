"""What the processes get that must not start the work."""

from __future__ import annotations

from typing import Literal

from cronce.protocol.records import RunRecord
from cronce.protocol.requests import RefusalReason
from cronce.vocabulary.states import Reason, Status
from cronce.vocabulary.values import checked_member, value_class

__all__ = ["Refusal"]

_EXPLANATIONS = {
    RefusalReason.ALREADY_SUCCEEDED: "already done",
    RefusalReason.RUNNING_ELSEWHERE: "already running elsewhere",
    RefusalReason.HELD: "held for a person; 'cronce release' releases it",
    RefusalReason.ATTEMPTS_EXHAUSTED: "it failed, and no retry is left (backoff_limit); a person may run it again",
    RefusalReason.OVERLAPPING: "skipped, because another run of the job or its exclusion group was running",
    RefusalReason.TOO_LATE: "its starting deadline has passed",
    RefusalReason.SUSPENDED: "skipped, because the job was suspended",
    RefusalReason.PAUSED: "the job is paused",
    RefusalReason.REPLACED: "a newer run replaced it (REPLACE); a person may run it again",
    RefusalReason.INTERRUPTED: "this process was asked to stop before the work began",
    RefusalReason.LEASE_LOST: "this process was too slow; its run was taken over before the work began",
}


@value_class(kw_only=True)
class Refusal:
    """Why the work must not start here. A value, not an error, and falsy.

    Attributes:
        reason: Stable, for scripts.
        record: The current row of the run; None if there is none.
    """

    job: str
    period: str
    reason: RefusalReason
    record: RunRecord | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", checked_member(RefusalReason, self.reason, what="reason"))

    def __bool__(self) -> Literal[False]:
        return False

    def __str__(self) -> str:
        """One sentence for a person: what, why, and who holds the run."""
        text = f"{self.job} {self.period} is not started: {_EXPLANATIONS[self.reason]}"
        if self.record is None:
            return text
        if self.record.blocker:
            return f"{text} ({self.record.blocker})"
        if self.reason is RefusalReason.PAUSED and self.record.reason == Reason.PAUSED:
            return f"{text} by {self.record.actor}: {self.record.note}"
        if self.reason is RefusalReason.INTERRUPTED or self.record.status in (Status.SKIPPED, Status.MISSED):
            return text  # no attempt started, and the row names the refused process
        return f"{text} (attempt {self.record.attempt} by {self.record.owner})"
