"""Commands without what is around them: shells, `exec`, init programs, tool runners. Pure text."""

from __future__ import annotations

import re
import shlex

Argv = tuple[str, ...]


def names(text: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(text.split())


_OPERATOR = re.compile(r"[;&|()<>\n]+")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_SHELLS = frozenset({"sh", "bash", "ash", "dash", "zsh"})
_KEYWORDS = frozenset({"if", "then", "else", "elif", "do", "while", "until", "!", "{", "}", "time", "exec", "command"})
_NO_PROGRAM = names(
    "set cd echo export source . true false test [ [[ : fi done esac for case in exit return trap wait sleep mkdir "
    "chmod chown cp mv rm ln touch cat printf local unset read shift umask ulimit eval function kill"
)
_LAUNCHERS = frozenset({"nohup", "setsid", "stdbuf", "nice", "ionice", "time", "exec", "command", "ddtrace-run"})
_LAUNCHERS |= {
    "opentelemetry-instrument",
    "catatonit",
    "tini",
    "dumb-init",
    "npx",
    "pnpx",
    "bunx",
    "xvfb-run",
    "timeout",
}
_TWO_WORDS = frozenset(
    {("bundle", "exec"), ("poetry", "run"), ("pipenv", "run"), ("uv", "run"), ("pdm", "run"), ("rye", "run")}
    | {("hatch", "run"), ("pixi", "run"), ("newrelic-admin", "run-program"), ("pnpm", "exec"), ("yarn", "exec")}
    | {("npm", "exec"), ("pnpm", "dlx")}
)
_TAKES_A_USER = frozenset({"gosu", "su-exec", "timeout", "s6-setuidgid", "setuidgid", "chpst"})
_BEFORE_DASHES = frozenset(
    {"wait-for-it", "wait-for-it.sh", "wait-for", "wait-for.sh", "doppler", "chamber", "aws-vault", "dotenv", "dotenvx"}
    | {"infisical", "teller", "envconsul", "op", "dockerize"}
)
_OPTIONS_WITH_VALUE = frozenset(
    {"-n", "-c", "-p", "-g", "-e", "--with", "--extra", "--group", "--env-file", "--directory"}
)
_DEEPEST = 8
GUARDS = frozenset({("cronce", "exec"), ("cronce", "pin"), ("cronce", "clock")})
"""How a command begins that runs once per fleet already."""


def program(argv: Argv) -> str:
    """The name of the program, without its folder."""
    return argv[0].rpartition("/")[2] if argv else ""


def simple_commands(text: str) -> list[tuple[int, Argv]]:
    """The commands of a shell script with their lines (from 1), in order; what a shell itself does is left out."""
    found: list[tuple[int, Argv]] = []
    pending, first = "", 1
    for number, line in enumerate(text.splitlines(), start=1):
        first = first if pending else number
        pending += line
        if pending.endswith("\\"):
            pending = pending[:-1] + " "
            continue
        words = _split(pending)
        if words is None and number - first < 20:  # a quote that a later line closes
            pending += "\n"
            continue
        found += [(first, argv) for argv in _parts(words or [])]
        pending = ""
    return found


def unwrapped(argv: Argv) -> list[Argv]:
    """The programs that a command really starts: several for a shell's text, itself if nothing is around it."""
    return _unwrapped(argv, _DEEPEST)


def _unwrapped(argv: Argv, depth: int) -> list[Argv]:
    argv = _without_assignments(argv)
    name = program(argv)
    if not argv or depth == 0 or argv[:2] in GUARDS:
        return [argv] if argv else []
    rest: Argv | None = None
    if name in _SHELLS:
        text = _shell_text(argv)
        if text is not None:
            return [part for _, inner in simple_commands(text) for part in _unwrapped(inner, depth - 1)]
        rest = tuple(word for word in argv[1:] if not word.startswith("-")) or None
    elif name == "env":
        rest = argv[1:]
    elif name in _TAKES_A_USER:
        rest = _after_options(argv[1:])[1:]
    elif name == "sudo":
        rest = argv[3:] if argv[1:2] == ("-u",) else _after_options(argv[1:])
    elif name in _BEFORE_DASHES:
        rest = argv[argv.index("--") + 1 :] if "--" in argv else None
    elif name in _LAUNCHERS:
        rest = _after_options(argv[1:])
    elif (name, *argv[1:2]) in _TWO_WORDS:
        rest = _after_options(argv[2:])
    elif re.fullmatch(r"python[0-9.]*", name) and argv[1:2] and argv[1] in ("-u", "-O", "-OO", "-B", "-I", "-s", "-E"):
        return _unwrapped((argv[0], *argv[2:]), depth - 1)
    elif (
        re.fullmatch(r"python[0-9.]*", name) and argv[1:2] == ("-m",) and argv[2:3] and argv[2] in MODULES_WITH_COMMAND
    ):
        rest = argv[2:]
    return [argv] if not rest or rest == argv else _unwrapped(rest, depth - 1)


MODULES_WITH_COMMAND = names(
    "gunicorn uvicorn hypercorn daphne granian celery flask fastapi rq dramatiq huey arq honcho supervisor django"
)
"""Python modules that `python -m` starts as if they were called by their command."""


def shell_words(text: str) -> Argv | None:
    """A command in one text as words, as Compose reads `command:`; None if a quote is open."""
    try:
        return tuple(shlex.split(text))
    except ValueError:
        return None


def option(argv: Argv, *names: str) -> str | None:
    """The value of the last option with one of these names: `-w 4`, `-w4`, `--workers=4`."""
    value: str | None = None
    for index, word in enumerate(argv[1:], start=1):
        if word in names:
            value = argv[index + 1] if index + 1 < len(argv) else ""
        for name in names:
            if name.startswith("--") and word.startswith(name + "="):
                value = word[len(name) + 1 :]
            elif not name.startswith("--") and len(name) == 2 and word.startswith(name) and word[2:].isdigit():
                value = word[2:]
    return value


def _split(text: str) -> list[str] | None:
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|()<>")
    lexer.whitespace_split = True
    try:
        return list(lexer)
    except ValueError:
        return None


def _parts(words: list[str]) -> list[Argv]:
    """The simple commands of one line: operators separate them, redirections and keywords are dropped."""
    parts: list[list[str]] = [[]]
    skip = False
    for word in words:
        if _OPERATOR.fullmatch(word):
            skip = word[0] in "<>" or word.startswith(("&>", ">&"))
            if not skip:
                parts.append([])
        elif skip:
            skip = False
        elif word not in _KEYWORDS or parts[-1]:
            parts[-1].append(word)
    found = (_without_assignments(tuple(part)) for part in parts)
    return [argv for argv in found if argv and argv[0] not in _NO_PROGRAM and argv[0].strip("$`")]


def _without_assignments(argv: Argv) -> Argv:
    start = 0
    while start < len(argv) and _ASSIGNMENT.fullmatch(argv[start]):
        start += 1
    return argv[start:]


def _after_options(argv: Argv) -> Argv:
    index = 0
    while index < len(argv) and argv[index].startswith("-"):
        if argv[index] == "--":
            return argv[index + 1 :]
        index += 2 if argv[index] in _OPTIONS_WITH_VALUE else 1
    return argv[index:]


def _shell_text(argv: Argv) -> str | None:
    """The text after `-c`, also in `-ec` and `-lc`."""
    for index, word in enumerate(argv[1:], start=1):
        if re.fullmatch(r"-[a-z]*c", word):
            return argv[index + 1] if index + 1 < len(argv) else ""
        if not word.startswith("-"):
            return None
    return None
