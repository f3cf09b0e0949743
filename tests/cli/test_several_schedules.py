"""A job with several schedules is one job to every command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from cronce.vocabulary.states import Status
from tests.cli.conftest import LedgerFile, Said
from tests.cli.ecs_fleet import Fleet
from tests.support.builders import JOB, run

WEEKDAYS, SUNDAYS = "cron(0 6 ? * MON-FRI *)", "cron(0 9 ? * SUN *)"
WORDS = "at 06:00 on Monday to Friday, and at 09:00 on Sunday, Europe/Berlin"
FRIDAY, SUNDAY, MONDAY = "2026-11-27T05:00:00Z", "2026-11-29T08:00:00Z", "2026-11-30T05:00:00Z"


def test_next_lists_the_ticks_of_all_of_them(fleet: Fleet, cronce: Callable[..., Said], tmp_path: Path) -> None:
    """Of a job, of an expression, and of a clock's job alike."""
    fleet.add_job(JOB, WEEKDAYS, further=SUNDAYS)
    file = tmp_path / "clock.toml"
    file.write_text(
        '[jobs.digest]\nschedule = ["0 6 * * 1-5", "0 9 * * 0"]\ntimezone = "Europe/Berlin"\n'
        'target = { command = ["a"] }\n'
    )
    ways = (
        (JOB,),
        ("0 6 * * 1-5; 0 9 * * 0", "--timezone", "Europe/Berlin"),
        ("digest", "--config", str(file)),
    )
    for what in ways:
        said = cronce("next", *what, "--from", "2026-11-27", "--count", "3", "--json")
        document = json.loads(said.out)
        assert (document["schedule"], document["timezone"]) == (f"{WEEKDAYS}; {SUNDAYS}", "Europe/Berlin")
        assert [tick["period"] for tick in document["ticks"]] == [FRIDAY, SUNDAY, MONDAY]
    assert WORDS in cronce("next", JOB).out


def test_jobs_has_one_line_for_it(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """With the schedule in words."""
    fleet.add_job(JOB, WEEKDAYS, further=SUNDAYS)
    [job] = json.loads(cronce("jobs", "--json").out)["jobs"]
    assert (job["job"], job["schedule"]) == (JOB, f"{WEEKDAYS}; {SUNDAYS}")
    assert " ".join(WORDS.split()[:6]) in " ".join(cronce("jobs").out.split())


def test_a_period_of_any_of_them_is_rerun_and_of_none_is_refused(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """By the one target of the job; a Saturday has no tick."""
    fleet.add_job(JOB, WEEKDAYS, further=SUNDAYS)
    for period in (FRIDAY, "2026-11-22T08:00:00Z"):
        assert cronce("rerun", JOB, period).code == 0
    assert [task.environ["CRONCE_PERIOD"] for task in fleet.tasks] == [FRIDAY, "2026-11-22T08:00:00Z"]
    said = cronce("rerun", JOB, "2026-11-28T05:00:00Z")
    assert (said.code, len(fleet.tasks)) == (64, 2)
    assert WORDS in said.err


def test_a_backfill_runs_the_ticks_of_all_of_them(
    ledger_file: LedgerFile, fleet: Fleet, cronce: Callable[..., Said]
) -> None:
    """In their order; what is done is left out."""
    fleet.add_job(JOB, WEEKDAYS, further=SUNDAYS)
    ledger_file.put(run(period="2026-11-20T05:00:00Z", status=Status.SUCCEEDED))
    said = cronce("backfill", JOB, "--from", "2026-11-20", "--to", "2026-11-23", "--yes")
    assert (said.code, [task.environ["CRONCE_PERIOD"] for task in fleet.tasks]) == (
        0,
        ["2026-11-22T08:00:00Z", "2026-11-23T05:00:00Z"],
    )


def test_why_names_the_schedule_that_does_not_exist(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """Of the tick that only this one has; beside a tick of another one it is told as well."""
    fleet.add_job(JOB, WEEKDAYS, further=SUNDAYS)
    [name] = [name for name in fleet.schedules if "." in name]
    fleet.gone.add(name)
    sunday, friday = (json.loads(cronce("why", JOB, period, "--json").out) for period in (SUNDAY, FRIDAY))
    assert sunday["cause"]["code"] == "further-schedule"
    assert sunday["cause"]["sentence"] == f"Its schedule {name} does not exist."
    assert friday["cause"]["code"] != "further-schedule"
    assert [each["code"] for each in friday["also"] if each["code"] == "further-schedule"] == ["further-schedule"]
