"""How a job is doing, from its rows and its schedule."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from cronce.client.leadership import LEADER
from cronce.client.ledger import Ledger
from cronce.ecs.definition import JobDefinition, definition_of
from cronce.operate.overview import Overview, look_at, overview
from cronce.protocol.records import SLOT_KEY, PastAttempt, Pause, RunRecord, SlotRecord, UnreadableRow
from cronce.stores.memory import MemoryStore
from cronce.vocabulary.policy import Policy
from cronce.vocabulary.states import Status
from tests.support.builders import JOB, T0, TICK, run
from tests.support.cloud import schedule

if TYPE_CHECKING:
    from cronce.protocol.records import Record
    from cronce.stores.store import Page

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
OLD: dict[str, Any] = {"CreationDate": T0 - 30 * 24 * HOUR, "LastModificationDate": T0 - 30 * 24 * HOUR}
HOURLY: dict[str, Any] = {"ScheduleExpression": "cron(0 * * * ? *)", "ScheduleExpressionTimezone": "UTC"} | OLD


def defined(**changes: Any) -> JobDefinition:  # noqa: ANN401  # a job that is due every hour
    """A job that is due at each full hour."""
    definition = definition_of(schedule(JOB, **HOURLY | changes))
    assert definition is not None
    return definition


def tick(hours_ago: int, status: Status = Status.SUCCEEDED, **changes: Any) -> RunRecord:  # noqa: ANN401
    """The run of a tick."""
    at = T0 - hours_ago * HOUR
    default = {"scheduled_at": at, "claimed_at": at + MINUTE, "finished_at": at + 2 * MINUTE, "lease_until": None}
    return run(period=f"{at:%Y-%m-%dT%H:%M:%SZ}", status=status, **default | changes)


def seen(
    *rows: RunRecord | UnreadableRow,
    definition: JobDefinition | None = None,
    pause: Pause | None = None,
    now: datetime = T0,
) -> Overview:
    """The overview of these rows."""
    return overview(rows, pause=pause, definition=definition, now=now)


def test_a_job_without_rows_and_schedule_says_nothing() -> None:
    """Every field is empty."""
    assert seen() == Overview()


def test_the_rate_counts_what_succeeded_failed_or_was_missed() -> None:
    """A skipped run was not wanted, and a running one has no outcome."""
    states = (Status.RUNNING, Status.SKIPPED, Status.MISSED, Status.FAILED, Status.SUCCEEDED, Status.SUCCEEDED)
    found = seen(*(tick(number, status) for number, status in enumerate(states)))
    assert (found.succeeded, found.ended) == (2, 4)
    assert found.succeeded_at == T0 - 4 * HOUR + 2 * MINUTE


def test_a_leaders_row_is_the_newest_and_counts_nothing() -> None:
    """It ends FAILED(interrupted) when all is well."""
    found = seen(run(period=LEADER, status=Status.FAILED))
    assert (found.newest is not None, found.ended, found.late_by) == (True, 0, None)


def test_an_unreadable_row_is_the_newest_and_counts_nothing() -> None:
    """A newer version wrote it."""
    row = UnreadableRow(job=JOB, key="run#x", problem="schema 99")
    assert seen(row, tick(1)) == Overview(
        newest=row, ended=1, succeeded=1, late_by=MINUTE, succeeded_at=T0 - HOUR + 2 * MINUTE
    )


def test_lateness_is_that_of_the_first_attempt() -> None:
    """A retry is not the schedule's fault; a clock that is behind is not negative lateness."""
    first = PastAttempt(attempt=1, status=Status.FAILED, owner="o", claimed_at=T0 + TICK)
    assert seen(tick(0, attempt=2, attempts=(first,))).late_by == TICK
    assert seen(tick(0, claimed_at=T0 - TICK)).late_by == timedelta(0)
    assert seen(tick(0, Status.SKIPPED, attempt=0), tick(1)).late_by == MINUTE


@pytest.mark.parametrize(("now", "since"), [(T0 - TICK, T0 - HOUR), (T0 + TICK, T0)])
def test_a_tick_without_a_run_is_overdue(now: datetime, since: datetime) -> None:
    """From its nominal time on; the older ones are for the watchdog."""
    assert T0.minute == T0.second == 0
    found = seen(tick(2), definition=defined(), now=now)
    assert (found.overdue_since, found.next_at) == (since, since + HOUR)


def test_a_flexible_window_is_waited_for() -> None:
    """EventBridge Scheduler may deliver that late on purpose."""
    flexible = defined(FlexibleTimeWindow={"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 15})
    assert seen(definition=flexible, now=T0 + 15 * MINUTE).overdue_since == T0 - HOUR
    assert seen(definition=flexible, now=T0 + 15 * MINUTE + TICK).overdue_since == T0


@pytest.mark.parametrize("status", [Status.RUNNING, Status.FAILED, Status.SKIPPED, Status.MISSED])
def test_a_tick_with_a_run_is_not_overdue(status: Status) -> None:
    """Whatever became of it."""
    assert seen(tick(0, status), definition=defined(), now=T0 + TICK).overdue_since is None


@pytest.mark.parametrize(
    "unwanted",
    [
        {"pause": Pause(at=T0 - HOUR, by="ann", why="stocktaking")},
        {"definition": defined(State="DISABLED")},
        {"definition": defined(policy=Policy(suspend=True))},
        {"definition": defined(CreationDate=T0 + TICK)},
        {"definition": defined(EndDate=T0 - HOUR)},
    ],
    ids=["paused", "disabled", "suspended", "younger", "ended"],
)
def test_a_tick_that_nobody_waits_for_is_not_overdue(unwanted: dict[str, Any]) -> None:
    """Nothing is wrong."""
    given: dict[str, Any] = {"definition": defined(), "now": T0 + MINUTE} | unwanted
    assert seen(**given).overdue_since is None


def test_a_job_that_only_people_start_has_no_next_tick() -> None:
    """Its schedule is of the last moment that EventBridge Scheduler knows, which nobody waits for."""
    never = defined(ScheduleExpression="at(2199-12-31T23:59:59)")
    assert seen(definition=replace(never, delivers_ticks=False)).next_at is None
    assert seen(definition=never).next_at is not None


def test_ticks_that_this_version_cannot_compute_are_unknown() -> None:
    """The rest is shown."""
    for expression in ("rate(1 hour)", "cron(0 25 * * ? *)"):
        found = seen(tick(0), definition=defined(ScheduleExpression=expression))
        assert (found.next_at, found.overdue_since, found.succeeded) == (None, None, 1)


class CountingStore(MemoryStore):
    """Counts requests."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: Counter[str] = Counter()
        self._lock_of_count = threading.Lock()

    def get(self, job: str, key: str) -> Record | None:
        """See `Store.get`."""
        with self._lock_of_count:
            self.asked[key] += 1
        return super().get(job, key)

    def query(self, job: str, *, limit: int, before: str | None = None) -> Page:
        """See `Store.query`."""
        with self._lock_of_count:
            self.asked[f"query {limit}"] += 1
        return super().query(job, limit=limit, before=before)


def test_a_thousand_jobs_cost_two_requests_each() -> None:
    """As `cronce jobs --help` says; the answers are in the order of the jobs."""
    store = CountingStore()
    names = [f"job-{number:04}" for number in range(1000)]
    for name in names:
        store.swap(run(job=name, period=name), None)
    store.swap(SlotRecord(job=names[7], version=0).with_pause(Pause(at=T0, by="ann", why="w")), None)
    store._items[names[8], SLOT_KEY] = {"job": names[8], "key": SLOT_KEY, "schema": 99}
    counted: list[None] = []
    found = look_at(
        Ledger(store, owner="me"), [(name, None) for name in names], last=20, now=T0, done=lambda: counted.append(None)
    )
    assert store.asked == {"query 20": 1000, SLOT_KEY: 1000}
    assert [each.newest.period for each in found if each.newest] == names
    assert [bool(each.pause) for each in found].index(True) == 7
    assert found[8].problem == "schema 99 is newer than 2"
    assert len(counted) == 1000
