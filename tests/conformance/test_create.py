"""`create` on a DynamoDB table that somebody else made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from moto import mock_aws

from cronce import InputInvalidError, Ledger
from cronce.stores.dynamo import DynamoStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mypy_boto3_dynamodb import DynamoDBClient

GOOD: dict[str, Any] = {
    "KeySchema": [{"AttributeName": "job", "KeyType": "HASH"}, {"AttributeName": "key", "KeyType": "RANGE"}],
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("job", "key")],
    "BillingMode": "PAY_PER_REQUEST",
}
PROVISIONED = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}}


def keyed(*attributes: tuple[str, str]) -> dict[str, Any]:
    """The parameters of a table with this key."""
    kinds = ("HASH", "RANGE")
    return {
        "KeySchema": [
            {"AttributeName": name, "KeyType": kind} for (name, _), kind in zip(attributes, kinds, strict=False)
        ],
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": of} for name, of in attributes],
    }


@pytest.fixture
def client(moto_client: DynamoDBClient) -> Iterator[DynamoDBClient]:
    """An account without tables."""
    with mock_aws():
        yield moto_client


def test_a_table_that_create_made_has_no_differences(client: DynamoDBClient) -> None:
    """The second `create` finds it, and has nothing to say."""
    ledger = Ledger(DynamoStore("runs", client=client))
    assert [ledger.create(), ledger.create()] == [True, False]
    assert ledger.differences() == ()


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        (keyed(("job", "N"), ("key", "S")), r"'job' \(N\) as partition key and 'key' \(S\) as sort key"),
        (keyed(("job", "S"), ("key", "N")), r"'job' \(S\) as partition key and 'key' \(N\) as sort key"),
        (keyed(("job", "S"), ("key", "B")), r"'key' \(B\) as sort key"),
        (keyed(("key", "S"), ("job", "S")), r"'key' \(S\) as partition key and 'job' \(S\) as sort key"),
        (keyed(("Job", "S"), ("key", "S")), r"'Job' \(S\) as partition key"),
        (keyed(("job", "S")), r"\"'job' \(S\) as partition key\" is not usable"),
        (keyed(("id", "S")), r"'id' \(S\) as partition key"),
    ],
)
def test_another_key_is_an_error_that_says_both(client: DynamoDBClient, parameters: dict[str, Any], says: str) -> None:
    """Names, types and roles; nothing is changed."""
    client.create_table(TableName="runs", **GOOD | parameters)
    with pytest.raises(InputInvalidError, match=says) as refused:
        DynamoStore("runs", client=client).create()
    assert refused.value.what == "key of table runs"
    assert refused.value.allowed == "'job' (S) as partition key and 'key' (S) as sort key"


@pytest.mark.parametrize(
    ("billing", "time_to_live", "says"),
    [
        ({}, None, ["time to live is DISABLED"]),
        ({}, "expires", ["time to live is on 'expires'"]),
        (PROVISIONED, "expires_at", ["billing mode is PROVISIONED"]),
        (PROVISIONED, None, ["billing mode is PROVISIONED", "time to live is DISABLED"]),
    ],
)
def test_what_else_differs_is_said(
    client: DynamoDBClient, billing: dict[str, Any], time_to_live: str | None, says: list[str]
) -> None:
    """Such a table can be used; a person decides."""
    client.create_table(TableName="runs", **GOOD | billing)
    if time_to_live is not None:
        client.update_time_to_live(
            TableName="runs", TimeToLiveSpecification={"Enabled": True, "AttributeName": time_to_live}
        )
    ledger = Ledger(DynamoStore("runs", client=client))
    assert ledger.create() is False
    found = ledger.differences()
    assert len(found) == len(says)
    assert all(expected in sentence for expected, sentence in zip(says, found, strict=True))
