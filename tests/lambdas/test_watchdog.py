"""The watchdog looks at paused jobs, missed ticks and tasks that were cut short; what its look costs."""

from __future__ import annotations

import json
import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from moto import mock_aws

from cronce import (
    CatchUp,
    LeaseLostError,
    Ledger,
    LedgerUnavailableError,
    Policy,
    Reason,
    Status,
    Trigger,
)
from cronce.client.leadership import Leadership
from cronce.ecs import CallRefusedError, CallUnavailableError
from cronce.protocol.records import RunRecord
from cronce.stores.memory import MemoryStore
from cronce.vocabulary.names import period_of
from cronce_lambdas.watchdog import handler
from tests.lambdas.events import JOB, OTHER, PERIOD, SETTINGS, World, letter, stopped
from tests.lambdas.hourly import hourly
from tests.support.cloud import GROUP, T0, metrics, schedule, several

if TYPE_CHECKING:
    from pathlib import Path

    from cronce.protocol.operations import Swapped
    from cronce.protocol.records import Record
    from cronce.stores.store import Page


MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
LATE = T0 + SETTINGS.missed_after
ALL, LATEST = Policy(catch_up=CatchUp.ALL), Policy(catch_up=CatchUp.LATEST)


class CountingStore(MemoryStore):
    """Records the operations."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def get(self, job: str, key: str) -> Record | None:
        """See `Store.get`."""
        self.asked.append(f"get {job} {key}")
        return super().get(job, key)

    def swap(self, record: Record, expected: Record | None) -> Swapped:
        """See `Store.swap`."""
        self.asked.append(f"swap {record.job} {record.key}")
        return super().swap(record, expected)

    def query(self, job: str, *, limit: int, before: str | None = None) -> Page:
        """See `Store.query`."""
        self.asked.append(f"query {job}")
        return super().query(job, limit=limit, before=before)


class TestPaused:
    """A job that a person paused."""

    def test_a_tick_that_was_not_delivered_is_skipped_and_not_missed(self) -> None:
        """Nobody is alarmed, and it is not caught up, not even after the pause."""
        world = hourly(policy=ALL)
        world.ledger().pause(JOB, actor="ann", why="stocktaking")
        assert world.look(LATE) == {"jobs": 1}
        run = world.standing()
        assert (run.status, run.reason, run.actor, run.note) == (Status.SKIPPED, Reason.PAUSED, "ann", "stocktaking")
        world.ledger().resume(JOB)
        assert world.look(LATE + MINUTE) == {"jobs": 1}
        assert world.events.sent == []

    def test_a_tick_from_before_the_pause_is_missed_and_caught_up_after_it(self) -> None:
        """The backlog waits for the end of the pause."""
        world = hourly(policy=ALL)
        world.clock.advance(MINUTE)
        world.ledger().pause(JOB, actor="ann", why="stocktaking", until=LATE + 10 * MINUTE)
        assert world.look(LATE) == {"jobs": 1, "missed": 1}
        assert world.look(LATE + 9 * MINUTE) == {"jobs": 1}
        assert world.look(LATE + 10 * MINUTE) == {"jobs": 1, "caught_up": 1}


class TestMissed:
    """A tick that was not delivered."""

    def test_it_gets_a_row(self) -> None:
        """With its nominal time, and no attempt."""
        world = hourly()
        assert world.look(LATE) == {"jobs": 1, "missed": 1}
        run = world.standing()
        assert (run.status, run.reason, run.attempt) == (Status.MISSED, Reason.NEVER_DELIVERED, 0)
        assert (run.scheduled_at, run.owner) == (T0, "cronce:watchdog")

    def test_a_tick_of_a_further_schedule_gets_one_too(self) -> None:
        """The job is looked at once, whatever number of schedules it has, and remembered under its first one."""
        world = hourly()
        made = {"CreationDate": T0 - MINUTE, "LastModificationDate": T0 - MINUTE}
        first, further = several(JOB, further="cron(30 * * * ? *)", ScheduleExpression="cron(0 * * * ? *)", **made)
        world.scheduler.schedules |= {each["Name"]: each for each in (first, further)}
        assert world.look(LATE) == {"jobs": 1, "missed": 1}
        assert world.look(LATE + 30 * MINUTE) == {"jobs": 1, "missed": 1}
        run = world.standing(T0 + 30 * MINUTE)
        assert (run.status, run.reason) == (Status.MISSED, Reason.NEVER_DELIVERED)
        assert [row.period for row in world.ledger().page("cronce:watchdog", limit=10).runs] == [first["Name"]]

    def test_it_is_counted_and_sent_once(self, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:  # noqa: ANN401
        """A metric with two dimensions, and an event."""
        monkeypatch.setenv("CRONCE_METRICS", "emf")
        world = hourly()
        for minute in range(10):
            world.look(LATE + minute * MINUTE)
        ((name, line),) = metrics(capsys.readouterr().err)
        assert (name, line["Job"], line["Ledger"]) == ("TickMissed", JOB, "runs")
        (event,) = world.events.sent
        assert event == {
            "type": "Cronce Run Missed",
            "ledger": "runs",
            "job": JOB,
            "period": PERIOD,
            "scheduledTime": PERIOD,
            "reason": "never_delivered",
        }

    @pytest.mark.parametrize("state", ["running", "done", "failed", "skipped", "refused"])
    def test_one_that_was_delivered_is_none(self, state: str) -> None:
        """Whatever became of it."""
        world = hourly(policy=Policy(lease=HOUR))
        match state:
            case "running":
                world.claim()
            case "done":
                world.claim().complete()
            case "failed":
                world.claim().fail("no")
            case "skipped":
                world.ledger().claim(JOB, PERIOD, policy=Policy(suspend=True))
            case _:
                world.settle(stopped(exit_code=None, stop_code="TaskFailedToStart"))
        before = world.standing()
        assert "missed" not in world.look(LATE)
        after = world.standing()
        assert (after.status, after.reason, after.attempt) == (before.status, before.reason, before.attempt)
        assert "Cronce Run Missed" not in [event["type"] for event in world.events.sent]

    def test_a_late_delivery_takes_it_over(self) -> None:
        """The mark does not block the work."""
        world = hourly()
        world.look(LATE)
        claimed = world.claim()
        assert claimed.attempt == 1
        claimed.complete()
        world.look(LATE + MINUTE)
        assert world.standing().status is Status.SUCCEEDED

    def test_many_are_read_page_by_page(self) -> None:
        """The watchdog slept for three days; two of the ticks were delivered."""
        world = hourly()
        store = CountingStore()
        world.store = store
        world.look(T0)
        for hours in (10, 60):
            world.clock.advance(T0 + hours * HOUR - world.clock.now())
            world.claim(at=T0 + hours * HOUR).complete()
        store.asked.clear()
        assert world.look(T0 + 72 * HOUR + SETTINGS.missed_after)["missed"] == 71
        # The newest runs, for lost ones; the rows of the ticks; the newest runs again, for its own periods; a success.
        assert store.asked.count(f"query {JOB}") == 4
        assert not [asked for asked in store.asked if asked.startswith(f"get {JOB} run#")]

    def test_older_ones_than_a_hundred_are_reported(self, capsys: pytest.CaptureFixture[str]) -> None:
        """And the watchdog continues."""
        world = hourly(ScheduleExpression="cron(* * * * ? *)")
        found = world.look(LATE + 2 * HOUR)
        assert (found["missed"], found["not_judged"]) == (100, 21)
        lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
        (line,) = [line for line in lines if line["cronce.event"] == "ticks_not_judged"]
        assert line["cronce.count"] == 21
        assert world.look(LATE + 2 * HOUR + MINUTE) == {"jobs": 1, "missed": 1}

    def test_a_disabled_job_misses_nothing(self) -> None:
        """Disabled for a while, then enabled; ticks from before are still judged."""
        world = hourly()
        world.look(T0 + 2 * MINUTE)
        off: dict[str, Any] = {"ScheduleExpression": "cron(0 * * * ? *)", "CreationDate": T0 - MINUTE}
        world.define(State="DISABLED", LastModificationDate=T0 + 3 * MINUTE, **off)
        for hours in range(1, 5):
            world.look(T0 + hours * HOUR + 10 * MINUTE)
        world.define(LastModificationDate=T0 + 4 * HOUR + 30 * MINUTE, **off)
        world.look(T0 + 4 * HOUR + 31 * MINUTE)
        world.look(T0 + 5 * HOUR + 10 * MINUTE)
        assert [run.period for run in world.ledger().runs(JOB)] == [period_of(T0 + 5 * HOUR), PERIOD]

    def test_a_job_that_names_its_own_periods_misses_nothing(self) -> None:
        """Its tasks claim `2026-11-29`, so the tick never gets a row, and a catch-up would repeat the work."""
        world = hourly(policy=ALL)
        claimed = world.ledger().claim(JOB, "2026-11-29")
        assert claimed
        claimed.complete()
        assert world.look(LATE) == {"jobs": 1, "not_judged": 1}
        assert (world.run(), world.launches()) == (None, [])

    def test_a_rate_without_a_start_is_not_judged(self) -> None:
        """Nobody knows its ticks."""
        world = hourly(ScheduleExpression="rate(1 hour)")
        assert world.look(LATE + 5 * HOUR) == {"jobs": 1}

    def test_a_row_that_came_meanwhile_stays(self) -> None:
        """The task claims between the look at the row and the mark."""
        world = hourly()
        store = MemoryStore()
        swap = store.swap

        def claims_first(record: Record, expected: Record | None) -> Swapped:
            if isinstance(record, RunRecord) and (record.job, record.owner) == (JOB, "cronce:watchdog"):
                store.swap = swap  # type: ignore[method-assign]
                world.claim()
            return swap(record, expected)

        store.swap = claims_first  # type: ignore[method-assign]
        world.store = store
        assert world.look(LATE) == {"jobs": 1}
        assert (world.standing().status, world.events.sent) == (Status.RUNNING, [])

    def test_a_dead_letter_sends_one_event(self) -> None:
        """The recorder sends the event; the watchdog finds the mark and only catches up."""
        world = hourly(policy=LATEST)
        world.sort(letter())
        assert world.look(LATE) == {"jobs": 1, "caught_up": 1}
        assert len(world.events.sent) == 1


class TestCutShort:
    """A look that is interrupted."""

    def test_what_was_not_remembered_is_done_again(self) -> None:
        """The mark exists; the event is sent now."""
        world = hourly(policy=LATEST)
        world.events.fail_if("put_events", lambda _: RuntimeError("nobody foresaw this"))
        assert world.look(LATE) == {"jobs": 1, "missed": 1, "failed": 1}
        assert world.standing().status is Status.MISSED
        world.events.recover()
        world.events.calls.clear()
        assert world.look(LATE + MINUTE)["caught_up"] == 1
        assert len(world.events.sent) == 1

    def test_nothing_is_launched_twice(self) -> None:
        """The launch was arranged, and then it could not be remembered."""
        world = hourly(policy=LATEST)
        held = Leadership(world.ledger(), "cronce:watchdog", period=f"{JOB}-0123456789ab", lease=MINUTE).try_once()
        assert held
        for minute in range(3):
            world.look(LATE + minute * MINUTE / 10)
        assert len(world.launches()) == 1

    def test_one_look_at_a_time(self) -> None:
        """The second look ends at once and reads no schedules."""
        world = hourly()
        world.clock.advance(SETTINGS.missed_after)
        first = Leadership(world.ledger(OTHER), "cronce:watchdog:look", lease=MINUTE).try_once()
        assert first is not None
        assert world.look(LATE) == {"skipped": 1}
        assert world.scheduler.calls == []
        first.interrupt()
        assert world.look(LATE)["missed"] == 1

    def test_a_look_that_died_is_followed_when_its_lease_expires(self) -> None:
        """Lambda killed it."""
        world = hourly()
        assert Leadership(world.ledger(OTHER), "cronce:watchdog:look", lease=MINUTE).try_once()
        assert world.look(T0 + MINUTE) == {"skipped": 1}
        assert "skipped" not in world.look(T0 + 2 * MINUTE)

    def test_one_jobs_failure_hides_no_other(self, capsys: pytest.CaptureFixture[str]) -> None:
        """An unreadable row and an invalid expression."""
        world = hourly()
        expressions = {"a": "cron(0 * * * ? *)", "b": "cron(nonsense)", "z": "cron(0 * * * ? *)"}
        for job, expression in expressions.items():
            world.define(
                job,
                ScheduleExpression=expression,
                CreationDate=T0 - MINUTE,
                LastModificationDate=T0 - MINUTE,
            )
        store = world.store
        assert isinstance(store, MemoryStore)
        store._items["a", f"run#{PERIOD}"] = {"job": "a", "key": f"run#{PERIOD}", "schema": 99}
        assert world.look(LATE) == {"jobs": 4, "missed": 2, "failed": 1, "unreadable": 1}
        lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
        assert [line["cronce.job"] for line in lines if line["cronce.event"] == "look_failed"] == ["b"]
        assert [line["cronce.job"] for line in lines if line["cronce.event"] == "row_unreadable"] == ["a"]
        assert world.run(job="z") is not None

    def test_without_a_ledger_the_look_ends(self) -> None:
        """The next look comes in a minute."""

        class Away(MemoryStore):
            def query(self, job: str, *, limit: int, before: str | None = None) -> Page:
                raise LedgerUnavailableError("memory", f"{job} {limit} {before}", transient=False)

        world = World(store=Away())
        with pytest.raises(LedgerUnavailableError):
            world.look(LATE)
        world.store = MemoryStore()
        assert world.look(LATE)["jobs"] == 1

    def test_a_ledger_that_goes_away_in_a_look_ends_it(self) -> None:
        """Otherwise each of a hundred jobs would retry until its time limit."""
        world = hourly()
        world.define("z", CreationDate=T0 - MINUTE, LastModificationDate=T0 - MINUTE)
        store = CountingStore()

        def away(job: str, key: str) -> Record | None:
            store.asked.append(f"get {job} {key}")
            raise LedgerUnavailableError("memory", "gone", transient=False)

        store.get = away  # type: ignore[method-assign]
        world.store = store
        with pytest.raises(LedgerUnavailableError):
            world.look(LATE)
        assert "get z slot" not in store.asked

    def test_a_look_that_loses_its_row_does_not_write_to_it(self, capsys: Any) -> None:  # noqa: ANN401
        """A person released the row, and another look began."""
        world = hourly()

        def released(_request: object) -> None:
            world.ledger().release("cronce:watchdog:look", "leader", actor="ann", force=True)
            assert Leadership(world.ledger(OTHER), "cronce:watchdog:look", lease=MINUTE).try_once()

        world.events.fail_if("put_events", released)
        with pytest.raises(LeaseLostError):
            world.look(LATE)
        assert "look_not_ended" in capsys.readouterr().err
        world.events.recover()
        assert world.look(LATE + MINUTE) == {"skipped": 1}

    @pytest.mark.parametrize("stored", [{"looked_at": 7}, {"looked_at": "soon"}, "text", [1]])
    def test_what_an_earlier_look_left_may_be_anything(self, stored: object) -> None:
        """Then nothing is sure; the ticks are judged anyway."""
        world = hourly()
        claim = Leadership(world.ledger(), "cronce:watchdog:look", lease=MINUTE).try_once()
        assert claim
        claim.checkpoint(stored)
        claim.interrupt()
        assert world.look(LATE) == {"jobs": 1, "missed": 1}

    @pytest.mark.parametrize(
        ("code", "error"),
        [("AccessDeniedException", CallRefusedError), ("ThrottlingException", CallUnavailableError)],
    )
    def test_without_schedules_the_look_ends_and_frees_its_row(self, code: str, error: type[Exception]) -> None:
        """The error is Lambda's own metric; the next look is not locked out."""
        world = hourly()
        world.scheduler.fail("list_schedules", code)
        with pytest.raises(error):
            world.look(LATE)
        world.scheduler.recover()
        assert world.look(LATE)["missed"] == 1

    def test_events_that_are_rejected_are_reported(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Status 200 does not mean that the event was sent."""
        world = hourly()
        world.events.rejected = 1
        world.look(LATE)
        assert "event_not_sent" in capsys.readouterr().err

    def test_events_go_ten_at_a_time(self) -> None:
        """The limit of PutEvents."""
        world = hourly()
        world.look(LATE + 24 * HOUR)
        assert [len(request["Entries"]) for _, request in world.events.calls] == [10, 10, 5]


class TestPromises:
    """What catch-up and judging promise, to their limits."""

    def test_all_hundred_judged_ticks_are_caught_up(self) -> None:
        """Without a starting deadline none is too old, however long the others take."""
        world = hourly(policy=ALL)
        world.look(T0)
        at = LATE + 99 * HOUR
        while len(world.launches()) < 100:
            launches = len(world.launches())
            world.look(at := at + MINUTE)
            assert len(world.launches()) == launches + 1
            tick = T0 + launches * HOUR
            world.claim(at=tick, trigger=Trigger.CATCH_UP).complete()
        assert {world.standing(T0 + n * HOUR).status for n in range(100)} == {Status.SUCCEEDED}

    def test_ticks_beyond_the_hundred_are_told_with_their_number(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The watchdog did not look for four hours at a job of each minute."""
        monkeypatch.setenv("CRONCE_METRICS", "emf")
        world = hourly(ScheduleExpression="cron(* * * * ? *)")
        world.look(T0)
        world.look(LATE + 4 * HOUR)
        (event,) = [event for event in world.events.sent if event["type"] == "Cronce Ticks Not Judged"]
        assert (event["job"], event["count"], event["before"]) == (JOB, 141, period_of(T0 + 141 * MINUTE))
        found = {name: line[name] for name, line in metrics(capsys.readouterr().err)}
        assert found["TicksNotJudged"] == 141

    def test_a_backlog_that_is_full_says_what_it_drops(self) -> None:
        """The oldest tick's row says that it waits for a person."""
        policy = Policy(catch_up=CatchUp.ALL, lease=HOUR)
        world = hourly(policy=policy, ScheduleExpression="cron(* * * * ? *)")
        held = world.ledger(OTHER).claim(JOB, "by-hand", policy=policy, trigger=Trigger.MANUAL)
        assert held
        world.look(T0)
        world.clock.advance(50 * MINUTE)
        held.heartbeat()
        world.look(LATE + 99 * MINUTE)
        world.look(LATE + 100 * MINUTE)
        assert "too many ticks wait" in (world.standing().note or "")
        assert world.standing(T0 + MINUTE).note is None

    @pytest.mark.parametrize(
        ("expression", "missed"),
        [
            ("cron(0 6 31W * ? *)", 0),
            ("cron(0 6 30W * ? *)", 0),
            ("cron(0 6 29W * ? *)", 1),
            ("cron(0 6 28W * ? *)", 1),
        ],
    )
    def test_a_tick_that_aws_may_not_have_is_not_called_missed(self, expression: str, missed: int) -> None:
        """31 January 2027 is a Sunday and 30 a Saturday: the tick would be on the 29th, a Friday."""
        at = T0.replace(year=2027, month=1, day=27)
        made = {"CreationDate": at, "LastModificationDate": at}
        world = hourly(ScheduleExpression=expression, **made)
        world.look(at + MINUTE)
        found = sum(world.look(at + n * DAY + 10 * MINUTE).get("missed", 0) for n in range(1, 6))
        assert found == missed


class TestCosts:
    """The requests of a look when nothing is due."""

    def test_an_idle_look_costs_little(self) -> None:
        """Twenty jobs: one list, three writes for the look, one query for the memory, one slot per job."""
        world = hourly()
        for n in range(19):
            world.define(f"job-{n}", CreationDate=T0 - MINUTE, LastModificationDate=T0 - MINUTE)
        store = CountingStore()
        world.store = store
        world.look(T0 + MINUTE)
        store.asked.clear()
        world.scheduler.calls.clear()
        world.look(T0 + 2 * MINUTE)
        assert [operation for operation, _ in world.scheduler.calls] == ["list_schedules"]
        slots = [asked for asked in store.asked if asked.endswith(" slot")]
        rest = [asked for asked in store.asked if not asked.endswith(" slot")]
        assert (len(slots), len(rest)) == (20, 5)
        assert rest[2] == "query cronce:watchdog"
        assert {*rest} - {rest[2]} == {"swap cronce:watchdog:look run#leader"}

    def test_jobs_are_read_ten_at_a_time(self) -> None:
        """One after the other, the look at ten thousand jobs would take minutes."""
        together = threading.Barrier(10)

        class Slow(MemoryStore):
            def get(self, job: str, key: str) -> Record | None:
                if key == "slot":
                    together.wait(60)
                return super().get(job, key)

        world = hourly()
        for n in range(19):
            world.define(f"job-{n}", CreationDate=T0 - MINUTE, LastModificationDate=T0 - MINUTE)
        world.store = Slow()
        assert world.look(T0 + MINUTE) == {"jobs": 20}

    def test_a_tick_costs_one_read_once(self) -> None:
        """To remember the judgement it takes one write: the look has read the row already."""
        world = hourly()
        store = CountingStore()
        world.store = store
        world.claim().complete()
        world.look(T0 + MINUTE)
        store.asked.clear()
        world.look(LATE)
        world.look(LATE + MINUTE)
        assert store.asked.count(f"get {JOB} run#{PERIOD}") == 1
        memory = [asked for asked in store.asked if asked.startswith("swap cronce:watchdog run#")]
        assert len(memory) == 1


class TestHandler:
    """The function, with the environment that `RunLedger` gives it."""

    def test_it_looks(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """On moto: a job that was just created."""
        url = f"sqlite:///{tmp_path}/runs.db"
        Ledger.from_url(url).create()
        monkeypatch.setenv("CRONCE_LEDGER", url)
        monkeypatch.setenv("CRONCE_SCHEDULE_GROUP", GROUP)
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
        with mock_aws():
            scheduler: Any = boto3.client("scheduler")
            scheduler.create_schedule_group(Name=GROUP)
            answer = schedule()
            wanted = ("Name", "GroupName", "ScheduleExpression", "FlexibleTimeWindow", "Target")
            scheduler.create_schedule(**{name: answer[name] for name in wanted})
            assert handler({}, None) == {"jobs": 1}
            assert handler({"source": "aws.scheduler"}, None) == {"jobs": 1}
        memory = Ledger.from_url(url).run("cronce:watchdog", f"{JOB}-0123456789ab")
        assert memory is not None
        assert memory.owner == "cronce:watchdog"
