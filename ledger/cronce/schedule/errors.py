"""The error for an invalid schedule."""

from __future__ import annotations

from cronce.vocabulary.errors import InputInvalidError


class ScheduleInvalidError(InputInvalidError):
    """A schedule cannot be used; the error names the invalid part.

    Attributes:
        field: The invalid part: `minutes`, `hours`, `day-of-month`, `month`, `day-of-week`, `year`,
            `rate`, `at`, `timezone`, `start`, `end`, `period`, or `expression` for the whole.
        value: What was given.
        allowed: What is accepted.
    """

    def __init__(self, field: str, value: object, allowed: str) -> None:
        self.field = field
        super().__init__(field, value, allowed)
