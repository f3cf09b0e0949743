"""DynamoDB with the standard library alone: one signed POST per request, on connections kept open."""

from __future__ import annotations

import json
import os
import re
import socket
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from cronce.aws.answers import Answer, NoAnswerError
from cronce.aws.credentials import CredentialsSource, check_keys, plain_source
from cronce.aws.http import AnswerGarbledError, HttpConnection, Response, connect, deadline, is_endpoint, parse_url
from cronce.aws.sigv4 import signed
from cronce.stores.dynamo.reading import read_answer

_NOT_PLAIN = (
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_ROLE_ARN",
    "AWS_SECURITY_TOKEN",
    "AWS_CREDENTIAL_EXPIRATION",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_ACCOUNT_ID_ENDPOINT_MODE",
    "AWS_USE_FIPS_ENDPOINT",
    "AWS_USE_DUALSTACK_ENDPOINT",
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
    "AWS_ENDPOINT_DISCOVERY_ENABLED",
    "AWS_ENABLE_ENDPOINT_DISCOVERY",
    "AWS_AUTH_SCHEME_PREFERENCE",
    "AWS_DATA_PATH",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "http_proxy",
    "https_proxy",
)
"""Settings that change the source of credentials, the signature or the endpoint. botocore supports all of them."""

_AS_JSON = json.JSONEncoder(separators=(",", ":")).encode

_COMMERCIAL = re.compile(r"(?:us|eu|ap|sa|ca|me|af|il|mx)(?:-gov)?-[a-z]+-[0-9]")
"""Regions whose endpoints end in amazonaws.com (AWS General Reference, "DynamoDB endpoints")."""


def why_not_lean(environ: Mapping[str, str]) -> str:
    """Which setting of the environment is left to botocore, for an error message."""
    settings = [name for name in _NOT_PLAIN if environ.get(name)]
    settings += [f"the file {path}" for path in _files(environ) if _has_content(path)]
    if not settings and plain_source(environ) is None:
        return "credentials other than a task role or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
    return ", ".join(settings) or "the endpoint of this Region or ledger"


class SignedHttp:
    """Sends signed requests over HTTP/1.1; see `Transport`."""

    def __init__(
        self,
        endpoint: str,
        *,
        region: str,
        credentials: CredentialsSource,
        call_timeout: timedelta,
        bundle: str | None = None,
    ) -> None:
        """Set the endpoint; nothing is sent yet.

        Args:
            endpoint: E.g. `https://dynamodb.eu-west-1.amazonaws.com`.
            region: The Region to sign for.
            credentials: Called for each request.
            call_timeout: The longest that a call may take, from the credentials to the end of the answer.
            bundle: A file of certificates to trust instead of Amazon's and the system's.
        """
        self._endpoint = endpoint
        self._url = parse_url(endpoint)
        self._region = region
        self._credentials = credentials
        self._call_timeout = call_timeout
        self._bundle = bundle
        self._idle: deque[HttpConnection] = deque()

    @classmethod
    def for_environment(
        cls, environ: Mapping[str, str], *, region: str | None, endpoint: str | None, call_timeout: timedelta
    ) -> SignedHttp | None:
        """The transport, if it supports every setting of this environment; None if botocore is needed.

        Raises:
            NoAnswerError: A key in the environment cannot be used.
        """
        check_keys(environ)
        if any(environ.get(name) for name in _NOT_PLAIN) or any(_has_content(path) for path in _files(environ)):
            return None
        credentials = plain_source(environ)
        endpoint = endpoint or environ.get("AWS_ENDPOINT_URL_DYNAMODB") or environ.get("AWS_ENDPOINT_URL")
        if endpoint is None and region is not None and _COMMERCIAL.fullmatch(region):
            endpoint = f"https://dynamodb.{region}.amazonaws.com"
        if credentials is None or endpoint is None or region is None or not is_endpoint(endpoint):
            return None
        bundle = environ.get("AWS_CA_BUNDLE") or None
        return cls(endpoint, region=region, credentials=credentials, call_timeout=call_timeout, bundle=bundle)

    @property
    def where(self) -> str:
        """Region and endpoint."""
        return f"{self._region} at {self._endpoint}"

    @property
    def call_timeout(self) -> timedelta:
        """The longest that one call may take."""
        return self._call_timeout

    def call(self, operation: str, request: Mapping[str, Any]) -> Answer:
        """See `Transport.call`."""
        by = deadline(self._call_timeout.total_seconds())
        body = _AS_JSON(request).encode()
        headers = {
            "Host": self._url.netloc,
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Target": f"DynamoDB_20120810.{operation}",
        }
        headers = signed(
            headers, body, self._credentials(by), region=self._region, service="dynamodb", at=datetime.now(UTC)
        )
        try:
            response = self._exchange(headers | {"User-Agent": "cronce"}, body, by)
        except (OSError, AnswerGarbledError) as error:
            raise NoAnswerError(type(error).__name__, str(error), transient=not _is_about_trust(error)) from error
        except ValueError as error:  # this side's: a setting that cannot be sent
            raise NoAnswerError(type(error).__name__, str(error), transient=False) from error
        return read_answer(operation, response.status, response.headers, response.body)

    def close(self) -> None:
        """Close every connection that is not in use."""
        while self._idle:
            self._idle.pop().close()

    def _exchange(self, headers: Mapping[str, str], body: bytes, by: float) -> Response:
        """Send the request and return its answer.

        The peer may close an idle connection at the moment of the request: the request is then sent again on a new
        connection. The first one may have arrived; the protocol's tokens make that harmless.
        """
        if (idle := self._idle_connection()) is not None:
            with suppress(BrokenPipeError, ConnectionResetError):
                return self._post(idle, headers, body, by)
        return self._post(self._connect(by), headers, body, by)

    def _idle_connection(self) -> HttpConnection | None:
        with suppress(IndexError):
            while True:
                connection = self._idle.pop()
                if connection.is_idle():
                    return connection
                connection.close()
        return None

    def _post(self, connection: HttpConnection, headers: Mapping[str, str], body: bytes, by: float) -> Response:
        """Perform one exchange. The connection is kept afterwards, or closed if the exchange failed."""
        try:
            response = connection.exchange("POST", "/", headers, body, by=by)
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        return response

    def _connect(self, by: float) -> HttpConnection:
        host, port = self._url.host, self._url.port
        if self._url.scheme == "https":
            from cronce.aws.tls import connect_tls  # noqa: PLC0415  # loads OpenSSL

            connection: socket.socket = connect_tls(host, port, by=by, bundle=self._bundle)
        else:
            connection = connect(host, port, by=by)
        return HttpConnection(connection)


def _files(environ: Mapping[str, str]) -> tuple[str, str]:
    """The files from which the SDKs read settings and keys."""
    home = environ.get("HOME") or "~"
    return (
        environ.get("AWS_CONFIG_FILE") or f"{home}/.aws/config",
        environ.get("AWS_SHARED_CREDENTIALS_FILE") or f"{home}/.aws/credentials",
    )


def _has_content(path: str) -> bool:
    try:
        # os.path, because pathlib is not loaded yet and takes as long to load as ten signatures.
        return os.stat(os.path.expanduser(path)).st_size > 0  # noqa: PTH111, PTH116
    except (OSError, ValueError):
        return False


def _is_about_trust(error: Exception) -> bool:
    """True for a certificate that does not verify: another try would not change it."""
    return type(error).__name__ == "SSLCertVerificationError"
