"""A ledger behind PgBouncer in transaction mode, and TLS, which PgBouncer offers. The slow lane has the whole suite."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from cronce import Claim, Ledger
from cronce.aws.sigv4 import Credentials
from cronce.stores.postgres import PostgresStore
from cronce.stores.postgres.address import Address
from cronce.stores.postgres.iam import token
from cronce.vocabulary.errors import LedgerUnavailableError
from tests.conformance.stores import REGION, address_in
from tests.support.host import until
from tests.support.pgbouncer import SERVER_CONNECTIONS
from tests.support.postgres_server import PASSWORD

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.pgbouncer import PgBouncer

SECRET = quote(PASSWORD, safe="")


def ask(url: str) -> str:
    """Who the server says that we are."""
    store = PostgresStore(address_in(url), call_timeout=timedelta(seconds=5))
    try:
        [read] = store._ask("SELECT current_user")
        return str(read.rows[0][0])
    finally:
        store.close()


def test_more_claimants_than_connections_share_them_and_one_wins(
    pgbouncer: PgBouncer, new_table_name: Callable[[], str]
) -> None:
    """No state of a session is used, and no setting of one transaction reaches the next."""
    ledger = Ledger.from_url(pgbouncer.url(table=new_table_name().replace("-", "_")))
    ledger.create()
    claimants = 4 * SERVER_CONNECTIONS
    won: list[Claim] = []
    gate = threading.Barrier(claimants)

    def work() -> None:
        for period in ("1", "2", "3"):
            gate.wait(60)
            if claim := ledger.claim("job", period):
                assert isinstance(claim, Claim)
                claim.heartbeat()
                claim.complete()
                won.append(claim)

    threads = [threading.Thread(target=work) for _ in range(claimants)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(claim.period for claim in won) == ["1", "2", "3"]
    ledger.close()


@pytest.mark.parametrize("user", ["scram", "old", "plain"])
@pytest.mark.parametrize("ssl_mode", ["disable", "require", "verify-ca", "verify-full"])
def test_a_password_is_proved_over_tls(pgbouncer: PgBouncer, user: str, ssl_mode: str) -> None:
    """In each of the three ways."""
    options = {"sslmode": ssl_mode} | (
        {"sslrootcert": str(pgbouncer.certificate)} if ssl_mode.startswith("verify") else {}
    )
    assert ask(pgbouncer.url(user=f"{user}:{SECRET}", host="localhost", **options)) == user


@pytest.mark.parametrize("user", ["scram:wrong", "old:wrong", "plain:wrong", "nobody:wrong"])
def test_a_wrong_password_is_told_at_once(pgbouncer: PgBouncer, user: str) -> None:
    """PgBouncer gives it the code of a broken connection, which would be tried again for 9 s."""
    with pytest.raises(LedgerUnavailableError) as refused:
        ask(pgbouncer.url(user=user))
    assert not refused.value.transient, refused.value
    assert "check the user" in str(refused.value)
    assert "wrong" not in str(refused.value)


def test_a_password_is_not_sent_in_plain_text_through_a_network(
    pgbouncer: PgBouncer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever answers may ask for it. A proof of it does not give it away."""
    monkeypatch.setattr(Address, "is_local", False)
    with pytest.raises(LedgerUnavailableError, match="in plain text, without TLS"):
        ask(pgbouncer.url(user=f"plain:{SECRET}"))
    assert ask(pgbouncer.url(user=f"scram:{SECRET}")) == "scram"


@pytest.mark.parametrize(
    ("host", "ssl_mode", "trusted", "says"),
    [
        ("localhost", "verify-full", False, "SSLCertVerificationError.*sslrootcert=FILE; that of RDS"),
        ("localhost", "verify-ca", False, "SSLCertVerificationError"),
        ("127.0.0.1", "verify-full", True, "SSLCertVerificationError.*IP address mismatch"),
    ],
)
def test_a_server_that_is_not_trusted_gets_nothing(
    pgbouncer: PgBouncer, host: str, ssl_mode: str, says: str, *, trusted: bool
) -> None:
    """An unknown authority, or another name; trying again would not change that."""
    options = {"sslmode": ssl_mode} | ({"sslrootcert": str(pgbouncer.certificate)} if trusted else {})
    with pytest.raises(LedgerUnavailableError, match=says) as refused:
        ask(pgbouncer.url(host=host, **options))
    assert not refused.value.transient


def test_an_iam_token_is_sent_as_the_password_over_tls(pgbouncer: PgBouncer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The token of that moment, and no other; tests/unit compares it with botocore's."""
    at = datetime(2026, 11, 29, 6, tzinfo=UTC)
    monkeypatch.setattr("cronce.stores.postgres.iam.datetime", SimpleNamespace(now=lambda _zone: at))
    keys = Credentials(access_key="testing", secret_key="testing", token="session/token==")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", keys.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", keys.secret_key)
    monkeypatch.setenv("AWS_SESSION_TOKEN", keys.token or "")
    options = {"sslmode": "verify-full", "sslrootcert": str(pgbouncer.certificate), "auth": "iam", "region": REGION}
    url = pgbouncer.url(user="plain", host="localhost", **options)
    pgbouncer.set_password(token(address_in(url), keys, region=REGION, at=at))
    try:
        until(lambda: accepts(url), "the token")
        at += timedelta(seconds=1)
        with pytest.raises(LedgerUnavailableError, match="password authentication failed"):
            ask(url)
    finally:
        pgbouncer.set_password(PASSWORD)
        until(lambda: accepts(pgbouncer.url(user=f"scram:{SECRET}")), "the password")


def accepts(url: str) -> bool:
    """True if the server lets us in."""
    try:
        return bool(ask(url))
    except LedgerUnavailableError:
        return False


def test_verify_ca_does_not_check_the_name(pgbouncer: PgBouncer) -> None:
    """As in libpq: for tunnels."""
    options = {"sslmode": "verify-ca", "sslrootcert": str(pgbouncer.certificate)}
    assert ask(pgbouncer.url(host="127.0.0.1", **options)) == "cronce"


def test_a_file_of_authorities_that_is_none_is_one_line(pgbouncer: PgBouncer, tmp_path: Path) -> None:
    """It says which file, and what is wrong with it."""
    (tmp_path / "empty.pem").touch()
    for name, why in (("none.pem", "No such file or directory"), ("empty.pem", "it contains no certificate")):
        options = {"sslmode": "verify-full", "sslrootcert": str(tmp_path / name)}
        with pytest.raises(LedgerUnavailableError, match=f"sslrootcert '.*{name}': {why}") as refused:
            ask(pgbouncer.url(host="localhost", **options))
        assert not refused.value.transient
