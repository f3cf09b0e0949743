"""SIGTERM, SIGKILL and the like, sent to real processes of `cronce exec`."""

from __future__ import annotations

import os
import random
import signal
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from cronce import Claim, LeaseLostError
from cronce.protocol.records import MAX_CLOCK_SKEW
from tests.support.host import JOB, PERIOD, until

if TYPE_CHECKING:
    from tests.support.host import Host

READY = 'echo "ready $CRONCE_ATTEMPT $$" >>"$LOG"; '
SLEEP = READY + "exec sleep 300"
STUBBORN = 'trap "" TERM; ' + READY + "while :; do sleep 0.2; done"


def test_after_sigkill_the_child_is_dead_and_the_run_refused_until_its_lease_is_over(host: Host) -> None:
    """Then attempt 2 begins; at no time do two of them live."""
    guard = host.guarded_shell(SLEEP, options="--lease 2s")
    host.await_log("ready 1")
    guard.send(signal.SIGKILL)
    assert guard.wait() == -signal.SIGKILL
    until(lambda: not host.living(), "the child's death")
    run = host.run()
    assert run is not None
    assert run.lease_until is not None
    claim = host.claim_when_possible(meanwhile="RUNNING_ELSEWHERE")
    assert datetime.now(UTC) > run.lease_until + MAX_CLOCK_SKEW
    assert claim.attempt == 2
    claim.complete()
    assert host.logged == [host.logged[0]]
    after = host.run()
    assert after is not None
    assert [(past.attempt, past.status, past.reason) for past in after.attempts] == [(1, "FAILED", "lease_lost")]


def test_the_late_finish_of_a_stopped_owner_changes_nothing(host: Host) -> None:
    """SIGSTOP freezes the guard beyond its lease; attempt 2 succeeds; then the guard goes on: 70."""
    paused = host.guarded_shell(SLEEP, options="--lease 2s")
    host.await_log("ready 1")
    host.freeze(paused.pid)
    successor = host.claim_when_possible(meanwhile="RUNNING_ELSEWHERE")
    successor.complete({"sent": 3100})
    stands = host.run()
    paused.send(signal.SIGCONT)
    assert paused.wait() == 70
    assert host.run() == stands
    assert stands is not None
    assert (stands.status, stands.attempt, stands.result) == ("SUCCEEDED", 2, '{"sent":3100}')
    assert paused.event("lost")["attempt"] == 1
    until(lambda: not host.living(), "the end of everything")


def test_the_late_finish_of_a_paused_python_owner_is_refused(host: Host) -> None:
    """`complete` of attempt 1 says that the lease is lost; what attempt 2 stored stands."""
    first = host.ledger.claim(JOB, PERIOD)
    assert isinstance(first, Claim)
    second = host.claim_when_possible(meanwhile="RUNNING_ELSEWHERE")
    with pytest.raises(LeaseLostError, match="attempt 1"):
        first.complete("first")
    second.complete("second")
    run = host.run()
    assert run is not None
    assert (run.status, run.attempt, run.result) == ("SUCCEEDED", 2, '"second"')


def test_sigterm_reaches_the_child_and_the_next_claim_wins_at_once(host: Host) -> None:
    """The run is FAILED(interrupted) long before its lease is over, and no retry is used up."""
    script = 'trap "echo told >>\\"$LOG\\"; exit 7" TERM; ' + READY + "while :; do sleep 0.05; done"
    guard = host.guarded_shell(script)
    host.await_log("ready 1")
    guard.send(signal.SIGTERM)
    assert guard.wait() == 7
    assert "told" in host.logged
    run = host.run()
    assert run is not None
    assert (run.status, run.reason, run.failures, run.exit_code) == ("FAILED", "interrupted", 0, 7)
    assert guard.event("failed")["reason"] == "interrupted"
    again = host.guarded_shell("exit 0")
    assert again.wait() == 0
    assert again.event("claimed")["attempt"] == 2
    assert host.ended_run() == ("SUCCEEDED", None)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
def test_the_other_signals_that_end_a_program_interrupt_the_run_too(host: Host, number: signal.Signals) -> None:
    """The child gets the same signal."""
    guard = host.guarded_shell(SLEEP)
    host.await_log("ready 1")
    guard.send(number)
    assert guard.wait() == 128 + number
    assert host.ended_run() == ("FAILED", "interrupted")
    assert host.working() == []


def test_signals_with_a_meaning_of_their_own_are_passed_on_and_end_nothing(host: Host) -> None:
    """SIGUSR1, SIGUSR2 and SIGWINCH are the command's business."""
    traps = "".join(f'trap "echo got-{name} >>\\"$LOG\\"" {name}; ' for name in ("USR1", "USR2", "WINCH"))
    script = traps + READY + 'while [ ! -e stop ]; do sleep 0.05; done; echo over >>"$LOG"'
    guard = host.guarded_shell(script)
    host.await_log("ready 1")
    for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH):
        guard.send(number)
        host.await_log(f"got-{number.name.removeprefix('SIG')}")
    (host.folder / "stop").touch()
    assert guard.wait() == 0
    assert host.ended_run() == ("SUCCEEDED", None)


def test_a_child_that_finishes_its_work_within_the_grace_has_succeeded(host: Host) -> None:
    """SIGTERM only asks; exit code 0 says that the work is done."""
    script = 'trap "echo told >>\\"$LOG\\"; sleep 0.3; exit 0" TERM; ' + READY + "while :; do sleep 0.05; done"
    guard = host.guarded_shell(script)
    host.await_log("ready 1")
    guard.send(signal.SIGTERM)
    assert guard.wait() == 0
    assert host.ended_run() == ("SUCCEEDED", None)


def test_a_child_that_ignores_sigterm_is_killed_after_the_grace(host: Host) -> None:
    """With everything that it started; not before the grace is over."""
    guard = host.guarded_shell(STUBBORN, options="--grace 1s")
    host.await_log("ready 1")
    guard.send(signal.SIGTERM)
    told_at = time.monotonic()
    assert guard.wait() == 128 + signal.SIGKILL
    assert time.monotonic() - told_at >= 0.9
    assert host.ended_run() == ("FAILED", "interrupted")
    until(lambda: not host.living(), "the end of all it started")


@pytest.mark.parametrize("obeys", [True, False], ids=["obedient", "stubborn"])
def test_grandchildren_end_with_a_stopped_child(host: Host, obeys: bool) -> None:  # noqa: FBT001  # a test's parameter
    """Also one that ignores SIGTERM while its parent obeys."""
    trap = "" if obeys else 'trap "" TERM; '
    grandchild = f"sh -c '{trap}echo grandchild >>\"$LOG\"; while :; do sleep 0.2; done' & "
    guard = host.guarded_shell(grandchild + READY + "wait", options="--grace 1s")
    host.await_log("ready 1")
    host.await_log("grandchild")
    guard.send(signal.SIGTERM)
    assert guard.wait() == 128 + signal.SIGTERM
    until(lambda: not host.living(), "the end of the grandchildren")


def test_sigterm_at_any_moment_of_the_start_leaves_nothing_running(host: Host) -> None:
    """E5: 0 to 600 ms after the start; prompt exit, no child, no row left RUNNING."""
    seed = int.from_bytes(os.urandom(4))
    rng = random.Random(seed)
    outcomes = set()
    for number in range(25):
        period = f"period-{number}"
        guard = host.guarded_shell(SLEEP, period=period)
        time.sleep(rng.uniform(0, 0.6))  # the moment is what is tested, so that it cannot be polled for
        guard.send(signal.SIGTERM)
        code = guard.wait(10)
        assert code in (-signal.SIGTERM, 128 + signal.SIGTERM), f"seed {seed}, period {number}: {guard.err}"
        until(lambda: not host.living(), f"the child's end; seed {seed}, period {number}")
        run = host.run(period)
        outcomes.add(None if run is None else (run.status.value, run.reason))
    assert outcomes <= {None, ("FAILED", "interrupted")}, f"seed {seed}"


@pytest.mark.lane("terminal")
def test_ctrl_c_in_a_terminal_reaches_the_child_once(host: Host) -> None:
    """The terminal gives it to both; the guard does not pass it on a second time."""
    keyboard, terminal = os.openpty()
    script = 'trap "echo told >>\\"$LOG\\"" INT; ' + READY + "while [ ! -e stop ]; do sleep 0.05; done; exit 5"
    which = ("--ledger", host.url, "--job", JOB, "--period", PERIOD)
    guard = host.start("setsid", "-c", "cronce", "exec", *which, "--", "sh", "-c", script, stdin=terminal)
    host.await_log("ready 1")
    os.write(keyboard, b"\x03")
    host.await_log("told")
    (host.folder / "stop").touch()
    assert guard.wait() == 5
    assert host.logged.count("told") == 1
    assert host.ended_run() == ("FAILED", "interrupted")
    os.close(keyboard)
    os.close(terminal)


def test_nohup_stays_in_force(host: Host) -> None:
    """A SIGHUP that was ignored at the start is ignored by guard and child."""
    script = READY + 'while [ ! -e stop ]; do sleep 0.05; done; echo over >>"$LOG"'
    which = ("--ledger", host.url, "--job", JOB, "--period", PERIOD)
    guard = host.start("nohup", "cronce", "exec", *which, "--", "sh", "-c", script)
    host.await_log("ready 1")
    guard.send(signal.SIGHUP)
    os.kill(int(host.logged[0].split()[2]), signal.SIGHUP)
    (host.folder / "stop").touch()
    assert guard.wait() == 0
    assert host.logged[-1] == "over"
    assert host.ended_run() == ("SUCCEEDED", None)
