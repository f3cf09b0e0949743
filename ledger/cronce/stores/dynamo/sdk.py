"""DynamoDB through botocore: every source of credentials, every kind of endpoint."""

from __future__ import annotations

import threading
from base64 import b64decode
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from cronce.aws.answers import Answer
from cronce.aws.sdk import longest_call, make_client, no_answer, service_error, within
from cronce.stores.dynamo.reading import check_shape, read_answer

_METHODS = {
    "PutItem": "put_item",
    "UpdateItem": "update_item",
    "GetItem": "get_item",
    "Query": "query",
    "CreateTable": "create_table",
    "DescribeTable": "describe_table",
    "DescribeTimeToLive": "describe_time_to_live",
    "UpdateTimeToLive": "update_time_to_live",
}

_PARSER_FAILS_BY = (AttributeError, KeyError, TypeError, ValueError, RecursionError)
"""What botocore's parser raises on JSON of an unexpected shape."""


class Sdk:
    """Sends requests with a botocore (or boto3) DynamoDB client."""

    def __init__(self, client: Any) -> None:
        """Use an existing client, with its time limits and retries."""
        self._client = client
        self._call_timeout = longest_call(client) or timedelta(days=1)
        self._received = threading.local()
        # botocore reads a cut or foreign answer as an empty success, so the raw answer is judged instead.
        client.meta.events.register("before-parse.dynamodb", self._receive)

    @classmethod
    def connect(cls, *, region: str | None, endpoint: str | None, call_timeout: timedelta) -> Sdk:
        """Make a client that tries once: the ledger retries, and knows for how long.

        Raises:
            InputMissingError: No Region is configured.
            NoAnswerError: Credentials cannot be loaded.
        """
        return cls(make_client("dynamodb", region=region, endpoint=endpoint, call_timeout=call_timeout, tries=1))

    @property
    def where(self) -> str:
        """Region and endpoint."""
        return f"{self._client.meta.region_name} at {self._client.meta.endpoint_url}"

    @property
    def call_timeout(self) -> timedelta:
        """The longest that one call may take, the client's own retries included."""
        return self._call_timeout

    def call(self, operation: str, request: Mapping[str, Any]) -> Answer:
        """See `Transport.call`."""
        return within(self._call_timeout, lambda: self._call(operation, request))

    def close(self) -> None:
        """See `Transport.close`."""
        self._client.close()

    def _receive(self, response_dict: Mapping[str, Any], **_event: object) -> None:
        self._received.response = response_dict

    def _call(self, operation: str, request: Mapping[str, Any]) -> Answer:
        self._received.response = None
        failure: Exception | None = None
        body: dict[str, Any] = {}
        try:
            body = getattr(self._client, _METHODS[operation])(**_with_bytes(request))
        except ClientError as error:
            failure = service_error(error)
        except (BotoCoreError, ResponseParserError, UnicodeError) as error:
            failure = no_answer(error)
        except _PARSER_FAILS_BY as error:
            failure = error
        received = self._received.response
        if received is None:  # nothing was received, or a test answers in place of the network
            if failure is not None:
                raise failure
            check_shape(operation, body)
            return Answer(body, None)
        return read_answer(operation, received["status_code"], received["headers"], received["body"])


def _with_bytes(value: Any) -> Any:  # JSON
    """The JSON of a request with binary attributes decoded from Base64: botocore encodes them itself."""
    if isinstance(value, dict):
        if isinstance(value.get("B"), str):
            return {"B": b64decode(value["B"])}
        if isinstance(value.get("BS"), list):
            return {"BS": [b64decode(each) for each in value["BS"]]}
        return {name: _with_bytes(each) for name, each in value.items()}
    return [_with_bytes(each) for each in value] if isinstance(value, list) else value
