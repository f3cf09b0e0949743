"""The ledger in Redis, Valkey or Amazon MemoryDB.

- `store`: rows and the script that swaps one
- `server`: connections, log-in and the nodes of a cluster
- `promises`: whether a server can forget a claim
- `resp`: the protocol
- `url`: `rediss://user:password@host:6379/0?prefix=cronce` -> the store
"""

from cronce.stores.redis.store import RedisStore
from cronce.stores.redis.url import open_redis

__all__ = ["RedisStore", "open_redis"]
