"""Warm claim+complete cycles per second."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from benchmarks.guard.cycles import CONTENDERS
from benchmarks.guard.figures import Series, add
from benchmarks.guard.world import Worker, World

THREADS = (1, 8)

_ROUNDS_OF_A_PROCESS = 3
"""Then a new one: how fast a process is depends by up to a third on where its memory happens to lie."""


@dataclass(slots=True)
class Rates:
    """By number of threads and contender, one sample per round.

    Attributes:
        per_second: Cycles.
        cpu: Seconds of the client's CPU time per cycle.
        claim: Median seconds from the attempt until the work begins.
    """

    per_second: dict[int, Series] = field(default_factory=lambda: {threads: {} for threads in THREADS})
    cpu: dict[int, Series] = field(default_factory=lambda: {threads: {} for threads in THREADS})
    claim: dict[int, Series] = field(default_factory=lambda: {threads: {} for threads in THREADS})


def measure_rates(world: World, rounds: int, seconds: float) -> Rates:
    """Every contender in a separate process, one at a time, round robin."""
    rates = Rates()
    for begun in range(0, rounds, _ROUNDS_OF_A_PROCESS):
        with ExitStack() as stack:
            workers = [stack.enter_context(Worker(name, world.environ(), world.complaints)) for name in CONTENDERS]
            for worker in workers:
                worker.ready()
            for _ in range(begun, min(rounds, begun + _ROUNDS_OF_A_PROCESS)):
                _measure_round(rates, workers, seconds)
    return rates


def _measure_round(rates: Rates, workers: Sequence[Worker], seconds: float) -> None:
    for threads in THREADS:
        for worker in workers:
            done = worker.ask(do="rate", threads=threads, seconds=seconds)
            add(rates.per_second[threads], worker.name, done["cycles"] / done["seconds"])
            add(rates.cpu[threads], worker.name, done["cpu"] / done["cycles"])
            add(rates.claim[threads], worker.name, done["claim"])
