"""Every store that the conformance suite is held against. A new store is one line in `STORES`.

moto keeps a table in this process. It is right about one caller at a time, and not atomic: measured
with sixteen threads, most keys had two winners. So it runs everything but the races.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import boto3
import pytest
from botocore.config import Config
from moto import mock_aws

from cronce.aws.sigv4 import Credentials
from cronce.stores.dynamo import DynamoStore
from cronce.stores.dynamo.signed_http import SignedHttp
from cronce.stores.memory import MemoryStore
from cronce.stores.postgres import PostgresStore
from cronce.stores.postgres.address import Address, parse_address
from cronce.stores.postgres.wire import literal
from cronce.stores.redis.server import RedisServer as Connections
from cronce.stores.redis.store import RedisStore, _group_of
from cronce.stores.sqlite import SqliteStore
from cronce.testing.conformance.lab import Lab
from tests.support.redis_server import RedisServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mypy_boto3_dynamodb import DynamoDBClient

    from tests.support.pgbouncer import PgBouncer

REGION = "eu-west-1"


@dataclass(kw_only=True)
class DynamoLab(Lab):
    """A table of DynamoDB to be tried.

    Attributes:
        client: Its client.
    """

    client: DynamoDBClient


TABLE = "runs"
"""One table for all: every test has a job of its own."""


class TimelessDynamoStore(DynamoStore):
    """A table that does not tell the time: then a clock moved by hand is not found to be skewed."""

    @property
    def answered_at(self) -> None:
        """Nothing; tests/faults has what becomes of a skewed clock."""
        return


@contextmanager
def memory(_request: pytest.FixtureRequest) -> Iterator[Lab]:
    """A dict of this process."""
    store = MemoryStore()

    def put(item: dict[str, Any]) -> None:
        store._items[item["job"], item["key"]] = item

    def erase(job: str, key: str) -> None:
        del store._items[job, key]

    yield Lab(store=store, put=put, erase=erase)


@contextmanager
def sqlite(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """A file of its own."""
    folder: Path = request.getfixturevalue("tmp_path")
    store = SqliteStore(folder / "runs.db", boot_clock=lambda: None)  # a clock moved by hand counts
    store.create()

    def put(item: dict[str, Any]) -> None:
        row = (item["job"], item["key"], item.get("version") or 0, item.get("token") or "", json.dumps(item))
        with _opened(store) as connection:
            connection.execute(
                "INSERT OR REPLACE INTO ledger (job, key, version, token, item) VALUES (?, ?, ?, ?, ?)", row
            )

    def erase(job: str, key: str) -> None:
        with _opened(store) as connection:
            connection.execute("DELETE FROM ledger WHERE job = ? AND key = ?", (job, key))

    yield Lab(store=store, put=put, erase=erase, peer=lambda: SqliteStore(store._path, boot_clock=lambda: None))
    store.close()


@contextmanager
def moto(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """A table that moto plays in this process."""
    client: DynamoDBClient = request.getfixturevalue("moto_client")
    with mock_aws():
        create_table(client)
        yield _table(client, is_atomic=False)


@contextmanager
def dynamodb_local(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """A table of Amazon's own DynamoDB Local, through botocore."""
    client: DynamoDBClient = request.getfixturevalue("dynamodb_client")
    yield _table(client)


@contextmanager
def dynamodb_local_lean(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """The same, through the standard library alone."""
    lab = _table(request.getfixturevalue("dynamodb_client"))
    endpoint: str = request.getfixturevalue("dynamodb_local")
    credentials = Credentials(access_key="testing", secret_key="testing", token=None)
    transport = SignedHttp(
        endpoint, region=REGION, credentials=lambda _by: credentials, call_timeout=timedelta(seconds=6)
    )
    lab.store = TimelessDynamoStore(TABLE, transport=transport)
    yield lab
    lab.store.close()


class TimelessPostgresStore(PostgresStore):
    """The same for PostgreSQL."""

    @property
    def answered_at(self) -> None:
        """Nothing."""
        return


class TimelessRedisStore(RedisStore):
    """The same for Redis."""

    @property
    def answered_at(self) -> None:
        """Nothing."""
        return


@contextmanager
def postgres(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """A table of a real PostgreSQL."""
    yield from _postgres(request.getfixturevalue("postgres").url())


@contextmanager
def pgbouncer(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """The same through PgBouncer, over TLS."""
    server: PgBouncer = request.getfixturevalue("pgbouncer")
    options = {"sslmode": "verify-full", "sslrootcert": str(server.certificate)}
    yield from _postgres(server.url(host="localhost", **options))


def _postgres(url: str) -> Iterator[Lab]:
    store = TimelessPostgresStore(address_in(url), call_timeout=timedelta(seconds=6))
    store.create()

    def put(item: dict[str, Any]) -> None:
        values = (item["key"], item["job"], item.get("token") or "", json.dumps(item))
        key, job, token, text = (literal(value) for value in values)
        statement = (
            "INSERT INTO cronce_ledger (job_hash, key, job, version, token, item)"
            f" VALUES (sha256({job}), {key}, {job}, {item.get('version') or 0}, {token}, {text})"
            " ON CONFLICT (job_hash, key) DO UPDATE"
            " SET version = excluded.version, token = excluded.token, item = excluded.item"
        )
        store._ask(statement)

    def erase(job: str, key: str) -> None:
        statement = f"DELETE FROM cronce_ledger WHERE job = {literal(job)} AND key = {literal(key)}"
        store._ask(statement)

    yield Lab(store=store, put=put, erase=erase)
    store.close()


def address_in(url: str) -> Address:
    """The address in the URL of a PostgreSQL ledger."""
    place, _, query = url.partition("://")[2].partition("?")
    options = dict(part.split("=", 1) for part in query.split("&") if part)
    return parse_address(place, options, {}, unquote, what="ledger")


@contextmanager
def redis(request: pytest.FixtureRequest, fixture: str = "redis") -> Iterator[Lab]:
    """A database of a real server; other tests use it too."""
    server: RedisServer = request.getfixturevalue(fixture)

    def opened() -> TimelessRedisStore:
        timeout = timedelta(seconds=6)
        connections = Connections("127.0.0.1", server.port, where=server.url, call_timeout=timeout)
        return TimelessRedisStore(connections, where=server.url, call_timeout=timeout)

    store = opened()

    def put(item: dict[str, Any]) -> None:
        job, key = item["job"], item["key"]
        group = _group_of(job)
        version, token = item.get("version") or 0, item.get("token") or ""
        row = ("HSET", store._row(group, job, key), "version", version, "token", token, "item", json.dumps(item))
        server.ask(*row)
        server.ask("ZADD", store._key(group, "keys", job), 0, key)

    def erase(job: str, key: str) -> None:
        server.ask("DEL", store._row(_group_of(job), job, key))

    yield Lab(store=store, put=put, erase=erase, peer=opened)
    store.close()


valkey = partial(redis, fixture="valkey")
valkey_cluster = partial(redis, fixture="valkey_cluster")


STORES = [
    pytest.param(memory, id="memory"),
    pytest.param(sqlite, id="sqlite"),
    pytest.param(postgres, id="postgres", marks=pytest.mark.lane("postgres")),
    pytest.param(pgbouncer, id="pgbouncer-tls", marks=[pytest.mark.lane("pgbouncer"), pytest.mark.slow]),
    pytest.param(moto, id="moto", marks=pytest.mark.slow),  # DynamoDB Local is the better server
    pytest.param(dynamodb_local, id="dynamodb-local", marks=pytest.mark.lane("dynamodb-local")),
    pytest.param(dynamodb_local_lean, id="dynamodb-local-lean", marks=pytest.mark.lane("dynamodb-local")),
    pytest.param(redis, id="redis", marks=[pytest.mark.lane("redis"), pytest.mark.slow]),
    pytest.param(valkey, id="valkey", marks=pytest.mark.lane("valkey")),
    pytest.param(valkey_cluster, id="valkey-cluster", marks=pytest.mark.lane("valkey")),
]
DYNAMO_STORES = [store for store in STORES if str(store.id).startswith(("moto", "dynamodb"))]


def new_client(endpoint: str | None) -> DynamoDBClient:
    """A client that tries once, as the store's own does."""
    config = Config(connect_timeout=2, read_timeout=4, retries={"total_max_attempts": 1}, max_pool_connections=32)
    return boto3.client("dynamodb", region_name=REGION, endpoint_url=endpoint, config=config)


def create_table(client: DynamoDBClient, name: str = TABLE) -> None:
    """Make a table, without TTL: a test's rows may be old."""
    client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "job", "KeyType": "HASH"}, {"AttributeName": "key", "KeyType": "RANGE"}],
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in ("job", "key")],
        BillingMode="PAY_PER_REQUEST",
    )


def _table(client: DynamoDBClient, *, is_atomic: bool = True) -> DynamoLab:
    def put(item: dict[str, Any]) -> None:
        client.put_item(TableName=TABLE, Item={name: _attribute(value) for name, value in item.items()})

    def erase(job: str, key: str) -> None:
        client.delete_item(TableName=TABLE, Key={"job": {"S": job}, "key": {"S": key}})

    store = TimelessDynamoStore(TABLE, client=client)
    return DynamoLab(store=store, put=put, erase=erase, is_atomic=is_atomic, client=client)


def _attribute(value: object) -> dict[str, Any]:
    match value:
        case bool():
            return {"BOOL": value}
        case int() | float():
            return {"N": str(value)}
        case str():
            return {"S": value}
        case None:
            return {"NULL": True}
        case list():
            return {"L": [_attribute(element) for element in value]}
        case dict():
            return {"M": {name: _attribute(element) for name, element in value.items()}}
        case _:
            raise TypeError(value)


@contextmanager
def _opened(store: SqliteStore) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(store._path)
    with connection:
        yield connection
    connection.close()
