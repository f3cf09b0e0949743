"""Durations as people write them: seconds or `90s`, `5m`, `2h`, `7d`."""

from __future__ import annotations

import re
from datetime import timedelta

from cronce.vocabulary.errors import InputInvalidError

_ALLOWED = "seconds, or a number with a unit: 90s, 5m, 2h, 7d (at most 366d)"

_DURATION = re.compile(r"(?P<number>[0-9]{1,9}(?:\.[0-9]{1,6})?)(?P<unit>ms|s|m|h|d)?")
_UNIT = {
    None: timedelta(seconds=1),
    "ms": timedelta(milliseconds=1),
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
}
_LONGEST = timedelta(days=366)


def parse_duration(value: object, *, what: str) -> timedelta:
    """The duration that `value` gives.

    Args:
        value: A non-negative number of seconds, or text such as `90s`, `5m`, `2h`, `500ms`.
        what: The name of the setting, for the error.

    Raises:
        InputInvalidError: It is not a duration, is negative, or is longer than 366 days.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise InputInvalidError(what, value, _ALLOWED)
    text = f"{value:f}" if isinstance(value, float) else str(value)
    match = _DURATION.fullmatch(text)
    if match is None:
        raise InputInvalidError(what, value, _ALLOWED)
    duration = float(match["number"]) * _UNIT[match["unit"]]
    if duration > _LONGEST:
        raise InputInvalidError(what, value, _ALLOWED)
    return duration


def checked_duration(value: object, *, what: str) -> timedelta:
    """The duration that `value` is or gives, in whole milliseconds.

    Raises:
        InputInvalidError: It is neither a duration nor a text or number of one, is negative, or is longer than 366
            days.
    """
    if not isinstance(value, timedelta):
        return parse_duration(value, what=what)
    if not timedelta(0) <= value <= _LONGEST:
        raise InputInvalidError(what, format_duration(value), _ALLOWED)
    return timedelta(milliseconds=round(value / timedelta(milliseconds=1)))


def format_duration(duration: timedelta) -> str:
    """The shortest text that `parse_duration` reads back as the same duration."""
    milliseconds = round(duration / timedelta(milliseconds=1))
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000)):
        if milliseconds and milliseconds % size == 0:
            return f"{milliseconds // size}{unit}"
    return f"{milliseconds}ms"
