"""What an attempt notes about its effects: things that must not happen twice inside a run, such as one customer's mail.

An effect is noted twice: before it is tried, and when it is done. So the next attempt knows about each key:

    NEVER_TRIED --- noted before it is tried ---> UNKNOWN --- noted when it is done ---> DONE
         ^                                           |
         +-------- noted that it did not happen -----+

The notes are in segments, `effect#<period>#<n>`, one row for many keys. A segment that has `SEGMENT_BYTES` is closed
and never written again. The row after the last closed one is the tail, the only row that may be written:

    [1 closed] [2 closed] [3 tail]

Before an attempt reads what its predecessors did, it takes the tail: it writes its own number and token into it. Every
note is a swap on that row, so a predecessor that still lives can note nothing more. As it tries nothing that it has not
noted, it does nothing that its successor does not know of. This holds whatever the clocks show.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from cronce.protocol.holding import Held, Lost
from cronce.protocol.operations import Get, Steps, get_run, swap
from cronce.protocol.records import EffectsRecord, RunRecord, effects_key
from cronce.vocabulary.states import Status
from cronce.vocabulary.values import replace

__all__ = ["EffectState", "OnUnknown"]

SEGMENT_BYTES = 4000
"""At this size a segment is closed: with its other attributes it is then about 4 KB.

Every note writes the whole tail, and DynamoDB charges for each KB written and for each 4 KB read.
"""


class EffectState(StrEnum):
    """What is known about an effect, as stored."""

    NEVER_TRIED = "never_tried"
    UNKNOWN = "unknown"
    """It was tried, and no end was noted: its process died, or it raised an error. It may have happened."""
    DONE = "done"


class OnUnknown(StrEnum):
    """Whether an effect is tried again if nobody knows whether it happened."""

    SKIP = "skip"
    """No: it happens at most once."""
    REPEAT = "repeat"
    """Yes: it happens at least once."""


class Entry(NamedTuple):
    """One note: the state of an effect, or the result of a step."""

    part: str
    """`effects` or `steps`."""
    key: str
    value: str

    @property
    def size(self) -> int:
        """Its bytes in the row."""
        return len(self.key.encode()) + len(self.value.encode()) + 2


def may_try(state: EffectState, on_unknown: OnUnknown) -> bool:
    """True if an effect in this state is to be tried now."""
    match state:
        case EffectState.NEVER_TRIED:
            return True
        case EffectState.UNKNOWN:
            return on_unknown is OnUnknown.REPEAT
        case _:
            return False


def take_tail(held: Held) -> Steps[tuple[EffectsRecord, ...] | Lost]:
    """Take the tail for this attempt; the run's segments in their order, the tail last.

    A forced repeat begins without effects, as it begins without a checkpoint.
    """
    mine, segments = held.run, list[EffectsRecord]()
    forgotten = _last_success(mine)
    while True:
        number = len(segments) + 1
        found: EffectsRecord | None = yield Get(mine.job, effects_key(mine.period, number))
        if found is not None and found.attempt > mine.attempt:
            return (yield from _lost(held))
        stale = found is not None and found.attempt <= forgotten
        if found is not None and found.closed:
            segments.append(replace(found, effects={}, steps={}) if stale else found)
            continue
        tail = _taken(found or _new_segment(mine, number), mine)
        if stale:
            tail = replace(tail, effects={}, steps={})
        if found is None and mine.attempt == 1:
            return (*segments, tail)  # nobody was here before, so the first note makes the row
        answer = yield from swap(replace(tail, version=tail.version + 1), found)
        if answer.written:
            return (*segments, replace(tail, version=tail.version + 1))


def note(held: Held, tail: EffectsRecord, entries: Sequence[Entry]) -> Steps[EffectsRecord | Lost]:
    """Add the notes to the tail, and to new segments where it is full; the tail afterwards."""
    while entries:
        if tail.closed:
            tail = _new_segment(held.run, tail.number + 1)
        longer, left = _with_entries(tail, entries)
        answer = yield from swap(longer, tail if tail.version else None)
        if answer.written:
            tail, entries = longer, left
        elif isinstance(answer.current, EffectsRecord) and _is_of(answer.current, held.run):
            tail = answer.current  # a note of this attempt whose sender gave up was written after all
        else:
            return (yield from _lost(held))
    return tail


def known(segments: Iterable[EffectsRecord]) -> tuple[dict[str, str], dict[str, str]]:
    """The states of effects and the results of steps in the segments; a later segment overrides an earlier one."""
    effects: dict[str, str] = {}
    steps: dict[str, str] = {}
    for segment in segments:
        effects.update(segment.effects)
        steps.update(segment.steps)
    return effects, steps


def _last_success(run: RunRecord) -> int:
    """The number of the last attempt that succeeded; a later one is, or continues, a forced repeat."""
    return max((past.attempt for past in run.attempts if past.status is Status.SUCCEEDED), default=0)


def _new_segment(run: RunRecord, number: int) -> EffectsRecord:
    return EffectsRecord(
        job=run.job,
        period=run.period,
        number=number,
        version=0,
        attempt=run.attempt,
        token=run.token,
        expires_at=run.expires_at,
    )


def _taken(segment: EffectsRecord, run: RunRecord) -> EffectsRecord:
    return replace(segment, attempt=run.attempt, token=run.token, expires_at=run.expires_at)


def _with_entries(tail: EffectsRecord, entries: Sequence[Entry]) -> tuple[EffectsRecord, Sequence[Entry]]:
    """The tail one version later with as many of the entries as fit, and those that are left."""
    parts = {"effects": dict(tail.effects), "steps": dict(tail.steps)}
    size = sum(Entry(part, *pair).size for part, pairs in parts.items() for pair in pairs.items())
    for place, entry in enumerate(entries, start=1):
        if (before := parts[entry.part].get(entry.key)) is not None:
            size -= Entry(entry.part, entry.key, before).size
        parts[entry.part][entry.key] = entry.value
        size += entry.size
        if size >= SEGMENT_BYTES:
            return replace(tail, **parts, version=tail.version + 1, closed="yes"), entries[place:]
    return replace(tail, **parts, version=tail.version + 1), ()


def _is_of(segment: EffectsRecord, run: RunRecord) -> bool:
    return segment.attempt == run.attempt and segment.token == run.token


def _lost(held: Held) -> Steps[Lost]:
    return Lost((yield from get_run(held.run.job, held.run.period)))
