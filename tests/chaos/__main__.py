"""Chaos from the command line; the exit code is 0 if no promise was broken."""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from tests.chaos.play import play
from tests.chaos.programs import dynamodb_url, environ
from tests.support.dynamodb_local import DynamoDbLocal
from tests.support.postgres_server import PostgresServer
from tests.support.redis_server import SAFE, RedisServer, valkey_program


def main() -> int:
    """Run, and print one line of figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000), help="of the random choices")
    parser.add_argument("--seconds", type=float, default=60.0, help="of chaos; the calm takes another minute")
    parser.add_argument("--store", choices=("dynamodb", "postgresql", "valkey"), default="dynamodb")
    parser.add_argument("--folder", type=Path, help="empty folder for the logs; else only those of a bad run are kept")
    options = parser.parse_args()
    os.environ |= environ()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="cronce-chaos-"))
    crash: Callable[[], None] | None = None
    with ExitStack() as servers:
        match options.store:
            case "postgresql":
                postgres = servers.enter_context(PostgresServer())
                url, crash = postgres.url(), postgres.crash
            case "valkey":
                files = servers.enter_context(tempfile.TemporaryDirectory(prefix="cronce-chaos-valkey-"))
                valkey = servers.enter_context(RedisServer(valkey_program(), Path(files), *SAFE))
                url, crash = valkey.url, valkey.restart
            case _:
                url = dynamodb_url("runs", servers.enter_context(DynamoDbLocal()).endpoint)
        outcome = play(folder, url, seed=options.seed, seconds=options.seconds, crash=crash)
    if outcome.violations:
        sys.stdout.write(f"the work's lines and the output of each program are in {folder}\n")
    elif options.folder is None:
        shutil.rmtree(folder)
    sys.stdout.write(f"{outcome}\n")
    return 1 if outcome.violations else 0


if __name__ == "__main__":
    sys.exit(main())
