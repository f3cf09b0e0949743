"""What a store lists, and what it does with rows that cronce did not write, of every store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cronce.protocol.records import RunRecord, SlotRecord, run_key
from cronce.protocol.transitions import Event
from cronce.testing.conformance._rows import KEY, run, swap
from cronce.vocabulary.errors import RecordUnreadableError
from cronce.vocabulary.values import replace

if TYPE_CHECKING:
    from cronce.testing.conformance.lab import Lab


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
