"""A row that this version cannot read is shown as such and never acted on, and stops nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from cronce.vocabulary.states import Status
from tests.cli.conftest import LedgerFile, Said
from tests.cli.ecs_fleet import Fleet
from tests.support.builders import JOB, run

BAD = "2026-11-25T05:00:00Z"
PERIODS = ["2026-11-24T05:00:00Z", BAD, "2026-11-26T05:00:00Z"]
SPAN = ("--from", "2026-11-24", "--to", "2026-11-26")


@pytest.fixture
def damaged(ledger_file: LedgerFile) -> LedgerFile:
    """A ledger in which the middle one of three runs is of a newer version."""
    ledger_file.put(
        run(period=PERIODS[0], status=Status.SUCCEEDED),
        run(period=BAD, schema=99),
        run(period=PERIODS[2], status=Status.SUCCEEDED),
    )
    return ledger_file


def test_the_other_runs_are_listed_and_the_row_is_among_them(damaged: LedgerFile, cronce: Callable[..., Said]) -> None:
    """At its place, with what is wrong with it."""
    assert damaged.path.exists()
    said = cronce("runs", JOB)
    assert (said.code, said.err) == (0, "")
    lines = [line for line in said.out.splitlines() if line.startswith("2026-")]
    assert [line.split()[:2] for line in lines] == [
        [PERIODS[2], "SUCCEEDED"],
        [BAD, "UNREADABLE"],
        [PERIODS[0], "SUCCEEDED"],
    ]
    assert "schema 99 is newer" in said.out


def test_pages_go_on_over_the_row(damaged: LedgerFile, cronce: Callable[..., Said]) -> None:
    """Also where it is the last one of a page."""
    assert damaged.path.exists()
    document = json.loads(cronce("runs", JOB, "--limit", "2", "--json").out)
    assert [row["period"] for row in document["runs"]] == [PERIODS[2]]
    assert document["unreadable"] == [{"period": BAD, "problem": "schema 99 is newer than 1"}]
    rest = json.loads(cronce("runs", JOB, "--limit", "2", "--before", document["before"], "--json").out)
    assert ([row["period"] for row in rest["runs"]], rest["before"]) == ([PERIODS[0]], None)


def test_a_search_for_a_status_counts_what_it_could_not_read(damaged: LedgerFile, cronce: Callable[..., Said]) -> None:
    """It may be one of those that are looked for."""
    assert damaged.path.exists()
    said = cronce("runs", JOB, "--status", "FAILED")
    assert said.code == 0
    assert f"1 row cannot be read: {BAD}" in said.out


def test_a_backfill_does_not_start_the_row_and_goes_on(
    damaged: LedgerFile, fleet: Fleet, cronce: Callable[..., Said]
) -> None:
    """Its plan says why."""
    assert damaged.path.exists()
    fleet.add_job(JOB)
    plan = cronce("backfill", JOB, *SPAN)
    (line,) = [line for line in plan.out.splitlines() if line.startswith(BAD)]
    assert "unreadable" in line
    said = cronce("backfill", JOB, *SPAN, "--yes", "--keep-going", "--json")
    results = {tick["period"]: tick["result"] for tick in json.loads(said.out)["ticks"]}
    assert (said.code, results[BAD]) == (1, "refused")
    assert "schema 99 is newer" in said.err
    assert fleet.requests == []


def test_a_rerun_of_the_row_is_refused(damaged: LedgerFile, fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """One line."""
    assert damaged.path.exists()
    fleet.add_job(JOB)
    said = cronce("rerun", JOB, BAD, "--force", "--reason", "try")
    assert (said.code, said.out, said.err.count("\n")) == (1, "", 1)
    assert "schema 99 is newer" in said.err
    assert fleet.requests == []
