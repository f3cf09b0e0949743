"""The cursors that a leader leaves for the next one."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from cronce.clock.agenda import from_checkpoint, from_rows, to_checkpoint
from cronce.protocol.records import RunRecord
from cronce.schedule import Every
from cronce.vocabulary.names import period_of
from cronce.vocabulary.payloads import decode_json, encode_checkpoint
from cronce.vocabulary.states import Status
from tests.support.builders import run
from tests.support.clockwork import MINUTE, SECOND, T0, job

NOW = T0 + timedelta(hours=1)


def told(at: datetime) -> object:
    """The checkpoint of a leader that had settled everything of `beat` up to then, as it comes back."""
    return decode_json(encode_checkpoint(to_checkpoint({job(): at})))


def row(tick: datetime, status: Status) -> RunRecord:
    """A row of that tick."""
    return run(period=period_of(tick), scheduled_at=tick, status=status)


def test_a_cursor_comes_back_in_whole_seconds() -> None:
    """Ticks are on whole seconds, so it covers the same ones."""
    assert from_checkpoint(job(), told(T0 + timedelta(seconds=3.7)), NOW) == T0 + 3 * SECOND


def test_a_job_that_no_leader_knew_begins_now() -> None:
    """It misses nothing of its past."""
    assert from_checkpoint(job(), told(T0), NOW) == T0
    assert from_checkpoint(job("new"), told(T0), NOW) == NOW


def test_a_job_that_is_timed_anew_goes_back_no_further_than_its_deadline() -> None:
    """Neither further than the cursor."""
    changed = job(timetable=Every(2 * MINUTE))
    assert from_checkpoint(changed, told(T0), NOW) == NOW - changed.starting_deadline
    assert from_checkpoint(changed, told(NOW - SECOND), NOW) == NOW - SECOND


@pytest.mark.parametrize("checkpoint", [None, "text", 7, [], {}, {"cursors": 3}])
def test_what_is_no_clocks_checkpoint_says_nothing(checkpoint: object) -> None:
    """Then the rows are asked."""
    assert from_checkpoint(job(), checkpoint, NOW) is None


@pytest.mark.parametrize("cursor", [None, [], ["x", "y"], [1], [-1, ""], [True], [1e300, "x"], [9_999_999_999, "x"]])
def test_a_cursor_that_makes_no_sense_is_none(cursor: object) -> None:
    """In the future, or not a time at all: the rows are asked."""
    assert from_checkpoint(job(), {"cursors": {"beat": cursor}}, NOW) is None


def test_a_cursor_of_the_future_is_not_believed() -> None:
    """Its leader's clock was wrong. Up to 5 s is the difference between two hosts: then it covers what is due."""
    assert from_checkpoint(job(), told(NOW + 5 * SECOND), NOW) == NOW
    assert from_checkpoint(job(), told(NOW + 6 * SECOND), NOW) is None


def test_without_rows_a_job_begins_now() -> None:
    """It is new."""
    assert from_rows(job(), [], NOW) == NOW


def test_with_rows_it_goes_on_after_the_newest() -> None:
    """Whatever became of that one."""
    for status in (Status.SUCCEEDED, Status.MISSED, Status.SKIPPED):
        assert from_rows(job(), [row(T0 + MINUTE, status), row(T0, Status.SUCCEEDED)], NOW) == T0 + MINUTE


def test_what_failed_or_runs_is_looked_at_again_within_the_deadline() -> None:
    """It may have tries left, or its process may have died."""
    late, young = NOW - 6 * MINUTE, NOW - 4 * MINUTE
    newest = row(NOW - MINUTE, Status.SUCCEEDED)
    assert from_rows(job(), [newest, row(young, Status.FAILED)], NOW) == young - SECOND
    assert from_rows(job(), [newest, row(young, Status.RUNNING)], NOW) == young - SECOND
    assert from_rows(job(), [newest, row(late, Status.FAILED)], NOW) == NOW - MINUTE


def test_a_row_of_the_future_does_not_hold_back_the_present() -> None:
    """A clock that was wrong left it."""
    assert from_rows(job(), [row(NOW + MINUTE, Status.SUCCEEDED), row(T0, Status.SUCCEEDED)], NOW) == T0
