"""A cron expression in a time zone: converts wall-clock matches to instants.

The rule is EventBridge Scheduler's (User Guide, "Daylight savings time on EventBridge Scheduler"):
a local time that does not exist is skipped; a local time that occurs twice fires once, before the change.

An expression that matches all 24 hours does not depend on the time of day. It fires in both passes of
the repeated hour, so an hourly schedule has 25 ticks on a day of 25 hours. AWS documents its rule for a
daily schedule and does not mention this case. Applied literally, the rule would silence a schedule of
every minute for an hour. Vixie cron makes the same distinction.

The search goes through periods of constant UTC offset. Within one, local and UTC time differ by a
constant, so the next match is a subtraction, and local times that a zone skips never come up.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from cronce.schedule._cron import Cron
from cronce.schedule._days import NearestWorkday
from cronce.schedule._fields import FIRST_YEAR, LAST_YEAR

_DOUBTFUL_FROM = 29
_DAY = timedelta(days=1)
_SECOND = timedelta(seconds=1)
_INSTANT = timedelta(microseconds=1)
_NEVER = timedelta.max
_BEGIN = datetime(FIRST_YEAR - 1, 12, 30, tzinfo=UTC)
_END = datetime(LAST_YEAR + 1, 1, 3, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZonedCron:
    """The ticks of a cron expression in a zone, none before `start`.

    Since 1970 no zone has changed its offset twice within a day (a test checks this). So the offset is
    constant over a day if it is the same at both ends.
    """

    cron: Cron
    zone: tzinfo
    start: datetime | None

    def at_or_after(self, since: datetime) -> datetime | None:
        since = max(since, _BEGIN, self.start or _BEGIN)
        while since < _END:
            local = since.astimezone(self.zone)
            wall = _wall(local)
            match = self.cron.at_or_after(wall)
            ahead = match - wall if match else _NEVER
            probe = since + min(ahead, _DAY)
            there = probe.astimezone(self.zone)
            if there.utcoffset() != local.utcoffset():
                since = self._change(since, probe)
            elif ahead == _NEVER:
                return None
            elif ahead > _DAY:
                since = max(probe, since + ahead - 2 * _DAY)
            elif self._fires(there):
                return probe
            else:
                since = probe + _INSTANT
        return None

    def at_or_before(self, until: datetime) -> datetime | None:
        until = min(until, _END)
        begin = max(self.start or _BEGIN, _BEGIN)
        while until >= begin:
            local = until.astimezone(self.zone)
            wall = _wall(local)
            match = self.cron.at_or_before(wall)
            behind = wall - match if match else _NEVER
            probe = until - min(behind, _DAY)
            there = probe.astimezone(self.zone)
            if there.utcoffset() != local.utcoffset():
                until = self._change(probe, until) - _INSTANT
            elif behind == _NEVER:
                return None
            elif behind > _DAY:
                until = min(probe, until - behind + 2 * _DAY)
            elif self._fires(there):
                return probe if probe >= begin else None
            else:
                until = probe - _INSTANT
        return None

    def twice(self, tick: datetime) -> bool:
        """True if the local time of `tick` occurs twice that day."""
        local = tick.astimezone(self.zone)
        return local.utcoffset() != local.replace(fold=1 - local.fold).utcoffset()

    def moved(self, tick: datetime) -> bool:
        """True if `31W` or the like moved this tick to another day than the one that it names."""
        days = self.cron.days
        return self.names_a_last_workday and tick.astimezone(self.zone).day != getattr(days, "day", None)

    @property
    def names_a_last_workday(self) -> bool:
        """True for `29W`, `30W` and `31W`. EventBridge's own preview does not list all days that Quartz does."""
        return isinstance(self.cron.days, NearestWorkday) and self.cron.days.day >= _DOUBTFUL_FROM

    def skipped(self, since: datetime, until: datetime) -> list[datetime]:
        """The matching local times (naive) between two instants that the clocks skipped; none before `start`."""
        since = max(since, _BEGIN, self.start or _BEGIN)
        if until <= since:
            return []
        wall, end = _wall(since.astimezone(self.zone)), _wall(until.astimezone(self.zone))
        skipped = []
        while (match := self.cron.at_or_after(wall)) is not None and match < end:
            instant = match.replace(tzinfo=self.zone).astimezone(UTC)
            if _wall(instant.astimezone(self.zone)) != match:
                skipped.append(match)
            wall = match + _INSTANT
        return skipped

    def _fires(self, local: datetime) -> bool:
        return local.fold == 0 or self.cron.every_hour

    def _change(self, since: datetime, until: datetime) -> datetime:
        """The first instant after `since` whose offset is that of `until`."""
        before = since.astimezone(self.zone).utcoffset()
        # Offsets change on whole seconds, so fractions do not matter.
        since, until = since.replace(microsecond=0), until.replace(microsecond=0)
        while until - since > _SECOND:
            middle = since + (until - since) // (2 * _SECOND) * _SECOND
            if middle.astimezone(self.zone).utcoffset() == before:
                since = middle
            else:
                until = middle
        return since + _SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class Several:
    """The ticks of several expressions in one zone. A tick that two of them have is one tick."""

    parts: tuple[ZonedCron, ...]

    def at_or_after(self, since: datetime) -> datetime | None:
        ticks = (part.at_or_after(since) for part in self.parts)
        return min((tick for tick in ticks if tick is not None), default=None)

    def at_or_before(self, until: datetime) -> datetime | None:
        ticks = (part.at_or_before(until) for part in self.parts)
        return max((tick for tick in ticks if tick is not None), default=None)


def _wall(local: datetime) -> datetime:
    return local.replace(tzinfo=None, fold=0)
