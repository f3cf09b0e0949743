"""`dynamodb://runs?region=eu-west-1` and `sqlite:///runs.db` -> a store."""

from __future__ import annotations

import re
from datetime import timedelta
from urllib.parse import parse_qsl, unquote, urlsplit

from cronce.errors import InputInvalidError
from cronce.stores.store import Store

ALLOWED = "dynamodb://TABLE?region=REGION&endpoint=URL, or sqlite:///PATH (sqlite:////PATH from the root)"

_TABLE = re.compile(r"[A-Za-z0-9_.\-]{3,255}|arn:aws[a-z-]*:dynamodb:[a-z0-9-]+:[0-9]{12}:table/[A-Za-z0-9_.\-]{3,255}")
_REGION = re.compile(r"[a-z]{2,4}(-[a-z0-9]+)+")

_LONGEST_CALL = timedelta(seconds=3)


def open_store(url: object, *, lease: timedelta, what: str = "ledger") -> Store:
    """The store that the URL names; nothing is connected or made yet.

    Its time limits follow from the lease: three tries must fit in less than half of it.

    Raises:
        InputInvalidError: The URL is not one of a store, or a part of it is unknown.
    """
    if not isinstance(url, str) or not unquote(url).isprintable() or "://" not in url:
        raise InputInvalidError(what, url, ALLOWED)
    try:
        parts = urlsplit(url)
        options = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise InputInvalidError(what, url, ALLOWED) from None
    if parts.fragment or len(dict(options)) != len(options):
        raise InputInvalidError(what, url, ALLOWED)
    call_timeout = min(_LONGEST_CALL, lease / 8)
    match parts.scheme:
        case "dynamodb":
            table = unquote(parts.netloc + parts.path)
            return _open_dynamo(table, dict(options), call_timeout, what=what)
        case "sqlite" if not parts.netloc and len(parts.path) > 1 and not options:
            from cronce.stores.sqlite import SqliteStore  # noqa: PLC0415  # only what is used is loaded

            return SqliteStore(unquote(parts.path[1:]), timeout=call_timeout)
        case _:
            raise InputInvalidError(what, url, ALLOWED)


def _open_dynamo(table: str, options: dict[str, str], call_timeout: timedelta, *, what: str) -> Store:
    from cronce.stores.dynamo import DynamoStore  # noqa: PLC0415  # only what is used is loaded

    if not _TABLE.fullmatch(table):
        raise InputInvalidError(f"{what} table", table, "3 to 255 of A-Z a-z 0-9 _ . - (or the table's ARN)")
    for name in options:
        if name not in ("region", "endpoint"):
            raise InputInvalidError(f"{what} option", name, "region, endpoint")
    region, endpoint = options.get("region"), options.get("endpoint")
    if region is not None and not _REGION.fullmatch(region):
        raise InputInvalidError(f"{what} region", region, "an AWS Region such as eu-west-1")
    if endpoint is not None and not _is_endpoint(endpoint):
        raise InputInvalidError(f"{what} endpoint", endpoint, "a URL such as http://localhost:8000")
    return DynamoStore(table, region=region, endpoint=endpoint, call_timeout=call_timeout)


def _is_endpoint(url: str) -> bool:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and port != 0 and parts.path in ("", "/")
