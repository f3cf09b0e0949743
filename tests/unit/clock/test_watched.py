"""A clock's job as a watchdog sees it, and what a look of the process does about its ticks."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from cronce import CatchUp, Ledger, Policy, Reason, Status
from cronce.clock.config import ClockJob, CommandTarget, parse_config
from cronce.clock.dispatch import Delivery, DispatchFailedError
from cronce.clock.watched import ClockWatchdog, WatchedClockJob
from cronce.stores.memory import MemoryStore
from cronce.vocabulary.values import replace
from cronce.watch.memory import Timing, from_value, to_value
from tests.support.cloud import StillClock

if TYPE_CHECKING:
    from collections.abc import Mapping

T0 = datetime(2026, 11, 29, 6, tzinfo=UTC)
SECOND = timedelta(seconds=1)
DAILY = {"schedule": "0 6 * * *", "timezone": "Europe/Berlin", "period": "date", "target": {"command": ["./work"]}}


def configured(**settings: object) -> ClockJob:
    """The job `digest` of a configuration; by default it is due every ten seconds."""
    given = {"every": "10s", "starting_deadline": "3s", "target": {"command": ["./work"]}} | settings
    given = {name: value for name, value in given.items() if value is not None}
    (job,) = parse_config({"jobs": {"digest": given}}, what="test")
    return job


class World:
    """A ledger in memory and a watchdog over one job; targets only note what they are given."""

    def __init__(self, job: ClockJob, policy: Policy | None = None) -> None:
        self.clock = StillClock(T0)
        self.ledger = Ledger(MemoryStore(), owner="cronce:watchdog", clock=self.clock)
        self.sent: list[Delivery] = []
        self.policy = policy or Policy()
        self.watch(job)

    def watch(self, job: ClockJob) -> None:
        """Restart the watchdog with this configuration."""
        self.watchdog = ClockWatchdog(
            [job],
            ledger=self.ledger,
            name="runs",
            policy=self.policy,
            send=self.send,
            missed_after=2 * SECOND,
            clock=self.clock,
        )

    def send(self, delivery: Delivery) -> None:
        """Note it."""
        self.sent.append(delivery)
        if self.sent[-1].job.target == CommandTarget(arguments=("false",)):
            raise DispatchFailedError("false ended with exit code 1")

    def look_after(self, seconds: float) -> Mapping[str, int]:
        """Let the time pass, and look."""
        self.clock.advance(timedelta(seconds=seconds))
        return self.watchdog.look()

    def rows(self) -> dict[str, tuple[Status, str | None]]:
        """The runs of the job by the seconds of their period."""
        return {run.period[-6:]: (run.status, run.reason) for run in self.ledger.runs("digest")}


MISSED = (Status.MISSED, Reason.NEVER_DELIVERED)


def test_a_tick_without_a_row_is_missed_after_the_starting_deadline_and_the_margin() -> None:
    """3 s and 2 s; the job misses nothing from before the first look."""
    world = World(configured())
    world.look_after(0)
    assert world.look_after(14.9) == {"jobs": 1}
    assert world.rows() == {}
    assert world.look_after(0.1) == {"jobs": 1, "missed": 1}
    assert world.rows() == {"00:10Z": MISSED}
    assert world.look_after(20) == {"jobs": 1, "missed": 2}
    assert list(world.rows()) == ["00:30Z", "00:20Z", "00:10Z"]


def test_a_tick_that_ran_is_not_missed() -> None:
    """Whatever became of it."""
    world = World(configured())
    world.look_after(0)
    world.ledger.claim("digest", "2026-11-29T06:00:10Z").fail("broken")  # type: ignore[union-attr]
    assert world.look_after(16) == {"jobs": 1}


@pytest.mark.parametrize(("catch_up", "started"), [("NONE", []), ("LATEST", ["06:00:30Z"]), ("ALL", ["06:00:10Z"])])
def test_missed_ticks_are_started_through_the_target_as_catch_up_says(catch_up: str, started: list[str]) -> None:
    """One after the other; the work is told that it catches up."""
    world = World(configured(catch_up=catch_up))
    world.look_after(0)
    world.look_after(35)
    assert [delivery.period[-9:] for delivery in world.sent] == started
    assert {delivery.trigger.value for delivery in world.sent} <= {"catch_up"}
    assert all(delivery.environment == {"CRONCE_TRIGGER": "catch_up"} for delivery in world.sent)


def test_a_lost_run_is_marked_before_it_is_started_again() -> None:
    """FAILED(lease_lost), then the target."""
    world = World(configured(every=None))
    world.ledger.claim("digest", "x")
    assert world.look_after(60)["jobs"] == 1
    assert world.sent == []
    assert world.look_after(6) == {"jobs": 1, "lost": 1}
    assert world.rows() == {"x": (Status.FAILED, Reason.LEASE_LOST)}
    assert [(delivery.period, delivery.trigger.value) for delivery in world.sent] == [("x", "retry")]


def test_a_held_run_is_marked_and_left_to_a_person(capsys: pytest.CaptureFixture[str]) -> None:
    """Reported once; nothing is started."""
    world = World(configured(), Policy(on_lost="HOLD"))  # type: ignore[arg-type]  # as a person writes it
    world.look_after(0)
    world.ledger.claim("digest", "x")
    for _ in range(3):
        world.look_after(66)
    assert world.sent == []
    assert world.rows()["x"] == (Status.FAILED, Reason.LEASE_LOST)
    assert capsys.readouterr().err.count('"cronce.event": "run_held"') == 1


def test_a_target_that_fails_is_reported_and_stops_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """The run stays as it is marked."""
    world = World(configured(catch_up="LATEST", target={"command": ["false"]}))
    world.look_after(0)
    assert world.look_after(16)["missed"] == 1
    assert "false ended with exit code 1" in capsys.readouterr().err


def test_a_changed_configuration_judges_only_ticks_from_the_look_that_saw_it() -> None:
    """A file has no date: what was due between the last look and the change is unknown."""
    world = World(configured())
    world.look_after(0)
    world.watch(configured(every="7s"))
    world.look_after(100)
    assert world.rows() == {}
    world.look_after(16)
    assert set(world.rows()) == {"01:43Z", "01:50Z"}


def test_the_dates_of_a_job_follow_from_its_memory() -> None:
    """New: both now. As remembered: both then. Changed: created then, modified now."""
    job = configured()
    new = WatchedClockJob.of(job, None, policy=Policy(), now=T0)
    assert (new.created_at, new.modified_at) == (T0, T0)
    world = World(job)
    world.look_after(0)
    row = world.ledger.run("cronce:watchdog:clock", "digest:")
    assert row is not None
    assert row.checkpoint is not None
    memory = from_value(json.loads(row.checkpoint))
    assert memory is not None
    assert from_value(to_value(memory)) == memory
    later = T0 + SECOND
    same = WatchedClockJob.of(job, memory, policy=Policy(), now=later)
    assert (same.created_at, same.modified_at) == (T0, T0)
    other = configured(target={"command": ["./other"]})
    changed = WatchedClockJob.of(other, memory, policy=Policy(), now=later)
    assert (changed.created_at, changed.modified_at) == (T0, later)


def test_a_job_by_the_day_has_days_as_periods() -> None:
    """Also where the ledger has periods of another form."""
    (job,) = parse_config({"jobs": {"digest": DAILY}}, what="test")
    watched = WatchedClockJob.of(job, None, policy=Policy(), now=T0)
    assert watched.period_of(datetime(2026, 11, 29, 5, tzinfo=UTC)) == "2026-11-29"
    assert watched.date_in == "Europe/Berlin"
    assert [watched.is_period(text) for text in ("2026-11-29", "2026-11-29T05:00:00Z", "2026-13-01", "x")] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    "settings", [{}, {"every": None, "schedule": "rate(2 minutes)"}, {"every": None, "schedule": "*/5 * * * *"}]
)
def test_a_timing_remembers_each_kind_of_timetable(settings: dict[str, object]) -> None:
    """Its ticks are those of the configuration."""
    job = configured(**settings)
    timing = Timing.of(WatchedClockJob.of(job, None, policy=Policy(), now=T0))
    assert job.timetable is not None
    assert timing.next_tick(T0) == job.timetable.next(T0)
    ticks, _ = timing.ticks(T0, T0 + timedelta(hours=1))
    assert ticks[-1] == job.timetable.previous(T0 + timedelta(hours=1, microseconds=1))


def test_what_the_configuration_says_of_catch_ups_and_pauses_is_in_the_policy() -> None:
    """The rest is the policy of the work."""
    job = configured(catch_up="ALL", suspend=True)
    watched = WatchedClockJob.of(job, None, policy=Policy(backoff_limit=3), now=T0)
    assert watched.policy == replace(Policy(backoff_limit=3), catch_up=CatchUp.ALL, suspend=True)


@pytest.mark.parametrize(
    ("told_after", "expected"), [("5m", [None, 1]), ("0s", [None, None]), ("4m", [1, 1]), (None, [None, None])]
)
def test_a_job_without_a_success_is_reported_as_its_configuration_says(
    told_after: str | None, expected: list[int | None], capsys: pytest.CaptureFixture[str]
) -> None:
    """By default after twice the time between two ticks and an hour; with 0 never."""
    world = World(configured(alert_without_success_for=told_after))
    world.look_after(0)
    assert [world.look_after(after).get("no_success") for after in (300, 1)] == expected
    assert capsys.readouterr().err.count('"cronce.event": "no_success"') == len([each for each in expected if each])


def test_a_job_that_only_people_start_is_reported_if_its_configuration_says_so() -> None:
    """It has no ticks from which a default could follow."""
    for told_after, expected in ((None, None), ("5m", 1)):
        world = World(configured(every=None, starting_deadline=None, alert_without_success_for=told_after))
        world.look_after(0)
        assert world.look_after(301).get("no_success") == expected
