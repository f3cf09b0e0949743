"""What an event or a dead letter says is a hint: only what fits the job's own definition changes anything."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from cronce import CatchUp, Policy, Reason, Status
from cronce.vocabulary.names import period_of
from tests.lambdas.events import ARN, CLUSTER, EVENT, JOB, OTHER, World, letter, stopped, variables
from tests.support.cloud import GROUP, T0, metrics

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
NEVER_RAN: dict[str, Any] = {"exit_code": None, "stop_code": "TaskFailedToStart", "reason": "CannotPullContainerError"}
RETRIES = Policy(backoff_limit=2, catch_up=CatchUp.ALL)


def forged(account: str = "111122223333", exit_code: int | None = None, **changes: str) -> dict[str, Any]:
    """The event of a task that never ran, as a caller of RunTask may have it made."""
    detail = {name: value for name, value in changes.items() if not name.startswith("CRONCE_")}
    environ: dict[str, Any] = {name: value for name, value in changes.items() if name.startswith("CRONCE_")}
    event = stopped(**NEVER_RAN | ({} if exit_code is None else {"exit_code": exit_code}), **environ)
    event["detail"] |= detail
    return event | {"account": account}


FOREIGN: dict[str, dict[str, Any]] = {
    "another account": forged("999999999999"),
    "another account, all of it": forged(
        "999999999999",
        clusterArn=CLUSTER.replace("111122223333", "999999999999"),
        taskArn=ARN.replace("111122223333", "999999999999"),
    ),
    "no account": forged(""),
    "another cluster": forged(clusterArn=CLUSTER + "-2", taskArn=ARN.replace("jobs", "jobs-2")),
    "another cluster in the ARN of the task": forged(taskArn=ARN.replace("jobs", "jobs-2")),
    "another family": forged(taskDefinitionArn="arn:aws:ecs:eu-west-1:111122223333:task-definition/nginx:1"),
    "another family without an ARN": forged(taskDefinitionArn="", group="family:nginx"),
    "a group that somebody chose": forged(taskDefinitionArn="", group="digest-group"),
    "a longer family": forged(taskDefinitionArn="arn:aws:ecs:eu-west-1:111122223333:task-definition/digest-2:1"),
    "an unknown job": forged(CRONCE_JOB="weekly-digest"),
    "a future tick": forged(CRONCE_SCHEDULED_TIME=period_of(T0 + DAY)),
    "a future period with a past tick": forged(CRONCE_PERIOD=period_of(T0 + DAY)),
    "no tick": forged(CRONCE_SCHEDULED_TIME=period_of(T0 - MINUTE)),
    "a period of its own": forged(CRONCE_PERIOD="2026-W48"),
    "a command as the period": forged(CRONCE_PERIOD="$(curl evil)"),
    "a tick and another period": forged(CRONCE_PERIOD=period_of(T0 - DAY)),
}


@pytest.mark.parametrize("exit_code", [None, 0, 1])
@pytest.mark.parametrize("event", FOREIGN.values(), ids=FOREIGN)
def test_an_event_that_does_not_fit_the_definition_changes_nothing(
    event: dict[str, Any], exit_code: int | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No row, no launch, no event; one metric that has nothing of the hint in its dimensions."""
    monkeypatch.setenv("CRONCE_METRICS", "emf")
    world = World(policy=RETRIES)
    if exit_code is not None:
        event = event | {"detail": {**event["detail"], "stopCode": "EssentialContainerExited"}}
        event["detail"]["containers"] = [{"name": "digest", "exitCode": exit_code}]
    assert "ignored" in world.settle(event)
    names = {event["detail"]["overrides"]["containerOverrides"][0]["environment"][0]["value"], JOB}
    assert [run for name in names for run in world.ledger().runs(name)] == []
    assert (world.launches(), world.events.sent) == ([], [])
    ((name, line),) = metrics(capsys.readouterr().err)
    assert (name, line["_aws"]["CloudWatchMetrics"][0]["Dimensions"]) == ("EventsIgnored", [["Ledger"]])
    assert "Job" not in line


def test_the_event_of_the_job_itself_is_settled() -> None:
    """The hints that the others are compared with fit."""
    world = World(policy=RETRIES)
    assert world.settle(forged())["status"] == "FAILED"
    assert len(world.launches()) == 1


def test_a_later_revision_of_the_task_definition_is_the_jobs() -> None:
    """A task that was started before the deployment stops after it."""
    world = World(policy=RETRIES)
    world.define(policy=RETRIES, image="7")
    assert world.settle(forged())["status"] == "FAILED"


@pytest.mark.parametrize("event", list(FOREIGN.values())[:9], ids=list(FOREIGN)[:9])
def test_a_live_run_is_not_settled_by_a_foreign_event(event: dict[str, Any]) -> None:
    """Its owner lives; a forged event would start a second task beside it."""
    world = World(policy=RETRIES)
    world.claim()
    world.settle(event)
    assert (world.standing().status, world.launches()) == (Status.RUNNING, [])


def test_many_forged_events_launch_nothing_and_write_nothing() -> None:
    """Ticks of many days, unknown jobs, future days."""
    world = World(policy=RETRIES)
    for n in range(300):
        nginx = "arn:aws:ecs:eu-west-1:111122223333:task-definition/nginx:1"
        world.settle(forged(CRONCE_SCHEDULED_TIME=period_of(T0 - n * DAY), taskDefinitionArn=nginx))
        world.settle(forged(CRONCE_JOB=f"job-{n}"))
        world.settle(forged(CRONCE_SCHEDULED_TIME=period_of(T0 + (n + 1) * DAY)))
    assert (list(world.ledger().runs(JOB)), world.launches()) == ([], [])


def test_old_ticks_without_a_row_are_not_launched() -> None:
    """Who may run the job's own task definition can name each of its past ticks; only the last day's start a task."""
    world = World(policy=RETRIES)
    for n in range(29):
        world.settle(forged(CRONCE_SCHEDULED_TIME=period_of(T0 - n * DAY)))
    assert len(world.launches()) <= 2


def test_a_forged_exit_code_does_not_spoil_the_row() -> None:
    """A row whose exit code is a text could not be read any more."""
    world = World()
    event = stopped(exit_code=1)
    event["detail"]["containers"][0]["exitCode"] = "$(evil)"
    world.settle(event)
    run = world.standing()
    assert (run.exit_code, run.status) == (None, Status.FAILED)


class TestWithoutADefinition:
    """A job that no schedule runs: its tasks are started by hand, or its schedule is gone."""

    def test_the_run_that_the_task_itself_claimed_is_settled(self) -> None:
        """The row is the evidence: the task could write it."""
        world = World()
        claimed = world.ledger().claim("adhoc", "2026-11-29")
        assert claimed
        answer = world.settle(stopped(exit_code=137, CRONCE_JOB="adhoc", CRONCE_PERIOD="2026-11-29"))
        assert answer == {"status": "FAILED", "left": "no schedule of the group runs its job"}
        run = world.ledger().run("adhoc", "2026-11-29")
        assert run is not None
        assert (run.reason, world.launches()) == (Reason.TASK_STOPPED, [])

    def test_another_tasks_run_is_left(self) -> None:
        """And nothing is launched."""
        world = World()
        assert world.ledger(OTHER).claim("adhoc", "2026-11-29")
        answer = world.settle(stopped(exit_code=137, CRONCE_JOB="adhoc", CRONCE_PERIOD="2026-11-29"))
        assert answer == {"status": "RUNNING"}


class TestOfAClock:
    """A task that `cronce clock` started: by the definition of a schedule that is disabled."""

    def test_a_task_that_never_ran_is_recorded_whatever_its_tick(self) -> None:
        """The ticks are the clock's; the schedule itself starts nothing."""
        world = World()
        world.define(State="DISABLED")
        at = period_of(T0 - 10 * MINUTE)
        assert world.settle(forged(CRONCE_SCHEDULED_TIME=at))["left"] == "the schedule is disabled"
        run = world.ledger().run(JOB, at)
        assert run is not None
        assert run.reason == Reason.LAUNCH_FAILED

    def test_not_before_the_job_was_created(self) -> None:
        """Nor in the future."""
        world = World()
        world.define(State="DISABLED", CreationDate=T0 - MINUTE)
        assert "ignored" in world.settle(forged(CRONCE_SCHEDULED_TIME=period_of(T0 - 2 * MINUTE)))
        assert "ignored" in world.settle(forged(CRONCE_SCHEDULED_TIME=period_of(T0 + MINUTE)))


def _of(body: Mapping[str, str], **attributes: str) -> dict[str, Any]:
    return letter({"containerOverrides": [{"name": "digest", "environment": variables(**body)}]}, **attributes)


ARN_OF = "arn:aws:scheduler:eu-west-1:{}:schedule/{}/" + f"{JOB}-0123456789ab"
LETTERS: dict[str, dict[str, Any]] = {
    "an unknown job": _of({"CRONCE_JOB": "weekly"}),
    "an unknown schedule": letter("{}", SCHEDULE_ARN=ARN_OF.format("111122223333", GROUP) + "-2"),
    "another account": _of({}, SCHEDULE_ARN=ARN_OF.format("999999999999", GROUP)),
    "another group": _of({}, SCHEDULE_ARN=ARN_OF.format("111122223333", "theirs")),
    "no schedule": _of({}, SCHEDULE_ARN="evil"),
    "a future tick": _of({"CRONCE_SCHEDULED_TIME": period_of(T0 + DAY)}),
    "no tick": _of({"CRONCE_SCHEDULED_TIME": period_of(T0 - MINUTE)}),
    "a period of its own": _of({"CRONCE_PERIOD": "$(curl evil)"}),
    "a returned event of another account": letter(forged("999999999999")),
}


@pytest.mark.parametrize("message", LETTERS.values(), ids=LETTERS)
def test_a_letter_that_does_not_fit_the_definition_changes_nothing(
    message: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is counted and dropped: it would not fit the next time either."""
    monkeypatch.setenv("CRONCE_METRICS", "emf")
    world = World(policy=RETRIES)
    assert world.sort(message) == {"batchItemFailures": []}
    rows = [run for name in (JOB, "weekly") for run in world.ledger().runs(name)]
    assert (rows, world.launches(), world.events.sent) == ([], [], [])
    assert [name for name, _ in metrics(capsys.readouterr().err)] == ["EventsIgnored"]


def test_an_error_code_that_is_none_is_not_taken_into_the_row() -> None:
    """The reason stays one that tools can read."""
    world = World()
    world.sort(letter(ERROR_CODE="$(curl evil) \u0007"))
    assert world.standing().reason == "launch_failed: unknown"


def test_the_metric_counts_each_hint(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """With the hint in the log line, shortened and quoted."""
    monkeypatch.setenv("CRONCE_METRICS", "emf")
    World().settle(forged(CRONCE_JOB="x" * 2000))
    line = json.loads(capsys.readouterr().err)
    assert (line["EventsIgnored"], len(line["cronce.hint"]) <= 500) == (1, True)


def test_another_accounts_event_is_ignored_before_anything_is_read() -> None:
    """The function knows its own account from its own ARN."""
    world = World()
    recorder = world.recorder(account="111122223333")
    assert "ignored" in recorder.settle(EVENT | {"account": "999999999999"})
    assert world.scheduler.calls == []
