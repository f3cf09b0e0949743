"""Records and requests for tests: everything has a default, a test gives the values that matter to it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from cronce.protocol.holding import Held
from cronce.protocol.records import RunRecord, SlotRecord
from cronce.protocol.requests import ClaimRequest
from cronce.testing.records import JOB, LEASE, LEASE_IS_OVER_AT, PERIOD, T0, TICK, run, slot
from cronce.vocabulary.names import RunName
from cronce.vocabulary.policy import Policy
from cronce.vocabulary.values import field_names

__all__ = ["JOB", "LEASE", "LEASE_IS_OVER_AT", "PERIOD", "T0", "TICK", "held", "request", "run", "slot"]


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
