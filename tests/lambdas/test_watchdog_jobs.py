"""Which jobs the watchdog looks at: new ones, deleted ones, those that moved, unreadable ones, pinned services."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from cronce import (
    CatchUp,
    ConcurrencyPolicy,
    Policy,
    Reason,
    Status,
    Trigger,
)
from cronce.aws.sdk import Service
from cronce.operate.event_bus import EventBus
from cronce.stores.memory import MemoryStore
from cronce.vocabulary.names import period_of
from cronce.watch.group_watchdog import GroupWatchdog
from cronce_lambdas.ledger_age import Birth
from cronce_lambdas.settings import PinnedService
from tests.lambdas.events import CLUSTER, JOB, OTHER, SETTINGS, World
from tests.lambdas.hourly import hourly
from tests.support.cloud import T0, FakeClient, client_error, metrics, schedule

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
LATE = T0 + SETTINGS.missed_after
MONTH_AGO: dict[str, Any] = {"CreationDate": T0 - 30 * DAY, "LastModificationDate": T0 - 30 * DAY}
ALL, LATEST = Policy(catch_up=CatchUp.ALL), Policy(catch_up=CatchUp.LATEST)


class FakeTable(FakeClient):
    """DynamoDB with one table."""

    def describe_table(self, **request: Any) -> dict[str, Any]:  # noqa: ANN401
        """DescribeTable."""
        self._called("describe_table", request)
        return {"Table": {"CreationDateTime": T0}}


class TestUnreadable:
    """Rows of a newer schema, or of a type that nobody knows."""

    def spoil(self, world: World, job: str, period: str, **changes: Any) -> None:  # noqa: ANN401
        """Make a row unreadable."""
        store = world.store
        assert isinstance(store, MemoryStore)
        key = f"run#{period}"
        store._items[job, key] = {"job": job, "key": key, "status": "RUNNING", "schema": 99} | changes

    @pytest.mark.parametrize("catch_up", list(CatchUp))
    @pytest.mark.parametrize("hours", [0, 1, 6])
    def test_one_row_of_a_job_stops_no_other_tick(self, catch_up: CatchUp, hours: int, capsys: Any) -> None:  # noqa: ANN401
        """Every other tick gets its row; the row itself is left alone, and named."""
        world = hourly(policy=Policy(catch_up=catch_up))
        self.spoil(world, JOB, period_of(T0 + hours * HOUR))
        for minute in range(30):
            found = world.look(LATE + 6 * HOUR + minute * MINUTE)
            assert "failed" not in found
        readable = [hour for hour in range(7) if hour != hours]
        assert {world.standing(T0 + hour * HOUR).status for hour in readable} == {Status.MISSED}
        assert period_of(T0 + hours * HOUR) not in [launch[1] for launch in world.launches()]
        assert "row_unreadable" in capsys.readouterr().err

    def test_many_rows_of_a_job_hide_no_lost_run(self) -> None:
        """Under ALLOW it is found among the newest runs."""
        world = hourly(policy=Policy(concurrency_policy=ConcurrencyPolicy.ALLOW))
        world.claim(policy=Policy(concurrency_policy=ConcurrencyPolicy.ALLOW))
        for hours in range(1, 6):
            self.spoil(world, JOB, period_of(T0 + hours * HOUR), trigger="nobody")
        assert world.look(T0 + 2 * MINUTE)["lost"] == 1

    def test_a_slot_hides_no_missed_tick(self) -> None:
        """Who holds the job is unknown, so nothing is caught up."""
        world = hourly(policy=ALL)
        store = world.store
        assert isinstance(store, MemoryStore)
        store._items[JOB, "slot"] = {"job": JOB, "key": "slot", "schema": 99}
        assert world.look(LATE) == {"jobs": 1, "missed": 1, "unreadable": 1}
        assert world.launches() == []

    def test_a_slot_ends_no_look_that_starts_failed_runs_again(self) -> None:
        """Under ALLOW the slot has only the pause: if that is unknown, nothing is started."""
        allow = Policy(concurrency_policy=ConcurrencyPolicy.ALLOW, backoff_limit=3)
        world = hourly(policy=allow)
        watchdog = GroupWatchdog(
            ledger=world.ledger("cronce:watchdog"),
            url=SETTINGS.url,
            name="runs",
            launcher=world.launcher,
            bus=EventBus(world.events),
            ecs=Service("ecs", client=world.ecs),
            missed_after=SETTINGS.missed_after,
            retries=True,
            clock=world.clock,
        )
        watchdog.look()
        world.clock.advance(MINUTE)
        world.claim(policy=allow).fail(RuntimeError("no"))
        store = world.store
        assert isinstance(store, MemoryStore)
        store._items[JOB, "slot"] = {"job": JOB, "key": "slot", "schema": 99}
        world.clock.advance(MINUTE)
        assert watchdog.look() == {"jobs": 1, "unreadable": 1}
        assert world.launches() == []

    def test_the_memory_of_one_job_is_kept_elsewhere(self) -> None:
        """Its own row cannot be written; other jobs go on, and this one is judged once."""
        world = hourly()
        world.define("z", ScheduleExpression="cron(0 * * * ? *)", CreationDate=T0, LastModificationDate=T0)
        world.look(T0 + MINUTE)
        self.spoil(world, "cronce:watchdog", f"{JOB}-0123456789ab")
        for minute in range(130):
            world.look(T0 + HOUR + minute * MINUTE)
        told = [event["period"] for event in world.events.sent if event["job"] == JOB]
        assert told.count(period_of(T0 + HOUR)) == told.count(period_of(T0 + 2 * HOUR)) == 1
        assert world.run(T0 + HOUR, job="z") is not None

    def test_the_row_of_the_look_itself_is_replaced(self) -> None:
        """A look without it would never happen again."""
        world = hourly()
        world.look(T0 + MINUTE)
        self.spoil(world, "cronce:watchdog:look", "leader")
        for minute in range(3):
            world.look(LATE + minute * MINUTE)
        assert world.standing().reason == Reason.NEVER_DELIVERED
        assert len(world.events.sent) == 1


def test_a_schedule_that_may_not_be_read_stops_no_other(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its key is disabled. It is counted as a failure of the look, is not gone, and each look has the metric."""
    monkeypatch.setenv("CRONCE_METRICS", "emf")
    world = World()
    world.define("zzz")
    world.look()
    error = client_error("get_schedule", "AccessDeniedException", "the key is disabled", status=403)
    world.scheduler.fail_if("get_schedule", lambda ask: error if ask["Name"].startswith(JOB) else None)
    world.scheduler.schedules[f"{JOB}-0123456789ab"]["LastModificationDate"] = T0
    looks = [world.look(T0 + 6 * MINUTE + n * DAY) for n in range(2)]
    assert [(look["jobs"], look["failed"], look.get("gone")) for look in looks] == [(1, 1, None)] * 2
    assert world.run(job="zzz") is not None
    assert [name for name, _ in metrics(capsys.readouterr().err)].count("RowUnreadable") == 2


class TestBirth:
    """A ledger knows when it was created; what ran before that has no row in it."""

    @pytest.mark.parametrize("catch_up", list(CatchUp))
    def test_an_empty_ledger_under_an_old_schedule_judges_nothing_before_its_first_look(
        self, catch_up: CatchUp, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The table was lost; what had succeeded is neither called missed nor run again. One event says how many."""
        monkeypatch.setenv("CRONCE_METRICS", "emf")
        world = hourly(policy=Policy(catch_up=catch_up), **MONTH_AGO)
        for minute in range(20):
            world.look(LATE + HOUR + minute * MINUTE)
        assert (list(world.ledger().runs(JOB)), world.launches()) == ([], [])
        ((event),) = world.events.sent
        assert (event["type"], event["count"] > 700) == ("Cronce Ticks Not Judged", True)
        assert [name for name, _ in metrics(capsys.readouterr().err)] == ["TicksNotJudged"]

    def test_what_comes_after_the_first_look_is_judged_and_caught_up(self) -> None:
        """From then on it is a ledger like any other."""
        world = hourly(policy=ALL, **MONTH_AGO)
        world.look(LATE)
        world.look(LATE + HOUR)
        assert [launch[1] for launch in world.launches()] == [period_of(T0 + HOUR)]

    def test_a_table_that_was_restored_is_a_new_one(self) -> None:
        """Its rows and the watchdog's memory are older than the table; what ran in between is not run again."""
        world = hourly(policy=ALL)
        world.look(T0 + MINUTE)
        world.created_at = T0 + 3 * HOUR - MINUTE
        world.look(LATE + 4 * HOUR)
        periods = [launch[1] for launch in world.launches()]
        assert periods == [period_of(T0 + 3 * HOUR)]
        assert [run.period for run in world.ledger().runs(JOB)] == [period_of(T0 + n * HOUR) for n in (4, 3)]

    def test_what_was_to_be_caught_up_before_the_restore_is_not(self) -> None:
        """It may have run in the table that was lost."""
        policy = Policy(catch_up=CatchUp.ALL, lease=HOUR)
        world = hourly(policy=policy, ScheduleExpression="cron(0 6 * * ? *)")
        assert world.ledger(OTHER).claim(JOB, "by-hand", policy=policy, trigger=Trigger.MANUAL)
        world.look(LATE)
        world.created_at = T0 + HOUR
        world.ledger().release(JOB, "by-hand", actor="ann", force=True)
        world.look(LATE + 2 * HOUR)
        assert world.launches() == []

    @pytest.mark.parametrize("table", ["runs", "arn:aws:dynamodb:us-east-1:444455556666:table/runs"])
    def test_the_table_is_asked_by_the_name_in_the_url(self, table: str) -> None:
        """An ARN stays one: the table of another account has no other name."""
        dynamodb = FakeTable()
        url = f"dynamodb://{table.replace(':', '%3A').replace('/', '%2F')}?region=us-east-1"
        assert Birth(url, client=dynamodb).at() == T0
        assert dynamodb.calls == [("describe_table", {"TableName": table})]

    def test_without_an_answer_the_first_look_counts(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The role may be of an earlier version, which may not ask."""
        world = hourly(policy=ALL, **MONTH_AGO)
        world.created_at = client_error("describe_table", "AccessDeniedException", "no", status=400)
        world.look(LATE)
        assert world.launches() == []
        assert "birth_unknown" in capsys.readouterr().err


class TestGone:
    """A job that the watchdog remembers, and whose schedule does not exist any more."""

    def test_it_is_reported_once(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        """Its stack was deleted, or the ledger's stack took the group along."""
        monkeypatch.setenv("CRONCE_METRICS", "emf")
        world = hourly()
        world.look(T0 + MINUTE)
        gone = world.scheduler.schedules.pop(f"{JOB}-0123456789ab")
        assert world.look(T0 + 2 * MINUTE) == {"gone": 1}
        world.look(T0 + 3 * MINUTE)
        expected = {"type": "Cronce Schedule Gone", "ledger": "runs", "job": JOB, "schedule": f"{JOB}-0123456789ab"}
        assert world.events.sent == [expected]
        assert [name for name, _ in metrics(capsys.readouterr().err)] == ["ScheduleGone"]
        world.scheduler.schedules[gone["Name"]] = gone
        world.look(T0 + 4 * MINUTE)
        del world.scheduler.schedules[gone["Name"]]
        assert world.look(T0 + 5 * MINUTE) == {"gone": 1}

    def test_it_is_reported_however_many_went_before(self) -> None:
        """More than are remembered, and their names come first."""
        world = World()
        for number in range(201):
            world.define(f"a{number:03}")
        world.define("zzz")
        world.look(T0)
        world.look(T0 + DAY + 6 * MINUTE)
        for name in [name for name in world.scheduler.schedules if name.startswith("a")]:
            del world.scheduler.schedules[name]
        world.look(T0 + DAY + 7 * MINUTE)
        world.look(T0 + 2 * DAY + 6 * MINUTE)
        del world.scheduler.schedules["zzz-0123456789ab"]
        looks = [world.look(T0 + 2 * DAY + minute * MINUTE).get("gone") for minute in (7, 8)]
        assert looks == [1, None]
        assert [each["job"] for each in world.events.sent if each["type"] == "Cronce Schedule Gone"][-1] == "zzz"

    def test_one_whose_definition_is_invalid_is_not_gone(self) -> None:
        """It is reported as what it is."""
        world = hourly()
        world.look(T0 + MINUTE)
        answer = schedule(LastModificationDate=T0 + MINUTE)
        answer["Target"]["Input"] = answer["Target"]["Input"].replace('"CRONCE_TRIGGER"', '"CRONCE_POLICY"')
        world.scheduler.schedules[answer["Name"]] = answer
        assert "gone" not in world.look(T0 + 2 * MINUTE)

    def test_its_stuck_run_is_settled(self) -> None:
        """Nothing starts it again; its slot is free for whoever comes."""
        world = hourly()
        world.look(T0 + MINUTE)
        world.claim()
        del world.scheduler.schedules[f"{JOB}-0123456789ab"]
        lost = [minute for minute in range(2, 25) if world.look(T0 + minute * MINUTE).get("lost")]
        assert lost == [10]
        assert (world.standing().reason, world.launches()) == (Reason.LEASE_LOST, [])


class TestMoved:
    """A schedule whose time was changed."""

    @pytest.mark.parametrize(
        ("before", "after", "last", "following"),
        [
            (6, 10, "2026-11-29T06:00:00Z", "2026-11-29T10:00:00Z"),
            (10, 6, "2026-11-28T10:00:00Z", "2026-11-30T06:00:00Z"),
        ],
        ids=["two runs on that day", "none on that day"],
    )
    def test_the_next_look_says_so_with_the_ticks_around_it(
        self, before: int, after: int, last: str, following: str
    ) -> None:
        """Moved at 08:00; once."""
        world = hourly(ScheduleExpression=f"cron(0 {before} * * ? *)", **MONTH_AGO)
        world.look(T0 + MINUTE)
        world.events.calls.clear()
        moved: dict[str, Any] = {"LastModificationDate": T0 + 2 * HOUR, "CreationDate": T0 - 30 * DAY}
        world.define(ScheduleExpression=f"cron(0 {after} * * ? *)", **moved)
        world.look(T0 + 2 * HOUR + MINUTE)
        world.look(T0 + 2 * HOUR + 2 * MINUTE)
        told = [event for event in world.events.sent if event["type"] == "Cronce Schedule Changed"]
        assert told == [
            {
                "type": "Cronce Schedule Changed",
                "ledger": "runs",
                "job": JOB,
                "before": f"cron(0 {before} * * ? *) UTC",
                "after": f"cron(0 {after} * * ? *) UTC",
                "lastTick": last,
                "nextTick": following,
            }
        ]

    def test_a_deployment_is_no_move(self) -> None:
        """Another image, or enabled and disabled: the times are the same."""
        world = hourly()
        world.look(T0 + MINUTE)
        made: dict[str, Any] = {"CreationDate": T0 - MINUTE, "ScheduleExpression": "cron(0 * * * ? *)"}
        world.define(image="2", LastModificationDate=T0 + 2 * MINUTE, **made)
        world.look(T0 + 3 * MINUTE)
        world.define(State="DISABLED", LastModificationDate=T0 + 4 * MINUTE, **made)
        world.look(LATE)
        assert "Cronce Schedule Changed" not in [event["type"] for event in world.events.sent]


class TestPinned:
    """Services that must run one task."""

    SETTINGS = replace(
        SETTINGS,
        pinned=tuple(PinnedService(cluster=CLUSTER, service=f"clock-{n}", job=f"main-{n}") for n in range(12)),
    )

    def world(self, **counts: int) -> World:
        """A world with twelve services."""
        world = hourly(settings=self.SETTINGS)
        for n in range(12):
            name = f"clock-{n}"
            count = counts.get(name.replace("-", "_"), 1)
            world.ecs.services[name] = {"serviceName": name, "desiredCount": count, "status": "ACTIVE"}
        return world

    def test_services_that_are_right_are_asked_ten_at_a_time(self) -> None:
        """The limit of DescribeServices."""
        world = self.world()
        assert world.look() == {"jobs": 1}
        assert [len(request["services"]) for _, request in world.ecs.calls] == [10, 2]

    def test_a_wrong_count_is_counted_each_time_and_sent_once(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A person scaled the clock; an alarm needs the metric for as long as that lasts."""
        monkeypatch.setenv("CRONCE_METRICS", "emf")
        world = self.world(clock_3=2, clock_11=0)
        for minute in range(3):
            assert world.look(T0 + minute * MINUTE)["pinned_count_wrong"] == 2
        found = [(name, line["Job"]) for name, line in metrics(capsys.readouterr().err)]
        assert found == [("PinnedCountWrong", "main-3"), ("PinnedCountWrong", "main-11")] * 3
        assert [(event["service"], event["desiredCount"]) for event in world.events.sent] == [
            ("clock-3", 2),
            ("clock-11", 0),
        ]

    def test_one_that_is_wrong_again_sends_an_event_again(self) -> None:
        """It was right in between."""
        world = self.world()
        for minute, count in enumerate((2, 1, 2, 3)):
            world.ecs.services["clock-0"]["desiredCount"] = count
            world.look(T0 + minute * MINUTE)
        assert [event["desiredCount"] for event in world.events.sent] == [2, 2, 3]

    @pytest.mark.parametrize("change", [{"status": "INACTIVE"}, {"status": "DRAINING"}, None])
    def test_one_that_is_gone_is_wrong(self, change: dict[str, Any] | None) -> None:
        """There is no clock."""
        world = self.world()
        if change is None:
            del world.ecs.services["clock-0"]
        else:
            world.ecs.services["clock-0"] |= change
        assert world.look()["pinned_count_wrong"] == 1
        assert world.events.sent[0]["desiredCount"] is None

    def test_one_that_is_unknown_for_a_look_sends_no_event_again(self) -> None:
        """ECS does not answer in between."""
        world = self.world(clock_3=2)
        world.look(T0)
        world.ecs.fail("describe_services", "ThrottlingException")
        world.look(T0 + MINUTE)
        world.ecs.recover()
        assert world.look(T0 + 2 * MINUTE)["pinned_count_wrong"] == 1
        assert len(world.events.sent) == 1

    def test_in_a_cluster_that_is_gone_there_is_no_clock(self) -> None:
        """So each of its services is wrong, and its event says so once."""
        world = self.world()
        world.ecs.fail("describe_services", "ClusterNotFoundException")
        assert [world.look(T0 + minute * MINUTE)["pinned_count_wrong"] for minute in range(2)] == [12, 12]
        assert [event["desiredCount"] for event in world.events.sent] == [None] * 12

    @pytest.mark.parametrize("code", ["AccessDeniedException", "ThrottlingException"])
    def test_an_ecs_that_does_not_answer_hides_no_job(self, code: str) -> None:
        """It is reported; the ticks are judged."""
        world = self.world()
        world.ecs.fail("describe_services", code)
        assert world.look(LATE) == {"jobs": 1, "missed": 1}
