"""AWS Signature Version 4: for the POST that DynamoDB accepts, and for the query that RDS accepts as a password.

The rule is in the IAM User Guide, "Create a signed AWS API request". Pure: the time is an argument.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache

from cronce.vocabulary.values import value_class


@value_class(kw_only=True)
class Credentials:
    """Keys to sign with; temporary ones have a `token`."""

    access_key: str
    secret_key: str
    token: str | None = None

    def __repr__(self) -> str:
        """Without the secrets: a traceback or a log line may contain it."""
        return f"Credentials(access_key={self.access_key!r})"


def signed(
    headers: Mapping[str, str], body: bytes, credentials: Credentials, *, region: str, service: str, at: datetime
) -> dict[str, str]:
    """The headers with `X-Amz-Date`, the session token and `Authorization` added.

    Args:
        headers: Every header to sign, `Host` among them.
        body: The payload.
        credentials: What to sign with.
        region: E.g. `eu-west-1`.
        service: E.g. `dynamodb`.
        at: Now, aware, in UTC.
    """
    stamp = _stamp(at)
    sent = dict(headers) | {"X-Amz-Date": stamp}
    if credentials.token:
        sent["X-Amz-Security-Token"] = credentials.token
    order, names = _canonical_order(tuple(sent))
    lines = "".join([f"{name}:{' '.join(sent[given].split())}\n" for given, name in order])
    request = f"POST\n/\n\n{lines}\n{names}\n{hashlib.sha256(body).hexdigest()}"
    scope = f"{stamp[:8]}/{region}/{service}/aws4_request"
    signature = _signature(request, credentials.secret_key, stamp, scope)
    sent["Authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={credentials.access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    return sent


def presigned(
    parameters: Mapping[str, str],
    credentials: Credentials,
    *,
    host: str,
    region: str,
    service: str,
    at: datetime,
    valid_for: int,
) -> str:
    """The query of a GET with its signature.

    Args:
        parameters: The query's own parameters.
        credentials: What to sign with.
        host: Host and port, as in the header `Host`.
        region: E.g. `eu-west-1`.
        service: E.g. `rds-db`.
        at: Now, aware, in UTC.
        valid_for: Seconds.
    """
    from urllib.parse import quote  # noqa: PLC0415  # takes long to load, and DynamoDB does not need it

    stamp = _stamp(at)
    scope = f"{stamp[:8]}/{region}/{service}/aws4_request"
    every = dict(parameters) | {
        "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
        "X-Amz-Credential": f"{credentials.access_key}/{scope}",
        "X-Amz-Date": stamp,
        "X-Amz-Expires": str(valid_for),
        "X-Amz-SignedHeaders": "host",
    }
    if credentials.token:
        every["X-Amz-Security-Token"] = credentials.token
    query = "&".join(f"{quote(name, safe='~')}={quote(value, safe='~')}" for name, value in sorted(every.items()))
    request = f"GET\n/\n{query}\nhost:{host}\n\nhost\n{hashlib.sha256(b'').hexdigest()}"
    return f"{query}&X-Amz-Signature={_signature(request, credentials.secret_key, stamp, scope)}"


def _signature(request: str, secret_key: str, stamp: str, scope: str) -> str:
    to_sign = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    return hmac.digest(_signing_key(secret_key, scope), to_sign.encode(), "sha256").hex()


def _stamp(at: datetime) -> str:
    """The time as `20261129T060000Z`; `strftime` takes as long as the signature."""
    return at.isoformat(timespec="seconds")[:19].replace("-", "").replace(":", "") + "Z"


@lru_cache(maxsize=4)
def _canonical_order(names: tuple[str, ...]) -> tuple[list[tuple[str, str]], str]:
    """The headers, as given and in lower case, in the order in which they are signed, and the list of their names."""
    order = sorted(((name, name.lower()) for name in names), key=lambda pair: pair[1])
    return order, ";".join(name for _, name in order)


@lru_cache(maxsize=4)
def _signing_key(secret_key: str, scope: str) -> bytes:
    """The key of one day, Region and service."""
    key = b"AWS4" + secret_key.encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key
