"""Records and requests for tests: everything has a default, a test gives the values that matter to it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from cronce.protocol.holding import Held
from cronce.protocol.records import MAX_CLOCK_SKEW, RunRecord, SlotRecord
from cronce.protocol.requests import ClaimRequest
from cronce.vocabulary.names import RunName
from cronce.vocabulary.policy import Policy
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


def request(*, policy: Policy | None = None, **changes: object) -> ClaimRequest:
    """The request of an owner called `me` for the default run; changes that are no field of it go to the policy."""
    names = {*field_names(ClaimRequest), "job", "period", "scheduled_at"}
    of_policy: dict[str, Any] = {name: value for name, value in changes.items() if name not in names}
    given: dict[str, Any] = {name: value for name, value in changes.items() if name in names}
    default: dict[str, Any] = {
        "run": RunName.of(given.pop("job", JOB), given.pop("period", PERIOD), given.pop("scheduled_at", None)),
        "token": "token-of-me",
        "owner": "me",
        "policy": policy or Policy(**of_policy),
    }
    return ClaimRequest(**default | given)


def held(of: RunRecord | None = None, *, by: SlotRecord | None = None, sent_at: datetime = T0) -> Held:
    """A held attempt: of the default run, without a slot."""
    return Held(run=of or run(), slot=by, lease=LEASE, sent_at=sent_at)
