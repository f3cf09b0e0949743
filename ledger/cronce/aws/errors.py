"""What a call of an AWS service other than DynamoDB raises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cronce.vocabulary.errors import CronceError


class CallUnavailableError(CronceError):
    """The service did not answer, or is busy; the same call may succeed a moment later.

    Whether the call was carried out is unknown.

    Attributes:
        what: The call and its subject.
        cause: What went wrong.
    """

    def __init__(self, what: str, cause: str) -> None:
        self.what = what
        self.cause = cause
        super().__init__(f"{what} had no answer: {cause}")


class CallRefusedError(CronceError):
    """The service refused the call, or the SDK could not send it; the same call would fail again.

    Attributes:
        what: The call and its subject.
        cause: The service's code and text, or the SDK's text.
        code: The service's code, e.g. `ConflictException`; empty if nothing was sent: no Region, no credentials, an
            argument that the SDK rejects.
        details: The whole error answer.
    """

    def __init__(self, what: str, cause: str, *, code: str = "", details: Mapping[str, Any] | None = None) -> None:
        self.what = what
        self.cause = cause
        self.code = code
        self.details = details or {}
        super().__init__(f"{what} was refused: {cause}")
