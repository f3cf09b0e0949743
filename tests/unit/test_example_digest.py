"""The example digest in Python, on a bucket of moto: each mail is sent once, also by two attempts."""

from __future__ import annotations

import importlib.util
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from moto import mock_aws

from cronce import Claim, Ledger, Policy
from cronce.stores.memory import MemoryStore
from tests.support.builders import JOB, PERIOD

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

CUSTOMERS = 250
EXAMPLE = Path(__file__).parents[2] / "examples" / "digest" / "digest.py"


@pytest.fixture
def digest(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The example, with an empty bucket."""
    spec = importlib.util.spec_from_file_location("example_digest", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, value in {"DIGEST_BUCKET": "outbox", "DIGEST_CUSTOMERS": str(CUSTOMERS)}.items():
        monkeypatch.setenv(name, value)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        boto3.client("s3").create_bucket(Bucket="outbox")
        yield module


def test_an_attempt_that_fails_is_resumed_and_each_mail_is_sent_once(
    digest: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The failed mail is unknown, and sent again; no other one is."""
    sent = Counter[str]()
    client = boto3.client("s3")
    put = client.put_object

    def put_object(**request: Any) -> object:  # noqa: ANN401  # as boto3
        if request["Key"].endswith("/00123.txt") and not sent[request["Key"]]:
            sent[request["Key"]] += 1
            raise TimeoutError
        sent[request["Key"]] += 1
        return put(**request)

    monkeypatch.setattr(client, "put_object", put_object)
    monkeypatch.setattr(boto3, "client", lambda _: client)
    ledger = Ledger(MemoryStore(), owner="me", policy=Policy(backoff_limit=1))
    first = ledger.claim(JOB, PERIOD)
    assert isinstance(first, Claim)
    with pytest.raises(TimeoutError), first:
        digest.send_digest(first)
    second = ledger.claim(JOB, PERIOD)
    assert isinstance(second, Claim)
    with second:
        assert digest.send_digest(second) == {"resumed_from": 100, "sent": 150}
    assert [key for key, times in sent.items() if times > 1] == [f"{JOB}/{PERIOD}/00123.txt"]
    assert len(sent) == CUSTOMERS
    assert len(client.list_objects_v2(Bucket="outbox")["Contents"]) == CUSTOMERS
