"""Which tick of a schedule a foreign clock means that starts `cronce exec` now: crontab, a systemd timer, a CI."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from cronce.schedule import ScheduleInvalidError, Timetable, parse
from cronce.vocabulary.durations import format_duration, parse_duration
from cronce.vocabulary.environment import PERIOD, SCHEDULED_TIME
from cronce.vocabulary.errors import InputInvalidError
from cronce.vocabulary.names import period_of

EARLY = timedelta(seconds=5)
"""How early the clock may be: two hosts may differ by this."""

TOLERANCE = "30s"

_BELONGS = ("timezone", "tolerance")


def with_scheduled_time(options: Mapping[str, str], environ: Mapping[str, str], now: datetime) -> dict[str, str]:
    """The options with the nominal time of the tick just due, in place of the schedule.

    A period or a nominal time in the environment takes precedence: somebody has chosen it.

    Raises:
        InputInvalidError: An option cannot be used, or not exactly one tick was just due.
    """
    rest = {name: text for name, text in options.items() if name not in ("schedule", *_BELONGS)}
    if "schedule" not in options:
        alone = next(each for each in _BELONGS if each in options)
        raise InputInvalidError(f"--{alone}", options[alone], f"no --{alone} without --schedule")
    if chosen := next((each for each in ("period", "scheduled_time") if each in options), None):
        option = f"--{chosen}".replace("_", "-")
        raise InputInvalidError(option, options[chosen], f"no {option} with --schedule, which derives it")
    tolerance = parse_duration(options.get("tolerance", TOLERANCE), what="--tolerance")
    try:
        schedule = parse(options["schedule"], timezone=options.get("timezone", "UTC"))
        if environ.get(PERIOD) or environ.get(SCHEDULED_TIME):
            return rest
        return rest | {"scheduled_time": period_of(tick_just_due(schedule, now, tolerance))}
    except ScheduleInvalidError as error:
        called = {"timezone": "--timezone", "start": "--schedule"}.get(error.field)
        raise error if called is None else error.called(called) from None


def tick_just_due(schedule: Timetable, now: datetime, tolerance: timedelta) -> datetime:
    """The one tick later than `now - tolerance` and not later than `now` and 5 s. Pure.

    Raises:
        InputInvalidError: There is none, or there are several, and a late start would take the next tick's place.
    """
    found = schedule.latest(after=now - tolerance, until=now + EARLY, most=2).ticks
    if len(found) == 1:
        return found[0]
    within = format_duration(tolerance)
    if found:
        allowed = f"a --tolerance that is shorter than the time between two ticks, less 5s: {within} has several"
        raise InputInvalidError("--schedule", schedule.describe(), allowed)
    last = schedule.previous(now)
    told = f"its last one was at {period_of(last)}" if last else "it has none before that"
    allowed = f"a schedule with a tick in the last {within} before {period_of(now.astimezone(UTC))}; {told}."
    raise InputInvalidError("--schedule", schedule.describe(), f"{allowed} Or give --period")
