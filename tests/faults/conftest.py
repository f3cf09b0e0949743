"""A ledger whose every request passes a wire on which things go wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conformance.stores import DynamoLab, TimelessDynamoStore, create_table, new_client
from tests.support.faulty_wire import Wire

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mypy_boto3_dynamodb import DynamoDBClient


@pytest.fixture(scope="session")
def table(dynamodb_local: str) -> str:
    """The table of these tests."""
    client = new_client(dynamodb_local)
    create_table(client, "fault-runs")
    client.close()
    return "fault-runs"


@pytest.fixture
def client(dynamodb_local: str) -> Iterator[DynamoDBClient]:
    """A real client of DynamoDB Local that tries once, as the store's own does."""
    client = new_client(dynamodb_local)
    yield client
    client.close()


@pytest.fixture
def wire(client: DynamoDBClient, table: str) -> Wire:
    """The client's way to the service."""
    return Wire(client, table=table)


@pytest.fixture
def lab(client: DynamoDBClient, table: str, wire: Wire) -> DynamoLab:  # noqa: ARG001  # cut into the client
    """The store behind that wire."""
    nobody: Callable[..., None] = lambda *row: pytest.fail(f"nobody writes {row}")  # noqa: E731
    return DynamoLab(store=TimelessDynamoStore(table, client=client), put=nobody, erase=nobody, client=client)
