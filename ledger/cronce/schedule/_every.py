"""`every = "10s"`: ticks at whole multiples of an interval since 1970-01-01T00:00Z."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from cronce.vocabulary.durations import format_duration
from cronce.vocabulary.values import value_class

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@value_class
class Every:
    """A tick at each whole multiple of the interval, wherever and whenever the clock was started."""

    interval: timedelta

    def next(self, after: datetime) -> datetime:
        """The first tick strictly after `after`."""
        return _EPOCH + ((after - _EPOCH) // self.interval + 1) * self.interval

    def previous(self, before: datetime) -> datetime:
        """The last tick strictly before `before`."""
        return _EPOCH - ((_EPOCH - before) // self.interval + 1) * self.interval

    def count(self, after: datetime, before: datetime) -> int:
        """How many ticks lie strictly between the two."""
        return max(0, (self.previous(before) - self.next(after)) // self.interval + 1)

    def describe(self) -> str:
        """`every 10s`."""
        return f"every {format_duration(self.interval)}"
