"""What a claimant asks for, and the answers that are not a claim."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from cronce.protocol.records import MAX_CLOCK_SKEW, RunRecord
from cronce.vocabulary.names import RunName, checked_token, checked_words, optional_words
from cronce.vocabulary.policy import Policy
from cronce.vocabulary.states import Trigger
from cronce.vocabulary.values import checked_instance, checked_member, value_class

__all__ = ["RefusalReason"]

RETENTION = timedelta(days=400)
"""How long a row is kept: long enough for a yearly job to find last year's run."""


def bearable_skew(lease: timedelta, *, max_clock_skew: timedelta) -> timedelta:
    """How much a host's clock may differ from the store's before the host must not act.

    Two hosts may then differ by twice as much. A lease tolerates `max_clock_skew`, which others add to its end, and
    the last fifth of the lease, in which its owner no longer acts. One second is subtracted because the store's
    `Date` has no smaller unit. For leases of 35 s and more, this is `max_clock_skew`.
    """
    return min(max_clock_skew, (max_clock_skew + lease / 5) / 2 - timedelta(seconds=1))


def too_late(scheduled_at: datetime | None, deadline: timedelta | None, at: datetime) -> bool:
    """True if a tick must not start at `at`: more than its starting deadline has passed since its nominal time."""
    return deadline is not None and scheduled_at is not None and at - scheduled_at > deadline


class RefusalReason(StrEnum):
    """Why a claim was refused; stable, for scripts and dashboards."""

    ALREADY_SUCCEEDED = "ALREADY_SUCCEEDED"
    RUNNING_ELSEWHERE = "RUNNING_ELSEWHERE"
    HELD = "HELD"
    ATTEMPTS_EXHAUSTED = "ATTEMPTS_EXHAUSTED"
    OVERLAPPING = "OVERLAPPING"
    TOO_LATE = "TOO_LATE"
    SUSPENDED = "SUSPENDED"
    PAUSED = "PAUSED"
    REPLACED = "REPLACED"
    INTERRUPTED = "INTERRUPTED"
    LEASE_LOST = "LEASE_LOST"


@value_class(kw_only=True)
class ClaimRequest:
    """A claimant's request for a run.

    Attributes:
        token: Created once for this request, outside every retry.
        owner: The claimant's name in the ledger.
        force: The reason for repeating a success, if a person gave one.
        force_attempt: The attempt that the force is for; None for any. A task that comes up late forces nothing again.
        actor: The person who decided, if any.
        note: That person's reason, if nothing is forced.
        ran: What the claimant runs: version and image of the work.
        has_slot: False if every claim of the job is under `ALLOW`, so that its slot need not be read.
    """

    run: RunName
    token: str
    owner: str
    policy: Policy
    trigger: Trigger = Trigger.SCHEDULE
    force: str | None = None
    force_attempt: int | None = None
    actor: str | None = None
    note: str | None = None
    ran: str | None = None
    has_slot: bool = True
    max_clock_skew: timedelta = MAX_CLOCK_SKEW
    retention: timedelta = RETENTION

    def __post_init__(self) -> None:
        checked: dict[str, object] = {
            "token": checked_token(self.token),
            "owner": checked_words(self.owner, what="owner", allowed="the name of this process"),
            "policy": checked_instance(Policy, self.policy, what="policy", allowed="a cronce.Policy"),
            "trigger": checked_member(Trigger, self.trigger, what="trigger"),
            "actor": optional_words(self.actor, what="actor", allowed="the name of a person"),
            "note": optional_words(self.note, what="note", allowed="a reason, in words"),
            "ran": optional_words(self.ran, what="ran", allowed="the version of the work"),
        }
        if self.force is not None:
            allowed = "the reason for repeating a success, in words"
            checked["force"] = checked_words(self.force, what="force", allowed=allowed)
        for name, value in checked.items():
            if value is not getattr(self, name):
                object.__setattr__(self, name, value)

    def forces(self, attempt: int) -> bool:
        """True if a person forces this attempt of the run."""
        return self.force is not None and self.force_attempt in (None, attempt)

    @property
    def job(self) -> str:
        """Name of the job."""
        return self.run.job

    @property
    def period(self) -> str:
        """The run's period."""
        return self.run.period

    @property
    def scheduled_at(self) -> datetime | None:
        """The nominal time of the tick; None where only a period is known."""
        return self.run.scheduled_at

    def too_late(self, now: datetime) -> bool:
        """True if the starting deadline has passed; a person's rerun has none."""
        return not self.trigger.by_person and too_late(self.scheduled_at, self.policy.starting_deadline, now)

    @property
    def bearable_skew(self) -> timedelta:
        """How much this host's clock may differ from the store's."""
        return bearable_skew(self.policy.lease, max_clock_skew=self.max_clock_skew)

    @property
    def suspended(self) -> bool:
        """True if the job is suspended for this trigger."""
        return self.policy.suspend and not self.trigger.by_person


@value_class
class Refused:
    """No claim, and why; `record` is the current row of the run."""

    reason: RefusalReason
    record: RunRecord | None = None


@value_class
class Skewed:
    """No claim: this host's clock differs from the store's by more than leases tolerate."""

    skew: timedelta
