"""What a change of the clocks does to a tick, said in one line for a preview."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, tzinfo

from cronce.schedule._ticks import Rate, Ticks
from cronce.schedule._zoned import ZonedCron

_DAY = timedelta(days=1)


def note_of(ticks: Ticks, zone: tzinfo, *, since: datetime, tick: datetime) -> str:
    """What is odd about `tick` or was lost between `since` (the tick before) and it; else empty."""
    match ticks:
        case ZonedCron():
            notes = [_lost(ticks.skipped(since, tick)), _repeated(ticks, tick)]
            return "; ".join(note for note in notes if note)
        case Rate(interval=interval) if interval % _DAY == timedelta(0):
            return _moved(since.astimezone(zone), tick.astimezone(zone)) if tick - since == interval else ""
        case _:
            return ""


def _lost(skipped: Sequence[datetime]) -> str:
    """`02:30 does not exist on 2026-03-08: skipped`, for one lost time a day or many."""
    days: dict[str, list[str]] = {}
    for wall in skipped:
        days.setdefault(f"{wall:%Y-%m-%d}", []).append(f"{wall:%H:%M}")
    return "; ".join(
        f"{times[0]} does not exist on {day}: skipped"
        if len(times) == 1
        else f"{times[0]} to {times[-1]} do not exist on {day}: {len(times)} ticks skipped"
        for day, times in days.items()
    )


def _repeated(ticks: ZonedCron, tick: datetime) -> str:
    if not ticks.twice(tick):
        return ""
    local = tick.astimezone(ticks.zone)
    fact = f"{local:%H:%M} comes twice on {local:%Y-%m-%d}"
    if not ticks.cron.every_hour:
        return f"{fact}, fires once"
    return f"{fact}, fires both times: this is the {'second' if local.fold else 'first'}"


def _moved(last: datetime, local: datetime) -> str:
    if last.utcoffset() == local.utcoffset():
        return ""
    return f"a day of a rate is 24 hours: local time moves from {last:%H:%M} to {local:%H:%M}"
