"""The table of states is the whole truth about what can happen to a run."""

from __future__ import annotations

import pytest

from cronce.protocol.transitions import TRANSITIONS, Event
from cronce.vocabulary.states import Status, Trigger
from tests.support.builders import run

POSSIBLE = {
    None: {
        Event.CLAIM: "RUNNING",
        Event.SUSPEND: "SKIPPED",
        Event.EXPIRE: "MISSED",
        Event.MISS: "MISSED",
        Event.FAIL: "FAILED",
    },
    Status.RUNNING: {
        Event.RENEW: "RUNNING",
        Event.CANCEL: "RUNNING",
        Event.TAKE_OVER: "RUNNING",
        Event.BLOCK: "SKIPPED",
        Event.EXPIRE: "MISSED",
        Event.COMPLETE: "SUCCEEDED",
        Event.FAIL: "FAILED",
        Event.RELEASE: "FAILED",
    },
    Status.SUCCEEDED: {Event.FORCE: "RUNNING"},
    Status.FAILED: {
        Event.COMPLETE: "SUCCEEDED",
        Event.FAIL: "FAILED",
        Event.RELEASE: "FAILED",
        Event.GIVE_UP: "FAILED",
        Event.TAKE_OVER: "RUNNING",
    },
    Status.SKIPPED: {Event.TAKE_OVER: "RUNNING"},
    Status.MISSED: {
        Event.MISS: "MISSED",
        Event.FAIL: "FAILED",
        Event.GIVE_UP: "MISSED",
        Event.TAKE_OVER: "RUNNING",
    },
}


@pytest.mark.parametrize("before", [None, *Status])
@pytest.mark.parametrize("event", Event)
def test_the_table_has_exactly_these_changes(before: Status | None, event: Event) -> None:
    """Every pair of a state and an event is either in the drawing or impossible."""
    assert TRANSITIONS.get((before, event)) == POSSIBLE[before].get(event)


def test_only_a_person_moves_a_success() -> None:
    """A success is left by force alone."""
    assert [event for (before, event) in TRANSITIONS if before is Status.SUCCEEDED] == [Event.FORCE]


def test_what_cannot_happen_is_an_error() -> None:
    """A run cannot be claimed for the first time twice."""
    with pytest.raises(KeyError):
        run().after(Event.CLAIM)


def test_every_write_is_one_version_later() -> None:
    """The version counts writes, whatever they change."""
    assert [run(version=7).after(event).version for event in POSSIBLE[Status.RUNNING]] == [8] * 8


@pytest.mark.parametrize(
    ("trigger", "by_person"),
    [("schedule", False), ("retry", False), ("catch_up", False), ("manual", True), ("backfill", True)],
)
def test_a_person_decides_manual_and_backfill(trigger: str, by_person: bool) -> None:  # noqa: FBT001  # a table's column
    """Limits on attempts and lateness are for machines."""
    assert Trigger(trigger).by_person is by_person
