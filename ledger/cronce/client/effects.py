"""The effects of a claim: what must not happen twice inside a run, and the results of its steps.

While one thread writes, others note what they need and wait; the next of them writes the notes of all.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from cronce.protocol.effects import EffectState, Entry, OnUnknown, known, may_try, note, take_tail
from cronce.vocabulary.names import checked_effect
from cronce.vocabulary.payloads import decode_json, encode_step
from cronce.vocabulary.values import checked_member, checked_whole

if TYPE_CHECKING:
    from cronce.protocol.holding import Held, Lost
    from cronce.protocol.operations import Steps
    from cronce.protocol.records import EffectsRecord

T = TypeVar("T")

MOST_AT_ONCE = 10_000
"""Effects of one batch."""


class Perform(Protocol):
    """Performs an operation on the held run, or raises `LeaseLostError`."""

    def __call__(self, operation: Callable[[Held], Steps[T | Lost]]) -> T:
        """The operation's answer."""


class Effect:
    """One effect: truthy if it is to be tried now.

    As a context manager it notes at the end of the block that the effect is done. If the block raises an error, or the
    process dies in it, the effect is UNKNOWN.

    Attributes:
        key: The effect's key.
        state: What was known about it before.
    """

    def __init__(self, effects: Effects, key: str, state: EffectState, *, begins: bool) -> None:
        """Made by `Claim.once`."""
        self.key = key
        self.state = state
        self._effects = effects
        self._open = self._begins = begins

    def __bool__(self) -> bool:
        return self._begins

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._open:
            self.end(EffectState.DONE if error is None else EffectState.UNKNOWN)

    def done(self) -> None:
        """Note that the effect happened; the end of the block does it too. Raises as `end`."""
        self.end(EffectState.DONE)

    def not_done(self) -> None:
        """Note that the effect certainly did not happen: it counts as never tried. Raises as `end`."""
        self.end(EffectState.NEVER_TRIED)

    def end(self, state: EffectState | str) -> None:
        """Note how the effect ended, once; UNKNOWN needs no note.

        Raises:
            LeaseLostError: The claim is lost; the effect stays UNKNOWN.
            LedgerUnavailableError: The row cannot be used.
        """
        if self._open:
            self._open = False
            self._effects.end(self.key, EffectState(state))
            self._effects.write()


class Effects:
    """What one claim knows and notes. Safe to use from several threads."""

    def __init__(self, perform: Perform, check_held: Callable[[], None]) -> None:
        """Use a claim; nothing is read yet.

        Args:
            perform: Performs the operations.
            check_held: Raises `LeaseLostError` if the claim is lost.
        """
        self._perform = perform
        self._check_held = check_held
        self._turn = threading.Condition(threading.RLock())
        self._noted = self._written = 0
        self._writing = False
        self._tail: EffectsRecord | None = None
        self._states: dict[str, str] = {}
        self._results: dict[str, str] = {}
        self._begun: set[str] = set()
        self._unwritten: dict[tuple[str, str], str] = {}

    def state(self, key: str) -> EffectState:
        """What is known about the effect."""
        self._read()
        return self._state(key)

    def once(self, key: str, on_unknown: OnUnknown | str) -> Effect:
        """See `Claim.once`."""
        key, on_unknown = _checked_key(key), checked_member(OnUnknown, on_unknown, what="on_unknown")
        before = self.state(key)
        effect = Effect(self, key, before, begins=bool(self._begin([key], on_unknown)))
        self._check_held()
        return effect

    def once_each(
        self, items: Iterable[T], key: Callable[[T], str] | None, batch: int, on_unknown: OnUnknown | str
    ) -> Iterator[T]:
        """See `Claim.once_each`."""
        batch = checked_whole(batch, what="batch", least=1, most=MOST_AT_ONCE)
        on_unknown = checked_member(OnUnknown, on_unknown, what="on_unknown")
        return self._each(iter(items), key, batch, on_unknown)

    def step(self, name: str, work: Callable[[], Any]) -> Any:  # noqa: ANN401  # what `work` returns, as JSON keeps it
        """See `Claim.step`."""
        name = checked_effect(name, what="name of the step")
        self._read()
        if name not in self._results:
            text = encode_step(name, work())
            with self._turn:
                self._results[name] = text
                self._note("steps", name, text)
            self.write()
        return decode_json(self._results[name])

    def end(self, key: str, state: EffectState) -> None:
        """Note how a begun effect ended, with the next write."""
        with self._turn:
            self._begun.discard(key)
            if state is not EffectState.UNKNOWN:  # that was noted before it began
                self._states[key] = state
                self._note("effects", key, state)

    def write(self) -> None:
        """Write what was noted. If the error is not the end of the claim, the next write repeats it.

        Raises:
            LeaseLostError: The claim is lost.
            LedgerUnavailableError: The row cannot be used.
        """
        mine = False
        try:
            with self._turn:
                noted = self._noted
                while self._written < noted and self._writing:
                    self._turn.wait()
                if self._written >= noted or self._tail is None:
                    return
                self._writing = mine = True
                noted, batch, tail = self._noted, dict(self._unwritten), self._tail
            entries = [Entry(*name, value) for name, value in batch.items()]
            self._tail = self._perform(lambda held: note(held, tail, entries))
            with self._turn:
                self._written = noted
                for name, value in batch.items():
                    if self._unwritten[name] == value:
                        del self._unwritten[name]
        finally:
            if mine:
                with self._turn:
                    self._writing = False
                    self._turn.notify_all()

    def _read(self) -> None:
        """Take the tail, and read what earlier attempts noted; once per claim."""
        with self._turn:
            if self._tail is None:
                segments = self._perform(take_tail)
                self._states, self._results = known(segments)
                self._tail = segments[-1]

    def _note(self, part: str, key: str, value: str) -> None:
        self._unwritten[part, key] = value
        self._noted += 1

    def _state(self, key: str) -> EffectState:
        found = self._states.get(key, EffectState.NEVER_TRIED)
        return EffectState(found) if found in (EffectState.NEVER_TRIED, EffectState.DONE) else EffectState.UNKNOWN

    def _begin(self, keys: Iterable[str], on_unknown: OnUnknown) -> set[str]:
        """Note those that are to be tried now, and return them. What another thread has begun is not among them."""
        begun = set()
        with self._turn:
            for key in keys:
                state = self._state(key)
                if key not in self._begun and may_try(state, on_unknown):
                    begun.add(key)
                    self._begun.add(key)
                    if state is EffectState.NEVER_TRIED:
                        self._states[key] = EffectState.UNKNOWN
                        self._note("effects", key, EffectState.UNKNOWN)
        if begun:
            self.write()
        return begun

    def _each(
        self, items: Iterator[T], key: Callable[[T], str] | None, batch: int, on_unknown: OnUnknown
    ) -> Iterator[T]:
        self._read()
        while chunk := [(_checked_key(key(item) if key else item), item) for item in islice(items, batch)]:
            begun = self._begin((name for name, _ in chunk), on_unknown)
            try:
                for name, item in chunk:
                    if name in begun:
                        self._check_held()
                        begun.discard(name)
                        try:
                            yield item
                        except BaseException:
                            self.end(name, EffectState.UNKNOWN)
                            raise
                        self.end(name, EffectState.DONE)
            finally:
                for name in begun:  # the loop ended before their turn
                    self.end(name, EffectState.NEVER_TRIED)
        self.write()


def _checked_key(key: object) -> str:
    return checked_effect(key, what="key of the effect")
