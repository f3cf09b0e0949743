"""The ledger goes away: before the start, in mid-run, for a moment, for good. Real DynamoDB Local behind a proxy."""

from __future__ import annotations

import signal
import socket
import time
from typing import TYPE_CHECKING

import pytest

from tests.processes.conftest import table_url
from tests.support.host import Host, until
from tests.support.proxy import Mode

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.proxy import Proxy

LEASE = "--lease 4s"
TICKING = 'echo ready >>"$LOG"; while :; do date +%s.%N >>"$LOG"; sleep 0.05; done'
STUBBORN = 'trap "" TERM; ' + TICKING

pytestmark = pytest.mark.lane("dynamodb-local")


@pytest.mark.parametrize("script", [TICKING, STUBBORN], ids=["obedient", "stubborn"])
@pytest.mark.parametrize("how", [Mode.BLACKHOLE, Mode.RESET])
def test_a_child_is_stopped_before_the_lease_is_over(remote_host: Host, proxy: Proxy, how: Mode, script: str) -> None:
    """The store stops answering in mid-run: no line of work after the lease, exit 70, no retry too early."""
    guard = remote_host.guarded_shell(script, options=LEASE)
    remote_host.await_log("ready")
    until(lambda: version(remote_host) > 1, "a heartbeat")
    proxy.mode = how
    assert guard.wait() == 70
    until(lambda: not remote_host.living(), "the end of every process")
    run = remote_host.run()
    assert run is not None
    assert run.lease_until is not None
    assert float(remote_host.logged[-1]) < run.lease_until.timestamp()
    assert run.status == "RUNNING"
    assert guard.event("lost")["attempt"] == 1


def test_a_store_that_says_nothing_keeps_the_child_from_starting(remote_host: Host, proxy: Proxy) -> None:
    """Exit 69 in under 15 s with the default lease; the line names table, Region and cause."""
    proxy.mode = Mode.BLACKHOLE
    began = time.monotonic()
    guard = remote_host.guarded_shell(TICKING)
    assert guard.wait() == 69
    assert time.monotonic() - began < 15
    expect_not_started(remote_host, guard.event("unavailable")["message"])


def test_a_store_that_resets_keeps_the_child_from_starting(remote_host: Host, proxy: Proxy) -> None:
    """The same, however the connection fails."""
    proxy.mode = Mode.RESET
    guard = remote_host.guarded_shell(TICKING, options=LEASE)
    assert guard.wait() == 69
    expect_not_started(remote_host, guard.event("unavailable")["message"])


def test_a_store_that_trickles_keeps_the_child_from_starting(remote_host: Host, proxy: Proxy) -> None:
    """Each byte comes soon, and the answer never ends: 69 as for one that says nothing."""
    proxy.mode = Mode.TRICKLE
    guard = remote_host.guarded_shell(TICKING, options=LEASE)
    assert guard.wait() == 69
    expect_not_started(remote_host, guard.event("unavailable")["message"])


@pytest.mark.parametrize("told", [False, True], ids=["left alone", "told to stop"])
def test_a_name_server_that_says_nothing_keeps_the_child_from_starting(tmp_path: Path, *, told: bool) -> None:
    """A look-up hears neither a time limit nor a signal; here one takes longer than the test waits."""
    (tmp_path / "sitecustomize.py").write_text(
        "import socket, time\n"
        "def never(*_, **__):\n"
        "    open('asked', 'w').close()\n"
        "    time.sleep(600)\n"
        "socket.getaddrinfo = never\n"
    )
    with Host(tmp_path, table_url("runs", "http://ledger.test:8000")) as host:
        guard = host.guard("true", options=LEASE, env={"PYTHONPATH": str(tmp_path)})
        if told:
            until((tmp_path / "asked").exists, "the look-up")
            guard.send(signal.SIGTERM)
        assert guard.wait() in ((69, 128 + signal.SIGTERM) if told else (69,))
        if not told:
            assert "look-up of ledger.test" in guard.event("unavailable")["message"]


@pytest.mark.parametrize("told", [False, True], ids=["left alone", "told to stop"])
def test_credentials_that_never_come_keep_the_child_from_starting(tmp_path: Path, *, told: bool) -> None:
    """A `credential_process` that hangs is given ten seconds, once: 69, and the line says what did not answer."""
    (tmp_path / "config").write_text(f"[profile slow]\ncredential_process = {tmp_path}/helper\n")
    (tmp_path / "helper").write_text(f"#!/bin/sh\ntouch {tmp_path}/asked\nexec sleep 60\n")
    (tmp_path / "helper").chmod(0o755)
    environ = {"AWS_CONFIG_FILE": f"{tmp_path}/config", "AWS_PROFILE": "slow", "AWS_ACCESS_KEY_ID": ""}
    with Host(tmp_path, table_url("runs", "http://127.0.0.1:9")) as host:
        guard = host.guard("true", env=environ)
        until((tmp_path / "asked").exists, "the helper")
        began = time.monotonic()
        if told:
            guard.send(signal.SIGTERM)
        assert guard.wait() in ((69, 128 + signal.SIGTERM) if told else (69,))
        assert time.monotonic() - began < 30
        if not told:
            assert "the credentials were not loaded within 10 s" in guard.event("unavailable")["message"]
        assert host.logged == []


@pytest.mark.usefixtures("dynamodb_local")
def test_a_refused_connection_keeps_the_child_from_starting(tmp_path: Path) -> None:
    """Nobody listens at the endpoint: 69."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with Host(tmp_path, table_url("runs", f"http://127.0.0.1:{port}")) as host:
        guard = host.guarded_shell(TICKING, options=LEASE)
        assert guard.wait() == 69
        assert "runs" in guard.event("unavailable")["message"]
        assert host.logged == []


def test_a_table_that_is_not_there_is_69_at_once(remote_host: Host, dynamodb_local: str) -> None:
    """L15: not tried again, because it will not pass; the line names the table and the Region."""
    remote_host.url = table_url("no-such-table", dynamodb_local)
    guard = remote_host.guarded_shell(TICKING)
    assert guard.wait() == 69
    message = guard.event("unavailable")["message"]
    assert "no-such-table" in message
    assert "eu-west-1" in message
    assert "ResourceNotFoundException" in message
    assert remote_host.logged == []


@pytest.mark.parametrize("how", [Mode.BLACKHOLE, Mode.RESET])
def test_an_outage_shorter_than_the_lease_is_survived(remote_host: Host, proxy: Proxy, how: Mode) -> None:
    """Heartbeats go on afterwards, and the success is recorded."""
    guard = remote_host.guarded_shell(
        'echo ready >>"$LOG"; while [ ! -e stop ]; do sleep 0.05; done', options="--lease 8s"
    )
    remote_host.await_log("ready")
    until(lambda: version(remote_host) > 1, "a heartbeat")
    proxy.mode = how
    before = version(remote_host)
    time.sleep(3)  # the outage's length is what is tested: longer than a heartbeat's interval, shorter than the lease
    proxy.mode = Mode.PASS
    until(lambda: version(remote_host) > before + 1, "more heartbeats")
    (remote_host.folder / "stop").touch()
    assert guard.wait() == 0
    assert remote_host.ended_run() == ("SUCCEEDED", None)


def test_a_success_is_recorded_after_an_outage_at_its_end(remote_host: Host, proxy: Proxy) -> None:
    """The child ends while the store is away; the guard insists within the lease."""
    guard = remote_host.guarded_shell(
        'echo ready >>"$LOG"; while [ ! -e stop ]; do sleep 0.05; done', options="--lease 8s"
    )
    remote_host.await_log("ready")
    until(lambda: version(remote_host) > 1, "a heartbeat")
    proxy.mode = Mode.BLACKHOLE
    (remote_host.folder / "stop").touch()
    until(lambda: len(remote_host.living()) == 1, "the child's end")
    proxy.mode = Mode.PASS
    assert guard.wait() == 0
    assert remote_host.ended_run() == ("SUCCEEDED", None)


@pytest.mark.parametrize("told", [False, True], ids=["left alone", "told to stop"])
def test_a_store_that_trickles_at_the_end_holds_nobody_up(remote_host: Host, proxy: Proxy, *, told: bool) -> None:
    """The child is done; what cannot be recorded while the lease lasts is left to the lease: 70."""
    guard = remote_host.guarded_shell('echo ready >>"$LOG"; while [ ! -e stop ]; do sleep 0.05; done', options=LEASE)
    remote_host.await_log("ready")
    proxy.mode = Mode.TRICKLE
    if told:
        guard.send(signal.SIGTERM)
    (remote_host.folder / "stop").touch()
    assert guard.wait(30) == 70
    until(lambda: not remote_host.living(), "the end of every process")


def test_a_slow_store_is_only_slow(remote_host: Host, proxy: Proxy) -> None:
    """100 ms more each way, for claim, heartbeats and end."""
    proxy.delay = 0.1
    proxy.mode = Mode.DELAY
    guard = remote_host.guarded_shell("exec sleep 1")
    assert guard.wait() == 0
    assert remote_host.ended_run() == ("SUCCEEDED", None)


def test_sigterm_ends_the_claim_on_a_store_that_says_nothing(remote_host: Host, proxy: Proxy) -> None:
    """Promptly, with the child never started, although the claim would insist for longer."""
    proxy.mode = Mode.BLACKHOLE
    guard = remote_host.guarded_shell(TICKING)
    until(lambda: proxy.connections, "the first request")
    guard.send(signal.SIGTERM)
    told_at = time.monotonic()
    assert guard.wait() in (69, 128 + signal.SIGTERM)
    assert time.monotonic() - told_at < 8
    proxy.mode = Mode.PASS
    assert remote_host.logged == []


def test_sigterm_ends_a_run_whose_store_says_nothing(remote_host: Host, proxy: Proxy) -> None:
    """The child is told at once; what cannot be recorded is left to the lease: 70."""
    guard = remote_host.guarded_shell(TICKING, options=LEASE)
    remote_host.await_log("ready")
    proxy.mode = Mode.BLACKHOLE
    guard.send(signal.SIGTERM)
    until(lambda: len(remote_host.living()) <= 1, "the child's end")
    assert guard.wait(10) == 70
    until(lambda: not remote_host.living(), "the end of every process")


def version(host: Host) -> int:
    """How often the run was written; 0 if it is not there."""
    run = host.run()
    return run.version if run else 0


def expect_not_started(host: Host, message: str) -> None:
    """No work, and a line from which a person can go on."""
    assert host.logged == []
    assert "eu-west-1" in message
    assert "DynamoDB table runs-" in message
    assert "not started" in message
