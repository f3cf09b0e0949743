"""What a claim costs: requests that reached DynamoDB Local, counted. A write is a write unit, lost or won."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from cronce import Claim, ConcurrencyPolicy, Policy, Refusal
from cronce.client.observer import Observer
from cronce.protocol.records import SlotRecord
from cronce.stores.dynamo.sdk import _METHODS

if TYPE_CHECKING:
    from cronce.testing.conformance.lab import Lab
    from tests.support.faulty_wire import Wire

PERIOD = "2026-11-29"
ALLOW = Policy(concurrency_policy=ConcurrencyPolicy.ALLOW)
FORBID = Policy()
LATE = Policy(starting_deadline=timedelta(seconds=1))
SUSPENDED = Policy(suspend=True)
WRITE, TAKE, READ = "PutItem", "UpdateItem", "GetItem"


def claim(lab: Lab, policy: Policy, *, period: str = PERIOD, **options: Any) -> Claim | Refusal:  # noqa: ANN401
    """What a claimant gets."""
    return lab.ledger(policy=policy).claim(lab.job, period, **options)


def won(answer: Claim | Refusal) -> Claim:
    """The claim."""
    assert isinstance(answer, Claim)
    return answer


def cost(wire: Wire) -> list[str]:
    """The requests since the last look."""
    arrived, wire.arrived = wire.arrived, []
    return arrived


def test_the_winner_under_allow_pays_a_write_and_a_read(lab: Lab, wire: Wire) -> None:
    """And a write for its completion. The first winner ever also writes into the slot that such runs exist."""
    for period, expected in (("2026-11-29", [WRITE, READ, WRITE]), ("2026-11-30", [WRITE, READ])):
        mine = won(claim(lab, ALLOW, period=period))
        assert cost(wire) == expected
        mine.complete({"sent": 3100})
        assert cost(wire) == [WRITE]


def test_the_first_claim_after_allow_looks_for_live_runs_twice(lab: Lab, wire: Wire) -> None:
    """Before it takes the slot and after; the next one pays as ever. The slot of the first one is not free."""
    won(claim(lab, ALLOW)).complete()
    cost(wire)
    won(claim(lab, FORBID, period="2026-11-30")).complete()
    assert cost(wire) == [WRITE, TAKE, "Query", WRITE, "Query", WRITE, WRITE, WRITE]
    won(claim(lab, FORBID, period="2026-12-01"))
    assert cost(wire) == [WRITE, TAKE]


@pytest.mark.parametrize("policy", [ALLOW, FORBID])
def test_a_loser_pays_one_request(lab: Lab, wire: Wire, policy: Policy) -> None:
    """While the winner runs, and ever after."""
    mine = won(claim(lab, policy))
    cost(wire)
    assert isinstance(claim(lab, policy), Refusal)
    assert cost(wire) == [WRITE]
    mine.complete()
    cost(wire)
    assert isinstance(claim(lab, policy), Refusal)
    assert cost(wire) == [WRITE]


@pytest.mark.parametrize("policy", [policy for policy in ConcurrencyPolicy if policy is not ConcurrencyPolicy.ALLOW])
def test_a_run_with_a_slot_costs_four_writes_of_which_none_is_refused(
    lab: Lab, wire: Wire, policy: ConcurrencyPolicy
) -> None:
    """Run and slot at its beginning, and both rows again at its end. Nothing is read."""
    for period in ("2026-11-29T06:00:00Z", "2026-11-30T06:00:00Z"):
        mine = won(claim(lab, Policy(concurrency_policy=policy), period=period))
        assert cost(wire) == [WRITE, TAKE]
        mine.complete()
        assert cost(wire) == [WRITE, WRITE]
    assert wire.refused == 0


def test_an_attempt_after_a_failure_finds_its_slot_free(lab: Lab, wire: Wire) -> None:
    """Although its own tick is the newest one that held it. The first write is refused, and brings back the run."""
    tick, retried = "2026-11-29T06:00:00Z", Policy(backoff_limit=1)
    won(claim(lab, retried, period=tick)).fail("boom")
    cost(wire)
    won(claim(lab, retried, period=tick))
    assert cost(wire) == [WRITE, WRITE, TAKE]


def test_an_older_tick_costs_a_write_more(lab: Lab, wire: Wire) -> None:
    """The slot knows a newer one, so it is not simply free."""
    for period, expected in (("2026-11-30T06:00:00Z", [WRITE, TAKE]), ("2026-11-29T06:00:00Z", [WRITE, TAKE, WRITE])):
        mine = won(claim(lab, FORBID, period=period))
        assert cost(wire) == expected
        mine.complete()
        cost(wire)


def test_a_heartbeat_and_a_checkpoint_are_one_write_each(lab: Lab, wire: Wire) -> None:
    """Under any policy."""
    mine = won(claim(lab, FORBID))
    cost(wire)
    mine.heartbeat()
    mine.checkpoint(7)
    assert cost(wire) == [WRITE, WRITE]


def test_a_take_over_is_one_more_write_than_a_first_claim(lab: Lab, wire: Wire) -> None:
    """The first is refused and brings back what stands."""
    won(claim(lab, ALLOW))
    cost(wire)
    lab.clock.advance(timedelta(minutes=2))
    assert won(claim(lab, ALLOW)).attempt == 2
    assert cost(wire) == [WRITE, WRITE, READ]


def test_a_tick_that_is_too_late_costs_a_read_and_a_write(lab: Lab, wire: Wire) -> None:
    """The service's clock is heard before the judgement is written down."""
    late = Policy(starting_deadline=timedelta(seconds=1))
    scheduled_at = lab.clock.now() - timedelta(hours=1)
    assert isinstance(claim(lab, late, scheduled_at=scheduled_at), Refusal)
    assert cost(wire) == [READ, WRITE]


def test_an_overlap_costs_four_requests(lab: Lab, wire: Wire) -> None:
    """Run, slot, a look at the holder, and the row that says SKIPPED."""
    won(claim(lab, FORBID))
    cost(wire)
    assert isinstance(claim(lab, FORBID, period="2026-11-30"), Refusal)
    assert cost(wire) == [WRITE, TAKE, READ, WRITE]


FURTHER = {
    "skipped": ((FORBID, FORBID), "OVERLAPPING", [WRITE]),
    "suspended": ((SUSPENDED, SUSPENDED), "SUSPENDED", [READ]),
    "resumed": ((SUSPENDED, FORBID), "SUSPENDED", [WRITE]),
    "too late": ((LATE, LATE), "TOO_LATE", [READ]),
    "in time by a later policy": ((LATE, FORBID), "TOO_LATE", [WRITE]),
}


@pytest.mark.parametrize(("policies", "reason", "expected"), FURTHER.values(), ids=FURTHER)
def test_each_further_delivery_of_a_skipped_tick_costs_one_request_and_changes_nothing(
    lab: Lab, wire: Wire, policies: tuple[Policy, Policy], reason: str, expected: list[str]
) -> None:
    """Also once nothing is in its way any more. No number of an attempt is used."""
    first, later = policies
    tick: dict[str, Any] = {"period": "2026-11-30", "scheduled_at": lab.clock.now() - timedelta(hours=1)}
    blocker = won(claim(lab, FORBID))
    assert isinstance(claim(lab, first, **tick), Refusal)
    skipped = lab.ledger().run(lab.job, "2026-11-30")
    for happens in (blocker.heartbeat, blocker.complete):
        happens()
        cost(wire)
        refused = claim(lab, later, **tick)
        assert isinstance(refused, Refusal)
        assert (refused.reason, cost(wire)) == (reason, expected)
        assert lab.ledger().run(lab.job, "2026-11-30") == refused.record == skipped
    assert skipped is not None
    assert skipped.attempt == 0


def test_nothing_ever_scans_deletes_or_transacts(lab: Lab, wire: Wire) -> None:
    """In a life with crash, overlap, replacement, release, force and a listing."""
    replace = Policy(concurrency_policy=ConcurrencyPolicy.REPLACE, backoff_limit=9)
    won(claim(lab, FORBID))
    lab.clock.advance(timedelta(minutes=2))
    mine = won(claim(lab, FORBID, period="2026-11-30"))
    claim(lab, FORBID, period="2026-12-01")
    won(claim(lab, replace, period="2026-12-02")).fail("boom")
    mine = won(claim(lab, replace, period="2026-12-02"))
    lab.ledger().release(lab.job, "2026-12-02", actor="ada", force=True)
    Observer(lab.ledger()).mark_stopped(lab.job, "2026-12-02", owner="me")
    mine = won(claim(lab, FORBID, period="2026-12-03"))
    mine.complete()
    won(claim(lab, FORBID, period="2026-12-03", force="again")).interrupt()
    assert len(list(lab.ledger().runs(lab.job))) == 5
    assert isinstance(lab.store.get(lab.job, "slot"), SlotRecord)
    assert set(cost(wire)) == {WRITE, TAKE, READ, "Query"}


def test_the_client_could_not_even_ask_for_more() -> None:
    """What a claimant's role has to allow is in this list."""
    once = {"CreateTable", "DescribeTable", "DescribeTimeToLive", "UpdateTimeToLive"}
    assert set(_METHODS) == {WRITE, TAKE, READ, "Query"} | once
