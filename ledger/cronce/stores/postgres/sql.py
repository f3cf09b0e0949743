"""The statements of the ledger in PostgreSQL. Pure.

Statements in one message are one transaction and one round trip. Under READ COMMITTED each has its own snapshot: a
write waits for whoever is writing the row, so the SELECT after it sees the row for which the write was refused. In
one statement (a CTE) both would see the rows as they were before the wait. Under a stricter isolation level the write
fails instead, and is tried again.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from hashlib import sha256

from cronce.protocol.records import RUN_PREFIX, SCHEMA, SLOT_KEY, Record, RunRecord, SlotRecord, run_key
from cronce.stores.codec import encode, encode_time, to_json
from cronce.stores.postgres.wire import literal
from cronce.vocabulary.states import Status

ROWS_PRUNED = 20
"""How many rows one first claim deletes at most."""

_PRUNED_AFTER = "1 day"
"""How long a row must be past its `expires_at`: the clock that wrote the time and the server's may differ."""

MIGRATIONS = (
    # A job and a key together may be longer than an entry of an index (2,704 bytes), so the key has the job's hash.
    # `json` keeps a text as it is; `jsonb` refuses some of them ("\\u0000").
    (
        'CREATE TABLE {table} (job_hash bytea NOT NULL, key text COLLATE "C" NOT NULL, job text NOT NULL,'
        " version numeric NOT NULL, token text NOT NULL, item json NOT NULL, PRIMARY KEY (job_hash, key))"
    ),
    # Null while a run is RUNNING: such a row is never deleted.
    (
        "ALTER TABLE {table} ADD COLUMN expires_at timestamptz;"
        " CREATE INDEX ON {table} (expires_at) WHERE expires_at IS NOT NULL"
    ),
)
"""What makes schema version 1 of nothing, 2 of 1, and so on. The table's comment has its version."""

NEWEST_TABLE = len(MIGRATIONS)


def relation(table: str) -> str:
    """The table's name, quoted."""
    return ".".join(f'"{part}"' for part in table.split("."))


def limited(sql: str, timeout: timedelta) -> str:
    """The statements, which the server gives up after the timeout, and whose commit it does not answer too early.

    With `synchronous_commit` off, a crash of the server loses commits that it has answered.
    """
    return (
        f"SELECT set_config('statement_timeout', '{timeout // timedelta(milliseconds=1)}', true),"
        " set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN ('off', 'local')"
        f" THEN 'on' ELSE current_setting('synchronous_commit') END, true); {sql}"
    )


def write(table: str, record: Record, expected: Record | None) -> str:
    """Write the row, then read it; the first result's tag says whether it was written."""
    name = relation(table)
    version, token, item = str(record.version), literal(record.token or ""), literal(to_json(record))
    expiry = _expiry(record)
    read = select(table, record.job, record.key)
    if expected is None:
        return (
            f"INSERT INTO {name} (job_hash, key, job, version, token, item, expires_at)"
            f" VALUES ({_hash(record.job)}, {literal(record.key)}, {literal(record.job)}, {version}, {token}, {item},"
            f" {expiry}) ON CONFLICT (job_hash, key) DO NOTHING; {read}; {_prune(name, record)}"
        )
    return (
        f"UPDATE {name} SET version = {version}, token = {token}, item = {item}, expires_at = {expiry}"
        f" WHERE {_row(record.job, record.key)}"
        f" AND version = {expected.version} AND token = {literal(expected.token or '')}; {read}"
    )


def take_free_slot(table: str, run: RunRecord, at: datetime) -> str:
    """Acquire the slot if it is free or does not exist, then read it.

    The tags of the first two results say whether one of them wrote. The UPDATE locks no row that it does not write.
    """
    rows, row = relation(table), _row(run.job, SLOT_KEY)
    first = SlotRecord(job=run.job, version=0).taken_by(run, at=at)
    assigned = {name: value for name, value in encode(first).items() if name not in _KEPT_IN_SLOT}
    conditions = [row, *(f"item->'{name}' IS NULL" for name in ("period", "mode", "waiting", "paused_at"))]
    conditions += [f"coalesce(json_typeof(item->'{name}'), 'number') = 'number'" for name in _COUNTED]
    conditions.append(f"coalesce((item->>'schema')::numeric, 0) <= {SCHEMA}")
    conditions.append(r"item::text NOT LIKE '%\\u0000%'")  # which `jsonb` refuses
    if run.scheduled_at is not None:
        due = literal(encode_time(run.scheduled_at))
        conditions.append(f"coalesce(item->>'newest_at', '') COLLATE \"C\" <= {due}")
    counted = ", ".join(f"'{name}', coalesce((item->>'{name}')::numeric, 0) + 1" for name in _COUNTED)
    item = (
        f"jsonb_build_object('schema', {SCHEMA}) || item::jsonb || {literal(json.dumps(assigned))}::jsonb"
        f" || jsonb_build_object({counted})"
    )
    return (
        f"UPDATE {rows} SET version = version + 1, token = {literal(run.token)}, item = ({item})::json"
        f" WHERE {' AND '.join(conditions)};"
        f" INSERT INTO {rows} (job_hash, key, job, version, token, item) VALUES ({_hash(run.job)},"
        f" {literal(SLOT_KEY)}, {literal(run.job)}, 1, {literal(run.token)}, {literal(to_json(first))})"
        f" ON CONFLICT (job_hash, key) DO NOTHING; {select(table, run.job, SLOT_KEY)}"
    )


def select(table: str, job: str, key: str) -> str:
    """One row: the server's time, and the item or null."""
    return f"SELECT {_NOW}, (SELECT item::text FROM {relation(table)} WHERE {_row(job, key)})"


def select_page(table: str, job: str, *, limit: int, before: str | None) -> str:
    """The server's time, the key and the item of at most `limit` runs before a period, newest first."""
    # "$" is the character after "#": the key of every run is smaller.
    until = run_key(before) if before is not None else RUN_PREFIX[:-1] + "$"
    return (
        f"SELECT {_NOW}, key, item::text FROM {relation(table)} WHERE job_hash = {_hash(job)}"
        f" AND key >= {literal(RUN_PREFIX)} AND key < {literal(until)} ORDER BY key DESC LIMIT {limit}"
    )


def select_jobs(table: str) -> str:
    """The jobs with rows. It goes from one job to the next through the index, and so does not read every row."""
    name = relation(table)
    return (
        f"WITH RECURSIVE jobs AS ((SELECT job_hash, job FROM {name} ORDER BY job_hash LIMIT 1) UNION ALL"
        f" SELECT following.job_hash, following.job FROM jobs, LATERAL (SELECT job_hash, job FROM {name}"
        " WHERE job_hash > jobs.job_hash ORDER BY job_hash LIMIT 1) AS following) SELECT job FROM jobs"
    )


def select_schema(table: str) -> str:
    """One row: whether the table exists, its comment, and the encoding of the database."""
    found = f"to_regclass({literal(relation(table))})"
    return f"SELECT {found} IS NOT NULL, obj_description({found}, 'pg_class'), current_setting('server_encoding')"


def migrate(table: str, version: int) -> str:
    """Make the current schema of an older one; 0 if there is no table."""
    name = relation(table)
    steps = [step.format(table=name) for step in MIGRATIONS[version:]]
    return "; ".join([*steps, f"COMMENT ON TABLE {name} IS {literal(comment(NEWEST_TABLE))}"])


def lock(table: str) -> str:
    """Wait until no other process makes or migrates this table, to the end of the transaction."""
    return f"SELECT pg_advisory_xact_lock(hashtextextended({literal('cronce ' + table)}, 0))"


def select_durability(table: str) -> str:
    """One row: `fsync`, whether the table is logged, and whether the server is a standby."""
    return (
        "SELECT current_setting('fsync'), relpersistence, pg_is_in_recovery() FROM pg_class"
        f" WHERE oid = to_regclass({literal(relation(table))})"
    )


def comment(version: int) -> str:
    """The comment of a table with that schema."""
    return f"cronce ledger, schema {version}"


_COUNTED = ("version", "fence")
"""What rises by one each time the slot is acquired."""

_KEPT_IN_SLOT = ("job", "key", "schema", *_COUNTED)

_NOW = "floor(extract(epoch FROM clock_timestamp()))::bigint"


def _hash(job: str) -> str:
    return rf"'\x{sha256(job.encode()).hexdigest()}'"


def _row(job: str, key: str) -> str:
    return f"job_hash = {_hash(job)} AND key = {literal(key)}"


def _expiry(record: Record) -> str:
    if isinstance(record, SlotRecord) or record.expires_at is None:
        return "NULL"
    if isinstance(record, RunRecord) and record.status is Status.RUNNING:
        return "NULL"
    return f"to_timestamp({int(record.expires_at.timestamp())})"


def _prune(name: str, written: Record) -> str:
    """Delete some rows that expired, if this transaction has written its row. Rows that others use are skipped."""
    return (
        f"DELETE FROM {name} WHERE txid_current_if_assigned() IS NOT NULL AND ctid = ANY (ARRAY(SELECT ctid FROM {name}"
        f" WHERE expires_at < clock_timestamp() - interval '{_PRUNED_AFTER}'"
        f" AND NOT ({_row(written.job, written.key)}) ORDER BY expires_at"
        f" LIMIT {ROWS_PRUNED} FOR UPDATE SKIP LOCKED))"
    )
