"""`cronce sweep` as processes: guards are killed, and sweeps finish what those left, on every store."""

from __future__ import annotations

import os
import signal
import uuid
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cronce import Status
from tests.processes.conftest import ON_EVERY_STORE
from tests.support.host import JOB, PERIOD, Host, until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.host import Command

# The first attempt of every fifth tick hangs until it is killed. An attempt logs its begin, and its end at last.
WORK = (
    'echo "begin $CRONCE_PERIOD $CRONCE_ATTEMPT $(date -u +%FT%T.%N)" >>"$LOG"; '
    'case "$CRONCE_PERIOD$CRONCE_ATTEMPT" in *[05]-1) exec sleep 600;; esac; '
    'echo "end $CRONCE_PERIOD $CRONCE_ATTEMPT -" >>"$LOG"'
)
POLICY = "--lease 5s --concurrency-policy ALLOW"
LONGEST_TAKE_OVER = 60.0
"""Seconds, for a busy machine; the delay of the first crash is 10 s, and a pass comes every second."""


def sweep(host: Host, script: str, *options: str, job: str = JOB) -> Command:
    """Start a sweep of the job."""
    which = ("--ledger", host.url, "--job", job)
    return host.start("cronce", "sweep", *which, *options, "--", "sh", "-c", script)


def fleet(host: Host, ticks: int) -> list[float]:
    """Four processes deliver the ticks, every fifth guard is killed, four sweeps finish the work.

    Returns:
        Seconds from each kill until the next attempt began.
    """
    sweeps = [sweep(host, WORK, "--every", "1s", *POLICY.split()) for _ in range(4)]
    each = f"cronce exec --ledger '{host.url}' --job {JOB} --period $n- {POLICY} -- sh -c '{WORK}' || true"
    workers = [host.start("sh", "-c", f"for n in $(seq 1 {ticks}); do {each}; done") for _ in range(4)]
    killed: dict[str, datetime] = {}
    for n in range(5, ticks + 1, 5):
        period = f"{n}-"
        run = until(lambda: (row := host.run(period)) and row.status is Status.RUNNING and row, period)  # noqa: B023
        assert run
        until(lambda: any(line.startswith(f"begin {period} 1 ") for line in host.logged), f"begin {period}")  # noqa: B023
        os.kill(int(run.owner.rpartition(":")[2]), signal.SIGKILL)
        killed[period] = datetime.utcnow()  # noqa: DTZ003  # as the log has it
    for worker in workers:
        worker.wait()

    def left() -> list[str]:
        runs = {row.period: row for row in host.ledger.runs(JOB)}
        return [
            f"{n}-" for n in range(1, ticks + 1) if (r := runs.get(f"{n}-")) is None or r.status is not Status.SUCCEEDED
        ]

    until(lambda: not left(), f"every run succeeded; left are {left()}", timeout=LONGEST_TAKE_OVER + len(killed))
    for each_sweep in sweeps:
        each_sweep.send(signal.SIGTERM)
        assert each_sweep.wait() == 0, each_sweep.err
    begun = {tuple(line.split()[1:3]): line.split()[3] for line in host.logged if line.startswith("begin")}
    ends = Counter(line.split()[1] for line in host.logged if line.startswith("end"))
    assert ends == Counter(f"{n}-" for n in range(1, ticks + 1))
    # On a busy machine a process may also be too slow to renew its lease.
    assert {period for period, attempt in begun if attempt != "1"} >= set(killed)
    return sorted((datetime.fromisoformat(begun[p, "2"][:26]) - at).total_seconds() for p, at in killed.items())


@pytest.mark.slow
@ON_EVERY_STORE
def test_sixty_ticks_and_twelve_kills_on_every_store(
    host: Host, record_property: Callable[[str, object], None]
) -> None:
    """None double, none lost, nothing RUNNING without an owner."""
    took = fleet(host, 60)
    assert len(took) == 12
    assert max(took) < LONGEST_TAKE_OVER
    record_property("seconds to take over", f"{took[0]:.1f} to {took[-1]:.1f}, median {took[6]:.1f}")


@pytest.mark.slow
def test_a_sweep_takes_over_from_a_sweep_that_was_killed(host: Host) -> None:
    """Its command ends with it, and is begun again by the next one."""
    guard = host.guarded_shell("exec sleep 600", options="--lease 2s")
    until(host.run, "the run")
    guard.send(signal.SIGKILL)
    script = 'echo "begin $CRONCE_ATTEMPT" >>"$LOG"; [ $CRONCE_ATTEMPT -gt 2 ] || exec sleep 600'
    first = sweep(host, script, "--every", "1s", "--lease", "2s")
    host.await_log("begin 2")
    first.send(signal.SIGKILL)
    second = sweep(host, script, "--every", "1s", "--lease", "2s")
    until(lambda: host.ended_run()[0] == "SUCCEEDED", "success")
    assert host.logged == ["begin 2", "begin 3"]
    second.send(signal.SIGTERM)
    assert second.wait() == 0
    until(lambda: not host.living(), "no process is left")


def test_sigterm_stops_the_command_and_the_next_sweep_resumes_it(host: Host) -> None:
    """Exit 0; FAILED(interrupted) does not count, and the checkpoint stays."""
    assert host.guarded_shell("cronce checkpoint 7; exit 3").wait() == 3
    script = 'echo "begin $CRONCE_ATTEMPT $CRONCE_RESUME_FROM" >>"$LOG"; [ $CRONCE_ATTEMPT -gt 2 ] || exec sleep 600'
    first = sweep(host, script, "--every", "1s", "--backoff-limit", "1")
    host.await_log("begin 2 7")
    first.send(signal.SIGTERM)
    assert first.wait() == 0
    run = host.run()
    assert run is not None
    assert (run.status, run.reason, run.failures) == ("FAILED", "interrupted", 1)
    second = sweep(host, script, "--every", "1s", "--backoff-limit", "1")
    host.await_log("begin 3 7")
    until(lambda: host.ended_run()[0] == "SUCCEEDED", "success")
    second.send(signal.SIGTERM)
    assert second.wait() == 0


@ON_EVERY_STORE
def test_one_pass_says_how_it_went(host: Host) -> None:
    """0 with nothing to do, 1 if a command failed; a paused, held, skipped or done run is not touched."""
    assert host.guarded_shell("true", period="1").wait() == 0
    assert host.guarded_shell("true", period="2", options="--backoff-limit 1").wait() == 0
    assert host.guarded_shell("exit 3", period="3").wait() == 3
    log = 'echo "$CRONCE_JOB $CRONCE_PERIOD {period}" >>"$LOG"; exit 4'
    assert sweep(host, log, "--once").wait() == 0
    assert host.logged == []
    ended = sweep(host, log, "--once", "--backoff-limit", "1")
    assert ended.wait() == 0  # its delay has not passed
    until(lambda: sweep(host, log, "--once", "--backoff-limit", "1").wait() == 1, "a failure", every=1)
    assert host.logged == [f"{JOB} 3 3"]
    run = host.run("3")
    assert run is not None
    assert (run.status, run.attempt, run.failures, run.trigger, run.exit_code) == ("FAILED", 2, 2, "retry", 4)


def test_all_jobs_leaves_the_rows_of_clocks_and_leaders_alone(host: Host) -> None:
    """A dispatch is the clock's to repeat, and a leader's row is no work."""
    name = f"clock-{uuid.uuid4().hex[:8]}"
    config = '{"jobs": {"beat": {"every": "1s", "backoff_limit": 0, "target": {"command": ["false"]}}}}'
    clock = host.start("cronce", "clock", "--ledger", host.url, "--job", name, env={"CRONCE_CLOCK": config})
    until(lambda: any(event["event"] == "tick_failed" for event in clock.events), "a failed dispatch")
    clock.send(signal.SIGTERM)
    clock.wait()
    assert host.guarded_shell("exit 3").wait() == 3
    script = 'echo "$CRONCE_JOB $CRONCE_PERIOD" >>"$LOG"'
    options = ("--ledger", host.url, "--all-jobs", "--every", "1s", "--backoff-limit", "1")
    every = host.start("cronce", "sweep", *options, "--", "sh", "-c", script)
    until(lambda: host.ended_run()[0] == "SUCCEEDED", "success")
    every.send(signal.SIGTERM)
    assert every.wait() == 0
    assert host.logged == [f"{JOB} {PERIOD}"]
    refused = sweep(host, script, "--once", job=f"{name}:beat")
    assert refused.wait() == 64
    assert "a job of yours" in refused.err


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ("--job {JOB} --all-jobs", "--all-jobs"),
        ("--job {JOB} --every 0s", "--every"),
        ("--job {JOB} --most 0", "--most"),
        ("--job {JOB} --most x", "--most"),
        ("--job {JOB} --lease 1x", "--lease"),
        ("", "--job"),
        ("--jub {JOB}", "did you mean --job?"),
    ],
)
def test_bad_usage_is_one_line_and_exit_64(host: Host, options: str, named: str) -> None:
    """It names the option, and nothing is written."""
    words = [JOB if word == "{JOB}" else word for word in options.split()]
    done = host.start("cronce", "sweep", "--ledger", host.url, "--once", *words, "--", "true")
    assert done.wait() == 64
    (line,) = done.err.splitlines()
    assert named in line
    assert not (host.folder / "runs.db").exists()


def test_a_ledger_that_is_away_ends_one_pass_with_69_and_a_loop_asks_again(host: Host, tmp_path: Path) -> None:
    """Nothing runs meanwhile."""
    lost = f"sqlite:///{tmp_path}/no-such-folder/runs.db"
    once = host.start("cronce", "sweep", "--ledger", lost, "--job", JOB, "--once", "--", "true")
    assert once.wait() == 69
    loop = host.start("cronce", "sweep", "--ledger", lost, "--job", JOB, "--every", "1s", "--", "true")
    until(lambda: any(event["event"] == "unavailable" for event in loop.events), "the error")
    (tmp_path / "no-such-folder").mkdir()
    there = Host(tmp_path, lost)
    assert there.ledger.claim(JOB, PERIOD)
    until(lambda: any(event["event"] == "available" for event in loop.events), "the answer")
    there.ledger.close()
    loop.send(signal.SIGTERM)
    assert loop.wait() == 0


def test_the_children_that_commands_leave_behind_are_reaped(host: Host) -> None:
    """A sweep runs for months: what a command leaves behind must not remain as a zombie."""
    assert host.guarded_shell("exit 3").wait() == 3
    loop = sweep(host, "sleep 1 & sleep 0.1", "--every", "1s", "--backoff-limit", "1")
    until(lambda: host.ended_run()[0] == "SUCCEEDED", "success")

    def children() -> str:
        return Path(f"/proc/{loop.pid}/task/{loop.pid}/children").read_text()

    until(lambda: not children(), "no child is left")
    loop.send(signal.SIGTERM)
    assert loop.wait() == 0
