"""The connection between a real botocore client and the service, with faults that a test plans."""

from __future__ import annotations

import json
from enum import StrEnum
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, assert_never

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders
from botocore.exceptions import ConnectTimeoutError, ReadTimeoutError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mypy_boto3_dynamodb import DynamoDBClient


class Fault(StrEnum):
    """What can happen to a request."""

    REQUEST_LOST = "request lost"
    ANSWER_LOST = "answer lost"
    DUPLICATE_DELIVERY = "duplicate delivery"
    THROTTLED = "throttled"
    TRANSACTION_CONFLICT = "transaction conflict"
    NO_CREDENTIALS = "no credentials"
    WRONG_TABLE_OR_REGION = "wrong table or Region"


class Wire:
    """A layer between the client and the service: first the planned faults, then none.

    Attributes:
        arrived: The operations that reached the service, e.g. `PutItem`.
        refused: How many of them were answered with an error.
    """

    def __init__(self, client: DynamoDBClient, *, table: str) -> None:
        """Insert the layer; only this test uses the client."""
        inside: Any = client
        self._session = inside._endpoint.http_session
        self._table = table
        self._signer = inside._request_signer
        self._credentials = self._signer._credentials
        self._planned: Iterator[Fault | str | None] = iter(())
        self._now: Fault | str | None = None
        self.arrived: list[str] = []
        self.refused = 0
        inside._endpoint.http_session = self
        client.meta.events.register("before-sign.dynamodb", self._before_sign)

    def meets(self, faults: Iterable[Fault | str | None]) -> None:
        """Plan one fault for each of the next requests; a text is the code of an error answer."""
        self._planned = iter(faults)

    def _before_sign(self, **_event: object) -> None:
        self._now = next(self._planned, None)
        self._signer._credentials = None if self._now is Fault.NO_CREDENTIALS else self._credentials

    def send(self, request: AWSPreparedRequest) -> AWSResponse:
        """Called by botocore: the answer, or an exception as its own session raises it."""
        match self._now:
            case None | Fault.NO_CREDENTIALS:
                return self._send(request)
            case Fault.REQUEST_LOST:
                raise ConnectTimeoutError(endpoint_url=request.url)
            case Fault.ANSWER_LOST:
                self._send(request)
                raise ReadTimeoutError(endpoint_url=request.url)
            case Fault.DUPLICATE_DELIVERY:
                self._send(request)
                return self._send(request)
            case Fault.THROTTLED:
                return error_answer(request, "ProvisionedThroughputExceededException")
            case Fault.TRANSACTION_CONFLICT:
                return error_answer(request, "TransactionConflictException")
            case Fault.WRONG_TABLE_OR_REGION:
                # DynamoDB Local does not look at signatures.
                assert isinstance(request.body, bytes)
                request.body = request.body.replace(self._table.encode(), self._table[::-1].encode())
                return self._send(request)
            case str():
                return error_answer(request, self._now)
            case _:
                assert_never(self._now)

    def close(self) -> None:
        """Close the session."""
        self._session.close()

    def _send(self, request: AWSPreparedRequest) -> AWSResponse:
        target = request.headers["X-Amz-Target"]
        self.arrived.append((target.decode() if isinstance(target, bytes) else target).rpartition(".")[2])
        response: AWSResponse = self._session.send(request)
        self.refused += response.status_code != 200
        return response


def error_answer(request: AWSPreparedRequest, code: str, *, status: int = 400) -> AWSResponse:
    """An error in DynamoDB's format."""
    body = {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": f"{code} was planned by the test"}
    return answer(request, json.dumps(body).encode(), status=status)


def answer(request: AWSPreparedRequest, body: bytes, *, status: int) -> AWSResponse:
    """An answer as botocore's session returns it."""
    raw: Any = SimpleNamespace(stream=lambda: iter([body]))
    return AWSResponse(request.url, status, HTTPHeaders(), raw)
