"""Connections that end early, never end, or carry unexpected bytes."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from cronce.protocol.operations import Swapped
from cronce.vocabulary.errors import LedgerUnavailableError
from tests.hostile.answers import CONDITION_FAILED, JOB, KEY, chunked, genuine
from tests.support.builders import run
from tests.support.hostile_server import Peer, hostile

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.hostile.conftest import Way

CUT = {
    "a success": genuine(),
    "a success without a checksum": genuine(x_amz_crc32=None),
    "a success with its length last": genuine(Content_Length=None)[:-4] + b"\r\nContent-Length: 2\r\n\r\n{}",
    "a success in chunks": genuine(b"", Content_Length=None, Transfer_Encoding="chunked", x_amz_crc32=None)
    + chunked(b"{}", 1),
    "a refusal": genuine(CONDITION_FAILED, status=400),
}


@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
@pytest.mark.parametrize("data", CUT.values(), ids=CUT)
def test_an_answer_that_ends_early_is_no_answer_wherever_it_ends(way: Way, data: bytes, *, reset: bool) -> None:
    """After every byte, with a farewell and with a reset: only a whole answer counts."""
    whole = len(data) - 4 * data.endswith(b"0\r\n\r\n")  # once the last chunk has begun, the body is whole
    sent = iter(range(whole))

    def speak(peer: Peer, _request: bytes) -> None:
        peer.send(data[: next(sent)])
        if reset:
            peer.reset()

    taken = []
    with hostile(speak) as server, way(server.endpoint) as store:
        for size in range(whole):
            try:
                taken.append((size, store.swap(run(), None)))
            except LedgerUnavailableError:
                continue
    assert taken == []


TRICKLES = {
    "the status": b"H",
    "the reason": b"HTTP/1.1 200 " + b"O" * 60_000,
    "interim answers": b"HTTP/1.1 100 Continue\r\n\r\n",
    "a header": b"HTTP/1.1 200 OK\r\nA: " + b"b" * 60_000,
    "the body": genuine(b" " * 60_000, x_amz_crc32=None),
    "chunks": genuine(b"", Content_Length=None, Transfer_Encoding="chunked") + b"1\r\n \r\n" * 10_000,
    "a body without a length": genuine(b" " * 60_000, Content_Length=None, x_amz_crc32=None),
}


@pytest.mark.parametrize("data", TRICKLES.values(), ids=TRICKLES)
def test_an_answer_that_trickles_ends_with_the_calls_limit(way: Way, data: bytes) -> None:
    """The server would go on until the test is over; the call does not wait for it."""
    begun, size = threading.Event(), 12 if data.startswith(b"HTTP") else 0

    def speak(peer: Peer, _request: bytes) -> None:
        peer.send(data[:size])
        begun.set()
        peer.trickle(data[size:])

    with hostile(speak) as server, way(server.endpoint, seconds=0.6) as store:
        _ends_without_an_answer(lambda: store.swap(run(), None))
        assert begun.is_set()
        assert not server.over.is_set()


def test_a_server_that_says_nothing_ends_with_the_calls_limit(way: Way) -> None:
    """It took the request, and that is all."""

    def speak(peer: Peer, _request: bytes) -> None:
        peer.over.wait(60)

    with hostile(speak) as server, way(server.endpoint, seconds=0.6) as store:
        _ends_without_an_answer(lambda: store.swap(run(), None))


@pytest.mark.parametrize("says", [b"", b"\x16\x03\x03\x40\x00"], ids=["nothing", "a record without an end"])
def test_a_handshake_that_never_ends_ends_with_the_calls_limit(way: Way, says: bytes) -> None:
    """TLS to a server that has accepted the connection and does no more, or trickles."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        over = threading.Event()

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    threading.Thread(target=trickle, args=(connection,), daemon=True).start()

        def trickle(connection: socket.socket) -> None:
            with connection, suppress(OSError):
                connection.sendall(says)
                while not over.wait(0.05):
                    connection.sendall(b"\x00" * bool(says))

        threading.Thread(target=serve, daemon=True).start()
        with way(f"https://127.0.0.1:{listener.getsockname()[1]}", seconds=0.6) as store:
            _ends_without_an_answer(lambda: store.get(JOB, KEY))
        over.set()
        listener.shutdown(socket.SHUT_RDWR)


def test_a_name_server_that_says_nothing_ends_with_the_calls_limit(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    """The resolver of the C library waits for half a minute and hears no signal."""
    over = threading.Event()

    def never(*_arguments: object, **_options: object) -> None:
        over.wait(60)
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    with way("http://ledger.test:8000", seconds=0.6) as store:
        monkeypatch.setattr(socket, "getaddrinfo", never)
        try:
            _ends_without_an_answer(lambda: store.get(JOB, KEY))
            _ends_without_an_answer(lambda: store.get(JOB, KEY))
        finally:
            over.set()


def test_an_unknown_name_is_a_transient_error(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name server says so; a moment later it may know better."""

    def unknown(*_arguments: object, **_options: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with way("http://ledger.test:8000") as store, pytest.raises(LedgerUnavailableError) as raised:
        store.get(JOB, KEY)
    assert raised.value.transient


def test_a_connection_is_used_again(way: Way) -> None:
    """Three requests, one connection: setting one up costs more than the request."""
    connections = set()

    def speak(peer: Peer, _request: bytes) -> bool:
        connections.add(peer.number)
        peer.send(genuine())
        return True

    with hostile(speak) as server, way(server.endpoint) as store:
        for _ in range(3):
            assert store.swap(run(), None) == Swapped(True)
    assert connections == {1}


UNASKED = {
    "a whole answer": genuine(),
    "half an answer": genuine()[:40],
    "one byte": b"\n",
    "an answer that ends the connection": genuine(Connection="close"),
}


@pytest.mark.parametrize("together", [True, False], ids=["in one packet", "later"])
@pytest.mark.parametrize("unasked", UNASKED.values(), ids=UNASKED)
def test_unexpected_bytes_answer_no_request(way: Way, unasked: bytes, *, together: bool) -> None:
    """The next claim of a done period would be "won" by them."""
    sent = threading.Event()

    def speak(peer: Peer, _request: bytes) -> bool:
        if peer.number > 1 or peer.served:
            peer.send(genuine(CONDITION_FAILED, status=400))
        elif together:
            peer.send(genuine() + unasked)
        else:
            peer.send(genuine())
            answered.wait(10)
            peer.send(unasked)
        sent.set()
        return True

    answered = threading.Event()
    with hostile(speak) as server, way(server.endpoint) as store:
        assert store.swap(run(), None) == Swapped(True)
        answered.set()
        assert sent.wait(10)
        assert store.swap(run(token="mine"), None).written is False


def test_a_peer_that_closed_an_idle_connection_is_asked_on_a_new_one(way: Way) -> None:
    """The caller does not notice."""
    closed = threading.Semaphore(0)

    def speak(peer: Peer, _request: bytes) -> None:
        peer.send(genuine())
        peer.socket.shutdown(socket.SHUT_RDWR)
        closed.release()

    with hostile(speak) as server, way(server.endpoint) as store:
        for _ in range(5):
            assert store.swap(run(), None) == Swapped(True)
            assert closed.acquire(timeout=10)


def _ends_without_an_answer(call: Callable[[], object]) -> None:
    """The call raises, in a thread that would be waited for in vain if it hung."""
    raised: list[BaseException] = []

    def run_call() -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001  # the test judges it
            raised.append(error)

    thread = threading.Thread(target=run_call, daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive(), "the call waits for the server"
    assert [type(error) for error in raised] == [LedgerUnavailableError]
    assert raised[0].transient  # type: ignore[attr-defined]
