"""Unix cron, five fields or a macro, converted to EventBridge's six fields.

Converted: weekdays count from 0 (7 is Sunday too), there is no `?` and no year. The two day fields follow
crontab(5): a field that begins with `*` does not restrict, so a day must match *both* fields; if neither
begins with `*`, a day must match *either*. EventBridge takes only one day field: of two that must match both, most
combinations are refused, and two of which either is enough become two expressions. A refusal has the expression that
does the same, where there is one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from zlib import crc32

from cronce.schedule._cron import parse_cron
from cronce.schedule._fields import (
    DAY_NAMES,
    DAY_OF_MONTH,
    DAY_OF_WEEK,
    HOURS,
    MINUTES,
    MONTH,
    mask_of,
    runs_in,
    split_fields,
)
from cronce.schedule._ticks import rate_of
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
_FIVE = len(_PLAIN) + 1
_ALL_DAYS = mask_of(range(1, 32))
_ALL_WEEKDAYS = mask_of(range(7))
_WEEKS = {mask_of(range(first, min(first + 7, 32))): nth for nth, first in enumerate((1, 8, 15, 22, 29), 1)}

_ZONE = re.compile(r"(?:CRON_)?TZ=(?P<zone>\S+)\s+(?P<rest>.+)", re.IGNORECASE)
_EVERY = re.compile(r"@every\s+(?:(?P<h>[0-9]{1,6})h)?(?:(?P<m>[0-9]{1,6})m)?(?:(?P<s>[0-9]{1,8})s)?")
_HASH = re.compile(r"H(?:\((?P<low>[0-9]{1,2})-[0-9]{1,2}\))?(?P<step>/[0-9]{1,2})?")
_SPREAD = (range(60), range(24), range(1, 29), range(1, 13), range(7))
_SIGN = re.compile(r"[?#L]|[0-9]W")
_STEP_OF_SECONDS = re.compile(r"\*(?:/(?P<step>[0-9]{1,2}))?")


def unix_to_eventbridge(text: str) -> tuple[str, ...]:
    """The six fields that mean the same as the five fields or the macro in `text`; twice if either day field counts.

    Raises:
        ScheduleInvalidError: `text` is neither a known macro nor five fields, a field is invalid, or
            EventBridge has no expression for the two day fields together.
    """
    if (instead := _other_dialect(text)) is not None:
        raise instead
    if text.startswith("@"):
        macro = _MACROS.get(text.lower() if text.isascii() else text)
        if macro is None:
            raise ScheduleInvalidError("expression", text, f"of the macros only {', '.join(_MACROS)}")
        text = macro
    words = split_fields(text)
    if len(words) != _FIVE:
        raise ScheduleInvalidError(
            "expression",
            text,
            "cron(six fields), rate(5 minutes), at(2026-11-29T06:00:00), @daily, or Unix cron's five fields: "
            f"minutes hours day-of-month month day-of-week; got {len(words)}",
        )
    for field, word in zip(_PLAIN, words, strict=False):
        field.mask(word)
    minutes, hours, day_of_month, month, day_of_week = words
    return tuple(
        f"{minutes} {hours} {days} {month} {weekdays} *" for days, weekdays in _days(day_of_month, day_of_week)
    )


def _days(day_of_month: str, day_of_week: str) -> list[tuple[str, str]]:
    """EventBridge's two day fields for the two of Unix cron; two such pairs if either of these is enough."""
    days, weekdays = _PLAIN[2].mask(day_of_month), _WEEKDAYS.mask(day_of_week)
    both = day_of_month.startswith("*") or day_of_week.startswith("*")
    if days == _ALL_DAYS and weekdays == _ALL_WEEKDAYS:
        return [("?", "*") if day_of_month == "*" != day_of_week else ("*", "?")]
    if weekdays == _ALL_WEEKDAYS:
        return [((day_of_month if both else "*"), "?")]
    if days == _ALL_DAYS:
        return [("?", _names(weekdays)) if both else ("*", "?")]
    if both and days in _WEEKS and weekdays.bit_count() == 1:
        return [("?", f"{_names(weekdays)}#{_WEEKS[days]}")]
    if both:
        raise ScheduleInvalidError(
            "day-of-week",
            day_of_week,
            f"* with day-of-month {day_of_month}: in Unix cron a day field that begins with * does not restrict, so "
            "both must match, and EventBridge cannot combine the two; keep one of them and test the day in the job",
        )
    return [(day_of_month, "?"), ("?", _names(weekdays))]


def _names(mask: int) -> str:
    """EventBridge's day-of-week field for a set that counts from Sunday, 0; names avoid 0 or 1 for Sunday."""
    return ",".join(
        DAY_NAMES[low] if low == high else f"{DAY_NAMES[low]}-{DAY_NAMES[high]}" for low, high in runs_in(mask)
    )


def _other_dialect(text: str) -> ScheduleInvalidError | None:
    """The refusal of an expression that another program understands, with what to write instead."""
    if match := _ZONE.fullmatch(text):
        allowed = f"no zone in the expression; write {match['rest']} and timezone={match['zone']!r}"
        return ScheduleInvalidError("expression", text, allowed)
    if text.lower().startswith("@every"):
        return ScheduleInvalidError("expression", text, _instead_of_every(text))
    words = split_fields(text)
    if (other := _signs(words)) is not None:
        field, word = (DAY_OF_MONTH, words[2]) if _SIGN.search(words[2]) else (DAY_OF_WEEK, words[4])
        return ScheduleInvalidError(field.name, word, f"{other}; ? L W # need EventBridge's six fields")
    if (other := _hash(words) or _seconds(words)) is not None:
        return ScheduleInvalidError("expression", text, other)
    return None


def _instead_of_every(text: str) -> str:
    match = _EVERY.fullmatch(text.lower())
    hours, minutes, seconds = (int(match[unit] or 0) for unit in "hms") if match else (0, 0, 0)
    whole = hours * 3600 + minutes * 60 + seconds
    if whole == 0:
        return "rate(5 minutes), rate(1 hour), rate(1 day)"
    return rate_of(whole)


def _hash(words: list[str]) -> str | None:
    """With numbers in place of Jenkins's `H`, which spreads jobs over the hour or the day."""
    if len(words) != _FIVE or not any(_HASH.fullmatch(word) for word in words):
        return None

    def number(match: re.Match[str], values: range) -> str:
        low = match["low"] or ("*" if match["step"] else values[crc32(" ".join(words).encode()) % len(values)])
        return f"{low}{match['step'] or ''}"

    chosen = [
        number(match, values) if (match := _HASH.fullmatch(word)) else word
        for word, values in zip(words, _SPREAD, strict=True)
    ]
    return _if_valid(
        lambda: unix_to_eventbridge(" ".join(chosen)), f"numbers in place of Jenkins's H: {' '.join(chosen)}"
    )


def _signs(words: list[str]) -> str | None:
    """As six fields, if one of the five has a sign that only EventBridge reads."""
    if len(words) != _FIVE:
        return None
    minutes, hours, day_of_month, month, day_of_week = words
    if not _SIGN.search(day_of_month) and not _SIGN.search(re.sub("[A-Z]{3}", "", day_of_week)):
        return None
    # Unix counts weekdays from 0, EventBridge from 1: names leave no doubt. The number behind # is not a day.
    day_of_week = re.sub(r"(?<![#0-9/])[0-7](?![0-9])", lambda day: DAY_NAMES[int(day[0]) % 7], day_of_week)
    if day_of_month == "*" and day_of_week != "?":
        day_of_month = "?"
    elif day_of_week == "*" and day_of_month != "?":
        day_of_week = "?"
    six = f"{minutes} {hours} {day_of_month} {month} {day_of_week} *"
    return _if_valid(lambda: parse_cron(six), f"cron({six})")


def _seconds(words: list[str]) -> str | None:
    """Without the field for seconds, or in the brackets that EventBridge's six fields need."""
    if len(words) not in (_FIVE + 1, _FIVE + 2):
        return None
    text = " ".join(words)
    if (six := _if_valid(lambda: parse_cron(text), f"cron({text})")) is not None:
        return six
    seconds, rest = words[0], " ".join(words[1:])
    if match := _STEP_OF_SECONDS.fullmatch(seconds):
        if words[1:] == ["*"] * _FIVE:
            return f'rate(1 minute); only `cronce clock` has seconds: every = "{match["step"] or 1}s"'
        return None
    if not seconds.isdecimal():
        return None
    without = "no field for seconds"
    if len(words) == _FIVE + 2:
        return _if_valid(lambda: parse_cron(rest), f"{without}: cron({rest})")
    return _if_valid(lambda: unix_to_eventbridge(rest), f"{without}: {rest}") or (
        f"{without}: {signs}" if (signs := _signs(words[1:])) else None
    )


def _if_valid(parse: Callable[[], object], advice: str) -> str | None:
    """The advice, if what it advises is valid."""
    with suppress(ScheduleInvalidError):
        parse()
        return advice
    return None
