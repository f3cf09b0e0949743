"""`postgresql://ada@db.example.com/shop?sslrootcert=/ca.pem` -> where the ledger is. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import StrEnum

from cronce.vocabulary.errors import InputInvalidError, InputMissingError
from cronce.vocabulary.values import value_class

TABLE = "cronce_ledger"

_FORM = "postgresql://USER@HOST:PORT/DATABASE?sslrootcert=FILE"
_NAME = r"[a-z_][a-z0-9_]{0,62}"
_TABLE = re.compile(rf"(?:{_NAME}\.)?{_NAME}")
_HOST = re.compile(r"[A-Za-z0-9_.\-]{1,255}|\[[0-9A-Fa-f:.%]+\]")
_RDS_REGION = re.compile(r"\.([a-z]{2}(?:-[a-z]+)+-[0-9])\.rds\.amazonaws\.com(?:\.cn)?")
_REGION = re.compile(r"[a-z]{2,4}(-[a-z0-9]+)+")
_OPTIONS = ("table", "host", "sslmode", "sslrootcert", "auth", "region")


class SslMode(StrEnum):
    """How the connection is protected; the words of libpq. Those that fall back to plain text do not exist here."""

    DISABLE = "disable"
    """Plain text. The default for this host: loopback addresses and sockets."""
    REQUIRE = "require"
    """Encrypted, but the server's certificate is not verified."""
    VERIFY_CA = "verify-ca"
    """Encrypted, and the certificate is of a trusted authority."""
    VERIFY_FULL = "verify-full"
    """Encrypted, and the certificate is of a trusted authority and for this host. The default for other hosts."""


@value_class(kw_only=True)
class Address:
    """A server, a database, a user, and the table of the ledger.

    Attributes:
        host: Name or address, or the folder of the server's socket.
        password: None if the URL and the environment have none.
        root_certificate: The file of trusted authorities; None for the system's.
        iam_region: The Region to sign an IAM token for, which is then the password; None for a password.
        table: The table, with a schema or without.
    """

    host: str
    port: int
    database: str
    user: str
    password: str | None
    ssl_mode: SslMode
    root_certificate: str | None
    iam_region: str | None
    table: str

    def __repr__(self) -> str:
        """Without the password: a traceback or a log line may contain it."""
        return f"Address({self})"

    def __str__(self) -> str:
        """For messages."""
        at = f"[{self.host}]" if ":" in self.host else self.host
        return f"PostgreSQL table {self.table} of {self.user} in {self.database} at {at}:{self.port}"

    @property
    def is_local(self) -> bool:
        """True if the connection does not leave this host."""
        return _is_local(self.host)


def parse_address(
    place: str, options: Mapping[str, str], environ: Mapping[str, str], decoded: Callable[[str], str], *, what: str
) -> Address:
    """The address in a URL.

    Args:
        place: What is between `postgresql://` and `?`.
        options: The options after `?`, decoded.
        environ: The environment: PGUSER, PGPASSWORD and AWS_REGION are used if the URL has no such part.
        decoded: Decodes percent-encoding.
        what: The name under which the URL was given, for errors.

    Raises:
        InputInvalidError: A part cannot be used; the error does not show the password.
        InputMissingError: A part is missing.
    """
    authority, _, database = place.partition("/")
    if "@" in database:
        raise InputInvalidError(what, "postgresql://...", f"{_FORM}, with / and @ in a password as %2F and %40")
    credentials, _, server = authority.rpartition("@")
    user, colon, password = credentials.partition(":")
    server, _, port = (server, "", "") if server.endswith("]") else _split_port(server)
    for name in options:
        if name not in _OPTIONS:
            raise InputInvalidError(f"{what} option", name, ", ".join(_OPTIONS))
    folder = options.get("host")
    if folder is not None and (server or not folder.startswith("/")):
        raise InputInvalidError(f"{what} host", folder, f"the folder of a socket, in {_FORM} without HOST:PORT")
    if folder is None and not _HOST.fullmatch(server):
        raise InputInvalidError(f"{what} host", server, f"a name or an address, in {_FORM}")
    if port and not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise InputInvalidError(f"{what} port", port, "1 to 65535")
    host = folder or server.strip("[]")
    name, user = decoded(database), decoded(user) or environ.get("PGUSER", "")
    for part, value in (("database", name), ("user", user)):
        if not value:
            raise InputMissingError(f"{what}: the {part}", f"the form is {_FORM}")
    ssl_mode = _ssl_mode(options.get("sslmode"), host, what)
    table = options.get("table", TABLE)
    if not _TABLE.fullmatch(table):
        raise InputInvalidError(f"{what} table", table, "a-z, 0-9 and _, as TABLE or SCHEMA.TABLE")
    return Address(
        host=host,
        port=int(port or 5432),
        database=name,
        user=user,
        password=decoded(password) if colon else environ.get("PGPASSWORD") or None,
        ssl_mode=ssl_mode,
        root_certificate=options.get("sslrootcert") or None,
        iam_region=_iam_region(options, host, ssl_mode, environ, what),
        table=table,
    )


def _split_port(server: str) -> tuple[str, str, str]:
    host, colon, port = server.rpartition(":")
    return (host, colon, port) if colon else (server, "", "")


def _ssl_mode(text: str | None, host: str, what: str) -> SslMode:
    if host.startswith("/"):
        if text not in (None, SslMode.DISABLE):
            raise InputInvalidError(f"{what} sslmode", text, f"{SslMode.DISABLE} on a socket")
        return SslMode.DISABLE
    if text is None:
        return SslMode.DISABLE if _is_local(host) else SslMode.VERIFY_FULL
    try:
        return SslMode(text)
    except ValueError:
        raise InputInvalidError(f"{what} sslmode", text, ", ".join(SslMode)) from None


def _iam_region(
    options: Mapping[str, str], host: str, ssl_mode: SslMode, environ: Mapping[str, str], what: str
) -> str | None:
    auth, region = options.get("auth"), options.get("region")
    if auth is None and region is None:
        return None
    if auth != "iam":
        raise InputInvalidError(f"{what} auth", auth, "iam, with or without region=REGION")
    if ssl_mode not in (SslMode.VERIFY_FULL, SslMode.VERIFY_CA):
        allowed = f"{SslMode.VERIFY_FULL} or {SslMode.VERIFY_CA} with auth=iam: the token is a password"
        raise InputInvalidError(f"{what} sslmode", ssl_mode.value, allowed)
    of_host = _RDS_REGION.search(host)
    region = region or (of_host[1] if of_host else environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION"))
    if region is None:
        raise InputMissingError(f"{what}: the Region", "add &region=eu-west-1, or set AWS_REGION")
    if not _REGION.fullmatch(region):
        raise InputInvalidError(f"{what} region", region, "an AWS Region such as eu-west-1")
    return region


def _is_local(host: str) -> bool:
    return host.startswith(("/", "127.")) or host in ("localhost", "::1")
