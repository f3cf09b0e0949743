"""Signature Version 4, held to AWS's published vectors and to botocore's own signer."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotocoreCredentials
from hypothesis import given
from hypothesis import strategies as st

from cronce.aws.sigv4 import Credentials, signed

AT = datetime(2015, 8, 30, 12, 36, tzinfo=UTC)
KEYS = Credentials(access_key="AKIDEXAMPLE", secret_key="wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
HOST = {"Host": "example.amazonaws.com"}
FORM = HOST | {"Content-Type": "application/x-www-form-urlencoded"}

# The signatures of AWS's "Signature Version 4 test suite" (aws-sig-v4-test-suite) for requests of our form.
VECTORS = [
    pytest.param(HOST, b"", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b", id="post-vanilla"),
    pytest.param(
        HOST | {"My-Header1": "value1"},
        b"",
        "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c",
        id="post-header-key-sort",
    ),
    pytest.param(
        HOST | {"My-Header1": "VALUE1"},
        b"",
        "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d",
        id="post-header-value-case",
    ),
    pytest.param(
        FORM,
        b"Param1=value1",
        "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
        id="post-x-www-form-urlencoded",
    ),
]


@pytest.mark.parametrize(("headers", "body", "signature"), VECTORS)
def test_a_published_vector_gives_its_signature(headers: dict[str, str], body: bytes, signature: str) -> None:
    """Service `service` in us-east-1, as the suite has it."""
    sent = signed(headers, body, KEYS, region="us-east-1", service="service", at=AT)
    assert sent["Authorization"].rpartition("Signature=")[2] == signature


@given(
    body=st.binary(max_size=200),
    token=st.none() | st.from_regex(r"[A-Za-z0-9/+=]{1,40}", fullmatch=True),
    region=st.sampled_from(["eu-west-1", "us-gov-west-1", "cn-north-1"]),
    at=st.integers(min_value=1_420_070_400, max_value=2_208_988_800).map(lambda s: datetime.fromtimestamp(s, UTC)),
)
def test_the_signature_is_the_one_that_botocore_makes(
    body: bytes, token: str | None, region: str, at: datetime
) -> None:
    """The very headers that the transport sends, with and without a session's token."""
    headers = {
        "Host": f"dynamodb.{region}.amazonaws.com",
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Target": "DynamoDB_20120810.PutItem",
    }
    keys = Credentials(access_key="AKIDEXAMPLE", secret_key="secret", token=token)
    sent = signed(headers, body, keys, region=region, service="dynamodb", at=at)

    request = AWSRequest("POST", f"https://{headers['Host']}/", headers=dict(headers), data=body)
    request.context["timestamp"] = at.strftime("%Y%m%dT%H%M%SZ")
    theirs = SigV4Auth(BotocoreCredentials("AKIDEXAMPLE", "secret", token), "dynamodb", region)
    for name, value in sent.items():
        if name not in headers and name != "Authorization":
            request.headers[name] = value
    expected = theirs.signature(theirs.string_to_sign(request, theirs.canonical_request(request)), request)
    assert sent["Authorization"].rpartition("Signature=")[2] == expected


def test_secrets_are_not_in_what_is_printed() -> None:
    """A traceback or a debug line shows the key's name at most."""
    shown = repr(Credentials(access_key="AKIDEXAMPLE", secret_key="hush", token="hush too"))
    assert shown == "Credentials(access_key='AKIDEXAMPLE')"
