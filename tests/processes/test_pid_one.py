"""`cronce exec` as PID 1, as it is in a container without an init process."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.host import JOB, PERIOD, until
from tests.support.lanes import IN_PID_NAMESPACE

if TYPE_CHECKING:
    from tests.support.host import Command, Host

pytestmark = pytest.mark.lane("pid-namespace")


def test_as_pid_1_it_forwards_sigterm(host: Host) -> None:
    """The run is interrupted, and nothing is left of the container."""
    container = start_container(host, 'echo ready >>"$LOG"; exec sleep 300')
    host.await_log("ready")
    (pid_1,) = children_of(container.pid)
    assert pid_in_namespace(pid_1) == 1
    kill(pid_1)
    assert container.wait() == 128 + signal.SIGTERM
    assert host.ended_run() == ("FAILED", "interrupted")
    assert host.working() == []


def test_as_pid_1_it_ends_promptly_if_told_before_its_child_runs(host: Host) -> None:
    """E5: SIGTERM as soon as anybody can hear it; nothing is left RUNNING."""
    container = start_container(host, 'echo ready >>"$LOG"; exec sleep 300')
    (pid_1,) = children_of(container.pid)
    until(lambda: catches(pid_1, signal.SIGTERM), "somebody who hears SIGTERM")
    kill(pid_1)
    assert container.wait() == 128 + signal.SIGTERM
    run = host.run()
    assert run is None or (run.status, run.reason) == ("FAILED", "interrupted")
    assert host.working() == []


def test_signals_are_in_hand_before_the_ledgers_code_is_loaded() -> None:
    """Until then the kernel drops a SIGTERM to PID 1 (man 7 pid_namespaces), and the task runs on."""
    program = "import sys, cronce.cli.main, cronce.guard.signals; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split()
    assert {"cronce.client.ledger", "cronce.client.claim"} & set(loaded) == set()


def test_as_pid_1_it_kills_what_ignores_sigterm(host: Host) -> None:
    """E4: a shell that ignores SIGTERM ends after the grace, long before the platform's SIGKILL."""
    container = start_container(host, 'trap "" TERM; echo ready >>"$LOG"; while :; do sleep 0.2; done', "--grace", "1s")
    host.await_log("ready")
    kill(*children_of(container.pid))
    assert container.wait() == 128 + signal.SIGKILL
    assert host.ended_run() == ("FAILED", "interrupted")


def test_as_pid_1_it_reaps_orphans(host: Host) -> None:
    """Processes whose parents went away become children of PID 1; none stays behind as a zombie."""
    script = """
    for i in 1 2 3 4 5 6 7 8 9 10; do sh -c 'sh -c "sleep 0.1; echo orphan >>\\"$LOG\\"" & exit 0'; done
    while [ "$(grep -c orphan "$LOG")" != 10 ]; do sleep 0.05; done
    tries=0
    while grep -q '^State:.Z' /proc/[0-9]*/status && [ $tries -lt 100 ]; do tries=$((tries + 1)); sleep 0.05; done
    grep -l '^State:.Z' /proc/[0-9]*/status >>"$LOG"
    tr '\\0' '\\n' </proc/1/cmdline | grep -qx exec && echo "pid 1 is cronce exec" >>"$LOG"
    exit 3
    """
    host.log.touch()
    container = start_container(host, script)
    assert container.wait() == 3
    assert host.logged == ["orphan"] * 10 + ["pid 1 is cronce exec"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_as_pid_1_it_tells_by_which_signal_the_child_ended(host: Host, number: signal.Signals) -> None:
    """128 plus its number, as an exit code: the platform sees it."""
    assert start_container(host, f"kill -{number.value} $$").wait() == 128 + number
    assert host.ended_run() == ("FAILED", "exit_code")


def start_container(host: Host, script: str, *options: str) -> Command:
    """Start `cronce exec` with the script as PID 1 of a new namespace with a `/proc` of its own."""
    which = ("--ledger", host.url, "--job", JOB, "--period", PERIOD, *options)
    return host.start(*IN_PID_NAMESPACE, "cronce", "exec", *which, "--", "sh", "-c", script)


def children_of(pid: int) -> list[int]:
    """The children of a process, by their numbers in our namespace."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    return until(lambda: [int(child) for child in children.read_text().split()], "a child of unshare")


def pid_in_namespace(pid: int) -> int:
    """The process's number in its innermost namespace."""
    (line,) = (line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("NSpid:"))
    return int(line.split()[-1])


def catches(pid: int, number: signal.Signals) -> bool:
    """Whether the process has a handler for the signal."""
    (caught,) = re.findall(r"^SigCgt:\s*([0-9a-f]+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return bool(int(caught, 16) >> (number - 1) & 1)


def kill(*pids: int) -> None:
    """Send SIGTERM to processes that the test started."""
    for pid in pids:
        os.kill(pid, signal.SIGTERM)
