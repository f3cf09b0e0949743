"""`rediss://user:password@host:6379/0?prefix=cronce` -> a store."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import timedelta

from cronce.stores.redis.server import RedisServer
from cronce.stores.redis.store import RedisStore
from cronce.vocabulary.errors import InputInvalidError, InputMissingError
from cronce.vocabulary.ledger_urls import without_password

_PLACE = re.compile(
    r"(?:(?P<username>[^:@]*)(?::(?P<password>.*))?@)?"
    r"(?P<host>\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._-]{1,253})(?::(?P<port>[0-9]{1,5}))?(?:/(?P<database>[0-9]{0,4}))?",
    re.ASCII,
)
_PREFIX = re.compile(r"[0-9A-Za-z._:-]{1,100}", re.ASCII)
_PORT = 6379
_PASSWORD = "REDISCLI_AUTH"  # noqa: S105  # the variable's name


def open_redis(
    url: str,
    place: str,
    options: Mapping[str, str],
    *,
    call_timeout: timedelta,
    environ: Mapping[str, str],
    decoded: Callable[[str], str],
    what: str,
) -> RedisStore:
    """The store that the URL names; nothing is connected yet.

    Args:
        url: The whole URL; `rediss://` connects with TLS.
        place: Its part between `://` and `?`, still encoded.
        options: Its decoded options.
        call_timeout: The longest that one call may take.
        environ: Has the password if the URL has none: `REDISCLI_AUTH`, as for `redis-cli`.
        decoded: Decodes percent-encoding.
        what: The name under which the URL was given, for errors.

    Raises:
        InputInvalidError: A part of it cannot be used. The error does not show the password.
        InputMissingError: It has a user, and nobody gave the password.
    """
    found = _PLACE.fullmatch(place)
    port = int(found["port"] or _PORT) if found else 0
    if found is None or not 0 < port < 65536:
        allowed = "redis[s]://USER:PASSWORD@HOST:PORT/DATABASE, with %XX for special characters"
        raise InputInvalidError(what, without_password(url), allowed)
    username, password = decoded(found["username"] or "") or None, found["password"]
    password = environ.get(_PASSWORD) if password is None else decoded(password)
    if username and password is None:
        raise InputMissingError(f"the password of {username}", f"set {_PASSWORD}, or give USER:PASSWORD@ in {what}")
    for name in options:
        if name not in ("prefix", "ca"):
            raise InputInvalidError(f"{what} option", name, "prefix, ca")
    prefix = options.get("prefix", "cronce")
    if not _PREFIX.fullmatch(prefix):
        raise InputInvalidError(f"{what} prefix", prefix, "1 to 100 of A-Z a-z 0-9 . _ : -")
    if (ca := options.get("ca")) is not None and not (ca and url.startswith("rediss:")):
        raise InputInvalidError(f"{what} option ca", ca, "a file of certificates, with rediss://")
    database = int(found["database"] or 0)
    scheme = url.partition(":")[0]
    where = f"{scheme}://{found['host']}:{port}/{database}"
    where = f"Redis {where}" + (f" with prefix {prefix}" if prefix != "cronce" else "")
    server = RedisServer(
        found["host"].strip("[]"),
        port,
        where=where,
        call_timeout=call_timeout,
        database=database,
        username=username,
        password=password,
        tls=scheme == "rediss",
        ca=ca,
    )
    return RedisStore(server, where=where, call_timeout=call_timeout, prefix=prefix)
