"""Every order in which the steps of a few processes, late writes and time can happen.

A state is: the true time, the rows, where each process stands, and the writes still under way.
From each state everything that can happen next is tried, as long as the faults and jumps of time
that the bound allows are not used up:

- a process makes its next step; it may be paused there for as long as the others like
- the answer to a write is lost, and the same request is sent again
- a write is late: it is sent again, or its sender dies, and it lands at any later moment
- the store stays silent until the process gives up; the write landed or it did not
- a process dies, or is asked to stop while it waits
- time jumps, within and beyond leases
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from cronce.protocol.operations import Get, Now, Running, Skew, Sleep, StopTask, Swap, Swapped, Take, Woke
from cronce.protocol.records import SLOT_KEY, Record, RunRecord, SlotRecord, run_key
from cronce.protocol.requests import ClaimRequest
from cronce.vocabulary.names import group_key
from cronce.vocabulary.policy import Policy
from cronce.vocabulary.states import Status
from tests.simulation.processes import UNANSWERED, AwaitEnd, Local, Process, Work, frozen
from tests.simulation.promises import (
    broken_at_the_end,
    broken_by_overlap,
    broken_by_result,
    broken_by_trust,
    identity,
    shown,
)
from tests.simulation.rules import BrokenRuleError, Rows, broken_by_write

EPOCH = datetime(2026, 11, 29, 6, tzinfo=UTC)
"""When every search begins."""

JOB = "daily-digest"
OTHER_JOB = "invoices"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """How far a search goes.

    Attributes:
        faults: How many faults one schedule may hold.
        jumps: How many times the true time may move.
        sizes: By how much it may move each time.
    """

    faults: int
    jumps: int
    sizes: tuple[timedelta, ...]

    def __str__(self) -> str:
        return f"{self.faults} faults, {self.jumps} jumps"


@dataclass(slots=True)
class Figures:
    """What a search covered.

    Attributes:
        states: Distinct states.
        steps: Steps between them.
        schedules: Ways from the beginning to a state in which nothing can happen any more, not
            counting those that come round to a state twice (a poll may go on for ever).
        closings: Distinct rows from which it was tried that nothing is lost or stuck.
    """

    states: int = 0
    steps: int = 0
    schedules: int = 0
    closings: int = 0

    def __add__(self, other: Figures) -> Figures:
        return Figures(
            self.states + other.states,
            self.steps + other.steps,
            self.schedules + other.schedules,
            self.closings + other.closings,
        )

    def __str__(self) -> str:
        return (
            f"{self.states:,} states, {self.steps:,} steps, {float(self.schedules):.2e} schedules,"
            f" {self.closings:,} endings tried"
        )


class State(NamedTuple):
    """One moment of a search; records, writes and local states are numbers."""

    at: timedelta
    rows: tuple[int, ...]
    locals: tuple[int, ...]
    dead: int
    late: tuple[int, ...]
    faults: int
    jumps: int


class Step(NamedTuple):
    """What happens next: to whom, what, and the state after it."""

    who: str
    what: str
    after: State


class Search:
    """All states of a few processes over the rows of one job, or of the jobs of one exclusion group."""

    def __init__(
        self,
        processes: Sequence[Process],
        asks: Sequence[ClaimRequest],
        *,
        bound: Bound,
        stands: RunRecord | SlotRecord | None = None,
    ) -> None:
        """Prepare; nothing is explored yet.

        Args:
            processes: Who takes part.
            asks: What the first of them claim; the others are observers.
            bound: How far to go.
            stands: The first claimant's run, or the slot, where one stands already.
        """
        self._processes = processes
        self._names = [process.name for process in processes]
        self._asks = asks
        self._policies = {ask.job: ask.policy for ask in asks}  # the last one of a job is in force
        self._bound = bound
        self._runs = tuple(sorted({(ask.job, ask.period) for ask in asks}))
        groups = sorted({group_key(ask.policy.exclusion_group) for ask in asks if ask.policy.exclusion_group})
        slots = [(job, SLOT_KEY) for job in (*sorted(self._policies), *groups)]
        runs = [(job, run_key(period)) for job, period in self._runs]
        self._keys = {key: place for place, key in enumerate((*slots, *runs))}
        self._records: list[Record | None] = [None]
        self._identities = [identity(None)]
        self._places = [-1]
        self._numbers: dict[Hashable, int] = {frozen(None): 0}
        self._writes: list[tuple[int, int] | Take] = []
        """Record and expected record of a swap, or a take."""
        self._numbers_of_writes: dict[Hashable, int] = {}
        self._taken: dict[tuple[int, int], int | None] = {}
        self._right: set[Hashable] = set()
        self._closed: set[tuple[int, ...]] = set()
        rows = tuple(self._number(stands) if stands and key == (stands.job, stands.key) else 0 for key in self._keys)
        self.start = State(timedelta(0), rows, (0,) * len(processes), 0, (), bound.faults, bound.jumps)

    def explore(self) -> Figures:
        """Visit every state, depth first, and count.

        Raises:
            BrokenRuleError: A promise is broken; the message tells the shortest way to it.
        """
        try:
            return self._explore()
        except BrokenRuleError:
            return self.hunt()

    def _explore(self) -> Figures:
        figures = Figures(states=1)
        self._check(self.start)
        ways: dict[State, int] = {self.start: 0}
        path = [(self.start, iter(self._steps(self.start)))]
        while path:
            state, steps = path[-1]
            for step in steps:
                figures.steps += 1
                after = step.after
                if after in ways:
                    ways[state] += ways[after]
                    continue
                self._check(after)
                following = self._steps(after)
                ways[after] = not following
                path.append((after, iter(following)))
                break
            else:
                path.pop()
                if path:
                    ways[path[-1][0]] += ways[state]
        figures.states, figures.schedules, figures.closings = len(ways), ways[self.start], len(self._closed)
        return figures

    def reached(self) -> set[tuple[str, ...]]:
        """The rows of every state seen so far, as text."""
        return {tuple(repr(self._records[number]) for number in rows) for rows in self._closed}

    def statuses(self) -> set[Status]:
        """The status of every run seen so far."""
        numbers = {number for rows in self._closed for number in rows}
        return {run.status for number in numbers if isinstance(run := self._records[number], RunRecord)}

    def hunt(self) -> Figures:
        """Visit states, nearest first, until a promise is broken.

        Raises:
            BrokenRuleError: The message tells a shortest way to it, step by step.
        """
        self._check(self.start)
        came: dict[State, tuple[State, Step] | None] = {self.start: None}
        queue = deque([self.start])
        figures = Figures()
        while queue:
            state = queue.popleft()
            steps: list[Step] = []
            try:
                steps = self._steps(state)
                for step in steps:
                    figures.steps += 1
                    if step.after not in came:
                        came[step.after] = state, step
                        self._check(step.after)
                        queue.append(step.after)
            except BrokenRuleError as broken:
                raise BrokenRuleError(f"{broken}\n{self._ladder(came, step.after if steps else state)}") from None
        figures.states, figures.closings = len(came), len(self._closed)
        return figures

    def _steps(self, state: State) -> list[Step]:
        steps: list[Step] = []
        busy = False
        for number, process in enumerate(self._processes):
            local = process.local(state.locals[number])
            if local.asks is None or state.dead >> number & 1:
                continue
            busy = True
            self._steps_of(state, number, local, steps)
        for write in state.late:
            rows = self._written(state.rows, write)
            steps.append(Step("late write", "lands", self._moved(state, rows)))
        if busy and state.jumps:
            for size in self._bound.sizes:
                after = state._replace(at=state.at + size, jumps=state.jumps - 1)
                steps.append(Step("time", f"passes: {size.total_seconds():g} s", after))
        return steps

    def _steps_of(self, state: State, number: int, local: Local, steps: list[Step]) -> None:
        def goes(what: str, rows: tuple[int, ...], key: Hashable, answer: object, *, faults: int = 0) -> None:
            after = self._processes[number].step(local, key, answer).number
            stands = (*state.locals[:number], after, *state.locals[number + 1 :])
            steps.append(Step(self._names[number], what, self._moved(state, rows, stands=stands, faults=faults)))

        rows, name = state.rows, self._names[number]
        match local.asks:
            case Now():
                goes("reads the clock", rows, state.at, EPOCH + state.at + self._processes[number].ahead)
                return  # to die here is to die at the next step
            case Get(job, key):
                stands = rows[self._keys[job, key]]
                goes(f"reads {key}", rows, stands, self._records[stands])
            case Running(job):
                runs = [run for each in rows if isinstance(run := self._records[each], RunRecord) and run.job == job]
                goes("reads the running runs", rows, rows, tuple(run for run in runs if run.status is Status.RUNNING))
            case Swap() | Take() as asks:
                write = self._number_of_write(asks)
                written = self._written(rows, write)
                row = (asks.record.job, asks.record.key) if isinstance(asks, Swap) else (asks.run.job, SLOT_KEY)
                place = self._keys[row]
                stands = (written or rows)[place]
                if written is None:
                    goes("is not allowed to write", rows, (False, stands), Swapped(False, self._records[stands]))
                else:
                    goes("writes", written, (True, stands), Swapped(True, _told(asks, self._records[stands])))
                    if state.faults:
                        steps.append(Step(name, "writes, the answer is lost", self._moved(state, written, faults=1)))
                        if write not in state.late:
                            late = tuple(sorted((*state.late, write)))
                            steps.append(
                                Step(name, "writes, which will be late", self._moved(state, rows, late=late, faults=1))
                            )
                        goes("writes, and gives up waiting for the answer", written, UNANSWERED, UNANSWERED, faults=1)
            case Sleep():
                goes("has slept", rows, False, Woke(False))
                if state.faults:
                    goes("is asked to stop while it waits", rows, True, Woke(True), faults=1)
            case Work():
                goes("has worked", rows, None, None)
            case Skew() | StopTask() | None:
                raise AssertionError(local.asks)
            case AwaitEnd(awaited):
                other = self._names.index(awaited)
                if state.dead >> other & 1 or self._processes[other].local(state.locals[other]).asks is None:
                    goes(f"hears that {awaited} stopped", rows, None, None)
                return
        if state.faults:
            if isinstance(local.asks, Get | Running | Swap | Take):
                goes("has no answer and gives up", rows, UNANSWERED, UNANSWERED, faults=1)
            steps.append(Step(name, "dies", self._moved(state, rows, dead=1 << number, faults=1)))

    def _moved(
        self,
        state: State,
        rows: tuple[int, ...] | None,
        *,
        stands: tuple[int, ...] | None = None,
        dead: int = 0,
        late: tuple[int, ...] | None = None,
        faults: int = 0,
    ) -> State:
        rows = state.rows if rows is None else rows
        late = state.late if late is None else late
        late = tuple(write for write in late if self._written(rows, write) is not None)
        return State(
            state.at, rows, stands or state.locals, state.dead | dead, late, state.faults - faults, state.jumps
        )

    def _number(self, record: Record | None) -> int:
        key = frozen(record)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._records)
            self._records.append(record)
            self._identities.append(identity(record))
            self._places.append(self._keys[record.job, record.key] if record else -1)
        return number

    def _number_of_write(self, write: Swap | Take) -> int:
        kept = (self._number(write.record), self._number(write.expected)) if isinstance(write, Swap) else write
        number = self._numbers_of_writes.setdefault(frozen(kept), len(self._writes))
        if number == len(self._writes):
            self._writes.append(kept)
        return number

    def _written(self, rows: tuple[int, ...], write: int) -> tuple[int, ...] | None:
        """The rows after that write; None if it does not write."""
        record = self._record_of(write, rows)
        if record is None:
            return None
        place = self._places[record]
        if (rows, record) not in self._right:
            after = self._records[record]
            assert after is not None
            if broken := broken_by_write(self._table(rows), after, self._policies.get(after.job, Policy())):
                raise BrokenRuleError(f"{broken}; to be written: {shown(after)}")
            self._right.add((rows, record))
        return (*rows[:place], record, *rows[place + 1 :])

    def _record_of(self, write: int, rows: tuple[int, ...]) -> int | None:
        """The record that the write stores; None if it does not write."""
        match self._writes[write]:
            case (record, expected):
                same = self._identities[rows[self._places[record]]] == self._identities[expected]
                return record if same else None
            case Take(run, at):
                stands = rows[self._keys[run.job, SLOT_KEY]]
                if (write, stands) not in self._taken:
                    slot = self._records[stands] or SlotRecord(job=run.job, version=0)
                    assert isinstance(slot, SlotRecord)
                    taken = self._number(slot.taken_by(run, at=at)) if slot.is_free_for(run) else None
                    self._taken[write, stands] = taken
                return self._taken[write, stands]

    def _check(self, state: State) -> None:
        """Hold every promise against the state.

        Raises:
            BrokenRuleError: One is broken.
        """
        table: Rows | None = None
        acting: list[tuple[Local, Policy]] = []
        for number, process in enumerate(self._processes):
            local = process.local(state.locals[number])
            if (
                number < len(self._asks)
                and local.asks is None
                and (number, local.number, state.rows) not in self._right
            ):
                table = self._table(state.rows)
                _raise(broken_by_result(self._asks[number], local.result, table))
                self._right.add((number, local.number, state.rows))
            if local.acting and not state.dead >> number & 1 and process.trusts(local, EPOCH + state.at):
                acting.append((local, self._asks[number].policy))
                if (number, local.number, state.rows) not in self._right:
                    table = table or self._table(state.rows)
                    _raise(broken_by_trust(local.acting, table, self._asks[number].policy))
                    self._right.add((number, local.number, state.rows))
        for place, (one, policy) in enumerate(acting):
            for other, others_policy in acting[:place]:
                assert one.acting is not None
                assert other.acting is not None
                table = table or self._table(state.rows)
                _raise(broken_by_overlap(other.acting, one.acting, {policy, others_policy}, table))
        if state.rows not in self._closed:
            self._closed.add(state.rows)
            later = EPOCH + timedelta(days=1)
            _raise(broken_at_the_end(self._table(state.rows), self._policies, self._runs, now=later))

    def _table(self, rows: tuple[int, ...]) -> dict[tuple[str, str], Record]:
        stands = ((key, self._records[number]) for key, number in zip(self._keys, rows, strict=True))
        return {key: record for key, record in stands if record is not None}

    def _ladder(self, came: dict[State, tuple[State, Step] | None], last: State) -> str:
        """The way to the state, one line a step, with the row that the step changed."""
        rungs: list[str] = []
        state = last
        while (way := came[state]) is not None:
            before, step = way
            changed = [
                shown(self._records[new]) for old, new in zip(before.rows, state.rows, strict=True) if old != new
            ]
            rungs.append(
                f"  {state.at.total_seconds():6.1f} s  {step.who:10} {step.what:32} {'; '.join(changed)}".rstrip()
            )
            state = before
        return "\n".join(reversed(rungs))


def _told(write: Swap | Take, written: Record | None) -> Record | None:
    """What the answer to a write that was written has."""
    return written if isinstance(write, Take) else None


def _raise(broken: str | None) -> None:
    if broken:
        raise BrokenRuleError(broken)
