"""Time zones by their IANA name; a zone that cannot be had is an error, never UTC in silence."""

from __future__ import annotations

from datetime import UTC, tzinfo

from cronce.schedule.errors import ScheduleInvalidError

_ALLOWED = (
    "an IANA time zone that this Python has data for, such as Europe/Berlin; "
    "slim images have no data: install the PyPI package tzdata"
)
# Names that some hosts have: not a place, or with leap seconds, and not in the IANA database.
_NOT_A_PLACE = ("localtime", "Factory", "posixrules", "posix/", "right/")


def zone_of(name: object) -> tzinfo:
    """The time zone of that name.

    Raises:
        ScheduleInvalidError: There is no such zone, or no data for it on this machine.
    """
    if name == "UTC":
        return UTC
    if not isinstance(name, str) or name.startswith(_NOT_A_PLACE):
        raise ScheduleInvalidError("timezone", name, _ALLOWED)
    from zoneinfo import ZoneInfo  # noqa: PLC0415  # a schedule in UTC needs neither the module nor the data

    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        raise ScheduleInvalidError("timezone", name, _ALLOWED) from None
