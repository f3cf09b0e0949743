"""`run_once` in real Python processes, told everything by their environment."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.host import JOB, PERIOD, until

if TYPE_CHECKING:
    from tests.support.host import Command, Host

PROGRAM = Path(__file__).parents[1] / "support" / "once_program.py"


def test_the_winner_works_and_its_result_is_stored(host: Host) -> None:
    """What the work returns is returned, and is in the row."""
    task = start_task(host, "return", '{"sent": 3100}')
    assert task.wait() == 0
    assert lines(host)[-1] == {"returned": {"sent": 3100}}
    run = host.run()
    assert run is not None
    assert (run.status, run.result) == ("SUCCEEDED", '{"sent":3100}')
    assert [event["event"] for event in task.events] == ["claimed", "succeeded"]


def test_the_loser_gets_the_refusal_and_its_reason_is_logged(host: Host) -> None:
    """While the winner works and afterwards; its work is not called."""
    winner = start_task(host, "sleep")
    host.await_log("attempt")
    loser = start_task(host, "return", "1")
    assert loser.wait() == 0
    assert loser.event("refused")["reason"] == "RUNNING_ELSEWHERE"
    assert "not started" in lines(host)[-1]["returned"]
    assert len(lines(host)) == 2
    winner.send(signal.SIGTERM)
    assert winner.wait() == 143


def test_the_environment_says_everything(host: Host) -> None:
    """The period follows from the scheduled time, in UTC; policy and trigger apply."""
    task = start_task(
        host,
        "return",
        "null",
        env={
            "CRONCE_PERIOD": "",
            "CRONCE_SCHEDULED_TIME": "2026-11-29T07:00:00+01:00",
            "CRONCE_TRIGGER": "backfill",
            "CRONCE_POLICY": '{"starting_deadline": "1m"}',
        },
    )
    assert task.wait() == 0
    run = host.run("2026-11-29T06:00:00Z")
    assert run is not None
    assert (run.status, run.trigger) == ("SUCCEEDED", "backfill")
    assert lines(host)[0] == {"period": "2026-11-29T06:00:00Z", "attempt": 1, "fence": 1, "resume_from": None}


def test_the_policy_of_the_environment_refuses_a_late_start(host: Host) -> None:
    """MISSED(too_late); the task ends well."""
    env = {"CRONCE_PERIOD": "2026-01-01T06:00:00Z", "CRONCE_POLICY": '{"starting_deadline": "1h"}'}
    task = start_task(host, "return", "1", env=env)
    assert task.wait() == 0
    assert task.event("refused")["reason"] == "TOO_LATE"
    assert host.ended_run("2026-01-01T06:00:00Z") == ("MISSED", "too_late")


@pytest.mark.parametrize("missing", ["CRONCE_LEDGER", "CRONCE_JOB", "CRONCE_PERIOD"])
def test_without_a_part_of_the_environment_nothing_starts(host: Host, missing: str) -> None:
    """The error names the variable, and nothing is written."""
    task = start_task(host, "return", "1", env={missing: ""})
    assert task.wait() == 1
    assert "InputMissingError" in task.err
    assert missing in task.err
    assert lines(host) == []
    assert not (host.folder / "runs.db").exists()


def test_an_exception_is_the_runs_failure_and_passes_on(host: Host) -> None:
    """FAILED(error) with its text; the process ends with a traceback as without `run_once`."""
    task = start_task(host, "raise", "no mail server")
    assert task.wait() == 1
    assert "ValueError: no mail server" in task.err
    run = host.run()
    assert run is not None
    assert (run.status, run.reason, run.failures) == ("FAILED", "error", 1)
    assert run.error == "ValueError: no mail server"
    assert [event["event"] for event in task.events] == ["claimed", "failed"]


@pytest.mark.parametrize("code", [["0"], []], ids=["exit-0", "exit"])
def test_an_exit_with_code_0_is_a_success(host: Host, code: list[str]) -> None:
    """In the ledger and in the log."""
    task = start_task(host, "exit", *code)
    assert task.wait() == 0
    assert host.ended_run() == ("SUCCEEDED", None)
    assert [event["event"] for event in task.events] == ["claimed", "succeeded"]


def test_an_exit_with_another_code_is_a_failure(host: Host) -> None:
    """The code is the process's and the run's."""
    task = start_task(host, "exit", "3")
    assert task.wait() == 3
    run = host.run()
    assert run is not None
    assert (run.status, run.exit_code, run.failures) == ("FAILED", 3, 1)


def test_sigterm_interrupts_the_work_at_once(host: Host) -> None:
    """Exit 143, FAILED(interrupted) which does not count; the next claim wins at once."""
    task = start_task(host, "sleep")
    host.await_log("attempt")
    task.send(signal.SIGTERM)
    assert task.wait(10) == 143
    run = host.run()
    assert run is not None
    assert (run.status, run.reason, run.failures) == ("FAILED", "interrupted", 0)
    again = start_task(host, "return", "1")
    assert again.wait() == 0
    assert again.event("claimed")["attempt"] == 2


def test_sigterm_during_a_wait_leaves_nothing_running(host: Host) -> None:
    """Under WAIT the claimed run is given back before the process ends."""
    holder = start_task(host, "sleep", env={"CRONCE_PERIOD": "2026-11-28"})
    host.await_log("attempt")
    waiter = start_task(host, "return", "1", env={"CRONCE_POLICY": '{"concurrency_policy": "WAIT"}'})
    until(host.run, "the waiting run")
    waiter.send(signal.SIGTERM)
    assert waiter.wait(10) == 143
    assert host.ended_run() == ("FAILED", "interrupted")
    assert len(lines(host)) == 1
    holder.send(signal.SIGTERM)
    assert holder.wait() == 143


def test_a_replaced_holder_hears_of_it_through_check(host: Host) -> None:
    """`claim.check` raises within a heartbeat; FAILED(replaced); the two never overlap."""
    policy = '{"lease": "2s", "concurrency_policy": "REPLACE"}'
    earlier = start_task(host, "check", env={"CRONCE_PERIOD": "2026-11-28", "CRONCE_POLICY": policy})
    host.await_log("attempt")
    later = start_task(host, "return", "1", env={"CRONCE_POLICY": policy})
    assert earlier.wait() == 1
    assert "StopRequestedError" in earlier.err
    assert later.wait() == 0
    assert host.ended_run("2026-11-28") == ("FAILED", "replaced")
    assert host.ended_run() == ("SUCCEEDED", None)
    first, second = host.run("2026-11-28"), host.run()
    assert first is not None
    assert second is not None
    assert first.finished_at is not None
    assert second.finished_at is not None
    assert first.finished_at < second.finished_at


def test_after_a_sigkill_the_next_attempt_resumes(host: Host) -> None:
    """`claim.resume_from` is what the killed process stored last."""
    task = start_task(host, "checkpoint", '{"customer": 1500}', env={"CRONCE_POLICY": '{"lease": "2s"}'})
    until(lambda: (run := host.run()) and run.checkpoint, "the checkpoint")
    task.send(signal.SIGKILL)
    claim = host.claim_when_possible(meanwhile="RUNNING_ELSEWHERE")
    assert (claim.attempt, claim.resume_from) == (2, {"customer": 1500})
    claim.complete()


def start_task(host: Host, *what: str, env: dict[str, str] | None = None) -> Command:
    """Start the program with the environment that a task has."""
    task = {"CRONCE_LEDGER": host.url, "CRONCE_JOB": JOB, "CRONCE_PERIOD": PERIOD}
    return host.start(sys.executable, str(PROGRAM), *what, env=task | (env or {}))


def lines(host: Host) -> list[Any]:
    """What the programs logged."""
    return [json.loads(line) for line in host.logged]
