"""What becomes of each operation under each fault: 28 cells, through real botocore, against DynamoDB Local."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cronce import Claim, ConcurrencyPolicy, LedgerUnavailableError, Policy, Status
from cronce.protocol.records import RunRecord, SlotRecord
from tests.support.faulty_wire import Fault

if TYPE_CHECKING:
    from cronce.testing.conformance.lab import Lab
    from tests.support.faulty_wire import Wire

PERIOD = "2026-11-29"
ALLOW = Policy(concurrency_policy=ConcurrencyPolicy.ALLOW)

WON, RENEWED, SUCCEEDED, FAILED = "won", "renewed", "succeeded", "failed"
NOT_STARTED = "not started"
"""`LedgerUnavailableError`, and nothing was written."""

MATRIX = {
    # The first request of the operation meets the fault, the others do not. Then: what the caller gets, the
    # version of the row that stands (each effect lands exactly once), and how many requests reached DynamoDB.
    ("claim", Fault.REQUEST_LOST): (WON, 1, 1),
    ("claim", Fault.ANSWER_LOST): (WON, 1, 2),
    ("claim", Fault.DUPLICATE_DELIVERY): (WON, 1, 2),
    ("claim", Fault.THROTTLED): (WON, 1, 1),
    ("claim", Fault.TRANSACTION_CONFLICT): (WON, 1, 1),
    ("claim", Fault.NO_CREDENTIALS): (NOT_STARTED, None, 0),
    ("claim", Fault.WRONG_TABLE_OR_REGION): (NOT_STARTED, None, 1),
    ("heartbeat", Fault.REQUEST_LOST): (RENEWED, 2, 1),
    ("heartbeat", Fault.ANSWER_LOST): (RENEWED, 2, 2),
    ("heartbeat", Fault.DUPLICATE_DELIVERY): (RENEWED, 2, 2),
    ("heartbeat", Fault.THROTTLED): (RENEWED, 2, 1),
    ("heartbeat", Fault.TRANSACTION_CONFLICT): (RENEWED, 2, 1),
    ("heartbeat", Fault.NO_CREDENTIALS): (RENEWED, 2, 1),
    ("heartbeat", Fault.WRONG_TABLE_OR_REGION): (RENEWED, 2, 2),
    ("complete", Fault.REQUEST_LOST): (SUCCEEDED, 2, 1),
    ("complete", Fault.ANSWER_LOST): (SUCCEEDED, 2, 2),
    ("complete", Fault.DUPLICATE_DELIVERY): (SUCCEEDED, 2, 2),
    ("complete", Fault.THROTTLED): (SUCCEEDED, 2, 1),
    ("complete", Fault.TRANSACTION_CONFLICT): (SUCCEEDED, 2, 1),
    ("complete", Fault.NO_CREDENTIALS): (SUCCEEDED, 2, 1),
    ("complete", Fault.WRONG_TABLE_OR_REGION): (SUCCEEDED, 2, 2),
    ("fail", Fault.REQUEST_LOST): (FAILED, 2, 1),
    ("fail", Fault.ANSWER_LOST): (FAILED, 2, 2),
    ("fail", Fault.DUPLICATE_DELIVERY): (FAILED, 2, 2),
    ("fail", Fault.THROTTLED): (FAILED, 2, 1),
    ("fail", Fault.TRANSACTION_CONFLICT): (FAILED, 2, 1),
    ("fail", Fault.NO_CREDENTIALS): (FAILED, 2, 1),
    ("fail", Fault.WRONG_TABLE_OR_REGION): (FAILED, 2, 2),
}


def perform(operation: str, lab: Lab, wire: Wire, fault: Fault) -> str:
    """What the caller of the operation gets when its first request meets the fault."""
    ledger = lab.ledger(policy=ALLOW)
    if operation == "claim":
        wire.meets([fault])
        try:
            answer = ledger.claim(lab.job, PERIOD)
        except LedgerUnavailableError:
            return NOT_STARTED
        return WON if isinstance(answer, Claim) else answer.reason
    mine = ledger.claim(lab.job, PERIOD)
    assert isinstance(mine, Claim)
    until = mine.trusted_until
    wire.arrived.clear()
    wire.meets([fault])
    match operation:
        case "heartbeat":
            mine.heartbeat()
            return RENEWED if mine.trusted_until >= until and not mine.is_lost() else "lost"
        case "complete":
            mine.complete({"sent": 3100})
            return SUCCEEDED
        case _:
            mine.fail("boom")
            return FAILED


def test_the_matrix_is_whole() -> None:
    """Four operations, seven faults."""
    assert len(MATRIX) == 28
    assert {fault for _, fault in MATRIX} == set(Fault)


@pytest.mark.parametrize(
    ("operation", "fault", "outcome"),
    [pytest.param(*cell, outcome, id=" x ".join(cell)) for cell, outcome in MATRIX.items()],
)
def test_cell(lab: Lab, wire: Wire, operation: str, fault: Fault, outcome: tuple[str, int | None, int]) -> None:
    """The outcome that the table states."""
    got, version, arrived = outcome
    assert perform(operation, lab, wire, fault) == got
    announced = ["GetItem", "PutItem"] if (operation, got) == ("claim", WON) else []  # in the slot
    assert wire.arrived == ["PutItem"] * arrived + announced
    standing = lab.store.get(lab.job, f"run#{PERIOD}")
    assert (standing.version if standing else None) == version
    if isinstance(standing, RunRecord):
        assert standing.attempt == 1
        assert standing.status == {SUCCEEDED: Status.SUCCEEDED, FAILED: Status.FAILED}.get(got, Status.RUNNING)
        assert standing.failures == (got == FAILED)


@pytest.mark.parametrize("request_number", [1, 2])
@pytest.mark.parametrize("fault", Fault)
def test_a_claim_with_its_slot_survives_what_passes(lab: Lab, wire: Wire, fault: Fault, request_number: int) -> None:
    """Under FORBID, whichever of the two requests meets it: won, or not started."""
    lab.store.swap(SlotRecord(job=lab.job, version=1), None)
    wire.arrived.clear()
    wire.meets([*[None] * (request_number - 1), fault])
    passes = fault not in (Fault.NO_CREDENTIALS, Fault.WRONG_TABLE_OR_REGION)
    try:
        answer = lab.ledger().claim(lab.job, PERIOD)
    except LedgerUnavailableError:
        assert not passes
        return
    assert passes
    assert isinstance(answer, Claim)
    assert (answer.attempt, answer.fence) == (1, 1)
    slot = lab.store.get(lab.job, "slot")
    assert isinstance(slot, SlotRecord)
    assert slot.token == answer.record.token
