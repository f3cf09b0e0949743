"""The lines of a log -> how many ticks were done once, twice or never. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

EARLY = 1.0
"""Seconds before its nominal time from which a start counts as early."""


@dataclass(slots=True)
class Work:
    """One attempt at the work of a tick, in seconds since boot; `end` is None if it was cut off."""

    tick: int
    process: str
    begin: float
    end: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """The ticks of one contender in one story.

    Attributes:
        ticks: How many were due.
        once: Done by one attempt, and by no other.
        doubled: Done more than once.
        missed: Nobody began.
        early: Begun before their time.
        cut: Begun by an attempt that was killed or never came to its end.
        resumed: Of these: done by another attempt.
        lost: Of these: done by nobody.
        resumed_after: Seconds from the begin of the attempt that was cut off until the other one began, at most.
        at_once: The most attempts at work at the same time.
        errors: Errors that reached the program.
    """

    ticks: int
    once: int
    doubled: int
    missed: int
    early: int
    cut: int
    resumed: int
    lost: int
    resumed_after: float
    at_once: int
    errors: int

    def as_json(self) -> dict[str, float]:
        """For the record."""
        return asdict(self)


def attempts_in(lines: Iterable[str]) -> list[Work]:
    """The attempts, in the order of their begin."""
    found: dict[str, Work] = {}
    for line in lines:
        match line.split():
            case ["begin", tick, process, at, mark]:
                found[mark] = Work(int(tick), process, float(at))
            case ["end", _, _, at, mark]:
                found[mark].end = float(at)
            case _:
                pass
    return sorted(found.values(), key=lambda work: work.begin)


def count(lines: Sequence[str], *, due: Sequence[int], boot: float, killed: dict[str, list[float]]) -> Counted:
    """Count the ticks that were due, in epoch seconds.

    Args:
        lines: The log.
        due: The ticks' nominal times.
        boot: The epoch second at which this machine booted.
        killed: When each process was killed, in seconds since boot.
    """
    attempts = attempts_in(lines)
    of: dict[int, list[Work]] = {tick: [] for tick in due}
    for work in attempts:
        if work.tick in of:
            of[work.tick].append(work)
    return _counted(of, attempts, lines, killed, early=lambda work: work.begin + boot < work.tick - EARLY)


def count_messages(
    lines: Sequence[str], *, due: Sequence[int], interval: float, boot: float, killed: dict[str, list[float]]
) -> Counted:
    """The same for a contender whose work knows no nominal time; its `tick` is the first delivery of a message.

    In the story's span there is one message per tick. One that follows another within half an interval doubles it.
    """
    attempts = attempts_in(lines)
    begin, end = (due[0] - boot) * 1000, (due[-1] + interval - boot) * 1000
    of: dict[int, list[Work]] = {}
    for work in attempts:
        if begin <= work.tick < end:
            of.setdefault(work.tick, []).append(work)
    ticks: dict[int, list[Work]] = {}
    last = float("-inf")
    for message in sorted(of):
        if message - last < interval * 500:
            ticks[max(ticks)] += of[message]
        else:
            ticks[message] = of[message]
        last = message
    missing = max(0, len(due) - len(ticks))
    return _counted(ticks | {-number - 1: [] for number in range(missing)}, attempts, lines, killed)


def _counted(
    of: dict[int, list[Work]],
    attempts: Sequence[Work],
    lines: Sequence[str],
    killed: dict[str, list[float]],
    early: object = None,
) -> Counted:
    sums: Counter[str] = Counter()
    slowest = 0.0
    for works in of.values():
        done = [work for work in works if work.end is not None]
        cut = [work for work in works if work.end is None]
        sums["missed"] += not works
        sums["doubled"] += len(done) > 1
        sums["once"] += len(done) == 1 and not cut
        sums["cut"] += bool(cut)
        sums["resumed"] += bool(cut and done)
        sums["lost"] += bool(cut and not done)
        sums["early"] += bool(callable(early) and works and early(works[0]))
        if cut and done:
            slowest = max(slowest, max(work.begin for work in done) - cut[0].begin)
    return Counted(
        ticks=len(of),
        once=sums["once"],
        doubled=sums["doubled"],
        missed=sums["missed"],
        early=sums["early"],
        cut=sums["cut"],
        resumed=sums["resumed"],
        lost=sums["lost"],
        resumed_after=round(slowest, 1),
        at_once=_most_at_once(attempts, killed),
        errors=sum(line.startswith("error ") for line in lines),
    )


def _most_at_once(attempts: Sequence[Work], killed: dict[str, list[float]]) -> int:
    steps: list[tuple[float, int]] = []
    for work in attempts:
        deaths = [at for at in killed.get(work.process, []) if at >= work.begin]
        end = work.end if work.end is not None else min(deaths, default=work.begin)
        steps += [(work.begin, 1), (end, -1)]
    most = now = 0
    for _, step in sorted(steps):
        now += step
        most = max(most, now)
    return most
