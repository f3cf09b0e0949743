"""docs/costs.md for 10, 100 and 1,000 jobs: its table follows from requests that are counted here."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from benchmarks import costs

from cronce.stores.memory import MemoryStore
from tests.lambdas.events import SETTINGS, World, stopped
from tests.support.cloud import T0

if TYPE_CHECKING:
    from datetime import datetime

    from cronce.protocol.operations import Swapped
    from cronce.protocol.records import Record, RunRecord
    from cronce.stores.store import Page

MINUTE = timedelta(minutes=1)


class Meter(MemoryStore):
    """Counts reads and writes as DynamoDB bills them."""

    def __init__(self) -> None:
        super().__init__()
        self.counted: Counter[str] = Counter()

    def get(self, job: str, key: str) -> Record | None:
        """GetItem."""
        self.counted["slot" if key == "slot" else "read"] += 1
        return super().get(job, key)

    def swap(self, record: Record, expected: Record | None) -> Swapped:
        """PutItem."""
        self.counted["write"] += 1
        return super().swap(record, expected)

    def take(self, run: RunRecord, at: datetime) -> Swapped:
        """UpdateItem."""
        self.counted["write"] += 1
        return super().take(run, at)

    def query(self, job: str, *, limit: int, before: str | None = None) -> Page:
        """Query."""
        self.counted["query"] += 1
        return super().query(job, limit=limit, before=before)

    def counts(self) -> dict[str, int]:
        """What was counted since the last time."""
        counted, self.counted = dict(self.counted), Counter()
        return counted


@pytest.mark.parametrize("jobs", [10, 100])
def test_an_idle_look_costs_one_read_per_job_and_four_writes(jobs: int) -> None:
    """Its lease twice, and its memory by one Query."""
    world = World()
    for number in range(jobs - 1):
        world.define(f"job-{number}")
    world.store = meter = Meter()
    world.look(T0 + MINUTE)
    world.look(T0 + 2 * MINUTE)
    meter.counts()
    world.look(T0 + 3 * MINUTE)
    expected = {"slot": costs.LOOK_READS_PER_JOB * jobs, "write": costs.LOOK_WRITES, "query": 1}
    assert meter.counts() == expected


def test_a_run_its_tick_and_the_end_of_its_task_cost_what_the_table_says() -> None:
    """Under FORBID, without heartbeats."""
    world = World()
    world.store = meter = Meter()
    world.look(T0 - MINUTE)
    meter.counts()
    world.claim().complete()
    assert meter.counts() == {"write": costs.RUN_WRITES}
    assert world.settle(stopped(exit_code=0)) == {"status": "SUCCEEDED"}
    assert meter.counts().get("read", 0) <= costs.STOP_READS
    world.look(T0 + SETTINGS.missed_after - MINUTE)
    meter.counts()
    world.look(T0 + SETTINGS.missed_after)
    world.look(T0 + SETTINGS.missed_after + MINUTE)
    judged = meter.counts()
    assert judged["read"] == costs.TICK_READS
    assert judged["write"] - 2 * costs.LOOK_WRITES == costs.TICK_WRITES


def test_the_page_has_the_table() -> None:
    """Else: `python -m benchmarks.costs`."""
    page = (Path(__file__).parents[2] / "docs" / "costs.md").read_text()
    assert costs.table() in page


def test_the_table_adds_up() -> None:
    """And a job more costs less, the more there are."""
    sums = [sum(line.dollars[place] for line in costs.lines()) for place in range(3)]
    assert f"| together | {' | '.join(f'${each:,.2f}' for each in sums)} |" in costs.table()
    assert sums[0] / 10 > sums[1] / 100 > sums[2] / 1_000
