"""Every contender in a long-lived process: take a run, do something, record its end."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol
from uuid import uuid4

from benchmarks.guard.wrappers import by_stdlib

Body = Callable[[], None]


class Contender(Protocol):
    """Guards work in this process. Its methods may be called from several threads."""

    def attempt(self, job: str, period: str, body: Body) -> bool:
        """Do the work and record its end, if nobody else has this job and period; True if done."""


class Cronce:
    """The ledger, with the transport that it selects."""

    def __init__(self, concurrency_policy: str) -> None:
        from cronce import ConcurrencyPolicy, Ledger, Policy  # noqa: PLC0415  # each process loads its contender only

        policy = Policy(concurrency_policy=ConcurrencyPolicy[concurrency_policy])
        self._ledger = Ledger.from_url("dynamodb://ledger", policy=policy)

    def attempt(self, job: str, period: str, body: Body) -> bool:
        """See `Contender.attempt`."""
        claim = self._ledger.claim(job, period)
        if not claim:
            return False
        body()
        claim.complete()
        return True


class Boto3:
    """Two conditional writes by hand, one client for all threads."""

    def __init__(self) -> None:
        import boto3  # noqa: PLC0415

        self._client: Any = boto3.client("dynamodb")

    def attempt(self, job: str, period: str, body: Body) -> bool:
        """See `Contender.attempt`."""
        key, token = f"{job}#{period}", uuid4().hex
        item = {"id": key, "token": token, "status": "RUNNING", "started_at": datetime.now(UTC).isoformat()}
        try:
            self._client.put_item(
                TableName="plain",
                Item={name: {"S": value} for name, value in item.items()},
                ConditionExpression="attribute_not_exists(id)",
            )
        except self._client.exceptions.ConditionalCheckFailedException:
            return False
        body()
        self._client.update_item(
            TableName="plain",
            Key={"id": {"S": key}},
            UpdateExpression="SET #status = :done",
            ConditionExpression="#token = :token",
            ExpressionAttributeNames={"#status": "status", "#token": "token"},
            ExpressionAttributeValues={":done": {"S": "DONE"}, ":token": {"S": token}},
        )
        return True


class Stdlib:
    """Two conditional writes by hand, signed by hand, one connection per thread."""

    def __init__(self) -> None:
        import threading  # noqa: PLC0415

        self._of_thread = threading.local()

    def attempt(self, job: str, period: str, body: Body) -> bool:
        """See `Contender.attempt`."""
        if not hasattr(self._of_thread, "connection"):
            self._of_thread.connection = by_stdlib.SignedConnection()
        key = f"{job}#{period}"
        token = by_stdlib.take(self._of_thread.connection, key)
        if token is None:
            return False
        body()
        by_stdlib.finish(self._of_thread.connection, key, token)
        return True


class Powertools:
    """The decorator of its documentation; its cache in memory is off by default."""

    def __init__(self) -> None:
        from aws_lambda_powertools.utilities.idempotency import (  # noqa: PLC0415
            DynamoDBPersistenceLayer,
            idempotent_function,
        )
        from aws_lambda_powertools.utilities.idempotency.exceptions import (  # noqa: PLC0415
            IdempotencyAlreadyInProgressError,
        )
        from benchmarks.guard.wrappers.by_powertools import config  # noqa: PLC0415

        self._in_progress = IdempotencyAlreadyInProgressError
        guarded = idempotent_function(
            data_keyword_argument="key", persistence_store=DynamoDBPersistenceLayer("plain"), config=config()
        )
        self._run: Any = guarded(_work)

    def attempt(self, job: str, period: str, body: Body) -> bool:
        """See `Contender.attempt`."""
        ran: list[bool] = []

        def noted() -> None:
            ran.append(True)
            body()

        try:
            self._run(key=f"{job}#{period}", body=noted)
        except self._in_progress:
            return False
        return bool(ran)


class DynamoDbLock:
    """Acquire and release; it records no completion."""

    def __init__(self) -> None:
        import boto3  # noqa: PLC0415
        from python_dynamodb_lock.python_dynamodb_lock import (  # noqa: PLC0415
            DynamoDBLockClient,
            DynamoDBLockError,
        )

        self._refused: type[Exception] = DynamoDBLockError
        self._client: Any = DynamoDBLockClient(boto3.resource("dynamodb"), table_name="locks")

    def attempt(self, job: str, period: str, body: Body) -> bool:
        """See `Contender.attempt`."""
        once = timedelta(microseconds=1)
        try:
            lock = self._client.acquire_lock(f"{job}#{period}", retry_period=once * 2, retry_timeout=once)
        except self._refused:
            return False
        body()
        lock.release(best_effort=False)
        return True


class Pynamodb:
    """Two conditional writes of a model."""

    def __init__(self) -> None:
        from pynamodb.attributes import UnicodeAttribute  # noqa: PLC0415
        from pynamodb.exceptions import PutError  # noqa: PLC0415
        from pynamodb.models import Model  # noqa: PLC0415

        class Run(Model):  # type: ignore[misc]  # untyped where it is not installed
            class Meta:
                table_name = "plain"
                region = os.environ["AWS_REGION"]
                host = os.environ["AWS_ENDPOINT_URL_DYNAMODB"]

            id = UnicodeAttribute(hash_key=True)
            token = UnicodeAttribute()
            status = UnicodeAttribute()
            started_at = UnicodeAttribute()

        self._run: Any = Run
        self._refused = PutError

    def attempt(self, job: str, period: str, body: Body) -> bool:
        """See `Contender.attempt`."""
        token, model = uuid4().hex, self._run
        now = datetime.now(UTC).isoformat()
        run = model(f"{job}#{period}", token=token, status="RUNNING", started_at=now)
        try:
            run.save(condition=model.id.does_not_exist())
        except self._refused as error:
            if error.cause_response_code != "ConditionalCheckFailedException":
                raise
            return False
        body()
        run.update(actions=[model.status.set("DONE")], condition=model.token == token)
        return True


CONTENDERS: dict[str, Callable[[], Contender]] = {
    "cronce ALLOW": lambda: Cronce("ALLOW"),
    "cronce FORBID": lambda: Cronce("FORBID"),
    "boto3 by hand": Boto3,
    "stdlib by hand": Stdlib,
    "powertools": Powertools,
    "python-dynamodb-lock": DynamoDbLock,
    "pynamodb": Pynamodb,
}
"""By the names that the report calls them."""


def _work(*, key: str, body: Body) -> None:  # noqa: ARG001  # the key is read by the decorator
    body()
