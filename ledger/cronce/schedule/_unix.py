"""Unix cron, five fields or a macro, said in EventBridge's six fields.

Differences that are bridged: weekdays count from 0 (and 7 is Sunday again), there is no `?` and no
year. One is not: with both day fields restricted, Unix fires when *either* matches, which
EventBridge cannot say. See crontab(5).
"""

from __future__ import annotations

from dataclasses import replace

from cronce.schedule._bits import mask_of, runs_in
from cronce.schedule._fields import DAY_NAMES, DAY_OF_MONTH, DAY_OF_WEEK, HOURS, MINUTES, MONTH, split_fields
from cronce.schedule.errors import ScheduleInvalidError

_MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}

_PLAIN = (
    replace(MINUTES, wraps=False),
    replace(HOURS, wraps=False),
    replace(DAY_OF_MONTH, wraps=False, signs=", - * /"),
    replace(MONTH, wraps=False),
)
_WEEKDAYS = replace(
    DAY_OF_WEEK,
    low=0,
    names={name: i for i, name in enumerate(DAY_NAMES)},
    steps=True,
    signs=", - * / (0 and 7 are Sunday)",
    circle=7,
)


def unix_to_eventbridge(text: str) -> str:
    """The six fields that mean what the five of `text` mean.

    Raises:
        ScheduleInvalidError: It is neither a known macro nor five fields, one of them is wrong, or
            both day fields are restricted.
    """
    if text.startswith("@"):
        macro = _MACROS.get(text.lower() if text.isascii() else text)
        if macro is None:
            raise ScheduleInvalidError("expression", text, f"of the macros only {', '.join(_MACROS)}")
        text = macro
    words = split_fields(text)
    if len(words) != len(_PLAIN) + 1:
        raise ScheduleInvalidError(
            "expression",
            text,
            "cron(six fields), rate(5 minutes), at(2026-11-29T06:00:00), @daily, or Unix cron's five fields: "
            f"minutes hours day-of-month month day-of-week; here are {len(words)}",
        )
    for field, word in zip(_PLAIN, words, strict=False):
        field.mask(word)
    minutes, hours, day_of_month, month, day_of_week = words
    weekdays = _weekdays(day_of_week)
    if day_of_week == "*":
        day_of_week = "?"
    elif day_of_month == "*":
        day_of_month, day_of_week = "?", weekdays
    else:
        raise ScheduleInvalidError(
            "day-of-week",
            day_of_week,
            f"* beside day-of-month {day_of_month}: Unix cron fires when either matches, "
            "EventBridge cannot; make it two schedules",
        )
    return f"{minutes} {hours} {day_of_month} {month} {day_of_week} *"


def _weekdays(text: str) -> str:
    """AWS's spelling of a Unix day-of-week field: names, so that nobody counts from 0 or 1."""
    mask = _WEEKDAYS.mask(text)
    if mask == mask_of(range(7)):
        return "*"
    return ",".join(
        DAY_NAMES[low] if low == high else f"{DAY_NAMES[low]}-{DAY_NAMES[high]}" for low, high in runs_in(mask)
    )
