"""States, reasons and triggers of a run, as stored."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Reason", "Status", "Trigger"]


class Status(StrEnum):
    """The state of a run, as stored."""

    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"
    MISSED = "MISSED"


class Reason(StrEnum):
    """Why a run has its state, as stored; observers may store other texts."""

    EXIT_CODE = "exit_code"
    ERROR = "error"
    ACTIVE_DEADLINE = "active_deadline"
    INTERRUPTED = "interrupted"
    REPLACED = "replaced"
    LEASE_LOST = "lease_lost"
    TASK_STOPPED = "task_stopped"
    CLOCK_SKEW = "clock_skew"
    SLOT_UNUSABLE = "slot_unusable"
    """The claim had the run, but could not read or write the job's slot; the work did not start."""
    RELEASED = "released"
    OVERLAP = "overlap"
    SUSPENDED = "suspended"
    PAUSED = "paused"
    """A person paused the job; `actor` is that person, `note` the reason."""
    TOO_LATE = "too_late"
    NEVER_DELIVERED = "never_delivered"
    NEVER_CLAIMED = "never_claimed"
    """A task of the tick has been at work for long, and has not claimed."""
    LAUNCH_FAILED = "launch_failed"
    """May be followed by what the platform reported: `launch_failed: AccessDeniedException`."""
    UNCLAIMED = "unclaimed"
    """The task ended with exit code 0 and never claimed: it is unknown whether the work was done."""


class Trigger(StrEnum):
    """Who requested the attempt."""

    SCHEDULE = "schedule"
    RETRY = "retry"
    CATCH_UP = "catch_up"
    MANUAL = "manual"
    BACKFILL = "backfill"

    @property
    def by_person(self) -> bool:
        """True if a person requested it: limits on attempts and lateness do not apply."""
        return self in (Trigger.MANUAL, Trigger.BACKFILL)
