"""The one way a schedule is refused."""

from __future__ import annotations

from cronce.vocabulary.errors import InputInvalidError


class ScheduleInvalidError(InputInvalidError):
    """A schedule cannot be used; one of its parts says why.

    Attributes:
        field: The part that is wrong: `minutes`, `hours`, `day-of-month`, `month`, `day-of-week`,
            `year`, `rate`, `at`, `timezone`, `start`, or `expression` for the whole.
        value: What stood there.
        allowed: What would have been taken.
    """

    def __init__(self, field: str, value: object, allowed: str) -> None:
        self.field = field
        super().__init__(field, value, allowed)
