"""Commands with a name: targets of a Makefile, and scripts in `pyproject.toml`, `Pipfile` and `composer.json`."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import PurePosixPath

from cronce.adopt.audit.files import Files
from cronce.adopt.audit.model import Place
from cronce.adopt.audit.services.commands import Argv, program

_MAKES = {"make": ("Makefile", "makefile", "GNUmakefile"), "just": ("justfile", "Justfile")}
_RUNNERS = frozenset({"poe", "task", "taskipy", "composer"})
_TABLES = (("pdm", "scripts"), ("poe", "tasks"), ("taskipy", "tasks"), ("hatch", "envs", "default", "scripts"))

Named = tuple[str, Place]
"""A text for a shell, and where it is written."""


def named_commands(argv: Argv, folder: PurePosixPath, files: Files) -> list[Named] | None:
    """What a target or a named script runs; None if the command is no such thing, or the project does not have it."""
    name = program(argv)
    words = [word for word in argv[1:] if not word.startswith("-") and "=" not in word]
    if name in _MAKES:
        found = [each for file in _MAKES[name] for target in words for each in _recipe(folder / file, target, files)]
    elif name in _RUNNERS:
        words = words[1:] if words[:1] in (["run"], ["run-script"]) else words
        found = list(_script(words[0], folder, files)) if words else []
    else:
        found = list(_script(argv[0], folder, files)) if "/" not in argv[0] else []
    return found or None


def _recipe(path: PurePosixPath, target: str, files: Files) -> Iterator[Named]:
    """The lines under a target, each as its own shell."""
    inside = False
    for number, line in enumerate((files.text(path) or "").splitlines(), start=1):
        if line[:1] in ("\t", " ") and inside:
            yield line.strip().lstrip("@-+"), Place(path=path, line=number)
        elif line.strip() and not line.startswith("#"):
            inside = re.match(rf"{re.escape(target)}\b[^:=]*:(?!=)", line) is not None


def _script(name: str, folder: PurePosixPath, files: Files) -> Iterator[Named]:
    for path, scripts in _tables(folder, files):
        given = scripts.get(name)
        texts = given if isinstance(given, list) else [given]
        for text in texts:
            command = (
                next((text[key] for key in ("cmd", "shell") if key in text), None) if isinstance(text, dict) else text
            )
            if isinstance(command, str) and not command.startswith("@"):
                yield command, Place(path=path, line=_line_of(files.text(path) or "", name))


def _tables(folder: PurePosixPath, files: Files) -> Iterator[tuple[PurePosixPath, dict[str, object]]]:
    for name in ("pyproject.toml", "Pipfile", "composer.json"):
        path = folder / name
        text = files.text(path)
        if not text or not any(word in text for word in ("scripts", "tasks")):
            continue
        try:
            document: object = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
        except (ValueError, RecursionError):
            continue
        keys = [("scripts",)] if name != "pyproject.toml" else [("tool", *each) for each in _TABLES]
        for each in keys:
            table = document
            for key in each:
                table = table.get(key) if isinstance(table, dict) else None
            if isinstance(table, dict):
                yield path, table


def _line_of(text: str, name: str) -> int:
    word = re.compile(rf"^\s*[\"']?{re.escape(name)}[\"']?\s*[:=]", re.MULTILINE)
    found = word.search(text)
    return text.count("\n", 0, found.start() + len(found[0]) - len(found[0].lstrip())) + 1 if found else 1
