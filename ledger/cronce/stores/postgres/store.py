"""The ledger in a table of PostgreSQL: one message per swap or take."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta

from cronce.aws.answers import NoAnswerError
from cronce.aws.http import AnswerGarbledError, deadline
from cronce.protocol.operations import Swapped
from cronce.protocol.records import SLOT_KEY, Record, RunRecord
from cronce.stores.codec import from_json
from cronce.stores.postgres import sql
from cronce.stores.postgres.address import Address
from cronce.stores.postgres.errors import AddressUnusableError, ServerError
from cronce.stores.postgres.wire import Password, QueryResult, Session
from cronce.stores.store import Page, page_of
from cronce.vocabulary.errors import InputInvalidError, LedgerUnavailableError

_MOST_IDLE = 2
"""Connections that are kept: one for the work and one for the heartbeat. Each is a process of the server."""

_LONGEST_CREATION = timedelta(seconds=60)

_TRANSIENT = ("08", "25006", "40", "53", "55P03", "57", "58")
"""Beginnings of the SQLSTATEs after which the same request may succeed: connection, a standby that takes over,
serialization, resources, lock, operator, system (PostgreSQL documentation, "PostgreSQL Error Codes")."""

_OF_POOLERS = "08P01"
_FINAL = {
    "authentication failed": "28P01",
    "login rejected": "28000",
    "no such user": "28000",
    "no authentication method": "28000",
    "no such database": "3D000",
}
"""PgBouncer has one SQLSTATE for all that it refuses: words of its texts -> the one that PostgreSQL has for it."""

_HINTS = {
    "42P01": "'cronce init' creates the table; if it was deleted, restore it: else done work counts as never done",
    "42703": "'cronce init' upgrades the table",
    "42501": "the user needs SELECT, INSERT, UPDATE and DELETE on the table; 'cronce init' also CREATE on the schema",
    "28P01": "check the user and the password",
    "28000": "check the user, and which connections the server accepts (pg_hba.conf)",
    "3D000": "check the name of the database",
    "25006": "the server is a standby or read-only; use the address of the primary",
}


_HINT_CERTIFICATE = (
    "give the file of the server's authorities with sslrootcert=FILE; that of RDS is at"
    " https://truststore.pki.rds.amazonaws.com/global/global-bundle.pem"
)


class PostgresStore:
    """Keeps rows in a table of PostgreSQL 13 or newer, which `create` makes.

    The server's clock is the one to which hosts are compared. A first claim deletes some rows that are past
    `expires_at`, as DynamoDB does by itself.
    """

    def __init__(self, address: Address, *, call_timeout: timedelta = timedelta(seconds=3)) -> None:
        """Set the server and the table; nothing is sent yet.

        Args:
            address: Where the table is.
            call_timeout: The longest that one call may take, name look-up, connection and authentication included.
        """
        self._address = address
        self._call_timeout = call_timeout
        self._answered = threading.local()
        self._idle: list[Session] = []  # append and pop are atomic
        self._password: Password | None = None

    @property
    def where(self) -> str:
        """Table, user, database and server."""
        return str(self._address)

    @property
    def call_timeout(self) -> timedelta:
        """The longest that one call may take."""
        return self._call_timeout

    @property
    def answered_at(self) -> datetime | None:
        """The server's time in its last answer to this thread."""
        return getattr(self._answered, "at", None)

    def swap(self, record: Record, expected: Record | None) -> Swapped:
        """See `Store.swap`."""
        results = 2 if expected else 3
        written, read, *_ = self._ask(sql.write(self._address.table, record, expected), results=results)
        item = self._item(read)
        if written.tag.endswith(" 1"):
            return Swapped(True)
        return Swapped(False, None if item is None else from_json(record.job, record.key, item))

    def take(self, run: RunRecord, at: datetime) -> Swapped:
        """See `Store.take`."""
        updated, inserted, read = self._ask(sql.take_free_slot(self._address.table, run, at), results=3)
        item = self._item(read)
        slot = None if item is None else from_json(run.job, SLOT_KEY, item)
        return Swapped("UPDATE 1" in updated.tag or inserted.tag.endswith(" 1"), slot)

    def get(self, job: str, key: str) -> Record | None:
        """See `Store.get`."""
        [read] = self._ask(sql.select(self._address.table, job, key))
        item = self._item(read)
        return None if item is None else from_json(job, key, item)

    def query(self, job: str, *, limit: int, before: str | None = None) -> Page:
        """See `Store.query`."""
        [read] = self._ask(sql.select_page(self._address.table, job, limit=limit + 1, before=before))
        if read.rows:
            self._note_time(read.rows[0][0])
        rows = [(key or "", item or "") for _, key, item in read.rows]
        return page_of(rows[:limit], lambda row: from_json(job, *row), more=len(rows) > limit)

    def jobs(self) -> tuple[str, ...]:
        """The jobs with rows, in the order of their names."""
        [read] = self._ask(sql.select_jobs(self._address.table))
        return tuple(sorted(job or "" for (job,) in read.rows))

    def create(self) -> bool:
        """Make the table, or upgrade one that an older version made.

        Raises:
            InputInvalidError: There is such a table that cronce did not make, or a newer version did; or the database
                cannot keep every text.
        """
        table = self._address.table
        session = self._connect(deadline(_LONGEST_CREATION.total_seconds()))
        try:
            with self._translated():
                by = deadline(_LONGEST_CREATION.total_seconds())
                session.query("BEGIN", by=by)
                session.query(sql.lock(table), by=by)
                version = self._schema_version(session, by)
                if version < sql.NEWEST_TABLE:
                    session.query(sql.migrate(table, version), by=by)
                session.query("COMMIT", by=by)
                return version == 0
        finally:
            session.close()

    def _schema_version(self, session: Session, by: float) -> int:
        """The schema of the table, 0 if there is none."""
        exists, comment, encoding = session.query(sql.select_schema(self._address.table), by=by)[0].rows[0]
        what = f"table {self._address.table}"
        if encoding != "UTF8":
            raise InputInvalidError(f"the encoding of database {self._address.database}", encoding, "UTF8")
        if exists != "t":
            return 0
        versions = {sql.comment(version): version for version in range(1, sql.NEWEST_TABLE + 1)}
        if comment not in versions:
            allowed = f"a table with the comment {sql.comment(sql.NEWEST_TABLE)!r} or an older schema"
            raise InputInvalidError(what, comment, f"{allowed}; choose another one with the option table=NAME")
        return versions[comment]

    def differences(self) -> tuple[str, ...]:
        """See `Inspectable.differences`."""
        [read] = self._ask(sql.select_durability(self._address.table))
        found = []
        for fsync, persistence, standby in read.rows:
            if fsync != "on":
                found.append(f"fsync is {fsync}: a crash of the server may lose claims that it has answered")
            if persistence != "p":
                found.append("the table is not logged: a crash of the server empties it")
            if standby == "t":
                found.append("the server is a standby: it can only be read")
        return tuple(found)

    def close(self) -> None:
        """See `Store.close`."""
        while self._idle:
            self._idle.pop().close()

    def _item(self, read: QueryResult) -> str | None:
        """The item in the result of `sql.select`, whose time is noted.

        Raises:
            LedgerUnavailableError: The result is another one.
        """
        with self._translated():
            if len(read.rows) != 1 or len(read.rows[0]) != 2 or not (read.rows[0][0] or "").isdecimal():
                raise AnswerGarbledError(f"the row of another request: {read.rows!r:.100}")
            at, item = read.rows[0]
            self._note_time(at)
            return item

    def _ask(self, statements: str, *, results: int = 1) -> list[QueryResult]:
        """The results of the statements, as one transaction within the time limit.

        Raises:
            LedgerUnavailableError: There is no usable answer.
        """
        by = deadline(self._call_timeout.total_seconds())
        self._answered.at = None
        with self._translated():
            return self._exchange(sql.limited(statements, self._call_timeout), by, results + 1)[1:]

    def _exchange(self, statements: str, by: float, results: int) -> list[QueryResult]:
        """Send the statements on a connection that is kept open, or on a new one.

        The server may close an idle connection at that moment: the statements are then sent again. The first ones may
        have been carried out; the protocol's tokens make that harmless.
        """
        if (idle := self._idle_session()) is not None:
            try:
                return self._query(idle, statements, by, results)
            except ServerError as error:
                if not error.fatal:
                    raise
            except (BrokenPipeError, ConnectionResetError):
                pass
        return self._query(self._connect(by), statements, by, results)

    def _idle_session(self) -> Session | None:
        with suppress(IndexError):
            while True:
                session = self._idle.pop()
                if session.is_idle():
                    return session
                session.close()
        return None

    def _query(self, session: Session, statements: str, by: float, results: int) -> list[QueryResult]:
        """Perform one exchange. The connection is kept afterwards, or closed if the exchange failed."""
        try:
            answer = session.query(statements, results=results, by=by)
        except BaseException:
            session.close()
            raise
        if len(self._idle) < _MOST_IDLE:
            self._idle.append(session)
        else:
            session.close()
        return answer

    def _connect(self, by: float) -> Session:
        if self._password is None:
            region, secret = self._address.iam_region, self._address.password
            if region is not None:
                from cronce.stores.postgres.iam import token_source  # noqa: PLC0415  # only what is used is loaded

                self._password = token_source(self._address, region)
            else:
                self._password = lambda _by: secret
        return Session(self._address, self._password, by=by)

    def _note_time(self, at: str | None) -> None:
        self._answered.at = None if at is None else datetime.fromtimestamp(int(at), UTC)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Errors of the connection and the server as errors of the ledger.

        Raises:
            LedgerUnavailableError: There is no usable answer.
        """
        try:
            yield
        except ServerError as error:
            code = _code_of(error)
            transient = code.startswith(_TRANSIENT)
            raise self._unavailable(str(error), transient=transient, hint=_HINTS.get(code, "")) from error
        except NoAnswerError as error:
            raise self._unavailable(f"{error.kind}: {error.message}", transient=error.transient) from error
        except AddressUnusableError as error:
            raise self._unavailable(str(error), transient=False) from error
        except (OSError, AnswerGarbledError) as error:
            untrusted = type(error).__name__ == "SSLCertVerificationError"
            hint = _HINT_CERTIFICATE if untrusted else ""
            raise self._unavailable(f"{type(error).__name__}: {error}", transient=not untrusted, hint=hint) from error
        except (ValueError, IndexError) as error:  # a text that cannot be sent, or an answer without its rows
            raise self._unavailable(f"{type(error).__name__}: {error}", transient=False) from error

    def _unavailable(self, cause: str, *, transient: bool, hint: str = "") -> LedgerUnavailableError:
        return LedgerUnavailableError(self.where, cause, transient=transient, hint=hint)


def _code_of(error: ServerError) -> str:
    """The SQLSTATE, also of what a pooler refuses that PostgreSQL has another one for."""
    if error.code != _OF_POOLERS:
        return error.code
    return next((code for words, code in _FINAL.items() if words in error.message), error.code)
