"""Judges whether what came back is an answer of DynamoDB to this operation; the same for both transports.

A gateway, a captive portal or a broken proxy may answer 200 as well. Only an answer that is complete, has DynamoDB's
marks and the operation's shape counts: anything else means that the outcome of the request is unknown.
"""

from __future__ import annotations

import json
from binascii import crc32
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from cronce.aws.answers import Answer, NoAnswerError, ServiceError, first_words
from cronce.aws.http import parse_date

_MAY_HAVE: dict[str, frozenset[str]] = {
    "PutItem": frozenset({"Attributes", "ConsumedCapacity", "ItemCollectionMetrics"}),
    "UpdateItem": frozenset({"Attributes", "ConsumedCapacity", "ItemCollectionMetrics"}),
    "GetItem": frozenset({"Item", "ConsumedCapacity"}),
}
_MUST_HAVE: dict[str, dict[str, type]] = {
    "UpdateItem": {"Attributes": dict},
    "Query": {"Items": list},
    "CreateTable": {"TableDescription": dict},
    "DescribeTable": {"Table": dict},
    "DescribeTimeToLive": {"TimeToLiveDescription": dict},
    "UpdateTimeToLive": {"TimeToLiveSpecification": dict},
}
"""The members of an operation's output (DynamoDB API Reference)."""


def read_answer(operation: str, status: int, headers: Mapping[str, str], body: bytes) -> Answer:
    """The answer to the operation.

    Args:
        operation: E.g. `PutItem`.
        status: The HTTP status.
        headers: The headers, found by their names in lower case; values of a repeated one are joined by commas.
        body: The body, not decoded.

    Raises:
        ServiceError: DynamoDB refused the request.
        NoAnswerError: This is no answer of DynamoDB to this operation.
    """
    length, coding = headers.get("content-length"), headers.get("transfer-encoding")
    if length is not None and (length != str(len(body)) or coding is not None):
        raise _no_answer("a body that does not have the length of its header", status, body)
    if coding is not None and coding.lower() != "chunked":
        raise _no_answer("a transfer coding that was not asked for", status, body)
    checksum = headers.get("x-amz-crc32")
    if checksum is not None and checksum != str(crc32(body)):
        raise _no_answer("a body that does not have the checksum of its header", status, body)
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        raise _no_answer("a body that is not JSON", status, body) from None
    if not isinstance(answer, dict):
        raise _no_answer("a body that is not a JSON object", status, body)
    if status != 200:
        raise _refusal(answer, status, body, parse_date(headers.get("date")))
    if checksum is None:
        if length is None and coding is None:
            raise _no_answer("a body whose length is not known", status, body)
        if not headers.get("x-amzn-requestid"):
            raise _no_answer("a body without the marks of DynamoDB (x-amz-crc32, x-amzn-RequestId)", status, body)
    check_shape(operation, answer)
    return Answer(answer, parse_date(headers.get("date")))


def check_shape(operation: str, answer: Mapping[str, Any]) -> None:
    """Check that the body has the members of this operation's output, with the right types.

    Raises:
        NoAnswerError: It has not.
    """
    must_have = _MUST_HAVE.get(operation, {})
    allowed = _MAY_HAVE.get(operation)
    whole = all(isinstance(answer.get(name), kind) for name, kind in must_have.items())
    objects = [answer[name] for name in ("Item", "LastEvaluatedKey") if name in answer]
    objects += answer["Items"] if operation == "Query" and whole else []
    known = allowed is None or allowed >= answer.keys() - {"ResponseMetadata"}
    if not (whole and known and all(isinstance(each, dict) for each in objects)):
        raise NoAnswerError("MalformedAnswer", f"the body is not the answer to a {operation}", transient=True)


def _refusal(answer: Mapping[str, Any], status: int, body: bytes, at: datetime | None) -> Exception:
    code, item = answer.get("__type"), answer.get("Item")
    if not isinstance(code, str) or not code or not (item is None or isinstance(item, dict)):
        return _no_answer("an error without DynamoDB's code", status, body)
    message = answer.get("message") or answer.get("Message") or ""
    return ServiceError(code.rpartition("#")[2], str(message), status=status, item=item, at=at)


def _no_answer(what: str, status: int, body: bytes) -> NoAnswerError:
    transient = status in (200, 408, 429) or status >= 500
    return NoAnswerError("MalformedAnswer", f"HTTP {status} with {what}: {first_words(body)}", transient=transient)
