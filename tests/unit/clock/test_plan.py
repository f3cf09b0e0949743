"""What is due, caught up and missed, from times alone."""

from __future__ import annotations

from datetime import timedelta

import pytest

from cronce.clock.plan import Verdict, dispatch_lease, judge, may_start, pause_before
from cronce.schedule import Every
from cronce.vocabulary.policy import CatchUp
from tests.support.clockwork import MINUTE, SECOND, T0, job

MILLISECOND = timedelta(milliseconds=1)


NONE, LATEST, ALL = CatchUp.NONE, CatchUp.LATEST, CatchUp.ALL
ON_TIME, CATCH_UP, MISS = Verdict.ON_TIME, Verdict.CATCH_UP, Verdict.MISS


@pytest.mark.parametrize(
    ("catch_up", "age", "verdict"),
    [
        (NONE, 5 * MINUTE, ON_TIME),
        (NONE, 5 * MINUTE + MILLISECOND, MISS),
        (LATEST, 5 * MINUTE, ON_TIME),
        (LATEST, 5 * MINUTE + MILLISECOND, CATCH_UP),
        (LATEST, timedelta(hours=1) - MILLISECOND, CATCH_UP),
        (LATEST, timedelta(hours=1), MISS),  # the next tick is the latest now
        (ALL, 5 * MINUTE, ON_TIME),
        (ALL, 5 * MINUTE + MILLISECOND, CATCH_UP),
        (ALL, timedelta(days=400), CATCH_UP),
    ],
)
def test_a_young_tick_is_dispatched_an_older_one_by_policy(catch_up: CatchUp, age: timedelta, verdict: Verdict) -> None:
    """Every hour, a deadline of five minutes: just before and just after each boundary."""
    hourly = job(timetable=Every(timedelta(hours=1)), catch_up=catch_up)
    assert judge(hourly, T0, T0 + age) is verdict


def test_a_dispatch_that_may_be_under_way_is_seen_to_its_end_however_late() -> None:
    """Its row decides."""
    assert judge(job(), T0, T0 + timedelta(days=1), unresolved=True) is ON_TIME


def test_what_is_caught_up_is_tried_for_as_long_as_what_is_on_time() -> None:
    """The starting deadline from its first failure on."""
    late, all_of_them = T0 + timedelta(days=1), job(catch_up=ALL)
    assert judge(all_of_them, T0, late + 5 * MINUTE, failed_at=late) is CATCH_UP
    assert judge(all_of_them, T0, late + 5 * MINUTE + MILLISECOND, failed_at=late) is MISS


def test_pauses_grow_to_ten_seconds() -> None:
    """And stay there."""
    assert [pause_before(tries).total_seconds() for tries in (1, 2, 3, 4, 5, 6, 1000)] == [1, 2, 4, 8, 10, 10, 10]


@pytest.mark.parametrize(
    ("of_job", "of_all", "expected"),
    [
        (0, 0, True),
        (0, 31, True),
        (0, 32, False),
        (1, 15, True),
        (1, 16, False),
        (3, 3, True),
        (4, 4, False),
    ],
)
def test_half_of_the_workers_are_for_jobs_without_one(*, of_job: int, of_all: int, expected: bool) -> None:
    """Four a job, 32 in all."""
    assert may_start(of_job=of_job, of_all=of_all) is expected


@pytest.mark.parametrize("timeout", [1, 7, 10, 60, 300])
def test_a_claim_is_trusted_for_longer_than_a_try_may_take(timeout: int) -> None:
    """Four fifths of the lease, less the time that the ledger may take."""
    limit = timedelta(seconds=timeout)
    assert dispatch_lease(job(timeout=limit)) * 4 / 5 >= limit + 8 * SECOND
