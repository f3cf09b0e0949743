"""DynamoDB with the standard library alone: one signed POST a request, connections kept open."""

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

from cronce.aws.answers import Answer, NoAnswerError, ServiceError
from cronce.aws.credentials import CredentialsSource, plain_source
from cronce.aws.http import HttpConnection, Response, connect, is_endpoint, parse_date, parse_url
from cronce.aws.sigv4 import signed

_NOT_PLAIN = (
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_ROLE_ARN",
    "AWS_USE_FIPS_ENDPOINT",
    "AWS_USE_DUALSTACK_ENDPOINT",
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "http_proxy",
    "https_proxy",
)
"""Settings that change where credentials come from or where requests go: botocore knows them all."""

_COMMERCIAL = re.compile(r"(?:us|eu|ap|sa|ca|me|af|il|mx)(?:-gov)?-[a-z]+-[0-9]")
"""Regions whose endpoints end in amazonaws.com (AWS General Reference, "DynamoDB endpoints")."""


class SignedHttp:
    """Sends requests over HTTP/1.1, signed; see `Transport`."""

    def __init__(self, endpoint: str, *, region: str, credentials: CredentialsSource, call_timeout: timedelta) -> None:
        """Name the endpoint; nothing is sent yet.

        Args:
            endpoint: E.g. `https://dynamodb.eu-west-1.amazonaws.com`.
            region: The Region to sign for.
            credentials: Called for each request.
            call_timeout: The longest that a call may take, a third of it to connect.
        """
        self._endpoint = endpoint
        self._url = parse_url(endpoint)
        self._region = region
        self._credentials = credentials
        self._call_timeout = call_timeout
        self._idle: deque[HttpConnection] = deque()

    @classmethod
    def for_environment(
        cls, environ: Mapping[str, str], *, region: str | None, endpoint: str | None, call_timeout: timedelta
    ) -> SignedHttp | None:
        """The transport, if this environment is plain enough for it; None where botocore must do it."""
        if any(environ.get(name) for name in _NOT_PLAIN) or any(_has_content(path) for path in _files(environ)):
            return None
        credentials = plain_source(environ)
        endpoint = endpoint or environ.get("AWS_ENDPOINT_URL_DYNAMODB") or environ.get("AWS_ENDPOINT_URL")
        if endpoint is None and region is not None and _COMMERCIAL.fullmatch(region):
            endpoint = f"https://dynamodb.{region}.amazonaws.com"
        if credentials is None or endpoint is None or region is None or not is_endpoint(endpoint):
            return None
        return cls(endpoint, region=region, credentials=credentials, call_timeout=call_timeout)

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
        body = json.dumps(request, separators=(",", ":")).encode()
        headers = {
            "Host": self._url.netloc,
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Target": f"DynamoDB_20120810.{operation}",
        }
        headers = signed(
            headers, body, self._credentials(), region=self._region, service="dynamodb", at=datetime.now(UTC)
        )
        try:
            response = self._exchange(headers | {"User-Agent": "cronce"}, body)
            answer = json.loads(response.body)
        except (OSError, ValueError) as error:
            raise NoAnswerError(type(error).__name__, str(error), transient=not _is_about_trust(error)) from error
        at = parse_date(response.headers.get("date"))
        if response.status == 200:
            return Answer(answer, at)
        raise ServiceError(
            str(answer.get("__type", "")).rpartition("#")[2],
            str(answer.get("message") or answer.get("Message") or ""),
            status=response.status,
            item=answer.get("Item"),
            at=at,
        )

    def close(self) -> None:
        """Close every connection that is not in use."""
        while self._idle:
            self._idle.pop().close()

    def _exchange(self, headers: Mapping[str, str], body: bytes) -> Response:
        """Send the request and give its answer.

        A connection that was idle may have been closed by the peer: the request is then sent once
        more on a new one. It may have arrived the first time; the protocol's tokens bear that.
        """
        with suppress(IndexError, BrokenPipeError, ConnectionResetError):
            return self._post(self._idle.pop(), headers, body)
        return self._post(self._connect(), headers, body)

    def _post(self, connection: HttpConnection, headers: Mapping[str, str], body: bytes) -> Response:
        """One request and its answer; the connection is idle afterwards, or closed."""
        try:
            response = connection.exchange("POST", "/", headers, body)
        except BaseException:
            connection.close()
            raise
        if connection.reusable:
            self._idle.append(connection)
        else:
            connection.close()
        return response

    def _connect(self) -> HttpConnection:
        seconds = self._call_timeout.total_seconds()
        host, port = self._url.host, self._url.port
        if self._url.scheme == "https":
            from cronce.aws.tls import connect_tls  # noqa: PLC0415  # loads OpenSSL

            connection: socket.socket = connect_tls(host, port, timeout=seconds / 3)
        else:
            connection = connect(host, port, timeout=seconds / 3)
        connection.settimeout(seconds * 2 / 3)
        return HttpConnection(connection)


def _files(environ: Mapping[str, str]) -> tuple[str, str]:
    """The files that the SDKs read settings and keys from."""
    home = environ.get("HOME") or "~"
    return (
        environ.get("AWS_CONFIG_FILE") or f"{home}/.aws/config",
        environ.get("AWS_SHARED_CREDENTIALS_FILE") or f"{home}/.aws/credentials",
    )


def _has_content(path: str) -> bool:
    try:
        # os.path, because pathlib is not loaded yet and takes as long as signing ten requests.
        return os.stat(os.path.expanduser(path)).st_size > 0  # noqa: PTH111, PTH116
    except OSError:
        return False


def _is_about_trust(error: Exception) -> bool:
    """True for a certificate that does not verify: trying again does not change it."""
    return type(error).__name__ == "SSLCertVerificationError"
