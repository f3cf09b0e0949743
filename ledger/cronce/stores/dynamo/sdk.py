"""DynamoDB through botocore: every source of credentials, every kind of endpoint."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import botocore.session
from botocore import exceptions
from botocore.config import Config
from botocore.parsers import ResponseParserError

from cronce.aws.answers import Answer, NoAnswerError, ServiceError
from cronce.vocabulary.errors import InputInvalidError

_PASSING = (
    exceptions.ConnectionError,
    exceptions.HTTPClientError,
    exceptions.CredentialRetrievalError,
    exceptions.MetadataRetrievalError,
    ResponseParserError,
)
"""No answer, a garbled one, or credentials that are late; all else is this side's configuration."""

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
            InputInvalidError: Nothing says which Region.
            NoAnswerError: The credentials that it looks for first cannot be had.
        """
        seconds = call_timeout.total_seconds()
        config = Config(
            connect_timeout=seconds / 3,
            read_timeout=seconds * 2 / 3,
            retries={"total_max_attempts": 1, "mode": "standard"},
            user_agent_extra="cronce",
        )
        session = botocore.session.get_session()
        try:
            return cls(session.create_client("dynamodb", region_name=region, endpoint_url=endpoint, config=config))
        except exceptions.NoRegionError:
            raise InputInvalidError(
                "Region", None, "dynamodb://TABLE?region=eu-west-1, or the environment variable AWS_REGION"
            ) from None
        except exceptions.BotoCoreError as error:
            raise _no_answer(error) from error

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
            response: Any = error.response
            raise ServiceError(
                response["Error"].get("Code", ""),
                response["Error"].get("Message", ""),
                status=response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0),
                item=response.get("Item"),
                at=_date_of(response),
            ) from error
        except (exceptions.BotoCoreError, ResponseParserError) as error:
            raise _no_answer(error) from error
        return Answer(body, _date_of(body))

    def close(self) -> None:
        """See `Transport.close`."""
        self._client.close()


def _no_answer(error: Exception) -> NoAnswerError:
    return NoAnswerError(type(error).__name__, str(error), transient=isinstance(error, _PASSING))


def _date_of(response: Mapping[str, Any]) -> datetime | None:
    date = response.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
    try:
        return parsedate_to_datetime(date) if date else None
    except ValueError:
        return None
