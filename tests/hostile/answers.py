"""Answers as DynamoDB sends them, byte for byte, to be damaged by a test."""

from __future__ import annotations

import json
from typing import Any
from zlib import crc32

from cronce.stores.codec import encode
from cronce.stores.dynamo.attributes import to_attributes
from tests.support.builders import JOB, PERIOD, run

KEY = f"run#{PERIOD}"
ROW: dict[str, Any] = dict(to_attributes(encode(run())))
"""The default run as DynamoDB returns it."""

CONDITION_FAILED: dict[str, Any] = {
    "__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
    "Message": "The conditional request failed",
    "Item": ROW,
}


def genuine(body: object = None, *, status: int = 200, **changes: str | None) -> bytes:
    """A whole answer with the headers that DynamoDB sends.

    Args:
        body: JSON unless it is bytes; None for `{}`.
        status: The HTTP status.
        changes: Headers to replace, `-` written as `_`; None leaves one out.
    """
    data = body if isinstance(body, bytes) else json.dumps({} if body is None else body).encode()
    headers: dict[str, str | None] = {
        "Server": "Server",
        "Date": "Sun, 29 Nov 2026 06:00:00 GMT",
        "Content-Type": "application/x-amz-json-1.0",
        "Content-Length": str(len(data)),
        "Connection": "keep-alive",
        "x-amzn-RequestId": "HGV1UFKSQ9LSFQKVPF6BSLAMJ3VV4KQNSO5AEMVJF66Q9ASUAAJG",
        "x-amz-crc32": str(crc32(data)),
    }
    for name, value in changes.items():
        headers[name.replace("_", "-")] = value
    lines = [f"HTTP/1.1 {status} {'OK' if status == 200 else 'Other'}"]
    lines += [f"{name}: {value}" for name, value in headers.items() if value is not None]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + data


def chunked(body: bytes, *sizes: int) -> bytes:
    """The body in chunks of these sizes; the rest in a last one."""
    parts = []
    for size in (*sizes, len(body)):
        if body[:size]:
            parts.append(b"%x\r\n%s\r\n" % (len(body[:size]), body[:size]))
        body = body[size:]
    return b"".join(parts) + b"0\r\n\r\n"


def row(**changes: Any) -> dict[str, Any]:  # noqa: ANN401  # any JSON
    """The default run's attributes with some replaced; `None` leaves one out."""
    return {name: value for name, value in (ROW | changes).items() if value is not None}


def page(*rows: object) -> dict[str, object]:
    """The answer to a Query."""
    return {"Items": list(rows), "Count": len(rows), "ScannedCount": len(rows)}


__all__ = ["CONDITION_FAILED", "JOB", "KEY", "PERIOD", "ROW", "chunked", "genuine", "page", "row"]
