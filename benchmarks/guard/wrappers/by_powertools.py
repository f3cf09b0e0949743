"""A command guarded by the idempotency utility of Powertools for AWS Lambda."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent_function,
)
from aws_lambda_powertools.utilities.idempotency.exceptions import IdempotencyAlreadyInProgressError

TABLE = "plain"


class TaskContext:
    """Powertools reads from it when a run in progress may be taken over."""

    def get_remaining_time_in_millis(self) -> int:
        """A minute, like our lease."""
        return 60_000


def config() -> IdempotencyConfig:
    """As its documentation advises for work outside Lambda."""
    made = IdempotencyConfig(expires_after_seconds=86_400)
    context: Any = TaskContext()
    made.register_lambda_context(context)
    return made


def main(key: str, command: list[str]) -> int:
    """Run the command if the key is free."""

    def run(*, key: str) -> int:  # noqa: ARG001  # read by the decorator
        return subprocess.run(command, check=False).returncode

    guarded: Any = idempotent_function(
        run, data_keyword_argument="key", persistence_store=DynamoDBPersistenceLayer(TABLE), config=config()
    )
    try:
        code: int = guarded(key=key)
    except IdempotencyAlreadyInProgressError:
        return 0
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
