"""The result of one request to an AWS service: a body, an error of the service, or no usable answer."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from cronce.vocabulary.values import value_class

TRANSIENT_CODES = frozenset(
    {
        "ExpiredTokenException",
        "InternalFailure",
        "InternalServerError",
        "InternalServerException",
        "ItemCollectionSizeLimitExceededException",
        "LimitExceededException",
        "ProvisionedThroughputExceededException",
        "ReplicatedWriteConflictException",
        "RequestLimitExceeded",
        "RequestTimeout",
        "RequestTimeoutException",
        "ServerException",
        "ServiceQuotaExceededException",
        "ServiceUnavailable",
        "ServiceUnavailableException",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
        "TransactionConflictException",
        "TransactionInProgressException",
    }
)
"""Errors after which the same request may succeed (DynamoDB Developer Guide, "Error handling"; "Common errors" in the
API References of EventBridge Scheduler and ECS)."""


@value_class
class Answer:
    """A successful answer.

    Attributes:
        body: The decoded JSON.
        at: The service's time, from its `Date` header; None without a usable one.
    """

    body: dict[str, Any]
    at: datetime | None


class ServiceError(Exception):
    """The service refused the request.

    Attributes:
        code: E.g. `ConditionalCheckFailedException`.
        message: The service's text.
        status: The HTTP status.
        item: The existing row, if a condition failed and the request asked for the row.
        at: The service's time; None without a usable `Date` header.
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

    @property
    def transient(self) -> bool:
        """True if the same request may succeed a moment later."""
        return self.code in TRANSIENT_CODES or self.status >= 500 or self.status == 429


class NoAnswerError(Exception):
    """There is no usable answer; whether the request was carried out is unknown.

    Attributes:
        kind: What happened, in one word.
        message: The same in a sentence.
        transient: True if the same request may succeed a moment later.
    """

    def __init__(self, kind: str, message: str, *, transient: bool) -> None:
        self.kind = kind
        self.message = message
        self.transient = transient
        super().__init__(f"{kind}: {message}")


def botocore_missing(what: str) -> NoAnswerError:
    """The error where something needs botocore and the install has none, as in the portable folder."""
    return NoAnswerError("BotocoreMissing", f"botocore is not installed here and needed for {what}", transient=False)


def first_words(body: bytes) -> str:
    """The beginning of a body for an error message: at most 120 printable characters."""
    text = " ".join(body[:600].decode("utf-8", "replace").split())
    shown = "".join(char if char.isprintable() else "?" for char in text[:120])
    return shown + ("..." if len(text) > 120 else "") if shown else "an empty body"
