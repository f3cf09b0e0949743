"""The shared ledger: an Amazon DynamoDB table, one conditional PutItem a swap."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from email.utils import parsedate_to_datetime
from typing import Any

from cronce.errors import InputInvalidError, LedgerUnavailableError
from cronce.protocol.operations import Swapped
from cronce.protocol.records import RUN_PREFIX, Record, RunRecord, run_key
from cronce.stores.codec import Item, decode, encode
from cronce.stores.store import Page

_TRANSIENT_CODES = frozenset(
    {
        "InternalServerError",
        "InternalFailure",
        "ItemCollectionSizeLimitExceededException",
        "LimitExceededException",
        "ProvisionedThroughputExceededException",
        "ReplicatedWriteConflictException",
        "RequestLimitExceeded",
        "RequestTimeout",
        "RequestTimeoutException",
        "ServiceUnavailable",
        "ServiceUnavailableException",
        "Throttling",
        "ThrottlingException",
        "TransactionConflictException",
        "TransactionInProgressException",
    }
)
"""Errors after which the same request may succeed (DynamoDB Developer Guide, "Error handling")."""

_HINTS = {
    "ResourceNotFoundException": "check the table's name and Region; 'cronce init' makes a table",
    "AccessDeniedException": "the task role needs dynamodb:GetItem, PutItem and Query on this table for this job",
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
        client: Any = None,
    ) -> None:
        """Name the table; nothing is imported or sent yet.

        Args:
            table: Name or ARN of the table.
            region: The AWS Region; None for the environment's.
            endpoint: URL of the service; None for the Region's own.
            call_timeout: The longest that one call may take, a third of it to connect.
            client: A boto3 DynamoDB client to use instead of making one; `region`, `endpoint`
                and `call_timeout` are then taken from it.
        """
        self._table = table
        self._region = region
        self._endpoint = endpoint
        self._call_timeout = _longest_call(client) if client is not None else call_timeout
        self._client = client
        self._lock = threading.Lock()
        self._answered = threading.local()

    @property
    def where(self) -> str:
        """Table, Region and endpoint."""
        client = self._client
        region = client.meta.region_name if client else self._region or "the environment's Region"
        endpoint = client.meta.endpoint_url if client else self._endpoint
        return f"DynamoDB table {self._table} in {region}" + (f" at {endpoint}" if endpoint else "")

    @property
    def call_timeout(self) -> timedelta:
        """The longest that one call may take: connecting and reading, times the client's tries."""
        return self._call_timeout

    @property
    def answered_at(self) -> datetime | None:
        """The `Date` of the service's last answer to this thread."""
        return getattr(self._answered, "at", None)

    def swap(self, record: Record, expected: Record | None) -> Swapped:
        """See `Store.swap`."""
        try:
            self._call(
                "put_item",
                Item=_to_attributes(encode(record)),
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
                **_condition(expected),
            )
        except _ConditionFailedError as failed:
            return Swapped(False, decode(_from_attributes(failed.item)) if failed.item else None)
        return Swapped(True)

    def get(self, job: str, key: str) -> Record | None:
        """See `Store.get`."""
        answer = self._call("get_item", Key={"job": {"S": job}, "key": {"S": key}}, ConsistentRead=True)
        return decode(_from_attributes(answer["Item"])) if answer.get("Item") else None

    def query(self, job: str, *, limit: int, before: str | None = None) -> Page:
        """See `Store.query`."""
        start = {"ExclusiveStartKey": {"job": {"S": job}, "key": {"S": run_key(before)}}} if before is not None else {}
        answer = self._call(
            "query",
            KeyConditionExpression="#job = :job AND begins_with(#key, :run)",
            ExpressionAttributeNames={"#job": "job", "#key": "key"},
            ExpressionAttributeValues={":job": {"S": job}, ":run": {"S": RUN_PREFIX}},
            ScanIndexForward=False,
            ConsistentRead=True,
            Limit=limit + 1,
            **start,
        )
        records = (decode(_from_attributes(item)) for item in answer["Items"][:limit])
        runs = tuple(record for record in records if isinstance(record, RunRecord))
        more = len(answer["Items"]) > limit or "LastEvaluatedKey" in answer
        return Page(runs, runs[-1].period if more and runs else None)

    def create(self) -> bool:
        """Make an on-demand table with TTL on `expires_at`; in production use the CDK construct.

        Raises:
            InputInvalidError: A table of that name stands already, with other keys.
        """
        keys = [{"AttributeName": "job", "KeyType": "HASH"}, {"AttributeName": "key", "KeyType": "RANGE"}]
        try:
            self._call(
                "create_table",
                KeySchema=keys,
                AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("job", "key")],
                BillingMode="PAY_PER_REQUEST",
            )
            created = True
        except LedgerUnavailableError as error:
            if "ResourceInUseException" not in error.cause:
                raise
            created = False
        standing = self._await_table()
        if standing["KeySchema"] != keys:
            raise InputInvalidError("table", self._table, "partition key 'job' and sort key 'key'")
        if created:
            self._call("update_time_to_live", TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires_at"})
        return created

    def close(self) -> None:
        """See `Store.close`."""
        with self._lock:
            if self._client is not None:
                self._client.close()

    def _await_table(self) -> Any:
        while True:
            table = self._call("describe_table")["Table"]
            if table["TableStatus"] == "ACTIVE":
                return table
            time.sleep(0.5)

    def _call(self, method: str, **request: Any) -> Any:
        from botocore import exceptions  # noqa: PLC0415  # heavy
        from botocore.parsers import ResponseParserError  # noqa: PLC0415

        try:
            answer = getattr(self._connected(), method)(TableName=self._table, **request)
        except exceptions.ClientError as error:
            response: Any = error.response
            self._note_date(response)
            code, message = response["Error"].get("Code", ""), response["Error"].get("Message", "")
            if code == "ConditionalCheckFailedException":
                raise _ConditionFailedError(response.get("Item")) from None
            status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
            transient = code in _TRANSIENT_CODES or status >= 500 or status == 429
            raise self._unavailable(code, message, transient=transient) from error
        except (exceptions.BotoCoreError, ResponseParserError) as error:
            # No answer, a garbled one, or credentials that are late; all else is this side's configuration.
            passing = (
                exceptions.ConnectionError,
                exceptions.HTTPClientError,
                ResponseParserError,
                exceptions.CredentialRetrievalError,
                exceptions.MetadataRetrievalError,
            )
            raise self._unavailable(type(error).__name__, str(error), transient=isinstance(error, passing)) from error
        self._note_date(answer)
        return answer

    def _unavailable(self, code: str, message: str, *, transient: bool) -> LedgerUnavailableError:
        return LedgerUnavailableError(self.where, f"{code}: {message}", transient=transient, hint=_HINTS.get(code, ""))

    def _note_date(self, answer: Any) -> None:
        date = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
        try:
            self._answered.at = parsedate_to_datetime(date) if date else None
        except ValueError:
            self._answered.at = None

    def _connected(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = self._connect()
            return self._client

    def _connect(self) -> Any:
        import botocore.session  # noqa: PLC0415  # heavy
        from botocore.config import Config  # noqa: PLC0415
        from botocore.exceptions import NoRegionError  # noqa: PLC0415

        seconds = self._call_timeout.total_seconds()
        config = Config(
            connect_timeout=seconds / 3,
            read_timeout=seconds * 2 / 3,
            retries={"total_max_attempts": 1, "mode": "standard"},  # the ledger retries, and knows how long it may
            user_agent_extra="cronce",
        )
        try:
            return botocore.session.get_session().create_client(
                "dynamodb", region_name=self._region, endpoint_url=self._endpoint, config=config
            )
        except NoRegionError:
            raise InputInvalidError(
                "Region", None, "dynamodb://TABLE?region=eu-west-1, or the environment variable AWS_REGION"
            ) from None


class _ConditionFailedError(Exception):
    """The row does not stand as expected; `item` is what stands, None for no row."""

    def __init__(self, item: dict[str, Any] | None) -> None:
        self.item = item
        super().__init__()


def _condition(expected: Record | None) -> dict[str, Any]:
    """The condition under which the row stands as expected."""
    if expected is None:
        return {"ConditionExpression": "attribute_not_exists(#job)", "ExpressionAttributeNames": {"#job": "job"}}
    parts = ["attribute_exists(#job)"]
    values: dict[str, Any] = {}
    for name, value in (("version", expected.version), ("token", expected.token)):
        # A foreign writer's row may lack either; then it must still lack it.
        if value:
            parts.append(f"#{name} = :{name}")
            values[f":{name}"] = _to_attribute(value)
        else:
            parts.append(f"attribute_not_exists(#{name})")
    condition = {
        "ConditionExpression": " AND ".join(parts),
        "ExpressionAttributeNames": {"#job": "job", "#version": "version", "#token": "token"},
    }
    return condition | ({"ExpressionAttributeValues": values} if values else {})


def _to_attribute(value: Any) -> dict[str, Any]:
    match value:
        case bool():
            return {"BOOL": value}
        case int() | Decimal():
            return {"N": str(value)}
        case str():
            return {"S": value}
        case list():
            return {"L": [_to_attribute(element) for element in value]}
        case dict():
            return {"M": {name: _to_attribute(element) for name, element in value.items()}}
        case _Verbatim():
            return value.attribute
        case _:
            raise TypeError(type(value).__name__)


def _from_attribute(attribute: dict[str, Any]) -> Any:
    ((kind, value),) = attribute.items()
    match kind:
        case "S" | "BOOL":
            return value
        case "N":
            return int(value) if value.lstrip("-").isdigit() else Decimal(value)
        case "L":
            return [_from_attribute(element) for element in value]
        case "M":
            return {name: _from_attribute(element) for name, element in value.items()}
        case _:
            return _Verbatim(attribute)


@dataclass(frozen=True, slots=True)
class _Verbatim:
    """An attribute of a kind that cronce never writes, kept as it came."""

    attribute: dict[str, Any]


def _to_attributes(item: Item) -> dict[str, Any]:
    return {name: _to_attribute(value) for name, value in item.items()}


def _from_attributes(attributes: dict[str, Any]) -> Item:
    return {name: _from_attribute(attribute) for name, attribute in attributes.items()}


def _longest_call(client: Any) -> timedelta:
    """How long one call of a client that somebody else made may take, its own retries included."""
    config = client.meta.config
    retries = config.retries or {}
    # Without a setting the legacy mode tries a DynamoDB request ten times (botocore, retries reference).
    tries = retries.get("total_max_attempts") or retries.get("max_attempts", 9) + 1
    unlimited = timedelta(days=1).total_seconds()
    return timedelta(seconds=tries * ((config.connect_timeout or unlimited) + (config.read_timeout or unlimited)))
