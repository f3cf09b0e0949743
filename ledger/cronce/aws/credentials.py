"""The credentials that the lean way knows: the environment's, and those of an ECS task role."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta

from cronce.aws.answers import NoAnswerError
from cronce.aws.http import HttpConnection, connect
from cronce.aws.sigv4 import Credentials

RELATIVE_URI = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"
"""Set by ECS where the task has a role (ECS Developer Guide, "Task IAM role")."""

_ENDPOINT = "169.254.170.2"
_TIMEOUT = 2.0
_REFRESH_BEFORE = timedelta(minutes=10)

CredentialsSource = Callable[[], Credentials]


def plain_source(environ: Mapping[str, str]) -> CredentialsSource | None:
    """Where the environment says credentials are, in the SDKs' order; None for any other source."""
    access_key, secret_key = environ.get("AWS_ACCESS_KEY_ID"), environ.get("AWS_SECRET_ACCESS_KEY")
    if access_key and secret_key:
        fixed = Credentials(access_key=access_key, secret_key=secret_key, token=environ.get("AWS_SESSION_TOKEN"))
        return lambda: fixed
    if path := environ.get(RELATIVE_URI):
        return TaskCredentials(path).current
    return None


class TaskCredentials:
    """The credentials of the task role, fetched again ten minutes before they expire.

    While they are still good, an endpoint that is away is no error.
    """

    def __init__(self, path: str, *, endpoint: str = _ENDPOINT) -> None:
        """Name the path that ECS gave; nothing is fetched yet."""
        self._path = path
        self._endpoint = endpoint
        self._lock = threading.Lock()
        self._credentials: Credentials | None = None
        self._expires_at = datetime.min.replace(tzinfo=UTC)

    def current(self) -> Credentials:
        """Credentials that have not expired.

        Raises:
            NoAnswerError: The endpoint gave none, and there are no good ones left.
        """
        with self._lock:
            now = datetime.now(UTC)
            if self._credentials is None or now >= self._expires_at - _REFRESH_BEFORE:
                try:
                    self._credentials, self._expires_at = self._fetch()
                except (OSError, ValueError, KeyError, TypeError) as error:
                    if self._credentials is None or now >= self._expires_at:
                        raise _unavailable(f"{type(error).__name__}: {error}") from error
            if now >= self._expires_at:
                raise _unavailable(f"it gave credentials that expired at {self._expires_at}")
            return self._credentials

    def _fetch(self) -> tuple[Credentials, datetime]:
        host, _, port = self._endpoint.partition(":")
        with closing(HttpConnection(connect(host, int(port or 80), timeout=_TIMEOUT))) as connection:
            answer = json.loads(connection.exchange("GET", self._path, {"Host": self._endpoint}).body)
        credentials = Credentials(
            access_key=answer["AccessKeyId"], secret_key=answer["SecretAccessKey"], token=answer["Token"]
        )
        return credentials, datetime.fromisoformat(answer["Expiration"])


def _unavailable(why: str) -> NoAnswerError:
    return NoAnswerError("CredentialRetrievalError", f"the task's credentials endpoint: {why}", transient=True)
