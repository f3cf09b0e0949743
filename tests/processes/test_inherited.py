"""What a guard inherits from whoever starts it: signals, masks, files, limits. It works, or ends as documented."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.host import JOB, PERIOD, until

if TYPE_CHECKING:
    from tests.support.host import Command, Host

READY = 'echo "ready" >>"$LOG"; '
SLEEP = f"{READY} exec sleep 300"

SHELL_BEFORE = {
    "SIGCHLD ignored": "trap '' CHLD",
    "stdin closed": "exec <&-",
    "stdout closed": "exec >&-",
    "stderr closed": "exec 2>&-",
    "all three closed": "exec <&- >&- 2>&-",
    "stderr full": "exec 2>/dev/full",
    "stdout and stderr full": "exec >/dev/full 2>/dev/full",
    "1030 files": 'ulimit -n 4096; i=3; while [ $i -lt 1040 ]; do eval "exec $i</dev/null"; i=$((i+1)); done',
    "umask 777": "umask 777",
    "no HOME": "unset HOME",
}
PYTHON_BEFORE = {
    "all signals blocked": "signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())",
    "SIGTERM ignored": "signal.signal(signal.SIGTERM, signal.SIG_IGN)",
    "a reader of stderr that is gone": "r, w = os.pipe(); os.close(r); os.dup2(w, 2)",
    "readers that are gone": "r, w = os.pipe(); os.close(r); os.dup2(w, 1); os.dup2(w, 2)",
    "stderr that does not block": "os.set_blocking(2, False)",
}
BEFORE = [*SHELL_BEFORE, *PYTHON_BEFORE]


def start(host: Host, before: str, *arguments: str) -> Command:
    """Start `cronce` after that preparation."""
    if before in SHELL_BEFORE:
        return host.start("bash", "-c", f'{SHELL_BEFORE[before]}; exec "$@"', "bash", "cronce", *arguments)
    program = f"import os, signal, sys; {PYTHON_BEFORE[before]}; os.execvp('cronce', ['cronce', *sys.argv[1:]])"
    return host.start(sys.executable, "-c", program, *arguments)


def guard(host: Host, before: str, script: str, *options: str, period: str = PERIOD) -> Command:
    """Start `cronce exec` after that preparation."""
    which = ("--ledger", host.url, "--job", JOB, "--period", period, *options)
    return start(host, before, "exec", *which, "--", "sh", "-c", script)


@pytest.mark.parametrize("before", BEFORE)
def test_the_work_is_done_recorded_and_ends_with_its_code(host: Host, before: str) -> None:
    """0 is 0 and a success, 7 is 7 and a failure."""
    host.ledger.create()
    assert guard(host, before, f"{READY} exit 0").wait() == 0
    assert host.ended_run() == ("SUCCEEDED", None)
    assert host.logged == ["ready"]
    assert guard(host, before, "exit 7", period="2026-11-30").wait() == 7
    assert host.ended_run("2026-11-30") == ("FAILED", "exit_code")


@pytest.mark.parametrize("before", BEFORE)
def test_a_refusal_is_0_a_ledger_that_is_away_69_and_bad_usage_64(host: Host, before: str) -> None:
    """Also where the line that says so cannot be written."""
    host.ledger.create()
    assert guard(host, "no HOME", "exit 0").wait() == 0
    assert guard(host, before, "exit 1").wait() == 0
    assert guard(host, before, "exit 1", "--refused-exit-code", "75").wait() == 75
    assert guard(host, before, "exit 1", "--ledger", "sqlite:////no/such/folder/runs.db").wait() == 69
    assert guard(host, before, "exit 1", "--lease", "soon").wait() == 64
    assert start(host, before, "exec", "--no-such-option", "--", "true").wait() == 64
    assert start(host, before, "pin", "--no-such-option", "--", "true").wait() == 64


@pytest.mark.parametrize("before", BEFORE)
def test_sigterm_is_heard(host: Host, before: str) -> None:
    """The run is interrupted, and nothing is left."""
    host.ledger.create()
    command = guard(host, before, SLEEP)
    host.await_log("ready")
    command.send(signal.SIGTERM)
    assert command.wait() == 128 + signal.SIGTERM
    assert host.ended_run() == ("FAILED", "interrupted")
    until(lambda: not host.living(), "the end of every process")


@pytest.mark.parametrize("before", ["SIGCHLD ignored", "all signals blocked", "stderr closed", "1030 files"])
def test_the_active_deadline_is_kept(host: Host, before: str) -> None:
    """124."""
    host.ledger.create()
    assert guard(host, before, SLEEP, "--active-deadline", "1s", "--grace", "1s").wait() == 124
    assert host.ended_run() == ("FAILED", "active_deadline")


@pytest.mark.parametrize("before", ["SIGCHLD ignored", "all signals blocked", "stderr closed", "1030 files"])
def test_a_pinned_command_runs_and_ends_too(host: Host, before: str) -> None:
    """With its code; the lease is free."""
    host.ledger.create()
    command = start(host, before, "pin", "--ledger", host.url, "--job", JOB, "--", "sh", "-c", f"{READY} exit 3")
    assert command.wait() == 3
    assert host.ended_run("leader") == ("FAILED", "interrupted")


def test_the_command_does_not_inherit_a_mask_or_an_ignored_sigchld(host: Host) -> None:
    """It waits for its children and hears SIGTERM as usual."""
    host.ledger.create()
    program = (
        "import os, signal, subprocess, sys;"
        "mask = signal.pthread_sigmask(signal.SIG_BLOCK, ());"
        "ignored = signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN;"
        "print(len(mask), ignored, subprocess.call(['false']))"
    )
    which = ("--ledger", host.url, "--job", JOB, "--period", PERIOD)
    for before in ("SIGCHLD ignored", "all signals blocked"):
        command = start(host, before, "exec", *which, "--trigger", "manual", "--", sys.executable, "-c", program)
        assert command.wait() == 0
        assert command.out == b"0 False 1\n"
        host.ledger.release(JOB, PERIOD, actor="test")
        which = (*which[:-1], "2026-11-30")


@pytest.mark.parametrize(
    ("how", "number"),
    [("signal.alarm(3)", signal.SIGALRM), ("resource.setrlimit(resource.RLIMIT_CPU, (1, 60))", signal.SIGXCPU)],
)
def test_an_inherited_alarm_or_cpu_limit_stops_the_command_and_gives_the_run_back(
    host: Host, how: str, number: signal.Signals
) -> None:
    """`perl -e 'alarm 3; exec @ARGV'` is a known idiom: the timer survives exec."""
    host.ledger.create()
    which = ("--ledger", host.url, "--job", JOB, "--period", PERIOD)
    program = f"import os, resource, signal, sys; {how}; os.execvp('cronce', ['cronce', *sys.argv[1:]])"
    script = SLEEP if number == signal.SIGALRM else f"{READY} while :; do :; done"
    command = host.start(sys.executable, "-c", program, "exec", *which, "--", "sh", "-c", script)
    host.await_log("ready")
    if number == signal.SIGXCPU:
        # The guard uses no CPU time while it waits: its limit is the command's, which dies of it.
        assert command.wait() == 128 + number
        return
    assert command.wait() == 128 + number
    assert host.ended_run() == ("FAILED", "interrupted")
    until(lambda: not host.living(), "the end of the command")


def test_without_a_free_process_the_run_is_given_back(host: Host) -> None:
    """RLIMIT_NPROC binds no root; then the limit on files does the same: 71, interrupted, not counted."""
    host.ledger.create()
    which = ("--ledger", host.url, "--job", JOB, "--period", PERIOD)
    codes = set()
    for limit in range(8, 24):
        period = ("--period", f"files-{limit}")
        command = host.start(
            "bash", "-c", f'ulimit -n {limit}; exec "$@"', "bash", "cronce", "exec", *which, *period, "--", "true"
        )
        code = command.wait()
        codes.add(code)
        assert code in (0, 69, 71), f"{limit} files: {code} {command.err}"
        run = host.run(f"files-{limit}")
        assert run is None or run.status == "SUCCEEDED" or (run.reason, run.failures) == ("interrupted", 0)
    assert {0, 71} <= codes


def test_a_reader_of_stderr_that_leaves_in_the_middle_changes_nothing(host: Host) -> None:
    """The line of the end is lost; the run is not."""
    read, write = os.pipe()
    which = ("--ledger", host.url, "--job", JOB, "--period", PERIOD)
    script = f"{READY} while [ ! -e go ]; do sleep 0.05; done; exit 7"
    command = subprocess.Popen(
        ["cronce", "exec", *which, "--", "sh", "-c", script],
        cwd=host.folder,
        stderr=write,
        env=os.environ | {"LOG": str(host.log)},
    )
    os.close(write)
    host.await_log("ready")
    os.close(read)
    (host.folder / "go").touch()
    assert command.wait(60) == 7
    assert host.ended_run() == ("FAILED", "exit_code")
