"""TLS to an AWS endpoint, with Amazon's own roots first: the full bundle takes ten times as long to load."""

from __future__ import annotations

import os
import ssl
from http.client import HTTPSConnection
from pathlib import Path

_AMAZON_ROOTS = Path(__file__).with_name("amazon_roots.pem")
"""Amazon Root CA 1 to 4 and Starfield Services Root CA G2 (amazontrust.com/repository)."""


def connect_tls(host: str, port: int | None, *, timeout: float) -> HTTPSConnection:
    """An open connection whose certificate was verified.

    Where another authority signed it (a Region of another partition, an inspecting gateway), the
    system's whole bundle decides; `AWS_CA_BUNDLE` replaces both.

    Raises:
        OSError: It could not be opened; `ssl.SSLCertVerificationError` if nobody vouches for it.
    """
    if bundle := os.environ.get("AWS_CA_BUNDLE"):
        return _opened(host, port, timeout, ssl.create_default_context(cafile=bundle))
    try:
        return _opened(host, port, timeout, ssl.create_default_context(cafile=str(_AMAZON_ROOTS)))
    except ssl.SSLCertVerificationError:
        return _opened(host, port, timeout, ssl.create_default_context())


def _opened(host: str, port: int | None, timeout: float, context: ssl.SSLContext) -> HTTPSConnection:
    connection = HTTPSConnection(host, port, timeout=timeout, context=context)
    try:
        connection.connect()
    except BaseException:
        connection.close()
        raise
    return connection
