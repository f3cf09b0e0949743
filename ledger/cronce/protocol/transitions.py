"""The states of a run and every change between them; drawn in `docs/protocol.md`."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from cronce.vocabulary.states import Status


class Event(StrEnum):
    """What can happen to a run."""

    CLAIM = "CLAIM"
    """A process acquires a run that has no row."""
    SUSPEND = "SUSPEND"
    """A tick arrives for a suspended job, or an observer sees one of a paused job."""
    EXPIRE = "EXPIRE"
    """A tick arrives, or is still waiting, after its starting deadline."""
    MISS = "MISS"
    """An observer finds that a tick was never delivered or its task never started, or learns the cause later."""
    RENEW = "RENEW"
    """The owner renews its lease, or stores a checkpoint."""
    CANCEL = "CANCEL"
    """Another process asks the owner to stop."""
    BLOCK = "BLOCK"
    """The claimed run finds another run of the job alive, or the job paused, and steps back."""
    COMPLETE = "COMPLETE"
    """The owner's work succeeded. This outranks an observer that considered the owner dead."""
    FAIL = "FAIL"
    """The attempt failed, or an observer found its owner dead, or its task stopped before it claimed."""
    TAKE_OVER = "TAKE_OVER"
    """A process begins the next attempt."""
    FORCE = "FORCE"
    """A person repeats a success, with a reason."""
    RELEASE = "RELEASE"
    """A person releases a held or stuck run for the next attempt."""
    GIVE_UP = "GIVE_UP"
    """An observer notes that no machine starts the run again."""


_R, _S, _F = Status.RUNNING, Status.SUCCEEDED, Status.FAILED

TRANSITIONS: Mapping[tuple[Status | None, Event], Status] = MappingProxyType(
    {
        (None, Event.CLAIM): _R,
        (None, Event.SUSPEND): Status.SKIPPED,
        (None, Event.EXPIRE): Status.MISSED,
        (None, Event.MISS): Status.MISSED,
        (None, Event.FAIL): _F,
        (_R, Event.RENEW): _R,
        (_R, Event.CANCEL): _R,
        (_R, Event.TAKE_OVER): _R,
        (_R, Event.BLOCK): Status.SKIPPED,
        (_R, Event.EXPIRE): Status.MISSED,
        (_R, Event.COMPLETE): _S,
        (_R, Event.FAIL): _F,
        (_R, Event.RELEASE): _F,
        (_F, Event.COMPLETE): _S,
        (_F, Event.RELEASE): _F,
        (_F, Event.TAKE_OVER): _R,
        (Status.SKIPPED, Event.TAKE_OVER): _R,
        (Status.MISSED, Event.TAKE_OVER): _R,
        (_F, Event.FAIL): _F,
        (_F, Event.GIVE_UP): _F,
        (Status.MISSED, Event.MISS): Status.MISSED,
        (Status.MISSED, Event.FAIL): _F,
        (Status.MISSED, Event.GIVE_UP): Status.MISSED,
        (_S, Event.FORCE): _R,
    }
)
"""(status before, event) -> status after; `None` is "no row". No other change can happen."""
