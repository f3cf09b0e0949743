"""The URL of a ledger in PostgreSQL: its parts, what is the default, and that no error shows a password."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl

import botocore.session
import pytest

from cronce.aws.sigv4 import Credentials
from cronce.stores.postgres import PostgresStore
from cronce.stores.postgres.address import Address
from cronce.stores.postgres.iam import token
from cronce.stores.urls import open_store, region_of
from cronce.vocabulary.errors import CronceError, InputInvalidError, InputMissingError

MINUTE = timedelta(minutes=1)
RDS = "runs.c0ffee.eu-west-1.rds.amazonaws.com"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of PostgreSQL's variables is set."""
    for name in ("PGUSER", "PGPASSWORD", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)


def address(url: str) -> Address:
    """The address in the URL."""
    store = open_store(url, lease=MINUTE, what="CRONCE_LEDGER")
    assert isinstance(store, PostgresStore)
    return store._address


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("postgresql://ada@db/shop", {"host": "db", "port": 5432, "database": "shop", "user": "ada", "password": None}),
        ("postgres://ada@db/shop", {"host": "db"}),
        ("postgresql://ada:s@db:6432/shop", {"port": 6432, "password": "s"}),
        ("postgresql://a%40b:p%2Fw%3A%40@db/my%20shop", {"user": "a@b", "password": "p/w:@", "database": "my shop"}),
        ("postgresql://ada:@db/shop", {"password": ""}),
        ("postgresql://ada:p@w@db/shop", {"user": "ada", "password": "p@w"}),
        ("postgresql://ada@[::1]:6432/shop", {"host": "::1", "port": 6432}),
        ("postgresql://ada@[2001:db8::1]/shop", {"host": "2001:db8::1", "port": 5432}),
        ("postgresql://ada@/shop?host=/run/postgresql", {"host": "/run/postgresql", "port": 5432}),
        ("postgresql://ada@db/shop", {"table": "cronce_ledger", "iam_region": None, "root_certificate": None}),
        ("postgresql://ada@db/shop?table=ops.runs", {"table": "ops.runs"}),
        # TLS with a verified name is the default, except where no network is between.
        ("postgresql://ada@db/shop", {"ssl_mode": "verify-full"}),
        ("postgresql://ada@10.0.0.1/shop", {"ssl_mode": "verify-full"}),
        ("postgresql://ada@localhost/shop", {"ssl_mode": "disable"}),
        ("postgresql://ada@127.0.0.1/shop", {"ssl_mode": "disable"}),
        ("postgresql://ada@[::1]/shop", {"ssl_mode": "disable"}),
        ("postgresql://ada@/shop?host=/run/postgresql", {"ssl_mode": "disable"}),
        ("postgresql://ada@localhost.example.com/shop", {"ssl_mode": "verify-full"}),
        ("postgresql://ada@db/shop?sslmode=disable", {"ssl_mode": "disable"}),
        ("postgresql://ada@db/shop?sslmode=verify-ca&sslrootcert=/ca.pem", {"root_certificate": "/ca.pem"}),
        (f"postgresql://ada@{RDS}/shop?auth=iam", {"iam_region": "eu-west-1", "ssl_mode": "verify-full"}),
        ("postgresql://ada@db/shop?auth=iam&region=eu-west-2", {"iam_region": "eu-west-2"}),
    ],
)
def test_a_url_has_these_parts(url: str, parts: dict[str, object]) -> None:
    """Decoded, or the defaults."""
    found = address(url)
    assert {name: getattr(found, name) for name in parts} == parts


def test_user_password_and_region_may_be_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the URL of a task definition has no secret; what the URL has wins."""
    monkeypatch.setenv("PGUSER", "ada")
    monkeypatch.setenv("PGPASSWORD", "secret")
    monkeypatch.setenv("AWS_REGION", "eu-west-3")
    found = address("postgresql://db/shop?auth=iam")
    assert (found.user, found.password, found.iam_region) == ("ada", "secret", "eu-west-3")
    assert address("postgresql://bob:other@db/shop").user == "bob"
    assert address("postgresql://bob:other@db/shop").password == "other"


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("postgresql://ada@db", "the database is missing: the form is postgresql://USER@HOST:PORT/DATABASE"),
        ("postgresql://ada@db/", "the database is missing"),
        ("postgresql://db/shop", "the user is missing"),
        ("postgresql://ada@/shop", "host: '' is not usable; allowed: a name or an address"),
        ("postgresql://ada@d%20b/shop", "host: 'd%20b'"),
        ("postgresql://ada@db1,db2/shop", "host: 'db1,db2'"),
        ("postgresql://ada@db:0/shop", "port: '0' is not usable; allowed: 1 to 65535"),
        ("postgresql://ada@db:65536/shop", "port: '65536'"),
        ("postgresql://ada@db:x/shop", "port: 'x'"),
        ("postgresql://ada@db/shop?host=/run/postgresql", "host: '/run/postgresql' .* without HOST:PORT"),
        ("postgresql://ada@/shop?host=db", "host: 'db'"),
        ("postgresql://ada@db/shop?sslmode=prefer", "sslmode: 'prefer' .* disable, require, verify-ca, verify-full"),
        ("postgresql://ada@/shop?host=/run&sslmode=require", "sslmode: 'require' .* disable on a socket"),
        ("postgresql://ada@db/shop?ssl=on", "option: 'ssl' is not usable; allowed: table, host, sslmode"),
        ("postgresql://ada@db/shop?table=Runs", "table: 'Runs'"),
        ("postgresql://ada@db/shop?table=a.b.c", "table: 'a.b.c'"),
        ("postgresql://ada@db/shop?table=a%22b", "table: "),
        ("postgresql://ada@db/shop?auth=md5", "auth: 'md5' is not usable; allowed: iam"),
        ("postgresql://ada@db/shop?region=eu-west-1", "auth: None"),
        ("postgresql://ada@db/shop?auth=iam", "the Region is missing"),
        ("postgresql://ada@db/shop?auth=iam&region=Frankfurt", "region: 'Frankfurt'"),
        (f"postgresql://ada@{RDS}/shop?auth=iam&sslmode=require", "sslmode: 'require' .* the token is a password"),
        ("postgresql://ada@db/shop#x", "is not usable"),
    ],
)
def test_a_bad_url_is_one_clear_line(url: str, says: str) -> None:
    """It names the part that is wrong, and what would be right."""
    with pytest.raises((InputInvalidError, InputMissingError), match=says) as refused:
        address(url)
    assert str(refused.value).startswith("CRONCE_LEDGER")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ada:secret@db/",
        "postgresql://ada:secret@/shop",
        "postgresql://ada:secret@db:x/shop",
        "postgresql://ada:secret@db/shop?ssl=on",
        "postgresql://ada:secret@db/shop#",
        "postgresql://ada:secret\n@db/shop",
        "postgresql://ada:/secret@db/shop",
        "postgresql://ada:x/secret@db/shop",
        "postgresql://ada:?secret@db/shop",
        "postgresql://ada:#secret@db/shop",
    ],
)
def test_no_error_shows_the_password(url: str) -> None:
    """Also where a character of the password makes the URL unusable."""
    with pytest.raises(CronceError) as refused:
        address(url)
    assert "secret" not in f"{refused.value}{vars(refused.value)}"


def test_an_address_does_not_show_the_password() -> None:
    """A traceback or a log line may contain it."""
    store = open_store("postgresql://ada:secret@db/shop", lease=MINUTE)
    assert store.where == "PostgreSQL table cronce_ledger of ada in shop at db:5432"
    assert "secret" not in f"{store.where}{address('postgresql://ada:secret@db/shop')!r}"
    assert open_store("postgresql://ada@[::1]/shop", lease=MINUTE).where.endswith("at [::1]:5432")


def test_the_region_of_the_url_is_that_of_other_aws_calls() -> None:
    """As for DynamoDB."""
    assert region_of("postgresql://ada:x@db/shop?auth=iam&region=eu-west-2") == "eu-west-2"
    assert region_of("postgresql://ada:x@db/shop") is None


@pytest.mark.parametrize("session_token", [None, "session/token+=="])
@pytest.mark.parametrize("user", ["ada", "ad a+ü&=/"])
def test_an_iam_token_is_the_one_that_botocore_makes(user: str, session_token: str | None) -> None:
    """Every parameter and the signature, for the same second."""
    session = botocore.session.Session()
    session.set_credentials("AKID", "secret/key", session_token)
    client: Any = session.create_client("rds", region_name="eu-west-1")
    theirs: str = client.generate_db_auth_token(DBHostname=RDS, Port=5433, DBUsername=user, Region="eu-west-1")
    client.close()
    stamp = re.search(r"X-Amz-Date=(\w+)", theirs)
    assert stamp is not None
    at = datetime.strptime(stamp[1], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    place = Address(
        host=RDS,
        port=5433,
        database="shop",
        user=user,
        password=None,
        ssl_mode=address("postgresql://ada@db/shop").ssl_mode,
        root_certificate=None,
        iam_region="eu-west-1",
        table="t",
    )
    keys = Credentials(access_key="AKID", secret_key="secret/key", token=session_token)
    ours = token(place, keys, region="eu-west-1", at=at)
    assert parts(ours) == parts(theirs)


def parts(made: str) -> tuple[str, dict[str, str]]:
    """What is before the query, and the query."""
    place, _, query = made.partition("?")
    return place, dict(parse_qsl(query, strict_parsing=True))
