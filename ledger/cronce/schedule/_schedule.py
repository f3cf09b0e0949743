"""`parse` and `Schedule`: from the text of a schedule to its ticks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum
from typing import assert_never

from cronce.schedule._cron import parse_cron
from cronce.schedule._notes import note_of
from cronce.schedule._ticks import Once, Ticks, parse_at, parse_rate
from cronce.schedule._unix import unix_to_eventbridge
from cronce.schedule._words import words_of
from cronce.schedule._zoned import ZonedCron
from cronce.schedule._zones import zone_of
from cronce.schedule.errors import ScheduleInvalidError
from cronce.vocabulary.errors import InputInvalidError

MAX_LENGTH = 256
"""The longest expression (Scheduler API Reference, CreateSchedule, ScheduleExpression)."""

_INSTANT = timedelta(microseconds=1)


class Kind(StrEnum):
    """How a schedule says when."""

    CRON = "cron"
    RATE = "rate"
    AT = "at"


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """A tick as people want to see it before they trust a schedule.

    Attributes:
        utc: The tick.
        local: The same instant on the clocks of the schedule's zone.
        note: What a change of the clocks does to this tick or did to others since the tick before;
            empty if nothing.
    """

    utc: datetime
    local: datetime
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When a job is due. Made by `parse`; two schedules are equal if they say the same.

    Instants go in aware, in any zone, and come out in UTC on whole seconds. Ticks rise strictly.

    Attributes:
        kind: Which of EventBridge Scheduler's three it is.
        expression: EventBridge Scheduler's form: `cron(...)`, `rate(...)` or `at(...)`.
        timezone: The IANA zone that `cron` and `at` are read in.
        start: Before this there are no ticks, and a rate counts from here; `at` pays it no heed.
    """

    kind: Kind
    expression: str
    timezone: str
    start: datetime | None
    _zone: tzinfo = field(repr=False, compare=False)
    _ticks: Ticks = field(repr=False, compare=False)

    def next(self, after: datetime) -> datetime | None:
        """The first tick strictly after `after`; None if there is none until the year 2199 ends.

        Raises:
            InputInvalidError: `after` has no time zone.
            ScheduleInvalidError: A rate without a start.
        """
        return self._ticks.at_or_after(_later(_utc(after, "after")))

    def previous(self, before: datetime) -> datetime | None:
        """The last tick strictly before `before`; None if there is none.

        Raises:
            InputInvalidError: `before` has no time zone.
            ScheduleInvalidError: A rate without a start.
        """
        return self._ticks.at_or_before(_earlier(_utc(before, "before")))

    def between(self, start: datetime, end: datetime) -> Iterator[datetime]:
        """The ticks of the half-open span: `start` is included, `end` is not.

        Spans that share an end therefore share no tick.

        Raises:
            InputInvalidError: An end has no time zone, or the span runs backwards.
            ScheduleInvalidError: A rate without a start.
        """
        since, until = _utc(start, "start"), _utc(end, "end")
        if until < since:
            raise InputInvalidError("end", end.isoformat(), f"an instant not before the start {start.isoformat()}")
        return self._between(self._ticks.at_or_after(since), until)

    def nearest(self, at: datetime, *, tolerance: timedelta) -> datetime | None:
        """The tick that something which happened at `at` belongs to.

        That is the last tick up to `at`, however long ago (work starts late), unless the coming
        tick is nearer and due within `tolerance` (a timer woke up a little early).

        Args:
            at: When the timer woke up or the work began.
            tolerance: How early it may be.

        Returns:
            The tick, or None if the first one is not due within `tolerance`.

        Raises:
            InputInvalidError: `at` has no time zone, or `tolerance` is negative.
            ScheduleInvalidError: A rate without a start.
        """
        if tolerance < timedelta(0):
            raise InputInvalidError("tolerance", tolerance, "zero or more")
        at = _utc(at, "at")
        last, coming = self._ticks.at_or_before(at), self.next(at)
        if coming is not None and coming - at <= tolerance and (last is None or coming - at < at - last):
            return coming
        return last

    def preview(self, start: datetime, count: int) -> list[Preview]:
        """The next `count` ticks from `start` on (included), fewer if the schedule ends.

        Raises:
            InputInvalidError: `start` has no time zone, or `count` is not positive.
            ScheduleInvalidError: A rate without a start.
        """
        if count < 1:
            raise InputInvalidError("count", count, "1 or more")
        since = _utc(start, "start")
        tick = self._ticks.at_or_after(since)
        previews: list[Preview] = []
        while tick is not None and len(previews) < count:
            note = note_of(self._ticks, self._zone, since=since, tick=tick)
            previews.append(Preview(utc=tick, local=tick.astimezone(self._zone), note=note))
            since, tick = tick, self.next(tick)
        return previews

    def describe(self) -> str:
        """The schedule in words: `at 06:00 on Monday to Friday, Europe/Berlin`."""
        match self._ticks:
            case ZonedCron(cron=cron):
                return f"{words_of(cron)}, {self.timezone}"
            case Once(instant=instant):
                return f"once at {instant.astimezone(self._zone):%Y-%m-%d %H:%M:%S}, {self.timezone}"
            case _:
                value, unit = self.expression.removeprefix("rate(").rstrip(")").split()
                often = f"every {unit}" if value == "1" else f"every {value} {unit}"
                return f"{often} from {self.start:%Y-%m-%dT%H:%M:%SZ}" if self.start else often

    def _between(self, tick: datetime | None, until: datetime) -> Iterator[datetime]:
        while tick is not None and tick < until:
            yield tick
            tick = self.next(tick)


def parse(expression: str, *, timezone: str = "UTC", start: datetime | None = None) -> Schedule:
    """The schedule that `expression` says.

    Args:
        expression: EventBridge Scheduler's `cron(...)` (six fields), `rate(...)` or `at(...)`; or
            Unix cron with five fields or a macro such as `@daily`, which becomes a `cron(...)`.
        timezone: IANA name of the zone that a `cron` or `at` is read in.
        start: The schedule's StartDate, aware. A rate counts from it and has no ticks without.

    Raises:
        ScheduleInvalidError: It is not a schedule, can never fire, or the zone cannot be had; the
            error names the field.
    """
    _check_text(expression)
    zone = zone_of(timezone)
    if start is not None:
        start = _utc(start, "start")
    kind, inside = _split(expression.strip(" "))
    ticks: Ticks
    match kind:
        case Kind.CRON:
            cron, inside = parse_cron(inside)
            ticks = ZonedCron(cron=cron, zone=zone, start=start)
        case Kind.RATE:
            ticks, inside = parse_rate(inside, start)
        case Kind.AT:
            ticks, inside = parse_at(inside, zone)
        case _:
            assert_never(kind)
    return Schedule(kind=kind, expression=f"{kind}({inside})", timezone=timezone, start=start, _zone=zone, _ticks=ticks)


def _check_text(expression: object) -> None:
    if not isinstance(expression, str) or not expression.strip():
        raise ScheduleInvalidError(
            "expression", expression, "cron(...), rate(...), at(...) or five fields of Unix cron"
        )
    if len(expression) > MAX_LENGTH:
        raise ScheduleInvalidError("expression", expression, f"at most {MAX_LENGTH} characters")
    if not expression.isprintable():
        raise ScheduleInvalidError(
            "expression", expression, "one line, fields separated by spaces, no control characters"
        )


def _split(text: str) -> tuple[Kind, str]:
    """The kind, and what stands in its brackets; Unix cron as the `cron` that means the same."""
    for kind in Kind:
        if text.startswith(f"{kind}("):
            if not text.endswith(")"):
                raise ScheduleInvalidError("expression", text, f"{kind}(...) and nothing after the closing bracket")
            return kind, text.removeprefix(f"{kind}(").removesuffix(")")
    return Kind.CRON, unix_to_eventbridge(text)


def _utc(at: datetime, what: str) -> datetime:
    if at.tzinfo is None or at.utcoffset() is None:
        raise InputInvalidError(what, at.isoformat(), "a datetime with a time zone; a naive one could mean any")
    try:
        return at.astimezone(UTC)
    except OverflowError:
        raise InputInvalidError(what, at.isoformat(), "an instant of the years 1 to 9999 in UTC") from None


def _later(at: datetime) -> datetime:
    return at + _INSTANT if at < datetime.max.replace(tzinfo=UTC) else at


def _earlier(at: datetime) -> datetime:
    return at - _INSTANT if at > datetime.min.replace(tzinfo=UTC) else at
