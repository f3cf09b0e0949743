"""AWS Signature Version 4 for a POST to "/" without a query, the only form of request that DynamoDB accepts.

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
    stamp = at.strftime("%Y%m%dT%H%M%SZ")
    sent = dict(headers) | {"X-Amz-Date": stamp}
    if credentials.token:
        sent["X-Amz-Security-Token"] = credentials.token
    canonical = sorted((name.lower(), " ".join(value.split())) for name, value in sent.items())
    names = ";".join(name for name, _ in canonical)
    lines = "".join(f"{name}:{value}\n" for name, value in canonical)
    request = f"POST\n/\n\n{lines}\n{names}\n{hashlib.sha256(body).hexdigest()}"
    scope = f"{stamp[:8]}/{region}/{service}/aws4_request"
    to_sign = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    key = _signing_key(credentials.secret_key, scope)
    signature = hmac.digest(key, to_sign.encode(), "sha256").hex()
    sent["Authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={credentials.access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    return sent


@lru_cache(maxsize=4)
def _signing_key(secret_key: str, scope: str) -> bytes:
    """The key of one day, Region and service."""
    key = b"AWS4" + secret_key.encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key
