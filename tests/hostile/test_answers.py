"""Only an answer of DynamoDB is accepted as one, by both transports."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from cronce.protocol.operations import Swapped
from cronce.stores.codec import decode, encode
from cronce.stores.dynamo.attributes import from_attributes, to_attributes
from cronce.vocabulary.errors import LedgerUnavailableError, RecordUnreadableError
from tests.hostile.answers import CONDITION_FAILED, JOB, KEY, ROW, chunked, genuine, page, row
from tests.support.builders import T0, run, slot
from tests.support.hostile_server import Peer, hostile

if TYPE_CHECKING:
    from collections.abc import Callable

    from cronce.stores.dynamo import DynamoStore
    from tests.hostile.conftest import Way

HTML = b"<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
DEEP = b'{"Item":' * 50_000


def say(data: bytes) -> Callable[[Peer, bytes], None]:
    """Answer everything with this, and hang up."""
    return lambda peer, _request: peer.send(data)


def swap(store: DynamoStore) -> Swapped:
    """The first claim of the default run."""
    return store.swap(run(), None)


def take(store: DynamoStore) -> Swapped:
    """Acquire the slot for the default run."""
    return store.take(run(), T0)


def get(store: DynamoStore) -> object:
    """Read the default run."""
    return store.get(JOB, KEY)


def query(store: DynamoStore) -> object:
    """Read the newest runs of the job."""
    return store.query(JOB, limit=5)


def chunked_answer(body: bytes) -> bytes:
    """The answer to a PutItem in chunks as given."""
    return genuine(b"", Content_Length=None, Transfer_Encoding="chunked", x_amz_crc32="2745614147") + body


GOOD = {
    "as DynamoDB sends it": genuine(),
    "in chunks": chunked_answer(chunked(b"{}", 1)),
    "with an extension of a chunk and a trailer": chunked_answer(b"2;a=b\r\n{}\r\n0\r\nA: b\r\n\r\n"),
    "after two interim answers": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100 Continue\r\nA: b\r\n\r\n" + genuine(),
    "without a checksum": genuine(x_amz_crc32=None),
    "without a request id": genuine(x_amzn_RequestId=None),
    "with header names in another case": genuine().replace(b"Content-Length", b"CONTENT-LENGTH"),
    "on HTTP/1.0": genuine().replace(b"HTTP/1.1", b"HTTP/1.0"),
    "with bytes behind it": genuine() + b"HTTP/1.1 200 OK\r\n\r\n",
}


@pytest.mark.parametrize("data", GOOD.values(), ids=GOOD)
def test_a_genuine_answer_is_taken(way: Way, data: bytes) -> None:
    """In every form that HTTP allows."""
    with hostile(say(data)) as server, way(server.endpoint) as store:
        assert swap(store) == Swapped(True)


def test_a_refusal_brings_the_row(way: Way) -> None:
    """In the same round trip."""
    with hostile(say(genuine(CONDITION_FAILED, status=400))) as server, way(server.endpoint) as store:
        assert swap(store) == Swapped(False, decode(from_attributes(ROW)))


def test_a_slot_is_taken_by_an_answer_that_has_it(way: Way) -> None:
    """The whole row, held by this very run."""
    taken = slot(run())
    answer = genuine({"Attributes": to_attributes(encode(taken))})
    with hostile(say(answer)) as server, way(server.endpoint) as store:
        assert take(store) == Swapped(True, taken)


NO_ANSWER = {
    "null": genuine(b"null"),
    "a list": genuine(b"[]"),
    "a list of objects": genuine(b"[{}]"),
    "a number": genuine(b"7"),
    "a text": genuine(b'"ok"'),
    "true": genuine(b"true"),
    "nothing": genuine(b""),
    "a space": genuine(b" "),
    "not UTF-8": genuine(b'{"\xff": 1}'),
    "half of an object": genuine(b'{"ConsumedCapacity":'),
    "two objects": genuine(b"{}{}"),
    "a pit": genuine(DEEP),
    "a pit of lists": genuine(b"[" * 100_000),
    "an endless number": genuine(b'{"ConsumedCapacity":' + b"9" * 10_000 + b"}"),
    "the answer to a GetItem": genuine({"Item": ROW}),
    "the answer to a Query": genuine(page(ROW)),
    "HTML with 200": genuine(HTML, Content_Type="text/html", x_amz_crc32=None, x_amzn_RequestId=None),
    "an empty object of somebody else": genuine(x_amz_crc32=None, x_amzn_RequestId=None),
    "a wrong checksum": genuine(x_amz_crc32="1"),
    "a checksum that is none": genuine(x_amz_crc32="x"),
    "no length": genuine(Content_Length=None, x_amz_crc32=None),
    "a short body": genuine(Content_Length="3"),
    "a length twice": genuine().replace(b"Content-Length: 2\r\n", b"Content-Length: 2\r\n" * 2),
    "two lengths": genuine().replace(b"Content-Length: 2\r\n", b"Content-Length: 2\r\nContent-Length: 1\r\n"),
    "two lengths in one": genuine(Content_Length="2, 2"),
    "a length with a sign": genuine(Content_Length="+2"),
    "a length in hexadecimal": genuine(Content_Length="0x2"),
    "a length with an underscore": genuine(Content_Length="0_2"),
    "a negative length": genuine(Content_Length="-2"),
    "a length and a half": genuine(Content_Length="2.0"),
    "an empty length": genuine(Content_Length="", x_amz_crc32=None),
    "an enormous length": genuine(Content_Length="9" * 30),
    "a length and chunks": genuine(Transfer_Encoding="chunked"),
    "an unknown transfer coding": genuine(Transfer_Encoding="gzip", x_amz_crc32=None),
    "a chunk's size that is none": chunked_answer(b"zz\r\n{}\r\n0\r\n\r\n"),
    "a chunk that is cut off": chunked_answer(b"5\r\n{}"),
    "no last chunk": chunked_answer(b"2\r\n{}\r\n"),
    "201": genuine(status=201),
    "204": genuine(b"", status=204),
    "206": genuine(status=206),
    "301": genuine(b"", status=301, Location="http://127.0.0.1:1/"),
    "302 with an object": genuine(status=302, Location="http://127.0.0.1:1/"),
    "400 without a code": genuine(b"{}", status=400),
    "400 with null": genuine(b"null", status=400),
    "400 with a list": genuine(b"[]", status=400),
    "400 with a number as its code": genuine(b'{"__type": 7}', status=400),
    "400 with HTML": genuine(HTML, status=400, Content_Type="text/html", x_amz_crc32=None),
    "400 with a pit": genuine(DEEP, status=400),
    "403 with HTML": genuine(HTML, status=403, Content_Type="text/html", x_amz_crc32=None),
    "500 with nothing": genuine(b"", status=500),
    "502 with HTML": genuine(HTML, status=502, Content_Type="text/html", x_amz_crc32=None),
    "503 with a text": genuine(b"Service Unavailable", status=503, Content_Type="text/plain"),
    "a refusal that is cut off": genuine(CONDITION_FAILED, status=400)[:-9],
    "a refusal with a wrong checksum": genuine(CONDITION_FAILED, status=400, x_amz_crc32="1"),
    "no HTTP": b"SSH-2.0-OpenSSH_9.2\r\n",
    "HTTP/0.9": b"{}",
    "HTTP/2": b"\x00\x00\x12\x04\x00\x00\x00\x00\x00",
    "a status of four digits": b"HTTP/1.1 2000 OK\r\nContent-Length: 2\r\n\r\n{}",
    "a hundred and one headers": b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 101 + b"\r\n",
    "a header without an end": b"HTTP/1.1 200 OK\r\nA: " + b"b" * 70_000 + b"\r\n\r\n",
    "nothing at all": b"",
}


@pytest.mark.parametrize("data", NO_ANSWER.values(), ids=NO_ANSWER)
def test_what_is_no_answer_of_dynamodb_is_unavailable(way: Way, data: bytes) -> None:
    """Whether the write was carried out is unknown; it never counts as written or as refused."""
    with (
        hostile(say(data)) as server,
        way(server.endpoint) as store,
        pytest.raises(LedgerUnavailableError, match="DynamoDB table runs in eu-west-1") as raised,
    ):
        swap(store)
    assert type(raised.value) is LedgerUnavailableError
    assert len(str(raised.value)) < 1000
    assert str(raised.value).isprintable()


@pytest.mark.parametrize(
    ("status", "transient"), [(200, True), (429, True), (500, True), (502, True), (504, True), (403, False)]
)
def test_the_error_for_a_gateways_answer_has_its_status(way: Way, status: int, *, transient: bool) -> None:
    """And with its first words."""
    data = genuine(HTML, status=status, Content_Type="text/html", x_amz_crc32=None, x_amzn_RequestId=None)
    with (
        hostile(say(data)) as server,
        way(server.endpoint) as store,
        pytest.raises(LedgerUnavailableError, match=f"HTTP {status}.*502 Bad Gateway") as raised,
    ):
        get(store)
    assert raised.value.transient is transient


SLOT: dict[str, Any] = dict(to_attributes(encode(slot(run()))))
"""The slot as the default run holds it."""

WRONG_SHAPES: dict[str, tuple[Callable[[DynamoStore], object], Any]] = {
    "GetItem: Item null": (get, {"Item": None}),
    "GetItem: Item a list": (get, {"Item": [ROW]}),
    "GetItem: Item a text": (get, {"Item": "row"}),
    "GetItem: the answer to a Query": (get, page(ROW)),
    "GetItem: another row": (get, {"Item": row(key={"S": "run#1999"})}),
    "GetItem: a row of another job": (get, {"Item": row(job={"S": "other"})}),
    "Query: nothing": (query, {}),
    "Query: Items null": (query, {"Items": None}),
    "Query: Items an object": (query, {"Items": {}}),
    "Query: Items of texts": (query, {"Items": ["row"]}),
    "Query: Items of null": (query, {"Items": [None]}),
    "Query: LastEvaluatedKey a text": (query, page(ROW) | {"LastEvaluatedKey": "x"}),
    "Query: a row of another job": (query, page(row(job={"S": "other"}))),
    "PutItem refused with another row": (swap, CONDITION_FAILED | {"Item": row(key={"S": "run#1999"})}),
    "PutItem refused with a list": (swap, CONDITION_FAILED | {"Item": [ROW]}),
    "UpdateItem: nothing": (take, {}),
    "UpdateItem: Attributes null": (take, {"Attributes": None}),
    "UpdateItem: Attributes a list": (take, {"Attributes": [SLOT]}),
    "UpdateItem: the answer to a GetItem": (take, {"Item": SLOT}),
    "UpdateItem: a run": (take, {"Attributes": ROW}),
    "UpdateItem: a slot of another job": (take, {"Attributes": SLOT | {"job": {"S": "other"}}}),
    "UpdateItem: a free slot": (take, {"Attributes": to_attributes(encode(slot()))}),
    "UpdateItem: a slot that another run holds": (take, {"Attributes": SLOT | {"period": {"S": "1999"}}}),
    "UpdateItem: a slot that another attempt holds": (take, {"Attributes": SLOT | {"attempt": {"N": "7"}}}),
    "UpdateItem: a slot that another claim holds": (take, {"Attributes": SLOT | {"token": {"S": "other"}}}),
    "UpdateItem refused with a run": (take, CONDITION_FAILED),
}


@pytest.mark.parametrize(("ask", "body"), WRONG_SHAPES.values(), ids=WRONG_SHAPES)
def test_an_answer_of_another_shape_is_unavailable(way: Way, ask: Callable[[DynamoStore], object], body: Any) -> None:  # noqa: ANN401
    """An answer to another question, or to none."""
    data = genuine(body, status=400 if "__type" in body else 200)
    with hostile(say(data)) as server, way(server.endpoint) as store, pytest.raises(LedgerUnavailableError) as raised:
        ask(store)
    assert type(raised.value) is LedgerUnavailableError


def nested(depth: int, kind: str) -> Any:  # noqa: ANN401
    """An attribute of that depth."""
    attribute: Any = {"S": "x"}
    for _ in range(depth):
        attribute = {"L": [attribute]} if kind == "L" else {"M": {"a": attribute}}
    return attribute


ODD_ROWS = {
    "an attribute without a type": row(owner={}),
    "an attribute of two types": row(owner={"S": "a", "N": "1"}),
    "an attribute of an unknown type": row(owner={"X": "a"}),
    "an attribute that is a text": row(owner="a"),
    "an attribute that is a list": row(owner=["a"]),
    "an attribute that is a number": row(extra_of_somebody=7),
    "a text that is a number": row(owner={"S": 7}),
    "a text that is null": row(owner={"S": None}),
    "a number that is a number": row(attempt={"N": 1}),
    "a number that is a word": row(attempt={"N": "one"}),
    "a number with an underscore": row(attempt={"N": "1_0"}),
    "a number of other digits": row(attempt={"N": "\u0661"}),
    "an endless number": row(attempt={"N": "9" * 5000}),
    "a truth that is a text": row(x={"BOOL": "true"}),
    "a list that is a text": row(attempts={"L": "x"}),
    "a list of texts": row(attempts={"L": ["x"]}),
    "a list that is null": row(attempts={"L": None}),
    "a map that is a list": row(x={"M": []}),
    "a binary that is a number": row(x={"B": 7}),
    "a set that is a text": row(x={"SS": "a"}),
    "a set of numbers that are numbers": row(x={"NS": [1]}),
    "a pit of lists": row(x=nested(100, "L")),
    "a pit of maps": row(x=nested(100, "M")),
    "a deep pit": row(x=nested(240, "L")),
    "a status that is none": row(status={"S": "DONE"}),
    "no status": row(status=None),
    "a newer schema": row(schema={"N": "99"}),
    "a time without a zone": row(lease_until={"S": "2026-11-29T06:00:00"}),
}


@pytest.mark.parametrize("attributes", ODD_ROWS.values(), ids=ODD_ROWS)
def test_an_odd_row_is_unreadable(way: Way, attributes: dict[str, Any]) -> None:
    """It exists, and no operation uses or overwrites it."""
    answer = genuine({"Item": attributes})
    with hostile(say(answer)) as server, way(server.endpoint) as store, pytest.raises(RecordUnreadableError) as raised:
        get(store)
    assert f"row job='{JOB}' key='{KEY}'" in str(raised.value)
    refusal = genuine(CONDITION_FAILED | {"Item": attributes}, status=400)
    with hostile(say(refusal)) as server, way(server.endpoint) as store, pytest.raises(RecordUnreadableError):
        swap(store)


def test_an_attribute_as_deep_as_dynamodb_allows_is_kept(way: Way) -> None:
    """32 levels (Developer Guide, "Constraints": nested attribute depth)."""
    with hostile(say(genuine({"Item": row(x=nested(31, "M"))}))) as server, way(server.endpoint) as store:
        record = store.get(JOB, KEY)
    assert record is not None
    assert json.dumps(record.extra["x"]).count("a") == 31


DATES = {
    "none": None,
    "a text": "yesterday",
    "without a zone": "Sun, 29 Nov 2026 06:00:00",
    "with -0000": "Sun, 29 Nov 2026 06:00:00 -0000",
    "with an offset": "Sun, 29 Nov 2026 06:00:00 +0100",
    "with a zone's name": "Sun, 29 Nov 2026 06:00:00 EST",
    "of asctime": "Sun Nov 29 06:00:00 2026",
    "of RFC 850": "Sunday, 29-Nov-26 06:00:00 GMT",
    "of ISO 8601": "2026-11-29T06:00:00Z",
    "a day that is none": "Sun, 31 Nov 2026 06:00:00 GMT",
    "an hour that is none": "Sun, 29 Nov 2026 25:00:00 GMT",
    "the year 0": "Sun, 29 Nov 0000 06:00:00 GMT",
    "the last second of time": "Fri, 31 Dec 9999 23:59:59 GMT",
    "the year 10000": "Sat, 01 Jan 10000 00:00:00 GMT",
    "numbers with signs": "Sun, +29 Nov +2026 06:00:00 GMT",
    "a number": "1795932000",
    "nothing": "",
}


@pytest.mark.parametrize("date", DATES.values(), ids=DATES)
def test_a_date_that_cannot_be_used_is_ignored(way: Way, date: str | None) -> None:
    """The answer counts, and says nothing about this host's clock."""
    with hostile(say(genuine(Date=date))) as server, way(server.endpoint) as store:
        assert swap(store) == Swapped(True)
        assert store.answered_at is None


def test_a_date_that_comes_twice_is_ignored(way: Way) -> None:
    """Nobody knows which of the two is right."""
    date = b"Date: Sun, 29 Nov 2026 06:00:00 GMT\r\n"
    with hostile(say(genuine().replace(date, date * 2))) as server, way(server.endpoint) as store:
        assert swap(store) == Swapped(True)
        assert store.answered_at is None


def test_a_date_is_the_stores_time(way: Way) -> None:
    """Of an answer and of a refusal."""
    for data in (genuine(), genuine(CONDITION_FAILED, status=400)):
        with hostile(say(data)) as server, way(server.endpoint) as store:
            swap(store)
            assert store.answered_at is not None
            assert store.answered_at.isoformat() == "2026-11-29T06:00:00+00:00"
