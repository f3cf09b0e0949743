"""The ledger's URL -> a store, or one clear line."""

from __future__ import annotations

import gc
import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest

from cronce.client.ledger import Ledger
from cronce.stores.dynamo import DynamoStore
from cronce.stores.sqlite import SqliteStore
from cronce.stores.urls import is_same_ledger, open_store, region_of
from cronce.vocabulary.errors import InputInvalidError
from cronce.vocabulary.ledger_urls import without_password
from cronce.vocabulary.names import ledger_name

MINUTE = timedelta(minutes=1)
ARN = "arn:aws:dynamodb:eu-west-1:123456789012:table/runs"


@pytest.mark.parametrize(
    ("url", "where"),
    [
        ("dynamodb://runs?region=eu-west-1", "DynamoDB table runs in eu-west-1"),
        ("dynamodb://my.runs_2-x?region=us-gov-west-1", "DynamoDB table my.runs_2-x in us-gov-west-1"),
        ("dynamodb://runs", "DynamoDB table runs in the environment's Region"),
        (
            "dynamodb://runs?region=eu-west-1&endpoint=http://127.0.0.1:8000",
            "DynamoDB table runs in eu-west-1 at http://127.0.0.1:8000",
        ),
        (f"dynamodb://{ARN}?region=eu-west-1", f"DynamoDB table {ARN} in eu-west-1"),
        ("sqlite:///runs.db", "SQLite file runs.db"),
        ("sqlite:////var/lib/runs.db", "SQLite file /var/lib/runs.db"),
        ("sqlite:///my%20runs%23.db", "SQLite file my runs#.db"),
    ],
)
def test_a_url_names_a_store(url: str, where: str) -> None:
    """Nothing is connected or made yet."""
    store = open_store(url, lease=MINUTE)
    assert store.where == where
    assert isinstance(store, DynamoStore if url.startswith("dynamodb") else SqliteStore)


def test_opening_makes_no_file(tmp_path: Path) -> None:
    """The first claim does."""
    open_store(f"sqlite:///{tmp_path}/runs.db", lease=MINUTE)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("lease", "timeout"), [(MINUTE, 3.0), (timedelta(seconds=24), 3.0), (timedelta(seconds=8), 1.0)]
)
@pytest.mark.parametrize("url", ["dynamodb://runs?region=eu-west-1", "sqlite:///runs.db", "postgresql://ada@db/shop"])
def test_the_time_limits_follow_from_the_lease(url: str, lease: timedelta, timeout: float) -> None:
    """Three tries fit in less than half of it (L16)."""
    assert open_store(url, lease=lease).call_timeout == timedelta(seconds=timeout)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("", "CRONCE_LEDGER: '' is not usable; allowed: dynamodb://TABLE"),
        (None, "None is not usable"),
        (7, "7 is not usable"),
        (b"sqlite:///runs.db", "is not usable"),
        ("runs", "'runs' is not usable"),
        ("mysql://host/db", "allowed: dynamodb://"),
        ("dynamodb://", "table: '' is not usable"),
        ("dynamodb://ab", "table: 'ab' is not usable; allowed: 3 to 255"),
        ("dynamodb://a b c?region=eu-west-1", "table: 'a b c'"),
        ("dynamodb://runs/x", "table: 'runs/x'"),
        (f"dynamodb://{'x' * 256}", "table: "),
        ("dynamodb://runs?region=", "region: '' is not usable; allowed: an AWS Region such as eu-west-1"),
        ("dynamodb://runs?region=Frankfurt", "region: 'Frankfurt'"),
        ("dynamodb://runs?region", "is not usable"),
        ("dynamodb://runs?regoin=eu-west-1", "option: 'regoin' is not usable; allowed: region, endpoint"),
        ("dynamodb://runs?region=eu-west-1&region=eu-west-2", "is not usable"),
        ("dynamodb://runs?endpoint=localhost:8000", "endpoint: 'localhost:8000' .* such as http://localhost:8000"),
        ("dynamodb://runs?endpoint=http://", "endpoint: "),
        ("dynamodb://runs#x", "is not usable"),
        ("dynamodb://[::1", "is not usable"),
        ("dynamodb://runs\n", "is not usable"),
        ("sqlite://runs.db", "is not usable; allowed: .*sqlite:///PATH"),
        ("sqlite:///", "is not usable"),
        ("sqlite:", "is not usable"),
        ("sqlite:///runs.db?mode=ro", "is not usable"),
        ("sqlite://host/runs.db", "is not usable"),
        ("sqlite:///runs\0.db", "is not usable"),
        ("sqlite:///runs%00.db", "is not usable"),
        ("sqlite:///runs\ud800.db", "is not usable"),
        ("dynamodb://runs?region=eu-west-1&endpoint=http://127.0.0.1:99999", "endpoint: "),
        ("dynamodb://runs?region=eu-west-1&endpoint=http://127.0.0.1:port", "endpoint: "),
    ],
)
def test_a_bad_url_is_one_clear_line(url: object, says: str) -> None:
    """It names the part that is wrong, and what would be right."""
    with pytest.raises(InputInvalidError, match=says) as refused:
        open_store(url, lease=MINUTE, what="CRONCE_LEDGER")
    message = str(refused.value)
    assert message.startswith("CRONCE_LEDGER")
    assert "\n" not in message
    assert "\0" not in message


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("x://u:pw@h/d?a=b", "x://u:***@h/d?a=b"),
        ("x://:pw@h", "x://:***@h"),
        ("x://u:p@w:p/w@h:1/d", "x://u:***@h:1/d"),
        ("x://u@h:1/d", "x://u@h:1/d"),
        ("x://h:1/d", "x://h:1/d"),
        ("sqlite:///a:b@c.db", "sqlite:///a:b@c.db"),
        ("u:pw@h", "u:pw@h"),
    ],
)
def test_a_url_is_shown_without_its_password(url: str, shown: str) -> None:
    """Whatever characters the password has."""
    assert without_password(url) == shown


def test_an_error_does_not_show_a_password() -> None:
    """Neither in its text nor in its fields."""
    with pytest.raises(InputInvalidError) as refused:
        open_store("nosuchstore://u:secret@h/d", lease=MINUTE)
    assert "secret" not in f"{refused.value}{vars(refused.value)}"


@pytest.mark.parametrize(
    ("url", "region"),
    [
        ("dynamodb://runs?region=eu-west-1&endpoint=http://127.0.0.1:8000", "eu-west-1"),
        (f"dynamodb://{ARN}", "eu-west-1"),
        ("dynamodb://runs", None),
        ("sqlite:///runs.db", None),
        ("", None),
    ],
)
def test_a_url_says_in_which_region_the_rest_is(url: str, region: str | None) -> None:
    """In its options, or in the table's ARN."""
    assert region_of(url) == region


def test_a_ledger_that_a_program_only_drops_closes_its_file(tmp_path: Path) -> None:
    """Nobody is warned of an open connection, on any Python."""
    ledger = Ledger.from_url(f"sqlite:///{tmp_path}/runs.db")
    ledger.create()
    store = ledger._store
    assert isinstance(store, SqliteStore)
    connection = store._connection
    assert connection is not None
    del ledger, store
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


def test_the_name_of_a_ledger_is_decoded() -> None:
    """It is the file's, not the URL's."""
    assert ledger_name("sqlite:////data/my%20runs%23.db") == "my runs#.db"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("dynamodb://runs", "dynamodb://runs?region=eu-west-1", True),
        ("dynamodb://runs?region=eu-west-1", "dynamodb://runs?endpoint=http://localhost&region=eu-west-1", True),
        (
            "dynamodb://runs?region=eu-west-1",
            "dynamodb://arn%3Aaws%3Adynamodb%3Aeu-west-1%3A111122223333%3Atable%2Fruns",
            True,
        ),
        ("dynamodb://runs?region=eu-west-1", "dynamodb://runs?region=us-east-1", False),
        ("dynamodb://runs", "dynamodb://other", False),
        ("sqlite:///runs.db", "sqlite:///runs.db", True),
        ("sqlite:///runs.db", "dynamodb://runs.db", False),
        ("", "dynamodb://runs", False),
    ],
)
def test_one_ledger_has_several_urls(one: str, other: str, same: bool) -> None:  # noqa: FBT001
    """`doctor` of a person whose Region is in the environment is about the functions whose URL has it."""
    assert is_same_ledger(one, other) is same
    assert is_same_ledger(other, one) is same
