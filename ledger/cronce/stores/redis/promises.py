"""What a server says about itself, and whether it can forget a claim. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cronce.stores.redis.resp import Command, ReplyError
from cronce.vocabulary.values import value_class

QUESTIONS: tuple[Command, ...] = (
    ("INFO", "server", "replication", "persistence", "memory", "cluster"),
    ("CONFIG", "GET", "appendfsync"),
)
"""Sent once on each connection, in the packet that logs in."""

_OLDEST = 7
_MEMORYDB, _ELASTICACHE = ".memorydb.", ".cache.amazonaws."
"""In the names of endpoints. Their durability is not in the settings of a server.

MemoryDB answers a write when several Availability Zones have it on disk (Developer Guide, "Consistency"); ElastiCache
does only with synchronous durability (User Guide, "Durability options").
"""


@value_class
class Broken:
    """Why the server must not be used as a ledger.

    Attributes:
        problem: What is wrong.
        hint: What to do.
        transient: True if another try may reach another server.
    """

    problem: str
    hint: str
    transient: bool = False


@value_class
class Promises:
    """The server's answers to `QUESTIONS`.

    Attributes:
        info: The lines of INFO by their names; None if INFO is not permitted.
        appendfsync: The setting of that name; None if CONFIG is not permitted.
        host: The server's name.
    """

    info: Mapping[str, str] | None
    appendfsync: str | None
    host: str

    @property
    def broken(self) -> Broken | None:
        """Why this server must not be used; None if it may be, as far as it says."""
        info = self.info or {}
        version = info.get("redis_version", "")
        if version and int(version.partition(".")[0]) < _OLDEST:
            return Broken(f"Redis {version} is too old", f"use Redis {_OLDEST}.0, Valkey 7.2, or newer")
        is_clustered = info.get("cluster_enabled") == "1"  # any node of a cluster says which one to ask
        if info.get("role") == "slave" and not is_clustered:
            return Broken("READONLY: this server is a replica", "give the primary's address", transient=True)
        policy = info.get("maxmemory_policy", "noeviction")
        if policy != "noeviction" and info.get("maxmemory", "0") != "0":
            problem = f"maxmemory-policy is {policy}: when its memory is full, the server deletes claims"
            return Broken(problem, "set it to noeviction")
        return None

    @property
    def caution(self) -> str | None:
        """How this server can forget a claim although it may be used; None if it cannot, as far as it says."""
        if self._is_managed:
            return None
        if (self.info or {}).get("aof_enabled") == "0":
            return "appendonly is no: a restart of the server forgets claims, and their work runs again"
        if self.appendfsync not in (None, "always"):
            lost = "a crash of the server forgets its last claims, and their work runs again"
            return f"appendfsync is {self.appendfsync}, not always: {lost}"
        return None

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person who sets up a ledger should know, one sentence each."""
        if _MEMORYDB in self.host:
            return ()
        if _ELASTICACHE in self.host:
            return ("ElastiCache keeps every claim only with synchronous durability; else a failover forgets the last",)
        found = [self.caution] if self.caution else []
        if self.info is None:
            found.append("INFO is not permitted: it is not known whether this server keeps its rows")
        elif self.appendfsync is None:
            found.append("CONFIG is not permitted: it is not known whether appendfsync is always")
        replicas = (self.info or {}).get("connected_slaves", "0")
        if replicas != "0":
            found.append(f"replicas ({replicas}) follow later: a failover forgets the claims that they do not have yet")
        return tuple(found)

    @property
    def _is_managed(self) -> bool:
        return _MEMORYDB in self.host or _ELASTICACHE in self.host


def promises_of(replies: Sequence[Any], *, host: str) -> Promises:
    """What the replies to `QUESTIONS` mean.

    Raises:
        ReplyError: INFO failed, and not because this user may not use it.
    """
    info, config = replies
    if isinstance(info, ReplyError) and not _is_not_permitted(info):
        if "syntax error" in info.message:  # it takes one section only
            raise ReplyError(info.code, f"this server is older than Redis {_OLDEST}.0")
        raise info
    lines = info.decode("utf-8", "replace").splitlines() if isinstance(info, bytes) else None
    fsync = config[1] if isinstance(config, list) and len(config) == 2 else None
    return Promises(
        None if lines is None else dict(line.split(":", 1) for line in lines if ":" in line),
        fsync.decode("ascii", "replace") if isinstance(fsync, bytes) else None,
        host,
    )


def _is_not_permitted(error: ReplyError) -> bool:
    return error.code == "NOPERM" or "unknown command" in error.message
