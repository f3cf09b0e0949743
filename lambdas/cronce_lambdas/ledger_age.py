"""When the ledger's table was created: no earlier tick can have a row in it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cronce.aws.sdk import Service
from cronce.client.reporting import report
from cronce.ecs import CallRefusedError, CallUnavailableError
from cronce.stores.urls import region_of, table_of
from cronce.vocabulary.ledger_urls import is_in_dynamodb


class Birth:
    """Asks DynamoDB for the creation time of a table. A table that was restored is a new table."""

    def __init__(self, url: str, *, client: Any = None) -> None:  # noqa: ANN401  # a boto client, made at run time
        """Name the ledger; nothing is called yet.

        Args:
            url: URL of the ledger; only a table in DynamoDB has a creation time.
            client: A botocore or boto3 client for DynamoDB.
        """
        self._table = table_of(url) if is_in_dynamodb(url) else ""
        endpoint = parse_qs(urlsplit(url).query).get("endpoint", [None])[-1]
        self._dynamodb = Service("dynamodb", region=region_of(url), endpoint=endpoint, client=client)

    def at(self) -> datetime | None:
        """The creation time; None if it is unknown, which is reported."""
        if not self._table:
            return None
        try:
            answer = self._dynamodb.call("describe_table", self._table, TableName=self._table)
            created = answer["Table"]["CreationDateTime"]
        except (CallRefusedError, CallUnavailableError, KeyError) as error:
            report("birth_unknown", level="ERROR", error=str(error))
            return None
        return created.astimezone(UTC) if isinstance(created, datetime) else None
