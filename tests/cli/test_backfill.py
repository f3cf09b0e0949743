"""`cronce backfill`: the plan, the work, and going on after whatever stopped it."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cronce.cli.commands import backfill
from cronce.vocabulary.policy import ConcurrencyPolicy, OnLost, Policy
from cronce.vocabulary.states import Reason, Status, Trigger
from tests.cli import host_fleet
from tests.cli.conftest import LedgerFile, Said, now, without_colour
from tests.cli.ecs_fleet import Fleet
from tests.support.builders import JOB, run
from tests.support.host import Command, Host, until

DAYS = [f"2026-11-{day}" for day in (24, 25, 26, 27)]
PERIODS = [f"{day}T05:00:00Z" for day in DAYS]
SPAN = ("--from", DAYS[0], "--to", DAYS[-1])
ALLOW = Policy(concurrency_policy=ConcurrencyPolicy.ALLOW)


def rows_of(said: Said) -> list[list[str]]:
    """Period, state and what follows, as the plan's table has them."""
    lines = [line.split() for line in said.out.splitlines() if line.startswith("2026-")]
    return [[line[0], line[5], " ".join(line[6:])] for line in lines if len(line) > 6 and line[4] == "CET"]


def results_of(said: Said) -> list[str]:
    """What became of each tick, from the document."""
    return [tick["result"] for tick in json.loads(said.out)["ticks"]]


def test_without_yes_nothing_is_started(ledger_file: LedgerFile, fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """It shows the state of each tick, and the command that fills the gaps."""
    fleet.add_job(JOB)
    ledger_file.put(
        run(period=PERIODS[0], status=Status.SUCCEEDED),
        run(period=PERIODS[3], status=Status.FAILED, reason=Reason.EXIT_CODE, exit_code=3),
        run(period=PERIODS[2], claimed_at=now(), lease_until=now() + timedelta(hours=1)),
        run(period="2026-W48", status=Status.SUCCEEDED),
    )
    said = cronce("backfill", JOB, *SPAN)
    assert (said.code, said.err, fleet.requests) == (0, "", [])
    assert rows_of(said) == [
        [PERIODS[0], "done", "-"],
        [PERIODS[1], "missing", "start it"],
        [PERIODS[2], "running", "wait until it ends"],
        [PERIODS[3], "failed", "start it"],
    ]
    assert "4 ticks: 1 missing, 1 done, 1 running, 1 failed" in said.out
    assert said.out.splitlines()[-1] == f"  cronce backfill --from={DAYS[0]} --to={DAYS[-1]} --yes {JOB}"


def test_the_rows_of_a_span_are_read_page_by_page(
    ledger_file: LedgerFile, fleet: Fleet, cronce: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With whatever else the job has between and around them."""
    monkeypatch.setattr(backfill, "_MOST_A_PAGE", 2)
    fleet.add_job(JOB)
    others = ("2026-11-24", "2026-11-25x", "2026-11-25y", "2026-11-28T05:00:00Z", "2026-12-01")
    ledger_file.put(*(run(period=period, status=Status.SUCCEEDED) for period in (*PERIODS, *others)))
    assert json.loads(cronce("backfill", JOB, *SPAN, "--json").out)["counts"] == {"done": 4}


def test_with_yes_each_is_run_after_the_other(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """Oldest first, as a backfill by a person; FORBID skips none of them."""
    fleet.add_job(JOB)
    said = cronce("backfill", JOB, *SPAN, "--yes", "--reason", "new customer", "--actor", "ann")
    assert (said.code, said.err) == (0, "")
    assert [task.environ["CRONCE_PERIOD"] for task in fleet.tasks] == PERIODS
    for each in fleet.ledger.runs(JOB):
        assert (each.status, each.trigger, each.actor) == (Status.SUCCEEDED, Trigger.BACKFILL, "ann")
        assert each.note == "new customer"
    assert said.out.count("started: attempt 1") == said.out.count("SUCCEEDED") == 4
    assert said.out.splitlines()[-1] == "All runs have succeeded."


def test_the_same_command_again_skips_what_is_done(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """After a failure it continues from there."""
    fleet.add_job(JOB)
    fleet.does[PERIODS[1]] = "fail"
    first = cronce("backfill", JOB, *SPAN, "--yes")
    assert first.code == 1
    assert len(fleet.tasks) == 2
    assert "FAILED" in first.out
    assert "1 succeeded, 1 failed, 2 not started." in first.out
    assert first.out.splitlines()[-1] == f"  cronce backfill --from={DAYS[0]} --to={DAYS[-1]} --yes {JOB}"
    fleet.does.clear()
    assert cronce("backfill", JOB, *SPAN, "--yes").code == 0
    assert [task.environ["CRONCE_PERIOD"] for task in fleet.tasks] == [*PERIODS[:2], *PERIODS[1:]]
    third = cronce("backfill", JOB, *SPAN, "--yes")
    assert (third.code, len(fleet.tasks)) == (0, 5)


def test_keep_going_goes_on_over_a_failure(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """The failure is still reported at the end."""
    fleet.add_job(JOB)
    fleet.does[PERIODS[0]] = "fail"
    said = cronce("backfill", JOB, *SPAN, "--yes", "--keep-going", "--json")
    assert (said.code, results_of(said)) == (1, ["failed", "succeeded", "succeeded", "succeeded"])


def test_a_task_that_ecs_does_not_start_stops_it(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """With the reason."""
    fleet.add_job(JOB)
    fleet.failures = [{"reason": "RESOURCE:CPU"}]
    said = cronce("backfill", JOB, *SPAN, "--yes")
    assert said.code == 1
    assert f"{PERIODS[0]}  not started: RESOURCE:CPU" in said.out
    assert len(fleet.requests) == 1


def test_parallel_is_for_jobs_whose_runs_may_overlap(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """Else the refusal has the reason, and nothing is started."""
    fleet.add_job(JOB)
    said = cronce("backfill", JOB, *SPAN, "--yes", "--parallel", "2")
    assert (said.code, said.out, said.err.count("\n")) == (64, "", 1)
    assert "FORBID" in said.err
    fleet.add_job(JOB, policy=ALLOW)
    most = 0

    def watch(_number: int) -> None:
        nonlocal most
        most = max(most, sum(not task.stopped for task in fleet.tasks))

    fleet.before_step = watch
    assert cronce("backfill", JOB, *SPAN, "--yes", "--parallel", "2").code == 0
    assert most == 2


def test_a_backfill_waits_for_an_active_run(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """Its own tick, and any other of the job under FORBID: a task started beside it would only be skipped."""
    fleet.add_job(JOB)
    other = fleet.ledger.claim(JOB, "2026-11-01T05:00:00Z")
    assert other

    def finish(number: int) -> None:
        if number == 3:
            other.complete()

    fleet.before_step = finish
    said = cronce("backfill", JOB, *SPAN, "--yes")
    assert said.code == 0
    assert said.out.count("waits: another run of the job is active: 2026-11-01T05:00:00Z") == 1
    assert {each.status for each in fleet.ledger.runs(JOB)} == {Status.SUCCEEDED}


def test_a_held_run_is_left_to_a_person(ledger_file: LedgerFile, fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """The plan says so, and the backfill stops there."""
    fleet.add_job(JOB, policy=Policy(on_lost=OnLost.HOLD))
    ledger_file.put(run(period=PERIODS[0], status=Status.FAILED, reason=Reason.LEASE_LOST))
    assert rows_of(cronce("backfill", JOB, *SPAN))[0] == [PERIODS[0], "held", "none: 'cronce release' it first"]
    said = cronce("backfill", JOB, *SPAN, "--yes", "--json")
    assert (said.code, results_of(said)) == (1, ["refused", *["not_started"] * 3])
    assert f"cronce release --reason WHY {JOB} {PERIODS[0]}" in said.err


def test_a_scheduled_run_that_was_skipped_meanwhile_is_listed(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """Nobody would look for it otherwise."""
    fleet.add_job(JOB)

    def tick(number: int) -> None:
        if number == 2:
            fleet.ledger.claim(JOB, "2026-11-29T05:00:00Z")

    fleet.before_step = tick
    said = cronce("backfill", JOB, *SPAN, "--yes")
    assert said.code == 0
    assert f"2026-11-29T05:00:00Z  was skipped because {PERIODS[0]} was active when it was due." in said.out
    assert said.out.splitlines()[-1] == f"  cronce rerun {JOB} 2026-11-29T05:00:00Z"


def test_a_tick_that_is_not_due_yet_is_left_out(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """Run now, it would be refused as done when its time comes."""
    fleet.add_job(JOB, "rate(1 hour)", StartDate=datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=90))
    end = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    start = (datetime.now(UTC) - timedelta(days=1)).isoformat()
    said = cronce("backfill", JOB, "--from", start, "--to", end)
    assert "2 ticks: 2 missing" in said.out
    assert "Ticks that are not due yet are left out." in said.out
    coming = cronce("backfill", JOB, "--from", end, "--to", end, "--yes")
    assert (coming.code, fleet.requests) == (0, [])


def test_the_bounds_are_the_schedules_own(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """Read on its clocks, both included, without what is before its start or from its end on."""
    fleet.add_job(JOB)
    at = cronce("backfill", JOB, "--from", "2026-11-24T06:00", "--to", "2026-11-25T06:00", "--json")
    assert [tick["period"] for tick in json.loads(at.out)["ticks"]] == PERIODS[:2]
    before = cronce("backfill", JOB, "--from", "2026-11-24T06:01", "--to", "2026-11-25T05:59", "--json")
    assert json.loads(before.out)["ticks"] == []
    fleet.add_job(JOB, StartDate=datetime(2026, 11, 25, tzinfo=UTC), EndDate=datetime(2026, 11, 27, 5, tzinfo=UTC))
    inside = json.loads(cronce("backfill", JOB, *SPAN, "--json").out)["ticks"]
    assert [tick["period"] for tick in inside] == PERIODS[1:3]
    assert inside[0]["local"] == "2026-11-25T06:00:00+01:00"


def test_a_job_that_names_its_periods_itself_is_not_filled_by_ticks(
    ledger_file: LedgerFile, fleet: Fleet, cronce: Callable[..., Said]
) -> None:
    """Each tick would seem to be missing, although the day was done."""
    fleet.add_job(JOB)
    ledger_file.put(*(run(period=day, status=Status.SUCCEEDED) for day in DAYS))
    said = cronce("backfill", JOB, *SPAN)
    assert (said.code, said.out, said.err.count("\n")) == (64, "", 1)
    assert "is for 2026-11-27" in said.err


def test_so_many_periods_and_no_more(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """A typing error in a year is not 30,000 tasks."""
    fleet.add_job(JOB, "cron(0 * * * ? *)", timezone="UTC")
    said = cronce("backfill", JOB, "--from", "2020-01-01", "--to", "2026-01-01", "--yes")
    assert (said.code, said.out, said.err.count("\n")) == (64, "", 1)
    assert "at most 1000 periods" in said.err
    few = ("--from", "2026-01-01T00:00Z", "--to", "2026-01-01T03:00Z")
    assert cronce("backfill", JOB, *few, "--limit", "3").code == 64
    assert cronce("backfill", JOB, *few, "--limit", "4").code == 0
    assert fleet.requests == []


def test_the_document_of_a_plan(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """Nothing on stderr; no result, because nothing was done."""
    fleet.add_job(JOB)
    said = cronce("backfill", JOB, *SPAN, "--json")
    document = json.loads(said.out)
    assert (said.code, said.err) == (0, "")
    assert set(document) == {"job", "from", "to", "ticks", "counts"}
    assert (document["from"], document["to"]) == ("2026-11-23T23:00:00Z", "2026-11-27T22:59:59Z")
    assert document["ticks"][0] == {
        "period": PERIODS[0],
        "local": "2026-11-24T06:00:00+01:00",
        "was": "missing",
        "result": None,
    }
    assert document["counts"] == {"missing": 4}


@pytest.mark.parametrize(
    "arguments",
    [
        [JOB],
        [JOB, "--from", DAYS[0]],
        [JOB, "--from", DAYS[1], "--to", DAYS[0]],
        [JOB, "--from", "yesterday", "--to", DAYS[0]],
        [JOB, "--from", "0001-01-01", "--to", "0001-01-02"],
        [JOB, "--from", DAYS[0], "--to", "9999-12-31"],
        [JOB, *SPAN, "--parallel", "0"],
        [JOB, *SPAN, "--limit", "0"],
    ],
)
def test_bad_usage_is_one_line_and_64(fleet: Fleet, cronce: Callable[..., Said], arguments: list[str]) -> None:
    """And starts nothing."""
    fleet.add_job(JOB)
    said = cronce("backfill", *arguments, "--yes")
    assert (said.code, said.out, said.err.count("\n")) == (64, "", 1)
    assert fleet.requests == []


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    """A host whose tasks are processes."""
    with Host(tmp_path, f"sqlite:///{tmp_path}/runs.db") as host:
        host.ledger.create()
        yield host


def start(host: Host, *arguments: str) -> Command:
    """Starts `cronce` on that host in a new process."""
    environ = {
        "CRONCE_LEDGER": host.url,
        "CRONCE_SCHEDULE_GROUP": "runs",
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]),
    }
    return host.start(sys.executable, host_fleet.__file__, *arguments, env=environ)


def let_go(host: Host, *periods: str) -> None:
    """Let the tasks of those periods come to their end."""
    for period in periods:
        (host.folder / f"go-{period}").touch()


def await_status(host: Host, period: str, status: Status) -> None:
    """Wait until the ledger has it."""
    until(lambda: (run := host.run(period)) is not None and run.status is status, f"{period} {status}", every=0.1)


def test_ctrl_c_leaves_everything_so_that_the_same_command_goes_on(host: Host) -> None:
    """The active task continues, and in the end each period was worked on exactly once."""
    backfill = start(host, "backfill", JOB, *SPAN, "--yes")
    let_go(host, PERIODS[0])
    await_status(host, PERIODS[0], Status.SUCCEEDED)
    await_status(host, PERIODS[1], Status.RUNNING)
    until(lambda: f"{PERIODS[1]}  started".encode() in backfill.out, "the second start")
    backfill.send(signal.SIGINT)
    assert backfill.wait() == 130
    said = backfill.out.decode()
    assert f"{PERIODS[1]}  continues: attempt 1, task " in said
    assert "1 succeeded, 1 still running, 2 not started." in said
    assert said.splitlines()[-1] == f"  cronce backfill --from={DAYS[0]} --to={DAYS[-1]} --yes {JOB}"
    assert "Traceback" not in backfill.err
    again = start(host, "backfill", JOB, *SPAN, "--yes")
    until(lambda: f"{PERIODS[1]}  already running".encode() in again.out, "that it was found at work")
    let_go(host, *PERIODS)
    assert again.wait() == 0, again.err
    assert (host.folder / "work.log").read_text().split() == PERIODS


def test_a_forced_rerun_is_let_in_by_the_guard_of_the_real_task(host: Host) -> None:
    """`cronce exec` reads the force from its environment."""
    let_go(host, PERIODS[0])
    assert start(host, "rerun", JOB, PERIODS[0], "--follow").wait() == 0
    assert start(host, "rerun", JOB, PERIODS[0], "--follow").wait() == 1
    forced = start(host, "rerun", JOB, PERIODS[0], "--follow", "--force", "--reason", "spam")
    assert forced.wait() == 0, forced.err
    assert (host.folder / "work.log").read_text().split() == [PERIODS[0]] * 2
    run = host.run(PERIODS[0])
    assert run is not None
    assert (run.attempt, run.note, run.trigger) == (2, "spam", Trigger.MANUAL)


@pytest.mark.parametrize("columns", [80, 120])
def test_the_plan_fits_its_terminal(
    fleet: Fleet, cronce: Callable[..., Said], monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    """Every line but the command to copy."""
    monkeypatch.setenv("COLUMNS", str(columns))
    fleet.add_job(JOB)
    lines = without_colour(cronce("backfill", JOB, *SPAN).out).splitlines()
    assert max(len(line) for line in lines if not line.startswith("  cronce ")) <= columns


def test_a_job_whose_periods_are_days_is_filled_day_by_day(
    ledger_file: LedgerFile, fleet: Fleet, cronce: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever hour a day ran at before the schedule was moved; the task is told both the day and the time."""
    monkeypatch.setattr(backfill, "_MOST_A_PAGE", 2)
    fleet.add_job(JOB, date_in="Europe/Berlin")
    ledger_file.put(*(run(period=day, status=Status.SUCCEEDED) for day in ("2026-11-23", *DAYS[:2], "2026-11-28")))
    said = cronce("backfill", JOB, *SPAN)
    assert rows_of(said) == [
        [DAYS[0], "done", "-"],
        [DAYS[1], "done", "-"],
        [DAYS[2], "missing", "start it"],
        [DAYS[3], "missing", "start it"],
    ]
    assert cronce("backfill", JOB, *SPAN, "--yes").code == 0
    told = [(task.environ["CRONCE_PERIOD"], task.environ["CRONCE_SCHEDULED_TIME"]) for task in fleet.tasks]
    assert told == list(zip(DAYS[2:], PERIODS[2:], strict=True))
    assert json.loads(cronce("backfill", JOB, *SPAN, "--json").out)["counts"] == {"done": 4}


def test_the_new_name_of_a_job_cannot_be_filled_with_days_of_the_old_one(
    ledger_file: LedgerFile, fleet: Fleet, cronce: Callable[..., Said]
) -> None:
    """`start` is later than the last tick of the old name: a day that fell between the two is the only one."""
    ledger_file.put(*(run(period=period, status=Status.SUCCEEDED) for period in PERIODS[:2]))
    fleet.add_job("new-name", StartDate=datetime.fromisoformat(PERIODS[1]) + timedelta(minutes=1))
    said = cronce("backfill", "new-name", "--from", DAYS[0], "--to", DAYS[2])
    assert rows_of(said) == [[PERIODS[2], "missing", "start it"]]
    assert cronce("rerun", "new-name", PERIODS[1]).code == 64
    assert [each.status for each in fleet.ledger.runs(JOB)] == [Status.SUCCEEDED, Status.SUCCEEDED]
    fleet.add_job("careless", StartDate=None)
    assert len(rows_of(cronce("backfill", "careless", "--from", DAYS[0], "--to", DAYS[2]))) == 3
