"""Overlaps, a person's part and what a job stores, through `Ledger`, on every store."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from cronce import (
    Claim,
    ConcurrencyPolicy,
    LeaseLostError,
    OnLost,
    Policy,
    Reason,
    Refusal,
    RefusalReason,
    Status,
    Trigger,
)
from cronce.protocol.observing import NotReleased
from cronce.protocol.records import RunRecord, SlotRecord
from cronce.testing.conformance._claims import ALLOW, DEAD, claim, standing, why, won
from cronce.testing.lossy_store import LossyStore
from cronce.testing.records import LEASE, PERIOD
from cronce.vocabulary.payloads import MAX_JSON_BYTES

if TYPE_CHECKING:
    from cronce.testing.conformance.lab import Lab


# Overlaps.


def test_forbid_skips_the_run_that_overlaps(lab: Lab) -> None:
    """It says which run was at work. No machine starts it afterwards; a person may."""
    yesterday = won(claim(lab, "yesterday", period="2026-11-28"))
    assert why(claim(lab)) is RefusalReason.OVERLAPPING
    skipped = standing(lab)
    assert (skipped.status, skipped.reason, skipped.blocked_by) == (Status.SKIPPED, Reason.OVERLAP, "2026-11-28")
    yesterday.complete()
    slot = lab.store.get(lab.job, "slot")
    assert isinstance(slot, SlotRecord)
    assert (slot.period, slot.fence) == (None, 1)
    assert [why(claim(lab, trigger=trigger)) for trigger in ("schedule", "retry")] == [RefusalReason.OVERLAPPING] * 2
    assert standing(lab) == skipped
    mine = won(claim(lab, trigger="manual"))
    assert (mine.attempt, mine.fence) == (1, 2)  # the skipped claims started nothing


def test_forbid_marks_a_dead_holder_and_takes_the_job(lab: Lab) -> None:
    """Its late heartbeat then fails."""
    dead = won(claim(lab, "dead", period="2026-11-28"))
    lab.clock.advance(DEAD)
    mine = won(claim(lab))
    assert (standing(lab, "2026-11-28").status, standing(lab, "2026-11-28").reason) == (Status.FAILED, "lease_lost")
    assert mine.fence == 2
    with pytest.raises(LeaseLostError):
        dead.heartbeat()


def test_a_late_success_of_a_dead_holder_leaves_the_job_to_its_successor(lab: Lab) -> None:
    """Its own run succeeded, and nobody repeats it; the slot is not its own any more."""
    dead = won(claim(lab, "dead", period="2026-11-28"))
    lab.clock.advance(DEAD)
    mine = won(claim(lab))
    slot = lab.store.get(lab.job, "slot")
    dead.complete()
    assert standing(lab, "2026-11-28").status is Status.SUCCEEDED
    assert lab.store.get(lab.job, "slot") == slot
    mine.complete()


def test_allow_lets_runs_of_a_job_overlap(lab: Lab) -> None:
    """The attempt is then the fence."""
    one = won(claim(lab, policy=ALLOW))
    two = won(claim(lab, policy=ALLOW, period="2026-11-30"))
    assert (one.fence, two.fence) == (1, 1)
    slot = lab.store.get(lab.job, "slot")
    assert isinstance(slot, SlotRecord)
    assert (slot.period, slot.fence, slot.mode) == (None, 0, "ALLOW")
    one.complete()
    two.complete()


def test_wait_starts_when_the_holder_is_done(lab: Lab) -> None:
    """And not before."""
    holder = won(claim(lab, "holder", period="2026-11-28"))
    lab.clock.meanwhile(holder.heartbeat, holder.heartbeat, holder.complete)
    mine = won(claim(lab, policy=Policy(concurrency_policy=ConcurrencyPolicy.WAIT)))
    assert lab.clock.waits == [2.0, 2.0, 2.0]
    assert standing(lab, "2026-11-28").status is Status.SUCCEEDED
    assert (mine.fence, mine.is_lost()) == (2, False)


def test_wait_gives_up_at_the_starting_deadline(lab: Lab) -> None:
    """The run is MISSED, blocked by the holder; its own lease was kept alive so long."""
    holder = won(claim(lab, "holder", period="2026-11-28"))
    scheduled_at = lab.clock.now()
    lab.clock.meanwhile(*[holder.heartbeat] * 60)
    policy = Policy(concurrency_policy=ConcurrencyPolicy.WAIT, starting_deadline=timedelta(seconds=90))
    assert why(claim(lab, policy=policy, scheduled_at=scheduled_at)) is RefusalReason.TOO_LATE
    assert timedelta(seconds=90) < lab.clock.now() - scheduled_at < timedelta(seconds=93)
    missed = standing(lab)
    assert (missed.status, missed.reason, missed.blocked_by) == (Status.MISSED, Reason.TOO_LATE, "2026-11-28")
    holder.complete()


def test_replace_asks_the_holder_and_starts_when_it_is_gone(lab: Lab) -> None:
    """The two never overlap, and the attempt that was replaced does not count."""
    holder = won(claim(lab, "holder", period="2026-11-28"))
    asked: list[Reason | None] = []

    def notice() -> None:
        holder.heartbeat()
        asked.append(holder.stop_requested)

    lab.clock.meanwhile(notice, lambda: holder.fail(reason=Reason.REPLACED))
    mine = won(claim(lab, policy=Policy(concurrency_policy=ConcurrencyPolicy.REPLACE)))
    assert asked == [Reason.REPLACED]
    replaced = standing(lab, "2026-11-28")
    assert (replaced.status, replaced.reason, replaced.failures) == (Status.FAILED, Reason.REPLACED, 0)
    assert replaced.cancel_requested == f"replaced by {PERIOD}"
    assert mine.fence == 2


def test_a_suspended_job_skips_its_ticks(lab: Lab) -> None:
    """Also after the job is resumed. A person may run it all the same."""
    policy = Policy(suspend=True)
    for now in (policy, Policy()):
        assert why(claim(lab, policy=now)) is RefusalReason.SUSPENDED
    assert (standing(lab).status, standing(lab).reason) == (Status.SKIPPED, Reason.SUSPENDED)
    assert won(claim(lab, policy=policy, trigger=Trigger.MANUAL)).attempt == 1


@pytest.mark.parametrize("policy", ConcurrencyPolicy)
def test_a_paused_job_skips_its_ticks_until_it_is_resumed(lab: Lab, policy: ConcurrencyPolicy) -> None:
    """Each says who paused it and why. A person may run a period all the same, and the pause stays."""
    ledger = lab.ledger("ann", policy=Policy(concurrency_policy=policy))
    until = lab.clock.now() + timedelta(hours=1)
    pause = ledger.pause(lab.job, actor="ann", why="stocktaking", until=until)
    assert why(ledger.claim(lab.job, PERIOD)) is RefusalReason.PAUSED
    skipped = standing(lab)
    assert (skipped.status, skipped.reason, skipped.actor, skipped.note, skipped.attempt) == (
        Status.SKIPPED,
        Reason.PAUSED,
        "ann",
        "stocktaking",
        0,
    )
    by_hand = won(ledger.claim(lab.job, PERIOD, trigger=Trigger.MANUAL))
    assert ledger.pause_of(lab.job) == pause
    by_hand.complete()
    assert ledger.resume(lab.job) == pause
    assert ledger.pause_of(lab.job) is None
    assert won(ledger.claim(lab.job, "2026-11-30")).attempt == 1
    assert why(ledger.claim(lab.job, PERIOD)) is RefusalReason.ALREADY_SUCCEEDED


def test_a_run_goes_on_when_its_job_is_paused_and_the_next_tick_does_not_start(lab: Lab) -> None:
    """The slot is released as ever, and stays paused."""
    ledger = lab.ledger("me")
    mine = won(ledger.claim(lab.job, PERIOD))
    ledger.pause(lab.job, actor="ann", why="stocktaking")
    mine.heartbeat()
    mine.complete()
    assert standing(lab).status is Status.SUCCEEDED
    assert why(ledger.claim(lab.job, "2026-11-30")) is RefusalReason.PAUSED
    assert ledger.holder(lab.job) is None


# A person's part.


def test_a_crash_under_hold_waits_for_a_person(lab: Lab) -> None:
    """Not taken over by the clock, nor by a retry; then released, with the actor recorded (L5)."""
    policy = Policy(on_lost=OnLost.HOLD, backoff_limit=5)
    won(claim(lab, "dead", policy=policy))
    assert lab.ledger().release(lab.job, PERIOD, actor="ada") is NotReleased.STILL_RUNNING
    lab.clock.advance(DEAD)
    for trigger in Trigger:
        assert why(claim(lab, policy=policy, trigger=trigger)) is RefusalReason.HELD
    released = lab.ledger().release(lab.job, PERIOD, actor="ada", note="no mail had gone out")
    assert isinstance(released, RunRecord)
    assert (released.actor, released.note, released.status) == ("ada", "no mail had gone out", Status.FAILED)
    assert won(claim(lab, policy=policy)).attempt == 2


def test_a_failure_under_hold_is_retried(lab: Lab) -> None:
    """It is known how far it got: only a crash waits."""
    policy = Policy(on_lost=OnLost.HOLD, backoff_limit=1)
    won(claim(lab, policy=policy)).fail("boom")
    assert won(claim(lab, policy=policy)).attempt == 2


def test_what_is_not_held_is_not_released(lab: Lab) -> None:
    """No run, and a run that is done."""
    assert lab.ledger().release(lab.job, PERIOD, actor="ada") is NotReleased.NO_SUCH_RUN
    won(claim(lab)).complete()
    assert lab.ledger().release(lab.job, PERIOD, actor="ada", force=True) is NotReleased.NOT_HELD
    assert standing(lab).status is Status.SUCCEEDED


def test_a_run_taken_by_force_is_lost_to_its_owner(lab: Lab) -> None:
    """It fails at its next heartbeat."""
    mine = won(claim(lab))
    assert isinstance(lab.ledger().release(lab.job, PERIOD, actor="ada", force=True), RunRecord)
    with pytest.raises(LeaseLostError, match="released"):
        mine.heartbeat()
    assert mine.is_lost()


def test_a_forced_rerun_keeps_the_earlier_attempts(lab: Lab) -> None:
    """And is recorded with its reason and its person."""
    first = won(claim(lab, "first"))
    first.checkpoint(3100)
    first.complete({"sent": 3100})
    again = won(claim(lab, "again", trigger=Trigger.MANUAL, force="wrong template", actor="ada"))
    assert (again.attempt, again.resume_from) == (2, None)
    again.complete({"sent": 3101})
    done = standing(lab)
    assert (done.note, done.actor, done.result) == ("wrong template", "ada", '{"sent":3101}')
    assert [(past.attempt, past.status, past.owner) for past in done.attempts] == [(1, Status.SUCCEEDED, "first")]


# What a job stores.


def test_the_next_attempt_resumes_from_the_last_checkpoint(lab: Lab) -> None:
    """After a crash, whatever JSON it is."""
    first = won(claim(lab, "first"))
    assert first.resume_from is None
    for cursor in (0, "Grüße", {"batch": [1, 2]}):
        first.checkpoint(cursor)
        assert first.resume_from == cursor
    lab.clock.advance(DEAD)
    assert won(claim(lab, "second")).resume_from == {"batch": [1, 2]}


def test_a_checkpoint_renews_the_lease(lab: Lab) -> None:
    """It is a heartbeat as well."""
    mine = won(claim(lab))
    lab.clock.advance(LEASE / 2)
    mine.checkpoint(7)
    assert standing(lab).lease_until == lab.clock.now() + LEASE


RESULTS = {
    "at the limit": ("x" * (MAX_JSON_BYTES - 2), None, MAX_JSON_BYTES),
    "just over it": ("x" * (MAX_JSON_BYTES - 1), "TRUNCATED", MAX_JSON_BYTES),
    "500 KB": ("x" * 500_000, "TRUNCATED", MAX_JSON_BYTES),
    "500 KB of rows": ([{"id": n} for n in range(50_000)], "TRUNCATED", MAX_JSON_BYTES),
    "NaN": ({"rate": float("nan")}, "NOT_JSON", 0),
    "an object": (object(), "NOT_JSON", 0),
    "nothing": (None, None, 0),
}


@pytest.mark.parametrize(("result", "flag", "size"), RESULTS.values(), ids=RESULTS)
def test_a_result_never_costs_the_success(lab: Lab, result: object, flag: str | None, size: int) -> None:
    """Truncated or left out, with a flag; a retry says already done (L12)."""
    won(claim(lab)).complete(result)
    done = standing(lab)
    assert (done.status, done.result_flag, len(done.result or "")) == (Status.SUCCEEDED, flag, size)
    assert why(claim(lab)) is RefusalReason.ALREADY_SUCCEEDED


def test_the_largest_row_can_be_written(lab: Lab) -> None:
    """Every text at its limit, and the longest history: far below an item's 400 KB."""
    text = "ü" * 10_000
    for number in range(12):
        mine = won(lab.ledger(text).claim(lab.job, "x" * 1000, trigger=Trigger.MANUAL, force=text, actor=text))
        mine.checkpoint("x" * (MAX_JSON_BYTES - 2))
        if number < 11:
            mine.fail(text)
        else:
            mine.complete("x" * 500_000)
    done = standing(lab, "x" * 1000)
    assert (done.status, done.attempt, len(done.attempts)) == (Status.SUCCEEDED, 12, 10)


def test_a_job_shows_its_runs_newest_first(lab: Lab) -> None:
    """Page by page, or all."""
    periods = [f"2026-11-{day:02}" for day in range(1, 8)]
    for period in periods:
        won(claim(lab, period=period)).complete()
    ledger = lab.ledger()
    assert [record.period for record in ledger.runs(lab.job)] == periods[::-1]
    page = ledger.page(lab.job, limit=5)
    assert [record.period for record in page.runs] == periods[:1:-1]
    assert page.before is not None
    assert [record.period for record in ledger.page(lab.job, limit=5, before=page.before).runs] == periods[1::-1]


def test_a_claim_that_slept_before_it_got_its_slot_is_refused(lab: Lab) -> None:
    """Run and slot are another's attempt now (a pause between the two writes)."""
    lab.store = store = LossyStore(lab.store)
    rivals: list[Claim] = []

    def sleep() -> None:
        lab.clock.advance(DEAD)
        rivals.append(won(claim(lab, "rival")))

    store.after_next_swap = sleep
    assert why(claim(lab, "slept")) is RefusalReason.LEASE_LOST
    assert standing(lab) == rivals[0].record
    rivals[0].complete()


# Policies that change, and the order of ticks.


def test_forbid_does_not_start_beside_runs_of_an_earlier_allow(lab: Lab) -> None:
    """Whether the slot is older than they are or not; as soon as the last of them has ended, it starts."""
    won(claim(lab, period="2026-11-25")).complete()
    lives = [won(claim(lab, period=period, policy=ALLOW)) for period in ("2026-11-26", "2026-11-27")]
    for live in lives:
        assert why(claim(lab, trigger="manual")) is RefusalReason.OVERLAPPING
        assert standing(lab).blocked_by == "2026-11-27"
        live.complete()
    mine = won(claim(lab, trigger="manual"))
    assert (mine.attempt, mine.fence) == (1, 2)
    mine.complete()
    assert won(claim(lab, period="2026-11-30")).fence == 3


def test_under_replace_an_older_tick_never_starts_after_a_newer_one(lab: Lab) -> None:
    """Neither while it runs nor after it; only a person starts it then."""
    policy = Policy(concurrency_policy=ConcurrencyPolicy.REPLACE)
    hour = lab.clock.now().replace(minute=0, second=0, microsecond=0)
    newer: dict[str, Any] = {"period": "newer", "scheduled_at": hour, "policy": policy}
    older: dict[str, Any] = {"period": "older", "scheduled_at": hour - timedelta(hours=1), "policy": policy}
    mine = won(claim(lab, **newer))
    assert isinstance(claim(lab, **older), Refusal)
    mine.complete()
    assert why(claim(lab, **older)) is RefusalReason.REPLACED
    run = standing(lab, "older")
    assert (run.status, run.reason, run.blocked_by, run.attempt) == ("SKIPPED", "replaced", "newer", 0)
    assert won(claim(lab, **older, trigger="manual")).attempt == 1


def test_runs_that_wait_are_listed_in_order(lab: Lab) -> None:
    """Until one that comes after them gets the slot."""
    holder = won(claim(lab, period="2026-11-28"))
    waiting = Policy(concurrency_policy=ConcurrencyPolicy.WAIT)
    stop = threading.Event()
    stop.set()
    for period in ("2026-11-30T06:00:00Z", "2026-11-29T06:00:00Z"):
        assert why(claim(lab, period=period, policy=waiting, stop=stop)) is RefusalReason.INTERRUPTED
    listed = [waiter.period for waiter in lab.ledger().waiting(lab.job)]
    assert listed == ["2026-11-29T06:00:00Z", "2026-11-30T06:00:00Z"]
    holder.complete()
    won(claim(lab, period="2026-12-01T06:00:00Z", policy=waiting))
    assert lab.ledger().waiting(lab.job) == ()
