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
from cronce.protocol.records import (
    SLOT_KEY,
    PastAttempt,
    RunRecord,
    SlotMode,
    SlotRecord,
    UnreadableRow,
    Waiter,
    run_key,
)
from cronce.protocol.transitions import Event
from cronce.stores.sqlite import SqliteStore
from cronce.vocabulary.errors import LedgerUnavailableError, RecordUnreadableError
from cronce.vocabulary.states import Status, Trigger
from cronce.vocabulary.values import replace
from tests.conformance.stores import ATOMIC_STORES, DYNAMO_STORES, STORES, TABLE, Lab
from tests.support.builders import PERIOD, T0
from tests.support.builders import run as any_run
from tests.support.builders import slot as any_slot

if TYPE_CHECKING:
    from cronce.protocol.records import Record

KEY = f"run#{PERIOD}"


def run(lab: Lab, **changes: Any) -> RunRecord:  # noqa: ANN401  # fields of several types
    """A run of this test's job."""
    return any_run(job=lab.job, **changes)


def swap(lab: Lab, record: Record, expected: Record | None) -> bool:
    """True if it was written; what stands afterwards is in any case what the answer said."""
    answer = lab.store.swap(record, expected)
    standing = lab.store.get(record.job, record.key)
    assert standing == (record if answer.written else answer.stands)
    return answer.written


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
    assert lab.store.get(lab.job, SLOT_KEY) == answer.stands
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
    assert lab.store.take(mine, T0 + timedelta(seconds=1)) == Swapped(False, first.stands)


def test_what_was_taken_is_released_and_taken_again(lab: Lab) -> None:
    """By swaps on the version that the take gave."""
    fences = []
    for number in range(3):
        slot = lab.store.take(run(lab, period=str(number)), T0).stands
        assert isinstance(slot, SlotRecord)
        fences.append(slot.fence)
        assert swap(lab, slot.freed(), slot)
    assert fences == [1, 2, 3]


@pytest.mark.parametrize(
    "attributes", [{"schema": 2}, {"newest_at": "soon"}, {"waiting": "x"}, {"mode": 7}, {"period": 7}], ids=str
)
def test_an_unreadable_slot_is_not_taken(lab: Lab, attributes: dict[str, Any]) -> None:
    """Nor is it changed."""
    lab.put({"job": lab.job, "key": SLOT_KEY, "version": 1, "fence": 1} | attributes)
    with pytest.raises(RecordUnreadableError):
        lab.store.take(run(lab, scheduled_at=T0), T0)
    with pytest.raises(RecordUnreadableError):
        lab.store.get(lab.job, SLOT_KEY)
    if lab.client is not None:
        key = {"job": {"S": lab.job}, "key": {"S": SLOT_KEY}}
        item = lab.client.get_item(TableName=TABLE, Key=key, ConsistentRead=True)["Item"]
        assert (item["version"], item["fence"]) == ({"N": "1"}, {"N": "1"})


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


@pytest.mark.parametrize("lab", ATOMIC_STORES, indirect=True)
def test_of_many_threads_one_takes_the_slot(lab: Lab) -> None:
    """The losers are told who has it. Not on moto, which is not atomic."""
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
    assert {period: answer.stands for period, answer in answers.items()} == dict.fromkeys(answers, slot)


# Rows that somebody else wrote.


def foreign(lab: Lab, **attributes: Any) -> dict[str, Any]:  # noqa: ANN401  # attributes of several types
    """The least that a row of a run holds."""
    return {"job": lab.job, "key": KEY, "status": "RUNNING"} | attributes


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"version": 4},
        {"token": "theirs"},
        {"version": 4, "token": "theirs"},
        {"version": 0},
        {"token": ""},
        {"version": 0, "token": ""},
    ],
)
def test_a_foreign_row_can_be_swapped_on_what_it_has(lab: Lab, attributes: dict[str, Any]) -> None:
    """Without version or token, or with empty ones."""
    lab.put(foreign(lab, **attributes))
    seen = lab.store.get(lab.job, KEY)
    assert isinstance(seen, RunRecord)
    assert not swap(lab, replace(seen, version=9), replace(seen, version=7))
    assert not swap(lab, replace(seen, version=9), replace(seen, token="mine"))
    assert not swap(lab, seen, None)
    assert swap(lab, seen.after(Event.RENEW, token="mine"), seen)


def test_unknown_attributes_are_kept(lab: Lab) -> None:
    """Of every kind that is JSON."""
    odd: dict[str, Any] = {"team": "growth", "flag": True, "tags": ["a", {"b": [1]}], "nothing": {}, "big": 10**30}
    lab.put(foreign(lab, **odd))
    seen = lab.store.get(lab.job, KEY)
    assert isinstance(seen, RunRecord)
    assert seen.extra == odd
    assert swap(lab, seen.after(Event.RENEW), seen)


@pytest.mark.parametrize("lab", DYNAMO_STORES, indirect=True)
def test_unknown_attributes_of_odd_kinds_survive(lab: Lab) -> None:
    """DynamoDB has kinds that no other store has; they are written back as they came."""
    client = lab.client
    assert client is not None
    odd: dict[str, Any] = {
        "binary": {"B": b"\x00\xff"},
        "null": {"NULL": True},
        "number": {"N": "1.50"},
        "huge": {"N": "1E+100"},
        "strings": {"SS": ["a", "b"]},
        "numbers": {"NS": ["1", "2.5"]},
        "binaries": {"BS": [b"\x00"]},
        "nested": {"M": {"list": {"L": [{"B": b"x"}, {"NULL": True}, {"N": "0.1"}]}}},
    }
    key = {"job": {"S": lab.job}, "key": {"S": KEY}}
    client.put_item(TableName=TABLE, Item={**key, "status": {"S": "RUNNING"}, **odd})

    def standing() -> dict[str, Any]:
        item: dict[str, Any] = dict(client.get_item(TableName=TABLE, Key=key, ConsistentRead=True)["Item"])
        return {name: {k: sorted(v) if k in {"SS", "NS"} else v for k, v in item[name].items()} for name in odd}

    before = standing()
    seen = lab.store.get(lab.job, KEY)
    assert isinstance(seen, RunRecord)
    assert lab.store.swap(seen.after(Event.RENEW), seen).written
    assert standing() == before
    # The refusal brings them back too, equal to the record that wrote them.
    assert lab.store.swap(seen.after(Event.RENEW), seen).stands == seen.after(Event.RENEW)


UNREADABLE = {
    "a newer schema": {"schema": 2},
    "an unknown status": {"status": "DONE"},
    "no status": {"status": None},
    "a time that is none": {"lease_until": "soon"},
    "a number that is a text": {"attempt": "1"},
}


@pytest.mark.parametrize("attributes", UNREADABLE.values(), ids=UNREADABLE)
def test_an_unreadable_row_is_neither_used_nor_overwritten(lab: Lab, attributes: dict[str, Any]) -> None:
    """By no method; and it is no error that a moment later is gone."""
    lab.put(foreign(lab, **attributes))
    with pytest.raises(RecordUnreadableError) as refused:
        lab.store.get(lab.job, KEY)
    assert not refused.value.transient
    with pytest.raises(RecordUnreadableError):
        lab.store.swap(run(lab), None)
    with pytest.raises(RecordUnreadableError):
        lab.store.get(lab.job, KEY)


@pytest.mark.parametrize("attributes", UNREADABLE.values(), ids=UNREADABLE)
def test_an_unreadable_row_hides_no_other(lab: Lab, attributes: dict[str, Any]) -> None:
    """A page lists it in its place, with the problem; a page may also end with it."""
    rows = [run(lab, period="1"), run(lab, period="3")]
    for row in rows:
        lab.store.swap(row, None)
    lab.put(foreign(lab, **{"key": run_key("2")} | attributes))
    page = lab.store.query(lab.job, limit=5)
    assert page.runs == (rows[1], rows[0])
    [unreadable] = page.unreadable
    assert (unreadable.job, unreadable.key, unreadable.period) == (lab.job, run_key("2"), "2")
    assert unreadable.problem
    assert page.rows == (rows[1], unreadable, rows[0])
    first = lab.store.query(lab.job, limit=2)
    assert (first.rows, first.before) == ((rows[1], unreadable), "2")
    assert lab.store.query(lab.job, limit=2, before=first.before).rows == (rows[0],)


def test_a_row_of_another_kind_is_no_run(lab: Lab) -> None:
    """A page of runs leaves it out."""
    lab.put({"job": lab.job, "key": "effect#1", "what": "mail"})
    lab.put({"job": lab.job, "key": "slot", "version": 1, "fence": 1})
    lab.put({"job": lab.job, "key": "run", "what": "no run"})
    lab.put({"job": lab.job, "key": "runs", "what": "no run"})
    record = run(lab)
    lab.store.swap(record, None)
    assert lab.store.query(lab.job, limit=5).runs == (record,)
    assert isinstance(lab.store.get(lab.job, "slot"), SlotRecord)


# Query.


def periods(lab: Lab, limit: int) -> list[list[str]]:
    """The periods of the job, page by page."""
    pages: list[list[str]] = []
    before: str | None = None
    while True:
        page = lab.store.query(lab.job, limit=limit, before=before)
        pages.append([record.period for record in page.runs])
        before = page.before
        if before is None:
            return pages
        assert len(pages) < 20


def fill(lab: Lab, *names: str) -> None:
    """Runs of those periods."""
    for name in names:
        lab.store.swap(run(lab, period=name), None)


def test_a_job_without_runs_has_one_empty_page(lab: Lab) -> None:
    """It is no error."""
    assert periods(lab, 3) == [[]]


@pytest.mark.parametrize(
    ("limit", "pages"),
    [
        (1, [["4"], ["3"], ["2"], ["1"]]),
        (2, [["4", "3"], ["2", "1"]]),
        (3, [["4", "3", "2"], ["1"]]),
        (4, [["4", "3", "2", "1"]]),
        (5, [["4", "3", "2", "1"]]),
    ],
)
def test_runs_come_newest_first_page_by_page(lab: Lab, limit: int, pages: list[list[str]]) -> None:
    """A page that is exactly full is the last if nothing follows: no empty page at the end."""
    fill(lab, "2", "4", "1", "3")
    assert periods(lab, limit) == pages


def test_the_order_is_that_of_bytes(lab: Lab) -> None:
    """In every store the same, or a page would begin elsewhere."""
    names = ["2026", "2026-11", "2026-11-29", "9", "A", "a", "ä", "\uffee", "🦆"]
    fill(lab, *names)
    assert periods(lab, 2) == [["🦆", "\uffee"], ["ä", "a"], ["A", "9"], ["2026-11-29", "2026-11"], ["2026"]]


def test_a_page_may_begin_where_no_run_is(lab: Lab) -> None:
    """`before` is any period."""
    fill(lab, "1", "3")
    assert [record.period for record in lab.store.query(lab.job, limit=5, before="2").runs] == ["1"]
    assert lab.store.query(lab.job, limit=5, before="1").runs == ()
    assert lab.store.query(lab.job, limit=5, before="0").runs == ()


def test_a_job_with_more_than_a_megabyte_is_read_to_its_end(lab: Lab) -> None:
    """DynamoDB ends a page there, whatever the limit is."""
    names = [f"{number:02}" for number in range(40)]
    for name in names:
        lab.store.swap(run(lab, period=name, result='"' + "x" * 32_000 + '"'), None)
    assert [name for page in periods(lab, 100) for name in page] == names[::-1]


# Many at once, and the rest.


@pytest.mark.parametrize("lab", ATOMIC_STORES, indirect=True)
def test_of_many_threads_one_wins_each_key(lab: Lab) -> None:
    """First claims and take-overs; the losers are told the winner. Not on moto, which is not atomic."""
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
    assert all(answer.stands == records[winner] for token, answer in answers.items() if token != winner)
    assert lab.store.get(lab.job, f"run#{period}") == records[winner]
    return records[winner]


def test_a_store_says_where_it_is_and_how_long_it_takes(lab: Lab) -> None:
    """For messages, and for the check against the lease."""
    assert lab.store.where
    assert lab.store.call_timeout >= timedelta(0)


def test_making_a_table_ready_twice_is_once(lab: Lab) -> None:
    """The second time it stands already."""
    assert lab.store.create() is False
    record = run(lab)
    lab.store.swap(record, None)
    assert lab.store.create() is False
    assert lab.store.get(lab.job, KEY) == record


@pytest.mark.parametrize("lab", [store for store in STORES if store.id == "sqlite"], indirect=True)
@pytest.mark.parametrize("text", ["", "no JSON", "[]", "7", "null", '{"a":', "[" * 10_000])
def test_a_row_of_a_file_that_is_no_row_is_unreadable(lab: Lab, text: str) -> None:
    """Somebody edited the file: not JSON, or not an object."""
    assert isinstance(lab.store, SqliteStore)
    lab.put(foreign(lab))
    with lab.store._transaction() as connection:
        connection.execute("UPDATE ledger SET item = ?", (text,))
    with pytest.raises(RecordUnreadableError):
        lab.store.get(lab.job, KEY)
    with pytest.raises(RecordUnreadableError):
        lab.store.swap(run(lab), None)
    [unreadable] = lab.store.query(lab.job, limit=5).rows
    assert isinstance(unreadable, UnreadableRow)
    assert "not a JSON object" in unreadable.problem
