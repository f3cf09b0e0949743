"""What the next tick of a schedule costs, here and in other libraries, in one run.

    python benchmarks/schedule_next.py            # a table of microseconds, then a table of answers
    pip install croniter cronsim pyawscron        # the peers; those that are missing are named

For each expression, the first table has parsing plus the first tick, and one more tick of a parsed schedule, each the
best of several rounds, with the ratio to our own time in brackets. The second compares answers with those of
EventBridge Scheduler's documentation.
"""

# a script, and it prints

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from time import perf_counter
from typing import Any
from zoneinfo import ZoneInfo

from cronce.schedule import parse

Ticks = Iterator[datetime]

NOW = datetime(2026, 11, 29, 6, 3, 7, tzinfo=UTC)
NEW_YORK = "America/New_York"
TICKS_IN_A_ROW = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """A library that computes the ticks after an instant.

    Attributes:
        ticks: The ticks of an expression after an instant, read in the zone of that instant.
        aws: It reads EventBridge's six fields; the others read Unix cron's five.
    """

    name: str
    ticks: Callable[[str, datetime], Ticks]
    aws: bool
    zones: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A schedule, and the tick that follows an instant by EventBridge Scheduler's documentation."""

    about: str
    aws: str
    unix: str | None
    after: datetime
    answer: datetime


SPEED = (
    ("every 5 minutes", "0/5 * * * ? *", "*/5 * * * *"),
    ("06:00 Monday to Friday", "0 6 ? * MON-FRI *", "0 6 * * 1-5"),
    ("last day of the month", "0 6 L * ? *", "0 6 L * *"),
    ("29 February", "0 0 29 2 ? *", "0 0 29 2 *"),
    ("29 February, 2096-2199", "0 0 29 2 ? 2096-2199", None),
)


def new_york(*parts: int) -> datetime:
    """A local time in New York."""
    return datetime(*parts, tzinfo=ZoneInfo(NEW_YORK))  # type: ignore[arg-type,misc]


QUESTIONS = (
    Question(
        about="02:30 that does not exist",
        aws="30 2 * * ? *",
        unix="30 2 * * *",
        after=new_york(2026, 3, 7, 12),
        answer=new_york(2026, 3, 9, 2, 30),
    ),
    Question(
        about="01:30 that comes twice, the second time",
        aws="30 1 * * ? *",
        unix="30 1 * * *",
        after=new_york(2026, 11, 1, 1, 31),
        answer=new_york(2026, 11, 2, 1, 30),
    ),
    Question(
        about="weekday 2 is Monday",
        aws="0 9 ? * 2 *",
        unix=None,
        after=datetime(2021, 8, 31, 21, tzinfo=UTC),
        answer=datetime(2021, 9, 6, 9, tzinfo=UTC),
    ),
    Question(
        about="FRI-MON wraps",
        aws="0 1 ? * FRI-MON *",
        unix="0 1 * * FRI-MON",
        after=datetime(2026, 9, 8, tzinfo=UTC),
        answer=datetime(2026, 9, 11, 1, tzinfo=UTC),
    ),
    Question(
        about="LW, last weekday of the month",
        aws="0 9 LW * ? *",
        unix="0 9 LW * *",
        after=datetime(2026, 10, 5, tzinfo=UTC),
        answer=datetime(2026, 10, 30, 9, tzinfo=UTC),
    ),
    Question(
        about="15W, weekday nearest to the 15th",
        aws="0 9 15W * ? *",
        unix="0 9 15W * *",
        after=datetime(2026, 11, 1, tzinfo=UTC),
        answer=datetime(2026, 11, 16, 9, tzinfo=UTC),
    ),
)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=300, help="rounds of which the best counts")
    rounds = parser.parse_args().rounds
    libraries = [Library(name="cronce", ticks=_cronce, aws=True), *_peers()]
    print(f"Python {sys.version.split()[0]}; microseconds: parse + first tick / one tick more\n")
    _print_row("", [library.name for library in libraries])
    for zone in ("UTC", NEW_YORK):
        for name, aws, unix in SPEED:
            ours = None
            cells = []
            for library in libraries:
                expression = aws if library.aws else unix
                if expression is None or (zone != "UTC" and not library.zones):
                    cells.append("-")
                    continue
                at = NOW if zone == "UTC" else NOW.astimezone(ZoneInfo(zone))
                took = _measure(library.ticks, expression, at, rounds)
                ours = ours or took
                cells.append(_shown(took, ours) if took and ours else "fails")
            _print_row(f"{name}, {zone}", cells)
    print("\nthe tick that EventBridge Scheduler's documentation gives?\n")
    _print_row("", [library.name for library in libraries])
    for question in QUESTIONS:
        _print_row(question.about, [_answer(library, question) for library in libraries])


def _measure(
    ticks: Callable[[str, datetime], Ticks], expression: str, at: datetime, rounds: int
) -> tuple[float, float] | None:
    """Seconds for parsing plus the first tick, and for each of the ticks after it.

    The best of many short rounds, so that whatever else the machine does is left out.
    """
    first, more = float("inf"), float("inf")
    try:
        for _ in range(rounds):
            start = perf_counter()
            row = ticks(expression, at)
            next(row)
            parsed = perf_counter()
            count = sum(1 for _ in islice(row, TICKS_IN_A_ROW))
            end = perf_counter()
            first, more = min(first, parsed - start), min(more, (end - parsed) / count)
    except Exception:  # noqa: BLE001  # a peer that cannot is a result
        return None
    return first, more


def _answer(library: Library, question: Question) -> str:
    expression = question.aws if library.aws else question.unix
    if expression is None:
        return "cannot say it"
    if question.after.tzinfo is not UTC and not library.zones:
        return "UTC only"
    try:
        tick = next(library.ticks(expression, question.after)).astimezone(question.after.tzinfo)
    except Exception as error:  # noqa: BLE001  # a peer that cannot is a result
        return type(error).__name__
    return "yes" if tick == question.answer else f"no: {tick:%m-%d %H:%M}"


def _shown(took: tuple[float, float], ours: tuple[float, float]) -> str:
    return " / ".join(f"{mine * 1e6:.0f} ({mine / own:.1f}x)" for mine, own in zip(took, ours, strict=True))


def _print_row(name: str, cells: list[str]) -> None:
    print(f"{name:42}" + "".join(f"{cell:>28}" for cell in cells))


def _cronce(expression: str, at: datetime) -> Ticks:
    schedule = parse(f"cron({expression})", timezone=getattr(at.tzinfo, "key", "UTC"))
    tick = schedule.next(at)
    while tick is not None:
        yield tick
        tick = schedule.next(tick)


def _peers() -> Iterator[Library]:
    """The peers that are installed; the others are named on stderr."""

    def croniter_ticks(expression: str, at: datetime) -> Ticks:
        row = modules["croniter"].croniter(expression, at, ret_type=datetime)
        while True:
            yield row.get_next()

    def cronsim_ticks(expression: str, at: datetime) -> Ticks:
        return iter(modules["cronsim"].CronSim(expression, at))

    def pyawscron_ticks(expression: str, at: datetime) -> Ticks:
        cron = modules["pyawscron"].AWSCron(expression)
        tick = cron.occurrence(at).next()
        while tick is not None:
            yield tick
            tick = cron.occurrence(tick).next()

    modules: dict[str, Any] = {}
    for library in (
        Library(name="croniter", ticks=croniter_ticks, aws=False),
        Library(name="cronsim", ticks=cronsim_ticks, aws=False),
        Library(name="pyawscron", ticks=pyawscron_ticks, aws=True, zones=False),
    ):
        try:
            modules[library.name] = importlib.import_module(library.name)
        except ImportError:
            print(f"missing: {library.name} (pip install {library.name})", file=sys.stderr)
        else:
            yield library


if __name__ == "__main__":
    main()
