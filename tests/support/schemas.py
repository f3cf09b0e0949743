"""The JSON schemas of the documents that commands print: `docs/schemas/COMMAND.json`."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from referencing import Registry, Resource

if TYPE_CHECKING:
    from collections.abc import Sequence

FOLDER = Path(__file__).parents[2] / "docs" / "schemas"
LINES = ("logs", "tail")
"""Commands whose output is one document per line."""


def check_output(arguments: Sequence[str], out: str) -> None:
    """Check what a command printed for `--json` against its schema; anything else is not checked."""
    options = arguments[: [*arguments, "--"].index("--")]
    if "--json" not in options or not out.strip():
        return
    documents = out.splitlines() if arguments[0] in LINES else [out]
    for document in documents:
        validator(arguments[0]).validate(json.loads(document))


@cache
def validator(command: str) -> Any:  # noqa: ANN401  # of a library without types
    """The validator of the command's documents."""
    files = [json.loads(file.read_text()) for file in sorted(FOLDER.glob("*.json"))]
    registry: Any = Registry().with_resources([(each["$id"], Resource.from_contents(each)) for each in files])
    return Draft202012Validator({"$ref": f"{command}.json"}, registry=registry)
