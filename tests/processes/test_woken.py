"""An owner that was frozen beyond its lease and wakes up: real processes, SIGSTOP and SIGCONT."""

from __future__ import annotations

import os
import signal
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.host import JOB, PERIOD, until

if TYPE_CHECKING:
    from cronce.protocol.records import RunRecord
    from tests.support.host import Command, Host

PROGRAM = Path(__file__).parents[1] / "support" / "once_program.py"

TICKING = """
import os, time
log, stop = open(os.environ["LOG"], "a", buffering=1), "stop"
while not os.path.exists(stop):
    print("tick", file=log)
    time.sleep(0.05)
print("end", file=log)
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")


def tree_of(pid: int) -> list[int]:
    """The process and what descends from it, parents first."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(each for child in children for each in tree_of(int(child)))]


def wake(pids: list[int]) -> None:
    """Let those of the processes go on that still live."""
    for pid in pids:
        if Path(f"/proc/{pid}").exists():
            os.kill(pid, signal.SIGCONT)


def expired(run: RunRecord | None) -> bool:
    """True once its lease has expired, by this host's clock."""
    return run is not None and run.lease_until is not None and datetime.now(UTC) > run.lease_until


def start_program(host: Host, *arguments: str) -> Command:
    """`run_once` with a lease of 2 s."""
    names = {"CRONCE_LEDGER": host.url, "CRONCE_JOB": JOB, "CRONCE_PERIOD": PERIOD}
    return host.start(sys.executable, str(PROGRAM), *arguments, env=names | {"CRONCE_POLICY": '{"lease": "2s"}'})


def test_a_program_that_was_frozen_beyond_its_lease_goes_on_if_nobody_took_its_run(host: Host) -> None:
    """One renewal; the same attempt, with no line of a lost lease."""
    task = start_program(host, "check")
    host.await_log("attempt")
    host.freeze(task.pid)
    until(lambda: expired(host.run()), "the end of the lease")
    task.send(signal.SIGCONT)
    until(lambda: not expired(host.run()), "a renewal")
    frozen = host.run()
    until(lambda: host.run() != frozen, "the next heartbeat")
    task.send(signal.SIGTERM)
    assert task.wait() == 143
    run = host.run()
    assert run is not None
    assert (run.attempt, run.status, run.reason) == (1, "FAILED", "interrupted")
    assert [event["event"] for event in task.events] == ["claimed", "failed"]


def test_a_program_that_was_frozen_until_its_run_was_taken_stops_and_changes_nothing(host: Host) -> None:
    """70, and the row is its successor's."""
    task = start_program(host, "check")
    host.await_log("attempt")
    host.freeze(task.pid)
    claim = host.claim_when_possible(meanwhile="RUNNING_ELSEWHERE")
    task.send(signal.SIGCONT)
    assert task.wait() == 70
    assert host.run() == claim.record
    claim.complete()


@pytest.mark.parametrize("frozen", ["the guard", "everything"])
def test_a_guard_whose_command_was_ended_while_it_was_frozen_says_so_at_once(host: Host, frozen: str) -> None:
    """By the keeper, or with it by the kernel. 70; FAILED(lease_lost), and the next claim need not wait."""
    guard = host.guard(sys.executable, "-c", TICKING, options="--lease 2s")
    host.await_log("tick")
    pids = tree_of(guard.pid) if frozen == "everything" else [guard.pid]
    host.freeze(*reversed(pids))
    until(lambda: expired(host.run()), "the end of the lease")
    until(lambda: host.living() == [guard.pid], "the end of the command")
    wake(pids)
    assert guard.wait() == 70
    assert host.ended_run() == ("FAILED", "lease_lost")
    assert {event["event"] for event in guard.events} >= {"lost", "failed"}
    claim = host.ledger.claim(JOB, PERIOD)
    assert claim
    assert claim.attempt == 2
    claim.complete()


@pytest.mark.slow
def test_a_command_that_is_frozen_with_its_guard_until_its_trust_has_ended_goes_on(host: Host) -> None:
    """It wakes up after four fifths of the lease, and before the keeper ends the command."""
    lease = timedelta(seconds=30)
    guard = host.guard(sys.executable, "-c", TICKING, options=f"--lease {lease.total_seconds():g}s")
    host.await_log("tick")
    pids = tree_of(guard.pid)
    host.freeze(*reversed(pids), after=0.5)  # the keeper knows of this heartbeat by then
    frozen = host.run()
    assert frozen is not None
    assert frozen.heartbeat_at is not None
    time.sleep((frozen.heartbeat_at + lease * 0.82 - datetime.now(UTC)).total_seconds())  # real time is what is tested
    ticks = len(host.logged)
    wake(pids)
    until(lambda: host.run() != frozen, "a renewal")
    until(lambda: len(host.logged) > ticks + 3, "more work")
    (host.folder / "stop").touch()
    assert guard.wait() == 0
    assert host.ended_run() == ("SUCCEEDED", None)
    assert host.logged[-1] == "end"
