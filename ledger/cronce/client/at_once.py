"""Many questions at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")

AT_ONCE = 10
"""How many questions wait for an answer at the same time: as many as an AWS client has connections."""


def at_once(ask: Callable[[S], T], about: Iterable[S]) -> list[T]:
    """The answers, in order."""
    with ThreadPoolExecutor(AT_ONCE) as askers:
        return list(askers.map(ask, about))
