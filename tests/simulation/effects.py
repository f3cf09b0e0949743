"""Every interleaving of a run's attempts that try the same effects: nothing is done twice, and nothing is lost.

No clock takes part: an attempt may be paused anywhere for as long as it likes, also between its note and the effect,
and its successors go on meanwhile. So what holds here does not depend on leases. From each state everything that can
happen next is tried, as long as faults are left:

- an attempt makes its next step; one that never does so again has died
- the answer to a write is lost, and the same request is sent again
- a write is late: it is sent again, and lands a second time at any later moment
- the store stays silent until the attempt gives up; the write landed or it did not
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, cast

from cronce.protocol import effects
from cronce.protocol.effects import EffectState, Entry, OnUnknown, known, may_try, note, take_tail
from cronce.protocol.holding import Held, Lost
from cronce.protocol.operations import Get, Swap, Swapped
from cronce.protocol.records import EffectsRecord, RunRecord, effects_key
from tests.simulation.processes import UNANSWERED, Process, Script, frozen
from tests.simulation.promises import identity, shown
from tests.simulation.rules import BrokenRuleError
from tests.support.builders import JOB, PERIOD, held, run

KEYS = ("k", "l")
MOST_SEGMENTS = 12


@dataclass(frozen=True, slots=True)
class Try:
    """The attempt does what it must not do twice."""

    key: str


@dataclass(frozen=True, slots=True)
class Told:
    """The attempt read this state."""

    key: str
    state: EffectState


def attempt(mine: Held, on_unknown: OnUnknown) -> Script:
    """Take the tail, and try each effect that is to be tried; the same order as in `cronce.client.effects`."""
    segments = yield from take_tail(mine)
    if isinstance(segments, Lost):
        return "lost"
    states, tail = known(segments)[0], segments[-1]
    for key in KEYS:
        state = EffectState(states.get(key, EffectState.NEVER_TRIED))
        yield cast("Any", Told(key, state))
        if not may_try(state, on_unknown):
            continue
        for mark in (EffectState.UNKNOWN, EffectState.DONE):
            noted = yield from note(mine, tail, [Entry("effects", key, mark)])
            if isinstance(noted, Lost):
                return "lost"
            tail = noted
            if mark is EffectState.UNKNOWN:
                yield cast("Any", Try(key))
    return "finished"


class State(NamedTuple):
    """One moment: rows and local states are numbers; `tried` has the attempts that tried each key."""

    rows: tuple[int, ...]
    locals: tuple[int, ...]
    tried: tuple[tuple[int, ...], ...]
    late: tuple[tuple[int, int], ...]
    faults: int


class EffectSearch:
    """All states of a run's first attempts."""

    def __init__(self, on_unknown: OnUnknown, *, attempts: int, faults: int) -> None:
        """Prepare; nothing is explored yet."""
        self._on_unknown = on_unknown
        self._scripts = [partial(attempt, self._held(number), on_unknown) for number in range(1, attempts + 2)]
        self._processes = [Process(f"attempt {n}", script) for n, script in enumerate(self._scripts[:-1], start=1)]
        self._records: list[EffectsRecord | None] = [None]
        self._numbers: dict[Hashable, int] = {frozen(None): 0}
        self._ended: set[Hashable] = set()
        self._start = State((0,) * MOST_SEGMENTS, (0,) * attempts, ((),) * len(KEYS), (), faults)

    def explore(self) -> int:
        """Visit every state; how many there are.

        Raises:
            BrokenRuleError: A promise is broken; the message has the way to it.
        """
        came: dict[State, tuple[State, str] | None] = {self._start: None}
        queue = [self._start]
        while queue:
            state = queue.pop()
            step = "at the end"
            try:
                self._end(state)
                for step, after in self._steps(state):  # for the message
                    if after not in came:
                        came[after] = (state, step)
                        queue.append(after)
            except BrokenRuleError as error:
                way, at = [step], state
                while (before := came[at]) is not None:
                    at = before[0]
                    way.append(before[1])
                raise BrokenRuleError("\n  ".join([str(error), *reversed(way)])) from None
        return len(came)

    def _held(self, number: int) -> Held:
        return held(run(attempt=number, token=f"t{number}", owner=f"attempt {number}"))

    def _steps(self, state: State) -> Iterator[tuple[str, State]]:
        for write in state.late:
            if (rows := self._written(state.rows, *write)) is not None:
                late = tuple(other for other in state.late if other != write)
                yield f"a late write lands: {shown(self._records[write[0]])}", state._replace(rows=rows, late=late)
        for number, process in enumerate(self._processes):
            local = process.local(state.locals[number])

            def goes(what: str, answer: object, number: int = number, /, **changes: Any) -> tuple[str, State]:  # noqa: ANN401
                process = self._processes[number]
                after = process.step(process.local(state.locals[number]), frozen(answer), answer)
                mine = (*state.locals[:number], after.number, *state.locals[number + 1 :])
                return f"{process.name} {what}", state._replace(locals=mine, **changes)

            match cast("Any", local.asks):
                case Get(_, key):
                    yield goes("reads", self._row(state.rows, key))
                case Told(key, told):
                    self._check_told(state, number + 1, key, told)
                    yield goes(f"knows that {key} is {told}", None)
                case Try(key):
                    yield goes(f"tries {key}", None, tried=self._tried(state, number + 1, key))
                case Swap(record, expected):
                    write = (self._number(record), self._number(expected))
                    rows = self._written(state.rows, *write)
                    if rows is None:
                        yield goes("is refused", Swapped(False, self._row(state.rows, record.key)))
                        continue
                    yield goes("writes", Swapped(True), rows=rows)
                    if state.faults:
                        fewer = state.faults - 1
                        yield f"{process.name} writes, no answer", state._replace(rows=rows, faults=fewer)
                        late = tuple(sorted({*state.late, write}))
                        yield f"{process.name} will write late", state._replace(late=late, faults=fewer)
                        yield goes("writes and gives up", UNANSWERED, rows=rows, faults=fewer)
                        yield goes("gives up, the write is late", UNANSWERED, late=late, faults=fewer)
                case None:
                    pass
                case other:
                    raise AssertionError(other)

    def _check_told(self, state: State, to: int, key: str, told: EffectState) -> None:
        """What an attempt knows is true of its predecessors; a successor has kept it from acting on what is old."""
        before = [number for number in state.tried[KEYS.index(key)] if number < to]
        if (told is EffectState.DONE and not before) or (told is EffectState.NEVER_TRIED and before):
            raise BrokenRuleError(f"what is known is true: {key} is {told} for attempt {to}, and {before} tried it")

    def _tried(self, state: State, by: int, key: str) -> tuple[tuple[int, ...], ...]:
        tried = list(state.tried)
        place = KEYS.index(key)
        if self._on_unknown is OnUnknown.SKIP and tried[place]:
            raise BrokenRuleError(f"at most once: {key} was tried by {tried[place]} and by {by}")
        tried[place] = tuple(sorted({*tried[place], by}))
        return tuple(tried)

    def _end(self, state: State) -> None:
        """Everybody died now: one more attempt goes through all effects."""
        if (state.rows, state.tried) in self._ended:
            return
        self._ended.add((state.rows, state.tried))
        last = self._scripts[-1]()
        answer: Any = None
        try:
            while True:
                match cast("Any", last.send(answer)):
                    case Get(_, key):
                        answer = self._row(state.rows, key)
                    case Told(key, told):
                        answer = None
                        self._check_told(state, len(self._scripts), key, told)
                    case Try(key):
                        answer = None
                        state = state._replace(tried=self._tried(state, len(self._scripts), key))
                    case Swap(record, expected):
                        rows = self._written(state.rows, self._number(record), self._number(expected))
                        answer = Swapped(rows is not None, self._row(state.rows, record.key))
                        state = state._replace(rows=rows or state.rows)
                    case other:
                        raise AssertionError(other)
        except StopIteration as end:
            if end.value != "finished":
                raise BrokenRuleError(f"nothing is stuck: the last attempt is {end.value}") from None
        if self._on_unknown is OnUnknown.REPEAT and not all(state.tried):
            raise BrokenRuleError(f"at least once: {state.tried}")

    def _row(self, rows: tuple[int, ...], key: str) -> EffectsRecord | RunRecord | None:
        if key.startswith("run#"):
            return self._held(len(self._processes)).run
        return self._records[rows[int(key.rpartition("#")[2]) - 1]]

    def _number(self, record: object) -> int:
        assert record is None or isinstance(record, EffectsRecord)
        key = frozen(record)
        if key not in self._numbers:
            self._numbers[key] = len(self._records)
            self._records.append(record)
        return self._numbers[key]

    def _written(self, rows: tuple[int, ...], after: int, expected: int) -> tuple[int, ...] | None:
        record = self._records[after]
        assert record is not None
        before = self._records[rows[record.number - 1]]
        if identity(before) != identity(self._records[expected]):
            return None
        if record.version != (before.version if before else 0) + 1:
            raise BrokenRuleError(f"a version rises by one: {shown(record)}")
        if before and (before.closed or record.attempt < before.attempt):
            raise BrokenRuleError(f"a closed segment is final, and an attempt never falls: {shown(record)}")
        assert (record.job, record.key) == (JOB, effects_key(PERIOD, record.number))
        return (*rows[: record.number - 1], after, *rows[record.number :])


@contextmanager
def short_segments(size: int) -> Iterator[None]:
    """Close segments at this size."""
    before, effects.SEGMENT_BYTES = effects.SEGMENT_BYTES, size
    try:
        yield
    finally:
        effects.SEGMENT_BYTES = before


def plan() -> Iterator[tuple[int, OnUnknown, int, int]]:
    """Sizes at which every note closes a segment, every second one, and none; the choice; attempts; faults."""
    for size in (5, 15, 4000):
        for on_unknown in OnUnknown:
            yield size, on_unknown, 2, 1
    yield 15, OnUnknown.SKIP, 3, 0
