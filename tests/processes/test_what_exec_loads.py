"""What `cronce exec` loads on its way to the decision. Every module here is paid for by every task of a fleet.

A module that is missing from a list, or has gone from the path, fails: nobody adds one unknowingly. What a
millisecond is worth stands in docs/adr/0006-lean-transport.md.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import cronce
from cronce import Ledger

if TYPE_CHECKING:
    from tests.support.postgres_server import PostgresServer
    from tests.support.redis_server import RedisServer

SOURCE_ROOT = str(Path(cronce.__file__).parents[1])

# Without `site`, so that nothing is loaded already that an environment's .pth files bring along.
PROGRAM = """
import os, sys
bare = set(sys.modules)
def leave(code, leave=os._exit):
    with open(os.environ["LOADED"], "w") as report:
        print(code, *(set(sys.modules) - bare), file=report)
    leave(code)
os._exit = leave
from cronce.cli.main import main
main()
"""

BUILT_IN = set(sys.builtin_module_names)
"""Parts of the interpreter's program, which cost nothing; each build of Python has its own."""

STANDARD = """
array collections contextlib copyreg datetime enum functools json keyword math operator
re reprlib select selectors signal socket threading types typing warnings
"""
OURS = """
cronce cronce.cli cronce.cli.main cronce.cli.runtime cronce.cli.runtime.exec
cronce.vocabulary cronce.vocabulary.durations cronce.vocabulary.environment cronce.vocabulary.errors
cronce.vocabulary.exit_codes cronce.vocabulary.metrics cronce.vocabulary.names cronce.vocabulary.payloads
cronce.vocabulary.policy cronce.vocabulary.states cronce.vocabulary.values
cronce.aws cronce.aws.http cronce.aws.task_identity
cronce.protocol cronce.protocol.claiming cronce.protocol.holding cronce.protocol.observing
cronce.protocol.operations cronce.protocol.records cronce.protocol.requests cronce.protocol.overlap
cronce.protocol.transitions
cronce.stores cronce.stores.codec cronce.stores.store cronce.stores.urls
cronce.client cronce.client.claim cronce.client.driver cronce.client.heartbeat cronce.client.ledger
cronce.client.refusal cronce.client.reporting
cronce.client.settings cronce.client.time_source
cronce.guard cronce.guard.attempt cronce.guard.signals
"""
DYNAMODB = """
binascii hashlib hmac
cronce.aws.answers cronce.aws.credentials cronce.aws.sigv4
cronce.stores.dynamo cronce.stores.dynamo.attributes cronce.stores.dynamo.reading cronce.stores.dynamo.signed_http
cronce.stores.dynamo.store cronce.stores.dynamo.transport
"""
SQLITE = "sqlite3 cronce.stores.sqlite"
POSTGRES = """
hashlib cronce.aws.answers
cronce.stores.postgres cronce.stores.postgres.address cronce.stores.postgres.errors cronce.stores.postgres.sql
cronce.stores.postgres.store cronce.stores.postgres.wire
"""
REDIS = """
binascii cronce.stores.redis cronce.stores.redis.promises cronce.stores.redis.resp
cronce.stores.redis.server cronce.stores.redis.store cronce.stores.redis.url cronce.vocabulary.ledger_urls
"""
WINNER = """
ctypes struct cronce.guard.checkpoints cronce.guard.child cronce.guard.keeper cronce.guard.kernel_timer
cronce.guard.processes cronce.guard.run_command
"""


def test_on_dynamodb_it_loads_what_it_uses(dynamodb_local: str, table: str, tmp_path: Path) -> None:
    """The winner, and then the loser, who needs nothing with which to run a command."""
    url = f"dynamodb://{table}?region=eu-west-1&endpoint={dynamodb_local}"
    assert loaded(url, tmp_path) == words(STANDARD, OURS, DYNAMODB, WINNER)
    assert loaded(url, tmp_path) == words(STANDARD, OURS, DYNAMODB)


def test_on_sqlite_it_loads_what_it_uses(tmp_path: Path) -> None:
    """The same."""
    url = f"sqlite:///{tmp_path}/runs.db"
    assert loaded(url, tmp_path) == words(STANDARD, OURS, SQLITE, WINNER)
    assert loaded(url, tmp_path) == words(STANDARD, OURS, SQLITE)


def test_on_postgresql_it_loads_what_it_uses(postgres: PostgresServer, tmp_path: Path) -> None:
    """The same; a password adds SCRAM."""
    ledger = Ledger.from_url(postgres.url())
    ledger.create()
    ledger.close()
    assert loaded(postgres.url(), tmp_path) == words(STANDARD, OURS, POSTGRES, WINNER)
    assert loaded(postgres.url(), tmp_path) == words(STANDARD, OURS, POSTGRES)


def test_on_redis_it_loads_what_it_uses(valkey: RedisServer, tmp_path: Path) -> None:
    """The same; no client of Redis is among it."""
    url = f"{valkey.url}?prefix={tmp_path.name}"
    assert loaded(url, tmp_path) == words(STANDARD, OURS, REDIS, WINNER)
    assert loaded(url, tmp_path) == words(STANDARD, OURS, REDIS)


def test_value_classes_are_of_one_kind_on_this_way_and_of_the_standard_kind_elsewhere() -> None:
    """By room: `value_class` in those that `cronce exec` loads, `dataclasses` in the others."""
    lean = {"vocabulary", "aws", "protocol", "stores", "client", "guard", "cli/runtime"}
    package = Path(cronce.__file__).parent

    def is_wrong(path: Path) -> bool:
        is_lean = any(path.is_relative_to(package / room) for room in lean)
        return (
            re.search(r"^@dataclass\b" if is_lean else r"^@value_class\b", path.read_text(), re.MULTILINE) is not None
        )

    assert [str(path.relative_to(package)) for path in package.rglob("*.py") if is_wrong(path)] == []


def loaded(url: str, folder: Path) -> set[str]:
    """The public modules that one `cronce exec` loads beyond those of a bare interpreter."""
    report = folder / "loaded"
    options = ["--ledger", url, "--job", "daily-digest", "--period", "2026-11-29", "--refused-exit-code=0"]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    subprocess.run(
        [sys.executable, "-S", "-c", PROGRAM, "exec", *options, "--", "true"],
        check=True,
        capture_output=True,
        env=environ | {"LOADED": str(report), "PYTHONPATH": SOURCE_ROOT, "HOME": str(folder)},
    )
    code, *names = report.read_text().split()
    assert code == "0"
    # The inside of a standard package is its own business, and differs between versions of Python.
    tops = {name if name.startswith("cronce") else name.partition(".")[0] for name in names}
    return {name for name in tops if not name.startswith("_")} - BUILT_IN


def words(*lists: str) -> set[str]:
    """Every name of the lists that costs something here."""
    return set(" ".join(lists).split()) - BUILT_IN
