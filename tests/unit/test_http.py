"""The small HTTP client, against bytes as a server may send them."""

from __future__ import annotations

import socket
from contextlib import closing
from datetime import UTC, datetime

import pytest

from cronce.aws.http import (
    AnswerGarbledError,
    HttpConnection,
    Response,
    Url,
    deadline,
    is_endpoint,
    parse_date,
    parse_url,
)

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def exchange(answer: bytes, *, body: bytes = b"", headers: dict[str, str] | None = None) -> tuple[Response, bytes]:
    """The response that the client makes of the bytes, and the request that it sent."""
    ours, theirs = socket.socketpair()
    with theirs, closing(HttpConnection(ours)) as connection:
        theirs.sendall(answer)
        theirs.shutdown(socket.SHUT_WR)
        response = connection.exchange("POST", "/", headers or {"Host": "a"}, body, by=deadline(5))
        return response, theirs.recv(65536)


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", b"ok"),
        (b"HTTP/1.1 200\r\ncontent-length:2\r\n\r\nokay", b"ok"),
        (b"HTTP/1.1 200 OK\nContent-Length: 0\n\n", b""),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n3;x=y\r\nay!\r\n0\r\nTrailer: x\r\n\r\n",
            b"okay!",
        ),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", b"ok"),
        (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", b"until the end"),
    ],
)
def test_an_answer_is_read_to_its_end(answer: bytes, body: bytes) -> None:
    """By length, by chunks, after an interim answer, or until the peer closes."""
    response, _ = exchange(answer)
    assert (response.status, response.body) == (200, body)


def test_a_request_is_one_piece() -> None:
    """Head and body in one packet, with the length of the body."""
    _, request = exchange(
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", body=b"{}", headers={"Host": "a", "X-B": "c"}
    )
    assert request == b"POST / HTTP/1.1\r\nHost: a\r\nX-B: c\r\nContent-Length: 2\r\n\r\n{}"


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.1\r\n\r\n",
        b"HTTP/1.1 200 OK",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
        CHUNKED + b"zz\r\n",
        CHUNKED + b"+2\r\nok\r\n0\r\n\r\n",
        CHUNKED + b"2\r\nokay\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0_2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno header\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\n Content-Length: 2\r\n\r\nok",
        CHUNKED + b"5\r\nok",
        b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 101 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nA: " + b"b" * 70000 + b"\r\n\r\n",
    ],
)
def test_other_bytes_are_a_garbled_answer(answer: bytes) -> None:
    """Never part of an answer, and never more memory than an answer needs."""
    with pytest.raises(AnswerGarbledError):
        exchange(answer)


def test_a_peer_that_closed_is_distinguished_from_a_garbled_answer() -> None:
    """Then the request may be sent again on a new connection."""
    with pytest.raises(ConnectionResetError):
        exchange(b"")


@pytest.mark.parametrize("text", ["a\r\nX-Admin: yes", "a\nb", "a\x00"])
def test_a_header_cannot_smuggle_another(text: str) -> None:
    """A session token with a line break in it, for instance."""
    with pytest.raises(ValueError, match="not printable ASCII"):
        exchange(b"", headers={"X-Amz-Security-Token": text})


@pytest.mark.parametrize(("header", "reusable"), [(b"", True), (b"Connection: Close\r\n", False)])
def test_a_connection_that_closes_is_not_used_again(header: bytes, *, reusable: bool) -> None:
    """Because the peer says so."""
    ours, theirs = socket.socketpair()
    with theirs, closing(HttpConnection(ours)) as connection:
        theirs.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + header + b"\r\n")
        connection.exchange("GET", "/", {}, by=deadline(5))
        assert connection.is_idle() is reusable


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("Sun, 29 Nov 2026 06:00:00 GMT", datetime(2026, 11, 29, 6, tzinfo=UTC)),
        ("Sun, 29 Nov 2026 06:00:00 CET", None),
        ("Sun, 31 Nov 2026 06:00:00 GMT", None),
        ("Sun, 29 Nov 2026 06:00 GMT", None),
        ("yesterday", None),
        ("", None),
        (None, None),
    ],
)
def test_a_date_is_read_or_ignored(text: str | None, at: datetime | None) -> None:
    """The one form that HTTP servers send (RFC 9110, section 5.6.7)."""
    assert parse_date(text) == at


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://localhost", Url("http", "localhost", "localhost", 80, "")),
        ("https://localhost/", Url("https", "localhost", "localhost", 443, "/")),
        ("http://169.254.170.2/v4/a:b-1", Url("http", "169.254.170.2", "169.254.170.2", 80, "/v4/a:b-1")),
        ("https://a.example:8443/v4//x", Url("https", "a.example:8443", "a.example", 8443, "/v4//x")),
        ("http://[fd00:ec2::23]:8000", Url("http", "[fd00:ec2::23]:8000", "fd00:ec2::23", 8000, "")),
        ("http://[::1]/x", Url("http", "[::1]", "::1", 80, "/x")),
    ],
)
def test_a_url_has_a_host_a_port_and_a_path(text: str, url: Url) -> None:
    """The port is that of the scheme where none is given."""
    assert parse_url(text) == url
    assert is_endpoint(text) == (url.path in ("", "/"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "localhost:8000",
        "ftp://localhost",
        "http:/localhost",
        "http://",
        "http:///x",
        "http://:8000",
        "http://localhost:",
        "http://localhost:port",
        "http://localhost:0",
        "http://localhost:99999",
        "http://localhost:٣",
        "http://[::1",
        "http://::1",
        "http://me@localhost",
        "http://localhost?x=1",
        "http://localhost/#x",
        "http://a b",
    ],
)
def test_other_texts_are_not_urls_of_endpoints(text: str) -> None:
    """Such a setting is left to botocore, or is an input error."""
    with pytest.raises(ValueError, match="not a URL of an endpoint"):
        parse_url(text)
    assert not is_endpoint(text)
