"""A cron expression in a time zone: wall-clock matches become instants.

The rule is EventBridge Scheduler's (User Guide, "Daylight savings time on EventBridge Scheduler"):
a local time that does not exist is skipped; one that comes twice fires once, before the change.

An expression whose hours are all 24 is not tied to a time of day, so nothing comes twice for it:
it fires in both passes of the repeated hour, and an hourly schedule has 25 ticks on a day of 25 hours.
AWS states its rule for a daily schedule and says nothing about such ones; read to the letter it
would silence a schedule of every minute for an hour. Vixie cron makes the same distinction.

Time is walked in stretches of one UTC offset. Within a stretch local and UTC time run alike, so the
next match is a subtraction, and times that a zone skips are never met.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from cronce.schedule._cron import Cron
from cronce.schedule._fields import FIRST_YEAR, LAST_YEAR

_DAY = timedelta(days=1)
_SECOND = timedelta(seconds=1)
_INSTANT = timedelta(microseconds=1)
_NEVER = timedelta.max
_BEGIN = datetime(FIRST_YEAR - 1, 12, 30, tzinfo=UTC)
_END = datetime(LAST_YEAR + 1, 1, 3, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZonedCron:
    """The ticks of a cron expression in a zone, none before `start`.

    No zone has changed its offset twice within a day since 1970, which a test holds; so a day
    whose ends have the same offset is one stretch.
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
        """True if the clocks show the local time of `tick` a second time, before or after it."""
        local = tick.astimezone(self.zone)
        return local.utcoffset() != local.replace(fold=1 - local.fold).utcoffset()

    def skipped(self, since: datetime, until: datetime) -> list[datetime]:
        """The matching wall-clock minutes (naive) between two instants that no clock ever showed."""
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
        # Changes lie on whole seconds, so fractions on either side of one do not matter.
        since, until = since.replace(microsecond=0), until.replace(microsecond=0)
        while until - since > _SECOND:
            middle = since + (until - since) // (2 * _SECOND) * _SECOND
            if middle.astimezone(self.zone).utcoffset() == before:
                since = middle
            else:
                until = middle
        return since + _SECOND


def _wall(local: datetime) -> datetime:
    return local.replace(tzinfo=None, fold=0)
