"""Time zones by their IANA name, and the versions of the zone data that this machine has.

Python reads zone data from the system (`zoneinfo.TZPATH`), or else from the PyPI package tzdata. Both may be
there in different versions, and EventBridge has its own. Where they disagree, nobody knows the tick for sure.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, tzinfo
from functools import lru_cache

from cronce.schedule.errors import ScheduleInvalidError

_ALLOWED = (
    "an IANA time zone for which this machine has data, such as Europe/Berlin; "
    "slim images have no data: install the PyPI package tzdata"
)
_LONGEST_NAME = 50
# Names that some hosts have: not a place, or with leap seconds, and not in the IANA database.
_NOT_A_PLACE = ("localtime", "Factory", "posixrules", "posix/", "right/")


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneData:
    """One copy of a zone's data.

    Attributes:
        version: The IANA version, such as `2026a`; `unknown` if the copy does not say.
        source: `system`, or `tzdata` for the PyPI package.
        zone: The zone as this copy has it.
    """

    version: str
    source: str
    zone: tzinfo

    def __str__(self) -> str:
        """`2026a (system)`."""
        return f"{self.version} ({self.source})"


def zone_of(name: object) -> tzinfo:
    """The time zone of that name. Never falls back to UTC.

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
    except (LookupError, ValueError, OSError, RecursionError):  # the last for hundreds of slashes
        raise ScheduleInvalidError("timezone", name, _meant(name) or _ALLOWED) from None


def _meant(name: str) -> str | None:
    """The zone that was probably meant, if its data are here."""
    from difflib import get_close_matches  # noqa: PLC0415  # for errors only
    from zoneinfo import available_timezones  # noqa: PLC0415

    if len(name) > _LONGEST_NAME:
        return None
    known = {each.lower(): each for each in sorted(available_timezones()) if not each.startswith(_NOT_A_PLACE)}
    near = get_close_matches(name.strip().replace(" ", "_").lower(), known, n=1, cutoff=0.8)
    return f"an IANA time zone for which this machine has data; did you mean {known[near[0]]}?" if near else None


@lru_cache(maxsize=256)
def zone_data(name: str) -> tuple[ZoneData, ...]:
    """Each copy of the zone's data on this machine. The first one is in use; empty for UTC, which needs none.

    Raises:
        ScheduleInvalidError: There is no such zone, or no data for it on this machine.
    """
    if zone_of(name) is UTC:
        return ()
    import zoneinfo  # noqa: PLC0415
    from importlib import import_module, resources  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415

    copies: list[ZoneData] = []
    for root in map(Path, zoneinfo.TZPATH):
        if (file := root.joinpath(name)).is_file():
            with file.open("rb") as data:
                copies.append(
                    ZoneData(
                        version=_system_version(root),
                        source="system",
                        zone=zoneinfo.ZoneInfo.from_file(data, key=name),
                    )
                )
            break
    try:
        tzdata = import_module("tzdata")  # optional, and by name: it is data, found as `zoneinfo` finds it
        with resources.files(tzdata).joinpath("zoneinfo", *name.split("/")).open("rb") as data:
            packaged = zoneinfo.ZoneInfo.from_file(data, key=name)
        copies.append(ZoneData(version=str(tzdata.IANA_VERSION), source="tzdata", zone=packaged))
    except (ImportError, OSError):
        pass  # no such package, or it does not have this zone
    return tuple(copies)


def _system_version(root: object) -> str:
    from pathlib import Path  # noqa: PLC0415

    for name in ("tzdata.zi", "+VERSION"):
        try:
            with (Path(str(root)) / name).open(encoding="utf-8") as file:
                line = file.readline(100).strip()
        except (OSError, ValueError):
            continue
        return line.removeprefix("# version ") or "unknown"
    return "unknown"
