"""TLS to an AWS endpoint. Tries Amazon's roots first: the system bundle takes ten times as long to load."""

from __future__ import annotations

import os
import ssl

from cronce.aws.http import connect

_AMAZON_ROOTS = os.path.join(os.path.dirname(__file__), "amazon_roots.pem")  # noqa: PTH118, PTH120  # no pathlib
"""Amazon Root CA 1 to 4 and Starfield Services Root CA G2 (amazontrust.com/repository). A package that was built
without data files lacks it."""


def connect_tls(host: str, port: int, *, timeout: float) -> ssl.SSLSocket:
    """An open connection to a server whose certificate was verified.

    If the certificate does not chain to one of Amazon's roots (a Region of another partition, a gateway that inspects
    traffic), the system's bundle decides. `AWS_CA_BUNDLE` replaces both.

    Raises:
        OSError: The connection failed; `ssl.SSLCertVerificationError` if the certificate is not trusted.
    """
    if bundle := os.environ.get("AWS_CA_BUNDLE"):
        return _secured(host, port, timeout, ssl.create_default_context(cafile=bundle))
    try:
        amazon = ssl.create_default_context(cafile=_AMAZON_ROOTS)
    except OSError:  # no such file, or not a certificate
        return _secured(host, port, timeout, ssl.create_default_context())
    try:
        return _secured(host, port, timeout, amazon)
    except ssl.SSLCertVerificationError:
        return _secured(host, port, timeout, ssl.create_default_context())


def _secured(host: str, port: int, timeout: float, context: ssl.SSLContext) -> ssl.SSLSocket:
    connection = connect(host, port, timeout=timeout)
    try:
        return context.wrap_socket(connection, server_hostname=host)
    except BaseException:
        connection.close()
        raise
