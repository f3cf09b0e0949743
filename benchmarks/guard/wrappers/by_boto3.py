"""A command guarded by hand with boto3: a conditional put, the command, a conditional update."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from uuid import uuid4

import boto3

TABLE = "plain"


def main(key: str, command: list[str]) -> int:
    """Run the command if the key is free."""
    client = boto3.client("dynamodb")
    token = uuid4().hex
    item = {"id": key, "token": token, "status": "RUNNING", "started_at": datetime.now(UTC).isoformat()}
    try:
        client.put_item(
            TableName=TABLE,
            Item={name: {"S": value} for name, value in item.items()},
            ConditionExpression="attribute_not_exists(id)",
        )
    except client.exceptions.ConditionalCheckFailedException:
        return 0
    code = subprocess.run(command, check=False).returncode
    client.update_item(
        TableName=TABLE,
        Key={"id": {"S": key}},
        UpdateExpression="SET #status = :done",
        ConditionExpression="#token = :token",
        ExpressionAttributeNames={"#status": "status", "#token": "token"},
        ExpressionAttributeValues={":done": {"S": "DONE"}, ":token": {"S": token}},
    )
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
