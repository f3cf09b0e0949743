"""`cronce why` in a terminal and as a document."""

from __future__ import annotations

import json
from collections.abc import Callable

from cronce.vocabulary.states import Reason, Status
from tests.cli.conftest import LedgerFile, Said, now
from tests.cli.ecs_fleet import Fleet
from tests.support.builders import JOB, run

PERIOD = "2026-11-27T05:00:00Z"
KEYS = {"job", "period", "status", "cause", "also", "not_known"}


def test_the_cause_comes_first_and_the_command_last(
    ledger_file: LedgerFile, fleet: Fleet, cronce: Callable[..., Said]
) -> None:
    """A run that failed, as its schedule and its row tell."""
    fleet.add_job(JOB)
    ledger_file.put(run(period=PERIOD, status=Status.FAILED, reason=Reason.EXIT_CODE, exit_code=127, finished_at=now()))
    said = cronce("why", JOB, PERIOD)
    lines = said.out.splitlines()
    assert said.code == 0
    assert lines[0].split() == [JOB, PERIOD, "FAILED"]
    assert lines[1] == "Its command does not exist in the image (exit code 127)."
    assert lines[-1] == f"  cronce rerun {JOB} {PERIOD}"


def test_the_document_has_the_documented_keys(
    ledger_file: LedgerFile, fleet: Fleet, cronce: Callable[..., Said]
) -> None:
    """As the help says."""
    fleet.add_job(JOB, State="DISABLED")
    ledger_file.put(run(period=PERIOD, status=Status.SUCCEEDED, finished_at=now()))
    document = json.loads(cronce("why", JOB, PERIOD, "--json").out)
    assert {*document} == KEYS
    assert (document["status"], document["cause"]["code"]) == ("SUCCEEDED", "succeeded")
    assert [each["code"] for each in document["also"]] == ["schedule-disabled", "watchdog-silent"]
    assert {*document["cause"]} == {"code", "sentence", "more", "evidence", "next"}
    assert {*document["cause"]["evidence"][0]} == {"what", "value"}
    assert {*document["cause"]["next"][0]} == {"text", "command"}
    named = cronce("help", "why").out
    assert [
        key for key in (*KEYS, "code", "sentence", "more", "evidence", "what", "text") if f'"{key}"' not in named
    ] == []


def test_a_job_that_nobody_knows_is_said_to_be_unknown(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """With exit code 1, for scripts."""
    assert fleet.tasks == []
    said = cronce("why", "dayly-digest")
    assert said.code == 1
    assert "The job is not known" in said.out


def test_a_ledger_that_cannot_be_read_is_explained(cronce: Callable[..., Said]) -> None:
    """With exit code 69, and the cause in the first line below the title."""
    said = cronce("why", JOB, PERIOD, "--ledger", "postgresql://me@127.0.0.1:1/runs?sslmode=disable")
    assert said.code == 69
    assert "The ledger cannot be read from here" in said.out


def test_a_ledger_without_schedules_says_what_was_not_looked_at(
    ledger_file: LedgerFile, cronce: Callable[..., Said]
) -> None:
    """The row is explained all the same."""
    ledger_file.put(run(period=PERIOD, status=Status.FAILED, reason=Reason.EXIT_CODE, exit_code=3))
    said = cronce("why", JOB)
    assert "Its command failed with exit code 3." in said.out
    assert "Not known: schedules and tasks were not looked at" in said.out


def test_a_period_nobody_asked_for_is_no_removed_schedule(ledger_file: LedgerFile, cronce: Callable[..., Said]) -> None:
    """A ledger in a file has no schedules to look at."""
    ledger_file.put(run(status=Status.SUCCEEDED))
    said = cronce("why", JOB, "2026-11-28")
    assert "Nothing has asked the ledger for this period." in said.out
    assert "schedule any more" not in said.out
    assert said.out.endswith(f"The runs of the job:\n  cronce runs {JOB}\n")
    assert "no schedule starts it" not in cronce("why", "nobody").out


def test_hostile_text_is_shown_as_text(ledger_file: LedgerFile, cronce: Callable[..., Said]) -> None:
    """Anybody who may write the table can put anything into an error."""
    ledger_file.put(
        run(period=PERIOD, status=Status.FAILED, reason=Reason.ERROR, error="\x1b[2J[red]gone\u202e", owner="\x1b]0;x")
    )
    said = cronce("why", JOB, PERIOD)
    assert "\x1b" not in said.out
    assert "\u202e" not in said.out
    assert "\\x1b[2J[red]gone\\u202e" in said.out
