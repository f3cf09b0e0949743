"""Which certificates a connection to PostgreSQL trusts."""

from __future__ import annotations

import ssl

from cronce.stores.postgres.address import Address, SslMode
from cronce.stores.postgres.errors import AddressUnusableError


def context_of(address: Address) -> ssl.SSLContext:
    """A context with the authorities of `sslrootcert`, or else the system's.

    Raises:
        AddressUnusableError: There is no such file, it cannot be read, or it contains no certificate.
    """
    try:
        context = ssl.create_default_context(cafile=address.root_certificate)
    except (OSError, ValueError) as error:
        why = "it contains no certificate" if isinstance(error, ssl.SSLError) else getattr(error, "strerror", None)
        raise AddressUnusableError(f"sslrootcert {address.root_certificate!r}: {why or error}") from error
    context.check_hostname = address.ssl_mode is SslMode.VERIFY_FULL
    if address.ssl_mode is SslMode.REQUIRE:
        context.verify_mode = ssl.CERT_NONE
    return context
