"""Shell scripts as far as an entrypoint needs them: functions, and a `case "$1"` that picks what starts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from cronce.adopt.audit.services.commands import Argv, program, simple_commands

_FUNCTION = re.compile(r"\s*(?:function\s+)?(?P<name>[\w-]+)\s*\(\)\s*\{?\s*|\s*function\s+(?P<named>[\w-]+)\s*\{\s*")
_CASE = re.compile(r"\s*case\s+\"?\$\{?(?P<number>[1-9])\b[^\s]*\s+in\s*")
_BRANCH = re.compile(r"\s*\(?(?P<patterns>[^()\s][^()]*)\)\s*(?P<rest>.*)")
_ALL_ARGUMENTS = ("$@", "${@}", "$*")
_DEEPEST = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Script:
    """A text without the bodies of its functions, line for line, and those bodies in the same way."""

    main: str
    functions: dict[str, str]


def commands_of_script(text: str, argv: Argv) -> list[tuple[int, Argv]]:
    """The commands that the script runs when it is started as `argv`, with their lines."""
    lines = _chosen(text.splitlines(), argv)
    script = _without_functions(lines)
    return list(_commands(script.main, script, argv, _DEEPEST))


def _commands(text: str, script: _Script, argv: Argv, depth: int) -> Iterator[tuple[int, Argv]]:
    for line, words in simple_commands(text):
        inner = _with_arguments(words, argv)
        if not inner:
            continue
        body = script.functions.get(program(inner))
        if body is not None and depth:
            yield from _commands(body, script, inner, depth - 1)
        elif body is None:
            yield line, inner


def _with_arguments(words: Argv, argv: Argv) -> Argv:
    """The words with the script's arguments in place of `"$@"` and `"$1"`."""
    found: list[str] = []
    for word in words:
        number = re.fullmatch(r"\$\{?([1-9])\}?", word)
        if word in _ALL_ARGUMENTS:
            found += argv[1:]
        elif number is not None:
            found += argv[int(number[1]) : int(number[1]) + 1]
        else:
            found.append(word)
    return tuple(found)


def _without_functions(lines: list[str]) -> _Script:
    main = list(lines)
    functions: dict[str, str] = {}
    index = 0
    while index < len(lines):
        match = _FUNCTION.fullmatch(lines[index])
        if match is None:
            index += 1
            continue
        end = next((n for n in range(index + 1, len(lines)) if re.fullmatch(r"\s{0,2}\}\s*", lines[n])), None)
        if end is None:
            break
        name = match["name"] or match["named"]
        functions[name] = "\n".join([""] * (index + 1) + lines[index + 1 : end])
        main[index : end + 1] = [""] * (end + 1 - index)
        index = end + 1
    return _Script(main="\n".join(main), functions=functions)


def _chosen(lines: list[str], argv: Argv) -> list[str]:
    """The lines with those branches of a `case "$1"` left empty that the arguments do not choose."""
    kept = list(lines)
    index = 0
    while index < len(lines):
        match = _CASE.fullmatch(lines[index])
        end = next((n for n in range(index, len(lines)) if lines[n].strip() == "esac"), None) if match else None
        if match is None or end is None:
            index += 1
            continue
        value = argv[int(match["number"])] if int(match["number"]) < len(argv) else ""
        kept[index] = ""
        keeps, chosen, at_pattern = False, False, True
        for number in range(index + 1, end):
            line = lines[number]
            branch = _BRANCH.fullmatch(line) if at_pattern else None
            if branch is not None:
                patterns = [pattern.strip().strip("\"'") for pattern in branch["patterns"].split("|")]
                keeps = not chosen and any(fnmatchcase(value, pattern) for pattern in patterns)
                chosen = chosen or keeps
                line = branch["rest"]
                at_pattern = False
            kept[number] = line.replace(";;", "") if keeps else ""
            at_pattern = at_pattern or ";;" in line
        kept[end] = ""
        index = end + 1
    return kept
