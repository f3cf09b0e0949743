"""When the ledger's table was created: no earlier tick can have a row in it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cronce.aws.sdk import Service
from cronce.client.reporting import report
from cronce.ecs import CallRefusedError, CallUnavailableError
from cronce.vocabulary.names import ledger_name


class Birth:
    """Asks DynamoDB for the creation time of a table. A table that was restored is a new table."""

    def __init__(self, url: str, *, client: Any = None) -> None:  # noqa: ANN401  # a boto client, made at run time
        """Name the ledger; nothing is called yet.

        Args:
            url: URL of the ledger; only a table in DynamoDB has a creation time.
            client: A botocore or boto3 client for DynamoDB.
        """
        parts = urlsplit(url)
        self._table = ledger_name(url) if parts.scheme == "dynamodb" else ""
        options = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        self._dynamodb = Service(
            "dynamodb", region=options.get("region"), endpoint=options.get("endpoint"), client=client
        )

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
