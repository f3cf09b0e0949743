"""`cronce clock` as real processes: several at once, deployed, frozen, cut off from the ledger.

Ticks are counted from the outside: by the log that their command appends to.
"""

from __future__ import annotations

import json
import signal
import sqlite3
import time
import uuid
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.processes.conftest import ON_SQLITE_AND_POSTGRES
from tests.support.aws_server import AwsServer
from tests.support.cloud import GROUP, schedule
from tests.support.host import Host, until
from tests.support.proxy import Mode

if TYPE_CHECKING:
    from tests.support.host import Command
    from tests.support.proxy import Proxy

SHIFTED = Path(__file__).parents[1] / "chaos" / "shifted"
CLOCK = f"clock-{uuid.uuid4().hex[:8]}"
"""Its health has one address per host: another checkout's tests must not answer."""

LOG = ["sh", "-c", 'echo "$CRONCE_JOB {period}" >>"$LOG"']


def jobs(**each: Any) -> dict[str, str]:  # noqa: ANN401  # settings of several types
    """The environment of a clock with these jobs; what a job does not say is a tick a second, logged."""
    default = {"every": "1s", "target": {"command": LOG}}
    return {"CRONCE_CLOCK": json.dumps({"jobs": {name: default | settings for name, settings in each.items()}})}


def start(host: Host, *options: str, lease: str = "5s", **each: Any) -> Command:  # noqa: ANN401  # as `jobs`
    """Start a clock."""
    which = ("--ledger", host.url, "--job", CLOCK, "--lease", lease)
    return host.start("cronce", "clock", *which, *options, env=jobs(**each))


def leads(clock: Command) -> bool:
    """True once it has led."""
    return any(event["event"] == "leading" for event in clock.events)


def await_more(host: Host, count: int) -> None:
    """Wait until that many more lines were logged."""
    so_far = len(host.logged)
    until(lambda: len(host.logged) >= so_far + count, f"{count} more ticks")


def ticks_of(host: Host, job: str) -> list[datetime]:
    """The ticks of a job that its command wrote down, in their order."""
    periods = [line.split()[1] for line in host.logged if line.split()[0] == job]
    return [datetime.fromisoformat(period) for period in periods]


def expect_each_once(ticks: list[datetime], every: timedelta = timedelta(seconds=1)) -> None:
    """Between the first and the last none is lost, and none comes twice."""
    assert [tick for tick, count in Counter(ticks).items() if count > 1] == []
    gaps = [(before, after) for before, after in pairwise(sorted(ticks)) if after - before != every]
    assert gaps == []


@ON_SQLITE_AND_POSTGRES
def test_one_dispatches_and_the_others_stand_by(host: Host) -> None:
    """SIGTERM hands over in about a second; no tick is lost, none comes twice; exit 0."""
    clocks = [start(host, beat={}) for _ in range(3)]
    until(lambda: any(leads(clock) for clock in clocks), "a leader")
    until(lambda: len(host.logged) >= 3, "three ticks")
    for _ in range(2):
        (leader,) = [clock for clock in clocks if leads(clock)]
        clocks.remove(leader)
        leader.send(signal.SIGTERM)
        assert leader.wait() == 0
        assert leader.event("released")["attempt"] >= 1
        until(lambda: any(leads(clock) for clock in clocks), "the next leader")
        await_more(host, 2)
    (last,) = clocks
    last.send(signal.SIGTERM)
    assert last.wait() == 0
    expect_each_once(ticks_of(host, "beat"))


def test_a_rolling_deploy_every_few_seconds_loses_no_tick_and_doubles_none(host: Host) -> None:
    """With an overlap, or with a gap, by turns."""
    running = start(host, beat={}, other={"every": "2s"})
    until(lambda: len(host.logged) >= 2, "the first ticks")
    for n in range(4):
        if n % 2:
            running.send(signal.SIGTERM)
            assert running.wait() == 0
            following = start(host, beat={}, other={"every": "2s"})
        else:
            following = start(host, beat={}, other={"every": "2s"})
            until(lambda: "standby" in following.err, "the new one standing by")  # noqa: B023  # called at once
            running.send(signal.SIGTERM)
        until(lambda: leads(following), "the new leader")  # noqa: B023  # called at once
        await_more(host, 2)
        running = following
    running.send(signal.SIGTERM)
    assert running.wait() == 0
    expect_each_once(ticks_of(host, "beat"))
    expect_each_once(ticks_of(host, "other"), timedelta(seconds=2))


def test_two_clocks_that_both_believe_to_lead_dispatch_each_tick_once(host: Host, tmp_path: Path) -> None:
    """Their lease is taken from them again and again: the dispatch rows decide."""
    three: dict[str, Any] = {"a": {}, "b": {}, "c": {}}
    clocks = [start(host, **three) for _ in range(2)]
    until(lambda: len(host.logged) >= 3, "the first ticks")
    with closing(sqlite3.connect(tmp_path / "runs.db", timeout=30, isolation_level=None)) as database:
        until_time = time.monotonic() + 10
        while time.monotonic() < until_time:
            database.execute("DELETE FROM ledger WHERE job = ? AND key = 'run#leader'", (CLOCK,))
            time.sleep(0.2)
    until(lambda: all(leads(clock) for clock in clocks), "both having led")
    for clock in clocks:
        clock.send(signal.SIGTERM)
        assert clock.wait() == 0
    for name in three:
        expect_each_once(ticks_of(host, name))


def test_a_clock_whose_lease_was_taken_stops_within_a_tick(host: Host, tmp_path: Path) -> None:
    """Another process has its row: at most the tick that was being dispatched follows."""
    clock = start(host, beat={}, lease="60s")
    until(lambda: len(host.logged) >= 2, "two ticks")
    with closing(sqlite3.connect(tmp_path / "runs.db", timeout=30, isolation_level=None)) as database:
        (text,) = database.execute("SELECT item FROM ledger WHERE job = ? AND key = 'run#leader'", (CLOCK,)).fetchone()
        row = json.loads(text) | {"token": "of somebody else", "owner": "somebody else", "version": 1000}
        database.execute(
            "UPDATE ledger SET item = ?, token = ?, version = ? WHERE job = ? AND key = 'run#leader'",
            (json.dumps(row), row["token"], row["version"], CLOCK),
        )
    taken_at = datetime.now(UTC)
    until(lambda: "standby" in clock.err, "standing by")
    assert clock.event("lost")["attempt"] == 1
    time.sleep(3)
    assert max(ticks_of(host, "beat")) <= taken_at + timedelta(seconds=1)
    clock.send(signal.SIGTERM)
    assert clock.wait() == 0


def test_a_command_that_hangs_holds_up_no_other_and_turns_the_health_red(host: Host) -> None:
    """It is killed at its timeout, with the processes that it started."""
    hangs = {"target": {"command": ["sh", "-c", 'trap "" TERM; sleep 300; sleep 300']}, "timeout": "1s"}
    clock = start(host, fine={}, hangs=hangs | {"every": "20s"})
    until(lambda: any(event["event"] == "tick_retrying" for event in clock.events), "a try that timed out")
    asked = host.start("cronce", "health", "--name", CLOCK, "--ledger", host.url)
    assert asked.wait() == 1
    assert "hangs" in asked.err + asked.out.decode()
    before = len(ticks_of(host, "fine"))
    until(lambda: len(ticks_of(host, "fine")) >= before + 3, "three more ticks of the other")
    expect_each_once(ticks_of(host, "fine"))
    clock.send(signal.SIGTERM)
    assert clock.wait() == 0
    until(lambda: not host.living(), "the end of the command")


def test_a_healthy_clock_and_its_standby_are_green(host: Host) -> None:
    """The answer of the process that has the name."""
    clock = start(host, beat={})
    until(lambda: len(host.logged) >= 1, "a tick")
    assert host.start("cronce", "health", "--name", CLOCK, "--ledger", host.url).wait() == 0
    clock.send(signal.SIGTERM)
    assert clock.wait() == 0
    assert host.start("cronce", "health", "--name", CLOCK, "--ledger", host.url).wait() == 1


def test_on_sigterm_a_dispatch_at_work_is_finished(host: Host) -> None:
    """The lease is free at once, and the standby does not repeat what is on its way."""
    script = 'echo "begun {period}" >>"$LOG"; while [ ! -e go ]; do sleep 0.05; done; echo "done {period}" >>"$LOG"'
    slow = {"every": "10s", "target": {"command": ["sh", "-c", script]}}
    old = start(host, slow=slow)
    host.await_log("begun")
    done = host.logged[0].replace("begun", "done")
    new = start(host, slow=slow)
    old.send(signal.SIGTERM)
    until(lambda: leads(new), "the new leader")
    assert done not in host.logged
    (host.folder / "go").touch()
    assert old.wait() == 0
    assert done in host.logged
    new.send(signal.SIGTERM)
    assert new.wait() == 0
    (tick,) = [event for event in old.events if event["event"] == "tick_dispatched"]
    again = [event for event in new.events if event["event"] == "tick_dispatched" and event["period"] == tick["period"]]
    assert again == []


def test_on_sigterm_a_dispatch_that_takes_longer_than_the_grace_is_for_the_next_clock(host: Host) -> None:
    """It is stopped, its row is free, and the tick is not lost."""
    script = 'test -e go && exit; echo begun >>"$LOG"; exec sleep 300'
    slow = {"every": "10s", "target": {"command": ["sh", "-c", script]}}
    old = start(host, "--grace", "2s", slow=slow | {"timeout": "5m"})
    host.await_log("begun")
    (host.folder / "go").touch()
    old.send(signal.SIGTERM)
    assert old.wait() == 0
    until(lambda: not host.living(), "the end of the command")
    new = start(host, slow=slow)
    until(lambda: any(event["event"] == "tick_dispatched" for event in new.events), "the tick")
    first = next(event for event in new.events if event["event"] == "tick_dispatched")
    row = host.ledger.run(f"{CLOCK}:slow", first["period"])
    assert row is not None
    assert (row.attempt, row.failures, [past.reason for past in row.attempts]) == (2, 0, ["interrupted"])
    new.send(signal.SIGTERM)
    assert new.wait() == 0


def freeze(host: Host, *, seconds: float, lease: str) -> None:
    """Stop the leader for that long while another clock stands by, then continue it: nothing may be doubled."""
    frozen = start(host, beat={}, lease=lease)
    until(lambda: len(host.logged) >= 2, "two ticks")
    other = start(host, beat={}, lease=lease)
    until(lambda: "standby" in other.err, "the other one standing by")
    host.freeze(frozen.pid, job=f"{CLOCK}:beat", period=None)
    began = time.monotonic()
    until(lambda: leads(other), "the other one leading", timeout=120)
    await_more(host, 1)
    until(lambda: time.monotonic() - began >= seconds, "the end of the pause", timeout=seconds + 60, every=0.1)
    frozen.send(signal.SIGCONT)
    until(lambda: any(event["event"] == "lost" for event in frozen.events), "the frozen one finding out")
    await_more(host, 3)
    for clock in (frozen, other):
        clock.send(signal.SIGTERM)
        assert clock.wait() == 0
    expect_each_once(ticks_of(host, "beat"))


def test_a_clock_that_was_frozen_for_longer_than_its_lease_doubles_nothing(host: Host) -> None:
    """SIGSTOP, until the other one leads; then SIGCONT."""
    freeze(host, seconds=10, lease="2s")


@pytest.mark.slow
def test_a_clock_that_was_frozen_for_90_seconds_doubles_nothing(host: Host) -> None:
    """With the default lease."""
    freeze(host, seconds=90, lease="60s")


@pytest.mark.lane("dynamodb-local")
@pytest.mark.parametrize("how", [Mode.BLACKHOLE, Mode.RESET])
def test_while_the_ledger_is_away_nothing_is_dispatched_and_then_it_goes_on(
    remote_host: Host, proxy: Proxy, how: Mode
) -> None:
    """For longer than the lease: it resumes by itself and catches up, within the starting deadline."""
    clock = start(remote_host, beat={}, lease="4s")
    until(lambda: len(remote_host.logged) >= 3, "three ticks")
    proxy.mode = how
    until(lambda: any(event["event"] in ("lost", "unavailable") for event in clock.events), "the clock noticing")
    so_far = len(remote_host.logged)
    time.sleep(4)
    assert len(remote_host.logged) == so_far
    proxy.mode = Mode.PASS
    until(lambda: len(remote_host.logged) >= so_far + 6, "the ticks of the outage and more")
    clock.send(signal.SIGTERM)
    assert clock.wait() == 0
    expect_each_once(ticks_of(remote_host, "beat"))


@pytest.mark.lane("dynamodb-local")
def test_without_a_table_nothing_is_dispatched_and_sigterm_still_ends_it(remote_host: Host, proxy: Proxy) -> None:
    """It says so once, and asks on."""
    proxy.mode = Mode.RESET
    clock = start(remote_host, beat={}, lease="4s")
    until(lambda: any(event["event"] == "unavailable" for event in clock.events), "the clock noticing")
    clock.send(signal.SIGTERM)
    assert clock.wait() == 0
    assert remote_host.logged == []


@pytest.mark.slow
@pytest.mark.lane("dynamodb-local")
def test_a_clock_whose_host_time_is_set_loses_no_tick_doubles_none_and_sends_none_early(
    remote_host: Host, tmp_path: Path
) -> None:
    """By hours and by seconds, in both directions; killed meanwhile, and begun on a host whose clock is wrong."""
    offset = tmp_path / "offset"
    shifted = {"PYTHONPATH": str(SHIFTED), "CHAOS_CLOCK": str(offset)}
    logged = ["sh", "-c", 'echo "$CRONCE_JOB {period} $(date +%s.%N)" >>"$LOG"']

    def set_clock(seconds: float) -> None:
        offset.with_suffix(".new").write_text(str(seconds))
        offset.with_suffix(".new").replace(offset)

    def begin() -> Command:
        which = ("--ledger", remote_host.url, "--job", CLOCK, "--lease", "5s")
        return remote_host.start("cronce", "clock", *which, env=jobs(beat={"target": {"command": logged}}) | shifted)

    set_clock(0)
    clock = begin()
    until(lambda: len(remote_host.logged) >= 2, "two ticks")
    for seconds in (3600, 0, -3600, 4, 180, -9, 0):
        set_clock(seconds)
        await_more(remote_host, 2)
    set_clock(3600)
    await_more(remote_host, 2)
    clock.send(signal.SIGKILL)
    clock.wait()
    cut_short = remote_host.logged[-1].split()[1]  # its command ran; that it ended may not have been written down
    clock = begin()
    until(lambda: leads(clock), "the next leader", timeout=60)
    await_more(remote_host, 12)
    set_clock(0)
    await_more(remote_host, 2)
    clock.send(signal.SIGTERM)
    assert clock.wait() == 0
    ticks = ticks_of(remote_host, "beat")
    if ticks.count(datetime.fromisoformat(cut_short)) == 2:
        ticks.remove(datetime.fromisoformat(cut_short))  # its end was not known, so it was dispatched again
    expect_each_once(ticks)
    sent = [(datetime.fromisoformat(period), float(at)) for _, period, at in map(str.split, remote_host.logged)]
    assert [period for period, at in sent if at < period.timestamp()] == []
    rows = remote_host.ledger.runs(f"{CLOCK}:beat")
    assert {str(row.status) for row in rows if row.period != cut_short} == {"SUCCEEDED"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "the configuration is missing"),
        (("--config", "nowhere.toml"), "nowhere.toml"),
        (("--config", "clock.toml", "--job", "a:b", "--ledger", "sqlite:///x.db"), "--job"),
        (("--config", "clock.toml", "--lease", "1y"), "--lease"),
        (("--config", "clock.toml", "--grace", "soon"), "--grace"),
        (("--config", "clock.toml", "--job", "c", "--ledger", "sqlite:///x.db", "--poll", "0s"), "poll"),
        (("--config", "clock.toml", "--ledger", "sqlite:///x.db"), "the job's name is missing"),
        (("--config", "clock.toml", "--job", "c"), "the ledger's URL is missing"),
        (("--config", "tasks.toml", "--job", "c", "--ledger", "sqlite:///x.db"), "schedules go with a table"),
        (("--nonsense",), "--nonsense"),
    ],
)
def test_bad_usage_is_one_line_and_exit_code_64(host: Host, options: tuple[str, ...], said: str) -> None:
    """Nothing is written."""
    (host.folder / "clock.toml").write_text('[jobs.a]\nevery = "1s"\ntarget = { command = ["true"] }\n')
    (host.folder / "tasks.toml").write_text('[jobs.a]\nevery = "1s"\ntarget = { task = "digest" }\n')
    clock = host.start("cronce", "clock", *options)
    assert clock.wait() == 64
    assert clock.err.startswith("cronce clock: ")
    assert clock.err.count("\n") == 1
    assert said in clock.err
    assert not (host.folder / "x.db").exists()


def test_check_shows_what_the_configuration_means(host: Host) -> None:
    """Each job with its next ticks, on the local clock too; no ledger is needed."""
    (host.folder / "clock.toml").write_text(
        """
        [jobs.daily-digest]
        schedule = "0 6 * * 1-5"
        timezone = "Europe/Berlin"
        catch_up = "LATEST"
        target = { sqs = "https://sqs.eu-west-1.amazonaws.com/123456789012/ticks.fifo" }
        [jobs.beat]
        every = "90s"
        target = { command = ["./enqueue", "{period}"] }
        [jobs.past]
        schedule = "at(2020-01-01T00:00:00)"
        target = { lambda = "digest" }
        """
    )
    checked = host.start("cronce", "clock", "--config", "clock.toml", "--check")
    assert checked.wait() == 0
    lines = checked.out.decode().splitlines()
    assert lines[0].startswith("daily-digest: at 06:00 on Monday to Friday, Europe/Berlin; message to https://sqs")
    assert lines[1] == "  starting_deadline 5m, catch_up LATEST, timeout 10s, backoff_limit 3"
    assert [line[23:].split()[1] for line in lines[2:5]] == ["06:00:00"] * 3
    assert lines[5] == "beat: every 90s; command ./enqueue {period}"
    assert len(lines) == 13
    assert lines[-1] == "  never again"


@pytest.mark.parametrize("option", ["--check", "--help"])
@pytest.mark.parametrize(
    ("redirection", "code", "said"),
    [
        ("1>&9", 128 + signal.SIGPIPE, ""),
        ("> /dev/full", 1, "cronce clock: the output cannot be written: No space left on device\n"),
        (">&-", 1, "cronce clock: the output cannot be written: Bad file descriptor\n"),
    ],
)
def test_output_that_cannot_be_written_is_no_traceback(
    host: Host, option: str, redirection: str, code: int, said: str
) -> None:
    """A reader that has gone ends it quietly, a full disk with one line."""
    (host.folder / "clock.toml").write_text('[jobs.a]\nevery = "1s"\ntarget = { command = ["true"] }\n')
    without_reader = (
        "import os, sys; reading, writing = os.pipe(); os.dup2(writing, 9); os.close(reading); os.close(writing);"
        "os.execvp('bash', ['bash', '-c', sys.argv[1]])"
    )
    line = f"cronce clock --config clock.toml {option} {redirection}"
    clock = host.start("python", "-c", without_reader, line)
    assert (clock.wait(), clock.err) == (code, said)


def test_nothing_of_an_sdk_is_loaded_until_a_target_needs_it(host: Host) -> None:
    """A clock of commands stays small."""
    script = "import sys, cronce.cli.runtime.clock; print([m for m in sys.modules if m.startswith(('boto', 'click'))])"
    loaded = host.start("python", "-c", script)
    assert loaded.wait() == 0, loaded.err
    assert loaded.out == b"[]\n"


def test_a_changed_configuration_file_is_reloaded_and_a_bad_one_is_not(host: Host, tmp_path: Path) -> None:
    """The plan stays and says so; the next good file is taken. No process is restarted."""
    config = tmp_path / "clock.toml"

    def write(text: str) -> None:
        """As an editor or a mounted configuration map does: the name gets another file."""
        following = tmp_path / "following"
        following.write_text(text)
        following.replace(config)

    def of(name: str) -> str:
        return f"[jobs.{name}]\nevery = '1s'\ntarget = {{ command = {json.dumps(LOG)} }}\n"

    write(of("first"))
    options = ("--config", str(config), "--ledger", host.url, "--job", CLOCK, "--lease", "5s")
    clock = host.start("cronce", "clock", *options)
    until(lambda: len(ticks_of(host, "first")) >= 2, "ticks of the first job")
    write(of("first") + of("second"))
    until(lambda: len(ticks_of(host, "second")) >= 2, "ticks of the second job")
    assert clock.event("reloaded")["count"] == 2
    write("[jobs.third]\nevery = 'often'\n")
    until(lambda: any(event["event"] == "reload_refused" for event in clock.events), "the refusal")
    assert "often" in clock.event("reload_refused")["message"]
    await_more(host, 4)
    write(of("second"))
    until(lambda: sum(event["event"] == "reloaded" for event in clock.events) == 2, "the next good file")
    await_more(host, 2)
    clock.send(signal.SIGTERM)
    assert clock.wait() == 0
    expect_each_once(ticks_of(host, "first"))
    expect_each_once(ticks_of(host, "second"))


def test_sighup_reloads_the_configuration_file_and_stops_nothing(host: Host, tmp_path: Path) -> None:
    """At once, changed or not; a bad file is reported, and the plan goes on. SIGTERM still stops the clock."""
    config = tmp_path / "clock.toml"
    good = f"[jobs.beat]\nevery = '1s'\ntarget = {{ command = {json.dumps(LOG)} }}\n"
    config.write_text(good)
    options = ("--config", str(config), "--ledger", host.url, "--job", CLOCK, "--lease", "5s")
    clock = host.start("cronce", "clock", *options)
    await_more(host, 1)
    clock.send(signal.SIGHUP)
    until(lambda: sum(event["event"] == "reloaded" for event in clock.events) == 1, "the same file, asked for")
    config.write_text("[jobs.beat]\nevery = 'often'\n")
    clock.send(signal.SIGHUP)
    until(lambda: any(event["event"] == "reload_refused" for event in clock.events), "the refusal")
    await_more(host, 2)
    clock.send(signal.SIGTERM)
    assert clock.wait() == 0


def test_a_clock_without_a_file_is_stopped_by_sighup(host: Host) -> None:
    """It has nothing to reload; its terminal is gone."""
    clock = start(host, beat={"every": "1s", "target": {"command": LOG}})
    await_more(host, 1)
    clock.send(signal.SIGHUP)
    assert clock.wait() == 0


def kill_the_leader(host: Host, clocks: list[Command], job: str, period: str) -> float:
    """Kill it once the row of its dispatch has been renewed for longer than a lease of 4 s; when, in seconds."""

    def outlived_its_lease() -> bool:
        run = host.ledger.run(f"{CLOCK}:{job}", period)
        assert run is not None
        assert run.heartbeat_at is not None
        assert run.claimed_at is not None
        return run.heartbeat_at > run.claimed_at + timedelta(seconds=4)

    until(outlived_its_lease, "renewals beyond the first lease", every=0.1)
    (leader,) = [clock for clock in clocks if leads(clock)]
    leader.send(signal.SIGKILL)
    leader.wait()
    return time.monotonic()


def expect_in_time(killed: float, clocks: list[Command]) -> None:
    """The lease of 4 s and 10 s have not passed; end the clocks."""
    took = time.monotonic() - killed
    for clock in clocks:
        clock.send(signal.SIGKILL)
        clock.wait()
    assert took <= 4 + 10


WORKS = ["sh", "-c", 'echo "begin {period} $$" >>"$LOG"; exec sleep 300']


@ON_SQLITE_AND_POSTGRES
def test_a_tick_whose_clock_is_killed_is_taken_over_within_its_lease_and_ten_seconds(host: Host) -> None:
    """Its row was renewed while its command ran. The command dies with the clock, so that two never run."""
    slow = {"every": "10s", "timeout": "5m", "target": {"command": WORKS}}
    clocks = [start(host, lease="4s", slow=slow) for _ in range(2)]
    host.await_log("begin")
    _, period, pid = host.logged[0].split()
    killed = kill_the_leader(host, clocks, "slow", period)
    until(lambda: not Path(f"/proc/{pid}").exists(), "the end of the command")
    until(lambda: sum(period in line for line in host.logged) == 2, "the next attempt", timeout=60)
    expect_in_time(killed, clocks)


def test_a_task_whose_clock_is_killed_is_started_again_within_its_lease_and_ten_seconds(host: Host) -> None:
    """RunTask has not answered when its clock dies. The second call has the token of the first one."""
    slow = {"every": "10s", "timeout": "5m", "target": {"task": "daily-digest"}}

    def tokens() -> list[str]:
        return [request["clientToken"] for operation, request in aws.ecs.calls if operation == "run_task"]

    with AwsServer() as aws:
        aws.hangs.add("RunTask")
        aws.ecs.answers = [{"tasks": [{"taskArn": "arn:aws:ecs:eu-west-1:111122223333:task/jobs/1"}], "failures": []}]
        definition = schedule("daily-digest")
        aws.scheduler.schedules[definition["Name"]] = definition
        environ = aws.environment | {"CRONCE_SCHEDULE_GROUP": GROUP} | jobs(slow=slow)
        which = ("--ledger", host.url, "--job", CLOCK, "--lease", "4s")
        clocks = [host.start("cronce", "clock", *which, env=environ) for _ in range(2)]
        token = until(tokens, "RunTask")[0]
        period = host.ledger.page(f"{CLOCK}:slow").runs[-1].period
        killed = kill_the_leader(host, clocks, "slow", period)
        until(lambda: tokens().count(token) == 2, "the same RunTask again", timeout=60)
        expect_in_time(killed, clocks)
