"""Schedules: EventBridge Scheduler's expressions and Unix cron, as ticks in a time zone.

    schedule = parse("0 6 * * 1-5", timezone="Europe/Berlin")
    schedule.expression       # "cron(0 6 ? * MON-FRI *)"
    schedule.next(now)        # the first tick strictly after `now`, in UTC

From the text inwards: `_schedule` (the public door) takes an expression apart; `_unix` brings five
fields to six; `_cron` holds the six as sets, read by `_fields` and `_days`; `_zoned` puts them on the
clocks of a zone; `_ticks` has the two simple kinds; `_words` and `_notes` tell people about it.
"""

from cronce.schedule._every import Every
from cronce.schedule._schedule import MAX_LENGTH, Kind, Preview, Schedule, parse
from cronce.schedule.errors import ScheduleInvalidError

__all__ = ["MAX_LENGTH", "Every", "Kind", "Preview", "Schedule", "ScheduleInvalidError", "parse"]
