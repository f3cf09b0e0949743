"""The ledger in a PostgreSQL table, without a driver.

- `store`: `PostgresStore`, one message per swap
- `sql`: the statements and the table's schema
- `address`: the parts of the URL
- `wire`: PostgreSQL's protocol on a socket; `scram`, `iam` and `trust` are loaded if the server or the URL needs them
"""

from cronce.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
