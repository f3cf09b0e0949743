"""What becomes of each operation on Redis under each fault: 44 cells, on a real Valkey."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from cronce import Claim, ConcurrencyPolicy, LedgerUnavailableError, Policy, Status
from cronce.protocol.records import RunRecord, SlotRecord
from cronce.stores.redis.server import RedisServer as Connections
from cronce.testing.conformance.lab import Lab
from tests.conformance.stores import TimelessRedisStore
from tests.support.resp_wire import Fault, RespWire

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.redis_server import RedisServer

PERIOD = "2026-11-29"
ALLOW = Policy(concurrency_policy=ConcurrencyPolicy.ALLOW)

WON, RENEWED, SUCCEEDED, FAILED = "won", "renewed", "succeeded", "failed"
NOT_STARTED = "not started"
"""`LedgerUnavailableError`, and nothing was written."""

LASTS = {Fault.NOT_PERMITTED}
"""Faults that another try would not change: a claim is given up at once, a claim that is held insists."""

ARRIVED = {
    # How often the script reaches the server when the first request meets the fault and the others do not. Each effect
    # lands exactly once, whatever it says here.
    Fault.REQUEST_LOST: 1,
    Fault.REQUEST_CUT: 1,
    Fault.ANSWER_LOST: 2,
    Fault.ANSWER_CUT: 2,
    Fault.NO_ANSWER: 2,
    Fault.DUPLICATE_DELIVERY: 2,
    Fault.LOADING: 1,
    Fault.OUT_OF_MEMORY: 1,
    Fault.READ_ONLY: 1,
    Fault.SCRIPT_FORGOTTEN: 1,
    Fault.NOT_PERMITTED: 1,
}
OPERATIONS = {"claim": WON, "heartbeat": RENEWED, "complete": SUCCEEDED, "fail": FAILED}


@pytest.fixture
def wire(valkey: RedisServer) -> Iterator[RespWire]:
    """The way to Valkey."""
    with RespWire(valkey.port) as wire:
        yield wire


@pytest.fixture
def lab(wire: RespWire) -> Iterator[Lab]:
    """The store behind that wire."""
    nobody: Callable[..., None] = lambda *row: pytest.fail(f"nobody writes {row}")  # noqa: E731
    timeout = timedelta(seconds=1)
    connections = Connections("127.0.0.1", wire.port, where="here", call_timeout=timeout)
    store = TimelessRedisStore(connections, where="here", call_timeout=timeout)
    yield Lab(store=store, put=nobody, erase=nobody)
    store.close()


def perform(operation: str, lab: Lab, wire: RespWire, fault: Fault) -> str:
    """What the caller of the operation gets when its first request meets the fault."""
    ledger = lab.ledger(policy=ALLOW)
    if operation == "claim":
        wire.meets([fault])
        try:
            return WON if ledger.claim(lab.job, PERIOD) else "refused"
        except LedgerUnavailableError:
            return NOT_STARTED
    mine = ledger.claim(lab.job, PERIOD)
    assert isinstance(mine, Claim)
    until = mine.trusted_until
    wire.arrived = 0
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
    """Four operations, eleven faults."""
    assert set(ARRIVED) == set(Fault)
    assert len(ARRIVED) * len(OPERATIONS) == 44


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("fault", Fault)
def test_cell(lab: Lab, wire: RespWire, operation: str, fault: Fault) -> None:
    """The effect lands once, or the work does not start and nothing is written."""
    lab.store.swap(SlotRecord(job=lab.job, version=1), None)  # the script is known to the server
    wire.arrived = 0
    got = perform(operation, lab, wire, fault)
    run = lab.store.get(lab.job, f"run#{PERIOD}")
    if operation == "claim" and fault in LASTS:
        assert (got, run, wire.arrived) == (NOT_STARTED, None, 0)
        return
    assert got == OPERATIONS[operation]
    announced = operation == "claim"  # in the slot
    assert wire.arrived == ARRIVED[fault] + announced
    assert isinstance(run, RunRecord)
    assert (run.version, run.attempt) == (1 if operation == "claim" else 2, 1)
    assert run.status == {SUCCEEDED: Status.SUCCEEDED, FAILED: Status.FAILED}.get(got, Status.RUNNING)
    assert run.failures == (got == FAILED)


@pytest.mark.parametrize("request_number", [1, 2])
@pytest.mark.parametrize("fault", Fault)
def test_a_claim_with_its_slot_survives_what_passes(
    lab: Lab, wire: RespWire, fault: Fault, request_number: int
) -> None:
    """Under FORBID, whichever of the two scripts meets it: won, or not started."""
    lab.store.swap(SlotRecord(job=lab.job, version=1), None)
    wire.meets([*[None] * (request_number - 1), fault])
    try:
        answer = lab.ledger().claim(lab.job, PERIOD)
    except LedgerUnavailableError:
        assert fault in LASTS
        return
    assert fault not in LASTS
    assert isinstance(answer, Claim)
    assert (answer.attempt, answer.fence) == (1, 1)
    slot = lab.store.get(lab.job, "slot")
    assert isinstance(slot, SlotRecord)
    assert slot.token == answer.record.token
