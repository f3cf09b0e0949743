"""What is due, caught up and missed, from times alone."""

from __future__ import annotations

from datetime import timedelta

import pytest

from cronce.clock.config import CommandTarget, SqsTarget, TaskTarget
from cronce.clock.plan import Verdict, dispatch_lease, judge, look_again_at, may_start, pause_before
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
    limit, queue = timedelta(seconds=timeout), SqsTarget(url="https://sqs.eu-west-1.amazonaws.com/123456789012/digests")
    for lease in (4 * SECOND, 60 * SECOND, timedelta.max):
        assert dispatch_lease(job(timeout=limit, target=queue), lease) * 4 / 5 >= limit + 8 * SECOND


@pytest.mark.parametrize(("lease", "expected"), [(4, 4), (24, 24), (25, 25), (26, 25), (60, 25)])
def test_the_lease_of_a_command_or_a_task_is_at_most_the_clocks(lease: int, expected: int) -> None:
    """It is renewed meanwhile. A command can be stopped when that fails, and ECS recognizes a second RunTask."""
    for target in (CommandTarget(arguments=("true",)), TaskTarget(job="daily-digest")):
        assert dispatch_lease(job(target=target), lease * SECOND) == expected * SECOND


@pytest.mark.parametrize(
    ("free_in", "tries", "expected"), [(None, 3, 4), (2.5, 3, 2.5), (9, 3, 4), (30, 9, 10), (-1, 3, 0.1), (0, 1, 0.1)]
)
def test_a_dispatch_in_progress_is_looked_at_again_when_its_lease_ends(
    free_in: float | None, tries: int, expected: float
) -> None:
    """Or after the pause, if that is sooner; never at once."""
    free_at = None if free_in is None else T0 + free_in * SECOND
    assert look_again_at(free_at, T0, tries) == T0 + expected * SECOND
