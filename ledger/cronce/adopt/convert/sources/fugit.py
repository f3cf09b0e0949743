"""Expressions of fugit, which sidekiq-cron, sidekiq-scheduler and GoodJob use: zones, seconds, a few words. Pure.

Source: README of floraison/fugit: five or six fields (seconds first), a zone at the end, `every 5 minutes`,
`every day at 16:00`, durations such as `1h30m`.
"""

from __future__ import annotations

import re
from datetime import timedelta

from cronce.adopt.convert import timing
from cronce.adopt.convert.model import Notes, When
from cronce.vocabulary.errors import InputInvalidError

_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_WORDS = re.compile(r"every\s+(?:(?P<count>\d{1,5})\s+)?(?P<unit>second|minute|hour|day)s?", re.IGNORECASE)
_AT = re.compile(r"every\s+day\s+at\s+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?:\s+(?P<zone>[A-Z]\w+/\w+))?", re.IGNORECASE)
_DURATION = re.compile(r"(?:\d{1,7}[smhd])+")
_ZONE = re.compile(r"(?:[A-Z][A-Za-z_]+(?:/[A-Za-z0-9_+-]+)+|UTC|Z)")


def fugit(text: str, zone: str | None, notes: Notes, what: str, *, line: int | None = None) -> When:
    """The timetable of an expression.

    Args:
        text: The expression.
        zone: What --timezone says.
        notes: Where decisions are noted.
        what: The place, for the error.
        line: The line of the expression.

    Raises:
        InputInvalidError: It has no equivalent, or is not understood.
    """
    text = " ".join(text.split())
    if match := _AT.fullmatch(text):
        words = [str(int(match["minute"])), str(int(match["hour"])), "*", "*", "*", *filter(None, [match["zone"]])]
        notes.changed("cron", text, " ".join(words), "the same in fields", line=line)
    elif match := _WORDS.fullmatch(text):
        interval = timedelta(seconds=int(match["count"] or 1) * _UNITS[match["unit"].lower()])
        return timing.every(interval, text, notes, "cron", line=line)
    else:
        words = text.split()
    if len(words) > 1 and _ZONE.fullmatch(words[-1]):
        own = "UTC" if words[-1] == "Z" else words[-1]
        notes.kept("cron (zone)", own, f"timezone {own}", line=line)
        words = words[:-1]
    else:
        own = timing.stated_zone(zone, "the zone of the Ruby process (Time.zone or TZ)", notes, "time zone")
    if len(words) == 6:
        timing.note_second(words[0], text, notes, "cron (seconds)", what, line=line)
        words = words[1:]
    if len(words) == 5 and words[2] != "*" and words[4] != "*" and "*" in (words[2][0], words[4][0]):
        raise InputInvalidError(what, text, "one restricted day field: programs disagree on * with a step and another")
    return timing.unix(" ".join(words), own, notes, "cron", what, line=line)


def interval_of(text: str, what: str) -> timedelta:
    """The duration that `30s`, `1h30m` or `2d` gives.

    Raises:
        InputInvalidError: It gives none.
    """
    text = text.replace(" ", "")
    if not _DURATION.fullmatch(text):
        raise InputInvalidError(what, text, "a duration such as 30s, 5m, 1h30m")
    return timedelta(seconds=sum(int(n) * _UNITS[unit] for n, unit in re.findall(r"(\d+)([smhd])", text)))
