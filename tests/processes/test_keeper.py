"""The command is dead before anybody may take over, whatever happened to its guard and whatever it became."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.host import JOB, PERIOD, until
from tests.support.lanes import IN_PID_NAMESPACE
from tests.support.quick import quick

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.host import Command, Host

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")

LEASE = "--lease 2s"

READY = 'echo "ready $CRONCE_ATTEMPT" >>"$LOG"; '
SLEEP = f"{READY} exec sleep 300"
DEAF = f'trap "" TERM INT HUP; {READY} while :; do sleep 0.2; done'
ANOTHER_USER = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")

COMMANDS: dict[str, tuple[str, ...]] = {
    "plain": ("sh", "-c", SLEEP),
    "deaf": ("sh", "-c", DEAF),
    "with a child": ("sh", "-c", f"sleep 300 & {SLEEP}"),
    "in a session of its own": ("setsid", "-w", "sh", "-c", SLEEP),
    "with a daemon": ("sh", "-c", f"(setsid sleep 300 &) ; {SLEEP}"),
    "with a daemon whose parents are gone": ("sh", "-c", f"setsid sh -c 'sleep 300 & exit 0'; {SLEEP}"),
}
AS_ROOT: dict[str, tuple[str, ...]] = {
    "as another user": (*ANOTHER_USER, "sh", "-c", SLEEP),
    "as another user in a session of its own": (*ANOTHER_USER, "setsid", "-w", "sh", "-c", DEAF),
}


HARDEST = ("with a daemon whose parents are gone", "as another user in a session of its own")


def guarded(host: Host, name: str, *options: str) -> Command:
    """Start one of the commands, and wait until it runs."""
    command = (COMMANDS | AS_ROOT)[name]
    if name in AS_ROOT:
        if os.geteuid() or not shutil.which("setpriv"):
            pytest.skip("only root may change the user, with setpriv")
        host.folder.chmod(0o777)
        host.log.touch()
        host.log.chmod(0o666)
        if not _others_may_reach(host.folder):
            pytest.skip("another user cannot reach the folder of the test")
    guard = host.guard(*command, options=" ".join((LEASE, *options)))
    host.await_log("ready 1")
    return guard


def _others_may_reach(folder: Path) -> bool:
    session = Path(tempfile.gettempdir())
    for parent in folder.parents:
        if session in (parent, *parent.parents):  # also a worker's own folder
            parent.chmod(parent.stat().st_mode | 0o055)
    return all(parent.stat().st_mode & 0o005 == 0o005 for parent in folder.parents)


def successor(host: Host) -> None:
    """Wait until the run can be taken over, and check that nothing of the first attempt is alive at that moment."""
    claim = host.claim_when_possible(meanwhile="RUNNING_ELSEWHERE")
    assert host.working() == [] or frozen_only(host)
    assert claim.attempt == 2
    claim.complete()


def frozen_only(host: Host) -> bool:
    """True if the only processes left are stopped: a guard that a test froze."""
    return {state_of(pid) for pid in host.working()} <= {"T"}


def state_of(pid: int) -> str:
    """The state of a process: T is stopped (man 5 proc_pid_stat)."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.mark.parametrize("name", quick((*COMMANDS, *AS_ROOT), only=HARDEST))
def test_after_sigkill_of_the_guard_nothing_of_the_command_lives(host: Host, name: str) -> None:
    """Long before the lease expires."""
    guard = guarded(host, name)
    guard.send(signal.SIGKILL)
    guard.wait()
    until(lambda: not host.living(), "the end of everything")
    run = host.run()
    assert run is not None
    assert run.status == "RUNNING"
    successor(host)


@pytest.mark.parametrize("name", quick((*COMMANDS, *AS_ROOT), only=HARDEST))
def test_a_guard_that_is_stopped_alone_has_no_command_when_its_lease_expires(host: Host, name: str) -> None:
    """SIGSTOP; then SIGCONT: 70."""
    guard = guarded(host, name)
    host.freeze(guard.pid)
    successor(host)
    guard.send(signal.SIGCONT)
    assert guard.wait() == 70
    until(lambda: not host.living(), "the end of everything")


@pytest.mark.parametrize("name", ["deaf", "with a daemon", "as another user in a session of its own"])
@pytest.mark.parametrize("how", ["SIGTERM", "--active-deadline 1s"])
def test_a_command_that_is_stopped_leaves_nothing_behind(host: Host, name: str, how: str) -> None:
    """When the run is settled, everything that it started is dead."""
    guard = guarded(host, name, "--grace 500ms", *([how] if how.startswith("--") else []))
    if how == "SIGTERM":
        guard.send(signal.SIGTERM)
    assert guard.wait() in ((124,) if how.startswith("--") else (128 + signal.SIGTERM, 128 + signal.SIGKILL))
    assert host.working() == []


def test_what_a_command_that_ended_by_itself_left_behind_lives_on(host: Host) -> None:
    """It started a daemon, and said that it is done."""
    guard = host.guard("sh", "-c", f"setsid sleep 300 & {READY} exit 0")
    assert guard.wait() == 0
    assert len(host.working()) == 1


def keeper_of(guard: Command) -> int:
    """The guard's only child."""
    children = Path(f"/proc/{guard.pid}/task/{guard.pid}/children")
    (keeper,) = until(lambda: [int(child) for child in children.read_text().split()], "the keeper")
    return keeper


def test_a_keeper_that_is_stopped_goes_on_with_the_next_heartbeat(host: Host) -> None:
    """So it is there when it is needed."""
    guard = guarded(host, "with a daemon")
    keeper = keeper_of(guard)
    os.kill(keeper, signal.SIGSTOP)
    until(lambda: state_of(keeper) == "T", "a stopped keeper")
    until(lambda: state_of(keeper) != "T", "the next heartbeat")
    guard.send(signal.SIGKILL)
    until(lambda: not host.living(), "the end of everything")


@pytest.mark.parametrize("name", ["plain", "with a daemon", "as another user in a session of its own"])
def test_without_its_keeper_the_command_ends_and_the_run_is_settled(host: Host, name: str) -> None:
    """SIGKILL of the keeper: 137, FAILED, and nothing is left."""
    guard = guarded(host, name)
    os.kill(keeper_of(guard), signal.SIGKILL)
    assert guard.wait() == 128 + signal.SIGKILL
    until(lambda: not host.living(), "the end of everything")
    assert host.ended_run() == ("FAILED", "exit_code")


def test_when_guard_and_keeper_are_frozen_the_kernel_ends_the_command(host: Host) -> None:
    """A timer kills the keeper; the command dies with it, before the lease expires."""
    guard = guarded(host, "plain")
    host.freeze(keeper_of(guard), guard.pid)
    successor(host)
    guard.send(signal.SIGCONT)
    assert guard.wait() == 70


@pytest.mark.lane("pid-namespace")
def test_as_pid_1_a_guard_that_is_stopped_alone_has_no_command_when_its_lease_expires(host: Host) -> None:
    """The kernel does not kill PID 1 from within; the keeper is another process."""
    which = ("--ledger", host.url, "--job", JOB, "--period", PERIOD, *LEASE.split())
    container = host.start(*IN_PID_NAMESPACE, "cronce", "exec", *which, "--", "sh", "-c", SLEEP)
    host.await_log("ready 1")
    pids = Path(f"/proc/{container.pid}/task/{container.pid}/children").read_text().split()
    (pid_1,) = map(int, pids)
    host.freeze(pid_1)
    claim = host.claim_when_possible(meanwhile="RUNNING_ELSEWHERE")
    assert [pid for pid in host.working() if pid not in (pid_1, container.pid)] == []
    claim.complete()
    os.kill(pid_1, signal.SIGCONT)
    assert container.wait() == 70


def on_a_terminal(host: Host, script: str, *options: str) -> tuple[Command, Callable[[bytes], int]]:
    """Start a guard whose stdin is a terminal, with a function that types on it."""
    try:
        keyboard, terminal = os.openpty()
    except OSError as error:
        pytest.skip(f"no terminal: {error}")
    which = ("--ledger", host.url, "--job", JOB, "--period", PERIOD, *options)
    guard = host.start("setsid", "-c", "cronce", "exec", *which, "--", "sh", "-c", script, stdin=terminal)
    os.close(terminal)
    return guard, lambda data: os.write(keyboard, data)


def test_at_a_terminal_the_deadline_ends_what_the_command_started_too(host: Host) -> None:
    """The command shares the terminal's process group with its guard."""
    guard, _ = on_a_terminal(host, f"sh -c '{DEAF}' & wait", "--active-deadline", "2s", "--grace", "300ms")
    assert guard.wait() == 124
    assert host.working() == []


def test_ctrl_c_is_an_interruption_that_does_not_count(host: Host) -> None:
    """Again and again: the command may die before its guard hears of the key."""
    for number in range(1, 6):
        host.log.write_text("")
        guard, press = on_a_terminal(host, SLEEP)
        host.await_log(f"ready {number}")
        press(b"\x03")
        assert guard.wait() == 130
        run = host.run()
        assert run is not None
        assert (run.attempt, run.status, run.reason, run.failures) == (number, "FAILED", "interrupted", 0)
