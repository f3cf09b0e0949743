"""The service of an `ExternalLedger`: `cronce watchdog` with the environment of its container."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

import pytest

from cronce import OnLost, Policy, Status
from tests.support.aws_server import AwsServer
from tests.support.cloud import GROUP, schedule
from tests.support.host import JOB, PERIOD, Host, until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.host import Command

EXTERNAL = pytest.mark.parametrize(
    "host",
    [
        pytest.param("postgres", marks=pytest.mark.lane("postgres")),
        pytest.param("valkey", marks=[pytest.mark.lane("valkey"), pytest.mark.slow]),
    ],
    indirect=True,
)
HEALTH = ["cronce", "health", "--name", "cronce:watchdog"]
SECRET = "CRONCE_LEDGER"


@pytest.fixture
def aws() -> Iterator[AwsServer]:
    """An AWS with the job's schedule, whose input has no URL."""
    with AwsServer() as aws:
        define(aws, Policy(backoff_limit=1))
        yield aws


def define(aws: AwsServer, policy: Policy) -> None:
    """Make the job's schedule, as a `ScheduledTask` of an `ExternalLedger` does."""
    answer = schedule(JOB, policy=policy)
    override = json.loads(answer["Target"]["Input"])
    for container in override["containerOverrides"]:
        given = container.get("environment", ())
        container["environment"] = [each for each in given if each["name"] != SECRET]
    answer["Target"]["Input"] = json.dumps(override)
    aws.scheduler.schedules[answer["Name"]] = answer


def watch(host: Host, aws: AwsServer, *options: str) -> Command:
    """Start the watchdog as its container does, but for the time between two looks."""
    container = {SECRET: host.url, "CRONCE_SCHEDULE_GROUP": GROUP, "CRONCE_METRICS": "emf"}
    return host.start("cronce", "watchdog", *(options or ("--every", "1s")), env={**aws.environment, **container})


def stop(*dogs: Command) -> None:
    """Ask them to stop; they do, without an error."""
    for dog in dogs:
        dog.send(signal.SIGTERM)
        assert dog.wait() == 0, dog.err


def fire(host: Host, aws: AwsServer, number: int, script: str) -> Command:
    """Start the task of a one-shot schedule: its overrides, and the URL as the container's secret."""
    environ = aws.scheduler.environ_of(number)
    assert SECRET not in environ
    return host.start("cronce", "exec", "--", "sh", "-c", script, env={**environ, SECRET: host.url})


@EXTERNAL
def test_a_failed_run_is_started_again_once_by_two_watchdogs(host: Host, aws: AwsServer) -> None:
    """No recorder hears of it: the row says that it failed, and that a retry is left."""
    host.ledger.create()
    assert host.guarded_shell("exit 3").wait() == 3
    dogs = [watch(host, aws) for _ in range(2)]
    until(lambda: aws.scheduler.one_shots, "a one-shot schedule")
    assert fire(host, aws, 0, 'echo "$CRONCE_TRIGGER $CRONCE_ATTEMPT" >>"$LOG"').wait() == 0
    until(lambda: sum(event["event"] == "looked" for dog in dogs for event in dog.events) >= 4, "more looks")
    stop(*dogs)
    run = host.run()
    assert run is not None
    assert (run.status, run.attempt) == (Status.SUCCEEDED, 2)
    assert (len(aws.scheduler.one_shots), host.logged) == (1, ["retry 2"])


@EXTERNAL
def test_a_killed_run_is_marked_and_started_again(host: Host, aws: AwsServer) -> None:
    """When its lease has expired."""
    host.ledger.create()
    guard = host.guarded_shell("exec sleep 600", options="--lease 2s")
    until(lambda: (run := host.run()) and run.status is Status.RUNNING, "the run")
    guard.send(signal.SIGKILL)
    dog = watch(host, aws)
    until(lambda: dog.events and host.ended_run() == ("FAILED", "lease_lost"), "the mark")
    assert fire(host, aws, 0, "true").wait() == 0
    stop(dog)
    assert host.ended_run() == ("SUCCEEDED", None)
    assert dog.event("run_lost")["period"] == PERIOD


def test_a_held_run_is_left_to_a_person(host: Host, aws: AwsServer) -> None:
    """With an event on the bus, as the Lambda function sends it."""
    define(aws, Policy(on_lost=OnLost.HOLD))
    host.ledger.create()
    guard = host.guarded_shell("exec sleep 600", options="--lease 2s")
    until(lambda: (run := host.run()) and run.status is Status.RUNNING, "the run")
    guard.send(signal.SIGKILL)
    dog = watch(host, aws)
    until(lambda: "Cronce Run Held" in {event["type"] for event in aws.events.sent}, "the event")
    stop(dog)
    assert aws.scheduler.one_shots == []


def test_its_health_is_asked_as_the_container_does(host: Host, aws: AwsServer) -> None:
    """Healthy while it looks, and nobody answers after its end."""
    host.ledger.create()
    environ = {SECRET: host.url}
    dog = watch(host, aws)
    until(lambda: host.start(*HEALTH, env=environ).wait() == 0, "health")
    stop(dog)
    assert host.start(*HEALTH, env=environ).wait() == 1


def test_a_group_that_does_not_exist_is_told_and_asked_again(host: Host, aws: AwsServer) -> None:
    """The permission may be given a minute later. With --once the exit code is 1."""
    host.ledger.create()
    aws.scheduler.fail("list_schedules", "ResourceNotFoundException", "no such group", status=404)
    once = watch(host, aws, "--once")
    assert once.wait() == 1
    assert "no such group" in once.err
    assert "Traceback" not in once.err
    dog = watch(host, aws)
    until(lambda: any(event["event"] == "unavailable" for event in dog.events), "the line")
    aws.scheduler.recover()
    until(lambda: any(event["event"] == "available" for event in dog.events), "the end of it")
    stop(dog)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--schedule-group", "a/b"], "--schedule-group: 'a/b'"),
        (["--schedule-group", GROUP, "--config", "clock.toml"], "no --config with a schedule group"),
        (["--schedule-group", GROUP, "--job", JOB], "no --job with a schedule group"),
    ],
)
def test_bad_usage_is_one_line_and_exit_64(host: Host, options: list[str], told: str) -> None:
    """And nothing is written."""
    dog = host.start("cronce", "watchdog", "--ledger", host.url, *options)
    assert dog.wait() == 64
    (line,) = dog.err.splitlines()
    assert told in line
    assert not (host.folder / "runs.db").exists()
