"""The ledger in memory, with its clock and its misfortunes."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from cronce import Claim, LeaseLostError, OnLost, Policy, Refusal, RefusalReason, Status
from cronce.testing import InMemoryLedger, ManualClock

if TYPE_CHECKING:
    from collections.abc import Callable


def claimed(ledger: InMemoryLedger) -> Claim:
    """The claim of the tests' run."""
    claim = ledger.claim("digest", "2026-11-29")
    assert isinstance(claim, Claim)
    return claim


def test_time_passes_only_when_the_test_says_so(memory_ledger: InMemoryLedger) -> None:
    """A lease expires by `advance`; an owner that finds its run untouched renews it."""
    claim = claimed(memory_ledger)
    left = claim.trust_left
    memory_ledger.clock.advance(timedelta(seconds=48))
    assert (left, claim.trust_left, claim.is_lost()) == (48, 0, False)


def test_the_property_lost_makes_no_request(memory_ledger: InMemoryLedger) -> None:
    """It says that the process must not act; only `is_lost` finds out that the lease can still be renewed."""
    claim = claimed(memory_ledger)
    version = claim.record.version
    memory_ledger.clock.advance(timedelta(seconds=48))
    assert (claim.lost, claim.record.version) == (True, version)
    assert (claim.is_lost(), claim.lost, claim.record.version) == (False, False, version + 1)
    memory_ledger.clock.advance(timedelta(hours=1))
    claim.complete()
    assert claim.lost is False


def test_a_lost_claim_is_taken_over_and_its_owner_is_told(memory_ledger: InMemoryLedger) -> None:
    """By `check`, and at its next write."""
    claim = claimed(memory_ledger)
    successor = memory_ledger.simulate_loss(claim)
    assert isinstance(successor, Claim)
    assert (successor.attempt, successor.record.owner) == (2, "successor")
    for act in (claim.check, claim.heartbeat, lambda: claim.checkpoint(7), claim.complete):
        with pytest.raises(LeaseLostError):
            act()
    successor.complete()


def test_under_hold_a_lost_claim_waits_for_a_person() -> None:
    """So there is no successor."""
    ledger = InMemoryLedger(policy=Policy(on_lost=OnLost.HOLD))
    claim = claimed(ledger)
    refusal = ledger.simulate_loss(claim)
    assert isinstance(refusal, Refusal)
    assert (refusal.reason, claim.is_lost()) == (RefusalReason.HELD, True)


@pytest.mark.parametrize("act", [Claim.heartbeat, Claim.complete, lambda claim: claim.checkpoint(7)])
def test_a_lost_answer_costs_nothing(memory_ledger: InMemoryLedger, act: Callable[[Claim], None]) -> None:
    """The write is repeated and finds itself."""
    claim = claimed(memory_ledger)
    memory_ledger.simulate_lost_answer()
    act(claim)
    assert memory_ledger.store.losing == 0
    assert memory_ledger.run("digest", "2026-11-29") == claim.record


def test_the_heartbeat_of_a_block_waits_for_the_clock_of_the_test(memory_ledger: InMemoryLedger) -> None:
    """The thread renews the lease when the test has moved the clock by a quarter of it, and not before."""
    beaten = threading.Event()
    claim = claimed(memory_ledger)
    began_at = memory_ledger.clock.now()
    claim.start_heartbeat(after=beaten.set)
    with claim:
        assert memory_ledger.clock.now() == began_at
        memory_ledger.clock.advance(timedelta(seconds=15))
        assert beaten.wait(60)
        assert claim.record.heartbeat_at == began_at + timedelta(seconds=15)
    assert claim.record.status is Status.SUCCEEDED


def test_a_wait_of_the_tests_own_thread_moves_the_clock() -> None:
    """So a claim under WAIT, or a retry, takes no real time."""
    clock = ManualClock()
    began_at = clock.now()
    assert clock.wait(threading.Event(), 30) is False
    assert clock.now() == began_at + timedelta(seconds=30)
