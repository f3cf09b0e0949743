"""A command guarded by hand with the standard library alone: the least that Python can do."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import sys
import time
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

TABLE = "plain"


class SignedConnection:
    """One connection, each request signed with Signature Version 4."""

    def __init__(self) -> None:
        self._host = urlsplit(os.environ["AWS_ENDPOINT_URL_DYNAMODB"]).netloc
        self._connection = HTTPConnection(self._host, timeout=2)

    def call(self, operation: str, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Status and body of the answer."""
        body = json.dumps(request)
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        sent = {
            "content-type": "application/x-amz-json-1.0",
            "host": self._host,
            "x-amz-date": stamp,
            "x-amz-target": f"DynamoDB_20120810.{operation}",
        }
        names, scope = ";".join(sent), f"{stamp[:8]}/{os.environ['AWS_REGION']}/dynamodb/aws4_request"
        lines = "".join(f"{name}:{value}\n" for name, value in sent.items())
        canonical = f"POST\n/\n\n{lines}\n{names}\n{_digest(body)}"
        to_sign = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{_digest(canonical)}"
        key = b"AWS4" + os.environ["AWS_SECRET_ACCESS_KEY"].encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        sent["authorization"] = (
            f"AWS4-HMAC-SHA256 Credential={os.environ['AWS_ACCESS_KEY_ID']}/{scope}, SignedHeaders={names}, "
            f"Signature={hmac.digest(key, to_sign.encode(), 'sha256').hex()}"
        )
        try:
            return self._exchange(body, sent)
        except ConnectionError:  # the server closed it while it was idle
            self._connection.close()
            return self._exchange(body, sent)

    def _exchange(self, body: str, headers: dict[str, str]) -> tuple[int, dict[str, Any]]:
        self._connection.request("POST", "/", body, headers)
        answer = self._connection.getresponse()
        return answer.status, json.loads(answer.read())


def take(connection: SignedConnection, key: str) -> str | None:
    """A token if the key was free."""
    token = os.urandom(16).hex()
    item = {"id": key, "token": token, "status": "RUNNING", "started_at": str(time.time())}
    request = {
        "TableName": TABLE,
        "Item": {name: {"S": value} for name, value in item.items()},
        "ConditionExpression": "attribute_not_exists(id)",
    }
    status, answer = connection.call("PutItem", request)
    if status != 200 and "ConditionalCheckFailed" not in answer["__type"]:
        raise OSError(answer)
    return token if status == 200 else None


def finish(connection: SignedConnection, key: str, token: str) -> None:
    """Record the end."""
    request = {
        "TableName": TABLE,
        "Key": {"id": {"S": key}},
        "UpdateExpression": "SET #status = :done",
        "ConditionExpression": "#token = :token",
        "ExpressionAttributeNames": {"#status": "status", "#token": "token"},
        "ExpressionAttributeValues": {":done": {"S": "DONE"}, ":token": {"S": token}},
    }
    status, answer = connection.call("UpdateItem", request)
    if status != 200:
        raise OSError(answer)


def main(key: str, command: list[str]) -> int:
    """Run the command if the key is free."""
    connection = SignedConnection()
    token = take(connection, key)
    if token is None:
        return 0
    _, status = os.waitpid(os.posix_spawnp(command[0], command, os.environ), 0)
    finish(connection, key, token)
    return os.waitstatus_to_exitcode(status)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
