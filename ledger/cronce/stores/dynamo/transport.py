"""The port for sending a request to DynamoDB. Its adapters are `signed_http` and `sdk`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Protocol

from cronce.aws.answers import Answer


class Transport(Protocol):
    """Sends one request, once. Safe to use from several threads."""

    @property
    def where(self) -> str:
        """Region and endpoint, for messages."""

    @property
    def call_timeout(self) -> timedelta:
        """The longest that one call may take, from the name look-up to the end of the answer."""

    def call(self, operation: str, request: Mapping[str, Any]) -> Answer:
        """The answer to the request, e.g. operation `PutItem`.

        Raises:
            ServiceError: DynamoDB refused the request.
            NoAnswerError: There is no usable answer.
        """

    def close(self) -> None:
        """Close all connections."""
