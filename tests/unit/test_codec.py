"""Record <-> item."""

from __future__ import annotations

import json
import string
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronce.protocol.records import (
    GROUP_SCHEMA,
    PAUSED_SCHEMA,
    SCHEMA,
    EffectsRecord,
    GroupSlotRecord,
    PastAttempt,
    Record,
    RunRecord,
    SlotRecord,
)
from cronce.stores.codec import decode, encode, encode_time
from cronce.vocabulary.errors import RecordUnreadableError
from cronce.vocabulary.names import group_key
from cronce.vocabulary.states import Status, Trigger
from tests.support.builders import JOB, PERIOD, T0, run, slot

FOREIGN = {"job": JOB, "key": f"run#{PERIOD}", "status": "RUNNING"}
"""The least that a row of a run holds."""


def test_a_row_reads_like_this() -> None:
    """A person can read it in the console: names, ISO times in UTC, no empty fields."""
    record = run(
        attempts=(PastAttempt(attempt=1, status=Status.FAILED, owner="o", finished_at=T0, exit_code=0),),
        expires_at=T0,
        trigger=Trigger.MANUAL,
    )
    assert encode(record) == {
        "job": "daily-digest",
        "key": "run#2026-11-29",
        "period": "2026-11-29",
        "version": 1,
        "status": "RUNNING",
        "attempt": 1,
        "failures": 0,
        "token": "token-of-other",
        "owner": "other",
        "trigger": "manual",
        "claimed_at": "2026-11-29T06:00:00.000Z",
        "heartbeat_at": "2026-11-29T06:00:00.000Z",
        "lease_until": "2026-11-29T06:01:00.000Z",
        "attempts": [
            {"attempt": 1, "status": "FAILED", "owner": "o", "finished_at": "2026-11-29T06:00:00.000Z", "exit_code": 0}
        ],
        "expires_at": 1795932000,
        "schema": 1,
    }


def test_what_the_work_stores_is_readable_in_its_row() -> None:
    """Nothing is encrypted or left out: whoever may read the table reads it."""
    record = run(result='{"sent": 1}', checkpoint='{"at": 2}', error="smtp: bad password of ann")
    stored = encode(record)
    assert (stored["result"], stored["checkpoint"], stored["error"]) == (record.result, record.checkpoint, record.error)


def test_a_free_slot_reads_like_this() -> None:
    """It says nothing about a holder."""
    assert encode(slot()) == {"job": "daily-digest", "key": "slot", "version": 1, "fence": 3, "schema": 1}


def test_a_time_is_stored_in_utc_with_milliseconds() -> None:
    """Whatever zone it came in; below a millisecond it is cut."""
    at = datetime(2026, 11, 29, 7, 0, 0, 1999, tzinfo=timezone(timedelta(hours=1)))
    assert encode_time(at) == "2026-11-29T06:00:00.001Z"


_texts = st.text(st.characters(codec="utf-8"), max_size=8)
_maybe = st.none() | _texts
_numbers = st.integers(0, 10**9)
_times = st.none() | st.integers(0, 2**47).map(lambda ms: T0 + timedelta(milliseconds=ms - 2**45))
_seconds = st.none() | st.integers(0, 10**10).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))
_extras = st.dictionaries(
    st.text(string.ascii_uppercase, min_size=1), st.recursive(_texts | _numbers | st.booleans(), st.lists), max_size=3
)
_past = st.builds(
    PastAttempt,
    attempt=_numbers,
    status=st.sampled_from(Status),
    owner=_texts,
    claimed_at=_times,
    finished_at=_times,
    reason=_maybe,
    exit_code=st.none() | _numbers,
    error=_maybe,
    note=_maybe,
)
_run_records = st.builds(
    RunRecord,
    job=_texts,
    period=_texts,
    version=_numbers,
    status=st.sampled_from(Status),
    attempt=_numbers,
    token=_texts,
    owner=_texts,
    failures=_numbers,
    trigger=st.sampled_from(Trigger),
    **dict.fromkeys(("scheduled_at", "claimed_at", "heartbeat_at", "lease_until", "finished_at"), _times),
    **dict.fromkeys(("reason", "error", "result", "result_flag", "checkpoint", "cancel_requested"), _maybe),
    **dict.fromkeys(("blocked_by", "blocked_by_job", "exclusion_group", "actor", "note"), _maybe),
    exit_code=st.none() | _numbers,
    attempts=st.lists(_past, max_size=2).map(tuple),
    expires_at=_seconds,
    extra=_extras,
)
_slot_records = st.builds(
    SlotRecord,
    job=_texts,
    version=_numbers,
    fence=_numbers,
    period=_maybe,
    attempt=st.none() | _numbers,
    token=_maybe,
    owner=_maybe,
    claimed_at=_times,
    extra=_extras,
)


_group_slots = st.builds(
    GroupSlotRecord,
    job=_texts.map(group_key),
    version=_numbers,
    fence=_numbers,
    **dict.fromkeys(("of_job", "period", "token", "owner"), _maybe),
    attempt=st.none() | _numbers,
    **dict.fromkeys(("claimed_at", "heartbeat_at", "lease_until"), _times),
    extra=_extras,
)


@given(_run_records | _slot_records | _group_slots)
def test_every_record_reads_back_equal(record: Record) -> None:
    """Also through JSON, as SQLite keeps it. On this the recognition of one's own lost answer rests."""
    assert decode(encode(record)) == record
    assert decode(json.loads(json.dumps(encode(record)))) == record


def test_a_foreign_row_takes_the_defaults() -> None:
    """It has neither version nor token nor lease; it is read, and nothing is assumed about its owner."""
    assert decode(FOREIGN) == RunRecord(
        job=JOB, period=PERIOD, version=0, status=Status.RUNNING, attempt=1, token="", owner="unknown"
    )


def test_the_key_says_which_period_it_is() -> None:
    """An attribute that contradicts it does not count."""
    record = decode(FOREIGN | {"period": "1999"})
    assert isinstance(record, RunRecord)
    assert record.period == PERIOD


@pytest.mark.parametrize(
    "written",
    ["2026-11-29T06:00:00Z", "2026-11-29T07:00:00.000+01:00", "2026-11-29 06:00:00+00:00", "2026-11-29T06:00:00.000Z"],
)
def test_a_foreign_time_is_any_iso_time_with_a_zone(written: str) -> None:
    """In UTC afterwards."""
    record = decode(FOREIGN | {"lease_until": written})
    assert isinstance(record, RunRecord)
    assert record.lease_until == T0


def test_a_foreign_time_with_microseconds_reads_back_equal() -> None:
    """It is cut to what is stored, else the own row would not be recognized after a lost answer."""
    record = decode(FOREIGN | {"claimed_at": "2026-11-29T06:00:00.123456Z"})
    assert decode(encode(record)) == record


def test_unknown_attributes_are_written_back_unchanged() -> None:
    """Whatever kind they are."""
    odd: dict[str, Any] = {"team": "growth", "tags": ["a", {"b": 1}], "flag": True, "key2": None}
    record = decode(FOREIGN | odd)
    assert record.extra == odd
    assert encode(record).items() >= odd.items()


@pytest.mark.parametrize(
    ("key", "schema"),
    [
        ("slot", PAUSED_SCHEMA + 1),
        (f"run#{PERIOD}", SCHEMA + 1),
        *((key, schema) for key in ("slot", f"run#{PERIOD}") for schema in (99, "1", True, 1.0)),
    ],
)
def test_a_newer_schema_is_left_alone(key: str, schema: object) -> None:
    """Read by an older cronce, it might be ruined."""
    with pytest.raises(RecordUnreadableError, match=f"row job='{JOB}' key='{key}': .*left as it is") as refused:
        decode(FOREIGN | {"key": key, "schema": schema})
    assert not refused.value.transient


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("status", "DONE"),
        ("status", 7),
        ("trigger", "cron"),
        ("version", "1"),
        ("version", 1.5),
        ("version", True),
        ("attempt", None),
        ("token", 7),
        ("owner", ["x"]),
        ("lease_until", "tomorrow"),
        ("lease_until", "2026-11-29T06:00:00"),
        ("lease_until", 1795932000),
        ("lease_until", "0001-01-01T00:00:00+23:00"),
        ("lease_until", None),
        ("expires_at", "2026-11-29"),
        ("expires_at", 10**12),
        ("expires_at", 10**30),
        ("expires_at", -(10**30)),
        ("attempts", 7),
        ("attempts", ["x"]),
        ("attempts", [{"attempt": 1}]),
        ("attempts", [{"attempt": 1, "status": "DONE", "owner": "o"}]),
    ],
)
def test_an_attribute_that_cannot_be_read_is_named(name: str, value: object) -> None:
    """The row is neither used nor overwritten."""
    with pytest.raises(RecordUnreadableError, match=f"attribute {name} holds"):
        decode(FOREIGN | {name: value})


def test_a_row_without_a_status_is_no_run() -> None:
    """Nothing can be decided about it."""
    with pytest.raises(RecordUnreadableError, match="attribute status is missing"):
        decode({"job": JOB, "key": f"run#{PERIOD}"})


def test_a_row_of_another_kind_is_no_run() -> None:
    """Its key says so."""
    with pytest.raises(RecordUnreadableError, match="neither 'slot' nor 'run#'"):
        decode({"job": JOB, "key": "other#1", "status": "RUNNING"})


@pytest.mark.parametrize("key", ["effect#1", f"effect#{PERIOD}#", f"effect#{PERIOD}#x"])
def test_the_key_of_a_segment_has_a_number(key: str) -> None:
    """Another row would be written instead."""
    with pytest.raises(RecordUnreadableError, match="no period and number"):
        decode({"job": JOB, "key": key, "attempt": 1, "token": "t"})


def test_a_segment_without_an_attempt_is_unreadable() -> None:
    """Nobody can say who may write it."""
    with pytest.raises(RecordUnreadableError, match="attribute attempt is missing"):
        decode({"job": JOB, "key": f"effect#{PERIOD}#000001", "token": "t"})


def test_a_segment_reads_like_this() -> None:
    """A line for each effect; what a newer version calls a state is kept."""
    segment = EffectsRecord(
        job=JOB,
        period=PERIOD,
        number=1,
        version=3,
        attempt=2,
        token="t",
        effects={"ann": "done", "ben": "unknown", "cem": "some new state"},
        steps={"export": '{"rows":7}'},
        expires_at=T0,
    )
    assert encode(segment) == {
        "job": "daily-digest",
        "key": "effect#2026-11-29#000001",
        "period": "2026-11-29",
        "number": 1,
        "version": 3,
        "attempt": 2,
        "token": "t",
        "effects": "ann\tdone\nben\tunknown\ncem\tsome new state",
        "steps": 'export\t{"rows":7}',
        "expires_at": 1795932000,
        "schema": 1,
    }
    assert decode(encode(segment)) == segment


def test_the_slot_of_a_group_is_no_slot_of_a_job() -> None:
    """Whoever takes one for the other cannot read it: an older version for a job of that name, and this one."""
    grouped = encode(GroupSlotRecord(job=group_key("billing"), version=1))
    assert grouped["schema"] == GROUP_SCHEMA > PAUSED_SCHEMA
    with pytest.raises(RecordUnreadableError, match="schema 3 is newer than 2"):
        decode({**grouped, "job": "billing"})
    with pytest.raises(RecordUnreadableError, match="schema 1 is not that of an exclusion group's slot"):
        decode(encode(SlotRecord(job=group_key("billing"), version=1)))
