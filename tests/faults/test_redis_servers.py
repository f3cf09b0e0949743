"""Servers of Redis as people have them: killed, full, replicas, clusters, with users and with TLS. All of them real."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from threading import Event, Thread, Timer
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from cronce import (
    Claim,
    ClockSkewError,
    Ledger,
    LedgerUnavailableError,
    Policy,
    Reason,
    RecordUnreadableError,
    Status,
)
from cronce.protocol.records import RunRecord
from cronce.stores.redis.store import RedisStore, _group_of
from cronce.stores.urls import open_store
from cronce.testing.clocks import ManualClock
from cronce.vocabulary.values import replace
from tests.support.builders import run
from tests.support.certificates import self_signed
from tests.support.host import until
from tests.support.proxy import Mode, Proxy
from tests.support.redis_server import SAFE, RedisServer, redis_program, valkey_program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

JOB = "daily-digest"
PERIOD = "2026-11-29"
PASSWORD = "s3cret/@:%25"
IN_A_URL = "s3cret%2F%40%3A%2525"

RIGHTS = (
    *("+evalsha", "+eval", "+hmget", "+hset", "+pexpireat", "+persist", "+sadd", "+zadd", "+zrem", "+zrangebyscore"),
    *("+hget", "+zrevrangebylex", "+smembers", "+time", "+info", "+config|get", "+select"),
)
"""What docs/stores.md gives to the user of a ledger."""

Start = "Callable[..., RedisServer]"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., RedisServer]]:
    """Starts a server with those options in place of the safe ones."""
    with ExitStack() as stack:

        def start(*options: str, program: Callable[[], str] = valkey_program) -> RedisServer:
            folder = tmp_path / f"server-{time.monotonic_ns()}"
            folder.mkdir()
            return stack.enter_context(RedisServer(program(), folder, *(options or SAFE)))

        yield start


def opened(url: str, *, lease: timedelta = timedelta(seconds=60)) -> closing[Ledger]:
    """The ledger at the URL, closed at the end."""
    return closing(Ledger.from_url(url, policy=Policy(lease=lease)))


def claimed(ledger: Ledger, period: str = PERIOD, job: str = JOB) -> Claim:
    """A claim on the run."""
    mine = ledger.claim(job, period)
    assert isinstance(mine, Claim), str(mine)
    return mine


def refused(url: str, *, lease: timedelta = timedelta(seconds=2)) -> LedgerUnavailableError:
    """Why a ledger there cannot be used; a short lease, so that nobody insists for long."""
    with opened(url, lease=lease) as ledger, pytest.raises(LedgerUnavailableError) as caught:
        ledger.claim(JOB, PERIOD)
    assert PASSWORD not in str(caught.value)
    return caught.value


# What a crash of the server leaves.


@pytest.mark.lane("valkey")
@pytest.mark.lane("redis")
@pytest.mark.parametrize("program", [valkey_program, redis_program])
def test_with_appendfsync_always_no_answered_claim_is_lost_by_kill_9(
    start: Callable[..., RedisServer], program: Callable[[], str]
) -> None:
    """Threads claim while the server is killed and started again, five times: who won has the run afterwards."""
    server = start(*SAFE, program=program)
    answered: dict[str, str] = {}
    over = Event()

    def claim_on(name: int) -> None:
        number = 0
        with opened(server.url, lease=timedelta(seconds=30)) as ledger:
            while not over.is_set():
                number += 1
                period = f"{name}-{number:05}"
                try:
                    answered[period] = claimed(ledger, period, job=f"{JOB}-{period}").record.token
                except LedgerUnavailableError:
                    continue

    threads = [Thread(target=claim_on, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        before = len(answered)
        while len(answered) < before + 20:
            time.sleep(0.01)
        server.restart()
    over.set()
    for thread in threads:
        thread.join(60)
    with opened(server.url) as ledger:
        runs = {period: ledger.run(f"{JOB}-{period}", period) for period in answered}
    assert len(answered) >= 100
    assert {period: found.token if found else None for period, found in runs.items()} == answered


def test_without_an_append_only_file_a_restart_forgets_claims_and_the_winner_was_warned(
    valkey: RedisServer, start: Callable[..., RedisServer], capfd: pytest.CaptureFixture[str]
) -> None:
    """What the warning says is so; a server that is set up as documented causes none."""
    with opened(valkey.url) as ledger:
        claimed(ledger, job=f"{JOB}-{time.monotonic_ns()}")
    assert "caution" not in capfd.readouterr().err
    server = start("--appendonly", "no")
    with opened(server.url) as ledger:
        claimed(ledger)
        claimed(ledger, "2026-11-30", job="other")
    warnings = [line for line in capfd.readouterr().err.splitlines() if "ledger_caution" in line]
    assert len(warnings) == 1
    assert "appendonly is no: a restart of the server forgets claims" in warnings[0]
    server.restart()
    with opened(server.url) as ledger:
        assert claimed(ledger).attempt == 1


def test_everysec_is_a_warning(start: Callable[..., RedisServer], capfd: pytest.CaptureFixture[str]) -> None:
    """The default of Redis."""
    with opened(start("--appendonly", "yes").url) as ledger:
        claimed(ledger)
        assert [note[:23] for note in ledger.differences()] == ["appendfsync is everysec"]
    assert "appendfsync is everysec, not always" in capfd.readouterr().err


# Servers that must not be used.


@pytest.mark.lane("valkey")
@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-ttl"])
def test_a_server_that_evicts_starts_no_work(start: Callable[..., RedisServer], policy: str) -> None:
    """Nothing is written, and nothing is tried again."""
    server = start(*SAFE, "--maxmemory", "64mb", "--maxmemory-policy", policy)
    error = refused(server.url)
    assert f"maxmemory-policy is {policy}" in str(error)
    assert "set it to noeviction" in str(error)
    assert not error.transient
    assert server.ask("DBSIZE") == 0


@pytest.mark.lane("valkey")
def test_a_full_server_starts_no_work_and_forgets_none(start: Callable[..., RedisServer]) -> None:
    """Without eviction it refuses writes; what it has, it keeps."""
    server = start(*SAFE)
    with opened(server.url) as ledger:
        claimed(ledger).complete()
        server.ask("CONFIG", "SET", "maxmemory", "1")
        error = refused(f"{server.url}?prefix=other")
        assert "OOM" in str(error)
        assert "the server's memory is full" in str(error)
        assert error.transient
        found = ledger.run(JOB, PERIOD)
        assert found is not None
        assert found.status is Status.SUCCEEDED


@pytest.mark.lane("valkey")
@pytest.mark.parametrize("login", ["", ":x@"], ids=["no password", "password"])
def test_a_server_with_too_many_clients_is_named_and_tried_again(start: Callable[..., RedisServer], login: str) -> None:
    """The server closes the connection, whatever it was asked."""
    server = start(*SAFE, "--maxclients", "1")
    with socket.create_connection(("127.0.0.1", server.port)):
        error = refused(server.url.replace("//", f"//{login}"))
    assert "has too many clients, is in protected mode, or expects TLS" in str(error)
    assert error.transient


@pytest.mark.lane("valkey")
def test_a_replica_is_not_used(start: Callable[..., RedisServer]) -> None:
    """It is told so; a moment later it may be the primary."""
    primary = start(*SAFE)
    replica = start(*SAFE, "--replicaof", f"127.0.0.1 {primary.port}")
    error = refused(replica.url)
    assert "READONLY: this server is a replica; give the primary's address" in str(error)
    assert error.transient
    replica.ask("REPLICAOF", "NO", "ONE")
    with opened(replica.url) as ledger:
        claimed(ledger)


@pytest.mark.lane("valkey")
def test_a_failover_back_and_forth_ends_no_claim(start: Callable[..., RedisServer]) -> None:
    """While the server is a replica it refuses the heartbeat, which insists until there is a primary again."""
    server = start(*SAFE)
    with opened(server.url, lease=timedelta(seconds=30)) as ledger:
        mine = claimed(ledger)
        other = start(*SAFE, "--replicaof", f"127.0.0.1 {server.port}")
        await_link(other)
        other.ask("REPLICAOF", "NO", "ONE")
        server.ask("REPLICAOF", "127.0.0.1", other.port)
        await_link(server)
        promote = Timer(0.5, lambda: server.ask("REPLICAOF", "NO", "ONE"))
        promote.start()
        began = time.monotonic()
        mine.heartbeat()
        assert time.monotonic() - began >= 0.4
        promote.join()
        mine.complete()


def await_link(replica: RedisServer) -> None:
    """Wait until the replica has everything that its primary has."""
    until(lambda: b"master_link_status:up" in replica.ask("INFO", "replication"), "a replica")


# Users, passwords, TLS.


@pytest.mark.lane("valkey")
@pytest.mark.lane("redis")
@pytest.mark.parametrize("program", [valkey_program, redis_program])
def test_a_user_with_the_documented_rights_can_do_everything(
    start: Callable[..., RedisServer], program: Callable[[], str]
) -> None:
    """And nothing outside of the prefix."""
    server = start(*SAFE, program=program)
    assert server.ask("ACL", "SETUSER", "app", "on", f">{PASSWORD}", "~cronce:*", *RIGHTS) == b"OK"
    with opened(f"redis://app:{IN_A_URL}@127.0.0.1:{server.port}") as ledger:
        assert ledger.create() is False
        assert ledger.differences() == ()
        mine = claimed(ledger)
        mine.heartbeat()
        mine.complete({"sent": 1})
        assert ledger.jobs() == (JOB,)
        assert [found.period for found in ledger.runs(JOB)] == [PERIOD]
        assert PASSWORD not in ledger.where
    error = refused(f"redis://app:{IN_A_URL}@127.0.0.1:{server.port}?prefix=other")
    assert "NOPERM" in str(error)
    assert "docs/stores.md" in str(error)
    assert not error.transient


@pytest.mark.lane("valkey")
def test_a_user_who_may_not_ask_about_the_server_can_claim(start: Callable[..., RedisServer]) -> None:
    """As at services that manage the server; who sets it up is told what is not known."""
    server = start(*SAFE)
    less = [right for right in RIGHTS if right not in ("+info", "+config|get")]
    server.ask("ACL", "SETUSER", "app", "on", f">{PASSWORD}", "~cronce:*", *less)
    with opened(f"redis://app:{IN_A_URL}@127.0.0.1:{server.port}") as ledger:
        claimed(ledger)
        assert ledger.differences() == ("INFO is not permitted: it is not known whether this server keeps its rows",)
    server.ask("ACL", "SETUSER", "app", "+info")
    with opened(f"redis://app:{IN_A_URL}@127.0.0.1:{server.port}") as ledger:
        assert ledger.differences() == ("CONFIG is not permitted: it is not known whether appendfsync is always",)


@pytest.mark.lane("valkey")
@pytest.mark.parametrize(
    ("options", "login", "says"),
    [
        (
            ("--requirepass", "right"),
            "",
            "NOAUTH Authentication required.; give user and password in the ledger's URL, or REDISCLI_AUTH",
        ),
        (("--requirepass", "right"), f":{IN_A_URL}@", "WRONGPASS"),
        (("--requirepass", "right"), f"nobody:{IN_A_URL}@", "WRONGPASS"),
        ((), f":{IN_A_URL}@", "ERR AUTH was refused"),
        (("--rename-command", "AUTH", "X"), f":{IN_A_URL}@", "ERR AUTH was refused"),
    ],
)
def test_a_log_in_that_fails_is_one_clear_line_without_the_password(
    start: Callable[..., RedisServer], options: tuple[str, ...], login: str, says: str
) -> None:
    """Servers repeat the arguments of a command that they do not know."""
    server = start(*SAFE, *options)
    error = refused(f"redis://{login}127.0.0.1:{server.port}")
    assert says in str(error)
    assert not error.transient
    assert "\n" not in str(error)
    assert "s3cret" not in str(error)


@pytest.mark.lane("redis")
def test_tls_is_verified(start: Callable[..., RedisServer], tmp_path: Path) -> None:
    """With the certificates of the option `ca`, and for the host in the URL."""
    _, certificate = self_signed(tmp_path)
    keys = ("--tls-cert-file", str(certificate), "--tls-key-file", str(tmp_path / "key.pem"))
    authority = ("--tls-ca-cert-file", str(certificate), "--tls-auth-clients", "no")
    port = start(*SAFE, *keys, *authority, program=redis_program).port
    with opened(f"rediss://localhost:{port}?ca={certificate}") as ledger:
        claimed(ledger).complete()
    untrusted = refused(f"rediss://localhost:{port}", lease=timedelta(seconds=20))
    assert "CERTIFICATE_VERIFY_FAILED" in str(untrusted)
    assert not untrusted.transient
    wrong_name = refused(f"rediss://127.0.0.1:{port}?ca={certificate}", lease=timedelta(seconds=20))
    assert "CERTIFICATE_VERIFY_FAILED" in str(wrong_name)
    no_file = refused(f"rediss://localhost:{port}?ca={tmp_path}/none.pem")
    assert "none.pem' (the ledger's option ca) cannot be used: No such file" in str(no_file)
    plain = refused(f"redis://localhost:{port}")
    assert "expects TLS" in str(plain)
    assert plain.transient


# Clusters.


@pytest.fixture
def cluster(start: Callable[..., RedisServer]) -> list[RedisServer]:
    """Two nodes that share the slots."""
    nodes = [start(*SAFE, "--cluster-enabled", "yes") for _ in range(2)]
    for node, slots in zip(nodes, [(0, 8191), (8192, 16383)], strict=True):
        node.ask("CLUSTER", "ADDSLOTSRANGE", *slots)
    nodes[1].ask("CLUSTER", "SET-CONFIG-EPOCH", 2)
    nodes[0].ask("CLUSTER", "MEET", "127.0.0.1", nodes[1].port)
    for node in nodes:
        until(lambda node=node: _knows_the_other(node), "a cluster of two")  # type: ignore[misc]
    return nodes


def _knows_the_other(node: RedisServer) -> bool:
    state = node.ask("CLUSTER", "INFO")
    return b"cluster_state:ok" in state and b"known_nodes:2" in state


@pytest.mark.lane("valkey")
def test_in_a_cluster_every_job_is_on_one_node_and_all_are_listed(cluster: list[RedisServer]) -> None:
    """Whichever node the URL names."""
    jobs = [f"job-{number:02}" for number in range(32)]
    with opened(cluster[0].url) as ledger:
        for job in jobs:
            claimed(ledger, job=job).complete()
            claimed(ledger, "2026-11-30", job=job)
    assert all(node.ask("DBSIZE") > 0 for node in cluster)
    with opened(cluster[1].url) as ledger:
        assert ledger.jobs() == tuple(jobs)
        for job in jobs:
            assert [found.period for found in ledger.runs(job)] == ["2026-11-30", PERIOD]
            assert not ledger.claim(job, PERIOD)


@pytest.mark.lane("valkey")
def test_in_a_cluster_a_slot_may_move_at_any_time(cluster: list[RedisServer]) -> None:
    """Reads follow it (ASK); a claim insists until it has moved (TRYAGAIN), and finds the new node (MOVED)."""
    slot = cluster[0].ask("CLUSTER", "KEYSLOT", f"cronce:{{{_group_of(JOB)}}}")
    source, target = cluster if slot < 8192 else cluster[::-1]
    ids = {node.port: node.ask("CLUSTER", "MYID").decode() for node in cluster}

    def finish() -> None:
        for node in (target, source):
            node.ask("CLUSTER", "SETSLOT", slot, "NODE", ids[target.port])

    with opened(source.url) as ledger:
        target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[source.port])
        source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[target.port])
        assert ledger.run(JOB, PERIOD) is None
        moving = Timer(0.5, finish)
        moving.start()
        began = time.monotonic()
        mine = claimed(ledger)
        assert time.monotonic() - began >= 0.4
        moving.join()
        mine.complete()
        assert [found.status for found in ledger.runs(JOB)] == [Status.SUCCEEDED]
    assert (source.ask("DBSIZE"), target.ask("DBSIZE") > 0) == (0, True)


# Time, rows and keys.


def test_a_row_expires_with_its_retention_and_not_before_a_day(valkey: RedisServer) -> None:
    """Whatever a wrong clock computed; a slot never does."""
    job = f"{JOB}-{time.monotonic_ns()}"
    with closing(open_store(valkey.url, lease=timedelta(minutes=1))) as store:
        assert isinstance(store, RedisStore)

        def lives_for(period: str, expires_at: datetime | None) -> float:
            store.swap(run(job=job, period=period, expires_at=expires_at), None)
            left: int = valkey.ask("PTTL", store._row(_group_of(job), job, f"run#{period}"))
            return left / 86_400_000

        now = datetime.now(UTC)
        assert 399.9 < lives_for("1", now + timedelta(days=400)) <= 400
        assert 0.99 < lives_for("2", now - timedelta(days=400)) <= 1
        assert lives_for("3", datetime(9999, 12, 31, tzinfo=UTC)) > 1_000_000
        assert lives_for("4", None) < 0
        seen = store.get(job, "run#1")
        assert isinstance(seen, RunRecord)
        assert store.swap(replace(seen, version=2, expires_at=None), seen).written
        assert valkey.ask("PTTL", store._row(_group_of(job), job, "run#1")) == -1
        assert valkey.ask("ZSCORE", store._key(_group_of(job), "expiry", job), "run#1") is None


def test_rows_that_have_expired_leave_nothing_behind(valkey: RedisServer) -> None:
    """A page skips them at once; a later first claim forgets their names."""
    job = f"{JOB}-{time.monotonic_ns()}"
    with closing(open_store(valkey.url, lease=timedelta(minutes=1))) as store:
        assert isinstance(store, RedisStore)
        group = _group_of(job)
        keys, expiry = (store._key(group, kind, job) for kind in ("keys", "expiry"))
        for number in range(30):
            expires_at = datetime.now(UTC) + timedelta(days=2)
            store.swap(run(job=job, period=f"{number:02}", expires_at=expires_at), None)
        for number in range(5, 25):  # as they are two days later
            valkey.ask("PEXPIREAT", store._row(group, job, f"run#{number:02}"), 1)
            valkey.ask("ZADD", expiry, 1, f"run#{number:02}")
        page = store.query(job, limit=7)
        assert [found.period for found in page.runs] == ["29", "28", "27", "26", "25", "04", "03"]
        assert [found.period for found in store.query(job, limit=7, before=page.before).runs] == ["02", "01", "00"]
        assert valkey.ask("ZCARD", keys) == 30
        store.swap(run(job=job, period="30"), None)
        assert (valkey.ask("ZCARD", keys), valkey.ask("ZCARD", expiry)) == (11, 10)
        assert len(store.query(job, limit=50).runs) == 11


@pytest.mark.parametrize("off", [timedelta(minutes=10), timedelta(minutes=-10)])
def test_a_clock_ten_minutes_off_is_found_and_steals_nothing(valkey: RedisServer, off: timedelta) -> None:
    """By the TIME in the server's answers."""
    job = f"{JOB}-{time.monotonic_ns()}"
    with closing(open_store(valkey.url, lease=timedelta(minutes=1))) as store:
        claimed(Ledger(store, owner="true"), job=job)
        before = store.get(job, f"run#{PERIOD}")
        skewed = Ledger(store, owner="skewed", clock=ManualClock(datetime.now(UTC) + off))
        if off > timedelta(0):
            with pytest.raises(ClockSkewError, match=r"clock differs from the store's by (599|60[0-9]) s"):
                skewed.claim(job, PERIOD)
        assert store.get(job, f"run#{PERIOD}") == before
        with pytest.raises(ClockSkewError):
            skewed.claim(job, "another")
        left = store.get(job, "run#another")
        assert isinstance(left, RunRecord)
        assert (left.status, left.reason, left.failures) == (Status.FAILED, Reason.CLOCK_SKEW, 0)


def test_a_server_that_forgets_its_scripts_is_sent_them(valkey: RedisServer) -> None:
    """In mid-run too."""
    with opened(valkey.url) as ledger:
        valkey.ask("SCRIPT", "FLUSH")
        mine = claimed(ledger, job=f"{JOB}-{time.monotonic_ns()}")
        valkey.ask("SCRIPT", "FLUSH")
        mine.complete()


def test_a_key_of_another_program_is_named(valkey: RedisServer) -> None:
    """Neither read as a row nor overwritten."""
    job = f"{JOB}-{time.monotonic_ns()}"
    with closing(open_store(valkey.url, lease=timedelta(minutes=1))) as store:
        assert isinstance(store, RedisStore)
        valkey.ask("SET", store._row(_group_of(job), job, f"run#{PERIOD}"), "theirs")
        for call in (lambda: store.swap(run(job=job), None), lambda: store.get(job, f"run#{PERIOD}")):
            with pytest.raises(LedgerUnavailableError, match=r"WRONGTYPE.*choose another prefix") as caught:
                call()
            assert not caught.value.transient


@pytest.mark.parametrize("text", ["", "no JSON", "[]", "null", "[" * 10_000])
def test_a_row_that_is_no_json_object_is_unreadable(valkey: RedisServer, text: str) -> None:
    """Somebody edited it; it is neither used nor overwritten, and hides no other."""
    job = f"{JOB}-{time.monotonic_ns()}"
    with closing(open_store(valkey.url, lease=timedelta(minutes=1))) as store:
        assert isinstance(store, RedisStore)
        store.swap(run(job=job), None)
        store.swap(run(job=job, period="2"), None)
        valkey.ask("HSET", store._row(_group_of(job), job, f"run#{PERIOD}"), "item", text)
        for call in (lambda: store.swap(run(job=job), None), lambda: store.get(job, f"run#{PERIOD}")):
            with pytest.raises(RecordUnreadableError, match="not a JSON object"):
                call()
        page = store.query(job, limit=5)
        assert ([found.period for found in page.runs], len(page.unreadable)) == (["2"], 1)


@pytest.mark.parametrize("mode", [Mode.BLACKHOLE, Mode.TRICKLE, Mode.RESET])
def test_no_call_takes_longer_than_its_limit(valkey: RedisServer, mode: Mode) -> None:
    """Whatever the server does not say."""
    with Proxy(valkey.url) as proxy:
        url = f"redis://127.0.0.1:{urlsplit(proxy.endpoint).port}"
        with closing(open_store(url, lease=timedelta(seconds=8))) as store:
            assert store.call_timeout == timedelta(seconds=1)
            store.get(JOB, "slot")
            proxy.mode = mode
            began = time.monotonic()
            with pytest.raises(LedgerUnavailableError) as caught:
                store.get(JOB, "slot")
            assert caught.value.transient
            assert time.monotonic() - began < 5
            proxy.mode = Mode.PASS
            store.get(JOB, "slot")
