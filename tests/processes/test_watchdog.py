"""`cronce watchdog` as processes, on every store: no Lambda function, no EventBridge."""

from __future__ import annotations

import json
import signal
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from cronce import Reason, Status
from tests.processes.conftest import ON_EVERY_STORE
from tests.support.host import JOB, PERIOD, Host, until

if TYPE_CHECKING:
    from cronce.protocol.records import RunRecord
    from tests.support.host import Command

WORK = ["cronce", "exec", "--lease", "2s", "--", "sh", "-c", 'echo "$CRONCE_TRIGGER $CRONCE_PERIOD" >>"$LOG"']


def watch(host: Host, *options: str, policy: str = "", **settings: Any) -> Command:  # noqa: ANN401  # of several types
    """Start a watchdog over one job."""
    job = {"every": "2s", "starting_deadline": "1s", "target": {"command": WORK}, "timeout": "60s"} | settings
    job = {name: value for name, value in job.items() if value is not None}
    environ = {"CRONCE_CLOCK": json.dumps({"jobs": {JOB: job}}), "CRONCE_LEDGER": host.url}
    environ |= {"CRONCE_POLICY": policy} if policy else {}
    return host.start("cronce", "watchdog", "--every", "1s", "--missed-after", "1s", *options, env=environ)


def runs(host: Host) -> list[RunRecord]:
    """The rows of the job."""
    return list(host.ledger.runs(JOB))


@ON_EVERY_STORE
def test_ticks_that_nobody_started_are_missed_and_the_newest_is_caught_up_once(host: Host) -> None:
    """Two watchdogs: one looks at a time, and each tick is started at most once."""
    host.ledger.create()
    dogs = [watch(host, catch_up="LATEST", every="5s") for _ in range(2)]
    until(lambda: sum(run.status is Status.SUCCEEDED for run in runs(host)) >= 2, "two ticks that were caught up")
    for dog in dogs:
        dog.send(signal.SIGTERM)
        assert dog.wait() == 0, dog.err
    every = runs(host)
    assert {(run.status, run.reason, run.owner) for run in every if run.attempt == 0} <= {
        (Status.MISSED, Reason.NEVER_DELIVERED, "cronce:watchdog")
    }
    done = Counter(line.split()[1] for line in host.logged)
    assert set(done.values()) == {1}
    assert {line.split()[0] for line in host.logged} == {"catch_up"}
    missed = [event["period"] for dog in dogs for event in dog.events if event["event"] == "missed"]
    assert set(done) <= set(missed)
    assert max(Counter(missed).values()) == 1


@ON_EVERY_STORE
def test_a_killed_run_is_marked_and_started_again_through_the_target(host: Host) -> None:
    """By a watchdog that knows the job, also one without a schedule."""
    guard = host.guarded_shell("exec sleep 600", options="--lease 2s")
    until(lambda: (run := host.run()) and run.status is Status.RUNNING and host.ledger.holder(JOB), "its slot")
    guard.send(signal.SIGKILL)
    dog = watch(host, every=None)
    until(lambda: host.ended_run()[0] == "SUCCEEDED", "success")
    dog.send(signal.SIGTERM)
    assert dog.wait() == 0
    assert host.logged == [f"retry {PERIOD}"]
    assert dog.event("run_lost")["attempt"] == 1
    run = host.run()
    assert run is not None
    assert [(past.attempt, past.reason) for past in run.attempts] == [(1, "lease_lost")]


def test_a_held_run_is_marked_and_left_to_a_person(host: Host) -> None:
    """One line for the alarm, and a metric."""
    guard = host.guarded_shell("exec sleep 600", options="--lease 2s")
    until(lambda: (run := host.run()) and run.status is Status.RUNNING and host.ledger.holder(JOB), "its slot")
    guard.send(signal.SIGKILL)
    dog = watch(host, every=None, policy='{"on_lost": "HOLD"}')
    until(lambda: any(event["event"] == "run_held" for event in dog.events), "the line")
    dog.send(signal.SIGTERM)
    assert dog.wait() == 0
    assert host.ended_run() == ("FAILED", "lease_lost")
    assert host.logged == []
    assert dog.event("run_held")["period"] == PERIOD


def test_beside_a_clock_that_works_nothing_is_missed(host: Host) -> None:
    """Each tick has one run, and no tick is started by both."""
    job: dict[str, Any] = {
        "every": "2s",
        "starting_deadline": "30s",
        "timeout": "60s",
        "target": {"command": WORK},
        "catch_up": "ALL",
    }
    environ = {"CRONCE_CLOCK": json.dumps({"jobs": {JOB: job}}), "CRONCE_LEDGER": host.url}
    clock = host.start("cronce", "clock", "--job", "clock", "--lease", "5s", env=environ)
    until(lambda: runs(host) if (host.folder / "runs.db").exists() else (), "the first run")
    dog = watch(host, **job)
    until(lambda: sum(event["event"] == "looked" for event in dog.events) >= 10, "ten looks")
    for process in (dog, clock):
        process.send(signal.SIGTERM)
        assert process.wait() == 0
    assert not [event for event in dog.events if event["level"] == "ERROR"]
    assert {line.split()[0] for line in host.logged} == {"schedule"}
    assert set(Counter(host.logged).values()) == {1}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--job", "nobody"], "--job"),
        (["--every", "0s"], "--every"),
        (["--missed-after", "soon"], "--missed-after"),
        (["--jub", "x"], "did you mean --job?"),
        (["more"], "more"),
        (["--config", "no.toml"], "--config"),
    ],
)
def test_bad_usage_is_one_line_and_exit_64(host: Host, options: list[str], told: str) -> None:
    """And nothing is written."""
    dog = watch(host, *options)
    assert dog.wait() == 64
    (line,) = dog.err.splitlines()
    assert told in line
    assert not (host.folder / "runs.db").exists()


def test_one_look_ends_with_0_or_69(host: Host) -> None:
    """For a cron."""
    host.ledger.create()
    once = watch(host, "--once")
    assert (once.wait(), once.event("looked")["found"]) == (0, {"jobs": 1})
    away = watch(host, "--once", "--ledger", f"sqlite:///{host.folder}/no-such-folder/runs.db")
    assert away.wait() == 69
