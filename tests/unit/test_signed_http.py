"""The lean transport, against a server on this machine that answers as DynamoDB does."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from cronce.aws.answers import NoAnswerError, ServiceError
from cronce.aws.sigv4 import Credentials
from cronce.stores.dynamo.signed_http import SignedHttp
from cronce.stores.dynamo.store import choose_transport
from cronce.vocabulary.errors import InputInvalidError
from tests.support.certificates import self_signed
from tests.support.service import Reply, serving

if TYPE_CHECKING:
    from pathlib import Path

KEYS = {"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "secret", "HOME": "/nowhere"}
MARKS = {"x-amzn-RequestId": "R"}
DATE = MARKS | {"Date": "Sun, 29 Nov 2026 06:00:00 GMT"}


def transport(endpoint: str, *, bundle: str | None = None) -> SignedHttp:
    """The transport to that endpoint."""
    return SignedHttp(
        endpoint,
        region="eu-west-1",
        credentials=lambda _by: Credentials(access_key="AKID", secret_key="secret"),
        call_timeout=timedelta(seconds=3),
        bundle=bundle,
    )


def test_a_request_is_signed_json_to_the_operation() -> None:
    """And the answer comes with the service's own time."""
    with serving(lambda _: Reply(body={"Item": {"job": {"S": "a"}}}, headers=DATE)) as service:
        lean = transport(f"http://127.0.0.1:{service.port}")
        answer = lean.call("GetItem", {"TableName": "runs"})
        lean.close()
    (request,) = service.requests
    assert (request.method, request.path, request.body) == ("POST", "/", b'{"TableName":"runs"}')
    assert request.headers["X-Amz-Target"] == "DynamoDB_20120810.GetItem"
    assert request.headers["Authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKID/")
    assert answer.body == {"Item": {"job": {"S": "a"}}}
    assert answer.at is not None


def test_a_refusal_has_code_text_and_the_existing_row() -> None:
    """The shape of the DynamoDB API Reference, "Error handling"."""
    body = {
        "__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
        "message": "The conditional request failed",
        "Item": {"job": {"S": "a"}},
    }
    with serving(lambda _: Reply(body=body, status=400)) as service:
        lean = transport(f"http://127.0.0.1:{service.port}")
        with pytest.raises(ServiceError) as raised:
            lean.call("PutItem", {})
        lean.close()
    refusal = raised.value
    assert (refusal.code, refusal.status, refusal.item) == ("ConditionalCheckFailedException", 400, body["Item"])
    assert refusal.message == "The conditional request failed"


def test_one_connection_carries_many_requests() -> None:
    """TLS costs more than the request."""
    with serving(lambda _: Reply(headers=MARKS)) as service:
        lean = transport(f"http://127.0.0.1:{service.port}")
        for _ in range(3):
            lean.call("GetItem", {})
        lean.close()
    assert len({request.connection for request in service.requests}) == 1


def test_a_connection_that_the_peer_closed_is_replaced() -> None:
    """DynamoDB closes idle ones; the request is sent on a new one."""
    with serving(lambda _: Reply(headers=MARKS, hangs_up=True)) as service:
        lean = transport(f"http://127.0.0.1:{service.port}")
        for _ in range(3):
            assert lean.call("GetItem", {}).body == {}
        lean.close()
    assert len({request.connection for request in service.requests}) == 3


@pytest.mark.parametrize("body", [b"<html>", b"", b"\xff"])
def test_a_garbled_answer_is_no_answer(body: bytes) -> None:
    """Whether the request was carried out is then unknown."""
    with serving(lambda _: Reply(body=body)) as service:
        lean = transport(f"http://127.0.0.1:{service.port}")
        with pytest.raises(NoAnswerError) as raised:
            lean.call("PutItem", {})
        lean.close()
    assert raised.value.transient


def test_a_refused_connection_is_transient() -> None:
    """No server listens on that port."""
    with serving(lambda _: Reply()) as service:
        port = service.port
    with pytest.raises(NoAnswerError, match="ConnectionRefusedError") as raised:
        transport(f"http://127.0.0.1:{port}").call("PutItem", {})
    assert raised.value.transient


@pytest.mark.parametrize(
    "changed",
    [
        {"AWS_PROFILE": "prod"},
        {"AWS_CONFIG_FILE": __file__},
        {"AWS_SHARED_CREDENTIALS_FILE": __file__},
        {"AWS_WEB_IDENTITY_TOKEN_FILE": "/x"},
        {"AWS_USE_FIPS_ENDPOINT": "true"},
        {"AWS_ACCOUNT_ID_ENDPOINT_MODE": "required"},
        {"AWS_SECURITY_TOKEN": "token"},
        {"AWS_CONTAINER_AUTHORIZATION_TOKEN": "token"},
        {"HTTPS_PROXY": "http://proxy:3128"},
        {"AWS_ACCESS_KEY_ID": ""},
    ],
)
def test_an_environment_with_other_settings_is_left_to_botocore(changed: dict[str, str]) -> None:
    """It supports every setting."""
    environ = KEYS | changed
    timeout = timedelta(seconds=3)
    assert (
        SignedHttp.for_environment(environ, region="eu-west-1", endpoint="http://localhost:8000", call_timeout=timeout)
        is None
    )


@pytest.mark.parametrize(
    ("region", "environ", "where"),
    [
        ("eu-west-1", {}, "eu-west-1 at https://dynamodb.eu-west-1.amazonaws.com"),
        ("us-gov-west-1", {}, "us-gov-west-1 at https://dynamodb.us-gov-west-1.amazonaws.com"),
        ("eu-west-1", {"AWS_ENDPOINT_URL": "http://localhost:4566"}, "eu-west-1 at http://localhost:4566"),
        ("cn-north-1", {}, None),
        ("us-iso-east-1", {}, None),
        (None, {}, None),
    ],
)
def test_the_endpoint_follows_from_the_region(region: str | None, environ: dict[str, str], where: str | None) -> None:
    """Other partitions have other endings; they are left to the SDK."""
    lean = SignedHttp.for_environment(KEYS | environ, region=region, endpoint=None, call_timeout=timedelta(seconds=3))
    assert (lean.where if lean else None) == where


def test_a_task_on_fargate_uses_the_lean_transport(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what ECS puts into a container's environment, and nothing else."""
    for name in [name for name in os.environ if name.startswith("AWS_") or name.upper().endswith("_PROXY")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/credentials/1")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    monkeypatch.setenv("HOME", "/nowhere")
    chosen = choose_transport(region=None, endpoint=None, call_timeout=timedelta(seconds=3))
    assert isinstance(chosen, SignedHttp)


@pytest.mark.parametrize(
    "region", ["eu-west-1\n", "eu_west_1", "Frankfurt", "eu-west-\udce4", "../x", "eu-west-1.evil.test/"]
)
@pytest.mark.parametrize("name", ["AWS_REGION", "AWS_DEFAULT_REGION"])
def test_a_region_in_the_environment_that_is_none_is_an_input_error(
    name: str, region: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its variable is named; nothing is looked up or sent."""
    monkeypatch.setenv(name, region)
    with pytest.raises(InputInvalidError, match=f"^{name}: ") as refused:
        choose_transport(region=None, endpoint=None, call_timeout=timedelta(seconds=3))
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("url", ["localhost:8000", "http://", "http://b\u00fccher.test:8000", "http://a b", "nonsense"])
def test_an_endpoint_in_the_environment_that_is_none_is_a_permanent_error(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever transport it is left to."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", url)

    def call() -> None:
        choose_transport(region="eu-west-1", endpoint=None, call_timeout=timedelta(seconds=3)).call("GetItem", {})

    with pytest.raises(NoAnswerError) as raised:
        call()
    assert not raised.value.transient


def test_the_bundle_in_aws_ca_bundle_is_trusted(tmp_path: Path) -> None:
    """As in every SDK; nothing else is trusted then."""
    context, certificate = self_signed(tmp_path)
    with serving(lambda _: Reply(headers=MARKS), tls=context) as service:
        lean = SignedHttp.for_environment(
            KEYS | {"AWS_CA_BUNDLE": str(certificate)},
            region="eu-west-1",
            endpoint=f"https://localhost:{service.port}",
            call_timeout=timedelta(seconds=3),
        )
        assert lean is not None
        assert lean.call("GetItem", {}).body == {}
        lean.close()


@pytest.mark.parametrize(
    ("content", "why"),
    [(None, "No such file or directory"), (b"", "no certificate"), (b"no certificate", "no certificate")],
)
@pytest.mark.parametrize("way", ["lean", "botocore"])
def test_a_bundle_that_cannot_be_used_is_a_permanent_error(
    way: str, content: bytes | None, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its path. A retry would not change it, and nothing is sent."""
    bundle = tmp_path / "bundle.pem"
    if content is not None:
        bundle.write_bytes(content)
    monkeypatch.setenv("AWS_CA_BUNDLE", str(bundle))
    if way == "botocore":
        monkeypatch.setenv("AWS_ROLE_SESSION_NAME", "x")
        monkeypatch.setenv("AWS_USE_DUALSTACK_ENDPOINT", "true")

    def call() -> None:
        limit = timedelta(seconds=3)
        choose_transport(region="eu-west-1", endpoint="https://127.0.0.1:1", call_timeout=limit).call("GetItem", {})

    with pytest.raises(NoAnswerError) as raised:
        call()
    assert not raised.value.transient
    assert str(bundle) in raised.value.message
    assert why in raised.value.message


@pytest.mark.parametrize("name", ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"])
@pytest.mark.parametrize("text", ["secr\udce4t", "secr\u00e4t", "secret\n", "secret\tx", "\x7fsecret"])
@pytest.mark.parametrize("way", ["lean", "botocore"])
def test_a_key_that_cannot_be_sent_is_named_and_not_shown(
    way: str, name: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An environment may hold any bytes."""
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")
    monkeypatch.setenv(name, text)
    if way == "botocore":
        monkeypatch.setenv("AWS_USE_DUALSTACK_ENDPOINT", "true")
    with pytest.raises(NoAnswerError, match=name) as raised:
        choose_transport(region="eu-west-1", endpoint="http://127.0.0.1:1", call_timeout=timedelta(seconds=3))
    assert not raised.value.transient
    assert "secr" not in raised.value.message


@pytest.mark.parametrize("missing", ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"])
def test_half_a_pair_of_keys_is_not_replaced_by_the_task_role(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Botocore says what is missing, or knows another source."""
    monkeypatch.delenv(missing)
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/credentials/1")
    url, timeout = "http://127.0.0.1:1", timedelta(seconds=3)
    assert SignedHttp.for_environment(os.environ, region="eu-west-1", endpoint=url, call_timeout=timeout) is None
    if missing == "AWS_SECRET_ACCESS_KEY":
        with pytest.raises(NoAnswerError, match=f"missing: {missing}") as raised:
            choose_transport(region="eu-west-1", endpoint=url, call_timeout=timeout)
        assert not raised.value.transient


@pytest.mark.parametrize("content", [None, b"", b"no certificate"])
def test_without_amazons_roots_the_systems_bundle_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    """A package may have been built without data files."""
    context, certificate = self_signed(tmp_path)
    roots = tmp_path / "amazon_roots.pem"
    if content is not None:
        roots.write_bytes(content)
    monkeypatch.setattr("cronce.aws.tls._AMAZON_ROOTS", str(roots))
    monkeypatch.delenv("AWS_CA_BUNDLE", raising=False)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with serving(lambda _: Reply(headers=MARKS), tls=context) as service:
        lean = transport(f"https://localhost:{service.port}")
        assert lean.call("GetItem", {}).body == {}
        lean.close()


def test_a_certificate_that_is_not_trusted_is_a_permanent_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It chains neither to Amazon's roots nor to the system's bundle; nothing is sent."""
    context, _ = self_signed(tmp_path)
    monkeypatch.delenv("AWS_CA_BUNDLE", raising=False)
    with serving(lambda _: Reply(), tls=context) as service:
        with pytest.raises(NoAnswerError, match="SSLCertVerificationError") as raised:
            transport(f"https://localhost:{service.port}").call("GetItem", {})
        assert service.requests == []
    assert not raised.value.transient
