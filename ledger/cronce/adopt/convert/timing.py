"""Schedules of other tools as those of `cronce.schedule`, which checks each of them. Pure."""

from __future__ import annotations

import re
from datetime import timedelta

from cronce.adopt.convert.model import Notes, When
from cronce.schedule import Kind, ScheduleInvalidError, parse
from cronce.vocabulary.durations import format_duration
from cronce.vocabulary.errors import InputInvalidError

_ONE_SECOND, _ONE_MINUTE, _ONE_HOUR, _ONE_DAY = (timedelta(seconds=n) for n in (1, 60, 3600, 86_400))
_ZONE_IN_FRONT = re.compile(r"(?:CRON_)?TZ=(?P<zone>\S+)\s+(?P<rest>.+)")
_GO_DURATION = re.compile(r"(?:(?P<h>\d{1,5})h)?(?:(?P<m>\d{1,6})m)?(?:(?P<s>\d{1,8})s)?")
_STEP = re.compile(r"\*/(?P<step>\d{1,2})")
RATE_WITHOUT_START = (
    "EventBridge counts a rate from when the schedule is created; set a start, or missed ticks are not found"
)


def checked(when: When, what: str) -> When:
    """The timetable, if it can ever fire.

    Args:
        when: The timetable.
        what: The place and the field, for the error.

    Raises:
        InputInvalidError: The expression is invalid, cannot fire, or its zone is unknown.
    """
    if when.every is None:
        try:
            parse(when.text, timezone=when.timezone)
        except ScheduleInvalidError as error:
            raise InputInvalidError(f"{what} ({error.field})", error.value, error.allowed) from None
    return when


def unix(text: str, zone: str, notes: Notes, field: str, what: str, *, line: int | None = None) -> When:
    """Five fields or a macro, as crontab(5) reads them.

    Raises:
        InputInvalidError: As `checked`.
    """
    words = text.split()
    written = _all_minutes(words, notes, field, line)
    when = checked(When(text=written, timezone=zone), what)
    if written == " ".join(words):
        notes.kept(field, text, written, line=line)
    return when


def go_cron(text: str, zone: str, notes: Notes, field: str, what: str, *, line: int | None = None) -> When:
    """An expression of robfig/cron (Kubernetes, ofelia): `@every`, `?` for `*`, and its own rule for two day fields.

    There, a day field with a step over 1 restricts, so that a day must match either field; in crontab(5) it must
    match both.

    Raises:
        InputInvalidError: As `checked`.
    """
    text = text.strip()
    if match := _ZONE_IN_FRONT.fullmatch(text):
        zone, text = match["zone"], match["rest"]
        notes.kept(f"{field} (zone)", zone, f"timezone {zone}", line=line)
    if text.startswith("@every"):
        return every(_go_duration(text.removeprefix("@every").strip(), what), text, notes, field, line=line)
    words = text.split()
    if len(words) == 5 and "?" in words:
        given, words = text, ["*" if word == "?" else word for word in words]
        notes.changed(field, given, " ".join(words), "? is * there", line=line)
    if len(words) == 5:
        days, weekdays = words[2], words[4]
        if days != "*" and weekdays != "*":
            for place, whole in ((2, "1-31"), (4, "0-6")):
                if match := _STEP.fullmatch(words[place]):
                    words[place] = whole if match["step"] == "1" else f"{whole}/{match['step']}"
    return unix(" ".join(words), zone, notes, field, what, line=line)


def eventbridge(text: str, notes: Notes, field: str, what: str, *, line: int | None = None) -> When:
    """An expression of an EventBridge rule: `cron(...)` in UTC, or `rate(...)`.

    Raises:
        InputInvalidError: As `checked`, or it is neither.
    """
    if not text.startswith(("cron(", "rate(")):
        raise InputInvalidError(what, text, "cron(six fields) or rate(N minutes), as a rule of EventBridge has it")
    given = text
    if text.startswith("cron(* ") and not text.startswith("cron(* *"):
        text = text.replace("cron(* ", "cron(*/1 ", 1)
        notes.changed(field, given, text, "due in each of the 60 minutes; is 0 meant, for once?", line=line)
    when = checked(When(text=text), what)
    if text == given:
        notes.kept(field, text, text, line=line)
    if text.startswith("rate("):
        notes.changed(field, text, text, RATE_WITHOUT_START, line=line)
    return when


def note_second(second: str, text: str, notes: Notes, field: str, what: str, *, line: int | None = None) -> None:
    """Note the field for seconds in front of an expression, which has to be 0.

    Raises:
        InputInvalidError: It is another second.
    """
    if second not in ("0", "00"):
        raise InputInvalidError(what, text, "0 as the second: only the `every` of a clock has seconds")
    notes.changed(field, second, "", "at second 0 anyway", line=line)


def every(interval: timedelta, given: str, notes: Notes, field: str, *, line: int | None = None) -> When:
    """An interval that another tool counts from the start of its process; `fitting` says from when the target does."""
    notes.kept(field, given, f"every {format_duration(interval)}", line=line)
    return When(every=interval)


def on_eventbridge(when: When, what: str) -> str:
    """The expression that EventBridge Scheduler reads, of an interval too.

    An interval that divides an hour or a day is a cron expression: its ticks are the same multiples.

    Raises:
        InputInvalidError: The interval is not one of whole minutes.
    """
    if when.every is None:
        return when.text
    interval = when.every
    if interval % _ONE_MINUTE:
        allowed = "whole minutes: EventBridge Scheduler has no seconds; use --to clock"
        raise InputInvalidError(what, f"every {format_duration(interval)}", allowed)
    minutes = interval // _ONE_MINUTE
    if minutes == 1:
        return "* * * * *"
    if _ONE_HOUR % interval == timedelta(0):
        return f"*/{minutes} * * * *" if minutes < 60 else "0 * * * *"
    if _ONE_DAY % interval == timedelta(0) and not minutes % 60:
        return f"0 */{minutes // 60} * * *" if minutes < 1440 else "0 0 * * *"
    if interval % _ONE_DAY == timedelta(0):
        return f"rate({minutes // 1440} days)"
    if interval % _ONE_HOUR == timedelta(0):
        return f"rate({minutes // 60} hours)"
    return f"rate({minutes} minutes)"


def as_cron(text: str, timezone: str) -> str:
    """The `cron(...)` or `rate(...)` that Unix cron means."""
    schedule = parse(text, timezone=timezone)
    return text if schedule.kind is not Kind.CRON else schedule.expression


def stated_zone(timezone: str | None, theirs: str, notes: Notes, field: str) -> str:
    """The zone of schedules that state none: what the person said, or UTC; the decision says whose it would be."""
    if timezone is not None:
        notes.stated(field, timezone, f"as --timezone says; the file does not, and {theirs} would count")
        return timezone
    notes.stated(field, "UTC", f"{theirs} counts there; if that is not UTC, import again with --timezone")
    return "UTC"


def _all_minutes(words: list[str], notes: Notes, field: str, line: int | None) -> str:
    """The fields; an hour without a minute as `*/1`, because cronce asks whether all 60 minutes are meant."""
    if len(words) == 5 and words[0] == "*" and words[1] not in ("*", "*/1"):
        written = " ".join(["*/1", *words[1:]])
        why = "due in each of the 60 minutes; is 0 meant, for once?"
        notes.changed(field, " ".join(words), written, why, line=line)
        return written
    return " ".join(words)


def _go_duration(text: str, what: str) -> timedelta:
    match = _GO_DURATION.fullmatch(text)
    parts = {unit: int(match[unit] or 0) for unit in "hms"} if match else {}
    interval = timedelta(hours=parts.get("h", 0), minutes=parts.get("m", 0), seconds=parts.get("s", 0))
    if not _ONE_SECOND <= interval <= timedelta(days=366):
        raise InputInvalidError(what, f"@every {text}", "@every with hours, minutes and seconds: @every 1h30m")
    return interval
