"""`parse`, `Schedule` and `Every`: from text to ticks."""

from __future__ import annotations

from collections.abc import Sequence
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
from cronce.schedule._zoned import Several, ZonedCron
from cronce.schedule._zones import zone_of
from cronce.schedule.errors import ScheduleInvalidError
from cronce.vocabulary.durations import format_duration
from cronce.vocabulary.errors import InputInvalidError

MAX_LENGTH = 256
"""The longest expression (Scheduler API Reference, CreateSchedule, ScheduleExpression)."""

MOST_EXPRESSIONS = 10
"""Expressions of one schedule; each is a schedule of EventBridge."""

_BETWEEN = "; "
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

    @property
    def expressions(self) -> tuple[str, ...]:
        """Each expression alone: EventBridge Scheduler has a schedule for each."""
        return expressions_in(self.expression)

    def describe(self) -> str:
        """The schedule in words: `at 06:00 on Monday to Friday, Europe/Berlin`."""
        ticks = self._ticks.ticks if isinstance(self._ticks, Until) else self._ticks
        match ticks:
            case ZonedCron(cron=cron):
                return f"{words_of(cron)}, {self.timezone}"
            case Several(parts=parts):
                return f"{', and '.join(words_of(part.cron) for part in parts)}, {self.timezone}"
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
            Unix cron with five fields or a macro such as `@daily`, which becomes a `cron(...)`. Or several
            cron expressions with `;` between them: due whenever one of them is, once when two are.
        timezone: IANA name of the zone in which a `cron` or `at` is read.
        start: The schedule's StartDate, aware. A rate counts from it and has no ticks without it.
        end: The schedule's EndDate, aware.

    Raises:
        ScheduleInvalidError: The expression is invalid or can never fire, the zone is unknown, or the
            end is not after the start; the error names the field.
    """
    split = _split(expression)
    zone = zone_of(timezone)
    start = None if start is None else instant_of(start, "start")
    end = None if end is None else instant_of(end, "end")
    if start is not None and end is not None and end <= start:
        raise ScheduleInvalidError("end", end.isoformat(), f"an instant after the start {start.isoformat()}")
    kind, inside = split[0]
    if start is not None and start.year > LAST_YEAR and kind is not Kind.AT:
        raise ScheduleInvalidError(
            "start", start.isoformat(), f"an instant up to the year {LAST_YEAR}: ticks end there"
        )
    ticks: Ticks
    match kind:
        case Kind.CRON:
            crons, insides = zip(*(parse_cron(each) for _, each in split), strict=True)
            if twice := next((each for place, each in enumerate(insides) if each in insides[:place]), None):
                raise ScheduleInvalidError("expression", f"cron({twice})", "each expression once")
            parts = tuple(ZonedCron(cron=cron, zone=zone, start=start) for cron in crons)
            ticks, inside = (Several(parts=parts) if parts[1:] else parts[0]), f"){_BETWEEN}cron(".join(insides)
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


def _checked_text(expression: object) -> str:
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
    return expression.strip(" ")


def joined(expressions: Sequence[object]) -> str:
    """Several expressions as one text, as `parse` reads it.

    Raises:
        ScheduleInvalidError: There is none, or one is no text.
    """
    texts = [each for each in expressions if isinstance(each, str)]
    if not texts or len(texts) < len(expressions):
        raise ScheduleInvalidError("expression", expressions, "a list of cron expressions")
    return _BETWEEN.join(texts)


def expressions_in(text: str) -> tuple[str, ...]:
    """Each expression of the text alone, unchecked."""
    return tuple(each.strip() for each in text.split(_BETWEEN.strip()))


def _split(expression: object) -> list[tuple[Kind, str]]:
    """The expressions in the text, each as its kind and the text inside its brackets."""
    texts = expression.split(_BETWEEN.strip()) if isinstance(expression, str) else [expression]
    split = [part for text in texts[: MOST_EXPRESSIONS + 1] for part in _split_one(_checked_text(text))]
    if len(split) > MOST_EXPRESSIONS:
        raise ScheduleInvalidError("expression", f"more than {MOST_EXPRESSIONS} of them", f"at most {MOST_EXPRESSIONS}")
    if split[1:] and (other := next((f"{kind}({inside})" for kind, inside in split if kind is not Kind.CRON), None)):
        allowed = "only cron expressions beside others: a rate counts from a moment, and an at is due once"
        raise ScheduleInvalidError("expression", other, allowed)
    return split


def _split_one(text: str) -> list[tuple[Kind, str]]:
    """The kind and the text inside its brackets; Unix cron as the equivalent `cron`, or as two."""
    for kind in Kind:
        if text.startswith(f"{kind}("):
            if not text.endswith(")"):
                raise ScheduleInvalidError("expression", text, f"{kind}(...) and nothing after the closing bracket")
            return [(kind, text.removeprefix(f"{kind}(").removesuffix(")"))]
    return [(Kind.CRON, fields) for fields in unix_to_eventbridge(text)]
