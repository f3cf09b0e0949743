"""Effects and steps through `Claim`, on every store."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import pytest

from cronce import Claim, EffectState, LeaseLostError, Policy, RecordUnreadableError
from cronce.protocol.records import EffectsRecord, RunRecord
from cronce.testing.records import PERIOD

if TYPE_CHECKING:
    from cronce.testing.conformance.lab import Lab

FIRST_SEGMENT = f"effect#{PERIOD}#000001"
ODD = ["ann", "Grüße 💌", "a#b", "a b  c", "'; --", '"\\', "x" * 1024]


def next_attempt(lab: Lab) -> Claim:
    """The claim of a process that starts after everybody else has died."""
    lab.clock.advance(timedelta(hours=1))
    claim = lab.ledger(policy=Policy(backoff_limit=100)).claim(lab.job, PERIOD)
    assert isinstance(claim, Claim), str(claim)
    return claim


def test_after_a_crash_done_unknown_and_never_tried_are_told_apart(lab: Lab) -> None:
    """Whatever the keys are."""
    claim = next_attempt(lab)
    for key in ODD:
        claim.once(key)
    again = next_attempt(lab)
    for key in ODD:
        with again.once(key, on_unknown="repeat") as effect:
            assert (bool(effect), effect.state) == (True, EffectState.UNKNOWN)
    last = next_attempt(lab)
    assert {last.once(key).state for key in ODD} == {EffectState.DONE}
    assert last.once("zoe").state is EffectState.NEVER_TRIED


def test_an_attempt_that_lost_the_tail_writes_nothing(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if it believes that it still holds the run."""
    old = next_attempt(lab)
    old.once("ann").done()
    successor = next_attempt(lab)
    successor.once("ben").done()
    before = lab.store.get(lab.job, FIRST_SEGMENT)
    with monkeypatch.context() as patched:
        patched.setattr(type(old), "trust_left", 1.0)
        with pytest.raises(LeaseLostError):
            old.once("cem")
    assert lab.store.get(lab.job, FIRST_SEGMENT) == before
    assert successor.once("cem")


def test_many_effects_fill_small_rows_and_are_found_again(lab: Lab) -> None:
    """No row of them is larger than 8 KB, far below DynamoDB's 400 KB."""
    customers = [f"customer-{number:05}@example.com" for number in range(500)]
    assert list(next_attempt(lab).once_each(customers, batch=100)) == customers
    assert list(next_attempt(lab).once_each(customers)) == []
    number, sizes = 1, []
    while isinstance(row := lab.store.get(lab.job, f"effect#{PERIOD}#{number:06}"), EffectsRecord):
        number += 1
        sizes.append(sum(len(f"{key} {state} ") for key, state in row.effects.items()))
    assert len(sizes) > 4
    assert max(sizes) < 8000


def test_steps_keep_their_results(lab: Lab) -> None:
    """A large one too."""
    results = {"a": {"rows": 7, "name": "Grüße\n\t"}, "b": "x" * 30_000, "c": None}
    for _ in range(2):
        claim = next_attempt(lab)
        assert {name: claim.step(name, partial(results.get, name)) for name in results} == results


def test_runs_do_not_see_rows_of_effects(lab: Lab) -> None:
    """Lists show runs."""
    next_attempt(lab).once("ann").done()
    assert [row.period for row in lab.store.query(lab.job, limit=10).rows] == [PERIOD]


def test_a_segment_of_a_newer_version_is_left_alone(lab: Lab) -> None:
    """The job fails; nothing is tried."""
    lab.put({"job": lab.job, "key": FIRST_SEGMENT, "schema": 99, "version": 1, "token": "t"})
    claim = next_attempt(lab)
    with pytest.raises(RecordUnreadableError):
        claim.once("ann")
    claim.fail("unreadable")
    row = lab.store.get(lab.job, f"run#{PERIOD}")
    assert isinstance(row, RunRecord)
    assert row.error == "unreadable"
