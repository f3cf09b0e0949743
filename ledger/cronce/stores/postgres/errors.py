"""What a session with PostgreSQL raises, in addition to `OSError` and `AnswerGarbledError`."""

from __future__ import annotations


class ServerError(Exception):
    """The server refused the request.

    Attributes:
        code: The SQLSTATE.
        message: The server's text.
        fatal: True if the server closes the connection.
    """

    def __init__(self, code: str, message: str, *, fatal: bool = False) -> None:
        self.code = code
        self.message = message
        self.fatal = fatal
        super().__init__(f"{code}: {message}")


class AddressUnusableError(Exception):
    """The server and the address do not agree: on TLS, its certificates, or how the user is authenticated."""
