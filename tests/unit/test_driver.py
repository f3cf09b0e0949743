"""What the driver makes of the store's answers."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest

from cronce.client.driver import Driver
from cronce.client.time_source import SteadyClock
from cronce.protocol.operations import read_clock, read_skew
from cronce.stores.memory import MemoryStore
from cronce.testing.clocks import ManualClock
from tests.support.builders import T0

if TYPE_CHECKING:
    from cronce.protocol.operations import Steps


class Dated(MemoryStore):
    """A store that tells this time with each answer."""

    told: datetime | None = None

    @property
    def answered_at(self) -> datetime | None:
        """The time it tells."""
        return self.told


@pytest.mark.parametrize(
    ("told", "skew"),
    [
        (None, timedelta(0)),
        (T0, timedelta(0)),
        (T0 - timedelta(seconds=31), timedelta(seconds=30)),
        (T0 + timedelta(seconds=30), timedelta(seconds=30)),
        (T0.astimezone(timezone(timedelta(hours=9))), timedelta(0)),
        (T0.replace(tzinfo=None), timedelta(0)),
        (datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC) - T0),
        (datetime(1, 1, 1, tzinfo=UTC), T0 - datetime(1, 1, 1, 0, 0, 1, tzinfo=UTC)),
    ],
)
def test_a_time_of_the_store_that_says_nothing_is_as_none(told: datetime | None, skew: timedelta) -> None:
    """A time without a zone, and the edges of the calendar; the row is written by then, so nothing may be raised."""
    store = Dated()
    store.told = told
    driver = Driver(store, SteadyClock(ManualClock(T0)), threading.Event(), lambda *_: None)

    def ask() -> Steps[timedelta]:
        yield from read_clock()
        return (yield from read_skew())

    driver.insist(store.create, lambda *_: 0.0)
    assert driver.run(ask(), lambda *_: 0.0) == skew
