"""`cronce pin`: a foreign clock runs in one process of several. Real processes, real signals.

The clock of these tests writes a line a tick, with the fence of its leader. Lines are appended in one
piece, so their order is the order in which they happened: if a number ever falls, two have led at once.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import uuid
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cronce.client.leadership import LEADER, Leadership
from cronce.client.observer import Observer
from cronce.protocol.records import MAX_CLOCK_SKEW
from cronce.protocol.transitions import Event
from cronce.stores.sqlite import SqliteStore
from cronce.vocabulary.states import Reason
from tests.processes.conftest import ON_SQLITE_AND_POSTGRES, table_url
from tests.support.host import JOB, Host, until
from tests.support.lanes import IN_PID_NAMESPACE
from tests.support.proxy import Mode
from tests.support.quick import quick

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cronce import Claim
    from cronce.protocol.records import RunRecord
    from tests.support.host import Command
    from tests.support.proxy import Proxy

TICKING = 'while :; do echo "tick $CRONCE_FENCE $(date +%s.%N)" >>"$LOG"; sleep 0.05; done'
STUBBORN = f'trap "" TERM; {TICKING}'
SHORT = "--lease 4s"
QUICK = "--poll 100ms"


def pin(host: Host, script: str = TICKING, *, options: str = "", env: Mapping[str, str] | None = None) -> Command:
    """Start `cronce pin` with a shell script."""
    which = ("--ledger", host.url, "--job", JOB, *options.split())
    return host.start("cronce", "pin", *which, "--", "sh", "-c", script, env=env)


def fences(host: Host) -> list[int]:
    """The fence of each tick so far, in the order of the ticks."""
    return [int(line.split()[1]) for line in host.logged if line.startswith("tick ")]


def await_fence(host: Host, fence: int) -> None:
    """Wait for a tick of that leader."""
    until(lambda: fence in fences(host), f"a tick of leader {fence}; there are {sorted(set(fences(host)))}")


def expect_one_at_a_time(host: Host) -> None:
    """No tick of a leader after one of its successor."""
    assert fences(host) == sorted(fences(host))


def row(host: Host) -> RunRecord:
    """The leader's row, which must be there."""
    found = host.ledger.run(JOB, LEADER)
    assert found is not None
    return found


def await_event(command: Command, name: str) -> None:
    """Wait for its line about that event."""
    until(lambda: name in [event["event"] for event in command.events], f"{name}; it said {command.err}")


def standing_by(host: Host, script: str = TICKING, *, options: str = QUICK) -> Command:
    """Start one more beside a leader, and wait until it stands by."""
    command = pin(host, script, options=options)
    await_event(command, "standby")
    return command


def leading(host: Host, name: str = JOB) -> Claim:
    """Lead from within the test, for a minute at most."""
    claim = Leadership(host.ledger, name, lease=timedelta(seconds=60)).try_once()
    assert claim is not None
    return claim


def children_of(pid: int) -> list[int]:
    """The children of a process, as soon as there are any."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    return until(lambda: [int(child) for child in children.read_text().split()], "a child")


def health(host: Host, name: str) -> int:
    """The exit code of `cronce health`."""
    which = ["--name", name, "--ledger", host.url]
    return subprocess.run(["cronce", "health", *which], cwd=host.folder, check=False, capture_output=True).returncode


class TestHandOver:
    """One process leads, the others stand by."""

    def test_of_several_one_runs_the_command(self, host: Host) -> None:
        """The others say who leads, and run nothing."""
        first = pin(host)
        await_fence(host, 1)
        others = [standing_by(host) for _ in range(3)]
        assert {other.event("standby")["holder"] for other in others} == {first.event("leading")["owner"]}
        until(lambda: len(fences(host)) > 20, "more ticks")
        assert set(fences(host)) == {1}

    @ON_SQLITE_AND_POSTGRES
    def test_sigterm_reaches_the_command_and_its_end_frees_the_lease_at_once(self, host: Host) -> None:
        """The code is the command's, and the next one starts long before the lease would be over."""
        told = 'trap "echo told >>\\"$LOG\\"; exit 3" TERM; '
        leader = pin(host, told + TICKING)
        await_fence(host, 1)
        follower = standing_by(host)
        leader.send(signal.SIGTERM)
        assert leader.wait() == 3
        await_fence(host, 2)
        assert "told" in host.logged
        released, leading = leader.event("released"), follower.event("leading")
        assert (released["attempt"], released["exit_code"]) == (1, 3)
        assert leading["attempt"] == 2
        assert datetime.fromisoformat(leading["time"]) - datetime.fromisoformat(released["time"]) < timedelta(
            seconds=20
        )
        expect_one_at_a_time(host)
        assert [(past.reason, past.exit_code) for past in row(host).attempts] == [("interrupted", 3)]

    def test_a_rolling_deploy_again_and_again_has_one_clock_at_a_time(self, host: Host) -> None:
        """Each new one stands by before the old one is told to go."""
        leader = pin(host, options=QUICK)
        for number in range(1, 7):
            await_fence(host, number)
            following = standing_by(host)
            leader.send(signal.SIGTERM)
            assert leader.wait() == 128 + signal.SIGTERM
            leader = following
        await_fence(host, 7)
        expect_one_at_a_time(host)
        assert (row(host).attempt, row(host).failures) == (7, 0)

    @pytest.mark.parametrize("code", [0, 7])
    def test_a_command_that_ends_by_itself_ends_the_process_with_its_code(self, host: Host, code: int) -> None:
        """The platform starts it again; meanwhile another one leads."""
        ending = f"{TICKING.replace('while :', 'while [ ! -e stop ]')}; rm stop; exit {code}"
        leader = pin(host, ending)
        await_fence(host, 1)
        standing_by(host)
        (host.folder / "stop").touch()
        assert leader.wait() == code
        await_fence(host, 2)
        expect_one_at_a_time(host)
        assert (row(host).attempts[0].reason, row(host).attempts[0].exit_code) == ("interrupted", code)

    def test_a_command_that_ignores_sigterm_is_killed_after_the_grace(self, host: Host) -> None:
        """Counted from the signal, however long nothing happened before; then the next one starts."""
        leader = pin(host, STUBBORN, options="--grace 1s")
        await_fence(host, 1)
        standing_by(host)
        time.sleep(1.5)  # longer than the grace, and nothing happens
        told_at = time.monotonic()
        leader.send(signal.SIGTERM)
        assert leader.wait() == 128 + signal.SIGKILL
        assert time.monotonic() - told_at >= 0.9
        await_fence(host, 2)
        expect_one_at_a_time(host)

    def test_what_the_command_left_behind_ends_with_it(self, host: Host) -> None:
        """Also if it ended by itself: the lease is free in a moment."""
        script = f'sh -c "$TICKER" & {TICKING.replace("while :", "while [ ! -e stop ]")}'
        leader = pin(host, script, env={"TICKER": STUBBORN})
        await_fence(host, 1)
        assert len(host.living()) >= 3
        (host.folder / "stop").touch()
        assert leader.wait() == 0
        until(lambda: not host.living(), "the end of what it started")

    def test_sigterm_ends_one_that_stands_by(self, host: Host) -> None:
        """Promptly, and nothing else changes."""
        pin(host)
        await_fence(host, 1)
        follower = standing_by(host, options="--poll 5m")
        follower.send(signal.SIGTERM)
        assert follower.wait(20) == 128 + signal.SIGTERM
        assert (row(host).attempt, row(host).status) == (1, "RUNNING")

    def test_sigterm_at_any_moment_of_the_start_leaves_nothing_running(self, host: Host) -> None:
        """0 to 600 ms after the start: prompt exit, no command, no row left RUNNING."""
        seed = int.from_bytes(os.urandom(4))
        rng = random.Random(seed)
        for number in range(15):
            command = pin(host, 'echo ready >>"$LOG"; exec sleep 300')
            time.sleep(rng.uniform(0, 0.6))  # the moment is what is tested, so that it cannot be polled for
            command.send(signal.SIGTERM)
            code = command.wait(20)
            assert code in (-signal.SIGTERM, 128 + signal.SIGTERM), f"seed {seed}, start {number}: {command.err}"
            until(lambda: not host.living(), f"the command's end; seed {seed}, start {number}")
            found = host.ledger.run(JOB, LEADER)
            assert found is None or (found.status, found.reason) == ("FAILED", "interrupted"), f"seed {seed}"


class TestCrash:
    """A leader that ends without a word."""

    def test_after_sigkill_the_next_one_leads_when_the_lease_is_over(self, host: Host) -> None:
        """The command is dead with its guard; five seconds more for clocks that differ."""
        leader = pin(host, options=SHORT)
        await_fence(host, 1)
        standing_by(host, options=f"{SHORT} {QUICK}")
        leader.send(signal.SIGKILL)
        leader.wait()
        over = row(host).lease_until
        assert over is not None
        await_fence(host, 2)
        first = next(line for line in host.logged if line.startswith("tick 2 "))
        assert float(first.split()[2]) > (over + MAX_CLOCK_SKEW).timestamp()
        expect_one_at_a_time(host)

    def test_after_sigkill_the_recorders_mark_lets_the_next_one_lead_at_once(self, host: Host) -> None:
        """The lease of a minute has hardly begun."""
        leader = pin(host)
        await_fence(host, 1)
        standing_by(host)
        leader.send(signal.SIGKILL)
        leader.wait()
        Observer(host.ledger).mark_stopped(JOB, LEADER, owner=leader.event("leading")["owner"], exit_code=137)
        marked_at = time.monotonic()
        await_fence(host, 2)
        assert time.monotonic() - marked_at < 30
        expect_one_at_a_time(host)


class TestLostLease:
    """A leader that must not lead any more."""

    def test_a_deleted_row_stops_the_command(self, host: Host) -> None:
        """K2: at the next heartbeat, a quarter of the lease; 70."""
        leader = pin(host, options=SHORT)
        await_fence(host, 1)
        with host.ledger._store._transaction() as connection:  # type: ignore[attr-defined]  # a SqliteStore
            connection.execute("DELETE FROM ledger")
        deleted_at = time.monotonic()
        assert leader.wait() == 70
        assert time.monotonic() - deleted_at < 20
        assert "its row is gone" in leader.event("lost")["message"]
        until(lambda: not host.living(), "the end of every process")

    def test_a_lease_that_a_person_takes_away_stops_the_command(self, host: Host) -> None:
        """70, and who it was; nobody leads until the next one starts."""
        leader = pin(host, options=SHORT)
        await_fence(host, 1)
        host.ledger.release(JOB, LEADER, actor="ann", note="it hangs", force=True)
        assert leader.wait() == 70
        lost = leader.event("lost")
        assert (lost["reason"], lost["message"]) == ("released", "ann released it: it hangs")
        until(lambda: not host.living(), "the end of every process")
        pin(host)
        await_fence(host, 2)

    def test_a_lease_that_another_one_took_stops_the_command(self, host: Host) -> None:
        """The row was released and claimed before the old leader's next heartbeat; 70."""
        leader = pin(host, options=SHORT)
        await_fence(host, 1)
        host.ledger.release(JOB, LEADER, actor="ann", force=True)
        leading(host)
        assert leader.wait() == 70
        assert "attempt 2" in leader.event("lost")["message"]
        until(lambda: not host.living(), "the end of every process")

    def test_a_leader_that_an_observer_took_for_dead_leads_again(self, host: Host) -> None:
        """The watchdog marked its row after an outage, and nobody else leads: no reason to restart the task."""
        leader = pin(host, options=f"{SHORT} {QUICK}")
        await_fence(host, 1)
        store = host.ledger._store
        assert isinstance(store, SqliteStore)
        store._boot_clock = lambda: None  # the outage of an observer is not played here

        def mark() -> bool:
            run = row(host)
            lost = run.after(Event.FAIL, reason=Reason.LEASE_LOST, finished_at=run.heartbeat_at, lease_until=None)
            return store.swap(lost, run).written

        until(mark, "the mark, between two heartbeats")
        await_fence(host, 2)
        assert not leader.ended
        expect_one_at_a_time(host)

    @pytest.mark.parametrize("frozen", ["the guard", "guard and command"])
    def test_a_frozen_leader_is_dead_before_the_next_one_leads(self, host: Host, frozen: str) -> None:
        """SIGSTOP for longer than the lease, then SIGCONT: not one tick of the old one after the first of the new."""
        leader = pin(host, options=SHORT)
        await_fence(host, 1)
        children = children_of(leader.pid)
        standing_by(host, options=f"{SHORT} {QUICK}")
        host.freeze(leader.pid, *(children if frozen != "the guard" else []), period=LEADER)
        await_fence(host, 2)
        assert set(children) & set(host.living()) == set()
        ticks = fences(host).count(1)
        leader.send(signal.SIGCONT)
        assert leader.wait() in (-signal.SIGKILL, 70)
        until(lambda: fences(host).count(2) > 20, "more ticks of the new leader")
        assert fences(host).count(1) == ticks
        expect_one_at_a_time(host)


@pytest.mark.lane("dynamodb-local")
class TestStoreAway:
    """The ledger goes away, and comes back. Real DynamoDB Local behind a proxy."""

    @pytest.mark.parametrize("how", [Mode.BLACKHOLE, Mode.RESET])
    def test_it_does_not_start_the_command_and_starts_it_when_the_ledger_is_back(
        self, remote_host: Host, proxy: Proxy, how: Mode
    ) -> None:
        """By itself; one line when it is away and one when it is back."""
        proxy.mode = how
        command = pin(remote_host, options=f"{SHORT} {QUICK}")
        await_event(command, "unavailable")
        seen = proxy.connections
        until(lambda: proxy.connections > seen + 1 or how is Mode.BLACKHOLE, "more tries")
        assert remote_host.logged == []
        proxy.mode = Mode.PASS
        await_fence(remote_host, 1)
        assert [event["event"] for event in command.events] == ["unavailable", "available", "leading"]
        assert "eu-west-1" in command.event("unavailable")["message"]

    def test_a_table_that_is_not_there_yet_is_waited_for(self, remote_host: Host, dynamodb_local: str) -> None:
        """Whatever the reason is: no crash loop, one line."""
        name = f"later-{uuid.uuid4().hex[:12]}"
        remote_host.url = table_url(name, dynamodb_local)
        command = pin(remote_host, options=QUICK)
        await_event(command, "unavailable")
        with Host(remote_host.folder, remote_host.url) as later:
            later.ledger.create()
        await_fence(remote_host, 1)
        assert [event["event"] for event in command.events] == ["unavailable", "available", "leading"]

    @pytest.mark.parametrize("script", [TICKING, STUBBORN], ids=["obedient", "stubborn"])
    @pytest.mark.parametrize("how", quick((Mode.BLACKHOLE, Mode.RESET), only=[Mode.BLACKHOLE]))
    def test_it_stops_the_command_before_the_lease_is_over_and_leads_again_when_the_ledger_is_back(
        self, remote_host: Host, proxy: Proxy, how: Mode, script: str
    ) -> None:
        """In the same process: ECS has nothing to restart while it may have trouble of its own."""
        leader = pin(remote_host, script, options=f"--lease 8s {QUICK}")
        await_fence(remote_host, 1)
        until(lambda: row(remote_host).version > 1, "a heartbeat")
        proxy.mode = how
        await_event(leader, "lost")
        over = row(remote_host).lease_until
        assert over is not None
        assert float(remote_host.logged[-1].split()[2]) < over.timestamp()
        assert len(remote_host.working()) == 1
        proxy.mode = Mode.PASS
        await_fence(remote_host, 2)
        assert not leader.ended
        expect_one_at_a_time(remote_host)

    def test_sigterm_ends_one_that_waits_for_its_ledger(self, remote_host: Host, proxy: Proxy) -> None:
        """Promptly: ECS kills after 30 s."""
        proxy.mode = Mode.BLACKHOLE
        command = pin(remote_host)
        until(lambda: proxy.connections, "the first request")
        command.send(signal.SIGTERM)
        told_at = time.monotonic()
        assert command.wait() == 128 + signal.SIGTERM
        assert time.monotonic() - told_at < 20
        assert remote_host.logged == []

    def test_it_hands_over_on_dynamodb(self, remote_host: Host) -> None:
        """As on a file."""
        leader = pin(remote_host)
        await_fence(remote_host, 1)
        standing_by(remote_host, options="")
        leader.send(signal.SIGTERM)
        leader.wait()
        await_fence(remote_host, 2)
        expect_one_at_a_time(remote_host)


class TestCommand:
    """What the command gets, and what comes back from it."""

    def test_the_command_gets_fence_and_attempt_and_no_period(self, host: Host) -> None:
        """A `cronce exec` that the clock starts must not take the leader's row for its run."""
        program = "import os; print(*sorted(f'{k}={v}' for k, v in os.environ.items() if k.startswith('CRONCE_')))"
        command = host.start("cronce", "pin", "--ledger", host.url, "--job", JOB, "--", sys.executable, "-c", program)
        assert command.wait() == 0
        assert command.out == b"CRONCE_ATTEMPT=1 CRONCE_FENCE=1\n"

    def test_signals_of_its_own_are_passed_on_and_not_kept_for_later(self, host: Host) -> None:
        """What comes on standby is for nobody."""
        script = 'trap "echo usr1 >>\\"$LOG\\"" USR1; ' + TICKING
        other = leading(host)
        command = pin(host, script, options=QUICK)
        await_event(command, "standby")
        command.send(signal.SIGUSR1)
        other.interrupt("stopped")
        await_fence(host, 2)
        assert "usr1" not in host.logged
        command.send(signal.SIGUSR1)
        host.await_log("usr1")
        assert not command.ended

    def test_a_command_that_cannot_be_started_frees_the_lease(self, host: Host) -> None:
        """126 and 127, as from a shell."""
        (host.folder / "no-program").write_text("text")
        which = ("--ledger", host.url, "--job", JOB)
        missing = host.start("cronce", "pin", *which, "--", "./not-there")
        assert missing.wait() == 127
        refused = host.start("cronce", "pin", *which, "--", "./no-program")
        assert refused.wait() == 126
        assert (row(host).attempt, row(host).status, row(host).reason) == (2, "FAILED", "interrupted")

    @pytest.mark.parametrize(
        "arguments",
        [
            "--ledger {url} --job x",
            "--ledger {url} --job x --",
            "--ledger {url} -- true",
            "--job x -- true",
            "--ledger {url} --job x --lease 1ms -- true",
            "--ledger {url} --job x --lease soon -- true",
            "--ledger {url} --job x --poll 1ms -- true",
            "--ledger {url} --job x --grace never -- true",
            "--ledger nowhere --job x -- true",
            "--ledger {url} --job x --period p -- true",
            "--led {url} --job x -- true",
        ],
    )
    def test_bad_usage_is_one_line_and_64(self, host: Host, arguments: str) -> None:
        """Nothing is written."""
        command = host.start("cronce", "pin", *arguments.format(url=host.url).split())
        assert command.wait() == 64
        assert command.err.startswith("cronce pin: ")
        assert len(command.err.splitlines()) == 1
        assert not (host.folder / "runs.db").exists()

    def test_the_environment_says_what_the_options_do_not(self, host: Host) -> None:
        """As in a task of `PinnedScheduler`."""
        env = {"CRONCE_LEDGER": host.url, "CRONCE_JOB": JOB, "CRONCE_POLICY": '{"lease": "20s"}'}
        host.start("cronce", "pin", "--", "sh", "-c", TICKING, env=env)
        await_fence(host, 1)
        found = row(host)
        assert found.lease_until is not None
        assert found.heartbeat_at is not None
        assert found.lease_until - found.heartbeat_at == timedelta(seconds=20)


class TestHealth:
    """`cronce health` beside `cronce pin`."""

    def test_a_leader_and_one_that_stands_by_are_healthy(self, host: Host) -> None:
        """As long as the ledger answers."""
        name = f"clock-{uuid.uuid4().hex[:12]}"
        other = leading(host, name)
        command = host.start("cronce", "pin", "--ledger", host.url, "--job", name, "--", "sh", "-c", TICKING)
        await_event(command, "standby")
        until(lambda: health(host, name) == 0, "health")
        other.interrupt("stopped")
        await_event(command, "leading")
        assert health(host, name) == 0
        command.send(signal.SIGSTOP)
        until(lambda: health(host, name) == 1, "no health of a stopped process")
        command.send(signal.SIGCONT)
        until(lambda: health(host, name) == 0, "health again")
        command.send(signal.SIGTERM)
        command.wait()
        assert health(host, name) == 1


@pytest.mark.lane("pid-namespace")
class TestPidOne:
    """As PID 1, as it is in a container without an init process."""

    def test_as_pid_1_it_forwards_sigterm_and_reaps_orphans(self, host: Host) -> None:
        """No zombie is left, and the lease is free."""
        script = """
        for i in 1 2 3 4 5; do sh -c 'sh -c "sleep 0.1; echo orphan >>\\"$LOG\\"" & exit 0'; done
        while [ "$(grep -c orphan "$LOG")" != 5 ]; do sleep 0.05; done
        tries=0
        while grep -q '^State:.Z' /proc/[0-9]*/status && [ $tries -lt 100 ]; do tries=$((tries + 1)); sleep 0.05; done
        grep -l '^State:.Z' /proc/[0-9]*/status >>"$LOG"
        tr '\\0' '\\n' </proc/1/cmdline | grep -qx pin && echo "pid 1 is cronce pin" >>"$LOG"
        exec sleep 300
        """
        host.log.touch()
        which = ("--ledger", host.url, "--job", JOB)
        container = host.start(*IN_PID_NAMESPACE, "cronce", "pin", *which, "--", "sh", "-c", script)
        host.await_log("pid 1 is cronce pin")
        (pid_1,) = children_of(container.pid)
        os.kill(pid_1, signal.SIGTERM)
        assert container.wait() == 128 + signal.SIGTERM
        assert host.logged == ["orphan"] * 5 + ["pid 1 is cronce pin"]
        assert (row(host).status, row(host).reason) == ("FAILED", "interrupted")
