"""Facts about the ticks of an expression: how far they are apart, and which days daylight saving takes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import pairwise

from cronce.schedule._schedule import Kind, Schedule, parse

# Ticks are computed from fixed dates, so that the facts do not depend on when somebody asks.
_REFERENCE = datetime(2024, 1, 1, tzinfo=UTC)
_YEAR = 2026
_HOUR_WITHOUT_MINUTE = re.compile(r"cron\(\* (?!\*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """A parsed schedule and facts about its ticks.

    Attributes:
        schedule: The ticks.
        interval: The shortest time between two ticks; None with fewer than two ticks.
        longest: The longest time between two ticks, likewise.
        lost: The local time that daylight saving skips, of a schedule that is due at most once a day; else empty.
    """

    schedule: Schedule
    interval: timedelta | None
    longest: timedelta | None
    lost: str

    @property
    def has_hour_without_minute(self) -> bool:
        """True for an hour with `*` as its minute: it is due in each of the 60 minutes, and once is meant."""
        return _HOUR_WITHOUT_MINUTE.search(self.schedule.expression) is not None


@lru_cache(maxsize=1024)
def analyse(expression: str, timezone: str, start: datetime | None = None, end: datetime | None = None) -> Analysis:
    """Return the schedule and the facts.

    Raises:
        ScheduleInvalidError: As `parse`.
    """
    asked = parse(expression, timezone=timezone, start=start, end=end)
    # The distances between ticks do not depend on where they begin and end.
    schedule = parse(expression, timezone=timezone, start=_REFERENCE if asked.kind is Kind.RATE else None)
    ticks = [_REFERENCE]
    while len(ticks) < 30 and (tick := schedule.next(ticks[-1])):
        ticks.append(tick)
    gaps = [later - earlier for earlier, later in pairwise(ticks[1:])]
    interval = min(gaps, default=None)
    if schedule.expressions[1:]:
        lost = "; ".join(filter(None, (analyse(each, timezone).lost for each in schedule.expressions)))
    else:
        daily = interval is None or interval >= timedelta(hours=20)
        lost = _lost(schedule, timezone) if schedule.kind is Kind.CRON and timezone != "UTC" and daily else ""
    return Analysis(schedule=asked, interval=interval, longest=max(gaps, default=None), lost=lost)


def _lost(schedule: Schedule, timezone: str) -> str:
    from zoneinfo import ZoneInfo  # noqa: PLC0415  # not for UTC, whose data a slim machine may lack

    place, lost = ZoneInfo(timezone), ""
    for day in (datetime(_YEAR, 1, 1, tzinfo=UTC) + timedelta(days=n) for n in range(365)):
        if day.astimezone(place).utcoffset() != (day + timedelta(days=1)).astimezone(place).utcoffset():
            notes = [preview.note for preview in schedule.preview(day - timedelta(days=1), 3)]
            lost = next((note for note in notes if "does not exist" in note), lost)
    return lost
