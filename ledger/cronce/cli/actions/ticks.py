"""What people type for a schedule, a moment or a period, and what it means. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, time, timedelta, tzinfo
from itertools import islice
from typing import TYPE_CHECKING

from cronce.schedule import Timetable, instant_of
from cronce.vocabulary.errors import InputInvalidError
from cronce.vocabulary.names import scheduled_time_of

if TYPE_CHECKING:
    from cronce.cli.actions.host_start import HostJob
    from cronce.ecs import JobDefinition

_INSTANT = timedelta(microseconds=1)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ].+")

_ALLOWED = "a day such as 2026-11-29, or a time such as 2026-11-29T06:00:00Z; a time without a zone is read in {zone}"


def is_expression(text: str) -> bool:
    """True for a schedule expression: it has brackets or spaces, or is a macro such as `@daily`."""
    stripped = text.strip()
    return "(" in stripped or len(stripped.split()) > 1 or stripped.startswith("@")


def moment_of(text: str, timezone: str, *, what: str, end: bool = False) -> datetime:
    """The instant in UTC that a person means.

    Args:
        text: ISO 8601. A time without a zone is local time in `timezone`, as in the schedule. A day
            is its first instant.
        timezone: IANA name of the schedule's zone; its data is available.
        what: The option's name, for the error.
        end: True if a day means its last instant.

    Raises:
        InputInvalidError: It is neither a day nor a time, or it is at an end of the calendar.
    """
    zone = _zone_of(timezone)
    allowed = _ALLOWED.format(zone=timezone)
    try:
        if _DAY.fullmatch(text):
            day = datetime.combine(datetime.fromisoformat(text), time.max if end else time.min, tzinfo=zone)
            return instant_of(day.replace(fold=int(end)), what)
        if not _TIME.fullmatch(text):
            raise InputInvalidError(what, text, allowed)
        at = datetime.fromisoformat(text.upper())
        return instant_of(at if at.tzinfo else at.replace(tzinfo=zone), what)
    except (ValueError, OverflowError):
        raise InputInvalidError(what, text, allowed) from None


def ticks_between(schedule: Timetable, start: datetime, end: datetime) -> Iterator[datetime]:
    """The ticks from `start` to `end`, both included, as in "from Monday to Friday"."""
    return schedule.between(start, end + _INSTANT)


def check_is_due(definition: JobDefinition | HostJob, period: str, *, now: datetime) -> None:
    """Refuse a period that is not the one of a tick that was due.

    Any other period is another run: work done for `2026-11-29T05:00:00Z` would be repeated for
    `2026-11-29`.

    Raises:
        InputInvalidError: It is no tick's, or not due yet; the error names the periods that may be meant.
    """
    at, schedule = definition.tick_of(period), definition.schedule
    if at is not None and next(ticks_between(schedule, at, at), None) is not None:
        if at > now:
            allowed = "a period that was due: run now, it would be refused as done at its time. Or --unscheduled"
            raise InputInvalidError("PERIOD", period, allowed)
        return
    near = ", ".join(definition.period_of(tick) for tick in _meant(schedule, period, now))
    allowed = f"a tick of the schedule ({schedule.describe()}){', such as ' + near if near else ''}"
    raise InputInvalidError("PERIOD", period, f"{allowed}; or --unscheduled")


def newest_due(definition: JobDefinition | HostJob, *, now: datetime) -> str:
    """The period of the newest tick that was due.

    Raises:
        InputInvalidError: The job has no ticks that are known, or none was due yet. Nothing is taken from the clock.
    """
    allowed = "a job with a tick that was due; give the PERIOD that you mean"
    if not definition.ticks_are_known:
        raise InputInvalidError("--now", definition.job, allowed)
    until = now if definition.end is None else min(now, definition.end - _INSTANT)
    tick = definition.schedule.previous(until + _INSTANT)
    if tick is None:
        raise InputInvalidError("--now", definition.job, allowed)
    return definition.period_of(tick)


def _meant(schedule: Timetable, period: str, now: datetime) -> list[datetime]:
    """The ticks that the person may mean by that period."""
    if _DAY.fullmatch(period):
        with suppress(InputInvalidError):
            ends = (moment_of(period, schedule.timezone, what="", end=end) for end in (False, True))
            if ticks := list(islice(ticks_between(schedule, *ends), 3)):
                return ticks
    at = scheduled_time_of(period)
    around = (schedule.previous(at + _INSTANT if at else now), schedule.next(at) if at else None)
    return [tick for tick in around if tick is not None]


def _zone_of(timezone: str) -> tzinfo:
    if timezone == "UTC":
        return UTC
    from zoneinfo import ZoneInfo  # noqa: PLC0415  # the schedule has found its data already

    return ZoneInfo(timezone)


def local_of(at: datetime, timezone: str) -> datetime:
    """The instant in local time of the zone."""
    return at.astimezone(_zone_of(timezone))
