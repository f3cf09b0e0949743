"""The suite runs every test on every store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cronce.testing.conformance.lab import Lab
from tests.conformance.stores import STORES, create_table, new_client

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mypy_boto3_dynamodb import DynamoDBClient


@pytest.fixture(params=STORES)
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """A store to be tried."""
    with request.param(request) as lab:
        yield lab


@pytest.fixture(scope="session")
def moto_client() -> Iterator[DynamoDBClient]:
    """A client that reaches moto inside `mock_aws`, and nothing outside of it."""
    client = new_client(None)
    yield client
    client.close()


@pytest.fixture(scope="session")
def dynamodb_client(dynamodb_local: str) -> Iterator[DynamoDBClient]:
    """A client of DynamoDB Local, where the table stands."""
    client = new_client(dynamodb_local)
    create_table(client)
    yield client
    client.close()
