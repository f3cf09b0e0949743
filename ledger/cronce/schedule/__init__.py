"""Schedules: EventBridge Scheduler's expressions and Unix cron, as ticks in a time zone.

    schedule = parse("0 6 * * 1-5", timezone="Europe/Berlin")
    schedule.expression       # "cron(0 6 ? * MON-FRI *)"
    schedule.next(now)        # the first tick strictly after `now`, in UTC

    parse("0 6 * * 1-5; 0 9 * * 0")     # due whenever one of several cron expressions is

`_schedule` parses an expression: `_unix` converts five fields to six; `_cron` holds the six as sets, parsed
by `_fields` and `_days`; `_zoned` places them in a time zone of `_zones`; `_ticks` has the two simple kinds.
`_timetable` has what every timetable answers, `_words` the texts for people.
"""

from cronce.schedule._schedule import MAX_LENGTH, MOST_EXPRESSIONS, Every, Kind, Schedule, expressions_in, joined, parse
from cronce.schedule._timetable import MOST_COUNTED, Latest, PeriodForm, Preview, Timetable, instant_of
from cronce.schedule._zones import ZoneData, zone_data
from cronce.schedule.errors import ScheduleInvalidError

__all__ = [
    "MAX_LENGTH",
    "MOST_COUNTED",
    "MOST_EXPRESSIONS",
    "Every",
    "Kind",
    "Latest",
    "PeriodForm",
    "Preview",
    "Schedule",
    "ScheduleInvalidError",
    "Timetable",
    "ZoneData",
    "expressions_in",
    "instant_of",
    "joined",
    "parse",
    "zone_data",
]
