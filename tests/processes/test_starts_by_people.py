"""`cronce rerun` and `cronce backfill` without ECS: a command here, or the target of a clock's job, on every store."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

import pytest

from cronce import Status
from cronce.client.observer import Observer
from tests.processes.conftest import ON_EVERY_STORE
from tests.support.host import JOB, PERIOD, Host, until

if TYPE_CHECKING:
    from tests.support.host import Command

LOG = 'echo "$CRONCE_JOB {period} $CRONCE_ATTEMPT" >>"$LOG"; echo said'
CONFIG = f"""
[jobs.{JOB}]
schedule = "0 6 * * *"
timezone = "Europe/Berlin"
period = "date"
timeout = "60s"
target = {{ command = ["cronce", "exec", "--", "sh", "-c", 'echo $CRONCE_TRIGGER $CRONCE_ACTOR {{period}} >>$LOG'] }}

[jobs.by-hand]
target = {{ command = ["false"] }}

[jobs.task]
target = {{ task = "orders" }}
"""


def start(host: Host, *words: str, **environ: str) -> Command:
    """Start a command for people on the host's ledger."""
    (host.folder / "clock.toml").write_text(CONFIG)
    return host.start("cronce", *words, env={"CRONCE_LEDGER": host.url, **environ})


def stored(host: Host, period: str = PERIOD) -> tuple[Status, int, str, str | None]:
    """What the row says of the run."""
    run = host.run(period)
    assert run is not None
    return run.status, run.attempt, run.trigger.value, run.note


@ON_EVERY_STORE
def test_a_command_runs_the_period_here_under_the_rules_of_a_person(host: Host) -> None:
    """Refused as done; repeated with a force and its reason; the next force is for the next attempt."""
    assert start(host, "rerun", JOB, PERIOD, "--", "sh", "-c", LOG).wait() == 0
    assert stored(host) == (Status.SUCCEEDED, 1, "manual", None)
    refused = start(host, "rerun", JOB, PERIOD, "--", "sh", "-c", LOG)
    assert refused.wait() == 1
    assert "it has succeeded" in refused.err
    forced = start(
        host, "rerun", JOB, PERIOD, "--force", "--reason", "spam", "--actor", "ada", "--json", "--", "sh", "-c", LOG
    )
    assert forced.wait() == 0
    assert stored(host) == (Status.SUCCEEDED, 2, "manual", "spam")
    document = json.loads(forced.out)  # what the command printed is not in it
    assert (document["started"], document["attempt"], document["run"]["actor"]) == (True, 2, "ada")
    assert "said" in forced.err
    assert host.logged == [f"{JOB} {PERIOD} 1", f"{JOB} {PERIOD} 2"]


def test_what_a_person_may_not_start_is_refused_before_the_command_runs(host: Host) -> None:
    """Alive; held after a crash, unless forced."""
    guard = host.guarded_shell("exec sleep 600", options="--lease 2s")
    until(lambda: (run := host.run()) and run.status is Status.RUNNING, "the run")
    alive = start(host, "rerun", JOB, PERIOD, "--", "sh", "-c", LOG)
    assert alive.wait() == 1
    assert "it is active" in alive.err
    guard.send(signal.SIGKILL)
    until(lambda: Observer(host.ledger).mark_all_lost(JOB), "the lost run")
    held = start(host, "rerun", JOB, PERIOD, "--", "sh", "-c", LOG, CRONCE_POLICY='{"on_lost": "HOLD"}')
    assert held.wait() == 1
    assert "it is held after a crash" in held.err
    assert host.logged == []
    assert start(host, "rerun", JOB, PERIOD, "--", "sh", "-c", LOG).wait() == 0
    assert host.logged == [f"{JOB} {PERIOD} 2"]


def test_a_command_that_fails_is_1_and_a_signal_that_stops_it_is_130(host: Host) -> None:
    """The row says which it was."""
    failed = start(host, "rerun", JOB, PERIOD, "--", "sh", "-c", "exit 3")
    assert failed.wait() == 1
    assert "FAILED: exit code 3" in failed.out.decode()
    stopped = start(host, "rerun", JOB, PERIOD, "--", "sh", "-c", 'echo ready >>"$LOG"; exec sleep 600')
    host.await_log("ready")
    stopped.send(signal.SIGINT)
    assert stopped.wait() == 130
    run = host.run()
    assert run is not None
    assert (run.status, run.reason, run.attempt) == (Status.FAILED, "interrupted", 2)
    until(lambda: not host.living(), "no process is left")


def test_now_is_the_newest_tick_that_was_due_and_never_the_clock(host: Host) -> None:
    """It is named; a job without a schedule has none, so the person names the period."""
    newest = start(host, "rerun", JOB, "--now", "--config", "clock.toml", "--follow", "--actor", "ada")
    assert newest.wait() == 0, newest.err
    (line,) = host.logged
    trigger, actor, period = line.split()
    assert (trigger, actor) == ("manual", "ada")
    assert f"{JOB} {period} is the newest tick that was due." in newest.out.decode()
    assert stored(host, period) == (Status.SUCCEEDED, 1, "manual", None)
    for words in (["by-hand", "--now", "--config", "clock.toml"], [JOB, "--now", "--", "true"]):
        refused = start(host, "rerun", *words)
        assert refused.wait() == 64
        assert "give the PERIOD that you mean" in refused.err


def test_a_target_gets_the_force_of_a_person(host: Host) -> None:
    """Its work claims the run: so the second start needs the force, and the row has its reason."""
    words = ("rerun", JOB, PERIOD, "--config", "clock.toml", "--actor", "ada")
    assert start(host, *words).wait() == 0
    refused = start(host, *words)
    assert (refused.wait(), "it has succeeded" in refused.err) == (1, True)
    assert start(host, *words, "--force", "--reason", "spam").wait() == 0
    assert stored(host) == (Status.SUCCEEDED, 2, "manual", "spam")
    assert host.logged == [f"manual ada {PERIOD}"] * 2


def test_a_target_that_fails_is_1_and_says_how(host: Host) -> None:
    """Nothing is recorded: its work never asked for the run."""
    failed = start(host, "rerun", "by-hand", "x", "--config", "clock.toml")
    assert failed.wait() == 1
    assert "false ended with exit code 1" in failed.err
    assert host.ledger.run("by-hand", "x") is None


@ON_EVERY_STORE
def test_a_backfill_fills_the_gaps_of_a_clocks_job(host: Host) -> None:
    """Through the target or a command; what is done is not repeated."""
    span = ("backfill", JOB, "--from", "2026-11-20", "--to", "2026-11-23", "--config", "clock.toml")
    assert start(host, "rerun", JOB, "2026-11-21", "--config", "clock.toml").wait() == 0
    plan = start(host, *span)
    assert (plan.wait(), len(host.logged)) == (0, 1)
    assert "--config=clock.toml" in plan.out.decode()
    assert start(host, "rerun", JOB, "2026-11-22", "--", "sh", "-c", "exit 3").wait() == 1
    filled = start(host, *span, "--yes", "--actor", "ada", "--json", "--", "sh", "-c", LOG)
    assert filled.wait() == 0, filled.err
    assert [tick["result"] for tick in json.loads(filled.out)["ticks"]] == ["succeeded", "already_done"] + [
        "succeeded"
    ] * 2
    assert host.logged[1:] == [f"{JOB} 2026-11-20 1", f"{JOB} 2026-11-22 2", f"{JOB} 2026-11-23 1"]
    more = start(host, *span[:3], "2026-11-19", *span[4:], "--yes", "--actor", "ada")
    assert more.wait() == 0, more.err
    assert host.logged[4:] == ["backfill ada 2026-11-19"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["rerun", JOB, PERIOD], "--config FILE"),
        (["rerun", JOB], "PERIOD or --now"),
        (["rerun", JOB, PERIOD, "--now"], "PERIOD or --now"),
        (["rerun", JOB, PERIOD, "--"], "COMMAND is missing"),
        (["rerun", "nobody", PERIOD, "--config", "clock.toml"], "a job of clock.toml"),
        (["rerun", JOB, PERIOD, "--config", "no.toml"], "--config"),
        (["rerun", "task", PERIOD, "--config", "clock.toml"], "without --config"),
        (["rerun", JOB, "2026-11-29T01:00:00Z", "--config", "clock.toml"], "a tick of the schedule"),
        (["rerun", JOB, "2031-01-01", "--config", "clock.toml"], "a period that was due"),
        (["rerun", JOB, PERIOD, "--through", "f", "--", "true"], "--through"),
        (["backfill", JOB, "--from", PERIOD, "--to", PERIOD, "--", "true"], "--config of its clock"),
        (["backfill", JOB, "--from", PERIOD, "--to", PERIOD], "--config FILE"),
    ],
)
def test_bad_usage_is_one_line_and_64(host: Host, words: list[str], told: str) -> None:
    """And nothing is written."""
    said = start(host, *words)
    assert said.wait() == 64, said.err
    (line,) = said.err.splitlines()
    assert told in line
    assert not (host.folder / "runs.db").exists()


def test_a_name_that_looks_like_an_option_may_follow_two_dashes(host: Host) -> None:
    """The second `--` then begins the command."""
    said = start(host, "rerun", "--", "-job", PERIOD, "--", "sh", "-c", LOG)
    assert said.wait() == 0, said.err
    assert host.logged == [f"-job {PERIOD} 1"]
