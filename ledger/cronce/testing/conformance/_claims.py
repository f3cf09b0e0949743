"""Claims and the times around them, for the tests of the protocol."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from cronce import (
    Claim,
    ConcurrencyPolicy,
    Policy,
    Refusal,
    RefusalReason,
)
from cronce.protocol.records import MAX_CLOCK_SKEW, RunRecord
from cronce.testing.records import LEASE, PERIOD, TICK

if TYPE_CHECKING:
    from cronce.testing.conformance.lab import Lab

TRUST = LEASE * 4 / 5
DEAD = LEASE + MAX_CLOCK_SKEW + TICK
"""So long after its claim a silent owner counts as dead."""

ALLOW = Policy(concurrency_policy=ConcurrencyPolicy.ALLOW)
FORBID = Policy()
AROUND = [(-TICK, False), (timedelta(0), False), (TICK, True)]
"""Just before a boundary, at it, and just after it: beyond it only then."""


def won(answer: Claim | Refusal) -> Claim:
    """The claim."""
    assert isinstance(answer, Claim), str(answer)
    return answer


def why(answer: Claim | Refusal) -> RefusalReason:
    """The reason of the refusal."""
    assert isinstance(answer, Refusal)
    return answer.reason


def standing(lab: Lab, period: str = PERIOD) -> RunRecord:
    """The run as it stands."""
    record = lab.ledger().run(lab.job, period)
    assert record is not None
    return record


def claim(lab: Lab, owner: str = "me", *, period: str = PERIOD, **options: Any) -> Claim | Refusal:  # noqa: ANN401
    """What that owner gets."""
    return lab.ledger(owner).claim(lab.job, period, **options)
