"""SCRAM-SHA-256 with a server that is wrong; tests/conformance logs in to a real one."""

from __future__ import annotations

import hmac
from base64 import b64encode
from hashlib import pbkdf2_hmac, sha256

import pytest

from cronce.stores.postgres.scram import Scram, ScramError, prepared

NONCE = "fyko+d2lbbFgONRv9qkxdawL"
SALT = b64encode(b"0123456789abcdef").decode()
FIRST = f"r={NONCE}3rfcNHYJY1ZVvWVs7j,s={SALT},i=4096"


def expected_signature(password: str, final: bytes) -> bytes:
    """What a server that knows the password answers, by the formulas of RFC 5802, section 3."""
    without_proof, _, proof = final.decode().rpartition(",p=")
    message = f"n=,r={NONCE},{FIRST},{without_proof}".encode()
    salted = pbkdf2_hmac("sha256", password.encode(), b"0123456789abcdef", 4096)
    client_key = hmac.new(salted, b"Client Key", sha256).digest()
    signature = hmac.new(sha256(client_key).digest(), message, sha256).digest()
    assert proof == b64encode(bytes(a ^ b for a, b in zip(client_key, signature, strict=True))).decode()
    server_key = hmac.new(salted, b"Server Key", sha256).digest()
    return b"v=" + b64encode(hmac.new(server_key, message, sha256).digest())


def test_client_and_server_prove_that_they_know_the_password() -> None:
    """The server checks the proof, and the client the signature."""
    scram = Scram("pencil", NONCE)
    assert scram.first() == f"n,,n=,r={NONCE}".encode()
    final = scram.final(FIRST.encode())
    scram.verify(expected_signature("pencil", final))


@pytest.mark.parametrize("answer", [b"", b"v=", b"v=AAAA", b"e=other-error"])
def test_a_server_that_proves_nothing_is_not_believed(answer: bytes) -> None:
    """It may be anybody at that address."""
    scram = Scram("pencil", NONCE)
    scram.final(FIRST.encode())
    with pytest.raises(ScramError, match="did not prove"):
        scram.verify(answer)
    with pytest.raises(ScramError, match="did not prove"):
        Scram("pencil", NONCE).verify(answer)


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"\xff",
        FIRST.replace(NONCE, "another").encode(),
        f"r={NONCE},s={SALT},i=4096".encode(),
        FIRST.replace("4096", "0").encode(),
        FIRST.replace("4096", "-1").encode(),
        FIRST.replace("4096", "1000001").encode(),
        FIRST.replace("4096", "many").encode(),
        FIRST.replace(SALT, "?").encode(),
        FIRST.replace(SALT, "A").encode(),
        FIRST.encode() + b",m=1",
    ],
)
def test_a_first_message_that_is_none_is_refused(first: bytes) -> None:
    """Also one that would keep the client busy for minutes."""
    with pytest.raises(ScramError, match="first message"):
        Scram("pencil", NONCE).final(first)


@pytest.mark.parametrize(
    ("password", "hashed"),
    [
        ("pencil", b"pencil"),
        ("Ⅸ", b"IX"),  # RFC 4013, section 3
        ("I\u00adX", b"IX"),
        ("ª", b"a"),
        ("a\u00a0b", b"a b"),
        ("é\u0007", "é\u0007".encode()),  # prohibited: as it is, like PostgreSQL
        ("\u00ad", "\u00ad".encode()),
    ],
)
def test_a_password_is_hashed_in_one_spelling(password: str, hashed: bytes) -> None:
    """Whatever the keyboard sends."""
    assert prepared(password) == hashed
