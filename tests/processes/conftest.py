"""Hosts with a ledger in a file, and with one in DynamoDB Local behind a proxy that can misbehave."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from cronce import Ledger
from cronce.portable.build import build
from cronce.vocabulary.errors import LedgerUnavailableError
from tests.support.host import Host, until
from tests.support.proxy import Proxy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.support.postgres_server import PostgresServer


ON_SQLITE_AND_POSTGRES = pytest.mark.parametrize(
    "host",
    ["sqlite", pytest.param("postgres", marks=[pytest.mark.lane("postgres"), pytest.mark.slow])],
    indirect=True,
)
"""For tests that show that the processes work on another store too."""


ON_EVERY_STORE = pytest.mark.parametrize(
    "host",
    [
        "sqlite",
        pytest.param("postgres", marks=[pytest.mark.lane("postgres"), pytest.mark.slow]),
        pytest.param("valkey", marks=[pytest.mark.lane("valkey"), pytest.mark.slow]),
        pytest.param("dynamodb", marks=pytest.mark.lane("dynamodb-local")),
    ],
    indirect=True,
)


@pytest.fixture
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Host]:
    """A host whose processes share an empty ledger: in a SQLite file, which is not there yet, or in another store."""
    with Host(tmp_path, _url_of(getattr(request, "param", "sqlite"), request, tmp_path)) as host:
        yield host


def _url_of(store: str, request: pytest.FixtureRequest, folder: Path) -> str:
    match store:
        case "postgres":
            return str(request.getfixturevalue("postgres_url"))
        case "valkey":
            return f"{request.getfixturevalue('valkey').url}?prefix=test-{uuid.uuid4().hex[:12]}"
        case "dynamodb":
            return table_url(request.getfixturevalue("table"), request.getfixturevalue("dynamodb_local"))
        case _:
            return f"sqlite:///{folder}/runs.db"


@pytest.fixture
def postgres_url(postgres: PostgresServer, new_table_name: Callable[[], str]) -> str:
    """The URL of an empty table in PostgreSQL, ready for use."""
    url = postgres.url(table=new_table_name().replace("-", "_"))
    ledger = Ledger.from_url(url)
    ledger.create()
    ledger.close()
    return url


@pytest.fixture
def proxy(dynamodb_local: str) -> Iterator[Proxy]:
    """The way to DynamoDB Local."""
    with Proxy(dynamodb_local) as proxy:
        yield proxy


@pytest.fixture
def table(dynamodb_local: str, new_table_name: Callable[[], str]) -> str:
    """An empty table in DynamoDB Local, ready for use."""
    name = new_table_name()
    ledger = Ledger.from_url(table_url(name, dynamodb_local))

    def stands() -> bool:
        # The first request to a server that has just started can take seconds.
        try:
            ledger.create()
        except LedgerUnavailableError as error:
            if not error.transient:
                raise
            return False
        return True

    until(stands, f"table {name}")
    ledger.close()
    return name


@pytest.fixture
def remote_host(tmp_path: Path, dynamodb_local: str, proxy: Proxy, table: str) -> Iterator[Host]:
    """A host whose processes reach their table in DynamoDB Local through the proxy."""
    watch_url = table_url(table, dynamodb_local)
    with Host(tmp_path, table_url(table, proxy.endpoint), watch_url=watch_url) as host:
        yield host


@pytest.fixture(scope="session")
def portable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The portable folder, built from the Python that runs the tests."""
    folder = tmp_path_factory.mktemp("portable") / "cronce"
    build(folder)
    return folder


def table_url(table: str, endpoint: str) -> str:
    """The ledger's URL for a table at that endpoint."""
    return f"dynamodb://{table}?region=eu-west-1&endpoint={endpoint}"
