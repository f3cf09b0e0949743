"""Hosts with a ledger in a file, and with one in DynamoDB Local behind a proxy that can misbehave."""

from __future__ import annotations

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
    "host", ["sqlite", pytest.param("postgres", marks=pytest.mark.lane("postgres"))], indirect=True
)
"""For tests that show that the processes work on another store too."""


@pytest.fixture
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Host]:
    """A host whose processes share a ledger: in a SQLite file, which is not there yet, or in an empty table."""
    on_postgres = getattr(request, "param", "sqlite") == "postgres"
    url = request.getfixturevalue("postgres_url") if on_postgres else f"sqlite:///{tmp_path}/runs.db"
    with Host(tmp_path, url) as host:
        yield host


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
