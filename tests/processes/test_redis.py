"""The commands as processes, with their ledger in a real Valkey."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import uuid
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cronce import Status
from tests.processes import test_clock, test_pin
from tests.support.host import JOB, PERIOD, Host, until
from tests.support.redis_server import SAFE, RedisServer, valkey_program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cronce.protocol.records import RunRecord

USER, PASSWORD = "app", "s3cretWord"


@pytest.fixture
def host(tmp_path: Path, valkey: RedisServer) -> Iterator[Host]:
    """A host whose processes share a ledger in Valkey, which has no row of theirs yet."""
    with Host(tmp_path, f"{valkey.url}?prefix=test-{uuid.uuid4().hex[:12]}") as host:
        yield host


def stored(host: Host) -> RunRecord:
    """The run, which must be there."""
    run = host.run()
    assert run is not None, "the claim is lost"
    return run


def has_moved_on(host: Host, version: int) -> bool:
    """True if the run was written since it had that version."""
    return stored(host).version > version


def test_one_of_two_commands_runs_and_people_see_what_happened(host: Host) -> None:
    """exec, jobs, runs, show and init; a success is not repeated."""
    first = host.guarded_shell('echo done >>"$LOG"')
    assert first.wait() == 0, first.err
    second = host.guarded_shell('echo done >>"$LOG"')
    assert second.wait() == 0
    assert host.logged == ["done"]
    assert second.event("refused")["reason"] == "ALREADY_SUCCEEDED"
    said = {}
    for command in (["jobs"], ["runs", JOB], ["show", JOB, PERIOD], ["init"]):
        process = host.start("cronce", *command, "--ledger", host.url)
        assert process.wait() == 0, process.err
        said[command[0]] = process.out.decode()
    assert "unscheduled" in said["jobs"]
    assert "SUCCEEDED" in said["runs"]
    assert "SUCCEEDED" in said["show"]
    assert said["init"].startswith("Already exists: Redis redis://127.0.0.1:")
    assert "Note" not in said["init"]


def test_a_held_run_is_released(host: Host) -> None:
    """By `cronce release`, after a crash that waits for a person."""
    guard = host.guarded_shell('echo ready >>"$LOG"; sleep 60', options="--lease 2s --on-lost hold")
    host.await_log("ready")
    guard.send(signal.SIGKILL)
    guard.wait()
    release = host.start("cronce", "release", JOB, PERIOD, "--force", "--reason", "test", "--ledger", host.url)
    assert release.wait() == 0, release.err
    again = host.guarded_shell('echo again >>"$LOG"', options="--on-lost hold")
    assert again.wait() == 0
    assert host.logged[-1] == "again"


def test_work_outlives_a_server_that_is_killed_and_started_again(tmp_path: Path) -> None:
    """Kill -9 in mid-run, `appendfsync always`: the heartbeats go on, the success is recorded, nobody runs it again."""
    (tmp_path / "server").mkdir()
    with (
        RedisServer(valkey_program(), tmp_path / "server", *SAFE) as server,
        Host(tmp_path, server.url) as host,
    ):
        guard = host.guarded_shell('echo ready >>"$LOG"; while [ ! -e end ]; do sleep 0.05; done', options="--lease 8s")
        host.await_log("ready")
        for _ in range(3):
            server.restart()
            version = stored(host).version
            until(partial(has_moved_on, host, version), "a heartbeat")
        (tmp_path / "end").touch()
        assert guard.wait() == 0, guard.err
        run = stored(host)
        assert (run.status, run.attempt) == (Status.SUCCEEDED, 1)
        assert host.guarded_shell("exit 1").wait() == 0


def test_a_server_that_is_away_starts_nothing(tmp_path: Path) -> None:
    """Exit 69 and one line that names the server."""
    with Host(tmp_path, "redis://127.0.0.1:1") as host:
        guard = host.guarded_shell('echo no >>"$LOG"', options="--lease 2s")
        assert guard.wait() == 69
        assert "Redis redis://127.0.0.1:1/0: ConnectionRefusedError" in guard.event("unavailable")["message"]
        assert host.logged == []


def test_the_winner_of_a_run_is_warned_of_a_server_that_forgets(tmp_path: Path) -> None:
    """One line; the loser says nothing about it. `init` says it too."""
    (tmp_path / "server").mkdir()
    with (
        RedisServer(valkey_program(), tmp_path / "server", "--appendonly", "no") as server,
        Host(tmp_path, server.url) as host,
    ):
        winner = host.guarded_shell("true")
        assert winner.wait() == 0
        warning = winner.event("ledger_caution")
        assert warning["level"] == "WARNING"
        assert "appendonly is no: a restart of the server forgets claims" in warning["message"]
        loser = host.guarded_shell("true")
        assert loser.wait() == 0
        assert "appendonly" not in loser.err
        init = host.start("cronce", "init", "--ledger", host.url)
        assert init.wait() == 0
        assert b"Note: appendonly is no" in init.out


@pytest.mark.parametrize("right", [True, False], ids=["right", "wrong"])
def test_no_command_shows_the_password(tmp_path: Path, right: bool) -> None:  # noqa: FBT001
    """In no output, log line, JSON document, suggested command or socket's name; whether it is right or wrong."""
    (tmp_path / "server").mkdir()
    with RedisServer(valkey_program(), tmp_path / "server", *SAFE) as server:
        rights = ("on", f">{PASSWORD if right else 'another'}", "~*", "+@all")
        server.ask("ACL", "SETUSER", USER, *rights)
        url = f"redis://{USER}:{PASSWORD}@127.0.0.1:{server.port}"
        environ = {"CRONCE_METRICS": "emf", "CRONCE_LEDGER": url}
        with Host(tmp_path, url) as host:
            commands = [host.guard("false", options="--lease 2s", env=environ)]
            commands[0].wait()
            for arguments in (
                ["jobs"],
                ["jobs", "--json"],
                ["runs", JOB],
                ["runs", JOB, "--json"],
                ["show", JOB, PERIOD],
                ["show", JOB, PERIOD, "--json"],
                ["show", JOB, "2026-11-30"],
                ["runs", "nosuchjob"],
                ["release", JOB, PERIOD, "--force", "--reason", "x"],
                ["init"],
                ["health", "--name", "nosuchclock"],
            ):
                commands.append(host.start("cronce", *arguments, "--ledger", url))
                commands[-1].wait()
            pinned = host.start(
                "cronce", "pin", "--ledger", url, "--job", "clock", "--lease", "2s", "--", "sleep", "60"
            )
            until(lambda: b"cronce-health-clock" in Path("/proc/net/unix").read_bytes(), "the health socket")
            assert PASSWORD.encode() not in Path("/proc/net/unix").read_bytes()
            until(lambda: pinned.events, "a line")
            pinned.send(signal.SIGTERM)
            pinned.wait()
            commands.append(pinned)
            output = b"".join(command.out + command.err.encode() for command in commands)
            assert PASSWORD.encode() not in output
            assert len(output) > 1000
            codes = {command.process.returncode for command in commands[:-2]}
            assert codes == ({0, 1} if right else {69})


def test_a_clock_dispatches_each_tick_once(host: Host) -> None:
    """Three of them, one after the other."""
    test_clock.test_one_dispatches_and_the_others_stand_by(host)


def test_a_pinned_command_has_one_leader(host: Host) -> None:
    """The others stand by."""
    test_pin.TestHandOver().test_of_several_one_runs_the_command(host)


def test_run_once_works_once(host: Host) -> None:
    """In Python, by the environment."""
    program = 'from cronce import run_once; run_once(lambda claim: print("worked", claim.period))'
    environ = os.environ | {"CRONCE_LEDGER": host.url, "CRONCE_JOB": JOB, "CRONCE_PERIOD": PERIOD}
    results = [
        subprocess.run(["python", "-c", program], env=environ, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert [result.stdout for result in results] == [f"worked {PERIOD}\n", ""]
    assert json.loads(results[1].stderr.splitlines()[-1])["cronce.reason"] == "ALREADY_SUCCEEDED"
