"""Many processes that want the same key at the same moment."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from uuid import uuid4

from benchmarks.guard.figures import Series
from benchmarks.guard.world import Worker, World

CONTENDERS = ("cronce FORBID", "cronce ALLOW", "boto3 by hand", "stdlib by hand")
RACERS = (4, 16, 64)


@dataclass(slots=True)
class Races:
    """By number of processes and contender: seconds of every process and key, and winners of every key.

    Attributes:
        took: From the start of the process's attempt until its decision.
        since: From the common start until its decision: waiting for a CPU counts.
    """

    took: dict[int, Series] = field(default_factory=lambda: {racers: {} for racers in RACERS})
    since: dict[int, Series] = field(default_factory=lambda: {racers: {} for racers in RACERS})
    winners: dict[int, dict[str, list[int]]] = field(default_factory=lambda: {racers: {} for racers in RACERS})


def measure_races(world: World, keys: int) -> Races:
    """That number of keys for 64 processes, more for fewer; contenders alternate key by key."""
    races = Races()
    with ExitStack() as stack:
        fields: dict[str, list[Worker]] = {name: [] for name in CONTENDERS}
        for _ in range(max(RACERS)):
            started = [stack.enter_context(Worker(name, world.environ(), world.complaints)) for name in CONTENDERS]
            for worker in started:
                worker.ready()
                fields[worker.name].append(worker)
        for racers in RACERS:
            for _ in range(keys * max(RACERS) // racers):
                for name, workers in fields.items():
                    _race(races, racers, name, workers[:racers])
    return races


def _race(races: Races, racers: int, name: str, workers: list[Worker]) -> None:
    key, sent = uuid4().hex, time.monotonic()
    for worker in workers:
        worker.order(do="race", key=key, sent=sent)
    answers = [worker.answer() for worker in workers]
    races.took[racers].setdefault(name, []).extend(answer["took"] for answer in answers)
    races.since[racers].setdefault(name, []).extend(answer["since"] for answer in answers)
    races.winners[racers].setdefault(name, []).append(sum(answer["won"] for answer in answers))
