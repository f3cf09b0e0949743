"""TLS to an AWS endpoint, with Amazon's own roots first: the full bundle takes ten times as long to load."""

from __future__ import annotations

import os
import ssl

from cronce.aws.http import connect

_AMAZON_ROOTS = os.path.join(os.path.dirname(__file__), "amazon_roots.pem")  # noqa: PTH118, PTH120  # no pathlib
"""Amazon Root CA 1 to 4 and Starfield Services Root CA G2 (amazontrust.com/repository)."""


def connect_tls(host: str, port: int, *, timeout: float) -> ssl.SSLSocket:
    """An open connection whose certificate was verified.

    Where another authority signed it (a Region of another partition, an inspecting gateway), the
    system's whole bundle decides; `AWS_CA_BUNDLE` replaces both.

    Raises:
        OSError: It could not be opened; `ssl.SSLCertVerificationError` if nobody vouches for it.
    """
    if bundle := os.environ.get("AWS_CA_BUNDLE"):
        return _secured(host, port, timeout, ssl.create_default_context(cafile=bundle))
    try:
        return _secured(host, port, timeout, ssl.create_default_context(cafile=_AMAZON_ROOTS))
    except ssl.SSLCertVerificationError:
        return _secured(host, port, timeout, ssl.create_default_context())


def _secured(host: str, port: int, timeout: float, context: ssl.SSLContext) -> ssl.SSLSocket:
    connection = connect(host, port, timeout=timeout)
    try:
        return context.wrap_socket(connection, server_hostname=host)
    except BaseException:
        connection.close()
        raise
