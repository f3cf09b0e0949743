"""Shell scripts as far as an entrypoint needs them: functions, and conditions on arguments and settings that pick."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from types import MappingProxyType

from cronce.adopt.audit.services.commands import Argv, program, simple_commands

_FUNCTION = re.compile(r"\s*(?:function\s+)?(?P<name>[\w-]+)\s*\(\)\s*\{?\s*|\s*function\s+(?P<named>[\w-]+)\s*\{\s*")
_CASE = re.compile(r"\s*case\s+(?P<subject>.+?)\s+in\s*")
_BRANCH = re.compile(r"\s*\(?(?P<patterns>[^()\s][^()]*)\)\s*(?P<rest>.*)")
_VALUE = re.compile(r"\$\{?(?P<name>\w+)(?::?[-=](?P<default>[^}]*))?\}?")
_SET = re.compile(
    r"\s*(?:(?:export|readonly|local)\s+)?(?P<name>[A-Za-z_]\w*)=(?P<value>\"[^\"]*\"|'[^']*'|[^\s;&|]*)\s*"
)
_DEFAULT = re.compile(r"\s*:\s+[\"']?\$\{(?P<name>\w+):?=(?P<value>[^}]*)\}[\"']?\s*")
_IF = re.compile(r"\s*(?P<word>if|elif)\s+(?P<test>.*?)\s*(?:;\s*then\b\s*)?")
_TEST = re.compile(
    r"(?P<negated>!\s+)?(?:\[\[?|test)\s+(?:(?P<left>\S+)\s+(?P<operator>==?|!=)\s+(?P<right>\S+)|-(?P<flag>[nz])\s+(?P<only>\S+))"
    r"(?:\s+\]\]?)?"
)
_ALL_ARGUMENTS = ("$@", "${@}", "$*")
_DEEPEST = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Script:
    """A text without the bodies of its functions, line for line, and those bodies in the same way."""

    main: str
    functions: dict[str, str]


def commands_of_script(
    text: str, argv: Argv, environment: Mapping[str, str] = MappingProxyType({})
) -> list[tuple[int, Argv]]:
    """The commands that the script runs when it is started as `argv` with these settings, with their lines.

    The line of a command that is the script's own arguments (`exec "$@"`) is 0: it is written where they are.
    """
    lines = text.splitlines()
    values = _values(lines, argv, environment)
    lines = _chosen(_decided(lines, values), values)
    script = _without_functions(lines)
    return list(_commands(script.main, script, argv, _DEEPEST))


def _values(lines: list[str], argv: Argv, environment: Mapping[str, str]) -> dict[str, str]:
    """What is known of the script's variables: arguments, settings, and what it sets itself, once."""
    numbers = {str(number): argv[number] if number < len(argv) else "" for number in range(1, 10)}
    values = {**environment, **numbers}
    names = [match["name"] for line in lines if (match := _SET.fullmatch(line))]
    for line in lines:
        match = _SET.fullmatch(line)
        if match is not None and names.count(match["name"]) == 1:
            value = _value(match["value"], values)
            values.pop(match["name"], None)
            values |= {} if value is None else {match["name"]: value}
        elif (default := _DEFAULT.fullmatch(line)) is not None:
            values.setdefault(default["name"], default["value"])
    return values


def _value(word: str, values: Mapping[str, str]) -> str | None:
    """What a word is; None if that is not known."""
    text = word.strip("\"'")
    variable = _VALUE.fullmatch(text)
    if variable is None:
        return text if "$" not in text and "`" not in text else None
    return values.get(variable["name"]) or variable["default"] or values.get(variable["name"])


def _decided(lines: list[str], values: Mapping[str, str]) -> list[str]:
    """The lines with those branches of `if` left empty that are known not to run."""
    kept = list(lines)
    ifs: list[tuple[bool | None, bool]] = []  # of each `if` around: whether this branch runs, and whether one did
    for number, line in enumerate(lines):
        words = line.strip()
        if re.search(r"(^|;)\s*fi\b", words) and words.startswith("if "):  # in one line
            pass
        elif match := _IF.fullmatch(line):
            before = ifs.pop() if match["word"] == "elif" and ifs else (None, False)
            runs = False if before[1] else _tested(match["test"], values)
            ifs.append((runs, before[1] or runs is True))
            if runs is not None:
                kept[number] = ""
        elif words == "else" and ifs:
            runs, done = ifs.pop()
            ifs.append((False, True) if done else (True if runs is False else None, done))
            kept[number] = "" if ifs[-1][0] is not None else line
        elif re.fullmatch(r"fi\b.*", words) and ifs:
            ifs.pop()
            kept[number] = ""
        if any(runs is False for runs, _ in ifs):
            kept[number] = ""
    return kept


def _tested(test: str, values: Mapping[str, str]) -> bool | None:
    match = _TEST.fullmatch(test)
    if match is None:
        return None
    if match["flag"]:
        value = _value(match["only"], values)
        found = None if value is None else bool(value) is (match["flag"] == "n")
    else:
        left, right = _value(match["left"], values), _value(match["right"], values)
        found = None if left is None or right is None else fnmatchcase(left, right) is (match["operator"] != "!=")
    return found if found is None or not match["negated"] else not found


def _commands(text: str, script: _Script, argv: Argv, depth: int) -> Iterator[tuple[int, Argv]]:
    for number, words in simple_commands(text):
        inner = _with_arguments(words, argv)
        if not inner:
            continue
        line = 0 if words[0] in _ALL_ARGUMENTS else number
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


def _chosen(lines: list[str], values: Mapping[str, str]) -> list[str]:
    """The lines with those branches of a `case "$1"` or `case "$ROLE"` left empty that are not chosen."""
    kept = list(lines)
    index = 0
    while index < len(lines):
        match = _CASE.fullmatch(lines[index])
        end = next((n for n in range(index, len(lines)) if lines[n].strip() == "esac"), None) if match else None
        if match is None or end is None:
            index += 1
            continue
        value = _value(match["subject"], values)
        kept[index] = ""
        keeps, chosen, at_pattern = False, False, True
        for number in range(index + 1, end):
            line = lines[number]
            branch = _BRANCH.fullmatch(line) if at_pattern else None
            if branch is not None:
                patterns = [pattern.strip().strip("\"'") for pattern in branch["patterns"].split("|")]
                keeps = value is None or (not chosen and any(fnmatchcase(value, pattern) for pattern in patterns))
                chosen = chosen or keeps
                line = branch["rest"]
                at_pattern = False
            kept[number] = line.replace(";;", "") if keeps else ""
            at_pattern = at_pattern or ";;" in line
        kept[end] = ""
        index = end + 1
    return kept
