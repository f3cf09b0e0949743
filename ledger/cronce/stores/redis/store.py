"""The ledger in Redis or Valkey: one script per swap."""

from __future__ import annotations

import threading
from binascii import crc32
from datetime import UTC, datetime, timedelta

from cronce.protocol.operations import Swapped
from cronce.protocol.records import RUN_PREFIX, SLOT_KEY, Record, RunRecord, SlotRecord, run_key
from cronce.stores.codec import from_json, to_json
from cronce.stores.redis.server import RedisServer
from cronce.stores.store import Page, page_of
from cronce.vocabulary.errors import LedgerUnavailableError

_SWAP = """
local row = redis.call('HMGET', KEYS[1], 'version', 'token', 'item')
local now = tonumber(redis.call('TIME')[1])
local seen = ''
if row[1] or row[3] then seen = (row[1] or '0') .. ' ' .. (row[2] or '') end
if seen ~= ARGV[1] then return {0, row[3], now} end
redis.call('HSET', KEYS[1], 'version', ARGV[2], 'token', ARGV[3], 'item', ARGV[4])
if ARGV[1] == '' then
  local gone = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', '(' .. now, 'LIMIT', 0, 20)
  if #gone > 0 then
    redis.call('ZREM', KEYS[2], unpack(gone))
    redis.call('ZREM', KEYS[3], unpack(gone))
  end
  redis.call('SADD', KEYS[4], ARGV[5])
end
redis.call('ZADD', KEYS[2], 0, ARGV[6])
if ARGV[7] == '' then
  redis.call('PERSIST', KEYS[1])
  redis.call('ZREM', KEYS[3], ARGV[6])
else
  local at = math.max(tonumber(ARGV[7]), now + 86400)
  redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', at * 1000))
  redis.call('ZADD', KEYS[3], string.format('%.0f', at), ARGV[6])
end
return {1, false, now}
"""
"""KEYS: the row; the job's keys in their order; the same by the time when they expire; the names of the group's jobs.
ARGV: expected version and token, or nothing; version, token and item to write; job; key; expires_at, or nothing.

A row is kept for at least a day after it was written, by the server's clock: the clock that computed `expires_at` may
be wrong. A first claim forgets the names of some rows that have expired.
"""
SWAP = ("03594f5cff8f849a8631e880b8839607f5f19598", _SWAP)
"""With its SHA-1, as a constant: `hashlib` takes longer to load than the claim takes."""

_GROUPS = 16
_MOST_TAKES = 5


class RedisStore:
    """Keeps rows in Redis 7 or newer, Valkey, or a service that is compatible with them.

    All keys of a job have one hash tag, so that a cluster keeps them on one node. There are 16 tags: the jobs are
    listed by asking for the names of each.
    """

    def __init__(self, server: RedisServer, *, where: str, call_timeout: timedelta, prefix: str = "cronce") -> None:
        """Use a server; nothing is connected yet.

        Args:
            server: The server.
            where: The server and the prefix, for messages.
            call_timeout: The longest that one call may take.
            prefix: The beginning of all keys, without braces.
        """
        self._server = server
        self._where = where
        self._call_timeout = call_timeout
        self._prefix = prefix
        self._answered = threading.local()

    @property
    def where(self) -> str:
        """The server's address and the prefix."""
        return self._where

    @property
    def call_timeout(self) -> timedelta:
        """The longest that one call may take."""
        return self._call_timeout

    @property
    def answered_at(self) -> datetime | None:
        """The server's TIME in its last answer to this thread."""
        return getattr(self._answered, "at", None)

    @property
    def caution(self) -> str | None:
        """See `Cautious.caution`."""
        return self._server.caution

    def swap(self, record: Record, expected: Record | None) -> Swapped:
        """See `Store.swap`."""
        group, job, key = _group_of(record.job), record.job, record.key
        names = (self._row(group, job, key), *(self._key(group, kind, job) for kind in ("keys", "expiry")))
        expires_at = record.expires_at
        written, item, now = self._server.run(
            group,
            SWAP,
            (*names, self._key(group, "jobs")),
            (
                "" if expected is None else f"{expected.version} {expected.token or ''}",
                record.version,
                record.token or "",
                to_json(record),
                job,
                key,
                "" if expires_at is None else int(expires_at.timestamp()),
            ),
        )
        self._note_time(now)
        return Swapped(True) if written else Swapped(False, None if item is None else from_json(job, key, item))

    def take(self, run: RunRecord, at: datetime) -> Swapped:
        """See `Store.take`. A read and a swap on what was read; again if another request came in between."""
        for _ in range(_MOST_TAKES):
            seen = self.get(run.job, SLOT_KEY)
            slot = SlotRecord(job=run.job, version=0) if seen is None else seen
            if not isinstance(slot, SlotRecord) or not slot.is_free_for(run):
                return Swapped(False, seen)
            taken = slot.taken_by(run, at=at)
            if self.swap(taken, seen).written:
                return Swapped(True, taken)
        raise LedgerUnavailableError(self._where, "the slot changed at each of several tries", transient=True)

    def get(self, job: str, key: str) -> Record | None:
        """See `Store.get`."""
        [item] = self._items(job, [key])
        return None if item is None else from_json(job, key, item)

    def query(self, job: str, *, limit: int, before: str | None = None) -> Page:
        """See `Store.query`."""
        group = _group_of(job)
        until = run_key(before) if before is not None else RUN_PREFIX[:-1] + "$"
        rows: list[tuple[str, bytes]] = []
        while len(rows) <= limit:
            page = (
                "ZREVRANGEBYLEX",
                self._key(group, "keys", job),
                f"({until}",
                f"[{RUN_PREFIX}",
                "LIMIT",
                0,
                limit + 1,
            )
            [names] = self._server.ask(group, page)
            keys = [name.decode("utf-8", "replace") for name in names]
            found = zip(keys, self._items(job, keys), strict=True)
            rows += ((key, item) for key, item in found if item is not None)  # others have expired
            if len(keys) <= limit:
                break
            until = keys[-1]
        return page_of(rows[:limit], lambda row: from_json(job, *row), more=len(rows) > limit)

    def jobs(self) -> tuple[str, ...]:
        """The jobs with rows, in the order of their names."""
        found: set[str] = set()
        for number in range(_GROUPS):
            group = f"{number:x}"
            [names] = self._server.ask(group, ("SMEMBERS", self._key(group, "jobs")))
            found.update(name.decode("utf-8", "replace") for name in names)
        return tuple(sorted(found))

    def create(self) -> bool:
        """Check that the server can be used; there is nothing to create."""
        self._server.promises()
        return False

    def differences(self) -> tuple[str, ...]:
        """See `Inspectable.differences`."""
        exposed = self._server.exposed
        return (*([exposed] if exposed else []), *self._server.promises().notes)

    def close(self) -> None:
        """See `Store.close`."""
        self._server.close()

    def _items(self, job: str, keys: list[str]) -> list[bytes | None]:
        """The items of those rows, each None if there is no row."""
        group = _group_of(job)
        time, *items = self._server.ask(
            group, ("TIME",), *(("HGET", self._row(group, job, key), "item") for key in keys)
        )
        self._note_time(int(time[0]))
        return items

    def _note_time(self, seconds: int) -> None:
        self._answered.at = datetime.fromtimestamp(seconds, UTC)

    def _row(self, group: str, job: str, key: str) -> str:
        return f"{self._key(group, 'row', job)}:{key}"

    def _key(self, group: str, *rest: str) -> str:
        """E.g. `cronce:{3}:keys:daily-digest`. A colon in a job's name is escaped, or two rows could share a key."""
        escaped = (part.replace("%", "%25").replace(":", "%3A") for part in rest)
        return ":".join((self._prefix, f"{{{group}}}", *escaped))


def _group_of(job: str) -> str:
    """The hash tag of the job's keys. It is part of what is stored: it must never change."""
    return f"{crc32(job.encode()) % _GROUPS:x}"
