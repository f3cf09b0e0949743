"""The parts of the Redis store that need no server: its URL, its protocol, and what a server's answers mean."""

from __future__ import annotations

import hashlib
import socket
import time
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest

from cronce.aws.http import AnswerGarbledError
from cronce.stores.redis.promises import QUESTIONS, Promises, promises_of
from cronce.stores.redis.resp import ReplyError, RespConnection
from cronce.stores.redis.store import SWAP, RedisStore, _group_of
from cronce.stores.urls import open_store
from cronce.vocabulary.errors import InputInvalidError, InputMissingError
from cronce.vocabulary.names import ledger_name

MINUTE = timedelta(minutes=1)


def opened(url: str) -> RedisStore:
    """The store of the URL."""
    store = open_store(url, lease=MINUTE, what="CRONCE_LEDGER")
    assert isinstance(store, RedisStore)
    return store


@pytest.mark.parametrize(
    ("url", "where", "login"),
    [
        ("redis://h", "Redis redis://h:6379/0", ()),
        ("redis://h/", "Redis redis://h:6379/0", ()),
        ("rediss://h:7000/3", "Redis rediss://h:7000/3", ()),
        ("redis://u:p@h", "Redis redis://h:6379/0", (("AUTH", "u", "p"),)),
        ("redis://:p@h", "Redis redis://h:6379/0", (("AUTH", "p"),)),
        ("redis://:@h", "Redis redis://h:6379/0", (("AUTH", ""),)),
        ("redis://u:p%40%3A%2F%25@h", "Redis redis://h:6379/0", (("AUTH", "u", "p@:/%"),)),
        ("redis://u:a@b:c/d@h:1", "Redis redis://h:1/0", (("AUTH", "u", "a@b:c/d"),)),
        ("redis://[::1]:6380", "Redis redis://[::1]:6380/0", ()),
        ("redis://h?prefix=jobs:eu", "Redis redis://h:6379/0 with prefix jobs:eu", ()),
        ("rediss://h?ca=/etc/ca.pem", "Redis rediss://h:6379/0", ()),
    ],
)
def test_a_url_names_a_server(url: str, where: str, login: tuple[Any, ...]) -> None:
    """User and password are no part of the name; nothing is connected yet."""
    store = opened(url)
    assert store.where == where
    assert store._server._login == login
    assert store.call_timeout == timedelta(seconds=3)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("redis://", "allowed: redis"),
        ("redis://h:0", "HOST:PORT"),
        ("redis://h:65536", "HOST:PORT"),
        ("redis://h:x", "HOST:PORT"),
        ("redis://h/x", "HOST:PORT/DATABASE"),
        ("redis://h/1/2", "HOST:PORT/DATABASE"),
        ("redis://h h", "is not usable"),
        ("redis://h?prefix=", "prefix: '' is not usable; allowed: 1 to 100"),
        ("redis://h?prefix={x}", "prefix: '{x}'"),
        ("redis://h?ca=x.pem", "ca: 'x.pem' .* with rediss://"),
        ("rediss://h?ca=", "ca: ''"),
        ("redis://h?db=1", "option: 'db' is not usable; allowed: prefix, ca"),
    ],
)
def test_a_bad_url_is_one_clear_line(url: str, says: str) -> None:
    """It names the part that is wrong."""
    with pytest.raises(InputInvalidError, match=says):
        opened(url)


def test_the_password_may_come_from_the_variable_of_redis_cli(monkeypatch: pytest.MonkeyPatch) -> None:
    """A password in the URL wins; a user without one is an error that says so."""
    with pytest.raises(InputMissingError, match="the password of u is missing: set REDISCLI_AUTH"):
        opened("redis://u@h")
    monkeypatch.setenv("REDISCLI_AUTH", "p%41")
    assert opened("redis://u@h")._server._login == (("AUTH", "u", "p%41"),)
    assert opened("redis://h")._server._login == (("AUTH", "p%41"),)
    assert opened("redis://u:other@h")._server._login == (("AUTH", "u", "other"),)


@pytest.mark.parametrize(
    "url",
    [
        "redis://u:secret@h:x",
        "redis://u:secret?x@h",
        "redis://u:secret#x@h",
        "redis://u:secret?a=b@h:x",
        "redis://u:secret@h?prefix={}",
        "redis://u:secret@h?ca=x",
        "redis://u:secret@h/x",
    ],
)
def test_no_error_about_a_url_shows_the_password(url: str) -> None:
    """Wherever the mistake is."""
    with pytest.raises(InputInvalidError) as refused:
        opened(url)
    assert "secret" not in f"{refused.value}{vars(refused.value)}"


def test_the_name_of_a_ledger_is_the_server() -> None:
    """It is a dimension of metrics, and has no password."""
    assert ledger_name("redis://u:secret@h:6379/0?prefix=x") == "h:6379"
    assert ledger_name("rediss://u:se?cr/et@h") == "h"


def test_the_digest_is_that_of_the_script() -> None:
    """The server knows a script by it."""
    digest, script = SWAP
    assert digest == hashlib.sha1(script.encode()).hexdigest()


def test_the_group_of_a_job_never_changes() -> None:
    """It is part of the keys that are stored."""
    assert [_group_of(job) for job in ("daily-digest", "clock", "Täglicher Bericht", "🦆")] == ["c", "2", "6", "c"]


def test_no_two_rows_share_a_key() -> None:
    """Whatever colons and braces a job's name has."""
    store = opened("redis://h")
    rows = [("a", "run#b:c"), ("a:run#b", "c"), ("a%3Arun#b", "c"), ("a:", "b"), ("a", ":b"), ("{x}", "slot")]
    keys = {store._row("0", job, key) for job, key in rows}
    assert len(keys) == len(rows)
    assert all(key.startswith("cronce:{0}:row:") for key in keys)


# The protocol.


def replies(data: bytes, count: int = 1) -> list[Any]:
    """What a client reads when it sends commands and this arrives, and then the end."""
    ours, theirs = socket.socketpair()
    with theirs, closing(RespConnection(ours)) as connection:
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        return connection.exchange([("PING",)] * count, by=time.monotonic() + 10)


@pytest.mark.parametrize(
    ("data", "reply"),
    [
        (b"+OK\r\n", b"OK"),
        (b":7\r\n", 7),
        (b":-7\r\n", -7),
        (b"$0\r\n\r\n", b""),
        (b"$4\r\na\r\nb\r\n", b"a\r\nb"),
        (b"$-1\r\n", None),
        (b"*-1\r\n", None),
        (b"*0\r\n", []),
        (b"*3\r\n:1\r\n$-1\r\n*1\r\n+x\r\n", [1, None, [b"x"]]),
    ],
)
def test_replies_of_every_kind_are_read(data: bytes, reply: object) -> None:
    """As the protocol's specification has them."""
    assert replies(data) == [reply]
    assert replies(data + b"+next\r\n", 2) == [reply, b"next"]


def test_an_error_is_a_reply() -> None:
    """Its first word is the code."""
    refused, after = replies(b"-WRONGPASS invalid password\r\n+OK\r\n", 2)
    assert (refused.code, refused.message, after) == ("WRONGPASS", "invalid password", b"OK")


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 400 Bad Request\r\n",
        b"\x15\x03\x01\x00\x02\x02F\r\n",
        b"\r\n",
        b"$x\r\n",
        b"$-2\r\n",
        b"$\r\n",
        b"$99999999999\r\n",
        b"$9999999999999999999999\r\n",
        b"*99999999\r\n",
        b"$2\r\nabc\r\n",
        b"*1\r\n" * 6,
        b"+no end",
        b"$5\r\nab",
        b"*2\r\n:1\r\n",
        b":1" + b"0" * 70_000,
    ],
)
def test_anything_else_is_garbled(data: bytes) -> None:
    """No number of bytes makes it a reply."""
    with pytest.raises(AnswerGarbledError):
        replies(data)


def test_a_reply_that_ends_early_is_none() -> None:
    """After each byte of it."""
    whole = b"*3\r\n:1\r\n$5\r\nhello\r\n:1700000\r\n"
    assert replies(whole) == [[1, b"hello", 1700000]]
    for cut in range(1, len(whole)):
        with pytest.raises(AnswerGarbledError):
            replies(whole[:cut])


def test_a_server_that_says_nothing_has_closed_the_connection() -> None:
    """By this the store knows that it may try a new one."""
    with pytest.raises(ConnectionResetError):
        replies(b"")


# What a server can promise.

GOOD = {
    "redis_version": "7.0.15",
    "role": "master",
    "connected_slaves": "0",
    "aof_enabled": "1",
    "maxmemory": "0",
    "maxmemory_policy": "noeviction",
    "cluster_enabled": "0",
}


MANAGED = {"aof_enabled": "0", "appendfsync": None, "connected_slaves": "2"}


def promises(*, appendfsync: str | None = "always", host: str = "h", **info: str) -> Promises:
    """What a server with these differences says."""
    lines = "# Server\r\n" + "".join(f"{name}:{value}\r\n" for name, value in (GOOD | info).items())
    config: object = ReplyError("NOPERM", "no") if appendfsync is None else [b"appendfsync", appendfsync.encode()]
    return promises_of([lines.encode(), config], host=host)


def test_a_server_that_writes_before_it_answers_has_nothing_to_be_said_about() -> None:
    """It is the one that docs/stores.md describes."""
    good = promises()
    assert (good.broken, good.caution, good.notes) == (None, None, ())


@pytest.mark.parametrize(
    ("info", "problem"),
    [
        ({"redis_version": "6.2.14"}, "Redis 6.2.14 is too old"),
        ({"redis_version": "7.0.0"}, None),
        ({"redis_version": "10.1.0"}, None),
        ({"role": "slave"}, "READONLY: this server is a replica"),
        ({"role": "slave", "cluster_enabled": "1"}, None),
        ({"maxmemory_policy": "allkeys-lru", "maxmemory": "1000"}, "maxmemory-policy is allkeys-lru"),
        ({"maxmemory_policy": "volatile-ttl", "maxmemory": "1000"}, "maxmemory-policy is volatile-ttl"),
        ({"maxmemory_policy": "volatile-lru", "maxmemory": "0"}, None),
        ({"maxmemory_policy": "noeviction", "maxmemory": "1000"}, None),
    ],
)
def test_a_server_that_deletes_or_cannot_write_rows_is_not_used(info: dict[str, str], problem: str | None) -> None:
    """A replica may be the primary in a moment; the others need a person."""
    broken = promises(**info).broken
    assert (broken.problem if broken else None) == problem or (problem and broken and problem in broken.problem)
    assert broken is None or broken.transient is ("READONLY" in broken.problem)


@pytest.mark.parametrize(
    ("differences", "caution", "notes"),
    [
        ({"aof_enabled": "0"}, "appendonly is no", ["appendonly is no"]),
        ({"appendfsync": "everysec"}, "appendfsync is everysec", ["appendfsync is everysec"]),
        ({"appendfsync": None}, None, ["CONFIG is not permitted"]),
        (
            {"appendfsync": None, "aof_enabled": "0"},
            "appendonly is no",
            ["appendonly is no", "CONFIG is not permitted"],
        ),
        ({"connected_slaves": "2"}, None, [r"replicas (2) follow later"]),
        (MANAGED | {"host": "clustercfg.c.x.memorydb.eu-west-1.amazonaws.com"}, None, []),
        (MANAGED | {"host": "c.x.euw1.cache.amazonaws.com"}, None, ["ElastiCache keeps every claim only with"]),
    ],
)
def test_what_can_forget_claims_is_said(differences: dict[str, Any], caution: str | None, notes: list[str]) -> None:
    """To whoever wins a run, and in full to whoever sets up the ledger."""
    found = promises(**differences)
    assert (found.caution or "").startswith(caution or "")
    assert (found.caution is None) is (caution is None)
    assert [note[: len(start)] for note, start in zip(found.notes, notes, strict=True)] == notes


def test_without_permission_nothing_is_known() -> None:
    """A person who sets up the ledger is told; a claim is not refused for it."""
    unknown = promises_of([ReplyError("NOPERM", "no"), ReplyError("ERR", "unknown command 'CONFIG'")], host="h")
    assert (unknown.broken, unknown.caution) == (None, None)
    assert unknown.notes == ("INFO is not permitted: it is not known whether this server keeps its rows",)


def test_an_old_server_that_takes_one_section_is_named() -> None:
    """Redis 6 answers so."""
    with pytest.raises(ReplyError, match="older than Redis 7"):
        promises_of([ReplyError("ERR", "syntax error"), None], host="h")


def test_what_is_asked_needs_two_permissions() -> None:
    """docs/stores.md lists them."""
    assert [question[0] for question in QUESTIONS] == ["INFO", "CONFIG"]


@pytest.mark.parametrize(
    ("url", "exposed"),
    [
        ("redis://app:secret@redis.example.com", True),
        ("redis://:secret@10.0.0.5:6380/2", True),
        ("redis://redis.example.com", False),
        ("rediss://app:secret@redis.example.com", False),
        ("redis://app:secret@localhost", False),
        ("redis://app:secret@127.0.0.1:7000", False),
        ("redis://app:secret@[::1]", False),
    ],
)
def test_a_password_that_crosses_the_network_in_plain_text_is_told(
    url: str, monkeypatch: pytest.MonkeyPatch, *, exposed: bool
) -> None:
    """To who sets the ledger up: `cronce init` prints it."""
    store = open_store(url, lease=timedelta(seconds=60))
    assert isinstance(store, RedisStore)
    promises = Promises({"aof_enabled": "1"}, "always", "redis.example.com")
    monkeypatch.setattr(store._server, "promises", lambda: promises)
    expected = ("the password crosses the network in plain text: use rediss://",) if exposed else ()
    assert store.differences() == expected
    store.close()
