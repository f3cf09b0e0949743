"""What every timetable answers: `Schedule` and `Every` differ only in where their ticks come from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum
from itertools import combinations, islice

from cronce.schedule._ticks import Once, Rate, Ticks, Until
from cronce.schedule._words import note_of
from cronce.schedule._zoned import Several, ZonedCron
from cronce.schedule._zones import zone_data, zone_of
from cronce.schedule.errors import ScheduleInvalidError
from cronce.vocabulary.errors import InputInvalidError
from cronce.vocabulary.names import period_of
from cronce.vocabulary.values import checked_member, checked_whole

MOST_COUNTED = 20_000
"""The older ticks of a cron expression are counted up to here, which takes a fraction of a second."""

_MOST_TICKS = 2**31
_INSTANT = timedelta(microseconds=1)
_DAY = timedelta(days=1)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_FURTHEST_ZONE = timedelta(hours=26)
"""A local day begins at most this long before the day in UTC."""
_LAST_WORKDAY = "EventBridge's own preview does not list every day to which 29W, 30W or 31W moves a tick; LW it lists"
# An instant within a day of either end of the calendar may have no local time.
_FIRST = datetime(1, 1, 2, tzinfo=UTC)
_LAST = datetime(9999, 12, 30, tzinfo=UTC)


class PeriodForm(StrEnum):
    """What the period of a tick's run is."""

    TIME = "time"
    """The nominal time in UTC, `2026-11-29T05:00:00Z`: each tick has a run."""
    DATE = "date"
    """The local day of the tick, `2026-11-29`: each day has one run, also when the hour of the schedule changes."""

    def period(self, tick: datetime, timezone: str) -> str:
        """The period of the tick's run.

        Args:
            tick: The nominal time, aware.
            timezone: The IANA zone of the schedule.

        Raises:
            ScheduleInvalidError: There is no such zone, or no data for it on this machine.
            InputInvalidError: The tick is at an end of the calendar.
        """
        tick = instant_of(tick, "tick")
        return period_of(tick) if self is PeriodForm.TIME else tick.astimezone(zone_of(timezone)).date().isoformat()


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """A tick with what people want to see before they trust a schedule.

    Attributes:
        utc: The tick.
        local: The same instant on the clocks of the schedule's zone.
        note: What is special about this tick, or which ticks were skipped since the one before;
            empty if nothing.
    """

    utc: datetime
    local: datetime
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Latest:
    """The newest ticks of a span.

    Attributes:
        ticks: The newest ones in ascending order, at most as many as requested.
        dropped: Number of older ticks in the span; counted up to `MOST_COUNTED`, except where ticks
            are evenly spaced.
        first_dropped: The oldest of those.
        last_dropped: The newest of those.
    """

    ticks: tuple[datetime, ...]
    dropped: int = 0
    first_dropped: datetime | None = None
    last_dropped: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Timetable:
    """When a job is due. Two timetables are equal if their text is the same.

    Instants must be aware, in any zone. Results are in UTC, in whole seconds. Ticks ascend strictly, and
    end with the year 2199.

    Attributes:
        expression: The timetable as text.
        timezone: The IANA zone in which it is read.
        start: There are no ticks before this, and a rate counts from it. A one-time schedule ignores it.
        end: There are no ticks from this on. A one-time schedule ignores it.
    """

    expression: str
    timezone: str
    start: datetime | None
    end: datetime | None = None
    _zone: tzinfo = field(repr=False, compare=False)
    _ticks: Ticks = field(repr=False, compare=False)

    @property
    def spelling(self) -> str:
        """Expression and zone: two timetables with the same spelling are due at the same local times."""
        return f"{self.expression} {self.timezone}"

    @property
    def at_most_daily(self) -> bool:
        """True if no local day can have two ticks."""
        if crons := [each.cron for each in self._crons]:
            return all(cron.once_a_day for cron in crons) and not any(
                (one.hours, one.minutes) != (other.hours, other.minutes) and one.shares_a_day(other)
                for one, other in combinations(crons, 2)
            )
        match self._kind_of_ticks:
            case Rate(interval=interval):  # where clocks are set back, a day has more than 24 hours
                return interval >= (_DAY if self.timezone == "UTC" else 2 * _DAY)
            case others:
                return isinstance(others, Once)

    def check_period_form(self, form: PeriodForm) -> None:
        """Return if each tick can have a run of its own with periods of this form.

        Raises:
            ScheduleInvalidError: The period is the date, and a day may have two ticks: the second would
                be refused as done.
        """
        if checked_member(PeriodForm, form, what="period") is PeriodForm.DATE and not self.at_most_daily:
            allowed = f"`time` for {self.describe()}; `date` needs a schedule with at most one tick per day"
            raise ScheduleInvalidError("period", str(form), allowed)

    def period(self, tick: datetime, form: PeriodForm = PeriodForm.TIME) -> str:
        """The period of the run of this tick."""
        return checked_member(PeriodForm, form, what="period").period(tick, self.timezone)

    def tick_of_day(self, day: str, timezone: str) -> datetime | None:
        """The first tick on the local day `2026-11-29` of the zone; None if there is none, or if the text is no day."""
        if not _DATE.fullmatch(day):
            return None
        try:
            tick = self.next(datetime.fromisoformat(f"{day}T00:00:00+00:00") - _FURTHEST_ZONE)
            while tick is not None and PeriodForm.DATE.period(tick, timezone) < day:
                tick = self.next(tick)
        except ScheduleInvalidError:
            raise
        except (ValueError, OverflowError, InputInvalidError):  # no day, or at an end of the calendar
            return None
        return tick if tick is not None and PeriodForm.DATE.period(tick, timezone) == day else None

    def describe(self) -> str:
        """The timetable in words."""
        return self.expression

    @property
    def caution(self) -> str:
        """Why some ticks of this expression are uncertain, whatever the day; else empty."""
        return _LAST_WORKDAY if any(each.names_a_last_workday for each in self._crons) else ""

    def uncertain(self, tick: datetime) -> str:
        """Why EventBridge may not have this tick; else empty. An uncertain tick without a run is not missed.

        Either the tick is on a day to which `31W` or the like moved it, or two copies of the zone data on this
        machine disagree about it. Of several expressions that have it, one that is sure is enough.
        """
        used, *others = zone_data(self.timezone) or (None,)
        doubts = []
        having: list[Ticks] = [each for each in self._crons if each.at_or_after(tick) == tick]
        for ticks in having or [self._kind_of_ticks]:
            reasons = [_LAST_WORKDAY] if isinstance(ticks, ZonedCron) and ticks.moved(tick) else []
            reasons += [
                f"not a tick by zone data {other}, only by {used}"
                for other in others
                if not self._has(ticks, tick, other.zone)
            ]
            doubts.append("; ".join(reasons))
        return min(doubts, key=bool)

    def is_over(self, now: datetime) -> bool:
        """True if there is no tick after `now`. False for a rate without a start, whose ticks are unknown."""
        ticks = self._kind_of_ticks
        if isinstance(ticks, Rate) and ticks.start is None:
            return self.end is not None and self.end <= now
        return self.next(now) is None

    def next(self, after: datetime) -> datetime | None:
        """The first tick strictly after `after`, or None.

        Raises:
            InputInvalidError: `after` has no time zone, or is at an end of the calendar.
            ScheduleInvalidError: A rate without a start.
        """
        return self._ticks.at_or_after(instant_of(after, "after") + _INSTANT)

    def previous(self, before: datetime) -> datetime | None:
        """The last tick strictly before `before`, or None.

        Raises:
            InputInvalidError: `before` has no time zone, or is at an end of the calendar.
            ScheduleInvalidError: A rate without a start.
        """
        return self._ticks.at_or_before(instant_of(before, "before") - _INSTANT)

    def has_tick(self, at: datetime) -> bool:
        """True if `at` is a tick.

        Raises:
            InputInvalidError: `at` has no time zone.
            ScheduleInvalidError: A rate without a start.
        """
        at = instant_of(at, "at")
        return self._ticks.at_or_after(at) == at

    def between(self, start: datetime, end: datetime) -> Iterator[datetime]:
        """The ticks of a half-open span: `start` is included, `end` is not.

        Two adjacent spans have no tick in common.

        Raises:
            InputInvalidError: `start` or `end` has no time zone, or `end` is before `start`.
            ScheduleInvalidError: A rate without a start.
        """
        since, until = instant_of(start, "start"), instant_of(end, "end")
        if until < since:
            raise InputInvalidError("end", end.isoformat(), f"an instant not before the start {start.isoformat()}")
        return self._between(self._ticks.at_or_after(since), until)

    def latest(self, *, after: datetime, until: datetime, most: int) -> Latest:
        """The newest `most` ticks after `after` up to and including `until`, and how many are older.

        Raises:
            InputInvalidError: An instant has no time zone.
            ScheduleInvalidError: A rate without a start.
        """
        after, until = instant_of(after, "after"), instant_of(until, "until")
        most = checked_whole(most, what="most", least=1, most=_MOST_TICKS)
        newest: list[datetime] = []
        tick = self._ticks.at_or_before(until)
        while tick is not None and tick > after:
            if len(newest) == most:
                first = self.next(after)
                dropped = self._count(first or tick, tick)
                return Latest(ticks=tuple(newest[::-1]), dropped=dropped, first_dropped=first, last_dropped=tick)
            newest.append(tick)
            tick = self._ticks.at_or_before(tick - _INSTANT)
        return Latest(ticks=tuple(newest[::-1]))

    def nearest(self, at: datetime, *, tolerance: timedelta) -> datetime | None:
        """The tick to which something that happened at `at` belongs.

        This is the last tick up to `at`, however long ago (work starts late). It is the next tick if
        that one is nearer and due within `tolerance` (a timer woke up slightly early).

        Args:
            at: When the timer woke up or the work began.
            tolerance: How early it may be.

        Returns:
            The tick, or None if the first one is not due within `tolerance`.

        Raises:
            InputInvalidError: `at` has no time zone, or `tolerance` is negative.
            ScheduleInvalidError: A rate without a start.
        """
        given: object = tolerance
        if not isinstance(given, timedelta) or given < timedelta(0):
            raise InputInvalidError("tolerance", tolerance, "zero or more")
        at = instant_of(at, "at")
        last, coming = self._ticks.at_or_before(at), self.next(at)
        if coming is not None and coming - at <= tolerance and (last is None or coming - at < at - last):
            return coming
        return last

    def preview(self, start: datetime, count: int) -> list[Preview]:
        """The next `count` ticks from `start` on (included), fewer if the timetable ends.

        Raises:
            InputInvalidError: `start` has no time zone, or `count` is not positive.
            ScheduleInvalidError: A rate without a start.
        """
        count = checked_whole(count, what="count", least=1, most=_MOST_TICKS)
        since = instant_of(start, "start")
        tick = self._ticks.at_or_after(since)
        previews: list[Preview] = []
        while tick is not None and len(previews) < count:
            notes = (note_of(self._ticks, self._zone, since=since, tick=tick), self.uncertain(tick))
            note = "; ".join(note for note in notes if note)
            previews.append(Preview(utc=tick, local=tick.astimezone(self._zone), note=note))
            since, tick = tick, self.next(tick)
        return previews

    @property
    def _kind_of_ticks(self) -> Ticks:
        """The ticks without the end."""
        return self._ticks.ticks if isinstance(self._ticks, Until) else self._ticks

    @property
    def _crons(self) -> tuple[ZonedCron, ...]:
        """The cron expressions: one, several, or none of a rate, an `at` and an interval."""
        match self._kind_of_ticks:
            case ZonedCron() as ticks:
                return (ticks,)
            case Several(parts=parts):
                return parts
            case _:
                return ()

    def _has(self, ticks: Ticks, tick: datetime, zone: tzinfo) -> bool:
        """True if the tick is one in this zone too."""
        match ticks:
            case ZonedCron():
                return replace(ticks, zone=zone).at_or_after(tick) == tick
            case Once(instant=instant):
                return instant.astimezone(self._zone).replace(tzinfo=zone) == instant
            case _:
                return True

    def _between(self, tick: datetime | None, until: datetime) -> Iterator[datetime]:
        while tick is not None and tick < until:
            yield tick
            tick = self.next(tick)

    def _count(self, first: datetime, last: datetime) -> int:
        """The number of ticks from one to another, both included."""
        if isinstance(self._ticks, Rate):
            return (last - first) // self._ticks.interval + 1
        return sum(1 for _ in islice(self._between(first, last + _INSTANT), MOST_COUNTED))


def instant_of(at: datetime, what: str) -> datetime:
    """The instant in UTC.

    Raises:
        InputInvalidError: It is no datetime, has no time zone, or is at an end of the calendar.
    """
    if not isinstance(at, datetime):
        raise InputInvalidError(what, at, "a datetime with a time zone")
    if at.utcoffset() is None:
        raise InputInvalidError(what, at.isoformat(), "a datetime with a time zone; a naive one is ambiguous")
    if not _FIRST <= at <= _LAST:
        raise InputInvalidError(what, at.isoformat(), "an instant from 0001-01-02 to 9999-12-30")
    return at.astimezone(UTC)
