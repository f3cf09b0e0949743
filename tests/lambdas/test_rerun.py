"""The rerun function: what a person asks for is a hint, and what starts follows from the job's own definition."""

from __future__ import annotations

import json
from datetime import timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from cronce import Claim, ConcurrencyPolicy, LedgerUnavailableError, OnLost, Policy, Refusal, Trigger
from cronce.client.settings import TaskSettings
from cronce.ecs import CallUnavailableError
from cronce.protocol.requests import RefusalReason
from cronce.stores.memory import MemoryStore
from cronce.vocabulary.names import period_of
from cronce_lambdas.rerun import Reruns, handler
from tests.lambdas.events import JOB, OTHER, PERIOD, World
from tests.support.cloud import GROUP, T0, schedule

if TYPE_CHECKING:
    from cronce.protocol.operations import Swapped
    from cronce.protocol.records import Record

TOMORROW = T0 + timedelta(days=1)


class ReadOnlyStore(MemoryStore):
    """A store in which the function must not write: its role has GetItem alone."""

    closed = False

    def swap(self, record: Record, expected: Record | None) -> Swapped:
        """Write, until the store is closed."""
        assert not self.closed
        return super().swap(record, expected)


def ask(world: World, **wish: Any) -> dict[str, Any]:  # noqa: ANN401
    """The answer to the wish, as Lambda passes it on: JSON."""
    reruns = Reruns(ledger=world.ledger("cronce:rerun"), launcher=world.launcher, name="runs", clock=world.clock)
    given = {"job": JOB, "period": PERIOD, "actor": "ann@desk"} | wish
    answer: dict[str, Any] = json.loads(json.dumps(reruns.answer(given, request="r-1")))
    return answer


def claim_of(world: World, number: int, owner: str) -> Claim | Refusal:
    """The claim of the task that the one-shot of that number starts."""
    settings = TaskSettings.from_environ(world.scheduler.environ_of(number))
    return world.ledger(owner).submit(settings.claim_request(token=owner, owner=owner))


def succeeded(world: World) -> None:
    """The tick's run has ended well, with a result."""
    claim = world.claim()
    claim.checkpoint({"secret": 1})
    claim.complete({"secret": 2})


class TestStarting:
    """What a task is started with."""

    def test_the_jobs_own_task_is_arranged_with_its_scheduler_role(self) -> None:
        """Its target as it is, the period fixed; the person is in the environment, and nothing else of the wish."""
        world = World(store=ReadOnlyStore())
        answer = ask(world, reason="mail server was down")
        assert answer == {
            "started": True,
            "before": False,
            "forced": False,
            "course": "START",
            "run": None,
            "beside": None,
        }
        [made] = world.scheduler.one_shots
        own = schedule()["Target"]
        assert {name: value for name, value in made["Target"].items() if name != "Input"} == {
            name: value for name, value in own.items() if name != "Input"
        }
        assert made["Target"]["RoleArn"] == f"arn:aws:iam::111122223333:role/cronce/{GROUP}/{JOB}"
        assert (made["GroupName"], made["ActionAfterCompletion"]) == (GROUP, "DELETE")
        assert made["ScheduleExpression"] == "at(2026-11-29T06:01:00)"
        environ = world.scheduler.environ_of(0)
        assert environ | {"CRONCE_ACTOR": "ann@desk", "CRONCE_NOTE": "mail server was down"} == environ
        assert environ | {"CRONCE_PERIOD": PERIOD, "CRONCE_TRIGGER": "manual", "CRONCE_LAUNCH": "1"} == environ
        assert "CRONCE_FORCE" not in environ
        container = json.loads(made["Target"]["Input"])["containerOverrides"][1]
        assert container["command"] == ["python", "-m", "digest"]

    def test_it_only_reads_the_ledger_and_never_calls_ecs(self) -> None:
        """Its role may not."""
        store = ReadOnlyStore()
        world = World(store=store, policy=Policy(concurrency_policy=ConcurrencyPolicy.FORBID))
        succeeded(world)
        store.closed = True
        assert ask(world)["started"] is False
        assert ask(world, force=True, reason="spam")["started"] is True
        assert world.ecs.calls == []
        assert {name for name, _ in world.scheduler.calls} <= {"list_schedules", "get_schedule", "create_schedule"}

    def test_the_claim_has_person_and_reason(self) -> None:
        """As after `cronce rerun`."""
        world = World()
        ask(world, reason="why not")
        assert isinstance(claim_of(world, 0, OTHER), Claim)
        run = world.standing()
        assert (run.trigger, run.actor, run.note, run.scheduled_at) == ("manual", "ann@desk", "why not", T0)

    def test_the_limits_for_machines_do_not_apply_to_a_person(self) -> None:
        """A suspended job after its starting deadline, with a disabled schedule."""
        world = World(policy=Policy(suspend=True, starting_deadline=timedelta(minutes=1)))
        world.define(policy=world.policy, State="DISABLED")
        world.clock.advance(timedelta(hours=3))
        assert ask(world)["started"] is True
        assert isinstance(claim_of(world, 0, OTHER), Claim)

    def test_asked_twice_it_starts_one_task(self) -> None:
        """The second answer says so; its own person is not recorded."""
        world = World()
        assert [ask(world, actor=actor)["before"] for actor in ("ann", "bob")] == [False, True]
        assert len(world.scheduler.one_shots) == 1

    def test_a_retry_that_waits_is_the_task_that_starts(self) -> None:
        """Two tasks for one attempt would be one too many."""
        world = World(policy=Policy(backoff_limit=2))
        world.claim().fail("no", exit_code=1)
        run = world.standing()
        job = world.launcher.find(JOB)
        wish: dict[str, Any] = {"scheduled_at": T0, "trigger": Trigger.RETRY, "attempt": run.attempt + 1, "launch": 1}
        world.launcher.run_later(job, PERIOD, not_before=T0 + timedelta(minutes=1), **wish)
        assert ask(world)["before"] is True
        assert len(world.scheduler.one_shots) == 1


class TestForce:
    """A success is repeated for a person's reason, once."""

    def test_a_success_is_refused_and_repeated_by_force(self) -> None:
        """The answer has the row without what the work stored in it."""
        world = World()
        succeeded(world)
        refused = ask(world)
        assert (refused["started"], refused["reason"]) == (False, "ALREADY_SUCCEEDED")
        assert (refused["run"]["status"], refused["run"]["attempt"]) == ("SUCCEEDED", 1)
        assert "secret" not in json.dumps(refused)
        assert refused["run"].keys().isdisjoint({"result", "checkpoint", "error", "token", "attempts", "note"})
        assert ask(world, force=True, reason="half went to spam")["forced"] is True
        environ = world.scheduler.environ_of(0)
        assert (environ["CRONCE_FORCE"], environ["CRONCE_FORCE_ATTEMPT"]) == ("half went to spam", "2")
        assert "CRONCE_NOTE" not in environ
        assert isinstance(claim_of(world, 0, OTHER), Claim)

    def test_a_force_that_is_not_needed_is_not_handed_on(self) -> None:
        """If the run succeeds before the task comes up, it must not be repeated."""
        world = World()
        assert ask(world, force=True, reason="to be sure")["forced"] is False
        assert "CRONCE_FORCE" not in world.scheduler.environ_of(0)

    def test_two_forced_starts_repeat_the_work_once(self) -> None:
        """The first one-shot is gone when the second person asks, and its task has not claimed yet."""
        world = World()
        succeeded(world)
        for number in range(2):
            assert ask(world, force=True, reason="spam")["before"] is False
            world.scheduler.schedules.pop(world.scheduler.one_shots[number]["Name"])
        first = claim_of(world, 0, "first")
        assert isinstance(first, Claim)
        first.complete()
        second = claim_of(world, 1, "second")
        assert isinstance(second, Refusal)
        assert second.reason is RefusalReason.ALREADY_SUCCEEDED

    def test_a_held_run_needs_force(self) -> None:
        """After a crash under HOLD."""
        world = World(policy=Policy(on_lost=OnLost.HOLD))
        world.claim()
        world.clock.advance(timedelta(hours=1))
        assert ask(world)["reason"] == "HELD"
        assert ask(world, force=True, reason="I looked")["forced"] is True


class TestRefusing:
    """What starts nothing."""

    @pytest.mark.parametrize(
        "wish",
        [
            {"job": None},
            {"job": ""},
            {"job": ["daily-digest"]},
            {"job": "a\nb"},
            {"job": "x" * 2049},
            {"job": "\udcff"},
            {"period": None},
            {"period": 20261129},
            {"period": "2026-11-29T06:00:00"},
            {"period": "2026-11-29T06:00:00.5Z"},
            {"period": "a#b"},
            {"period": "$(evil)\x1b[31m"},
            {"period": "x" * 1001},
            {"actor": None},
            {"actor": "  "},
            {"actor": "ann\x1b[31m"},
            {"actor": "x" * 1001},
            {"reason": ""},
            {"reason": "a\nb"},
            {"reason": "x" * 1001},
            {"reason": {"a": 1}},
            {"reason": 7},
            {"force": "yes", "reason": "why"},
            {"force": 1, "reason": "why"},
            {"force": None, "reason": "why"},
            {"force": True},
            {"force": True, "reason": None},
            {"command": ["sh", "-c", "evil"]},
            {"environment": {"X": "y"}},
            {"launch": 2},
            {"Job": JOB},
        ],
    )
    def test_anything_but_the_documented_payload_is_refused_before_a_call(self, wish: dict[str, Any]) -> None:
        """One reason for scripts, and what is wrong."""
        world = World()
        answer = ask(world, **wish)
        assert (answer["started"], answer["reason"]) == (False, "INVALID")
        assert answer["why"]
        assert world.scheduler.calls == []

    @pytest.mark.parametrize("event", [None, [], "daily-digest", 7, True, {}, {"Records": []}, [{"job": JOB}]])
    def test_a_payload_of_another_shape_is_refused(self, event: object) -> None:
        """Whatever JSON it is, also the event of another service."""
        world = World()
        reruns = Reruns(ledger=world.ledger(), launcher=world.launcher, name="runs", clock=world.clock)
        assert reruns.answer(event)["reason"] == "INVALID"
        assert world.scheduler.calls == []

    def test_a_job_that_no_schedule_defines_is_unknown(self) -> None:
        """The watchdog's rows, and a job of another group, cannot be started."""
        world = World()
        for job in ("daily-digestt", "cronce:watchdog"):
            assert ask(world, job=job)["reason"] == "UNKNOWN_JOB"
        assert world.scheduler.one_shots == []

    @pytest.mark.parametrize(
        ("period", "why"),
        [
            ("2026-11-29T05:59:00Z", "its time is no tick of the schedule"),
            ("2026-11-29", "its period is no tick of the schedule"),
            ("$(evil)", "its period is no tick of the schedule"),
            (period_of(TOMORROW), "its period has not come yet"),
        ],
    )
    def test_a_period_without_a_row_must_be_a_tick_that_was_due(self, period: str, why: str) -> None:
        """A run before its time would be refused as done when it is due."""
        world = World()
        assert ask(world, period=period) == {"started": False, "reason": "NO_TICK", "why": why}
        assert world.scheduler.one_shots == []

    def test_a_period_of_the_jobs_own_choice_with_a_row_is_taken(self) -> None:
        """The row shows that it is one."""
        world = World()
        claim = world.ledger(OTHER).claim(JOB, "2026-W48")
        assert isinstance(claim, Claim)
        claim.fail("no")
        assert ask(world, period="2026-W48")["started"] is True

    def test_a_run_that_is_active_is_left_alone(self) -> None:
        """Also with force; the answer says whose it is."""
        world = World()
        world.claim(OTHER)
        for wish in ({}, {"force": True, "reason": "impatient"}):
            answer = ask(world, **wish)
            assert (answer["reason"], answer["run"]["owner"]) == ("RUNNING_ELSEWHERE", OTHER)
        assert world.scheduler.one_shots == []

    def test_another_run_that_is_active_counts_as_the_policy_says(self) -> None:
        """Under FORBID the task would only be skipped; under REPLACE the answer says whom it stops."""
        for policy, started in ((ConcurrencyPolicy.FORBID, False), (ConcurrencyPolicy.REPLACE, True)):
            world = World(policy=Policy(concurrency_policy=policy))
            world.claim(OTHER, at=T0 - timedelta(days=1))
            answer = ask(world)
            assert answer["started"] is started
            assert answer["beside"]["owner"] == OTHER
            assert answer.get("course") == ("REPLACE" if started else None)

    def test_an_unreadable_row_is_never_started_over(self) -> None:
        """A newer version may have written it."""
        world = World()
        succeeded(world)
        row = world.standing()
        assert isinstance(world.store, MemoryStore)
        world.store._items[JOB, row.key]["schema"] = 99
        answer = ask(world, force=True, reason="why")
        assert (answer["started"], answer["reason"]) == (False, "HELD")
        assert "schema 99" in answer["why"]

    def test_what_eventbridge_refuses_is_an_answer(self) -> None:
        """No error of the function, which an alarm would count."""
        world = World()
        world.scheduler.fail("create_schedule", "ValidationException", "no such role")
        answer = ask(world)
        assert (answer["started"], answer["reason"]) == (False, "NOT_LAUNCHED")
        assert "no such role" in answer["why"]

    def test_no_answer_is_an_error(self) -> None:
        """Of the ledger, or of EventBridge Scheduler: the caller tries again."""
        world = World()
        world.scheduler.go_away("create_schedule")
        with pytest.raises(CallUnavailableError):
            ask(world)
        world.scheduler.recover()
        assert ask(world)["started"] is True

        class Away(MemoryStore):
            def get(self, job: str, key: str) -> Record | None:
                raise LedgerUnavailableError("memory", f"{job} {key}", transient=False)

        with pytest.raises(LedgerUnavailableError):
            ask(World(store=Away()))


def test_the_log_line_has_the_request_and_its_person(capsys: pytest.CaptureFixture[str]) -> None:
    """CloudTrail has the caller under the same ID: the actor is only what the caller claims."""
    world = World()
    ask(world, reason="why\u00fc")
    ask(world, period="2026-11-29")
    ask(world, job="a\x1b[31m")
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["cronce.event"] for line in lines] == ["rerun_arranged", "rerun_refused", "rerun_refused"]
    assert {line["cronce.request"] for line in lines} == {"r-1"}
    assert (lines[0]["cronce.actor"], lines[0]["cronce.note"]) == ("ann@desk", "why\u00fc")


def test_the_handler_takes_the_ledger_from_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """And refuses a foreign payload without a call."""
    monkeypatch.setenv("CRONCE_LEDGER", "dynamodb://runs?region=eu-west-1")
    assert handler({"Records": []}, SimpleNamespace(aws_request_id="r-1"))["reason"] == "INVALID"
