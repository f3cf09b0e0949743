"""What `cronce pin` says of its health."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING

from cronce import Ledger, LedgerUnavailableError
from cronce.client.leadership import Leadership
from cronce.guard.pin_command import Pinned
from cronce.stores.memory import MemoryStore
from cronce.testing.clocks import ManualClock

if TYPE_CHECKING:
    import pytest

    from cronce.protocol.operations import Swapped
    from cronce.protocol.records import Record

LEASE = timedelta(seconds=60)


class AwayStore(MemoryStore):
    """Never answers."""

    def swap(self, record: Record, expected: Record | None) -> Swapped:  # noqa: ARG002  # `Store`'s
        """No answer."""
        raise LedgerUnavailableError("memory", "no such table", transient=False)


def test_one_that_stands_by_is_ill_once_the_ledger_has_been_silent_for_a_minute(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Not at once: whatever replaced it would have the same trouble."""
    clock, stop = ManualClock(), threading.Event()
    leadership = Leadership(Ledger(AwayStore(), clock=clock), "clock", lease=LEASE, clock=clock)
    pinned = Pinned(leadership, ["true"], grace=1)
    seen: list[str | None] = []
    clock.meanwhile(*[lambda: seen.append(pinned.trouble())] * 60, stop.set)
    leadership.wait(stop)
    assert seen[:59] == [None] * 59
    assert seen[59] == "standing by, but the ledger has not answered for 60 s"
    assert "no such table" in capsys.readouterr().err


def test_a_leader_is_ill_once_its_lease_is_lost() -> None:
    """Although the ledger has not been asked for long."""
    clock, store = ManualClock(), MemoryStore()
    leadership = Leadership(Ledger(store, clock=clock), "clock", lease=LEASE, clock=clock)
    pinned = Pinned(leadership, ["true"], grace=1)
    pinned._claim = leadership.try_once()
    clock.advance(LEASE + timedelta(seconds=6))
    assert Leadership(Ledger(store, clock=clock), "clock", lease=LEASE, clock=clock).try_once()
    assert pinned.trouble() == "its lease is lost, the command is being stopped"
