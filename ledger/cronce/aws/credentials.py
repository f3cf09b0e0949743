"""The credentials that the lean way supports: those in the environment, and those of an ECS task role."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta

from cronce.aws.answers import NoAnswerError, first_words
from cronce.aws.http import HttpConnection, connect, deadline, time_left
from cronce.aws.sigv4 import Credentials

RELATIVE_URI = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"
"""Set by ECS where the task has a role (ECS Developer Guide, "Task IAM role")."""

_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
_ENDPOINT = "169.254.170.2"
_LONGEST_FETCH = 2.0
_REFRESH_BEFORE = timedelta(minutes=10)
_PAUSE_AFTER_FAILURE = 60.0
"""Seconds. While the credentials are valid, an endpoint that fails delays one call a minute and not each."""

CredentialsSource = Callable[[float], Credentials]
"""Gives credentials by a deadline (see `cronce.aws.http.deadline`)."""


def plain_source(environ: Mapping[str, str]) -> CredentialsSource | None:
    """The source of credentials that the environment names, in the SDKs' order; None for any other source.

    Half a pair of keys is left to botocore, which says what is missing.
    """
    access_key, secret_key, token = (environ.get(name) for name in _KEYS)
    if access_key and secret_key:
        fixed = Credentials(access_key=access_key, secret_key=secret_key, token=token)
        return lambda _by: fixed
    if access_key or secret_key:
        return None
    if path := environ.get(RELATIVE_URI):
        return TaskCredentials(path).current
    return None


def check_keys(environ: Mapping[str, str]) -> None:
    """Check that the keys in the environment can be signed with and sent. An environment may hold any bytes.

    Raises:
        NoAnswerError: One has a character that no key has; the text names the variable but does not show the secret.
    """
    for name in _KEYS:
        text = environ.get(name, "")
        if not (text.isascii() and text.isprintable()):
            problem = f"{name} has a character that is not printable ASCII"
            raise NoAnswerError("InvalidCredentials", problem, transient=False)


class TaskCredentials:
    """The credentials of the task role. They are fetched again ten minutes before they expire.

    While they are valid, a failure of the endpoint is no error.
    """

    def __init__(self, path: str, *, endpoint: str = _ENDPOINT) -> None:
        """Set the path that ECS gave; nothing is fetched yet."""
        self._path = path
        self._endpoint = endpoint
        self._lock = threading.Lock()
        self._credentials: Credentials | None = None
        self._expires_at = datetime.min.replace(tzinfo=UTC)
        self._failed_at: float | None = None

    def current(self, by: float) -> Credentials:
        """Credentials that have not expired.

        Args:
            by: The deadline.

        Raises:
            NoAnswerError: The endpoint gave none, and no valid ones are left.
        """
        if not self._lock.acquire(timeout=max(0.0, by - time.monotonic())):
            raise _unavailable("it has not answered another thread of this process")
        try:
            now = datetime.now(UTC)
            valid = self._credentials is not None and now < self._expires_at
            if not valid or (now >= self._expires_at - _REFRESH_BEFORE and not self._failed_lately()):
                try:
                    self._credentials, self._expires_at = self._fetch(min(by, deadline(_LONGEST_FETCH)))
                    self._failed_at = None
                except (OSError, ValueError, RecursionError) as error:
                    self._failed_at = time.monotonic()
                    if not valid:
                        raise _unavailable(str(error) or type(error).__name__) from error
            if self._credentials is None or now >= self._expires_at:
                raise _unavailable(f"it gave credentials that expired at {self._expires_at}")
            return self._credentials
        finally:
            self._lock.release()

    def _failed_lately(self) -> bool:
        return self._failed_at is not None and time.monotonic() - self._failed_at < _PAUSE_AFTER_FAILURE

    def _fetch(self, by: float) -> tuple[Credentials, datetime]:
        time_left(by)
        host, _, port = self._endpoint.partition(":")
        with closing(HttpConnection(connect(host, int(port or 80), by=by))) as connection:
            response = connection.exchange("GET", self._path, {"Host": self._endpoint}, by=by)
        problem = f"HTTP {response.status}: {first_words(response.body)}"
        if response.status != 200:
            raise ValueError(problem)
        try:
            answer = json.loads(response.body)
            keys = [answer[name] for name in ("AccessKeyId", "SecretAccessKey", "Token")]
            expires_at = datetime.fromisoformat(answer["Expiration"])
        except (ValueError, KeyError, TypeError, RecursionError):
            # The body may hold a secret: it is not shown.
            raise ValueError(f"HTTP {response.status} without usable credentials") from None
        if not all(isinstance(key, str) and key.isascii() and key.isprintable() for key in keys):
            raise ValueError(f"HTTP {response.status} with a key that is not printable ASCII")
        if expires_at.tzinfo is None:
            expires_at = expires_at.replace(tzinfo=UTC)
        return Credentials(access_key=keys[0], secret_key=keys[1], token=keys[2]), expires_at


def _unavailable(why: str) -> NoAnswerError:
    return NoAnswerError("CredentialRetrievalError", f"the task's credentials endpoint: {why}", transient=True)
