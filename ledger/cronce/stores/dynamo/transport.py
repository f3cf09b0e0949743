"""How a request gets to DynamoDB: the port that `signed_http` and `sdk` fill."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Protocol

from cronce.aws.answers import Answer


class Transport(Protocol):
    """Sends one request, once. Safe to use from several threads."""

    @property
    def where(self) -> str:
        """Region and endpoint, as a person knows them."""

    @property
    def call_timeout(self) -> timedelta:
        """The longest that one call may take."""

    def call(self, operation: str, request: Mapping[str, Any]) -> Answer:
        """The answer to the request, e.g. operation `PutItem`.

        Raises:
            ServiceError: DynamoDB said no.
            NoAnswerError: There was no usable answer.
        """

    def close(self) -> None:
        """Let go of connections."""
