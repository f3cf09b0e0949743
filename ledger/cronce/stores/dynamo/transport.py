"""How a request gets to DynamoDB, and which of the two ways is taken.

The lean way (`signed_http`) needs the standard library alone: a task decides in a fraction of the
time and memory that botocore takes to load. It knows the credentials of a task and of the
environment, and nothing else; everything else goes through botocore (`sdk`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Protocol

from cronce.values import value_class


@value_class
class Answer:
    """A good answer.

    Attributes:
        body: The decoded JSON.
        at: The service's own time (its `Date` header), if it told.
    """

    body: dict[str, Any]
    at: datetime | None


class ServiceError(Exception):
    """DynamoDB said no.

    Attributes:
        code: E.g. `ConditionalCheckFailedException`.
        message: The service's text.
        status: The HTTP status.
        item: The row as it stands, where a condition failed and it was asked for.
        at: The service's own time, if it told.
    """

    def __init__(
        self, code: str, message: str, *, status: int, item: dict[str, Any] | None = None, at: datetime | None = None
    ) -> None:
        self.code = code
        self.message = message
        self.status = status
        self.item = item
        self.at = at
        super().__init__(f"{code}: {message}")


class NoAnswerError(Exception):
    """There was no usable answer; whether the request was carried out is unknown.

    Attributes:
        kind: What happened, in a word.
        transient: True if the same request may succeed a moment later.
    """

    def __init__(self, kind: str, message: str, *, transient: bool) -> None:
        self.kind = kind
        self.message = message
        self.transient = transient
        super().__init__(f"{kind}: {message}")


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


def choose_transport(*, region: str | None, endpoint: str | None, call_timeout: timedelta) -> Transport:
    """The lean way where the environment is plain enough for it, else botocore.

    Raises:
        InputInvalidError: Nothing says which Region.
        NoAnswerError: Credentials cannot be had.
    """
    from cronce.stores.dynamo.signed_http import SignedHttp  # noqa: PLC0415  # only what is used is loaded

    region = region or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    lean = SignedHttp.for_environment(os.environ, region=region, endpoint=endpoint, call_timeout=call_timeout)
    if lean is not None:
        return lean
    from cronce.stores.dynamo.sdk import Sdk  # noqa: PLC0415  # heavy

    return Sdk.connect(region=region, endpoint=endpoint, call_timeout=call_timeout)
