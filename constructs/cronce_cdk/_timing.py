"""When a job is due: from the construct's arguments to the properties of a schedule."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta

import aws_cdk as cdk
from aws_cdk import aws_scheduler as scheduler

from cronce.schedule import Kind, PeriodForm, Schedule, ScheduleInvalidError, joined
from cronce.schedule.analysis import analyse
from cronce.vocabulary.errors import InputInvalidError
from cronce_cdk._checks import Tree, is_token, refusal

_LONGEST_RETRY = timedelta(hours=24)
_SHORTEST_RETRY = timedelta(minutes=1)
_USUAL_RETRY = timedelta(hours=1)
_MOST_RETRIES = 185


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """A schedule as EventBridge Scheduler takes it, and facts about its ticks.

    Attributes:
        expression: `cron(...)`, `rate(...)`, `at(...)`, or a token; several `cron(...)` with `; ` between them.
        timezone: The IANA zone, or a token.
        interval: The shortest time between two ticks; None with fewer than two ticks or a token.
        longest: The longest time between two ticks, likewise.
        caution: Why some of its ticks are uncertain, such as those of 31W; else empty.
        lost: The local time that daylight saving skips, of a schedule that is due at most once a day; else empty.
        schedule: The ticks; None if the expression is a token. A rate starts at a fixed date.
    """

    expression: str
    timezone: str
    interval: timedelta | None = None
    longest: timedelta | None = None
    lost: str = ""
    caution: str = ""
    schedule: Schedule | None = None

    @property
    def expressions(self) -> tuple[str, ...]:
        """Each expression alone: EventBridge Scheduler has a schedule for each."""
        return (self.expression,) if self.schedule is None else self.schedule.expressions

    @property
    def starts_when_made(self) -> bool:
        """True for a rate without a start: EventBridge Scheduler counts from the schedule's creation."""
        return self.schedule is not None and self.schedule.kind is Kind.RATE and self.schedule.start is None


ON_REQUEST = Timing(expression="at(2199-12-31T23:59:59)", timezone="UTC")
"""Of a job that only people start: the last moment that EventBridge Scheduler knows. Every schedule needs one."""


def timing_of(
    scope: Tree, schedule: object, timezone: object, *, start: datetime | None = None, end: datetime | None = None
) -> Timing:
    """Return the timing of `schedule` in `timezone`, between `start` and `end`.

    Raises:
        ConstructConfigError: The schedule or zone is invalid, they contradict each other, or the schedule has an hour
            without a minute.
    """
    zone = _zone_name(scope, timezone)
    texts: list[object] = []
    several = isinstance(schedule, list | tuple)
    for each in schedule if isinstance(schedule, list | tuple) else [schedule]:
        if isinstance(each, scheduler.ScheduleExpression):
            texts.append(each.expression_string)
            own = each.time_zone.timezone_name if each.time_zone else None
            if own not in (None, "Etc/UTC"):
                if zone not in (None, own):
                    raise refusal(scope, "timezone", zone, f"{own}, which the schedule sets already, or None")
                zone = own
        else:
            texts.append(each)
        if several and is_token(texts[-1]):
            raise refusal(scope, "schedule", texts[-1], "a list of expressions that are known at synth")
    zone = zone or "UTC"
    try:
        text: object = joined(texts) if several else texts[0]
    except ScheduleInvalidError as error:
        raise refusal(scope, "schedule", texts, error.allowed) from error
    if is_token(text) or is_token(zone):
        return Timing(expression=str(text), timezone=zone)
    try:
        # Only text can be a key of the cache; anything else is refused.
        analysis = (analyse if isinstance(text, str) else analyse.__wrapped__)(text, zone, start, end)
    except ScheduleInvalidError as error:
        if error.field in ("start", "end"):
            raise refusal(scope, error.field, error.value, error.allowed) from error
        argument = "timezone" if error.field == "timezone" else "schedule"
        shown = text if argument == "schedule" else error.value
        raise refusal(scope, argument, shown, f"{error.field} {error.value!r}: {error.allowed}") from error
    except InputInvalidError as error:  # an instant at an end of the calendar
        raise refusal(scope, error.what, error.value, error.allowed) from error
    if analysis.has_hour_without_minute:
        raise refusal(
            scope,
            "schedule",
            text,
            "an hour with a minute: this is due in each of its 60 minutes (minute='0' for once, */1 for all 60)",
        )
    return Timing(
        expression=analysis.schedule.expression,
        timezone=zone,
        interval=analysis.interval,
        longest=analysis.longest,
        lost=analysis.lost,
        caution=analysis.schedule.caution,
        schedule=analysis.schedule,
    )


def is_by_date(scope: Tree, period: object, timing: Timing) -> bool:
    """Return True if the period of a run is the local day of its tick."""
    if period is None:
        return False
    if timing is ON_REQUEST:
        raise refusal(scope, "period", period, "no period for a job without a schedule: who starts it names the period")
    if not isinstance(period, str) or period not in set(PeriodForm):
        raise refusal(scope, "period", period, ", ".join(PeriodForm))
    form = PeriodForm(period)
    if timing.schedule is not None:
        try:
            timing.schedule.check_period_form(form)
        except ScheduleInvalidError as error:
            raise refusal(scope, "period", period, error.allowed) from error
    return form is PeriodForm.DATE


def retry_policy(interval: timedelta | None, starting_deadline: timedelta | None) -> tuple[int, int]:
    """Return how long (in seconds) and how often EventBridge Scheduler retries to start the task of a tick.

    It retries until the starting deadline; without one until the next tick, and at most an hour. Its default, 185
    retries in 24 hours, starts a 06:00 job a day late.
    """
    longest = starting_deadline or min(interval or _USUAL_RETRY, _USUAL_RETRY)
    longest = min(max(longest, _SHORTEST_RETRY), _LONGEST_RETRY)
    return int(longest.total_seconds()), min(math.ceil(longest / timedelta(minutes=1)), _MOST_RETRIES)


def _zone_name(scope: Tree, timezone: object) -> str | None:
    if timezone is None or isinstance(timezone, str):
        return timezone
    if isinstance(timezone, cdk.TimeZone):
        return timezone.timezone_name
    raise refusal(scope, "timezone", timezone, "an IANA name such as Europe/Berlin, or an aws_cdk.TimeZone")
