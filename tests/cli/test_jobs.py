"""`cronce jobs`, and what is said about a job that does not exist."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from cronce.protocol.records import RunRecord
from cronce.stores.codec import encode_time
from cronce.vocabulary.policy import Policy
from cronce.vocabulary.states import Status
from tests.cli.conftest import LedgerFile, Said, now, without_colour
from tests.cli.ecs_fleet import Fleet
from tests.support.builders import JOB, PERIOD, run


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
    found = jobs_of(cronce("jobs", "--json"))
    assert [(job["job"], job["schedule"], job["timezone"], job["state"]) for job in found] == [
        ("billing", "cron(0 6 * * ? *)", "Europe/Berlin", "suspended"),
        ("by-hand", None, None, "unscheduled"),
        (JOB, "cron(0 6 * * ? *)", "Europe/Berlin", "disabled"),
    ]
    table = cronce("jobs").out
    assert "at 06:00 every day, Europe/Berlin" in table
    assert table.index("billing") < table.index("by-hand") < table.index(JOB)


def test_a_job_has_every_field_of_the_documented_schema(
    ledger_file: LedgerFile, fleet: Fleet, cronce: Callable[..., Said]
) -> None:
    """And no other; null where there is nothing to say."""
    fleet.add_job(JOB)
    at = now() - timedelta(minutes=5)
    done = run(status=Status.SUCCEEDED, scheduled_at=at, claimed_at=at + timedelta(seconds=41), finished_at=now())
    ledger_file.put(done, run(job="other", status=Status.FAILED, reason="error", lease_until=None))
    assert cronce("pause", "other", "--why", "stocktaking", "--actor", "ann").code == 0
    mine, other = jobs_of(cronce("jobs", "--json", "--last", "5"))
    documented = re.findall(r"\w+", cronce("jobs", "--help").out.partition("A job is {")[2].partition("}")[0])
    assert list(mine) == list(other) == documented
    assert str(mine["next"]).endswith("Z")
    assert (mine["late_by"], mine["ended"], mine["succeeded"]) == (41.0, 1, 1)
    assert mine["succeeded_at"] == encode_time(now_of(done))
    assert mine["last"] == {
        "period": PERIOD,
        "status": "SUCCEEDED",
        "reason": None,
        "claimed_at": encode_time(at + timedelta(seconds=41)),
    }
    assert other["paused"] == {**dict.fromkeys(("at", "until")), "by": "ann", "why": "stocktaking"} | {
        "at": dict(other["paused"])["at"]  # type: ignore[call-overload]
    }
    assert (other["ended"], other["succeeded"], other["succeeded_at"], other["next"]) == (1, 0, None, None)


def now_of(done: RunRecord) -> datetime:
    """When it ended."""
    assert done.finished_at is not None
    return done.finished_at


def test_the_table_says_what_is_paused_late_and_overdue(
    ledger_file: LedgerFile, fleet: Fleet, cronce: Callable[..., Said]
) -> None:
    """A line per job."""
    fleet.add_job("paused")
    fleet.add_job("overdue")
    at = now() - timedelta(minutes=5)
    ledger_file.put(
        run(job="paused", status=Status.SUCCEEDED, scheduled_at=at, claimed_at=at, finished_at=at),
        run(job="late", status=Status.FAILED, scheduled_at=at, claimed_at=at + timedelta(seconds=41), finished_at=at),
    )
    assert cronce("pause", "paused", "--why", "stocktaking").code == 0
    lines = {line.split()[0]: " ".join(line.split()) for line in cronce("jobs").out.splitlines() if line.strip()}
    assert lines["paused"].startswith("paused paused SUCCEEDED 5m ago - 0.0s 1/1 5m ago ")
    assert lines["late"] == "late unscheduled FAILED 5m ago - 41s 0/1 - -"
    assert re.match(r"overdue enabled - in \d+\w overdue ", lines["overdue"])


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
