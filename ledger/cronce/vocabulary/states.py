"""How a run ends, why, and who asked for it: the words as stored."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Reason", "Status", "Trigger"]


class Status(StrEnum):
    """Where a run stands, as stored."""

    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"
    MISSED = "MISSED"


class Reason(StrEnum):
    """Why a run stands where it stands, as stored; observers may store other texts."""

    EXIT_CODE = "exit_code"
    ERROR = "error"
    ACTIVE_DEADLINE = "active_deadline"
    INTERRUPTED = "interrupted"
    REPLACED = "replaced"
    LEASE_LOST = "lease_lost"
    TASK_STOPPED = "task_stopped"
    CLOCK_SKEW = "clock_skew"
    RELEASED = "released"
    OVERLAP = "overlap"
    SUSPENDED = "suspended"
    TOO_LATE = "too_late"
    NEVER_DELIVERED = "never_delivered"
    LAUNCH_FAILED = "launch_failed"
    """Stands alone, or before what the platform said: `launch_failed: AccessDeniedException`."""
    UNCLAIMED = "unclaimed"
    """The task ended with exit code 0 and never claimed: nobody knows whether the work was done."""


class Trigger(StrEnum):
    """Who asked for the attempt."""

    SCHEDULE = "schedule"
    RETRY = "retry"
    CATCH_UP = "catch_up"
    MANUAL = "manual"
    BACKFILL = "backfill"

    @property
    def by_person(self) -> bool:
        """True where a person decided: no limit on attempts or lateness then applies."""
        return self in (Trigger.MANUAL, Trigger.BACKFILL)
