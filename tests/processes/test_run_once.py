"""`run_once` in real Python processes, told everything by their environment."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.processes.conftest import ON_SQLITE_AND_POSTGRES
from tests.support.host import JOB, PERIOD, until

if TYPE_CHECKING:
    from tests.support.host import Command, Host

PROGRAM = Path(__file__).parents[1] / "support" / "once_program.py"


@ON_SQLITE_AND_POSTGRES
def test_the_winner_works_and_its_result_is_stored(host: Host) -> None:
    """What the work returns is returned, and is in the row."""
    task = start_task(host, "return", '{"sent": 3100}')
    assert task.wait() == 0
    assert lines(host)[-1] == {"returned": {"sent": 3100}}
    run = host.run()
    assert run is not None
    assert (run.status, run.result) == ("SUCCEEDED", '{"sent":3100}')
    assert [event["event"] for event in task.events] == ["claimed", "succeeded"]


@ON_SQLITE_AND_POSTGRES
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
    """64 and one line that names the variable, not an option; nothing is written."""
    task = start_task(host, "return", "1", env={missing: ""})
    assert task.wait() == 64
    assert len(task.err.splitlines()) == 1
    assert missing in task.event("unusable")["message"]
    assert "--" not in task.err
    assert lines(host) == []
    assert not (host.folder / "runs.db").exists()


def test_with_the_ledger_away_it_is_one_line_and_69(host: Host) -> None:
    """As for `cronce exec`: the event has the metric and how long it took. A program can still catch the error."""
    away = {"CRONCE_LEDGER": "sqlite:////no/such/folder/runs.db", "CRONCE_METRICS": "emf"}
    task = start_task(host, "return", "1", env=away)
    assert task.wait() == 69
    assert len(task.err.splitlines()) == 1
    event = task.event("unavailable")
    assert "/no/such/folder" in event["message"]
    assert (event["LedgerUnavailable"], event["job"], event["duration"] >= 0) == (1, JOB, True)
    catching = (
        "from cronce import LedgerUnavailableError, run_once\n"
        "try: run_once(print)\n"
        "except LedgerUnavailableError as error: print(error.where, error.transient)"
    )
    names = {"CRONCE_JOB": JOB, "CRONCE_PERIOD": PERIOD}
    caught = host.start(sys.executable, "-c", catching, env=names | away)
    assert caught.wait() == 0
    assert b"/no/such/folder" in caught.out


def test_force_needs_a_persons_trigger_and_has_an_actor(host: Host) -> None:
    """64 for a force with the trigger `schedule`; else the actor is recorded, whoever it is."""
    assert start_task(host, "return", "1").wait() == 0
    assert start_task(host, "return", "2", env={"CRONCE_FORCE": "again"}).wait() == 64
    assert start_task(host, "return", "2", env={"CRONCE_FORCE": "again", "CRONCE_TRIGGER": "manual"}).wait() == 0
    run = host.run()
    assert run is not None
    assert (run.attempt, run.result) == (2, "2")
    assert run.actor


def test_the_result_of_work_that_cannot_be_stored_is_flagged(host: Host) -> None:
    """Whatever its own methods raise; a checkpoint that cannot be stored does not end the work."""
    program = (
        "from cronce import run_once\n"
        "class D(dict):\n"
        "    def items(self): raise RuntimeError('odd')\n"
        "def work(claim):\n"
        "    assert claim.checkpoint(D(a=1)) is False\n"
        "    return D(a=1)\n"
        "run_once(work)"
    )
    names = {"CRONCE_LEDGER": host.url, "CRONCE_JOB": JOB, "CRONCE_PERIOD": PERIOD}
    task = host.start(sys.executable, "-c", program, env=names)
    assert task.wait() == 0
    run = host.run()
    assert run is not None
    assert (run.status, run.result, run.result_flag) == ("SUCCEEDED", None, "NOT_JSON")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
def test_other_signals_that_end_a_program_interrupt_the_run(host: Host, number: signal.Signals) -> None:
    """FAILED(interrupted), which does not count."""
    task = start_task(host, "sleep")
    host.await_log("attempt")
    task.send(number)
    assert task.wait() in (128 + number, -number)
    run = host.run()
    assert run is not None
    assert (run.status, run.reason, run.failures) == ("FAILED", "interrupted", 0)


def test_a_reader_of_stderr_that_is_gone_does_not_change_the_exit_code(host: Host) -> None:
    """A line that could not be written is not written again at exit."""
    program = "import os, sys; r, w = os.pipe(); os.close(r); os.dup2(w, 2); os.execv(sys.argv[1], sys.argv[1:])"
    names = {"CRONCE_LEDGER": host.url, "CRONCE_JOB": JOB, "CRONCE_PERIOD": PERIOD}
    arguments = ("-c", program, sys.executable, str(PROGRAM), "return", "1")
    assert host.start(sys.executable, *arguments, env=names).wait() == 0
    assert host.ended_run() == ("SUCCEEDED", None)


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
