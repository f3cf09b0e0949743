"""A server that answers halfway, wrongly or unasked: each time one error of the ledger, and nothing else."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from cronce.stores.postgres import PostgresStore
from cronce.stores.urls import open_store
from cronce.vocabulary.errors import LedgerUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def message(kind: bytes, body: bytes = b"") -> bytes:
    """A message as the protocol frames it."""
    return kind + (len(body) + 4).to_bytes(4) + body


def setting(name: str, value: str) -> bytes:
    """A setting that the server reports."""
    return message(b"S", f"{name}\0{value}\0".encode())


def row(*values: str | None) -> bytes:
    """A row."""
    cells = [b"\xff\xff\xff\xff" if value is None else len(value).to_bytes(4) + value.encode() for value in values]
    return message(b"D", len(values).to_bytes(2) + b"".join(cells))


READY = message(b"Z", b"I")
LET_IN = message(b"R", bytes(4))
SETTINGS = setting("client_encoding", "UTF8") + setting("standard_conforming_strings", "on")
WELCOME = LET_IN + SETTINGS + message(b"K", bytes(8)) + READY
DONE = message(b"C", b"SELECT 1\0")
LIMITS = message(b"T", bytes(2)) + row("3s", "on") + DONE
NOTHING = LIMITS + message(b"T", bytes(2)) + row("1796000000", None) + DONE + READY
FATAL = message(b"E", b"SFATAL\0VFATAL\0C57P01\0Mbye\nbye\0\0")
SASL = message(b"R", (10).to_bytes(4) + b"SCRAM-SHA-256\0\0")


@contextmanager
def server(answers: Sequence[bytes]) -> Iterator[int]:
    """Answers each request on each connection with the next of these, then closes it; the port."""

    def serve(client: socket.socket) -> None:
        with client, suppress(OSError):
            for answer in answers:
                if not client.recv(65536):
                    return
                client.sendall(answer)

    def accept() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threads.append(threading.Thread(target=serve, args=(client,)))
            threads[-1].start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threads = [threading.Thread(target=accept)]
        threads[0].start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
    for thread in threads:
        thread.join(10)


@contextmanager
def store_at(port: int, options: str = "") -> Iterator[PostgresStore]:
    """A store with a password at that port."""
    store = open_store(f"postgresql://ada:secret@127.0.0.1:{port}/shop{options}", lease=timedelta(seconds=8))
    assert isinstance(store, PostgresStore)
    yield store
    store.close()


def test_the_script_of_these_tests_is_an_answer() -> None:
    """What is wrong in the others is what they change."""
    with server([WELCOME, NOTHING, NOTHING]) as port, store_at(port) as store:
        assert [store.get("job", "slot") for _ in range(2)] == [None, None]
        assert store.answered_at is not None


def test_what_is_sent_unasked_is_no_answer() -> None:
    """A notice, a notification and a changed setting are skipped; anything on an idle connection ends it."""
    notes = message(b"N", b"\0") + message(b"A", bytes(6)) + setting("TimeZone", "UTC")
    with server([notes + WELCOME, notes + NOTHING + DONE, NOTHING]) as port, store_at(port) as store:
        assert [store.get("job", "slot") for _ in range(3)] == [None] * 3


@pytest.mark.parametrize("cut", range(0, len(NOTHING), 7))
def test_an_answer_that_is_cut_is_no_answer(cut: int) -> None:
    """Wherever it ends; the same request may succeed."""
    with (
        server([WELCOME, NOTHING[:cut]]) as port,
        store_at(port) as store,
        pytest.raises(LedgerUnavailableError) as refused,
    ):
        store.get("job", "slot")
    assert refused.value.transient


@pytest.mark.parametrize(
    ("answers", "says", "transient"),
    [
        ([b"HTTP/1.1 400 Bad Request\r\n\r\n"], "not a message of PostgreSQL: b'HTTP/'", True),
        ([b""], "closed the connection", True),
        ([b"R\0\0\0\3"], "not a message", True),
        ([b"R\x7f\xff\xff\xff"], "not a message", True),
        ([message(b"?")], "an unexpected message b'\\?'", True),
        ([READY], "an unexpected message b'Z'", True),
        ([LET_IN + LET_IN], "an unexpected message b'R'", True),
        ([LET_IN + READY], "did not accept", True),
        ([LET_IN + SETTINGS.replace(b"on\0", b"of\0") + READY], "did not accept", True),
        ([FATAL], "57P01: bye bye", True),
        ([message(b"R", (7).to_bytes(4))], "authentication method 7", False),
        ([message(b"R", (10).to_bytes(4) + b"SCRAM-SHA-512\0\0")], "no SCRAM-SHA-256", False),
        ([SASL, LET_IN], "the authentication message 0 instead of 11", True),
        ([SASL, message(b"R", (11).to_bytes(4) + b"r=x,s=,i=1")], "another nonce", False),
        ([SASL, message(b"R", (11).to_bytes(4) + b"\xff")], "cannot be read", False),
        ([SASL, FATAL], "57P01", True),
        ([message(b"R", (3).to_bytes(4)), message(b"R", (3).to_bytes(4))], "does not end", True),
        ([message(b"R", (3).to_bytes(4)), message(b"Z")], "the message b'Z' during", True),
        ([WELCOME, FATAL], "57P01", True),
        ([WELCOME, READY], "the answer to another request: 0 results, not 2", True),
        ([WELCOME + READY], "the answer to another request", True),
        ([WELCOME, NOTHING.removesuffix(READY) + DONE + READY], "3 results, not 2", True),
        ([WELCOME, LIMITS + DONE + READY], "the row of another request", True),
        ([WELCOME, LIMITS + row("1796000000") + DONE + READY], "the row of another request", True),
        ([WELCOME, LIMITS + row("soon", None) + DONE + READY], "the row of another request", True),
        ([WELCOME, LIMITS + message(b"D", b"\0\2\0\0\0\x7f1") + DONE + READY], "shorter than its values", True),
        ([WELCOME, LIMITS + message(b"D", b"\0\1\0\0\0\1\xff") + DONE + READY], "not UTF-8", True),
        ([WELCOME, message(b"G", bytes(3))], "an unexpected message b'G'", True),
        ([WELCOME, message(b"E", b"\xff\xff\0\0") + READY], "the ledger cannot be used", False),
    ],
)
def test_a_wrong_answer_is_one_error(answers: list[bytes], says: str, *, transient: bool) -> None:
    """It says what came, without the password."""
    with (
        server(answers) as port,
        store_at(port) as store,
        pytest.raises(LedgerUnavailableError, match=says) as refused,
    ):
        store.get("job", "slot")
    assert refused.value.transient is transient
    assert "secret" not in str(refused.value)
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    ("answer", "says", "transient"),
    [
        (b"N", "does not offer TLS, and sslmode is require", False),
        (b"X", "b'X' as the answer to a request for TLS", True),
        (b"", "b'' as the answer", True),
        (b"S" + WELCOME, "SSLError|ConnectionReset", True),
    ],
)
def test_what_follows_in_plain_text_does_not_count_as_encrypted(answer: bytes, says: str, *, transient: bool) -> None:
    """Somebody between the two could have sent it."""
    with (
        server([answer]) as port,
        store_at(port, "?sslmode=require") as store,
        pytest.raises(LedgerUnavailableError, match=says) as refused,
    ):
        store.get("job", "slot")
    assert refused.value.transient is transient
