"""Ticks that EventBridge may not have: `31W` and its like, and zone data in two versions."""

from __future__ import annotations

import importlib
import shutil
import sys
import zoneinfo
from datetime import UTC, datetime, timedelta
from importlib import resources
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest

from cronce.schedule import Every, ScheduleInvalidError, ZoneData, parse, zone_data
from cronce.schedule import _timetable as timetable_module

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

tzdata = importlib.import_module("tzdata")  # it has no stubs

DAY = timedelta(days=1)
BERLIN = "Europe/Berlin"


def utc(*parts: int) -> datetime:
    """An instant in UTC."""
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type,misc]


def copy(version: str, zone: str) -> ZoneData:
    """A copy of zone data, with the rules of another zone."""
    return ZoneData(version=version, source="system", zone=ZoneInfo(zone))


def test_a_day_to_which_31w_moves_a_tick_is_uncertain() -> None:
    """31 January 2027 is a Sunday; 31 March 2027 a Wednesday."""
    schedule = parse("cron(5 10 31W * ? *)")
    moved, named = schedule.preview(utc(2027, 1, 1), 2)
    assert (moved.utc, named.utc) == (utc(2027, 1, 29, 10, 5), utc(2027, 3, 31, 10, 5))
    assert "31W" in schedule.uncertain(moved.utc)
    assert "31W" in moved.note
    assert (schedule.uncertain(named.utc), named.note) == ("", "")


@pytest.mark.parametrize(("field", "cautious"), [("31W", 1), ("30W", 1), ("29W", 1), ("28W", 0), ("LW", 0), ("31", 0)])
def test_an_expression_with_such_days_says_so(field: str, *, cautious: int) -> None:
    """So that a deployment can warn; `LW` is the last workday without a doubt."""
    assert bool(parse(f"cron(0 6 {field} * ? *)").caution) == cautious
    assert bool(parse(f"cron(0 6 {field} * ? *)", end=utc(2030, 1, 1)).caution) == cautious


def test_other_timetables_need_no_caution() -> None:
    """No cron, no doubt."""
    for timetable in (parse("rate(1 day)", start=utc(2026, 1, 1)), parse("at(2026-11-29T06:00:00)"), Every(DAY)):
        assert (timetable.caution, timetable.uncertain(utc(2026, 11, 29, 6))) == ("", "")


def test_a_tick_on_which_two_copies_of_the_zone_data_disagree_is_uncertain(monkeypatch: pytest.MonkeyPatch) -> None:
    """One copy has summer time for the zone, the other has none."""
    copies = (copy("2025b", BERLIN), copy("2026f", "Africa/Algiers"))
    monkeypatch.setattr(timetable_module, "zone_data", lambda _: copies)
    schedule = parse("0 6 * * *", timezone=BERLIN)
    winter, summer = utc(2026, 11, 29, 5), utc(2026, 7, 1, 4)
    assert schedule.uncertain(winter) == ""
    assert schedule.uncertain(summer) == "not a tick by zone data 2026f (system), only by 2025b (system)"
    assert "2026f" in schedule.preview(summer, 1)[0].note
    assert "2026f" in parse("at(2026-07-01T06:00:00)", timezone=BERLIN).uncertain(summer)
    assert parse("at(2026-11-29T06:00:00)", timezone=BERLIN).uncertain(winter) == ""
    assert parse("rate(1 day)", start=summer, timezone=BERLIN).uncertain(summer) == ""


def test_with_one_copy_or_none_nothing_disagrees(monkeypatch: pytest.MonkeyPatch) -> None:
    """UTC needs no data."""
    assert zone_data("UTC") == ()
    assert parse("0 6 * * *").uncertain(utc(2026, 7, 1, 6)) == ""
    monkeypatch.setattr(timetable_module, "zone_data", lambda _: (copy("2026f", BERLIN),))
    assert parse("0 6 * * *", timezone=BERLIN).uncertain(utc(2026, 7, 1, 4)) == ""


@pytest.fixture
def system(tmp_path: Path) -> Iterator[Path]:
    """A folder that is the system's zone data; empty."""
    zone_data.cache_clear()
    before = zoneinfo.TZPATH
    zoneinfo.reset_tzpath([str(tmp_path)])
    ZoneInfo.clear_cache()
    yield tmp_path
    zoneinfo.reset_tzpath(before)
    ZoneInfo.clear_cache()
    zone_data.cache_clear()


def put(system: Path, name: str, *, of: str) -> None:
    """Give the system data for a zone: the package's data of another one."""
    (system / name).parent.mkdir(parents=True, exist_ok=True)
    with resources.as_file(resources.files(tzdata).joinpath("zoneinfo", *of.split("/"))) as file:
        shutil.copy(file, system / name)


@pytest.mark.parametrize(
    ("file", "text", "version"),
    [
        ("tzdata.zi", "# version 2019a\nR A\n", "2019a"),
        ("+VERSION", "2020b\n", "2020b"),
        ("other", "2021c", "unknown"),
        ("tzdata.zi", "", "unknown"),
    ],
)
def test_the_systems_data_is_in_use_before_the_packages(system: Path, file: str, text: str, version: str) -> None:
    """With the version that it states."""
    put(system, BERLIN, of="Asia/Tokyo")
    (system / file).write_text(text)
    used, other = zone_data(BERLIN)
    assert (str(used), str(other)) == (f"{version} (system)", f"{tzdata.IANA_VERSION} (tzdata)")
    schedule = parse("0 6 * * *", timezone=BERLIN)
    tick = schedule.next(utc(2026, 11, 29))
    assert tick == utc(2026, 11, 29, 21)
    assert version in schedule.uncertain(tick)


def test_where_the_system_has_none_the_package_is_in_use(system: Path) -> None:
    """A slim image with the PyPI package; the name of a folder is no zone."""
    assert not list(system.iterdir())
    (used,) = zone_data(BERLIN)
    assert (used.source, used.version) == ("tzdata", tzdata.IANA_VERSION)
    for nonsense in ("Europe", "Mars/Phobos", "../etc/passwd", "/etc/passwd"):
        with pytest.raises(ScheduleInvalidError):
            zone_data(nonsense)


def test_without_the_package_only_the_systems_zone_data_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package tzdata is optional."""
    monkeypatch.setitem(sys.modules, "tzdata", None)
    zone_data.cache_clear()
    try:
        assert {copy.source for copy in zone_data("Europe/Berlin")} <= {"system"}
    finally:
        zone_data.cache_clear()


def test_the_end_of_a_schedule_changes_no_note() -> None:
    """The ticks before the end have the notes of the clocks' changes."""
    ends = utc(2027, 6, 1)
    endless, ending = (parse("cron(30 2 * * ? *)", timezone="Europe/Berlin", end=end) for end in (None, ends))
    notes = [[tick.note for tick in each.preview(utc(2027, 3, 27), 3)] for each in (endless, ending)]
    assert notes[0] == notes[1]
    assert any(notes[1])
