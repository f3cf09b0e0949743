"""TLS to an AWS endpoint. Tries Amazon's roots first: the system bundle takes ten times as long to load."""

from __future__ import annotations

import os
import ssl

from cronce.aws.answers import NoAnswerError
from cronce.aws.http import connect, time_left

_AMAZON_ROOTS = os.path.join(os.path.dirname(__file__), "amazon_roots.pem")  # noqa: PTH118, PTH120  # no pathlib
"""Amazon Root CA 1 to 4 and Starfield Services Root CA G2 (amazontrust.com/repository). A package that was built
without data files lacks it."""


def connect_tls(
    host: str,
    port: int,
    *,
    by: float,
    bundle: str | None = None,
    bundle_called: str = "AWS_CA_BUNDLE",
    is_aws: bool = True,
) -> ssl.SSLSocket:
    """An open connection to a server whose certificate was verified.

    If the certificate does not chain to one of Amazon's roots (a Region of another partition, a gateway that inspects
    traffic), the system's bundle decides.

    Args:
        host: The server's name.
        port: Its port.
        by: The deadline for connection and handshake.
        bundle: A file of certificates to trust instead.
        bundle_called: The name under which the bundle was given, for errors.
        is_aws: False for a server whose certificate is not from Amazon: then the system's bundle decides at once.

    Raises:
        OSError: The connection failed; `ssl.SSLCertVerificationError` if the certificate is not trusted.
        NoAnswerError: The bundle cannot be used.
    """
    if bundle:
        return _secured(host, port, by, trusting(bundle, called=bundle_called))
    if not is_aws:
        return _secured(host, port, by, ssl.create_default_context())
    try:
        amazon = ssl.create_default_context(cafile=_AMAZON_ROOTS)
    except OSError:  # no such file, or not a certificate
        return _secured(host, port, by, ssl.create_default_context())
    try:
        return _secured(host, port, by, amazon)
    except ssl.SSLCertVerificationError:
        return _secured(host, port, by, ssl.create_default_context())


def trusting(bundle: str, *, called: str = "AWS_CA_BUNDLE") -> ssl.SSLContext:
    """A context that trusts the certificates in this file and no others.

    Raises:
        NoAnswerError: There is no such file, it cannot be read, or it contains no certificate.
    """
    try:
        return ssl.create_default_context(cafile=bundle)
    except (OSError, ValueError) as error:
        why = "it contains no certificate" if isinstance(error, ssl.SSLError) else getattr(error, "strerror", None)
        problem = f"the bundle of certificates {bundle!r} ({called}) cannot be used: {why or error}"
        raise NoAnswerError("CertificateBundleError", problem, transient=False) from error


def _secured(host: str, port: int, by: float, context: ssl.SSLContext) -> ssl.SSLSocket:
    connection = connect(host, port, by=by)
    try:
        connection.settimeout(time_left(by))  # for the handshake as a whole, not for each `recv` (see _ssl.c)
        return context.wrap_socket(connection, server_hostname=host)
    except BaseException:
        connection.close()
        raise
