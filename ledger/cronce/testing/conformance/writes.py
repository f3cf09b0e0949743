"""What `cronce.stores.store.Store` promises, of every store.

A store writes in two ways. `swap` replaces a row whose version and token are known. `take` acquires the slot of a job
without knowing its version: in one atomic step, if `slot.is_free_for(run)` holds for the row as it is, the row becomes
`slot.taken_by(run, at=at)`, and the answer has the new row; else nothing is written, and the answer has the current
one. Both functions are in `cronce.protocol.records`. So a claim of a free job costs two writes and no read. A store
with transactions or scripts reads, decides and writes in one of them; DynamoDB has a conditional UpdateItem. A store
that cannot decide in one request may answer `Swapped(False, slot)` although the slot is free: the claimant then swaps
on the version that it got. Such a store fails the tests of "a free slot is taken" below, and only those.
"""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from cronce.protocol.operations import Swapped
from cronce.protocol.records import PAUSED_SCHEMA, SLOT_KEY, PastAttempt, RunRecord, SlotMode, SlotRecord, Waiter
from cronce.protocol.transitions import Event
from cronce.testing.conformance._rows import KEY, run, swap
from cronce.testing.records import PERIOD, T0
from cronce.testing.records import slot as any_slot
from cronce.vocabulary.errors import LedgerUnavailableError, RecordUnreadableError
from cronce.vocabulary.states import Status, Trigger
from cronce.vocabulary.values import replace

if TYPE_CHECKING:
    from cronce.testing.conformance.lab import Lab


# Swap.


def test_a_row_is_made_where_none_is(lab: Lab) -> None:
    """And reads back equal."""
    record = run(lab)
    assert lab.store.get(lab.job, KEY) is None
    assert lab.store.swap(record, None) == Swapped(True)
    assert lab.store.get(lab.job, KEY) == record


def test_a_second_first_claim_gets_what_stands(lab: Lab) -> None:
    """In the same round trip, and writes nothing."""
    first = run(lab)
    lab.store.swap(first, None)
    assert lab.store.swap(run(lab, token="third", owner="third"), None) == Swapped(False, first)
    assert lab.store.get(lab.job, KEY) == first


def test_a_row_is_replaced_whole(lab: Lab) -> None:
    """What the new one has not is gone."""
    first = run(lab, error="boom", checkpoint="7")
    lab.store.swap(first, None)
    second = replace(first, version=2, error=None, checkpoint=None)
    assert swap(lab, second, first)


def test_a_swap_on_no_row_is_refused(lab: Lab) -> None:
    """Somebody deleted it; it does not come back."""
    seen = run(lab)
    assert lab.store.swap(replace(seen, version=2), seen) == Swapped(False, None)
    assert lab.store.get(lab.job, KEY) is None


@pytest.mark.parametrize(
    "difference",
    [{"version": 3}, {"version": 1}, {"token": "another"}, {"version": 3, "token": "another"}, {"version": 0}],
)
def test_a_swap_on_another_version_or_token_is_refused(lab: Lab, difference: dict[str, Any]) -> None:
    """Each of the two alone is enough; the row is untouched."""
    standing = run(lab, version=2)
    lab.store.swap(standing, None)
    seen = replace(standing, **difference)
    assert lab.store.swap(replace(seen, version=9, owner="thief"), seen) == Swapped(False, standing)
    assert lab.store.get(lab.job, KEY) == standing


def test_a_row_deleted_and_begun_anew_is_another_row(lab: Lab) -> None:
    """It counts its versions from 1 again; its token tells them apart."""
    old = run(lab)
    lab.store.swap(old, None)
    lab.delete(KEY)
    anew = run(lab, token="another")
    lab.store.swap(anew, None)
    assert lab.store.swap(replace(old, version=2), old) == Swapped(False, anew)


def test_a_swap_sent_twice_is_told_of_itself(lab: Lab) -> None:
    """The second is refused with the very record, by which its writer knows it (L1)."""
    record = run(lab)
    lab.store.swap(record, None)
    assert lab.store.swap(record, None) == Swapped(False, record)
    renewed = record.after(Event.RENEW)
    lab.store.swap(renewed, record)
    assert lab.store.swap(renewed, record) == Swapped(False, renewed)


def test_a_free_slot_is_swapped_on_its_version(lab: Lab) -> None:
    """It has no token; a taken one has."""
    free = any_slot(job=lab.job, version=1)
    holder = run(lab)
    taken = free.taken_by(holder, at=T0)
    assert swap(lab, free, None)
    assert swap(lab, taken, free)
    assert not swap(lab, free.taken_by(holder, at=T0 + timedelta(seconds=1)), free)
    assert not swap(lab, taken.freed(), replace(taken, token=None))
    assert swap(lab, taken.freed(), taken)
    assert not swap(lab, taken.freed(), taken.freed().taken_by(holder, at=T0))


def test_run_and_slot_of_a_job_are_two_rows(lab: Lab) -> None:
    """And jobs do not mix."""
    one, other = run(lab), replace(run(lab), job=lab.job + "-2", token="other")
    held = any_slot(one, job=lab.job)
    for record in (one, other, held):
        assert swap(lab, record, None)
    assert lab.store.get(lab.job, "slot") == held
    assert lab.store.get(lab.job + "-2", "slot") is None
    assert lab.store.get(lab.job + "-2", KEY) == other


def test_everything_that_a_row_can_hold_reads_back_equal(lab: Lab) -> None:
    """On this the recognition of one's own lost answer rests."""
    record = RunRecord(
        job=lab.job,
        period=PERIOD,
        version=2**53,
        status=Status.FAILED,
        attempt=12,
        token="t" * 32,
        owner="arn:aws:ecs:eu-west-1:123456789012:task/jobs/0123",
        failures=3,
        trigger=Trigger.BACKFILL,
        scheduled_at=T0,
        claimed_at=T0 + timedelta(milliseconds=1),
        heartbeat_at=T0 + timedelta(milliseconds=999),
        lease_until=T0,
        finished_at=T0,
        reason="exit_code",
        exit_code=137,
        error="two\nlines, \0, \u2028, 🦆 and \\",
        result='{"a":"Grüße"}',
        result_flag="TRUNCATED",
        checkpoint='"\\ud800"',
        cancel_requested="replaced by x",
        blocked_by="x",
        actor="ada",
        note="",
        attempts=(
            PastAttempt(attempt=1, status=Status.FAILED, owner="o", reason="error", exit_code=0, error="", note="n"),
            PastAttempt(attempt=2, status=Status.SUCCEEDED, owner="p", claimed_at=T0, finished_at=T0),
        ),
        expires_at=T0,
        extra={"team": "growth"},
    )
    assert swap(lab, record, None)


@pytest.mark.parametrize(
    "period",
    ["2026-11-29T06:00:00Z", "ü" * 510, "x" * 1020, "日" * 340, "🦆", "a/b?c=d&e%20", "'; DROP TABLE ledger--"],
)
def test_any_period_is_a_key(lab: Lab, period: str) -> None:
    """Up to 1,020 bytes."""
    record = run(lab, period=period)
    assert swap(lab, record, None)
    assert lab.store.query(lab.job, limit=5).runs == (record,)


@pytest.mark.parametrize("name", ["Täglicher Bericht", "🦆", "a#b", "run#x", "%"])
def test_any_job_is_a_key(lab: Lab, name: str) -> None:
    """Up to 2,048 bytes."""
    job = (name + lab.job).ljust(2048 - len(name.encode()) + len(name), "x")
    record = replace(run(lab), job=job)
    assert len(job.encode()) == 2048
    assert swap(lab, record, None)
    assert lab.store.query(job, limit=5).runs == (record,)


# Take.

FREE_SLOTS: dict[str, dict[str, Any]] = {
    "an older tick held it": {"version": 8, "fence": 5, "newest": "older", "newest_at": T0 - timedelta(milliseconds=1)},
    "the same tick held it": {"newest": PERIOD, "newest_at": T0},
    "somebody added an attribute": {"extra": {"team": "growth", "tags": ["a", {"b": [1]}], "flag": True}},
    "its version is the highest": {"version": 2**53, "fence": 2**53},
}
USED_SLOTS: dict[str, dict[str, Any]] = {
    "another run holds it": {"period": "other", "attempt": 1, "token": "other", "owner": "other", "claimed_at": T0},
    "another attempt of the same run holds it": {"period": PERIOD, "attempt": 7, "token": "t", "owner": "o"},
    "a run without a slot is announced": {"mode": SlotMode.ALLOW},
    "its holder is looking for such runs": {"mode": SlotMode.CHECKING},
    "a run waits for it": {"waiting": (Waiter(period="w", attempt=1, token="w", scheduled_at=T0),)},
    "the job is paused": {"paused_at": T0, "paused_by": "ann", "paused_why": "stocktaking", "schema": PAUSED_SCHEMA},
    "the job is paused by hand": {"paused_at": T0},
    "a pause was removed by hand": {"schema": PAUSED_SCHEMA},
    "its pause was over": {"paused_at": T0 - timedelta(days=2), "paused_until": T0 - timedelta(days=1)},
    "a newer tick held it": {"newest": "newer", "newest_at": T0 + timedelta(milliseconds=1)},
}
TICKS: dict[str, dict[str, Any]] = {
    "a tick": {"scheduled_at": T0},
    "a tick of the future": {"scheduled_at": T0 + timedelta(days=1)},
    "a person's run": {"scheduled_at": T0, "trigger": Trigger.MANUAL},
    "no tick": {"scheduled_at": None},
}


def take(lab: Lab, by: RunRecord) -> bool:
    """True if the slot was taken; what stands afterwards is in any case what the answer said."""
    answer = lab.store.take(by, T0)
    assert lab.store.get(lab.job, SLOT_KEY) == answer.current
    return answer.written


@pytest.mark.parametrize("changes", TICKS.values(), ids=TICKS)
def test_a_free_slot_is_taken_where_none_was(lab: Lab, changes: dict[str, Any]) -> None:
    """The row is what a swap would write."""
    mine = run(lab, **changes)
    assert take(lab, mine)
    assert lab.store.get(lab.job, SLOT_KEY) == SlotRecord(job=lab.job, version=0).taken_by(mine, at=T0)


@pytest.mark.parametrize("changes", TICKS.values(), ids=TICKS)
@pytest.mark.parametrize("free", FREE_SLOTS.values(), ids=FREE_SLOTS)
def test_a_free_slot_is_taken_as_a_swap_on_its_version_would(
    lab: Lab, free: dict[str, Any], changes: dict[str, Any]
) -> None:
    """Version and fence rise by one, the newest tick is kept or replaced, and unknown attributes are kept."""
    slot, mine = any_slot(job=lab.job, **free), run(lab, **changes)
    assert swap(lab, slot, None)
    assert take(lab, mine)
    assert lab.store.get(lab.job, SLOT_KEY) == slot.taken_by(mine, at=T0)


@pytest.mark.parametrize("used", USED_SLOTS.values(), ids=USED_SLOTS)
def test_a_slot_that_is_not_free_is_not_taken(lab: Lab, used: dict[str, Any]) -> None:
    """The answer has it, as it is."""
    slot, mine = any_slot(job=lab.job, **used), run(lab, scheduled_at=T0)
    assert swap(lab, slot, None)
    assert lab.store.take(mine, T0) == Swapped(False, slot)
    assert lab.store.get(lab.job, SLOT_KEY) == slot


def test_a_run_that_is_no_tick_takes_a_slot_that_a_newer_tick_held(lab: Lab) -> None:
    """Which stays the newest."""
    slot = any_slot(job=lab.job, newest="newer", newest_at=T0)
    assert swap(lab, slot, None)
    assert take(lab, run(lab, scheduled_at=None))


def test_a_take_sent_twice_is_told_of_itself(lab: Lab) -> None:
    """The second finds the slot held by this very attempt, by which its writer knows it (L1)."""
    mine = run(lab)
    first = lab.store.take(mine, T0)
    assert lab.store.take(mine, T0 + timedelta(seconds=1)) == Swapped(False, first.current)


def test_what_was_taken_is_released_and_taken_again(lab: Lab) -> None:
    """By swaps on the version that the take gave."""
    fences = []
    for number in range(3):
        slot = lab.store.take(run(lab, period=str(number)), T0).current
        assert isinstance(slot, SlotRecord)
        fences.append(slot.fence)
        assert swap(lab, slot.freed(), slot)
    assert fences == [1, 2, 3]


@pytest.mark.parametrize(
    "attributes",
    [{"schema": 3}, {"newest_at": "soon"}, {"paused_at": "yes"}, {"waiting": "x"}, {"mode": 7}, {"period": 7}],
    ids=str,
)
def test_an_unreadable_slot_is_not_taken(lab: Lab, attributes: dict[str, Any]) -> None:
    """Nor is it changed."""
    lab.put({"job": lab.job, "key": SLOT_KEY, "version": 1, "fence": 1} | attributes)
    with pytest.raises(RecordUnreadableError):
        lab.store.take(run(lab, scheduled_at=T0), T0)
    with pytest.raises(RecordUnreadableError):
        lab.store.get(lab.job, SLOT_KEY)


@pytest.mark.parametrize("attributes", [{"version": "1"}, {"fence": "1"}], ids=str)
def test_a_slot_that_cannot_be_counted_on_is_not_taken(lab: Lab, attributes: dict[str, Any]) -> None:
    """What was a number is a text: it is an error, and the row stays."""
    lab.put({"job": lab.job, "key": SLOT_KEY} | attributes)
    for _ in range(2):
        with pytest.raises(LedgerUnavailableError) as refused:
            lab.store.take(run(lab, scheduled_at=T0), T0)
        assert not refused.value.transient


@pytest.mark.parametrize("attributes", [{}, {"version": 4}, {"fence": 4}, {"schema": 0}], ids=str)
def test_a_foreign_slot_is_taken_as_it_reads(lab: Lab, attributes: dict[str, Any]) -> None:
    """What it lacks counts as zero."""
    lab.put({"job": lab.job, "key": SLOT_KEY} | attributes)
    seen = lab.store.get(lab.job, SLOT_KEY)
    assert isinstance(seen, SlotRecord)
    assert take(lab, run(lab))
    assert lab.store.get(lab.job, SLOT_KEY) == seen.taken_by(run(lab), at=T0)


def test_of_many_threads_one_takes_the_slot(lab: Lab) -> None:
    """The losers are told who has it."""
    lab.needs_atomicity()
    gate = threading.Barrier(16)
    answers: dict[str, Swapped] = {}

    def take_at_once(period: str) -> None:
        store = lab.peer() if lab.peer else lab.store
        gate.wait(60)
        answers[period] = store.take(run(lab, period=period), T0)
        if store is not lab.store:
            store.close()

    threads = [threading.Thread(target=take_at_once, args=(str(number),)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    (winner,) = (period for period, answer in answers.items() if answer.written)
    slot = lab.store.get(lab.job, SLOT_KEY)
    assert isinstance(slot, SlotRecord)
    assert (slot.period, slot.version, slot.fence) == (winner, 1, 1)
    assert {period: answer.current for period, answer in answers.items()} == dict.fromkeys(answers, slot)


# Many at once, and the rest.


def test_of_many_threads_one_wins_each_key(lab: Lab) -> None:
    """First claims and take-overs; the losers are told the winner."""
    lab.needs_atomicity()
    for number in range(4):
        first = _raced(lab, str(number), None)
        assert _raced(lab, str(number), first).attempt == 2


def _raced(lab: Lab, period: str, seen: RunRecord | None) -> RunRecord:
    """Sixteen threads swap at once on what was seen; what the one winner wrote."""
    gate = threading.Barrier(16)
    answers: dict[str, Swapped] = {}
    records = {
        f"token-{number}": run(
            lab, period=period, token=f"token-{number}", attempt=2 if seen else 1, version=2 if seen else 1
        )
        for number in range(16)
    }

    def swap_at_once(token: str) -> None:
        store = lab.peer() if lab.peer else lab.store
        gate.wait(60)
        answers[token] = store.swap(records[token], seen)
        if store is not lab.store:
            store.close()

    threads = [threading.Thread(target=swap_at_once, args=(token,)) for token in records]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    (winner,) = (token for token, answer in answers.items() if answer.written)
    assert len(answers) == 16
    assert all(answer.current == records[winner] for token, answer in answers.items() if token != winner)
    assert lab.store.get(lab.job, f"run#{period}") == records[winner]
    return records[winner]


def test_a_store_says_where_it_is_and_how_long_it_takes(lab: Lab) -> None:
    """For messages, and for the check against the lease."""
    assert lab.store.where
    assert lab.store.call_timeout >= timedelta(0)


def test_making_a_table_ready_twice_is_once(lab: Lab) -> None:
    """The second call finds the table and changes nothing."""
    assert lab.store.create() is False
    record = run(lab)
    lab.store.swap(record, None)
    assert lab.store.create() is False
    assert lab.store.get(lab.job, KEY) == record
