"""The protocol's real generators as state machines that can be forked.

A generator cannot be copied, so a process is forked by driving a new generator through the same
answers. Each local state is reached that way once and remembered by what its frames hold (place
in the code and local variables), so a poll that comes round to where it was is the same state.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime, timedelta
from functools import cache
from types import FunctionType
from typing import Any, Final

from cronce.protocol.holding import Held
from cronce.protocol.observing import ReleaseRequest
from cronce.protocol.operations import Operation, Skew, StopTask
from cronce.protocol.requests import ClaimRequest
from cronce.vocabulary.errors import LedgerUnavailableError
from cronce.vocabulary.policy import Policy
from cronce.vocabulary.values import field_names


@dataclass(frozen=True, slots=True)
class Work:
    """The process acts on its claim until it asks for `Work` again; with None it has stopped."""

    held: Held | None


@dataclass(frozen=True, slots=True)
class AwaitEnd:
    """The process waits until the one of that name is over, dead or done."""

    name: str


Question = Operation | Work | AwaitEnd
Script = Generator[Question, Any, object]

UNANSWERED: Final = "UNANSWERED"
"""As an answer: the store did not answer for longer than the process insists. As a result: so it gave up."""


@dataclass(slots=True)
class Local:
    """A state of one process.

    Attributes:
        asks: What it asks next; None once it is done.
        acting: The claim that it acts on.
        result: What its script returned.
    """

    number: int
    parent: Local | None = None
    answer: object = None
    asks: Question | None = None
    acting: Held | None = None
    result: object = None


class Process:
    """Every local state of one script, as far as it was asked for."""

    def __init__(
        self,
        name: str,
        script: Callable[[], Script],
        *,
        ahead: timedelta = timedelta(0),
        skew: timedelta = timedelta(0),
    ) -> None:
        """Start the script.

        Args:
            name: Who it is; the owner in its rows.
            script: Makes the generator; the same one every time.
            ahead: How far its clock is ahead of the true time.
            skew: How far it believes its clock to be from the store's.
        """
        self.name = name
        self.ahead = ahead
        self._skew = skew
        self._script = script
        self._known: dict[Hashable, Local] = {}
        self._locals: list[Local] = []
        self._after: dict[tuple[int, Hashable], Local] = {}
        self._parked: dict[int, Script] = {}
        self.start = self._reach(Local(0), script())

    def __len__(self) -> int:
        return len(self._known)

    def local(self, number: int) -> Local:
        """The state of that number."""
        return self._locals[number]

    def trusts(self, local: Local, at: datetime) -> bool:
        """True if the process, by its own clock, still acts on its claim at that true time."""
        return local.acting is not None and at + self.ahead < local.acting.trusted_until

    def step(self, local: Local, key: Hashable, answer: object) -> Local:
        """The state after that answer; `key` tells answers apart."""
        after = self._after.get((local.number, key))
        if after is None:
            generator = self._parked.pop(local.number, None) or self._replayed(local)
            after = self._reach(Local(len(self._known), local, answer, acting=local.acting), generator)
            self._after[local.number, key] = after
        return after

    def _replayed(self, local: Local) -> Script:
        answers: list[object] = []
        while local.parent is not None:
            answers.append(local.answer)
            local = local.parent
        generator = self._script()
        for answer in (None, *reversed(answers)):
            self._send(generator, Local(-1, answer=answer))
        return generator

    def _reach(self, local: Local, generator: Script) -> Local:
        self._send(generator, local)
        where = _frames(generator) if local.asks else frozen(local.result)
        known = self._known.setdefault((where, frozen(local.acting)), local)
        if known is local:
            self._locals.append(local)
            if local.asks:
                self._parked[local.number] = generator
        return known

    def _send(self, generator: Script, local: Local) -> None:
        """Give the answer and note what comes of it; questions that concern nobody else are answered at once."""
        answer = local.answer
        try:
            while True:
                if answer is UNANSWERED:
                    asks = generator.throw(LedgerUnavailableError("the store", "no answer", transient=True))
                else:
                    asks = generator.send(answer)
                match asks:
                    case Skew():
                        answer = self._skew
                    case StopTask():
                        answer = None
                    case Work(None):
                        local.acting = answer = None
                    case _:
                        local.asks, local.acting = asks, asks.held if isinstance(asks, Work) else local.acting
                        return
        except StopIteration as end:
            local.acting, local.result = None, end.value
        except LedgerUnavailableError:
            local.acting, local.result = None, UNANSWERED


def _frames(generator: Any) -> Hashable:  # noqa: ANN401  # typeshed does not know its frames
    frames: list[Hashable] = []
    while generator is not None:
        frame = generator.gi_frame
        variables = tuple((name, frozen(value)) for name, value in frame.f_locals.items())
        frames.append((frame.f_code, frame.f_lasti, variables))
        generator = generator.gi_yieldfrom
    return tuple(frames)


def frozen(value: object) -> Hashable:
    """The value as something that hashes and compares by what it holds."""
    match value:
        case ClaimRequest() | ReleaseRequest() | Policy():
            return value
        case FunctionType():
            return value.__code__, tuple(frozen(cell.cell_contents) for cell in value.__closure__ or ())
        case Mapping():
            return tuple(sorted((key, frozen(item)) for key, item in value.items()))
        case tuple() | list():
            return tuple(frozen(item) for item in value)
        case _ if hasattr(type(value), "__match_args__"):
            return type(value), *(frozen(getattr(value, name)) for name in _names(type(value)))  # type: ignore[arg-type]  # a class is hashable
        case _:
            assert isinstance(value, Hashable), value
            return value


@cache
def _names(kind: Any) -> tuple[str, ...]:  # noqa: ANN401  # a value class, or a dataclass of ours
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else field_names(kind)
