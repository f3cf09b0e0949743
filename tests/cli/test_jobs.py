"""`cronce jobs`, and what is said about a job that does not exist."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from cronce.vocabulary.policy import Policy
from cronce.vocabulary.states import Status
from tests.cli.conftest import LedgerFile, Said, without_colour
from tests.cli.ecs_fleet import Fleet
from tests.support.builders import JOB, run


def jobs_of(said: Said) -> list[dict[str, object]]:
    """The jobs of the document that was printed."""
    assert (said.code, said.err) == (0, "")
    jobs: list[dict[str, object]] = json.loads(said.out)["jobs"]
    return jobs


def test_jobs_of_the_group_and_of_the_ledger_are_one_list(
    ledger_file: LedgerFile, fleet: Fleet, cronce: Callable[..., Said]
) -> None:
    """In the order of their names; cronce's own rows are no jobs."""
    fleet.add_job("billing", policy=Policy(suspend=True))
    fleet.add_job(JOB, State="DISABLED")
    ledger_file.put(
        run(status=Status.SUCCEEDED), run(job="by-hand", status=Status.SUCCEEDED), run(job="cronce:watchdog")
    )
    assert jobs_of(cronce("jobs", "--json")) == [
        {"job": "billing", "schedule": "cron(0 6 * * ? *)", "timezone": "Europe/Berlin", "state": "suspended"},
        {"job": "by-hand", "schedule": None, "timezone": None, "state": "unscheduled"},
        {"job": JOB, "schedule": "cron(0 6 * * ? *)", "timezone": "Europe/Berlin", "state": "disabled"},
    ]
    table = cronce("jobs").out
    assert "at 06:00 every day, Europe/Berlin" in table
    assert table.index("billing") < table.index("by-hand") < table.index(JOB)


def test_a_ledger_file_needs_no_schedule_group(
    ledger_file: LedgerFile, cronce: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its jobs are those with rows."""
    monkeypatch.delenv("CRONCE_SCHEDULE_GROUP", raising=False)
    ledger_file.put(run())
    assert [job["job"] for job in jobs_of(cronce("jobs", "--json"))] == [JOB]


def test_no_jobs_are_an_answer(ledger_file: LedgerFile, cronce: Callable[..., Said]) -> None:
    """In words, or as an empty list."""
    assert cronce("init").code == 0
    said = cronce("jobs")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(f"No jobs in SQLite file {ledger_file.path}")
    assert jobs_of(cronce("jobs", "--json")) == []


def test_a_group_that_cannot_be_read_is_69(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """The list would be incomplete."""
    assert fleet.schedules == {}
    said = cronce("jobs", "--schedule-group", "nope")
    assert (said.code, said.out, said.err.count("\n")) == (69, "", 1)


@pytest.mark.parametrize(("typed", "meant"), [("Daily-Digest", JOB), ("daily-digst", JOB), ("bill", "billing")])
@pytest.mark.parametrize("scheduled", [True, False])
def test_a_job_that_does_not_exist_is_a_problem_and_the_meant_one_is_named(
    ledger_file: LedgerFile, fleet: Fleet, cronce: Callable[..., Said], *, typed: str, meant: str, scheduled: bool
) -> None:
    """Whether it is known from the schedule group or from the ledger."""
    for job in (JOB, "billing"):
        if scheduled:
            fleet.add_job(job)
        else:
            ledger_file.put(run(job=job))
    said = cronce("runs", typed)
    assert (said.code, said.out, said.err.count("\n")) == (1, "", 1)
    assert f"there is no job {typed}" in said.err
    assert f"Did you mean {meant}?" in said.err
    said = cronce("show", typed, "2026-11-27T05:00:00Z")
    assert (said.code, said.err.count("\n")) == (1, 1)
    assert f"Did you mean {meant}?" in said.err


def test_a_job_without_runs_is_no_problem(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """It was not due yet; a disabled schedule is said."""
    fleet.add_job(JOB)
    assert cronce("runs", JOB).code == 0
    assert cronce("runs", JOB).out.startswith(f"No runs of {JOB} in ")
    fleet.add_job(JOB, State="DISABLED")
    assert "Its schedule is disabled." in cronce("runs", JOB).out


def test_a_filter_without_a_match_is_no_problem(ledger_file: LedgerFile, cronce: Callable[..., Said]) -> None:
    """The job exists."""
    ledger_file.put(run(status=Status.SUCCEEDED))
    assert cronce("runs", JOB, "--status", "FAILED").code == 0
    assert cronce("runs", JOB, "--before", "2000").code == 0
    assert cronce("runs", "daily", "--status", "FAILED").code == 1


def test_an_unknown_job_has_an_empty_document_and_exit_code_1(
    ledger_file: LedgerFile, cronce: Callable[..., Said]
) -> None:
    """A script finds the empty list, and the error on stderr."""
    ledger_file.put(run())
    said = cronce("runs", "nope", "--json")
    assert said.code == 1
    assert json.loads(said.out) == {"job": "nope", "runs": [], "unreadable": [], "before": None}
    assert "there is no job nope" in said.err


@pytest.mark.parametrize("columns", [40, 80])
def test_the_list_fits_its_terminal(
    fleet: Fleet, cronce: Callable[..., Said], monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    """No line is longer."""
    monkeypatch.setenv("COLUMNS", str(columns))
    fleet.add_job(JOB)
    fleet.add_job("a-job-whose-name-is-rather-long-for-a-column")
    assert max(len(line) for line in without_colour(cronce("jobs").out).splitlines()) <= columns
