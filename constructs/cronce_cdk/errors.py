"""The error that all constructs raise."""

from __future__ import annotations

from cronce.vocabulary.errors import InputInvalidError


class ConstructConfigError(InputInvalidError):
    """An argument of a construct can never work.

    Attributes:
        path: The construct's path in the tree.
        argument: The name of the argument.
        value: Its value.
        allowed: The values that are allowed.
    """

    def __init__(self, path: str, argument: str, value: object, allowed: str) -> None:
        self.path = path
        self.argument = argument
        super().__init__(f"{path}: {argument}", value, allowed)
