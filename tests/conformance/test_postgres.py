"""What is special about a ledger in PostgreSQL, on a real server."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from cronce import Claim, Ledger
from cronce.protocol.operations import Swapped
from cronce.protocol.records import EffectsRecord, run_key
from cronce.stores.codec import to_json
from cronce.stores.postgres import PostgresStore, sql
from cronce.stores.postgres.wire import Session, literal
from cronce.testing.clocks import ManualClock
from cronce.vocabulary.errors import ClockSkewError, InputInvalidError, LedgerUnavailableError
from cronce.vocabulary.states import Status
from cronce.vocabulary.values import replace
from tests.conformance.stores import address_in
from tests.support.builders import T0, run
from tests.support.postgres_server import PASSWORD
from tests.support.proxy import Mode, Proxy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.postgres_server import PostgresServer

SECOND = timedelta(seconds=1)
OLD = datetime.now(UTC) - timedelta(days=2)


@pytest.fixture
def table(new_table_name: Callable[[], str]) -> str:
    """A name that no other test uses."""
    return new_table_name().replace("-", "_")


@pytest.fixture
def store(postgres: PostgresServer, table: str) -> Iterator[PostgresStore]:
    """A store with a table of its own."""
    with opened(postgres.url(table=table)) as store:
        store.create()
        yield store


class opened:  # noqa: N801  # used like a function
    """The store at that URL; closed at the end."""

    def __init__(self, url: str, *, timeout: timedelta = 5 * SECOND) -> None:
        self._store = PostgresStore(address_in(url), call_timeout=timeout)

    def __enter__(self) -> PostgresStore:
        """The store."""
        return self._store

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self._store.close()


# The table.


def test_of_many_processes_that_create_the_table_one_does(postgres: PostgresServer, table: str) -> None:
    """CREATE TABLE IF NOT EXISTS alone fails in such a race."""
    gate = threading.Barrier(8)
    created: list[bool] = []

    def create() -> None:
        with opened(postgres.url(table=table)) as store:
            gate.wait(60)
            created.append(store.create())

    together(create, 8)
    assert sorted(created) == [False] * 7 + [True]


def test_the_table_of_an_older_version_is_upgraded_with_its_rows(postgres: PostgresServer, table: str) -> None:
    """Until then, the error says what to do."""
    postgres.sql(
        sql.MIGRATIONS[0].format(table=table), f"COMMENT ON TABLE {table} IS '{sql.comment(1)}'", user="cronce"
    )
    old = run(job="old")
    key, job, item = literal(old.key), literal("old"), literal(to_json(old))
    insert = f"INSERT INTO {table} VALUES (sha256({job}), {key}, {job}, 1, {literal(old.token)}, {item})"
    postgres.sql(insert, user="cronce")
    with opened(postgres.url(table=table)) as store:
        with pytest.raises(LedgerUnavailableError, match="'cronce init' upgrades the table") as refused:
            store.swap(run(job="new"), None)
        assert not refused.value.transient
        assert store.create() is False
        assert store.swap(run(job="new"), None) == Swapped(True)
        assert store.get("old", old.key) == old


@pytest.mark.parametrize("comment", ["NULL", "'Orders'", f"'{sql.comment(sql.NEWEST_TABLE + 1)}'"])
def test_the_table_of_somebody_else_or_a_newer_version_is_not_touched(
    postgres: PostgresServer, table: str, comment: str
) -> None:
    """The error says which table would be right."""
    postgres.sql(f"CREATE TABLE {table} (id int)", f"COMMENT ON TABLE {table} IS {comment}", user="cronce")
    with opened(postgres.url(table=table)) as store, pytest.raises(InputInvalidError, match="option table=NAME"):
        store.create()
    assert postgres.sql(f"SELECT count(*) FROM {table}") == "0\n"


def test_a_table_may_have_a_schema_and_any_name(postgres: PostgresServer, table: str) -> None:
    """Also a word of SQL."""
    postgres.sql(f"CREATE SCHEMA {table} AUTHORIZATION cronce")
    with opened(postgres.url(table=f"{table}.select")) as store:
        assert [store.create(), store.create()] == [True, False]
        assert store.swap(run(), None) == Swapped(True)


def test_a_database_that_cannot_keep_every_text_is_refused(postgres: PostgresServer, table: str) -> None:
    """A job's name is any text."""
    postgres.sql(f"CREATE DATABASE {table} ENCODING LATIN1 TEMPLATE template0 OWNER cronce")
    with (
        opened(postgres.url().replace("/runs", f"/{table}")) as store,
        pytest.raises(InputInvalidError, match="'LATIN1' is not usable; allowed: UTF8"),
    ):
        store.create()


def test_keys_are_ordered_by_bytes_whatever_the_database_prefers(store: PostgresStore, table: str) -> None:
    """The order of every other store."""
    [read] = store._ask(
        "SELECT collation_name FROM information_schema.columns"
        f" WHERE table_name = {literal(table)} AND column_name = 'key'"
    )
    assert read.rows == [("C",)]


def test_what_may_lose_claims_is_said(postgres: PostgresServer, store: PostgresStore, table: str) -> None:
    """The server of the tests runs without fsync."""
    [fsync] = store.differences()
    assert fsync.startswith("fsync is off")
    postgres.sql(f"ALTER TABLE {table} SET UNLOGGED")
    assert store.differences() == (fsync, "the table is not logged: a crash of the server empties it")


def test_jobs_are_listed_without_reading_every_row(store: PostgresStore) -> None:
    """In the order of their names."""
    for job in ("b", "a", "ü", "b"):
        for period in ("1", "2"):
            store.swap(run(job=job, period=period), None)
    assert store.jobs() == ("a", "b", "ü")


# Retention.


def test_a_first_claim_deletes_rows_that_have_expired(store: PostgresStore, table: str) -> None:
    """Some at a time; neither a run that is RUNNING, nor one that expired a moment ago, nor the claim itself."""
    ended = {"status": Status.SUCCEEDED, "lease_until": None, "expires_at": OLD}
    for number in range(sql.ROWS_PRUNED + 5):
        store.swap(run(period=f"old-{number:02}"), None)
    store._ask(f"UPDATE {table} SET expires_at = to_timestamp(right(key, 2)::int)")
    assert store.swap(run(period="old-00"), None).written is False
    assert len(periods(store)) == sql.ROWS_PRUNED + 5  # a refusal deletes nothing
    store.swap(run(period="running", expires_at=OLD), None)
    assert periods(store) == ["old-20", "old-21", "old-22", "old-23", "old-24", "running"]
    store.swap(run(period="late", **ended | {"expires_at": datetime.now(UTC) - timedelta(hours=23)}), None)
    store.swap(run(period="ended", **ended), None)
    assert periods(store) == ["ended", "late", "running"]
    store.swap(run(period="new"), None)
    assert periods(store) == ["late", "new", "running"]
    effects = EffectsRecord(job=run().job, period="1", number=1, version=1, attempt=1, token="t", expires_at=OLD)
    store.swap(effects, None)
    store.swap(run(period="last"), None)
    assert store.get(effects.job, effects.key) is None


def periods(store: PostgresStore) -> list[str]:
    """The periods of the job, in order."""
    return sorted(row.period for row in store.query(run().job, limit=100).rows)


# Transactions.


@pytest.mark.parametrize("isolation", ["read committed", "repeatable read", "serializable"])
def test_one_wins_under_any_isolation_level(postgres: PostgresServer, table: str, isolation: str) -> None:
    """That of the role or database. A stricter one than PostgreSQL's default makes some callers ask again."""
    role = f"r{table}"
    postgres.sql(f"CREATE ROLE {role} LOGIN IN ROLE cronce", f"GRANT CREATE ON DATABASE runs TO {role}")
    postgres.sql(f"ALTER ROLE {role} SET default_transaction_isolation = '{isolation}'")
    where = {"host": str(postgres.folder), "table": table}
    url = f"postgresql://{role}@:{postgres.port}/runs?" + "&".join(f"{k}={v}" for k, v in where.items())
    with opened(postgres.url(table=table)) as store:
        store.create()
    ledger = Ledger.from_url(url, owner="me")
    for number in range(4):
        gate = threading.Barrier(8)
        won: list[Claim] = []

        def claim(number: int = number, gate: threading.Barrier = gate, won: list[Claim] = won) -> None:
            gate.wait(60)
            answer = ledger.claim(f"job-{number}", "1")
            if isinstance(answer, Claim):
                won.append(answer)

        together(claim, 8)
        assert len(won) == 1
    ledger.close()


def test_a_role_with_rights_on_one_table_has_none_on_another(postgres: PostgresServer, table: str) -> None:
    """The database isolates jobs by tables and roles: cronce needs nothing but the rows of its own table."""
    role, other = f"t{table}", f"{table}_other"
    for name in (table, other):
        with opened(postgres.url(table=name)) as store:
            store.create()
    postgres.sql(f"CREATE ROLE {role} LOGIN", f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {role}")
    where = f"postgresql://{role}@:{postgres.port}/runs?host={postgres.folder}&table="
    ledger = Ledger.from_url(f"{where}{table}", owner="me")
    claim = ledger.claim("daily-digest", "1")
    assert isinstance(claim, Claim)
    claim.complete()
    ledger.close()
    ledger = Ledger.from_url(f"{where}{other}", owner="me")
    with pytest.raises(LedgerUnavailableError, match="permission denied") as refused:
        ledger.claim("daily-digest", "1")
    assert not refused.value.transient
    ledger.close()


def test_a_commit_is_not_answered_before_it_is_safe(postgres: PostgresServer, table: str) -> None:
    """Whatever the role prefers; a stricter setting is kept."""
    role = f"s{table}"
    postgres.sql(f"CREATE ROLE {role} LOGIN")
    url = f"postgresql://{role}@:{postgres.port}/runs?host={postgres.folder}"
    for chosen, used in (("off", "on"), ("local", "on"), ("on", "on"), ("remote_apply", "remote_apply")):
        postgres.sql(f"ALTER ROLE {role} SET synchronous_commit = '{chosen}'")
        with opened(url) as store:
            [read] = store._ask("SELECT current_setting('synchronous_commit'), current_setting('statement_timeout')")
            assert read.rows == [(used, "5s")]


def test_a_swap_that_waits_too_long_is_given_up_on_the_server_too(
    postgres: PostgresServer, store: PostgresStore, table: str
) -> None:
    """It does not write minutes later, when the lock is free."""
    record = run()
    store.swap(record, None)
    with opened(postgres.url(table=table), timeout=SECOND / 2) as hasty:
        other = Session(address_in(postgres.url()), lambda _by: None, by=time.monotonic() + 60)
        other.query("BEGIN", by=time.monotonic() + 60)
        other.query(f"SELECT * FROM {table} FOR UPDATE", by=time.monotonic() + 60)
        began = time.monotonic()
        with pytest.raises(LedgerUnavailableError, match=r"57014|Timeout") as refused:
            hasty.swap(replace(record, version=2), record)
        assert time.monotonic() - began < 5
        assert refused.value.transient
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        await_sql(postgres, waiting, "0\n")
        other.query("COMMIT", by=time.monotonic() + 60)
        other.close()
    assert store.get(record.job, record.key) == record


# Time.


def test_the_server_tells_the_time(store: PostgresStore) -> None:
    """In whole seconds, with every answer that has a row."""
    for ask in (
        lambda: store.swap(run(), None),
        lambda: store.swap(run(), None),
        lambda: store.get("no", run_key("1")),
        lambda: store.query(run().job, limit=1),
    ):
        store._note_time(None)
        before = datetime.now(UTC).replace(microsecond=0)
        ask()
        assert store.answered_at is not None
        assert before <= store.answered_at <= datetime.now(UTC)


def test_an_answer_without_the_time_does_not_repeat_an_old_one(store: PostgresStore) -> None:
    """Minutes later, an old time would look like a clock that is wrong."""
    for ask in (lambda: store.query("nobody", limit=1), store.jobs, lambda: store.get("no", "\0")):
        assert store.get("no", "slot") is None
        assert store.answered_at is not None
        with suppress(LedgerUnavailableError):
            ask()
        assert store.answered_at is None


def test_a_host_whose_clock_differs_does_not_start_work(store: PostgresStore) -> None:
    """Its lease would mean nothing to the others."""
    ledger = Ledger(store, clock=ManualClock(T0), owner="me")
    with pytest.raises(ClockSkewError, match="differs from the store's"):
        ledger.claim("a", "1")


# Connections.


def test_connections_do_not_grow_with_threads(postgres: PostgresServer, table: str) -> None:
    """Two are kept, and none after `close`."""
    name = f"c{table}"
    postgres.sql(f"CREATE ROLE {name} LOGIN")
    with opened(f"postgresql://{name}@:{postgres.port}/runs?host={postgres.folder}") as store:
        together(lambda: [store._ask("SELECT pg_sleep(0.05)") for _ in range(3)], 8)
        open_ones = f"SELECT count(*) FROM pg_stat_activity WHERE usename = '{name}'"
        await_sql(postgres, open_ones, "2\n")
        store.close()
        await_sql(postgres, open_ones, "0\n")


def test_a_forked_process_uses_a_connection_of_its_own(store: PostgresStore) -> None:
    """Two processes on one connection would get each other's answers."""
    record = run()
    store.swap(record, None)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if all(store.get(record.job, record.key) == record for _ in range(50)) else 2
        finally:
            os._exit(code)
    assert all(store.get(record.job, record.key) == record for _ in range(50))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_connection_that_the_server_has_closed_is_not_used(postgres: PostgresServer, store: PostgresStore) -> None:
    """Nobody notices; and nothing is lost in a crash of the server."""
    record = run()
    store.swap(record, None)
    postgres.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'cronce'")
    assert store.get(record.job, record.key) == record
    for how in (signal.SIGINT, signal.SIGQUIT):
        postgres.restart(how)
        assert store.get(record.job, record.key) == record


@pytest.mark.parametrize("how", [Mode.BLACKHOLE, Mode.TRICKLE])
@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
def test_a_server_that_hangs_is_given_up_in_time(
    postgres: PostgresServer, store: PostgresStore, table: str, how: Mode, *, warm: bool
) -> None:
    """While it connects, and while it answers; a socket's own limit would not see that an answer trickles."""
    assert store.swap(run(), None).written
    with (
        Proxy(f"http://127.0.0.1:{postgres.port}") as proxy,
        opened(postgres.url(port=proxy.port, table=table), timeout=SECOND / 2) as remote,
    ):
        if warm:
            assert remote.get("a", "slot") is None
        proxy.mode = how
        began = time.monotonic()
        with pytest.raises(LedgerUnavailableError, match="TimeoutError") as refused:
            remote.get("a", "slot")
        assert refused.value.transient
        assert 0.4 < time.monotonic() - began < 5


# Who may log in.


@pytest.mark.parametrize("user", ["scram", "old", "plain"])
def test_a_password_is_proved_as_the_server_asks(postgres: PostgresServer, user: str) -> None:
    """SCRAM, MD5, or on this host in plain text. A wrong one is an error that does not show it."""
    with opened(postgres.url(user=f"{user}:{quote(PASSWORD, safe='')}")) as store:
        assert store._ask("SELECT current_user")[0].rows == [(user,)]
    with opened(postgres.url(user=f"{user}:wrong-one")) as store:
        with pytest.raises(LedgerUnavailableError, match=r"28P01.*check the user and the password") as refused:
            store.get("a", "slot")
        assert not refused.value.transient
        assert "wrong-one" not in f"{refused.value}{refused.value.__cause__!r}"
    with opened(postgres.url(user=user)) as store, pytest.raises(LedgerUnavailableError, match="set PGPASSWORD"):
        store.get("a", "slot")


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("refused@127.0.0.1:PORT/runs", "28000.*pg_hba.conf"),
        ("nobody@127.0.0.1:PORT/runs", "28000"),
        ("cronce@127.0.0.1:PORT/nothing", "3D000.*check the name of the database"),
        ("cronce@127.0.0.1:PORT/runs?sslmode=require", "does not offer TLS, and sslmode is require"),
        ("cronce@127.0.0.1:PORT/runs?table=no_such", "42P01.*'cronce init' creates the table"),
        ("cronce@127.0.0.1:PORT/runs?table=pg_catalog.pg_authid", "42703"),
    ],
)
def test_a_mistake_is_one_line_and_not_tried_again(postgres: PostgresServer, url: str, says: str) -> None:
    """With a hint."""
    at = "postgresql://" + url.replace("PORT", str(postgres.port))
    with opened(at) as store, pytest.raises(LedgerUnavailableError, match=says) as refused:
        store.get("a", "slot")
    assert not refused.value.transient
    assert "\n" not in str(refused.value)


def test_a_server_that_nobody_runs_may_be_back_in_a_moment(postgres: PostgresServer) -> None:
    """Like every error of the connection."""
    with opened(postgres.url(port=1)) as store, pytest.raises(LedgerUnavailableError, match="refused") as refused:
        store.get("a", "slot")
    assert refused.value.transient


def together(work: Callable[[], object], number: int) -> None:
    """Do that in many threads at once, to the end of all of them; fail as one of them did."""
    errors: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001  # raised below
            errors.append(error)

    threads = [threading.Thread(target=guarded) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    if errors:
        raise errors[0]


def await_sql(postgres: PostgresServer, question: str, answer: str) -> None:
    """Wait until the server says so."""
    deadline = time.monotonic() + 20
    while (said := postgres.sql(question)) != answer:
        assert time.monotonic() < deadline, said
        time.sleep(0.05)
