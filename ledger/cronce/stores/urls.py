"""`dynamodb://runs?region=eu-west-1`, `postgresql://ada@db/shop`, `rediss://app@h`, `sqlite:///runs.db` -> a store."""

from __future__ import annotations

import os
import re
from datetime import timedelta

from cronce.stores.store import Store
from cronce.vocabulary.errors import InputInvalidError
from cronce.vocabulary.names import checked_region, ledger_name

_ALLOWED = (
    "dynamodb://TABLE?region=REGION&endpoint=URL, postgresql://USER@HOST:PORT/DATABASE, rediss://USER@HOST:PORT,"
    " or sqlite:///PATH (sqlite:////PATH from the root)"
)

_TABLE = re.compile(r"[A-Za-z0-9_.\-]{3,255}|arn:aws[a-z-]*:dynamodb:[a-z0-9-]+:[0-9]{12}:table/[A-Za-z0-9_.\-]{3,255}")

_LONGEST_CALL = timedelta(seconds=3)


def open_store(url: object, *, lease: timedelta, what: str = "ledger") -> Store:
    """The store that the URL names; nothing is connected or created yet.

    Its time limits are derived from the lease: three tries must fit in less than half of it.

    Raises:
        InputInvalidError: The URL is not a store's URL, or a part of it is unknown.
    """
    if not isinstance(url, str) or not _decoded(url).isprintable():
        raise _unusable(what, url)
    scheme, found, rest = url.partition("://")
    place, _, query = rest.partition("?")
    options = _options(query)
    if not found or "#" in rest or options is None:
        raise _unusable(what, url)
    call_timeout = min(_LONGEST_CALL, lease / 8)
    match scheme:
        case "dynamodb":
            return _open_dynamo(_decoded(place), options, call_timeout, what=what)
        case "sqlite" if place.startswith("/") and len(place) > 1 and not options:
            from cronce.stores.sqlite import SqliteStore  # noqa: PLC0415  # only what is used is loaded

            return SqliteStore(_decoded(place[1:]), timeout=call_timeout)
        case "postgresql" | "postgres":
            return _open_postgres(place, options, call_timeout, what=what)
        case "redis" | "rediss":
            from cronce.stores.redis import open_redis  # noqa: PLC0415  # only what is used is loaded

            return open_redis(
                url, place, options, call_timeout=call_timeout, environ=os.environ, decoded=_decoded, what=what
            )
        case _:
            raise _unusable(what, url)


def table_of(url: str) -> str:
    """The table in the URL of a ledger in DynamoDB: its name or its ARN."""
    return _decoded(url.partition("://")[2].partition("?")[0])


def region_of(url: str) -> str | None:
    """The Region in a ledger's URL, from its options or the table's ARN; None if it has none."""
    query, arn = url.partition("?")[2], table_of(url).split(":")
    return (_options(query) or {}).get("region") or (arn[3] if arn[0] == "arn" and len(arn) > 3 else None)


def is_same_ledger(one: str, other: str) -> bool:
    """True if both URLs name one ledger. One of them may have the Region of its table from the environment."""
    from cronce.vocabulary.ledger_urls import is_in_dynamodb  # noqa: PLC0415  # `cronce exec` does not compare

    if not (is_in_dynamodb(one) and is_in_dynamodb(other)):
        return one == other
    regions = {region for region in map(region_of, (one, other)) if region}
    return ledger_name(one) == ledger_name(other) and len(regions) < 2


def _open_dynamo(table: str, options: dict[str, str], call_timeout: timedelta, *, what: str) -> Store:
    from cronce.aws.http import is_endpoint  # noqa: PLC0415  # only what is used is loaded
    from cronce.stores.dynamo import DynamoStore  # noqa: PLC0415  # same

    if not _TABLE.fullmatch(table):
        raise InputInvalidError(f"{what} table", table, "3 to 255 of A-Z a-z 0-9 _ . - (or the table's ARN)")
    for name in options:
        if name not in ("region", "endpoint"):
            raise InputInvalidError(f"{what} option", name, "region, endpoint")
    region, endpoint = options.get("region"), options.get("endpoint")
    if region is not None:
        checked_region(region, what=f"{what} region")
    if endpoint is not None and not is_endpoint(endpoint):
        raise InputInvalidError(f"{what} endpoint", endpoint, "a URL such as http://localhost:8000")
    return DynamoStore(table, region=region, endpoint=endpoint, call_timeout=call_timeout)


def _open_postgres(place: str, options: dict[str, str], call_timeout: timedelta, *, what: str) -> Store:
    from cronce.stores.postgres import PostgresStore  # noqa: PLC0415  # only what is used is loaded
    from cronce.stores.postgres.address import parse_address  # noqa: PLC0415  # same

    return PostgresStore(parse_address(place, options, os.environ, _decoded, what=what), call_timeout=call_timeout)


def _unusable(what: str, url: object) -> InputInvalidError:
    from cronce.vocabulary.ledger_urls import without_password  # noqa: PLC0415  # for this error only

    return InputInvalidError(what, without_password(url) if isinstance(url, str) else url, _ALLOWED)


def _options(query: str) -> dict[str, str] | None:
    """The options `name=value`, each once, of `a=b&c=d`; None if that is not what it is."""
    pairs = [part.partition("=") for part in query.split("&")] if query else []
    options = {_decoded(name): _decoded(value) for name, _, value in pairs}
    return options if all(equals for _, equals, _ in pairs) and len(options) == len(pairs) else None


def _decoded(text: str) -> str:
    """The text with percent-encoding decoded."""
    if "%" not in text:
        return text
    from urllib.parse import unquote  # noqa: PLC0415  # takes as long to load as asking DynamoDB once

    return unquote(text)
