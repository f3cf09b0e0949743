"""What a ledger costs a month with 10, 100 and 1,000 jobs, from counted requests: the table of docs/costs.md.

`python -m benchmarks.costs` prints it; `tests/lambdas/test_costs.py` counts the requests, and holds the page equal.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

HOURS, LOOKS, DAYS = 730, 43_800, 730 / 24
"""Of a month: its hours, the watchdog's looks (one per minute), and its days."""

PRICES = {
    "write": 0.625e-6,
    "read": 0.125e-6,
    "stored": 0.25 + 0.20,
    "lambda GB-second": 0.0000166667,
    "lambda request": 0.20e-6,
    "schedule": 1.00e-6,
    "SQS request": 0.40e-6,
    "alarm": 0.10,
}
"""Dollars in US East (N. Virginia), on demand, without free tiers, as on the pages of docs/costs.md (2026-11-29):
per write or consistent read of up to 1 or 4 KB; per GB and month with point-in-time recovery; per invocation."""

LOOK_WRITES, LOOK_READS_PER_JOB = 4, 1
"""An idle look of the watchdog: its lease and its memory; the slot of each job."""

MEMORY_BYTES = 600
"""About what the watchdog remembers of a job, read by the Query of each look: 4 KB per read."""

RUN_WRITES, TICK_WRITES, TICK_READS, STOP_READS = 4, 1, 1, 2
"""A run under FORBID; the watchdog's judgement of its tick; the recorder's look at the task that stopped."""

RUN_SECONDS, HEARTBEAT_SECONDS = 120, 15
ROW_BYTES, KEPT_DAYS = 1_000, 400
LOOK_SECONDS, LOOK_SECONDS_PER_JOB, STOP_SECONDS, FUNCTION_GB = 0.4, 0.004, 0.3, 0.5
"""Estimates: how long the functions take, at 4 ms per request to the table."""

QUEUE_REQUESTS_PER_MINUTE = 15
ALARMS = 13
JOBS = (10, 100, 1_000)


@dataclass(frozen=True)
class Line:
    """What something costs a month for each number of jobs."""

    what: str
    dollars: tuple[float, ...]


def lines() -> list[Line]:
    """Each job runs once a day for two minutes; what its own task costs is not cronce's."""
    runs = [jobs * DAYS for jobs in JOBS]
    beats = RUN_SECONDS // HEARTBEAT_SECONDS - 1
    looks = [LOOK_WRITES * LOOKS * PRICES["write"]] * len(JOBS)
    slots = [LOOK_READS_PER_JOB * jobs * LOOKS * PRICES["read"] for jobs in JOBS]
    memory = [jobs * MEMORY_BYTES / 4096 * LOOKS * PRICES["read"] for jobs in JOBS]
    of_look = [LOOKS * (LOOK_SECONDS + LOOK_SECONDS_PER_JOB * jobs) * FUNCTION_GB for jobs in JOBS]
    watchdog = [each * PRICES["lambda GB-second"] + LOOKS * PRICES["lambda request"] for each in of_look]
    writes = [each * (RUN_WRITES + beats + TICK_WRITES) * PRICES["write"] for each in runs]
    reads = [each * (TICK_READS + STOP_READS) * PRICES["read"] for each in runs]
    stop = STOP_SECONDS * FUNCTION_GB * PRICES["lambda GB-second"] + PRICES["lambda request"]
    recorder = [each * (stop + PRICES["schedule"]) for each in runs]
    stored = [jobs * KEPT_DAYS * ROW_BYTES / 1e9 * PRICES["stored"] for jobs in JOBS]
    queues = [QUEUE_REQUESTS_PER_MINUTE * 60 * HOURS * PRICES["SQS request"]] * len(JOBS)
    alarms = [ALARMS * PRICES["alarm"]] * len(JOBS)
    return [
        Line("the watchdog's looks: its lease and memory", _sums(looks, memory)),
        Line("the watchdog's looks: the slot of each job", tuple(slots)),
        Line("the watchdog's function", tuple(watchdog)),
        Line("the rows of one run of two minutes a day per job", _sums(writes, reads)),
        Line("the recorder's function, and the schedules", tuple(recorder)),
        Line("rows of 400 days, with point-in-time recovery", tuple(stored)),
        Line("the queue that Lambda asks for dead letters", tuple(queues)),
        Line(f"{ALARMS} alarms of the ledger", tuple(alarms)),
    ]


def _sums(*parts: list[float]) -> tuple[float, ...]:
    return tuple(map(sum, zip(*parts, strict=True)))


def table() -> str:
    """The table of docs/costs.md, in Markdown."""
    every = lines()
    total = Line("together", tuple(sum(line.dollars[place] for line in every) for place in range(len(JOBS))))
    head = f"| what | {' | '.join(f'{jobs:,} jobs' for jobs in JOBS)} |"
    rows = [f"| {line.what} | {' | '.join(f'${each:,.2f}' for each in line.dollars)} |" for line in (*every, total)]
    return "\n".join([head, "|---|---:|---:|---:|", *rows, ""])


if __name__ == "__main__":
    sys.stdout.write(table())
