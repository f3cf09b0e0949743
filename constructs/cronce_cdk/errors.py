"""The one way a construct is refused."""

from __future__ import annotations

from cronce.vocabulary.errors import InputInvalidError


class ConstructConfigError(InputInvalidError):
    """A construct was asked for something that can never work.

    Attributes:
        path: The construct, as its path in the tree.
        argument: The argument that is wrong.
        value: What it was.
        allowed: What would have been taken.
    """

    def __init__(self, path: str, argument: str, value: object, allowed: str) -> None:
        self.path = path
        self.argument = argument
        super().__init__(f"{path}: {argument}", value, allowed)
