"""Checks the lines that tasks and functions log against `docs/schemas/log-line.json`."""

from __future__ import annotations

import json
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from cronce.client import reporting

if TYPE_CHECKING:
    from collections.abc import Callable

_SCHEMA = "log-line"


@cache
def events() -> frozenset[str]:
    """The events that the schema knows."""
    from tests.support.schemas import FOLDER  # noqa: PLC0415  # its library may be missing

    document = json.loads((FOLDER / f"{_SCHEMA}.json").read_text())
    return frozenset(document["properties"]["cronce.event"]["enum"])


def fault(line: str) -> str | None:
    """What is wrong with a line; None if it agrees with the schema."""
    from tests.support.schemas import validator  # noqa: PLC0415

    error = next(validator(_SCHEMA).iter_errors(json.loads(line)), None)
    return None if error is None else f"{line}: {error.message}"


def checked(make: Callable[[str, str, dict[str, object]], str], wrong: list[str]) -> Callable[..., str]:
    """`make`, which notes what is wrong with the lines that it makes; each kind of line is checked once."""
    if find_spec("jsonschema") is None:
        return make

    def made(event: str, level: str, fields: dict[str, object]) -> str:
        line = make(event, level, fields)
        kind = (event, *sorted((name, type(value).__name__) for name, value in fields.items()))
        if kind not in _seen:
            _seen.add(kind)
            if event in events() and (found := fault(line)) is not None:
                wrong.append(found)
        return line

    return made


_seen: set[Any] = set()
MAKES = "_as_json"
"""The function of `cronce.client.reporting` that makes a line."""

assert hasattr(reporting, MAKES)
