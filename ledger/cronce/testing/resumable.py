"""Kills a job at every write of its claim, starts it again, and compares the end with that of an undisturbed run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, MutableSequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar

from cronce.client.claim import Claim
from cronce.client.ledger import Ledger
from cronce.protocol.effects import EffectState, OnUnknown, known
from cronce.protocol.operations import Swapped
from cronce.protocol.records import (
    MAX_CLOCK_SKEW,
    EffectsRecord,
    Record,
    RunRecord,
    effects_key,
)
from cronce.stores.memory import MemoryStore
from cronce.stores.passing import PassingStore
from cronce.testing.clocks import ManualClock
from cronce.vocabulary.policy import Policy
from cronce.vocabulary.states import Status
from cronce.vocabulary.values import checked_member

R = TypeVar("R")

JOB = "job-under-test"
PERIOD = "2026-11-29"
_MOST_ATTEMPTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """What was tried.

    Attributes:
        writes: How many writes the claim makes if nothing happens, the end of the run included.
        kills: How many times the job was killed: just before and just after each write.
    """

    writes: int
    kills: int


def assert_resumable(
    job: Callable[[Claim], object],
    *,
    effects: MutableSequence[Any],
    on_unknown: OnUnknown | str = OnUnknown.SKIP,
    outcome: Callable[[], object] | None = None,
    reset: Callable[[], object] | None = None,
    policy: Policy | None = None,
) -> Resumed:
    """Check that the job comes to the same end wherever it is killed.

    Each effect, each end of an effect, each step and each checkpoint is a write to the ledger. The job is run once
    undisturbed. Then, for each write, it is killed just before it and, in another run, just after it; when the lease
    has expired, it is started again and runs to its end. The job runs in this thread, on a ledger in memory.

    Args:
        job: The work, as for `run_once`; it must not catch `BaseException`, and must not use threads.
        effects: To this list the job's test doubles append whatever must not happen twice, such as a customer's mail.
        on_unknown: What the job chose: `skip` (no effect may happen twice, and only those may be missing of which the
            ledger says UNKNOWN) or `repeat` (none may be missing, and only those may happen twice of which it said so).
        outcome: What else must be the same at the end, such as the lines of a file; called after each run.
        reset: Makes the world as it was before the first attempt; called before each run.
        policy: The policy of the claims.

    Raises:
        AssertionError: The end was another one; the message names the kill.
    """
    on_unknown = checked_member(OnUnknown, on_unknown, what="on_unknown")
    trial = _Trial(job, effects, outcome, reset, policy or Policy())
    expected = trial.run(None)
    writes = len(trial.written)
    moments = [_Moment(number, after) for number in range(writes) for after in (False, True)]
    for moment in moments:
        found = trial.run(moment)
        _compare(expected, found, on_unknown, f"killed {moment.told(trial.written)}")
    return Resumed(writes=writes, kills=len(moments))


class Killed(BaseException):
    """The process of the job has just been killed."""


@dataclass(frozen=True, slots=True)
class _Moment:
    """Just before or just after a write, counted from 0."""

    write: int
    after: bool

    def told(self, written: list[str]) -> str:
        """In words."""
        return f"just {'after' if self.after else 'before'} write {self.write + 1} ({written[self.write]})"


@dataclass(frozen=True, slots=True)
class _End:
    """How the world looks after the last attempt; `unknown` is how many effects were UNKNOWN after the kill."""

    status: Status
    result: str | None
    effects: Counter[Hashable]
    unknown: int
    outcome: object


class _Trial:
    """Runs of one job; `written` describes the writes of the undisturbed one."""

    def __init__(
        self,
        job: Callable[[Claim], object],
        effects: MutableSequence[Any],
        outcome: Callable[[], object] | None,
        reset: Callable[[], object] | None,
        policy: Policy,
    ) -> None:
        self._job = job
        self._effects = effects
        self._outcome = outcome
        self._reset = reset
        self._policy = policy
        self.written: list[str] = []

    def run(self, moment: _Moment | None) -> _End:
        """Attempt after attempt until the run has succeeded; the first one is killed at that moment."""
        self._effects.clear()
        if self._reset is not None:
            self._reset()
        clock, store = ManualClock(), MemoryStore()
        mortal = _MortalStore(store, moment)
        unknown = 0
        for number in range(1, _MOST_ATTEMPTS + 1):
            ledger = Ledger(
                mortal if number == 1 else store, policy=self._policy, owner=f"attempt-{number}", clock=clock
            )
            claim = ledger.claim(JOB, PERIOD)
            if not isinstance(claim, Claim):
                break  # it was killed after its success was written
            mortal.counting = True
            try:
                claim.complete(self._job(claim))
            except Killed:
                unknown = _unknown_in(store)
                clock.advance(claim.lease + MAX_CLOCK_SKEW + timedelta(milliseconds=1))
            else:
                break
        if moment is None:
            self.written = mortal.written
        run = store.get(JOB, f"run#{PERIOD}")
        assert isinstance(run, RunRecord)
        outcome = self._outcome() if self._outcome else None
        return _End(run.status, run.result, Counter(self._effects), unknown, outcome)


class _MortalStore(PassingStore):
    """Kills its process at a write. From then on, the process reaches the store no more.

    Attributes:
        counting: True once the claim is won.
        written: Each write since then, in words.
    """

    def __init__(self, store: MemoryStore, moment: _Moment | None) -> None:
        super().__init__(store)
        self._moment = moment
        self._dead = False
        self.counting = False
        self.written: list[str] = []

    def swap(self, record: Record, expected: Record | None) -> Swapped:
        """Write, or be killed."""
        with self._written(_told(record, expected)):
            return super().swap(record, expected)

    def take(self, run: RunRecord, at: datetime) -> Swapped:
        """Write, or be killed."""
        with self._written("the slot is acquired"):
            return super().take(run, at)

    def _read(self, call: Callable[[], R]) -> R:
        self._check_alive()
        return call()

    @contextmanager
    def _written(self, what: str) -> Iterator[None]:
        self._check_alive()
        here = self._moment if self.counting and self._moment and self._moment.write == len(self.written) else None
        if here and not here.after:
            self._dead = True
            self._check_alive()
        yield
        if self.counting:
            self.written.append(what)
        if here:
            self._dead = True
            self._check_alive()

    def _check_alive(self) -> None:
        if self._dead:
            raise Killed


def _told(record: Record, expected: Record | None) -> str:
    match record:
        case EffectsRecord():
            old = expected if isinstance(expected, EffectsRecord) else None
            noted = [f"effect {key!r}: {state}" for key, state in record.effects.items() if _new(key, state, old)]
            noted += [f"step {name!r}" for name in record.steps if old is None or name not in old.steps]
            return ", ".join(noted) or "the effects are read"
        case RunRecord(status=Status.RUNNING):
            return f"checkpoint {record.checkpoint}"
        case RunRecord():
            return "the end of the run"
        case _:
            return "the slot is released"


def _new(key: str, state: str, old: EffectsRecord | None) -> bool:
    return old is None or old.effects.get(key) != state


def _unknown_in(store: MemoryStore) -> int:
    """How many effects of the run are UNKNOWN."""
    segments: list[EffectsRecord] = []
    while isinstance(segment := store.get(JOB, effects_key(PERIOD, len(segments) + 1)), EffectsRecord):
        segments.append(segment)
    states, _ = known(segments)
    return sum(state not in (EffectState.DONE, EffectState.NEVER_TRIED) for state in states.values())


def _compare(expected: _End, found: _End, on_unknown: OnUnknown, when: str) -> None:
    """Raise an error that says what is different."""
    if found.status is not Status.SUCCEEDED:
        raise AssertionError(f"{when}, the run does not succeed: it is {found.status}")
    if found.result != expected.result:
        raise AssertionError(f"{when}, the result is {found.result} instead of {expected.result}")
    missing, extra = expected.effects - found.effects, found.effects - expected.effects
    of_unknown = f"{found.unknown} effects were UNKNOWN"
    if extra and (on_unknown is OnUnknown.SKIP or extra.total() > found.unknown):
        raise AssertionError(f"{when}, these happen again: {_listed(extra)}; {of_unknown}")
    if missing and (on_unknown is OnUnknown.REPEAT or missing.total() > found.unknown):
        raise AssertionError(f"{when}, these never happen: {_listed(missing)}; {of_unknown}")
    if found.outcome != expected.outcome:
        raise AssertionError(f"{when}, the outcome is {found.outcome!r} instead of {expected.outcome!r}")


def _listed(effects: Counter[Hashable]) -> str:
    return ", ".join(map(repr, effects.elements()))
