"""The embedded ledger: one file, one host, many processes."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from cronce.protocol.operations import Swapped
from cronce.protocol.records import RUN_PREFIX, Record, run_key
from cronce.stores.codec import decode, encode
from cronce.stores.store import Page, page_of
from cronce.vocabulary.errors import LedgerUnavailableError, RecordUnreadableError

_SCHEMA = """
CREATE TABLE IF NOT EXISTS ledger (
    job TEXT NOT NULL,
    key TEXT NOT NULL,
    version INTEGER NOT NULL,
    token TEXT NOT NULL,
    item TEXT NOT NULL,
    PRIMARY KEY (job, key)
) WITHOUT ROWID
"""
_SWAP = """
INSERT INTO ledger (job, key, version, token, item) VALUES (:job, :key, :version, :token, :item)
ON CONFLICT (job, key) DO UPDATE SET version = excluded.version, token = excluded.token, item = excluded.item
WHERE ledger.version = :seen_version AND ledger.token = :seen_token
"""


class SqliteStore:
    """Keeps rows in a SQLite file in WAL mode; the first claim or `create` makes the file.

    A commit is on the disk before it is answered (`synchronous=FULL`). Not for network file
    systems: their locks are not reliable (sqlite.org, "How To Corrupt An SQLite Database File").
    """

    def __init__(self, path: str | os.PathLike[str], *, timeout: timedelta = timedelta(seconds=3)) -> None:
        """Name the file; nothing is opened yet.

        Args:
            path: The file; its folder must exist.
            timeout: How long one call waits for the lock of another process.
        """
        self._path = os.fspath(path)
        self._timeout = timeout
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    @property
    def where(self) -> str:
        """The file's path."""
        return f"SQLite file {self._path}"

    @property
    def call_timeout(self) -> timedelta:
        """How long a call waits for another process's lock."""
        return self._timeout

    @property
    def answered_at(self) -> datetime | None:
        """A file has no clock of its own."""
        return None

    def swap(self, record: Record, expected: Record | None) -> Swapped:
        """See `Store.swap`."""
        item = json.dumps(encode(record), ensure_ascii=False, separators=(",", ":"))
        row = {
            "job": record.job,
            "key": record.key,
            "version": record.version,
            "token": record.token or "",
            "item": item,
        }
        # A swap of "no row" must not match a row; versions and tokens of real rows are never -1 and "".
        seen = {"seen_version": -1, "seen_token": ""}
        if expected is not None:
            seen = {"seen_version": expected.version, "seen_token": expected.token or ""}
        with self._transaction(create=expected is None) as connection:
            if expected is not None and _fetch(connection, record.job, record.key) is None:
                return Swapped(False, None)
            if connection.execute(_SWAP, row | seen).rowcount == 1:
                return Swapped(True)
            return Swapped(False, _fetch(connection, record.job, record.key))

    def get(self, job: str, key: str) -> Record | None:
        """See `Store.get`; a file that is not there yet has no rows."""
        if self._connection is None and not self._exists():
            return None
        with self._transaction() as connection:
            return _fetch(connection, job, key)

    def query(self, job: str, *, limit: int, before: str | None = None) -> Page:
        """See `Store.query`."""
        # "$" is the character after "#": every run's key lies below it.
        until = run_key(before) if before is not None else RUN_PREFIX[:-1] + "$"
        sql = "SELECT key, item FROM ledger WHERE job = ? AND key >= ? AND key < ? ORDER BY key DESC LIMIT ?"
        with self._transaction() as connection:
            rows = connection.execute(sql, (job, RUN_PREFIX, until, limit + 1)).fetchall()
        return page_of(rows[:limit], lambda row: _decode(job, *row), more=len(rows) > limit)

    def jobs(self) -> tuple[str, ...]:
        """The jobs with rows, in the order of their names."""
        with self._transaction() as connection:
            return tuple(job for (job,) in connection.execute("SELECT DISTINCT job FROM ledger ORDER BY job"))

    def create(self) -> bool:
        """See `Store.create`."""
        existed = self._exists()
        with self._transaction(create=True):
            return not existed

    def close(self) -> None:
        """See `Store.close`."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def __del__(self) -> None:
        # Nobody can close the store of a ledger that a program only drops; Python 3.13 warns of its connection.
        if connection := getattr(self, "_connection", None):
            connection.close()

    @contextmanager
    def _transaction(self, *, create: bool = False) -> Iterator[sqlite3.Connection]:
        """One transaction that holds the write lock from its beginning."""
        try:
            with self._lock:
                connection = self._connection = self._connection or self._open(create=create)
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                    connection.execute("COMMIT")
                finally:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            busy = isinstance(error, sqlite3.OperationalError) and "locked" in str(error)
            raise LedgerUnavailableError(self.where, str(error), transient=busy) from error

    def _exists(self) -> bool:
        return os.path.exists(self._path)  # noqa: PTH110  # pathlib takes longer to load than the claim takes

    def _open(self, *, create: bool) -> sqlite3.Connection:
        if not create and not self._exists():
            raise LedgerUnavailableError(
                self.where,
                "no such file",
                transient=False,
                hint="check the path; the first claim or 'cronce init' makes it",
            )
        connection = sqlite3.connect(
            self._path, timeout=self._timeout.total_seconds(), isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(_SCHEMA)
        return connection


def _fetch(connection: sqlite3.Connection, job: str, key: str) -> Record | None:
    row = connection.execute("SELECT item FROM ledger WHERE job = ? AND key = ?", (job, key)).fetchone()
    return None if row is None else _decode(job, key, row[0])


def _decode(job: str, key: str, text: str) -> Record:
    try:
        item = json.loads(text)
    except (ValueError, RecursionError):
        item = None
    if not isinstance(item, dict):
        raise RecordUnreadableError(job, key, "the row is not a JSON object")
    return decode(item)
