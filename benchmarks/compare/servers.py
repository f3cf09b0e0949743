"""One PostgreSQL for all contenders that use it, and a Valkey for each of the others."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from benchmarks.compare.peers import Peer

from tests.support.postgres_server import PostgresServer
from tests.support.redis_server import SAFE, RedisServer, valkey_program

_CALLS = (
    "SELECT coalesce(sum(calls), 0) FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid WHERE datname = "
)


class Servers:
    """The servers, as long as the `with` block lasts."""

    def __init__(self, peers: Sequence[Peer]) -> None:
        self._peers = peers
        self._resources = ExitStack()
        self._valkeys: dict[str, RedisServer] = {}
        self._postgres: PostgresServer

    def __enter__(self) -> Self:
        """Start them, and count the statements of PostgreSQL from now on."""
        self._postgres = self._resources.enter_context(PostgresServer())
        self._postgres.sql("ALTER SYSTEM SET shared_preload_libraries = pg_stat_statements")
        self._postgres.restart()
        self._postgres.sql("CREATE EXTENSION pg_stat_statements", database="postgres")
        for peer in self._peers:
            if peer.server == "valkey":
                folder = self._resources.enter_context(tempfile.TemporaryDirectory(prefix="cronce-compare-"))
                server = RedisServer(valkey_program(), Path(folder), *SAFE)
                self._valkeys[peer.key] = self._resources.enter_context(server)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop them."""
        self._resources.close()

    def empty(self, peer: Peer) -> str:
        """Make an empty database for the contender; its URL."""
        if peer.server == "valkey":
            self._valkeys[peer.key].ask("FLUSHALL")
            return f"{self._valkeys[peer.key].url}/0"
        self._postgres.sql(f"DROP DATABASE IF EXISTS {peer.key} WITH (FORCE)", database="postgres")
        self._postgres.sql(f"CREATE DATABASE {peer.key} OWNER cronce", database="postgres")
        return f"postgresql://cronce@127.0.0.1:{self._postgres.port}/{peer.key}"

    def statements(self, peer: Peer) -> int:
        """How many statements or commands the contender has sent."""
        if peer.server == "valkey":
            lines = self._valkeys[peer.key].ask("INFO", "commandstats").decode().splitlines()
            return sum(int(line.split("calls=")[1].split(",")[0]) for line in lines if "calls=" in line)
        return int(self._postgres.sql(f"{_CALLS}'{peer.key}'", database="postgres"))

    def versions(self) -> dict[str, str]:
        """The servers' versions."""
        found = {"PostgreSQL": self._postgres.sql("SHOW server_version", database="postgres").strip()}
        for server in self._valkeys.values():
            info = server.ask("INFO", "server").decode()
            found["Valkey"] = info.split("valkey_version:")[1].split()[0]
        return found

    def restart(self, away: float) -> None:
        """Stop them all, wait that many seconds, and start them again on the same files."""
        self._postgres.stop()
        for valkey in self._valkeys.values():
            valkey.kill()
        time.sleep(away)
        self._postgres._start()
        for valkey in self._valkeys.values():
            valkey._start()
