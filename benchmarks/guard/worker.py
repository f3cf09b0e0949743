"""A contender in a separate process: reads one JSON order per line, answers with one line.

    {"do": "rate", "threads": 8, "seconds": 1.0}  ->  {"cycles": 812, "seconds": 1.003, "cpu": 0.71, "claim": 0.0008}
    {"do": "race", "key": "k1", "sent": 12.3}     ->  {"won": true, "took": 0.003, "since": 0.005}
    {"do": "duel", "key": "k2"}                   ->  {"won": true, "second": false}

Times are seconds; `sent` is on the monotonic clock, which all processes of a machine share.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from statistics import median
from typing import Any
from uuid import uuid4

from benchmarks.guard.cycles import CONTENDERS, Contender


def main(name: str) -> None:
    """Serve orders until stdin ends."""
    contender = CONTENDERS[name]()
    _rate(contender, threads=1, seconds=0.1)
    _say({"ready": name})
    for line in sys.stdin:
        order = json.loads(line)
        match order.pop("do"):
            case "rate":
                _say(_rate(contender, **order))
            case "race":
                _say(_race(contender, job=f"job of {name}", **order))
            case "duel":
                _say(_duel(contender, job=f"job of {name}", **order))
            case unknown:
                raise ValueError(unknown)


def _rate(contender: Contender, *, threads: int, seconds: float) -> dict[str, Any]:
    """As many cycles as possible in the time, each thread with its own job."""
    counts = [0] * threads
    claims: list[float] = []
    began, cpu = time.perf_counter(), time.process_time()
    until = began + seconds

    def cycle(index: int) -> None:
        job = uuid4().hex
        while time.perf_counter() < until:
            sent = time.perf_counter()
            if not contender.attempt(job, str(counts[index]), lambda: claims.append(time.perf_counter() - sent)):  # noqa: B023
                raise RuntimeError(job, counts[index])
            counts[index] += 1

    if threads == 1:
        cycle(0)
    else:
        running = [threading.Thread(target=cycle, args=(index,)) for index in range(threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    return {"cycles": sum(counts), "seconds": seconds, "cpu": cpu, "claim": median(claims)}


def _race(contender: Contender, *, job: str, key: str, sent: float) -> dict[str, Any]:
    """One attempt; it is decided when the work begins or is refused.

    Each contender has its own job: a claim under FORBID reads the job's rows where another ran under ALLOW.
    """
    decided: list[float] = []
    began = time.monotonic()
    won = contender.attempt(job, key, lambda: decided.append(time.monotonic()))
    decided.append(time.monotonic())
    return {"won": won, "took": decided[0] - began, "since": decided[0] - sent}


def _duel(contender: Contender, *, job: str, key: str) -> dict[str, Any]:
    """One attempt, and a second one while the first works."""
    second: list[bool] = []
    won = contender.attempt(job, key, lambda: second.append(contender.attempt(job, key, _nothing)))
    return {"won": won, "second": second[0]}


def _nothing() -> None:
    """The work."""


def _say(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
