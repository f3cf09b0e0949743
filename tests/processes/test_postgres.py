"""`cronce exec` and the commands for people with a ledger in PostgreSQL: the server hangs, restarts and goes away."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from tests.support.host import JOB, PERIOD, Host, until
from tests.support.postgres_server import PASSWORD
from tests.support.proxy import Mode, Proxy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.postgres_server import PostgresServer

TICKING = 'echo ready >>"$LOG"; while [ ! -e stop ]; do date +%s.%N >>"$LOG"; sleep 0.05; done'


@pytest.fixture
def host(tmp_path: Path, postgres_url: str) -> Iterator[Host]:
    """A host with a ledger in an empty table."""
    with Host(tmp_path, postgres_url) as host:
        yield host


@pytest.fixture
def proxy(postgres: PostgresServer) -> Iterator[Proxy]:
    """The way to the server."""
    with Proxy(f"http://127.0.0.1:{postgres.port}") as proxy:
        yield proxy


@pytest.fixture
def remote_host(tmp_path: Path, postgres: PostgresServer, postgres_url: str, proxy: Proxy) -> Iterator[Host]:
    """The same through the proxy."""
    through = postgres_url.replace(f":{postgres.port}/", f":{proxy.port}/")
    with Host(tmp_path, through, watch_url=postgres_url) as host:
        yield host


def cronce(host: Host, *words: str, **environ: str) -> str:
    """What the command prints."""
    done = subprocess.run(
        ["cronce", *words],
        cwd=host.folder,
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | {"CRONCE_LEDGER": host.url} | environ,
    )
    return done.stdout


def test_every_command_of_a_ledger_works(host: Host) -> None:
    """What ran, why one does not, who has it, and how it is released."""
    assert host.guarded_shell("true").wait() == 0
    loser = host.guarded_shell("true")
    assert (loser.wait(), loser.event("refused")["reason"]) == (0, "ALREADY_SUCCEEDED")
    assert host.guarded_shell("exit 3", period="2026-11-30").wait() == 3
    found = cronce(host, "init")
    assert found.startswith("Already exists: PostgreSQL table runs_")
    made = cronce(host, "init", "--ledger", f"{host.url}_2")
    assert made.startswith("Created: PostgreSQL table runs_")
    assert all("Note: fsync is off: a crash of the server may lose claims" in said for said in (found, made))
    assert [job["job"] for job in json.loads(cronce(host, "jobs", "--json"))["jobs"]] == [JOB]
    assert [run["status"] for run in json.loads(cronce(host, "runs", JOB, "--json"))["runs"]] == ["FAILED", "SUCCEEDED"]
    assert "exit code 3" in cronce(host, "show", JOB, "2026-11-30").replace("     ", " ").replace("  ", " ")
    running = host.guarded_shell("exec sleep 60", period="2026-12-01")
    until(lambda: host.run("2026-12-01"), "the run")
    cronce(host, "release", JOB, "2026-12-01", "--force", "--reason", "test")
    assert host.ended_run("2026-12-01")[0] != "RUNNING"
    running.send(signal.SIGKILL)


def test_a_run_whose_guard_was_killed_is_taken_over(host: Host) -> None:
    """When its lease has expired, by the next one that asks."""
    killed = host.guarded_shell(TICKING, options="--lease 2s")
    host.await_log("ready")
    killed.send(signal.SIGKILL)
    claim = host.claim_when_possible(meanwhile="RUNNING_ELSEWHERE")
    assert (claim.attempt, claim.fence) == (2, 2)


def test_a_password_is_in_no_output(postgres: PostgresServer, host: Host) -> None:
    """Neither of the guard nor of a command, in success and failure."""
    postgres.sql("GRANT cronce TO scram")
    host.url = host.url.replace("cronce@", f"scram:{quote(PASSWORD, safe='')}@")
    assert host.guarded_shell("true").wait() == 0
    out = cronce(host, "show", JOB, PERIOD) + cronce(host, "runs", JOB, "--json", "--ledger", host.url)
    host.url = host.url.replace("/runs?", "/nothing?")
    failed = host.guarded_shell("true", options="--lease 2s")
    assert failed.wait() == 69
    assert "3D000" in failed.event("unavailable")["message"]
    for secret in (PASSWORD, quote(PASSWORD, safe=""), "pass"):
        assert secret not in out + failed.err


def test_a_server_that_says_nothing_keeps_the_command_from_starting(remote_host: Host, proxy: Proxy) -> None:
    """Exit 69 in under 15 s with the default lease; the line says where the ledger is."""
    proxy.mode = Mode.BLACKHOLE
    began = time.monotonic()
    guard = remote_host.guarded_shell(TICKING)
    assert guard.wait() == 69
    assert time.monotonic() - began < 15
    message = guard.event("unavailable")["message"]
    assert remote_host.logged == []
    assert f"of cronce in runs at 127.0.0.1:{proxy.port}: TimeoutError" in message
    assert "not started" in message


@pytest.mark.parametrize("how", [Mode.BLACKHOLE, Mode.RESET])
def test_a_command_is_stopped_before_the_lease_is_over(remote_host: Host, proxy: Proxy, how: Mode) -> None:
    """The server stops answering in mid-run: no line of work after the lease, exit 70."""
    guard = remote_host.guarded_shell(TICKING, options="--lease 4s")
    remote_host.await_log("ready")
    proxy.mode = how
    assert guard.wait() == 70
    until(lambda: not remote_host.living(), "the end of every process")
    run = remote_host.run()
    assert run is not None
    assert run.lease_until is not None
    assert float(remote_host.logged[-1]) < run.lease_until.timestamp()


def test_a_restart_and_a_crash_of_the_server_are_survived(postgres: PostgresServer, host: Host) -> None:
    """The heartbeat connects again; the claim was answered, so it is still there."""
    guard = host.guarded_shell(TICKING, options="--lease 8s")
    host.await_log("ready")
    for how in (signal.SIGINT, signal.SIGQUIT):
        postgres.restart(how)
        run = host.run()
        assert run is not None
        before = run.version
        until(lambda: (run := host.run()) and run.version > before, "a heartbeat")  # noqa: B023  # called at once
    (host.folder / "stop").touch()
    assert guard.wait() == 0
    assert host.ended_run() == ("SUCCEEDED", None)
