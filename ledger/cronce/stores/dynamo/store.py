"""The ledger in a DynamoDB table: one conditional PutItem per swap, one conditional UpdateItem per take."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from cronce.aws.answers import NoAnswerError, ServiceError, botocore_missing
from cronce.protocol.operations import Swapped
from cronce.protocol.records import RUN_PREFIX, SLOT_KEY, Record, RunRecord, SlotRecord, run_key
from cronce.stores.codec import decode, encode, encode_time
from cronce.stores.dynamo.attributes import Attributes, condition, from_attributes, taking, to_attributes
from cronce.stores.dynamo.transport import Transport
from cronce.stores.store import Page, page_of
from cronce.vocabulary.errors import InputInvalidError, LedgerUnavailableError, RecordUnreadableError
from cronce.vocabulary.names import checked_region

_HINTS = {
    "ResourceNotFoundException": (
        "check the table's name and Region; if it was deleted, restore it, because in an empty table done work counts"
        " as never done; 'cronce init' creates a new table"
    ),
    "AccessDeniedException": (
        "the role needs dynamodb:GetItem, PutItem, UpdateItem and Query on this table for this job"
    ),
    "UnrecognizedClientException": "check the credentials and the Region",
    "NoCredentialsError": "give the task a task role, or set AWS_PROFILE",
}


class DynamoStore:
    """Keeps rows in a DynamoDB table with partition key `job` and sort key `key`, both strings."""

    def __init__(
        self,
        table: str,
        *,
        region: str | None = None,
        endpoint: str | None = None,
        call_timeout: timedelta = timedelta(seconds=3),
        transport: Transport | None = None,
        client: Any = None,
    ) -> None:
        """Name the table; nothing is loaded or sent yet.

        Args:
            table: Name or ARN of the table.
            region: The AWS Region; None for the environment's.
            endpoint: URL of the service; None for the Region's endpoint.
            call_timeout: The longest that one call may take, name look-up and connection included.
            transport: How requests are sent; None to choose by the environment.
            client: A boto3 DynamoDB client to use, with its own Region and time limits.
        """
        if client is not None:
            from cronce.stores.dynamo.sdk import Sdk  # noqa: PLC0415  # heavy

            transport = Sdk(client)
        self._table = table
        self._region = region
        self._endpoint = endpoint
        self._call_timeout = transport.call_timeout if transport else call_timeout
        self._transport = transport
        self._lock = threading.Lock()
        self._answered = threading.local()

    @property
    def where(self) -> str:
        """Table, Region and endpoint."""
        if self._transport is not None:
            return f"DynamoDB table {self._table} in {self._transport.where}"
        where = self._region or "the environment's Region"
        return f"DynamoDB table {self._table} in {where}" + (f" at {self._endpoint}" if self._endpoint else "")

    @property
    def call_timeout(self) -> timedelta:
        """The longest that one call may take."""
        return self._call_timeout

    @property
    def answered_at(self) -> datetime | None:
        """The `Date` of the service's last answer to this thread."""
        return getattr(self._answered, "at", None)

    def swap(self, record: Record, expected: Record | None) -> Swapped:
        """See `Store.swap`."""
        request = {
            "Item": to_attributes(encode(record)),
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            **condition(expected),
        }
        try:
            self._call("PutItem", request)
        except ServiceError as refusal:
            return Swapped(False, self._record(refusal.item, record.job, record.key) if refusal.item else None)
        return Swapped(True)

    def take(self, run: RunRecord, at: datetime) -> Swapped:
        """See `Store.take`."""
        wanted = SlotRecord(job=run.job, version=0).taken_by(run, at=at)
        due = None if run.scheduled_at is None else encode_time(run.scheduled_at)
        request = {
            "Key": _key(run.job, SLOT_KEY),
            "ReturnValues": "ALL_NEW",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            **taking(encode(wanted), due=due),
        }
        try:
            answer = self._call("UpdateItem", request)
        except ServiceError as refusal:
            return Swapped(False, self._record(refusal.item, run.job, SLOT_KEY) if refusal.item else None)
        taken = self._record(answer["Attributes"], run.job, SLOT_KEY)
        if not wanted.is_held_as(taken):
            raise self._unavailable(
                "MalformedAnswer", "the answer has a slot that this run did not acquire", transient=True
            )
        return Swapped(True, taken)

    def get(self, job: str, key: str) -> Record | None:
        """See `Store.get`."""
        answer = self._call("GetItem", {"Key": _key(job, key), "ConsistentRead": True})
        return self._record(answer["Item"], job, key) if answer.get("Item") else None

    def query(self, job: str, *, limit: int, before: str | None = None) -> Page:
        """See `Store.query`."""
        request = {
            "KeyConditionExpression": "#job = :job AND begins_with(#key, :run)",
            "ExpressionAttributeNames": {"#job": "job", "#key": "key"},
            "ExpressionAttributeValues": {":job": {"S": job}, ":run": {"S": RUN_PREFIX}},
            "ScanIndexForward": False,
            "ConsistentRead": True,
            "Limit": limit + 1,
        }
        if before is not None:
            request["ExclusiveStartKey"] = _key(job, run_key(before))
        answer = self._call("Query", request)
        more = len(answer["Items"]) > limit or "LastEvaluatedKey" in answer
        return page_of(answer["Items"][:limit], lambda item: self._record(item, job, None), more=more)

    def create(self) -> bool:
        """Make an on-demand table with TTL on `expires_at`; in production use the CDK construct.

        Raises:
            InputInvalidError: A table of that name exists with another key; the error says what differs.
        """
        request = {
            "KeySchema": _KEY_SCHEMA,
            "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in _KEY],
            "BillingMode": "PAY_PER_REQUEST",
        }
        try:
            self._call("CreateTable", request)
            created = True
        except LedgerUnavailableError as error:
            if "ResourceInUseException" not in error.cause:
                raise
            created = False
        table = self._await_table()
        if (key := _key_of(table)) != (wanted := "'job' (S) as partition key and 'key' (S) as sort key"):
            raise InputInvalidError(f"key of table {self._table}", key, wanted)
        if created:
            time_to_live = {"Enabled": True, "AttributeName": _EXPIRY}
            self._call("UpdateTimeToLive", {"TimeToLiveSpecification": time_to_live})
        return created

    def differences(self) -> tuple[str, ...]:
        """See `Inspectable.differences`."""
        table = self._await_table()
        found = []
        billing = _dict(table.get("BillingModeSummary")).get("BillingMode", "PROVISIONED")
        if billing != "PAY_PER_REQUEST":
            found.append(f"its billing mode is {billing}: claims fail if the capacity is too small")
        try:
            described = _dict(self._call("DescribeTimeToLive", {}).get("TimeToLiveDescription"))
        except LedgerUnavailableError as error:
            if error.transient:
                raise
            return (*found, f"its time to live is not known: {error.cause}")
        status, attribute = described.get("TimeToLiveStatus"), described.get("AttributeName")
        if status not in ("ENABLED", "ENABLING"):
            found.append(f"its time to live is {status}: rows are never deleted; enable it on {_EXPIRY!r}")
        elif attribute != _EXPIRY:
            found.append(f"its time to live is on {attribute!r} instead of {_EXPIRY!r}")
        return tuple(found)

    def close(self) -> None:
        """See `Store.close`."""
        with self._lock:
            if self._transport is not None:
                self._transport.close()

    def _record(self, attributes: Attributes, job: str, key: str | None) -> Record:
        """The row in an answer.

        Args:
            attributes: The row.
            job: The job that was asked for.
            key: The key that was asked for; None for any run.

        Raises:
            RecordUnreadableError: It is there but cannot be read.
            LedgerUnavailableError: It is another row: the answer belongs to another request.
        """
        found = [attributes.get(name) for name in _KEY]
        if found[0] != {"S": job} or (found[1] != {"S": key} if key is not None else not _is_run(found[1])):
            problem = f"the answer has the row {str(found)[:200]} instead of {job!r} {key or RUN_PREFIX!r}"
            raise self._unavailable("MalformedAnswer", problem, transient=True)
        try:
            item = from_attributes(attributes)
        except ValueError as error:
            raise RecordUnreadableError(job, key or str(found[1]["S"]), str(error)) from None  # type: ignore[index]
        return decode(item)

    def _await_table(self) -> dict[str, Any]:
        """The table's description once it can be used.

        Raises:
            LedgerUnavailableError: It cannot be used, or takes too long to become usable.
        """
        by = time.monotonic() + _LONGEST_CREATION
        while True:
            table: dict[str, Any] = self._call("DescribeTable", {})["Table"]
            status = table.get("TableStatus")
            if status in ("ACTIVE", "UPDATING"):
                return table
            if status != "CREATING" or time.monotonic() > by:
                raise self._unavailable("TableNotReady", f"the table's status is {status}", transient=False)
            time.sleep(0.5)

    def _call(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """The answer's body.

        Raises:
            ServiceError: A condition failed, and nothing else.
            LedgerUnavailableError: There is no usable answer.
        """
        try:
            answer = self._connected().call(operation, {"TableName": self._table, **request})
        except ServiceError as error:
            self._answered.at = error.at
            if error.code == "ConditionalCheckFailedException":
                raise
            raise self._unavailable(error.code, error.message, transient=error.transient) from error
        except NoAnswerError as error:
            raise self._unavailable(error.kind, error.message, transient=error.transient) from error
        self._answered.at = answer.at
        return answer.body

    def _unavailable(self, code: str, message: str, *, transient: bool) -> LedgerUnavailableError:
        return LedgerUnavailableError(self.where, f"{code}: {message}", transient=transient, hint=_HINTS.get(code, ""))

    def _connected(self) -> Transport:
        with self._lock:
            if self._transport is None:
                self._transport = choose_transport(
                    region=self._region, endpoint=self._endpoint, call_timeout=self._call_timeout
                )
            return self._transport


_KEY = ("job", "key")
_EXPIRY = "expires_at"
_LONGEST_CREATION = 120.0
_KEY_SCHEMA = [{"AttributeName": "job", "KeyType": "HASH"}, {"AttributeName": "key", "KeyType": "RANGE"}]


def _key(job: str, key: str) -> Attributes:
    return {"job": {"S": job}, "key": {"S": key}}


def _key_of(table: Mapping[str, Any]) -> str:
    """The table's key in words."""
    definitions = [_dict(each) for each in table.get("AttributeDefinitions") or ()]
    types = {each.get("AttributeName"): each.get("AttributeType") for each in definitions}
    roles = {"HASH": "partition key", "RANGE": "sort key"}
    elements = [_dict(each) for each in table.get("KeySchema") or ()]
    parts = [(each.get("AttributeName"), roles.get(each.get("KeyType", ""))) for each in elements]
    return " and ".join(f"{name!r} ({types.get(name)}) as {role}" for name, role in parts)


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_run(key: object) -> bool:
    return isinstance(key, dict) and isinstance(key.get("S"), str) and key["S"].startswith(RUN_PREFIX)


def choose_transport(*, region: str | None, endpoint: str | None, call_timeout: timedelta) -> Transport:
    """The lean way if it supports every setting of the environment, else botocore.

    Raises:
        InputInvalidError: The environment has a Region that is none.
        InputMissingError: No Region is configured.
        NoAnswerError: Credentials cannot be loaded, or botocore is needed and not installed.
    """
    from cronce.stores.dynamo.signed_http import SignedHttp, why_not_lean  # noqa: PLC0415  # only what is used is loaded

    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        region = region or os.environ.get(name)
        if region is not None:
            checked_region(region, what=name)
    lean = SignedHttp.for_environment(os.environ, region=region, endpoint=endpoint, call_timeout=call_timeout)
    if lean is not None:
        return lean
    try:
        from cronce.stores.dynamo.sdk import Sdk  # noqa: PLC0415  # heavy
    except ModuleNotFoundError:
        raise botocore_missing(why_not_lean(os.environ)) from None
    return Sdk.connect(region=region, endpoint=endpoint, call_timeout=call_timeout)
