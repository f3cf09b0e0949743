"""SCRAM-SHA-256 without channel binding (RFC 5802, RFC 7677), as PostgreSQL uses it. Pure."""

from __future__ import annotations

import hmac
from binascii import Error, a2b_base64, b2a_base64
from hashlib import pbkdf2_hmac, sha256

MECHANISM = b"SCRAM-SHA-256"

_MOST_ITERATIONS = 1_000_000
"""PostgreSQL's default is 4,096. A hostile server must not keep this process busy."""


class ScramError(Exception):
    """The server's messages are not SCRAM, or the server does not know the password."""


class Scram:
    """One authentication: `first`, then `final` with the server's answer, then `verify` with its next answer."""

    def __init__(self, password: str, nonce: str) -> None:
        """Begin.

        Args:
            password: The user's password.
            nonce: Printable ASCII without commas that is used once.
        """
        self._password = prepared(password)
        self._nonce = nonce
        self._server_signature: bytes | None = None

    def first(self) -> bytes:
        """The client's first message. PostgreSQL takes the user from the start of the session."""
        return f"n,,{self._bare()}".encode()

    def final(self, server_first: bytes) -> bytes:
        """The client's proof that it has the password.

        Raises:
            ScramError: The server's first message cannot be used.
        """
        try:
            text = server_first.decode("ascii")
            nonce, salt, iterations = (
                part.removeprefix(name) for name, part in zip(("r=", "s=", "i="), text.split(","), strict=True)
            )
            rounds, salt_bytes = int(iterations), a2b_base64(salt, strict_mode=True)
        except (ValueError, Error):
            raise ScramError("the server's first message of SCRAM cannot be read") from None
        if not nonce.startswith(self._nonce) or nonce == self._nonce or not 0 < rounds <= _MOST_ITERATIONS:
            raise ScramError("the server's first message of SCRAM has another nonce, or too many iterations")
        without_proof = f"c=biws,r={nonce}"  # "biws" is "n,," in Base64
        message = f"{self._bare()},{text},{without_proof}".encode()
        salted = pbkdf2_hmac("sha256", self._password, salt_bytes, rounds)
        client_key = hmac.digest(salted, b"Client Key", "sha256")
        signature = hmac.digest(sha256(client_key).digest(), message, "sha256")
        proof = bytes(left ^ right for left, right in zip(client_key, signature, strict=True))
        self._server_signature = hmac.digest(hmac.digest(salted, b"Server Key", "sha256"), message, "sha256")
        return f"{without_proof},p=".encode() + b2a_base64(proof, newline=False)

    def verify(self, server_final: bytes) -> None:
        """Check that the server knows the password too.

        Raises:
            ScramError: It does not.
        """
        expected = self._server_signature
        if expected is None or not hmac.compare_digest(b"v=" + b2a_base64(expected, newline=False), server_final):
            raise ScramError("the server did not prove that it knows the password")

    def _bare(self) -> str:
        return f"n=,r={self._nonce}"


def prepared(password: str) -> bytes:
    """The password in the form that is hashed (SASLprep, RFC 4013); as it is if it has none, as PostgreSQL does."""
    if password.isascii():
        return password.encode()
    import stringprep  # noqa: PLC0415  # tables that few passwords need
    import unicodedata  # noqa: PLC0415

    mapped = "".join(
        " " if stringprep.in_table_c12(char) else char for char in password if not stringprep.in_table_b1(char)
    )
    text = unicodedata.normalize("NFKC", mapped)
    prohibited = (
        stringprep.in_table_c12,
        stringprep.in_table_c21_c22,
        stringprep.in_table_c3,
        stringprep.in_table_c4,
        stringprep.in_table_c5,
        stringprep.in_table_c6,
        stringprep.in_table_c7,
        stringprep.in_table_c8,
        stringprep.in_table_c9,
        stringprep.in_table_a1,
    )
    usable = text and not any(check(char) for char in text for check in prohibited)
    return (text if usable else password).encode()
