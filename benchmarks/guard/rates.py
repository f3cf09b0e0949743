"""Warm claim+complete cycles per second."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field

from benchmarks.guard.cycles import CONTENDERS
from benchmarks.guard.figures import Series, add
from benchmarks.guard.world import Worker, World

THREADS = (1, 8)


@dataclass(slots=True)
class Rates:
    """By number of threads and contender, a sample a round.

    Attributes:
        per_second: Cycles.
        cpu: Seconds of the client's CPU time a cycle.
    """

    per_second: dict[int, Series] = field(default_factory=lambda: {threads: {} for threads in THREADS})
    cpu: dict[int, Series] = field(default_factory=lambda: {threads: {} for threads in THREADS})


def measure_rates(world: World, rounds: int, seconds: float) -> Rates:
    """Every contender in a process of its own, one at work at a time, round robin."""
    rates = Rates()
    with ExitStack() as stack:
        workers = [stack.enter_context(Worker(name, world.environ(), world.complaints)) for name in CONTENDERS]
        for worker in workers:
            worker.ready()
        for _ in range(rounds):
            for threads in THREADS:
                for worker in workers:
                    done = worker.ask(do="rate", threads=threads, seconds=seconds)
                    add(rates.per_second[threads], worker.name, done["cycles"] / done["seconds"])
                    add(rates.cpu[threads], worker.name, done["cpu"] / done["cycles"])
    return rates
