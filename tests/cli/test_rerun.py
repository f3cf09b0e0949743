"""`cronce rerun`: starts the job's own task, where the ledger will let it in."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from cronce.protocol.records import RunRecord
from cronce.vocabulary.policy import ConcurrencyPolicy, OnLost, Policy
from cronce.vocabulary.states import Reason, Status, Trigger
from tests.cli.conftest import LedgerFile, Said, now
from tests.cli.ecs_fleet import Fleet
from tests.support.builders import JOB, run

PERIOD = "2026-11-27T05:00:00Z"
BEFORE = "2026-11-26T05:00:00Z"
SCHEDULED = datetime(2026, 11, 27, 5, tzinfo=UTC)


def run_now(fleet: Fleet, period: str = PERIOD) -> RunRecord:
    """The run as it is now."""
    found = fleet.ledger.run(JOB, period)
    assert found is not None
    return found


def alive(**changes: object) -> RunRecord:
    """A run of the period whose owner is alive."""
    default = {"period": PERIOD, "claimed_at": now(), "lease_until": now() + timedelta(hours=1), "owner": "host:7"}
    return run(**default | changes)


def test_the_task_is_the_schedules_own_with_the_period_fixed(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """The same target; trigger, person and reason are in its environment, and nothing for EventBridge is left."""
    fleet.add_job(JOB)
    said = cronce("rerun", JOB, PERIOD, "--reason", "mail server was down", "--actor", "ann")
    assert (said.code, said.err) == (0, "")
    (request,) = fleet.requests
    assert request["taskDefinition"].endswith("task-definition/digest:7")
    (task,) = fleet.tasks
    expected = {
        "CRONCE_PERIOD": PERIOD,
        "CRONCE_SCHEDULED_TIME": PERIOD,
        "CRONCE_TRIGGER": "manual",
        "CRONCE_ACTOR": "ann",
        "CRONCE_NOTE": "mail server was down",
    }
    assert expected.items() <= task.environ.items()
    assert "CRONCE_FORCE" not in task.environ
    assert f"  cronce show {JOB} {PERIOD}" in said.out.splitlines()


def test_followed_to_a_success_is_0(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """Who asked, and why, is in the ledger afterwards."""
    fleet.add_job(JOB)
    said = cronce("rerun", JOB, PERIOD, "--follow", "--reason", "why not", "--actor", "ann")
    assert (said.code, said.err) == (0, "")
    started, at_work, ended = said.out.splitlines()
    assert started.startswith(f"Started {JOB} {PERIOD}: attempt 1, task ")
    assert at_work.startswith("Running: attempt 1 by task ")
    assert ended.startswith(f"{JOB} {PERIOD} SUCCEEDED, took ")
    after = run_now(fleet)
    assert (after.trigger, after.actor, after.note, after.scheduled_at) == (Trigger.MANUAL, "ann", "why not", SCHEDULED)


def test_followed_to_a_failure_is_1(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """With its reason."""
    fleet.add_job(JOB)
    fleet.does[PERIOD] = "fail"
    said = cronce("rerun", JOB, PERIOD, "--follow")
    assert said.code == 1
    assert "FAILED: error (exit code 3), the mail server said no" in said.out


def test_a_failed_run_is_run_again_without_further_ado(
    ledger_file: LedgerFile, fleet: Fleet, cronce: Callable[..., Said]
) -> None:
    """However often it failed, and although the job is suspended for machines."""
    fleet.add_job(JOB, policy=Policy(suspend=True, starting_deadline=timedelta(minutes=1)))
    ledger_file.put(run(period=PERIOD, status=Status.FAILED, reason=Reason.EXIT_CODE, exit_code=3, failures=5))
    assert cronce("rerun", JOB, PERIOD, "--follow").code == 0
    assert (run_now(fleet).status, run_now(fleet).attempt) == (Status.SUCCEEDED, 2)


def test_a_run_at_work_is_not_started_and_its_owner_is_named(
    ledger_file: LedgerFile, fleet: Fleet, cronce: Callable[..., Said]
) -> None:
    """Also with force: a living owner is not forced by a rerun."""
    fleet.add_job(JOB)
    ledger_file.put(alive())
    for options in ([], ["--force", "--reason", "impatient"]):
        said = cronce("rerun", JOB, PERIOD, *options)
        assert (said.code, said.out, said.err.count("\n")) == (1, "", 1)
        assert "attempt 1 by host:7" in said.err
        assert f"cronce show {JOB} {PERIOD}" in said.err
    assert fleet.requests == []


def test_a_run_whose_owner_is_dead_is_taken_over(
    ledger_file: LedgerFile, fleet: Fleet, cronce: Callable[..., Said]
) -> None:
    """Its lease has expired."""
    fleet.add_job(JOB)
    ledger_file.put(alive(lease_until=now() - timedelta(seconds=10)))
    assert cronce("rerun", JOB, PERIOD, "--follow").code == 0
    assert run_now(fleet).attempt == 2


def test_a_success_is_refused_with_the_command_that_would_repeat_it(
    ledger_file: LedgerFile, fleet: Fleet, cronce: Callable[..., Said]
) -> None:
    """Exit code 1, one line, nothing started."""
    fleet.add_job(JOB)
    ledger_file.put(run(period=PERIOD, status=Status.SUCCEEDED))
    said = cronce("rerun", JOB, PERIOD, "--reason", "a reason alone forces nothing")
    assert (said.code, said.out, said.err.count("\n")) == (1, "", 1)
    assert f"cronce rerun --force --reason WHY {JOB} {PERIOD}" in said.err
    assert fleet.requests == []


def test_a_forced_repeat_reaches_the_claim_in_the_task(
    ledger_file: LedgerFile, fleet: Fleet, cronce: Callable[..., Said]
) -> None:
    """Its reason and the earlier attempt stay in the ledger, and `show` has both."""
    fleet.add_job(JOB)
    ledger_file.put(run(period=PERIOD, status=Status.SUCCEEDED, owner="first", checkpoint="7"))
    said = cronce("rerun", JOB, PERIOD, "--force", "--reason", "half went to spam", "--actor", "ann", "--follow")
    assert said.code == 0
    after = run_now(fleet)
    assert (after.attempt, after.note, after.actor, after.checkpoint) == (2, "half went to spam", "ann", None)
    assert [past.owner for past in after.attempts] == ["first"]
    shown = " ".join(cronce("show", JOB, PERIOD).out.split())
    assert "by ann note half went to spam" in shown


def test_a_force_that_is_not_needed_is_not_handed_on(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """If the run succeeds before the task comes up, it must not be repeated."""
    fleet.add_job(JOB)
    cronce("rerun", JOB, PERIOD, "--force", "--reason", "to be sure")
    (task,) = fleet.tasks
    assert "CRONCE_FORCE" not in task.environ
    assert task.environ["CRONCE_NOTE"] == "to be sure"


def test_two_people_who_force_at_once_start_one_task(
    ledger_file: LedgerFile, fleet: Fleet, cronce: Callable[..., Said]
) -> None:
    """Both saw the same attempt, so both ask for the same launch; else the second would repeat the first's success."""
    fleet.add_job(JOB)
    ledger_file.put(run(period=PERIOD, status=Status.SUCCEEDED))
    for _ in range(2):
        assert cronce("rerun", JOB, PERIOD, "--force", "--reason", "spam", "--actor", "ann").code == 0
    assert len(fleet.requests) == 2
    assert len(fleet.tasks) == 1


def test_a_held_run_names_release(ledger_file: LedgerFile, fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """After a crash under HOLD a person has to decide; a forced rerun is a decision too."""
    fleet.add_job(JOB, policy=Policy(on_lost=OnLost.HOLD))
    ledger_file.put(run(period=PERIOD, status=Status.FAILED, reason=Reason.LEASE_LOST))
    said = cronce("rerun", JOB, PERIOD)
    assert (said.code, said.err.count("\n")) == (1, 1)
    assert f"cronce release --reason WHY {JOB} {PERIOD}" in said.err
    assert cronce("rerun", JOB, PERIOD, "--force", "--reason", "looked", "--follow").code == 0


def test_another_run_at_work_is_named_before_a_task_is_started(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """Under FORBID the task would only be skipped."""
    fleet.add_job(JOB)
    holder = fleet.ledger.claim(JOB, BEFORE)
    assert holder
    said = cronce("rerun", JOB, PERIOD)
    assert (said.code, said.err.count("\n")) == (1, 1)
    assert f"{BEFORE}, attempt 1 by" in said.err
    assert fleet.requests == []
    holder.complete()
    assert cronce("rerun", JOB, PERIOD).code == 0


def test_under_replace_it_is_said_whom_it_stops(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """As the policy wants it."""
    policy = Policy(concurrency_policy=ConcurrencyPolicy.REPLACE)
    fleet.add_job(JOB, policy=policy)
    assert fleet.ledger.claim(JOB, BEFORE, policy=policy)
    said = cronce("rerun", JOB, PERIOD)
    assert said.code == 0
    assert f"It will stop {BEFORE}, attempt 1 by" in said.out


def test_a_200_with_failures_is_not_a_started_task(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """The reason is printed, exit code 1."""
    fleet.add_job(JOB)
    fleet.failures = [{"reason": "RESOURCE:MEMORY", "arn": "arn:instance"}]
    said = cronce("rerun", JOB, PERIOD, "--follow")
    assert (said.code, said.out, said.err.count("\n")) == (1, "", 1)
    assert "is not started: RESOURCE:MEMORY" in said.err


@pytest.mark.parametrize(("code", "exit_code"), [("AccessDeniedException", 1), ("ThrottlingException", 69)])
def test_what_ecs_refuses_is_1_and_what_may_pass_is_69(
    fleet: Fleet, cronce: Callable[..., Said], code: str, exit_code: int
) -> None:
    """One line each."""
    fleet.add_job(JOB)
    fleet.refusal = code
    said = cronce("rerun", JOB, PERIOD)
    assert (said.code, said.out, said.err.count("\n")) == (exit_code, "", 1)
    assert code in said.err


def test_a_task_that_dies_before_it_claims_is_1_and_can_be_started_again(
    fleet: Fleet, cronce: Callable[..., Said]
) -> None:
    """ECS keeps a token for a day, so the same start again must not be the dead task."""
    fleet.add_job(JOB)
    fleet.does[PERIOD] = "die"
    said = cronce("rerun", JOB, PERIOD, "--follow")
    assert said.code == 1
    assert "stopped before it claimed the run: CannotPullContainerError: not found" in said.out
    fleet.does[PERIOD] = "succeed"
    assert cronce("rerun", JOB, PERIOD, "--follow").code == 0
    assert len(fleet.tasks) == 2


def test_a_period_that_is_no_tick_is_refused(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """`2026-11-27` would be another run than `2026-11-27T05:00:00Z`, and the digest would go out again."""
    fleet.add_job(JOB)
    said = cronce("rerun", JOB, "2026-11-27")
    assert (said.code, said.out, said.err.count("\n")) == (64, "", 1)
    assert f"such as {PERIOD}" in said.err
    assert fleet.requests == []
    assert cronce("rerun", JOB, "2026-11-27", "--unscheduled").code == 0
    assert fleet.tasks[0].environ["CRONCE_PERIOD"] == "2026-11-27"
    assert "CRONCE_SCHEDULED_TIME" not in fleet.tasks[0].environ


def test_a_period_of_the_ledger_is_one_whatever_the_schedule_is_now(
    ledger_file: LedgerFile, fleet: Fleet, cronce: Callable[..., Said]
) -> None:
    """The schedule may have been another one at that time."""
    fleet.add_job(JOB)
    ledger_file.put(run(period="2026-11-27T09:30:00Z", status=Status.FAILED, reason=Reason.EXIT_CODE))
    assert cronce("rerun", JOB, "2026-11-27T09:30:00Z").code == 0


def test_other_spellings_of_a_period_are_the_same_run(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """As everywhere."""
    fleet.add_job(JOB)
    assert cronce("rerun", JOB, "2026-11-27T06:00:00+01:00").code == 0
    assert fleet.tasks[0].environ["CRONCE_PERIOD"] == PERIOD


def test_the_document_has_the_run_at_the_end(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """Started or not; progress goes to stderr."""
    fleet.add_job(JOB)
    said = cronce("rerun", JOB, PERIOD, "--follow", "--json")
    document = json.loads(said.out)
    assert said.code == 0
    assert (document["started"], document["attempt"], document["reason"]) == (True, 1, None)
    assert document["task"] == fleet.tasks[0].arn
    assert document["run"]["status"] == "SUCCEEDED"
    assert "Running" in said.err
    again = cronce("rerun", JOB, PERIOD, "--json")
    document = json.loads(again.out)
    assert (again.code, document["started"], document["reason"]) == (1, False, "ALREADY_SUCCEEDED")
    assert set(document) == {"job", "period", "started", "attempt", "task", "reason", "run"}


@pytest.mark.parametrize(
    "arguments",
    [
        [JOB, PERIOD, "--force"],
        [JOB, PERIOD, "--force", "--reason", " "],
        [JOB, PERIOD, "--reason", "x" * 1001],
        [JOB, PERIOD, "--actor", "a\nb"],
        [JOB, "2026-11-27T05:00:00"],
        [JOB, "2026#11"],
        [JOB, "2030-11-27T05:00:00Z"],
        [JOB, "0001-01-01T00:00:00Z"],
        [JOB, "9999-12-31T23:59:59Z"],
        [JOB],
    ],
)
def test_bad_usage_is_one_line_and_64(fleet: Fleet, cronce: Callable[..., Said], arguments: list[str]) -> None:
    """And starts nothing."""
    fleet.add_job(JOB)
    said = cronce("rerun", *arguments)
    assert (said.code, said.out, said.err.count("\n")) == (64, "", 1)
    assert fleet.requests == []


def test_a_ledger_without_schedules_says_what_starts_work_there(
    cronce: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file has no schedule group."""
    monkeypatch.delenv("CRONCE_SCHEDULE_GROUP", raising=False)
    said = cronce("rerun", JOB, PERIOD)
    assert (said.code, said.err.count("\n")) == (64, 1)
    assert "--schedule-group" in said.err
    assert "--config" in said.err
    assert "the command after --" in said.err


def test_ctrl_c_ends_the_following_and_not_the_task(
    fleet: Fleet, cronce: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    """130, and where to look."""
    fleet.add_job(JOB)

    def interrupt(_seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", interrupt)
    said = cronce("rerun", JOB, PERIOD, "--follow")
    assert said.code == 130
    assert f"the task continues. To see the run: cronce show {JOB} {PERIOD}" in said.err


def test_a_job_whose_periods_are_days_is_rerun_by_the_day(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """The time of its tick would be another run of that day; the error names the day."""
    fleet.add_job(JOB, date_in="Europe/Berlin")
    refused = cronce("rerun", JOB, PERIOD)
    assert (refused.code, fleet.requests) == (64, [])
    assert f"such as {PERIOD[:10]}" in refused.err
    assert cronce("rerun", JOB, PERIOD[:10], "--follow").code == 0
    after = fleet.ledger.run(JOB, PERIOD[:10])
    assert after is not None
    assert (after.status, after.scheduled_at) == (Status.SUCCEEDED, SCHEDULED)
    assert "succeeded" in cronce("rerun", JOB, PERIOD[:10]).err
