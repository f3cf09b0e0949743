"""The names of jobs and periods, and the period of a scheduled time."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import NewType

from cronce.vocabulary.errors import InputInvalidError
from cronce.vocabulary.payloads import shortened
from cronce.vocabulary.values import checked_whole, value_class

MAX_JOB_BYTES = 2048
"""DynamoDB's limit for a partition key (Developer Guide, "Constraints in Amazon DynamoDB")."""

MAX_PERIOD_BYTES = 1000
"""DynamoDB's limit for a sort key is 1,024 bytes, and the keys of a run have a prefix and a number besides."""

MAX_EFFECT_BYTES = 1024
"""Bytes of the key of an effect, or of the name of a step."""

CONTEXT_ATTRIBUTE = "<aws.scheduler."
"""How a text begins that EventBridge Scheduler replaces in the input of a target (User Guide, "Adding context
attributes"). In the name of a job or period it would be another name at each delivery."""

GROUP_PREFIX = "cronce:group:"
"""What begins the partition key of an exclusion group's row; no job may have such a name."""

MAX_GROUP = 100
"""Characters of the name of an exclusion group."""

MAX_LINE = 1000
"""Characters of a person's reason or name: both are part of a task's overrides, which ECS limits to 8,192."""

MAX_SCHEDULE_NAME = 64
"""Characters of the name of a schedule or its group (Scheduler API Reference, CreateSchedule)."""

JobName = NewType("JobName", str)
"""A job's name that was checked; made by `checked_job` only."""

Period = NewType("Period", str)
"""A period in its canonical spelling; made by `checked_period` and `period_of` only."""

_REGION = re.compile(r"[a-z]{2,4}(-[a-z0-9]+)+")

_TIMESTAMP = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.,]0+)?)?"
    r"(?:[Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)"
)
"""The spellings of a nominal time that are accepted; they become one."""

_LIKE_A_TIMESTAMP = re.compile(
    r"[+-]?(?:\d{4,6}-\d{1,2}-\d{1,2}|\d{8}|\d{4,6}-?\d{3}|\d{4,6}-?[Ww]\d{1,2}(?:-?\d)?)[Tt\s]\s*\d"
    r"|(?=.*\d{4}).*(?<!\d)\d{1,2}:\d{2}(?!\d)"
)
"""Text with a date and a time of day in any other spelling. As a period it would be a second key for one instant."""


@value_class(kw_only=True)
class RunName:
    """Which run is meant. Its parts were checked when they were made, so nobody checks them again.

    Attributes:
        scheduled_at: The nominal time of the tick, in UTC; None where only a period is known.
    """

    job: JobName
    period: Period
    scheduled_at: datetime | None = None

    @classmethod
    def of(cls, job: object, period: object, scheduled_at: object = None) -> RunName:
        """The run that a caller names; a period that is a timestamp gives its nominal time.

        Raises:
            InputInvalidError: A part cannot be used; the error names it.
        """
        checked = checked_period(period)
        at = scheduled_time_of(checked) if scheduled_at is None else checked_scheduled_time(scheduled_at)
        return cls(job=checked_job(job), period=checked, scheduled_at=at)

    def __str__(self) -> str:
        """Job and period, as messages name a run."""
        return f"{self.job} {self.period}"


def checked_job(job: object, *, what: str = "job") -> JobName:
    """The job's name, unchanged.

    Raises:
        InputInvalidError: It is empty, too long in bytes, contains characters that are not printable, or names the row
            of an exclusion group.
    """
    name = _checked_name(job, what=what, most=MAX_JOB_BYTES, forbidden="")
    if name.startswith(GROUP_PREFIX):
        raise InputInvalidError(what, name, f"the name of a job; {GROUP_PREFIX} begins the row of an exclusion group")
    return JobName(name)


def checked_group(name: object, *, what: str = "exclusion_group") -> str:
    """The name of an exclusion group, unchanged. IAM policies and partition keys take it literally.

    Raises:
        InputInvalidError: No group can have this name.
    """
    if not isinstance(name, str) or not re.fullmatch(rf"[0-9A-Za-z_.-]{{1,{MAX_GROUP}}}", name):
        raise InputInvalidError(what, name, f"the name of a group: 1 to {MAX_GROUP} of A-Z a-z 0-9 _ . -")
    return name


def group_key(group: str) -> str:
    """The partition key of that exclusion group's row, in place of a job's name."""
    return GROUP_PREFIX + group


def checked_period(period: object, *, what: str = "period") -> Period:
    """The period in its canonical spelling.

    A timestamp is written in UTC (`2026-11-29T06:00:00Z`), so that two spellings of one instant are one period. Any
    other text (`2026-11-29`, `2026-W48`) is unchanged. `#` separates the parts of a key and is refused.

    Raises:
        InputInvalidError: It is not printable text of an allowed length, or it looks like a timestamp but is not one
            with a time zone and whole seconds: two keys for one instant would be two runs.
    """
    text = _checked_name(period, what=what, most=MAX_PERIOD_BYTES, forbidden="#")
    if _LIKE_A_TIMESTAMP.match(text):
        return period_of(parse_scheduled_time(text, what=what))
    return Period(text)


def checked_scheduled_time(at: object, *, what: str = "scheduled_at") -> datetime:
    """The nominal time in UTC.

    Raises:
        InputInvalidError: It is no datetime, or one without a time zone or with a fraction of a second.
    """
    allowed = "a nominal time: a datetime with a time zone, in whole seconds"
    if not isinstance(at, datetime) or at.utcoffset() is None or at.microsecond:
        raise InputInvalidError(what, at, allowed)
    try:
        return at.astimezone(UTC)
    except (ValueError, OverflowError):  # before the first year or after the last one, in UTC
        raise InputInvalidError(what, at, allowed) from None


def parse_scheduled_time(value: object, *, what: str) -> datetime:
    """The nominal fire time that the text gives, in UTC.

    Raises:
        InputInvalidError: It is not ISO 8601 with a time zone and whole seconds. A nominal time has no fraction: a
            fraction comes from a clock, and two readings of a clock would be two periods.
    """
    allowed = "a nominal time with its zone and whole seconds, such as 2026-11-29T06:00:00Z"
    if not isinstance(value, str) or not _TIMESTAMP.fullmatch(value):
        raise InputInvalidError(what, value, allowed)
    try:
        return datetime.fromisoformat(value.upper()).astimezone(UTC)
    except (ValueError, OverflowError):  # no such day, or outside the calendar in UTC
        raise InputInvalidError(what, value, allowed) from None


def period_of(scheduled_at: datetime) -> Period:
    """The period of the tick at `scheduled_at` (aware): `2026-11-29T06:00:00Z`."""
    return Period(scheduled_at.astimezone(UTC).isoformat(timespec="seconds")[:19] + "Z")


def scheduled_time_of(period: str) -> datetime | None:
    """The nominal time that a canonical period is, or None."""
    return parse_scheduled_time(period, what="period") if _TIMESTAMP.fullmatch(period) else None


def ledger_name(url: str) -> str:
    """Return the name of the ledger of this URL: its table's, also in an ARN, its file's, or the server's."""
    scheme, _, place = url.partition("://")
    if scheme != "sqlite":
        place = place.rpartition("@")[2]  # no name has the password
    place = place.partition("?")[0]
    if scheme in ("redis", "rediss"):
        return place.partition("/")[0]
    if "%" in place:
        from urllib.parse import unquote  # noqa: PLC0415  # slow to load, and rarely needed

        place = unquote(place)
    return place.rpartition("/")[2]


def checked_schedule_group(name: str, *, what: str) -> str:
    """The name of a schedule group, unchanged (Scheduler API Reference, CreateScheduleGroup).

    Raises:
        InputInvalidError: No group can have this name.
    """
    if not re.fullmatch(rf"[0-9A-Za-z_.-]{{1,{MAX_SCHEDULE_NAME}}}", name):
        allowed = f"the name of a schedule group: 1 to {MAX_SCHEDULE_NAME} of A-Z a-z 0-9 _ . -"
        raise InputInvalidError(what, name, allowed)
    return name


def schedule_group_name(table_name: str) -> str:
    """The name of the schedule group of the ledger with this table; at most 64 characters."""
    if len(table_name) <= MAX_SCHEDULE_NAME:
        return table_name
    import hashlib  # noqa: PLC0415  # `cronce exec` does not need it

    return f"{table_name[:51]}-{hashlib.sha256(table_name.encode()).hexdigest()[:12]}"


def schedule_name_stem(job: str) -> str:
    """The beginning of the name of the job's schedule: the job's name with the characters that a schedule may have."""
    return re.sub(r"[^0-9A-Za-z_.-]+", "-", job).strip("-")[: MAX_SCHEDULE_NAME - 13] or "job"


def further_schedule_name(first: str, expression: str) -> str:
    """The name of the schedule for a further expression of a job; it has a dot where that of the first has a hyphen.

    Args:
        first: The name of the job's first schedule, which is that of a job with one expression.
        expression: The further one, `cron(...)`.
    """
    import hashlib  # noqa: PLC0415  # `cronce exec` does not need it

    digest = hashlib.sha256(f"{first} {expression}".encode()).hexdigest()[:12]
    return f"{re.sub(r'-[0-9a-f]{12}$', '', first)[: MAX_SCHEDULE_NAME - 13]}.{digest}"


def is_further_schedule(schedule_name: str) -> bool:
    """True for a name that `further_schedule_name` made: such a schedule defines no job."""
    return re.fullmatch(r".+\.[0-9a-f]{12}", schedule_name) is not None


def checked_region(region: str, *, what: str) -> str:
    """An AWS Region by the form of its name."""
    if not _REGION.fullmatch(region):
        raise InputInvalidError(what, region, "an AWS Region such as eu-west-1")
    return region


def checked_token(token: object, *, what: str = "token") -> str:
    """The name of a claim, unchanged.

    Raises:
        InputInvalidError: It is no printable text of 1 to 256 bytes.
    """
    return _checked_text(token, what=what, most=256, forbidden="")


def checked_effect(key: object, *, what: str) -> str:
    """The key of an effect or the name of a step, unchanged.

    Raises:
        InputInvalidError: It is no printable text of 1 to 1,024 bytes.
    """
    return _checked_text(key, what=what, most=MAX_EFFECT_BYTES, forbidden="")


def checked_words(text: object, *, what: str, allowed: str = "text") -> str:
    """What a person wrote, or the name of a process, without spaces around it and of at most 4 KB.

    Raises:
        InputInvalidError: It is no text, or has nothing to read.
    """
    if not isinstance(text, str) or not text.strip():
        raise InputInvalidError(what, text, allowed)
    return shortened(text.strip())


def checked_line(text: object, *, what: str, most: int = MAX_LINE) -> str:
    """The line, unchanged: what a person gives with a start, and what becomes a part of the task's overrides.

    Raises:
        InputInvalidError: It is no printable text of an allowed length, or has nothing to read.
    """
    if not isinstance(text, str) or len(text) > most or not text.strip() or not text.isprintable():
        raise InputInvalidError(what, text, f"1 to {most} characters on one line")
    return text


def optional_words(text: object, *, what: str, allowed: str = "text") -> str | None:
    """As `checked_words`, but None and a blank text say nothing and are None.

    Raises:
        InputInvalidError: It is no text.
    """
    if text is None or (isinstance(text, str) and not text.strip()):
        return None
    return checked_words(text, what=what, allowed=allowed)


def checked_exit_code(code: object) -> int | None:
    """The exit code of a process or container, None if there is none.

    Raises:
        InputInvalidError: It is no whole number of 32 bits.
    """
    return None if code is None else checked_whole(code, what="exit_code", least=-(2**31), most=2**32 - 1)


def _checked_name(value: object, *, what: str, most: int, forbidden: str) -> str:
    text = _checked_text(value, what=what, most=most, forbidden=forbidden)
    if CONTEXT_ATTRIBUTE in text:
        raise InputInvalidError(
            what, text, f"text without {CONTEXT_ATTRIBUTE}...>, which EventBridge Scheduler replaces"
        )
    return text


def _checked_text(value: object, *, what: str, most: int, forbidden: str) -> str:
    if (
        not isinstance(value, str)
        or not 1 <= len(value.encode("utf-8", "replace")) <= most
        or value != value.strip()
        or not value.isprintable()  # lone surrogates are not
        or (forbidden and forbidden in value)
    ):
        others = f", no {forbidden!r}" if forbidden else ""
        raise InputInvalidError(what, value, f"1 to {most} bytes of UTF-8, printable, no spaces around it{others}")
    return value
