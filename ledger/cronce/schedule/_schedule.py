"""`parse`, `Schedule` and `Every`: from text to ticks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import assert_never

from cronce.schedule._cron import parse_cron
from cronce.schedule._fields import LAST_YEAR
from cronce.schedule._ticks import Once, Rate, Ticks, Until, parse_at, parse_rate
from cronce.schedule._timetable import Timetable, instant_of
from cronce.schedule._unix import unix_to_eventbridge
from cronce.schedule._words import words_of
from cronce.schedule._zoned import ZonedCron
from cronce.schedule._zones import zone_of
from cronce.schedule.errors import ScheduleInvalidError
from cronce.vocabulary.durations import format_duration
from cronce.vocabulary.errors import InputInvalidError

MAX_LENGTH = 256
"""The longest expression (Scheduler API Reference, CreateSchedule, ScheduleExpression)."""

_SECOND = timedelta(seconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Kind(StrEnum):
    """The three kinds of schedule expression."""

    CRON = "cron"
    RATE = "rate"
    AT = "at"


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule(Timetable):
    """When a job is due, as EventBridge Scheduler reads it. Made by `parse`.

    Attributes:
        kind: Which of EventBridge Scheduler's three kinds it is; `expression` has that form.
    """

    kind: Kind

    def describe(self) -> str:
        """The schedule in words: `at 06:00 on Monday to Friday, Europe/Berlin`."""
        ticks = self._ticks.ticks if isinstance(self._ticks, Until) else self._ticks
        match ticks:
            case ZonedCron(cron=cron):
                return f"{words_of(cron)}, {self.timezone}"
            case Once(instant=instant):
                return f"once at {instant.astimezone(self._zone):%Y-%m-%d %H:%M:%S}, {self.timezone}"
            case _:
                value, unit = self.expression.removeprefix("rate(").rstrip(")").split()
                often = f"every {unit}" if value == "1" else f"every {value} {unit}"
                return f"{often} from {self.start:%Y-%m-%dT%H:%M:%SZ}" if self.start else often


class Every(Timetable):
    """A tick at each whole multiple of an interval since 1970-01-01T00:00Z: `every = "10s"`."""

    __slots__ = ()

    def __init__(self, interval: timedelta) -> None:
        """Use an interval of whole seconds.

        Raises:
            InputInvalidError: It is no timedelta, or not one of whole seconds, at least one.
        """
        given: object = interval
        if not isinstance(given, timedelta) or given < _SECOND or given % _SECOND:
            raise InputInvalidError("interval", interval, "a timedelta of whole seconds, at least one")
        super().__init__(
            expression=f"every {format_duration(interval)}",
            timezone="UTC",
            start=_EPOCH,
            _zone=UTC,
            _ticks=Rate(interval=interval, start=_EPOCH),
        )

    @property
    def spelling(self) -> str:
        """The interval; the zone does not matter."""
        return self.expression


def parse(
    expression: str, *, timezone: str = "UTC", start: datetime | None = None, end: datetime | None = None
) -> Schedule:
    """The schedule that `expression` means.

    Args:
        expression: EventBridge Scheduler's `cron(...)` (six fields), `rate(...)` or `at(...)`; or
            Unix cron with five fields or a macro such as `@daily`, which becomes a `cron(...)`.
        timezone: IANA name of the zone in which a `cron` or `at` is read.
        start: The schedule's StartDate, aware. A rate counts from it and has no ticks without it.
        end: The schedule's EndDate, aware.

    Raises:
        ScheduleInvalidError: The expression is invalid or can never fire, the zone is unknown, or the
            end is not after the start; the error names the field.
    """
    _check_text(expression)
    zone = zone_of(timezone)
    start = None if start is None else instant_of(start, "start")
    end = None if end is None else instant_of(end, "end")
    if start is not None and end is not None and end <= start:
        raise ScheduleInvalidError("end", end.isoformat(), f"an instant after the start {start.isoformat()}")
    kind, inside = _split(expression.strip(" "))
    if start is not None and start.year > LAST_YEAR and kind is not Kind.AT:
        raise ScheduleInvalidError(
            "start", start.isoformat(), f"an instant up to the year {LAST_YEAR}: ticks end there"
        )
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
    if end is not None and kind is not Kind.AT:
        ticks = Until(ticks=ticks, end=end)
    return Schedule(
        kind=kind,
        expression=f"{kind}({inside})",
        timezone=timezone,
        start=start,
        end=end,
        _zone=zone,
        _ticks=ticks,
    )


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
    """The kind and the text inside its brackets; Unix cron as the equivalent `cron`."""
    for kind in Kind:
        if text.startswith(f"{kind}("):
            if not text.endswith(")"):
                raise ScheduleInvalidError("expression", text, f"{kind}(...) and nothing after the closing bracket")
            return kind, text.removeprefix(f"{kind}(").removesuffix(")")
    return Kind.CRON, unix_to_eventbridge(text)
