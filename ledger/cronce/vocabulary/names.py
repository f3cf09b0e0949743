"""What a job and a period may be called, and how a period follows from a scheduled time."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from cronce.vocabulary.errors import InputInvalidError

MAX_JOB_BYTES = 2048
"""DynamoDB's limit for a partition key (Developer Guide, "Constraints in Amazon DynamoDB")."""

MAX_PERIOD_BYTES = 1024 - len("run#")
"""DynamoDB's limit for a sort key, less the prefix of a run's key."""

MAX_SCHEDULE_NAME = 64
"""Characters of the name of a schedule or its group (Scheduler API Reference, CreateSchedule)."""

_TIMESTAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ]")


def checked_job(job: object, *, what: str = "job") -> str:
    """The job's name, unchanged, if the ledger can hold it.

    Raises:
        InputInvalidError: It is empty, too long in bytes, or holds what nobody can see or type.
    """
    return _checked_text(job, what=what, most=MAX_JOB_BYTES, forbidden="")


def checked_period(period: object, *, what: str = "period") -> str:
    """The period in its one canonical spelling.

    A timestamp is written in UTC (`2026-11-29T06:00:00Z`), so that two spellings of one instant
    are one period. Any other text (`2026-11-29`, `2026-W48`) stands as it is. `#` separates the
    parts of a key and is refused.

    Raises:
        InputInvalidError: It is not usable text, or a timestamp without a time zone or with a
            fraction of a second.
    """
    text = _checked_text(period, what=what, most=MAX_PERIOD_BYTES, forbidden="#")
    if _TIMESTAMP.match(text):
        return period_of(parse_scheduled_time(text, what=what))
    return text


def parse_scheduled_time(value: object, *, what: str) -> datetime:
    """The nominal fire time that `value` says, in UTC.

    Raises:
        InputInvalidError: It is not ISO 8601 with a time zone and whole seconds. A fraction is
            refused because a nominal time has none: it would be the clock's, and two readings of
            a clock are two periods.
    """
    allowed = "a nominal time with its zone and whole seconds, such as 2026-11-29T06:00:00Z"
    if not isinstance(value, str) or not _TIMESTAMP.match(value):
        raise InputInvalidError(what, value, allowed)
    try:
        at = datetime.fromisoformat(value.upper())
        at = at.astimezone(UTC) if at.tzinfo else at
    except (ValueError, OverflowError):
        raise InputInvalidError(what, value, allowed) from None
    if at.tzinfo is None or at.microsecond:
        raise InputInvalidError(what, value, allowed)
    return at


def period_of(scheduled_at: datetime) -> str:
    """The period of the tick at `scheduled_at` (aware): `2026-11-29T06:00:00Z`."""
    return scheduled_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def scheduled_time_of(period: str) -> datetime | None:
    """The nominal time that a canonical period names, if it is one."""
    return parse_scheduled_time(period, what="period") if _TIMESTAMP.match(period) else None


def ledger_name(url: str) -> str:
    """Return the name of the ledger of this URL: its table's, also in an ARN, or its file's."""
    place = url.partition("://")[2].partition("?")[0]
    if "%" in place:
        from urllib.parse import unquote  # noqa: PLC0415  # slow to load, and rarely needed

        place = unquote(place)
    return place.rpartition("/")[2]


def schedule_group_name(table_name: str) -> str:
    """The name of the schedule group that goes with a ledger's table of this name, at most 64 characters."""
    if len(table_name) <= MAX_SCHEDULE_NAME:
        return table_name
    import hashlib  # noqa: PLC0415  # not on the way of `cronce exec`

    return f"{table_name[:51]}-{hashlib.sha256(table_name.encode()).hexdigest()[:12]}"


def schedule_name_stem(job: str) -> str:
    """What the name of the job's schedule begins with: the job's name for people, as far as a schedule takes it."""
    return re.sub(r"[^0-9A-Za-z_.-]+", "-", job).strip("-")[: MAX_SCHEDULE_NAME - 13] or "job"


def _checked_text(value: object, *, what: str, most: int, forbidden: str) -> str:
    allowed = f"1 to {most} bytes of UTF-8, printable, no spaces around it" + (
        f", no {forbidden!r}" if forbidden else ""
    )
    if not isinstance(value, str):
        raise InputInvalidError(what, value, allowed)
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise InputInvalidError(what, value, allowed) from None
    if not 1 <= size <= most or value != value.strip() or not value.isprintable():
        raise InputInvalidError(what, value, allowed)
    if forbidden and forbidden in value:
        raise InputInvalidError(what, value, allowed)
    return value
