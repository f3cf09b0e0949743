"""What a fleet of jobs costs on one ledger, in requests and seconds: `python -m benchmarks.fleet`.

For each store and each number of jobs it measures

- a look of the watchdog over a schedule group, when nothing is due and when one job in a hundred has a tick that nobody
  delivered: `cronce watchdog --schedule-group`, which also has failed runs started again;
- what `cronce jobs` reads of every job;
- of one job with a long history: a claim with its success, a page of `cronce runs`, and a look.

Every job has one run that succeeded. EventBridge Scheduler is in memory, so its answers take no time. DynamoDB Local,
PostgreSQL and Valkey run on this machine and are reached in plain text. A look reports what it finds on stderr.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from cronce import Ledger, Policy
from cronce.aws.sdk import Service
from cronce.ecs import Launcher
from cronce.operate.event_bus import EventBus
from cronce.operate.overview import look_at
from cronce.protocol.operations import Swapped
from cronce.stores.passing import PassingStore
from cronce.stores.store import Store
from cronce.stores.urls import open_store
from cronce.testing.records import run
from cronce.vocabulary.names import period_of
from cronce.vocabulary.states import Status
from cronce.watch.group_watchdog import GroupWatchdog
from tests.support.cloud import GROUP, FakeEcs, FakeEvents, FakeScheduler, StillClock, schedule
from tests.support.dynamodb_local import DynamoDbLocal
from tests.support.postgres_server import PostgresServer
from tests.support.redis_server import SAFE, RedisServer, valkey_program

T = TypeVar("T")

NOW = datetime.now(UTC).replace(minute=30, second=0, microsecond=0)
TICK = NOW.replace(minute=0)
CREATED = TICK - timedelta(minutes=1)
HISTORY = "with-a-history"


class Counted(PassingStore):
    """A store that counts its calls."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.reads = self.writes = 0
        self._lock = threading.Lock()

    @property
    def answered_at(self) -> None:
        """Unknown: the clock of this benchmark is not the store's."""

    def _read(self, call: Callable[[], T]) -> T:
        with self._lock:
            self.reads += 1
        return call()

    def _write(self, call: Callable[[], Swapped]) -> Swapped:
        with self._lock:
            self.writes += 1
        return call()


class Fleet:
    """Jobs that are due at each hour, with a run of the newest tick each, and a ledger."""

    def __init__(self, url: str, names: list[str]) -> None:
        self.url, self.names = url, names
        self.store = Counted(open_store(url, lease=timedelta(seconds=60)))
        self.clock = StillClock(NOW)
        self.ledger = Ledger(self.store, owner="cronce:watchdog", clock=self.clock)
        self.ledger.create()
        made = {"CreationDate": CREATED, "LastModificationDate": CREATED}
        scheduler = FakeScheduler(*(schedule(name, ScheduleExpression="cron(0 * * * ? *)", **made) for name in names))
        self._launcher = Launcher(group=GROUP, scheduler=scheduler, ecs=FakeEcs())
        list(self._launcher.jobs())  # a watchdog reads a schedule once
        self.write([(name, TICK) for name in names])

    def write(self, ticks: list[tuple[str, datetime]]) -> None:
        """Store successful runs."""

        def one(of: tuple[str, datetime]) -> None:
            job, tick = of
            ended = tick + timedelta(seconds=9)
            record = run(job=job, period=period_of(tick), status=Status.SUCCEEDED, scheduled_at=tick, finished_at=ended)
            self.store.swap(record, None)

        with ThreadPoolExecutor(8) as writers:
            list(writers.map(one, ticks))

    def look(self) -> dict[str, int]:
        """One look of the watchdog."""
        return GroupWatchdog(
            ledger=self.ledger,
            url=self.url,
            name="fleet",
            launcher=self._launcher,
            bus=EventBus(FakeEvents()),
            ecs=Service("ecs", client=FakeEcs()),
            missed_after=timedelta(minutes=5),
            retries=True,
            clock=self.clock,
        ).look()

    def measured(self, what: str, work: Callable[[], object]) -> None:
        """Print what the work costs."""
        self.store.reads = self.store.writes = 0
        began, cpu = time.perf_counter(), time.process_time()
        found = work()
        seconds, of_client = time.perf_counter() - began, time.process_time() - cpu
        told = found if isinstance(found, dict) else ""
        print(
            f"| {what} | {self.store.reads:,} | {self.store.writes:,} | {seconds:.2f} | {of_client:.2f} | {told} |",
            flush=True,
        )


def measure(name: str, url: str, numbers: list[int], history: int) -> None:
    """Print the rows of one store."""
    for number in numbers:
        names = [f"{name}-{number}-{index:05}" for index in range(number)]
        fleet = Fleet(url, names)
        fleet.look()  # the first one remembers every job
        fleet.clock.advance(timedelta(minutes=1))
        fleet.measured(f"{name}, {number:,} jobs: a look, nothing due", fleet.look)
        fleet.clock.advance(timedelta(hours=1))
        fleet.write([(job, TICK + timedelta(hours=1)) for job in names[number // 100 :]])
        fleet.measured(f"{name}, {number:,} jobs: a look, {number // 100} missed", fleet.look)
        jobs: list[tuple[str, Any]] = [(job, None) for job in names]
        overviews = partial(look_at, fleet.ledger, jobs, last=20, now=NOW)
        fleet.measured(f"{name}, {number:,} jobs: `cronce jobs`", overviews)
        fleet.ledger.close()
    fleet = Fleet(url, [HISTORY])
    fleet.look()
    for rows in (1, history):
        fleet.write([(HISTORY, TICK - timedelta(minutes=minute)) for minute in range(1, rows)])
        fleet.clock.advance(timedelta(minutes=1))
        told = f"{name}, a job with {rows:,} rows"
        fleet.measured(f"{told}: 100 claims with their success", lambda fleet=fleet, rows=rows: _cycles(fleet, rows))
        fleet.measured(f"{told}: 20 rows of `cronce runs`", lambda fleet=fleet: fleet.ledger.page(HISTORY, limit=20))
        fleet.measured(f"{told}: a look", fleet.look)
    fleet.ledger.close()


def _cycles(fleet: Fleet, rows: int) -> None:
    for number in range(100):
        claim = fleet.ledger.claim(HISTORY, f"cycle-{rows}-{number}", policy=Policy())
        assert claim
        claim.complete()


@contextmanager
def _stores() -> Iterator[dict[str, str]]:
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        data = stack.enter_context(tempfile.TemporaryDirectory())
        dynamodb = stack.enter_context(DynamoDbLocal())
        postgres = stack.enter_context(PostgresServer())
        valkey = stack.enter_context(RedisServer(valkey_program(), Path(data), *SAFE))
        yield {
            "SQLite": f"sqlite:///{folder}/runs.db",
            "PostgreSQL": postgres.url(),
            "Valkey": valkey.url,
            "DynamoDB": f"dynamodb://fleet?region=eu-west-1&endpoint={dynamodb.endpoint}",
        }


def main() -> None:
    """Measure every store, or those that are named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fleet", description=__doc__)
    parser.add_argument("--jobs", type=int, nargs="+", default=[1_000, 10_000], help="numbers of jobs")
    parser.add_argument("--rows", type=int, default=100_000, help="rows of the job with a history")
    parser.add_argument("--store", action="append", help="only this store: SQLite, PostgreSQL, Valkey or DynamoDB")
    options = parser.parse_args()
    os.environ |= {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_REGION": "eu-west-1"}
    print(f"load average {os.getloadavg()[0]:.1f}")
    print("| | reads | writes | seconds | client CPU s | found |\n|---|---:|---:|---:|---:|---|", flush=True)
    with _stores() as urls:
        for name in options.store or urls:
            measure(name, urls[name], options.jobs, options.rows)
    print(f"load average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
