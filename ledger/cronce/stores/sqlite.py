"""The embedded ledger: one file, one host, many processes."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import Any

from cronce.protocol.operations import Swapped
from cronce.protocol.records import (
    RUN_PREFIX,
    SLOT_KEY,
    EffectsRecord,
    GroupSlotRecord,
    Record,
    RunRecord,
    SlotRecord,
    run_key,
)
from cronce.stores.codec import from_json, to_json
from cronce.stores.store import Page, page_of
from cronce.vocabulary.errors import ClockSkewError, LedgerUnavailableError, RecordUnreadableError
from cronce.vocabulary.states import Reason, Status

_SCHEMA = """
CREATE TABLE IF NOT EXISTS ledger (
    job TEXT NOT NULL,
    key TEXT NOT NULL,
    version INTEGER NOT NULL,
    token TEXT NOT NULL,
    item TEXT NOT NULL,
    expires_at INTEGER,
    boot TEXT,
    PRIMARY KEY (job, key)
) WITHOUT ROWID
"""
_ADDED = {"expires_at": "INTEGER", "boot": "TEXT"}
"""Columns that a file of an older version lacks."""
_EXPIRY_INDEX = "CREATE INDEX IF NOT EXISTS ledger_expiry ON ledger (expires_at) WHERE expires_at IS NOT NULL"
_SWAP = """
INSERT INTO ledger (job, key, version, token, item, expires_at, boot)
VALUES (:job, :key, :version, :token, :item, :expires_at, :boot)
ON CONFLICT (job, key) DO UPDATE
SET version = excluded.version, token = excluded.token, item = excluded.item, expires_at = excluded.expires_at,
    boot = CASE WHEN ledger.token = excluded.token THEN ledger.boot ELSE excluded.boot END
WHERE ledger.version = :seen_version AND ledger.token = :seen_token
"""
_BOOT = "SELECT boot FROM ledger WHERE job = ? AND key = ? AND version = ? AND token = ?"
_EXPIRED = "SELECT job, key, item FROM ledger WHERE expires_at < ? ORDER BY expires_at LIMIT ?"

PRUNED_AT_ONCE = 100
"""How many rows one claim deletes at most. A run with 10,000 effects has about 90."""

_PRUNED_AFTER = 86400
"""Seconds by which a row must be past its `expires_at`: the clocks that wrote the two times may differ."""


_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_AGREES_WITHIN = 5.0
"""Seconds between a claim's time and this host's: beyond, the claim's time comes from elsewhere."""


def boot_clock() -> tuple[str, float] | None:
    """The id of this boot and the seconds since; nobody can set that clock. None where Linux does not have it."""
    try:
        file = os.open(_BOOT_ID, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.read(file, 64).decode("ascii").strip(), time.clock_gettime(time.CLOCK_BOOTTIME)
        finally:
            os.close(file)
    except (OSError, AttributeError, UnicodeError):
        return None


class SqliteStore:
    """Keeps rows in a SQLite file in WAL mode. The first claim or `create` makes the file, for its owner alone.

    A commit is on the disk before it is answered (`synchronous=FULL`). Reads take no lock that a writer needs, and
    work on a read-only mount. A claim deletes some rows that are past `expires_at`, as DynamoDB does by itself.

    All processes are on one host. So its boot clock (Linux) shows whether the wall clock was set while a run is
    RUNNING; the run is then not taken over before its lease has expired by the boot clock.

    Not for network file systems: their locks are not reliable (sqlite.org, "How To Corrupt An SQLite Database File").
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        timeout: timedelta = timedelta(seconds=3),
        boot_clock: Callable[[], tuple[str, float] | None] = boot_clock,
    ) -> None:
        """Set the file; nothing is opened yet.

        Args:
            path: The file; its folder must exist.
            timeout: How long one call waits for the lock of another process.
            boot_clock: The id of this boot and the seconds since; None to trust the wall clock.
        """
        self._boot_clock = boot_clock
        self._path = os.fspath(path)
        self._timeout = timeout
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._writable = False

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
        """None: a file has no clock."""
        return None

    def swap(self, record: Record, expected: Record | None) -> Swapped:
        """See `Store.swap`."""
        statement = _parameters(record, expected, boot=self._boot_of(record))
        with self._transaction(create=expected is None) as connection:
            if expected is not None and _fetch(connection, record.job, record.key) is None:
                return Swapped(False, None)
            self._check_clock(connection, record, expected)
            if connection.execute(_SWAP, statement).rowcount == 1:
                if expected is None and isinstance(record, RunRecord) and record.claimed_at is not None:
                    # Neither the claim nor this host alone decides that a row is old.
                    _prune(connection, min(record.claimed_at.timestamp(), time.time()) - _PRUNED_AFTER)
                return Swapped(True)
            return Swapped(False, _fetch(connection, record.job, record.key))

    def take(self, run: RunRecord, at: datetime) -> Swapped:
        """See `Store.take`."""
        with self._transaction(create=True) as connection:
            slot = _fetch(connection, run.job, SLOT_KEY)
            seen = slot or SlotRecord(job=run.job, version=0)
            if not isinstance(seen, SlotRecord) or not seen.is_free_for(run):
                return Swapped(False, slot)
            taken = seen.taken_by(run, at=at)
            connection.execute(_SWAP, _parameters(taken, slot, boot=None))
            return Swapped(True, taken)

    def _boot_of(self, record: Record) -> str | None:
        """The boot, and the wall clock's time at its beginning as this record's writer has it."""
        boot = self._boot_clock()
        if boot is None or not isinstance(record, RunRecord | GroupSlotRecord) or record.heartbeat_at is None:
            return None
        now = time.time()
        return f"{boot[0]} {now - boot[1]!r}" if abs(now - record.heartbeat_at.timestamp()) <= _AGREES_WITHIN else None

    def _check_clock(self, connection: sqlite3.Connection, record: Record, expected: Record | None) -> None:
        """Check that a lease has expired by the boot clock too before the run is taken from its owner.

        Raises:
            ClockSkewError: It has not: the wall clock was set since the owner claimed the run.
        """
        boot, taken = self._boot_clock(), _taken_from(expected, record)
        if boot is None or taken is None or taken.lease_until is None:
            return
        row = connection.execute(_BOOT, (taken.job, taken.key, taken.version, taken.token)).fetchone()
        written_in, _, began_at = (row[0] if row and isinstance(row[0], str) else "").rpartition(" ")
        if written_in != boot[0]:
            return
        left = taken.lease_until.timestamp() - float(began_at) - boot[1]
        if left > 0:
            job = taken.job if isinstance(taken, RunRecord) else taken.of_job
            raise ClockSkewError(
                self.where,
                f"this host's clock was set while attempt {taken.attempt} of {job} {taken.period} is"
                f" running: its lease still lasts for {left:.0f} s",
                transient=False,
                hint="it is not taken over; try again after its end",
            )

    def get(self, job: str, key: str) -> Record | None:
        """See `Store.get`; a file that does not exist yet has no rows."""
        if self._connection is None and not self._exists():
            return None
        rows = self._read("SELECT item FROM ledger WHERE job = ? AND key = ?", job, key)
        return from_json(job, key, rows[0][0]) if rows else None

    def query(self, job: str, *, limit: int, before: str | None = None) -> Page:
        """See `Store.query`."""
        # "$" is the character after "#": the key of every run is smaller.
        until = run_key(before) if before is not None else RUN_PREFIX[:-1] + "$"
        sql = "SELECT key, item FROM ledger WHERE job = ? AND key >= ? AND key < ? ORDER BY key DESC LIMIT ?"
        rows = self._read(sql, job, RUN_PREFIX, until, limit + 1)
        return page_of(rows[:limit], lambda row: from_json(job, *row), more=len(rows) > limit)

    def jobs(self) -> tuple[str, ...]:
        """The jobs with rows, in the order of their names."""
        return tuple(job for (job,) in self._read("SELECT DISTINCT job FROM ledger ORDER BY job"))

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
                self._writable = False

    def __del__(self) -> None:
        # Nobody can close the store of a ledger that a program only drops; Python 3.13 warns of its connection.
        if connection := getattr(self, "_connection", None):
            connection.close()

    @contextmanager
    def _transaction(self, *, create: bool = False) -> Iterator[sqlite3.Connection]:
        """One transaction that holds the write lock from its beginning."""
        try:
            with self._lock:
                connection = self._open_to_write(create=create)
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                    connection.execute("COMMIT")
                finally:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
        except (sqlite3.Error, OSError) as error:
            raise self._unavailable(error) from error

    def _read(self, sql: str, *parameters: object) -> list[Any]:
        """The rows of one SELECT: a snapshot of the latest commit, for which no writer waits."""
        try:
            with self._lock:
                return self._open_to_read().execute(sql, parameters).fetchall()
        except sqlite3.Error as error:
            if "no such table" in str(error):  # the first claim is about to write, or it is another program's file
                return []
            raise self._unavailable(error) from error

    def _unavailable(self, error: Exception) -> LedgerUnavailableError:
        busy = isinstance(error, sqlite3.OperationalError) and "locked" in str(error)
        return LedgerUnavailableError(self.where, str(error), transient=busy)

    def _exists(self) -> bool:
        return os.path.exists(self._path)  # noqa: PTH110  # pathlib takes longer to load than the claim takes

    def _open_to_write(self, *, create: bool) -> sqlite3.Connection:
        if self._writable and self._connection is not None:
            return self._connection
        if create and not self._exists():
            # SQLite gives the files beside it the same mode (sqlite.org, "Write-Ahead Logging").
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        connection = self._connection = self._connection or self._connect()
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(_SCHEMA)
        columns = {name for _, name, *_ in connection.execute("PRAGMA table_info (ledger)")}
        for name in _ADDED.keys() - columns:
            with suppress(sqlite3.OperationalError):  # another process has just added it
                connection.execute(f"ALTER TABLE ledger ADD COLUMN {name} {_ADDED[name]}")
        connection.execute(_EXPIRY_INDEX)
        self._writable = True
        return connection

    def _open_to_read(self) -> sqlite3.Connection:
        if self._connection is None:
            folder = os.path.dirname(os.path.abspath(self._path))  # noqa: PTH100, PTH120
            writable = os.access(self._path, os.W_OK) and os.access(folder, os.W_OK)
            self._connection = self._connect() if writable or not self._exists() else self._connect_read_only()
        return self._connection

    def _connect(self, *, parameters: str | None = None) -> sqlite3.Connection:
        if not self._exists():
            raise LedgerUnavailableError(
                self.where,
                "no such file",
                transient=False,
                hint="check the path; the first claim or 'cronce init' creates it",
            )
        path = self._path
        if parameters is not None:
            from urllib.parse import quote  # noqa: PLC0415  # takes long to load, and claims do not need it

            path = f"file:{quote(os.path.abspath(path))}?{parameters}"  # noqa: PTH100
        return sqlite3.connect(
            path,
            timeout=self._timeout.total_seconds(),
            isolation_level=None,
            check_same_thread=False,
            uri=parameters is not None,
        )

    def _connect_read_only(self) -> sqlite3.Connection:
        """A connection to a file that cannot be written.

        SQLite reads a file in WAL mode through an index beside it. If a writer has none open, the index does not exist
        and cannot be made; but then nothing changes the file either.
        """
        connection = self._connect(parameters="mode=ro")
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:
            connection.close()
            if os.path.exists(f"{self._path}-wal"):  # noqa: PTH110
                raise
            return self._connect(parameters="mode=ro&immutable=1")
        return connection


def _taken_from(expected: Record | None, record: Record) -> RunRecord | GroupSlotRecord | None:
    """The row whose owner loses the run, or the group, by this write; None if nobody does."""
    match expected, record:
        case RunRecord(status=Status.RUNNING), RunRecord():
            return expected if record.token != expected.token or record.reason == Reason.LEASE_LOST else None
        case GroupSlotRecord(), GroupSlotRecord():
            return expected if record.of_job is not None and record.of_job != expected.of_job else None
        case _:
            return None


def _prune(connection: sqlite3.Connection, before: float) -> None:
    """Delete some rows that expired before this time. A row that is RUNNING or cannot be read is kept."""
    for job, key, text in connection.execute(_EXPIRED, (before, PRUNED_AT_ONCE)).fetchall():
        try:
            record = from_json(job, key, text)
        except RecordUnreadableError:
            record = None
        ended = isinstance(record, RunRecord) and record.status is not Status.RUNNING
        if ended or isinstance(record, EffectsRecord):
            connection.execute("DELETE FROM ledger WHERE job = ? AND key = ?", (job, key))
        else:
            connection.execute("UPDATE ledger SET expires_at = NULL WHERE job = ? AND key = ?", (job, key))


def _parameters(record: Record, expected: Record | None, *, boot: str | None) -> dict[str, Any]:
    """The parameters of `_SWAP`. A swap of "no row" must not match a row; no row has the version -1."""
    return {
        "job": record.job,
        "key": record.key,
        "version": record.version,
        "token": record.token or "",
        "item": to_json(record),
        "expires_at": _epoch(record.expires_at),
        "boot": boot,
        "seen_version": expected.version if expected else -1,
        "seen_token": (expected.token or "") if expected else "",
    }


def _epoch(at: datetime | None) -> int | None:
    return None if at is None else int(at.timestamp())


def _fetch(connection: sqlite3.Connection, job: str, key: str) -> Record | None:
    row = connection.execute("SELECT item FROM ledger WHERE job = ? AND key = ?", (job, key)).fetchone()
    return None if row is None else from_json(job, key, row[0])
