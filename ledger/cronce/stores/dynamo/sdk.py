"""DynamoDB through botocore: every source of credentials, every kind of endpoint."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from botocore import exceptions
from botocore.parsers import ResponseParserError

from cronce.aws.answers import Answer
from cronce.aws.sdk import make_client, no_answer, service_error

_METHODS = {
    "PutItem": "put_item",
    "GetItem": "get_item",
    "Query": "query",
    "CreateTable": "create_table",
    "DescribeTable": "describe_table",
    "UpdateTimeToLive": "update_time_to_live",
}


class Sdk:
    """Sends requests with a botocore (or boto3) DynamoDB client."""

    def __init__(self, client: Any) -> None:
        """Use a client that somebody made, with its time limits and retries."""
        self._client = client

    @classmethod
    def connect(cls, *, region: str | None, endpoint: str | None, call_timeout: timedelta) -> Sdk:
        """Make a client that tries once: the ledger retries, and knows how long it may.

        Raises:
            InputMissingError: No Region is configured.
            NoAnswerError: The credentials that it looks for first cannot be had.
        """
        return cls(make_client("dynamodb", region=region, endpoint=endpoint, call_timeout=call_timeout, tries=1))

    @property
    def where(self) -> str:
        """Region and endpoint."""
        return f"{self._client.meta.region_name} at {self._client.meta.endpoint_url}"

    @property
    def call_timeout(self) -> timedelta:
        """How long one call of the client may take, its own retries included."""
        config = self._client.meta.config
        retries = config.retries or {}
        # Without a setting the legacy mode tries a DynamoDB request ten times (botocore, retries reference).
        tries = retries.get("total_max_attempts") or retries.get("max_attempts", 9) + 1
        unlimited = timedelta(days=1).total_seconds()
        return timedelta(seconds=tries * ((config.connect_timeout or unlimited) + (config.read_timeout or unlimited)))

    def call(self, operation: str, request: Mapping[str, Any]) -> Answer:
        """See `Transport.call`."""
        try:
            body = getattr(self._client, _METHODS[operation])(**request)
        except exceptions.ClientError as error:
            refusal = service_error(error)
            refusal.at = _date_of(error.response)
            raise refusal from error
        except (exceptions.BotoCoreError, ResponseParserError) as error:
            raise no_answer(error) from error
        return Answer(body, _date_of(body))

    def close(self) -> None:
        """See `Transport.close`."""
        self._client.close()


def _date_of(response: Mapping[str, Any]) -> datetime | None:
    date = response.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
    try:
        at = parsedate_to_datetime(date) if date else None
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return at if at is not None and at.utcoffset() is not None else None  # a time without a zone says nothing
