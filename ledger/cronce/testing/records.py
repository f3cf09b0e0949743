"""Records for tests: everything has a default, a test gives the values that matter to it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from cronce.protocol.records import MAX_CLOCK_SKEW, GroupSlotRecord, RunRecord, SlotRecord
from cronce.vocabulary.names import group_key
from cronce.vocabulary.states import Status
from cronce.vocabulary.values import field_names

T0 = datetime(2026, 11, 29, 6, tzinfo=UTC)
"""When the tests' day begins."""

JOB = "daily-digest"
PERIOD = "2026-11-29"
LEASE = timedelta(seconds=60)
TICK = timedelta(milliseconds=1)
"""The smallest step of a stored time: just before and just after a boundary."""

LEASE_IS_OVER_AT = T0 + LEASE + MAX_CLOCK_SKEW
"""The last moment at which the silent owner of the default run still counts as alive."""


def run(**changes: object) -> RunRecord:
    """A run, RUNNING since T0, of an owner called `other`; any other status is final since T0."""
    status = changes.get("status", Status.RUNNING)
    default: dict[str, Any] = {
        "job": JOB,
        "period": PERIOD,
        "version": 1,
        "status": status,
        "attempt": 1,
        "token": "token-of-other",
        "owner": "other",
        "claimed_at": T0,
    }
    if status is Status.RUNNING:
        default |= {"heartbeat_at": T0, "lease_until": T0 + LEASE}
    else:
        default |= {"finished_at": T0}
    return RunRecord(**default | changes)


def slot(holder: RunRecord | None = None, **changes: object) -> SlotRecord:
    """The job's slot, held by a run or free."""
    free = SlotRecord(job=JOB, version=1, fence=3)
    taken = free if holder is None else free.taken_by(holder, at=T0)
    values: dict[str, Any] = {name: getattr(taken, name) for name in field_names(type(taken))}
    return SlotRecord(**values | changes)


def group_slot(holder: RunRecord | None = None, **changes: object) -> GroupSlotRecord:
    """The slot of the exclusion group `billing`, held by a run or free."""
    values: dict[str, Any] = {"job": group_key("billing"), "version": 1, "fence": 3}
    if holder is not None:
        of_run = ("period", "attempt", "token", "owner", "claimed_at", "heartbeat_at", "lease_until")
        values |= {"of_job": holder.job, **{name: getattr(holder, name) for name in of_run}}
    return GroupSlotRecord(**values | changes)
