"""A job whose period is the date: a day has one run, also when its hour is moved, and every part agrees on its key."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from cronce import CatchUp, Claim, Policy, Reason, Status
from cronce.client.settings import TaskSettings
from cronce.protocol.requests import RefusalReason
from cronce.vocabulary.names import period_of
from tests.lambdas.events import ARN, JOB, OTHER, PERIOD, World, letter, stopped
from tests.support.cloud import T0

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
BERLIN = "Europe/Berlin"
TODAY = "2026-11-29"
SEVEN = T0  # 07:00 in Berlin
IN_DATES = {"CRONCE_DATE_IN": BERLIN}


def daily(hour: int = 7, **changes: Any) -> World:  # noqa: ANN401
    """A world with a job that is due every day, an hour before its tick."""
    world = World(policy=changes.get("policy"))
    world.clock.advance(-2 * HOUR)
    move(world, hour, **changes)
    return world


def move(world: World, hour: int, *, date_in: str | None = BERLIN, **changes: Any) -> None:  # noqa: ANN401
    """Deploy the job with that hour, now."""
    made = {"CreationDate": T0 - 30 * DAY, "LastModificationDate": world.clock.now()}
    timing = {"ScheduleExpression": f"cron(0 {hour} * * ? *)", "ScheduleExpressionTimezone": BERLIN}
    world.define(date_in=date_in, **timing | made | changes)


def deliver(world: World, hour: int, task: str = ARN) -> object:
    """What the ledger answers a task that EventBridge Scheduler starts for this day's tick."""
    tick = SEVEN + (hour - 7) * HOUR
    world.clock.advance(tick - world.clock.now())
    environ = {"CRONCE_JOB": JOB, "CRONCE_SCHEDULED_TIME": period_of(tick), **IN_DATES}
    settings = TaskSettings.from_environ(environ)
    return world.ledger(task).submit(settings.claim_request(token=task, owner=task))


def test_a_day_whose_hour_is_moved_runs_once() -> None:
    """07:00 ran; moved to 11:00 at 09:00, the second tick of the day is refused as done, and nothing is missed."""
    world = daily(7)
    world.look(SEVEN - HOUR)
    first = deliver(world, 7)
    assert isinstance(first, Claim)
    first.complete()
    world.look(SEVEN + 10 * MINUTE)
    world.clock.advance(2 * HOUR)
    move(world, 11)
    world.look()
    second = deliver(world, 11, OTHER)
    assert not isinstance(second, Claim)
    assert second.reason is RefusalReason.ALREADY_SUCCEEDED  # type: ignore[attr-defined]
    for later in range(60):
        assert "missed" not in world.look(SEVEN + 4 * HOUR + later * MINUTE)
    assert [run.period for run in world.ledger().runs(JOB)] == [TODAY]


def test_a_tick_that_was_not_delivered_is_missed_under_its_day() -> None:
    """And caught up under it, once, though the task is told the hour."""
    world = daily(7, policy=Policy(catch_up=CatchUp.LATEST))
    world.look(SEVEN - HOUR)
    assert world.look(SEVEN + 10 * MINUTE)["missed"] == 1
    run = world.ledger().run(JOB, TODAY)
    assert run is not None
    assert (run.status, run.reason, run.scheduled_at) == (Status.MISSED, Reason.NEVER_DELIVERED, SEVEN)
    (launch,) = world.launches()
    assert launch[1:3] == (TODAY, "catch_up")
    environ = world.scheduler.environ_of(0)
    assert (environ["CRONCE_SCHEDULED_TIME"], environ["CRONCE_DATE_IN"]) == (PERIOD, BERLIN)
    claim = world.ledger().submit(TaskSettings.from_environ(environ).claim_request(token="t", owner=ARN))
    assert isinstance(claim, Claim)
    claim.complete()
    assert "caught_up" not in world.look(SEVEN + 12 * MINUTE)


def test_two_missed_ticks_of_a_day_have_one_row() -> None:
    """Each is counted when it is judged."""
    world = daily(7)
    world.look(SEVEN - HOUR)
    world.clock.advance(2 * HOUR)
    assert world.look()["missed"] == 1
    move(world, 11)
    assert world.look(SEVEN + 5 * HOUR)["missed"] == 1
    assert [run.period for run in world.ledger().runs(JOB)] == [TODAY]


@pytest.mark.parametrize("exit_code", [1, None])
def test_a_task_that_failed_before_its_claim_is_recorded_under_its_day(exit_code: int | None) -> None:
    """By its event, which names the scheduled time."""
    world = daily(7)
    world.look(SEVEN - HOUR)
    world.clock.advance(2 * HOUR)
    assert "ignored" not in world.settle(stopped(exit_code=exit_code, stop_code="TaskFailedToStart", **IN_DATES))
    assert world.ledger().run(JOB, PERIOD) is None
    run = world.ledger().run(JOB, TODAY)
    assert run is not None
    assert run.reason == Reason.LAUNCH_FAILED


def test_a_forged_day_is_ignored() -> None:
    """The event names a time and a zone in which that is another day than the job's."""
    world = daily(7)
    world.clock.advance(DAY)
    late = period_of(SEVEN + 12 * HOUR)
    for environ in ({"CRONCE_DATE_IN": "Pacific/Midway"}, {}, IN_DATES | {"CRONCE_SCHEDULED_TIME": late}):
        assert "ignored" in world.settle(stopped(exit_code=None, stop_code="TaskFailedToStart", **environ))
    assert list(world.ledger().runs(JOB)) == []


@pytest.mark.parametrize("body", [None, "{}"])
def test_a_dead_letter_is_recorded_under_its_day(body: str | None) -> None:
    """Whether its body says so, or only the schedule that it names."""
    world = daily(7)
    world.clock.advance(2 * HOUR)
    own = {
        "name": "digest",
        "environment": [
            {"name": "CRONCE_JOB", "value": JOB},
            {"name": "CRONCE_SCHEDULED_TIME", "value": "<aws.scheduler.scheduled-time>"},
            {"name": "CRONCE_DATE_IN", "value": BERLIN},
        ],
    }
    assert world.sort(letter(body or {"containerOverrides": [own]})) == {"batchItemFailures": []}
    run = world.ledger().run(JOB, TODAY)
    assert run is not None
    assert run.reason == f"{Reason.LAUNCH_FAILED}: AccessDeniedException"


@pytest.mark.parametrize(("before", "after"), [(None, BERLIN), (BERLIN, None), (BERLIN, "Asia/Tokyo")])
def test_ticks_before_another_form_are_not_judged(before: str | None, after: str | None) -> None:
    """Deployed between a tick and its look: under which key it ran is unknown, so nothing is missed or run again."""
    world = daily(7, date_in=before, policy=Policy(catch_up=CatchUp.ALL))
    world.look(SEVEN - HOUR)
    world.clock.advance(HOUR + 3 * MINUTE)
    move(world, 7, date_in=after, policy=Policy(catch_up=CatchUp.ALL))
    found = world.look(SEVEN + 10 * MINUTE)
    assert (found.get("missed"), found.get("not_judged"), world.launches()) == (None, 1, [])
    assert "not_judged" not in world.look(SEVEN + 11 * MINUTE)
    assert world.look(SEVEN + DAY + 10 * MINUTE)["missed"] == 1


def test_a_backlog_of_another_form_is_not_judged_either() -> None:
    """Three missed days wait for their catch-up while the form changes: they are counted, and stay as they are."""
    world = daily(7, policy=Policy(catch_up=CatchUp.ALL))
    world.look(SEVEN - HOUR)
    world.look(SEVEN + 3 * DAY + 10 * MINUTE)
    launched = len(world.launches())
    move(world, 7, date_in=None, policy=Policy(catch_up=CatchUp.ALL))
    assert world.look(SEVEN + 3 * DAY + 12 * MINUTE)["not_judged"] == 4
    assert len(world.launches()) == launched
