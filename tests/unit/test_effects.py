"""Effects by the protocol alone: what an attempt notes, and what its successor knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cronce.protocol.effects import (
    SEGMENT_BYTES,
    EffectState,
    Entry,
    OnUnknown,
    known,
    may_try,
    note,
    take_tail,
)
from cronce.protocol.holding import Lost
from cronce.protocol.operations import Get, Swap
from cronce.protocol.records import EffectsRecord, PastAttempt
from cronce.vocabulary.states import Status
from tests.support.builders import JOB, PERIOD, T0, held, run
from tests.support.scripted import World

if TYPE_CHECKING:
    from cronce.protocol.holding import Held
    from cronce.protocol.records import RunRecord

FIRST = run(attempt=1, token="ta", owner="a", expires_at=T0)
SECOND = run(attempt=2, token="tb", owner="b", expires_at=T0)


def tail_of(world: World, mine: Held) -> EffectsRecord:
    """The tail, taken for that attempt."""
    segments = world.play(take_tail(mine))
    assert not isinstance(segments, Lost)
    return segments[-1]


def noted(world: World, mine: Held, tail: EffectsRecord, **states: EffectState) -> EffectsRecord:
    """The tail after these notes."""
    after = world.play(note(mine, tail, [Entry("effects", key, state) for key, state in states.items()]))
    assert isinstance(after, EffectsRecord)
    return after


def seen_by(world: World, successor: RunRecord = SECOND) -> dict[str, str]:
    """What the next attempt knows about effects."""
    segments = world.play(take_tail(held(successor)))
    assert not isinstance(segments, Lost)
    return known(segments)[0]


@pytest.mark.parametrize(
    ("state", "skip", "repeat"),
    [
        (EffectState.NEVER_TRIED, True, True),
        (EffectState.UNKNOWN, False, True),
        (EffectState.DONE, False, False),
    ],
)
def test_only_what_is_unknown_depends_on_the_choice(state: EffectState, *, skip: bool, repeat: bool) -> None:
    """At most once, or at least once."""
    assert (may_try(state, OnUnknown.SKIP), may_try(state, OnUnknown.REPEAT)) == (skip, repeat)


def test_the_first_attempt_reads_one_row_and_writes_none_before_its_first_note() -> None:
    """Nobody was there before it."""
    world = World(FIRST)
    tail = tail_of(world, held(FIRST))
    assert (world.count(Get), world.count(Swap), tail.version) == (1, 0, 0)
    noted(world, held(FIRST), tail, ann=EffectState.UNKNOWN)
    assert world.count(Swap) == 1


def test_the_next_attempt_tells_done_unknown_and_never_tried_apart() -> None:
    """The third customer has no entry, or one that says so."""
    world = World(FIRST)
    tail = tail_of(world, held(FIRST))
    tail = noted(world, held(FIRST), tail, ann=EffectState.UNKNOWN, ben=EffectState.UNKNOWN, cem=EffectState.UNKNOWN)
    noted(world, held(FIRST), tail, ann=EffectState.DONE, cem=EffectState.NEVER_TRIED)
    assert seen_by(world) == {"ann": "done", "ben": "unknown", "cem": "never_tried"}


def test_an_attempt_whose_tail_was_taken_can_note_nothing() -> None:
    """So it tries nothing either. It learns who has the run."""
    world = World(FIRST)
    tail = noted(world, held(FIRST), tail_of(world, held(FIRST)), ann=EffectState.DONE)
    assert seen_by(world) == {"ann": "done"}
    world.put(SECOND)
    late = world.play(note(held(FIRST), tail, [Entry("effects", "ben", EffectState.UNKNOWN)]))
    assert late == Lost(SECOND)
    assert seen_by(world, run(attempt=3, token="tc", owner="c")) == {"ann": "done"}


def test_an_attempt_that_noted_nothing_yet_is_kept_out_too() -> None:
    """The successor makes the row that the first one would have made."""
    world = World(FIRST)
    tail = tail_of(world, held(FIRST))
    assert seen_by(world) == {}
    assert isinstance(world.play(note(held(FIRST), tail, [Entry("effects", "ann", EffectState.UNKNOWN)])), Lost)


@pytest.mark.parametrize("full", [False, True])
def test_an_attempt_that_wakes_up_late_does_not_take_the_tail_back(*, full: bool) -> None:
    """Whether its successor's segment is still open or closed."""
    world = World(SECOND)
    key = "x" * (SEGMENT_BYTES if full else 1)
    noted(world, held(SECOND), tail_of(world, held(SECOND)), **{key: EffectState.DONE})
    assert world.play(take_tail(held(FIRST))) == Lost(SECOND)


def test_a_full_segment_is_closed_and_the_next_one_continues_it() -> None:
    """What was begun in one and done in the next one is done; no row is larger than the limit and one entry."""
    world = World(FIRST)
    keys = [f"customer-{number:05}@example.com" for number in range(1000)]
    tail = noted(world, held(FIRST), tail_of(world, held(FIRST)), **dict.fromkeys(keys, EffectState.UNKNOWN))
    noted(world, held(FIRST), tail, **dict.fromkeys(keys[:10], EffectState.DONE))
    segments = world.play(take_tail(held(SECOND)))
    assert not isinstance(segments, Lost)
    effects, _ = known(segments)
    assert [segment.number for segment in segments] == list(range(1, len(segments) + 1))
    assert [segment.closed for segment in segments] == ["yes"] * (len(segments) - 1) + [None]
    assert {len(segment.effects) for segment in segments[:-1]} == {SEGMENT_BYTES // 35 + 1}
    assert list(effects) == keys
    assert [key for key in keys if effects[key] == "done"] == keys[:10]


def test_a_lost_answer_of_a_note_changes_nothing() -> None:
    """The same write again finds itself."""
    world = World(FIRST)
    world.lose_answer(1)
    noted(world, held(FIRST), tail_of(world, held(FIRST)), ann=EffectState.UNKNOWN)
    assert seen_by(world) == {"ann": "unknown"}


def test_a_note_that_lands_after_its_sender_gave_up_is_kept() -> None:
    """The next note of the same attempt goes on from it."""
    world = World(FIRST)
    tail = tail_of(world, held(FIRST))
    noted(world, held(FIRST), tail, ann=EffectState.UNKNOWN)
    noted(world, held(FIRST), tail, ben=EffectState.UNKNOWN)
    assert seen_by(world) == {"ann": "unknown", "ben": "unknown"}


def test_a_forced_repeat_begins_without_effects_and_its_own_are_resumed() -> None:
    """As it begins without a checkpoint; the segments that were full stay, but say nothing."""
    world = World(FIRST)
    many = {f"customer-{number:05}": EffectState.DONE for number in range(300)}
    noted(world, held(FIRST), tail_of(world, held(FIRST)), **many)
    succeeded = PastAttempt(attempt=1, status=Status.SUCCEEDED, owner="a")
    forced = run(attempt=2, token="tb", owner="b", attempts=(succeeded,))
    assert seen_by(world, forced) == {}
    noted(world, held(forced), tail_of(world, held(forced)), ann=EffectState.UNKNOWN)
    lost = PastAttempt(attempt=2, status=Status.FAILED, owner="b")
    assert seen_by(world, run(attempt=3, token="tc", attempts=(succeeded, lost))) == {"ann": "unknown"}


def test_a_segment_is_kept_as_long_as_its_run() -> None:
    """DynamoDB deletes both by `expires_at`."""
    world = World(FIRST)
    assert noted(world, held(FIRST), tail_of(world, held(FIRST)), ann=EffectState.DONE).expires_at == T0


def test_steps_are_kept_beside_effects() -> None:
    """A step and an effect may have the same name."""
    world = World(FIRST)
    tail = tail_of(world, held(FIRST))
    world.play(note(held(FIRST), tail, [Entry("steps", "export", '{"rows":7}'), Entry("effects", "export", "done")]))
    segments = world.play(take_tail(held(SECOND)))
    assert not isinstance(segments, Lost)
    assert known(segments) == ({"export": "done"}, {"export": '{"rows":7}'})
    assert segments[0].key == f"effect#{PERIOD}#000001"
    assert segments[0].job == JOB
