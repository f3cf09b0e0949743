"""The store that a test of the conformance suite tries."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from cronce import Ledger
from cronce.testing.clocks import ManualClock

if TYPE_CHECKING:
    from collections.abc import Callable

    from cronce.stores.store import Store
    from cronce.vocabulary.policy import Policy


@dataclass(kw_only=True)
class Lab:
    """A store to be tried, and a way to write rows into it that cronce would never write.

    Attributes:
        store: The store. It tells no time of its own, so that a test's clock may go anywhere.
        put: Writes an item in the codec's plain form, over any row with its key.
        erase: Takes the row of a job and a key away.
        peer: Opens the store as another process does, where that makes a difference.
        clock: Stands at this moment.
        job: A name that no other test has.
        is_atomic: False for an imitation that is right about one caller at a time only; races are then skipped.
    """

    store: Store
    put: Callable[[dict[str, Any]], None]
    erase: Callable[[str, str], None]
    peer: Callable[[], Store] | None = None
    clock: ManualClock = field(default_factory=ManualClock)
    job: str = field(default_factory=lambda: f"job-{uuid.uuid4().hex[:12]}")
    is_atomic: bool = True

    def ledger(self, owner: str = "me", *, policy: Policy | None = None, clock: ManualClock | None = None) -> Ledger:
        """The ledger as one process sees it."""
        return Ledger(
            self.store, policy=policy, owner=owner, clock=clock or self.clock, stop_task=lambda _owner, _reason: None
        )

    def delete(self, key: str) -> None:
        """Take a row away, as only a person in the console can."""
        self.erase(self.job, key)

    def needs_atomicity(self) -> None:
        """Skip the test if the store is not atomic."""
        if not self.is_atomic:
            pytest.skip("the store is not atomic")
