"""Where contenders run: one DynamoDB Local with their tables, and an environment with nothing else in it."""

from __future__ import annotations

import json
import os
import py_compile
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import boto3
from benchmarks.guard.wrappers import by_stdlib

from tests.support.dynamodb_local import DynamoDbLocal

ROOT = Path(__file__).parents[2]
SCRATCH = ROOT / ".cache" / "bench"
SCRIPTS = Path(sysconfig.get_path("scripts"))

_REGION = "eu-west-1"
_TABLES = {"ledger": ("job", "key"), "plain": ("id",), "locks": ("lock_key", "sort_key")}
_WARM_UP = 500


class World:
    """DynamoDB Local, warm, and what a contender's process needs to reach it."""

    def __init__(self, endpoint: str) -> None:
        """Use the server at the endpoint; see `running`."""
        self.endpoint = endpoint
        self._home = SCRATCH / "home"
        self._home.mkdir(parents=True, exist_ok=True)
        self._with_settings = self._home / "settings"
        self._with_settings.write_text("[default]\noutput = json\n")
        self.complaints = (SCRATCH / "stderr.log").open("w")

    @classmethod
    @contextmanager
    def running(cls) -> Iterator[World]:
        """A world that lasts as long as the `with` block."""
        with DynamoDbLocal() as server:
            world = cls(server.endpoint)
            with world.complaints:
                world._make_tables()  # our own
                yield world

    def environ(self, *, endpoint: str | None = None, plain: bool = True) -> dict[str, str]:
        """The environment of a task.

        Args:
            endpoint: Where DynamoDB is; None for the server itself.
            plain: False to have a settings file, with which cronce does not use its lean transport.
        """
        files = {} if plain else {"AWS_CONFIG_FILE": str(self._with_settings)}
        return files | {
            "PATH": os.environ["PATH"],
            "HOME": str(self._home),
            "AWS_REGION": _REGION,
            "AWS_DEFAULT_REGION": _REGION,
            "AWS_ACCESS_KEY_ID": "local",
            "AWS_SECRET_ACCESS_KEY": "local",
            "AWS_ENDPOINT_URL_DYNAMODB": endpoint or self.endpoint,
            "CRONCE_LEDGER": "dynamodb://ledger",
        }

    def _make_tables(self) -> None:
        os.environ.update(self.environ())
        client: Any = boto3.client("dynamodb")
        for table, keys in _TABLES.items():
            client.create_table(
                TableName=table,
                KeySchema=[
                    {"AttributeName": name, "KeyType": kind}
                    for name, kind in zip(keys, ("HASH", "RANGE"), strict=False)
                ],
                AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in keys],
                BillingMode="PAY_PER_REQUEST",
            )
        connection = by_stdlib.SignedConnection()
        for number in range(_WARM_UP):  # so that Java has compiled the code
            key = f"warm-up#{number}"
            by_stdlib.finish(connection, key, by_stdlib.take(connection, key) or "")


class Worker:
    """A contender in a separate process; see `benchmarks.guard.worker`."""

    def __init__(self, name: str, environ: dict[str, str], complaints: Any) -> None:
        """Start it; `ready` waits for it."""
        self.name = name
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.guard.worker", name],
            cwd=ROOT,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
        )

    def ready(self) -> None:
        """Return once it is warm."""
        self.answer()

    def order(self, **order: Any) -> None:
        """Send it an order."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()

    def answer(self) -> Any:
        """Wait for its answer."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended; see {SCRATCH / 'stderr.log'}")
        return json.loads(line)

    def ask(self, **order: Any) -> Any:
        """Its answer to an order."""
        self.order(**order)
        return self.answer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)


def wrapper(name: str) -> list[str]:
    """The command of a script in `wrappers`, as byte code, as an installed program is."""
    source = Path(__file__).parent / "wrappers" / f"{name}.py"
    compiled = SCRATCH / "byte-code" / f"{name}.pyc"
    py_compile.compile(str(source), cfile=str(compiled), doraise=True)
    return [sys.executable, str(compiled)]
