"""What a service answers: a body, a refusal, or nothing usable."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from cronce.vocabulary.values import value_class


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
