"""Values as text for people: foreign text, times, ages, durations, causes. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo

from cronce.protocol.records import Pause, RunRecord
from cronce.vocabulary.states import Reason

_SECOND, _MINUTE, _HOUR, _DAY = 1, 60, 3600, 86_400
_TEN_SECONDS, _TWO_DAYS = 10, 2 * _DAY
_LONGEST_CELL = 100


def visible(text: str) -> str:
    r"""The text on one line, without characters that control a terminal.

    Anybody who may write the table can put anything into names and errors. An escape sequence, a
    line break or a change of the writing direction becomes `\x1b`, `\n`, `\u202e`.
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def visible_lines(text: str) -> str:
    """As `visible`, but with line breaks kept, for the text of an error."""
    return "\n".join(visible(line.expandtabs(4)) for line in text.splitlines())


def one_line(text: str) -> str:
    """The beginning of the first non-empty line, as `visible`, for a cell of a table."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return ""
    first = visible(lines[0])
    return first if len(lines) == 1 and len(first) <= _LONGEST_CELL else f"{first[:_LONGEST_CELL]} ..."


def moment(at: datetime, *, now: datetime, zone: tzinfo | None = None) -> str:
    """`2026-11-29 06:00:03 UTC (3m ago)`.

    Args:
        at: Aware.
        now: Aware.
        zone: The zone to show; None for that of this host. Its name is always printed.
    """
    return f"{at.astimezone(zone):%Y-%m-%d %H:%M:%S %Z} ({age(at, now=now)})"


def age(at: datetime, *, now: datetime) -> str:
    """`3m ago`, `in 12s`, `now`, in the largest whole unit that fits."""
    seconds = (now - at).total_seconds()
    size = abs(seconds)
    if size < _SECOND:
        return "now"
    if size < _MINUTE:
        text = f"{size:.0f}s" if size < _MINUTE - 0.5 else "1m"
    elif size < _HOUR:
        text = f"{size // _MINUTE:.0f}m"
    elif size < _TWO_DAYS:
        text = f"{size // _HOUR:.0f}h"
    else:
        text = f"{size // _DAY:.0f}d"
    return f"{text} ago" if seconds > 0 else f"in {text}"


def length(duration: timedelta) -> str:
    """`0.4s`, `12s`, `1m 20s`, `2h 5m`, `3d 4h`, in at most two units."""
    seconds = duration.total_seconds()
    if seconds < _TEN_SECONDS:
        return f"{max(seconds, 0):.1f}s"
    whole = round(seconds)
    parts = [
        (whole // _DAY, "d"),
        (whole % _DAY // _HOUR, "h"),
        (whole % _HOUR // _MINUTE, "m"),
        (whole % _MINUTE, "s"),
    ]
    first = next(i for i, (number, _) in enumerate(parts) if number)
    return " ".join(f"{number}{unit}" for number, unit in parts[first : first + 2] if number)


def count(number: int, what: str) -> str:
    """`1 job`, `2 jobs`."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def short_owner(owner: str) -> str:
    """An owner that fits a column: for the ARN of an ECS task, the beginning of the task id."""
    if owner.startswith("arn:") and ":task/" in owner:
        return "task " + visible(owner.rpartition("/")[2][:12])
    return visible(owner)


def in_the_way(run: RunRecord) -> str:
    """The run that a skipped run met: of its job, or of another job of its exclusion group."""
    which = "a run of its exclusion group" if run.blocked_by_job else "another run of the job"
    return f"{which} ({run.blocker})" if run.blocker else which


def pause_in_words(pause: Pause, *, now: datetime) -> str:
    """`paused by ann 3h ago, until 2026-12-01 06:00:00 UTC: stocktaking`, as `visible`."""
    end = f", until {pause.until:%Y-%m-%d %H:%M:%S} UTC" if pause.until else ""
    return f"paused by {visible(pause.by)} {age(pause.at, now=now)}{end}: {one_line(pause.why)}"


def why_ended(reason: str | None, exit_code: int | None, error: str | None) -> str:
    """`exit code 3, the mail server said no`: why an attempt ended, as `visible`; empty if unknown."""
    match reason, exit_code:
        case Reason.EXIT_CODE, int():
            first = f"exit code {exit_code}"
        case str(), int():
            first = f"{visible(reason)} (exit code {exit_code})"
        case _:
            first = visible(reason or "")
    return ", ".join(part for part in (first, one_line(error or "")) if part)
