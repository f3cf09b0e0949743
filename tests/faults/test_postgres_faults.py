"""What becomes of each operation under each fault: 36 cells, against a real PostgreSQL behind a proxy."""

from __future__ import annotations

import time
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, assert_never

import pytest

from cronce import Claim, ConcurrencyPolicy, Ledger, LedgerUnavailableError, Policy, Status
from cronce.protocol.records import RunRecord
from cronce.stores.postgres.wire import Session
from cronce.testing.clocks import ManualClock
from tests.conformance.stores import TimelessPostgresStore, address_in
from tests.support.proxy import Mode, Proxy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cronce.stores.postgres.wire import QueryResult
    from tests.support.postgres_server import PostgresServer

PERIOD = "2026-11-29"
JOB = "job"
SECOND = timedelta(seconds=1)
ALLOW = Policy(concurrency_policy=ConcurrencyPolicy.ALLOW)

WON, RENEWED, SUCCEEDED, FAILED = "won", "renewed", "succeeded", "failed"
NOT_STARTED = "not started"
"""`LedgerUnavailableError`, and nothing was written."""


class Fault(StrEnum):
    """What can happen to a request; those after the first four last until the first error."""

    REQUEST_LOST = "request lost"
    ANSWER_LOST = "answer lost"
    ANSWER_CUT = "answer cut"
    TERMINATED = "connection terminated"
    LOCKED = "row locked"
    FULL = "too many connections"
    READ_ONLY = "standby or read-only"
    NO_TABLE = "no table"
    NO_LOGIN = "login refused"


PERMANENT = {Fault.NO_TABLE, Fault.NO_LOGIN}
"""A claim that meets these ends at once; a holder of a run tries again, because it has nothing to lose."""

OUTCOMES = {"claim": (WON, 1), "heartbeat": (RENEWED, 2), "complete": (SUCCEEDED, 2), "fail": (FAILED, 2)}
"""What the caller gets, and the version of the row afterwards: each effect is stored exactly once."""


class ObservedStore(TimelessPostgresStore):
    """Ends the fault at the first error."""

    lift: Callable[[], object] | None = None

    def _ask(self, statements: str, *, results: int = 1) -> list[QueryResult]:
        try:
            return super()._ask(statements, results=results)
        except LedgerUnavailableError:
            if self.lift is not None:
                lift, self.lift = self.lift, None
                lift()
            raise


class Wire:
    """The way to a table of a real server."""

    def __init__(self, server: PostgresServer, proxy: Proxy, table: str) -> None:
        self._server, self._proxy, self._table = server, proxy, table
        self.direct = TimelessPostgresStore(address_in(server.url(table=table)))
        self.direct.create()
        self.store = ObservedStore(address_in(server.url(port=proxy.port, table=table)), call_timeout=SECOND)

    def meets(self, fault: Fault) -> None:
        """Let the next request meet the fault."""
        self.store.get(JOB, "slot")  # on a connection that is open
        match fault:
            case Fault.REQUEST_LOST:
                self._proxy.mode = Mode.LOSE_REQUEST
            case Fault.ANSWER_LOST:
                self._proxy.mode = Mode.LOSE_ANSWER
            case Fault.ANSWER_CUT:
                self._proxy.mode = Mode.CUT_ANSWER
            case Fault.TERMINATED:
                self._terminate()
            case Fault.LOCKED:
                by = time.monotonic() + 60
                other = Session(address_in(self._server.url(user="cronce")), lambda _by: None, by=by)
                other.query("BEGIN", by=by)
                other.query(f"LOCK TABLE {self._table} IN EXCLUSIVE MODE", by=by)
                self.store.lift = other.close
            case Fault.FULL:
                self._impose("CONNECTION LIMIT 0", "CONNECTION LIMIT -1")
            case Fault.READ_ONLY:
                self._impose("SET default_transaction_read_only = on", "RESET default_transaction_read_only")
            case Fault.NO_LOGIN:
                self._impose("NOLOGIN", "LOGIN")
            case Fault.NO_TABLE:
                self._server.sql(f"ALTER TABLE {self._table} RENAME TO away")
                back = f"ALTER TABLE away RENAME TO {self._table}"
                self.store.lift = lambda: self._server.sql(back)
            case _:
                assert_never(fault)

    def _impose(self, fault: str, end: str) -> None:
        self._server.sql(f"ALTER ROLE cronce {fault}")
        self._terminate()
        self.store.lift = lambda: self._server.sql(f"ALTER ROLE cronce {end}")

    def _terminate(self) -> None:
        self._server.sql("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = 'cronce'")


@pytest.fixture
def wire(postgres: PostgresServer, new_table_name: Callable[[], str]) -> Iterator[Wire]:
    """The way to an empty table."""
    with Proxy(f"http://127.0.0.1:{postgres.port}") as proxy:
        wire = Wire(postgres, proxy, new_table_name().replace("-", "_"))
        yield wire
        if wire.store.lift is not None:
            wire.store.lift()
        wire.store.close()
        wire.direct.close()


def perform(operation: str, wire: Wire, fault: Fault) -> str:
    """What the caller of the operation gets when its first request meets the fault."""
    ledger = Ledger(wire.store, policy=ALLOW, owner="me", clock=ManualClock())
    if operation == "claim":
        wire.meets(fault)
        try:
            answer = ledger.claim(JOB, PERIOD)
        except LedgerUnavailableError:
            return NOT_STARTED
        return WON if isinstance(answer, Claim) else answer.reason
    mine = ledger.claim(JOB, PERIOD)
    assert isinstance(mine, Claim)
    wire.meets(fault)
    match operation:
        case "heartbeat":
            mine.heartbeat()
            return "lost" if mine.is_lost() else RENEWED
        case "complete":
            mine.complete({"sent": 3100})
            return SUCCEEDED
        case _:
            mine.fail("boom")
            return FAILED


@pytest.mark.parametrize("fault", Fault)
@pytest.mark.parametrize("operation", OUTCOMES)
def test_cell(wire: Wire, operation: str, fault: Fault) -> None:
    """Won or not started; renewed; settled: once."""
    got, version = OUTCOMES[operation]
    never = operation == "claim" and fault in PERMANENT
    assert perform(operation, wire, fault) == (NOT_STARTED if never else got)
    standing = wire.direct.get(JOB, f"run#{PERIOD}")
    if never:
        assert standing is None
        return
    assert isinstance(standing, RunRecord)
    assert (standing.version, standing.attempt) == (version, 1)
    assert standing.status == {SUCCEEDED: Status.SUCCEEDED, FAILED: Status.FAILED}.get(got, Status.RUNNING)
    assert standing.failures == (got == FAILED)
