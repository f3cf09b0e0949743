"""The rules: what is known of each tool that starts work at set times. They are the YAML files of this folder."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import yaml


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """A lock or cluster mode of a tool's own.

    Attributes:
        by: Its name for people.
        pattern: What shows that it is in use.
        scope: Where to look: in the match with the definition around it, in its file, or in any file of the project.
        unless: It does not hold if this is in any file of the project.
        words: One of them is in every file in which `unless`, or the pattern for a whole project, can match.
    """

    by: str
    pattern: re.Pattern[str]
    unless: re.Pattern[str] | None
    scope: Literal["match", "file", "project"]
    words: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Something that each job should state.

    Attributes:
        pattern: What states it.
        scope: `match` or `file`.
        default: What the tool does if nothing is stated; it completes the sentence "without it, NAME ...".
        fix: Text that states it.
    """

    pattern: re.Pattern[str]
    scope: Literal["match", "file"]
    default: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cases:
    """Texts on which the rule is tried: it finds a clock, one that is protected, or nothing.

    Attributes:
        path: Their file's path; None if any will do.
        languages: That they are written in; those of the rule if it says nothing.
    """

    languages: tuple[str, ...]
    path: str | None
    found: tuple[str, ...]
    protected: tuple[str, ...]
    not_found: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A tool that keeps time in code.

    Attributes:
        id: For instance `apscheduler`.
        tool: Its name for people.
        languages: In the words of ast-grep.
        words: One of them is in every file with a match, so that most files are never parsed.
        module: A regular expression for the module that the file imports. A match with `$LIB` counts only if `$LIB`
            begins with a name that comes from there.
        names: A regular expression for the name that `$LIB` has in the module; None if any will do.
        find: A rule of ast-grep for each language. `$JOB` is the work; `$EVERY` is an interval, and the match counts
            only if it is long.
        unit: Seconds in one unit of `$EVERY`.
        unless: No match if this is in the text of the match.
        path: The path of each file that it is for, or None for every path.
        command: The command that acts on it; None if the process does that loads the file.
        started: The methods that start it, as a regular expression, and whether they are those of the object that
            `$LIB` makes, or functions of the module; None if it starts by being there.
        protections: Its own locks, in the order in which to name them.
        overlap: Whether a job may start while its last run works.
        deadline: How late a job may start.
        cases: Where it is tried.
    """

    id: str
    tool: str
    languages: tuple[str, ...]
    words: frozenset[str]
    module: str | None
    names: re.Pattern[str] | None
    find: dict[str, dict[str, Any]]
    unit: float
    unless: re.Pattern[str] | None
    path: re.Pattern[str] | None
    command: tuple[str, ...] | None
    started: tuple[str, Literal["object", "module"]] | None
    protections: tuple[Protection, ...]
    overlap: Statement | None
    deadline: Statement | None
    cases: Cases


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRule:
    """A command that is a clock.

    Attributes:
        id: For instance `celery-beat`; that of the rule whose definitions it acts on, if there is one.
        tool: Its name for people.
        words: One of them is in every such command.
        pattern: Matches the command's words, joined by single blanks.
        protections: Its own locks; the scope `match` is the command.
        cases: Commands on which it is tried.
    """

    id: str
    tool: str
    words: frozenset[str]
    pattern: re.Pattern[str]
    protections: tuple[Protection, ...]
    cases: Cases


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRule:
    """Files of configuration that say what is due.

    Attributes:
        id: That of the tool.
        tool: Its name for people.
        words: One of them is in every file with a match.
        path: The path of each file that it is for.
        pattern: Matches the lines that say it.
        command: The command that acts on it; None if whatever process loads the file does.
        protections: The tool's own locks; the scope `match` is the file.
        cases: Texts on which it is tried.
    """

    id: str
    tool: str
    words: frozenset[str]
    path: re.Pattern[str]
    pattern: re.Pattern[str]
    command: tuple[str, ...] | None
    protections: tuple[Protection, ...]
    cases: Cases


AnyRule = Rule | CommandRule | TextRule


@cache
def rules() -> tuple[Rule, ...]:
    """Every rule for code."""
    return tuple(_rule(given) for given in _documents() if "find" in given)


@cache
def command_rules() -> tuple[CommandRule, ...]:
    """Every rule for commands."""
    return tuple(_command_rule(given) for given in _documents() if "command_line" in given)


@cache
def text_rules() -> tuple[TextRule, ...]:
    """Every rule for files of configuration."""
    return tuple(_text_rule(given) for given in _documents() if "lines" in given)


def every_rule() -> tuple[AnyRule, ...]:
    """All of them."""
    return (*rules(), *command_rules(), *text_rules())


@cache
def _documents() -> tuple[dict[str, Any], ...]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found: list[dict[str, Any]] = []
    for file in sorted(files(__name__).iterdir(), key=lambda file: file.name):
        if file.name.endswith(".yaml"):
            found += yaml.load(file.read_text(encoding="utf-8"), Loader=loader)  # noqa: S506  # a safe one
    return tuple(found)


def _rule(given: dict[str, Any]) -> Rule:
    return Rule(
        id=given["id"],
        tool=given["tool"],
        languages=tuple(given["languages"]),
        words=frozenset(given["words"]),
        module=given.get("module"),
        names=re.compile(given["names"]) if "names" in given else None,
        find={language: given["find"].get(language, given["find"]) for language in given["languages"]},
        unit=given.get("unit", 1),
        unless=re.compile(given["unless"], re.DOTALL) if "unless" in given else None,
        path=re.compile(given["path"]) if "path" in given else None,
        command=_command(given),
        started=_started(given),
        protections=tuple(_protections(given)),
        overlap=_statement(given.get("overlap")),
        deadline=_statement(given.get("deadline")),
        cases=_cases(given["cases"], given["languages"]),
    )


def _command_rule(given: dict[str, Any]) -> CommandRule:
    lines = given["command_line"] if isinstance(given["command_line"], list) else [given["command_line"]]
    return CommandRule(
        id=given["id"],
        tool=given["tool"],
        words=frozenset(given["words"]),
        pattern=re.compile("|".join(f"(?:{line})" for line in lines)),
        protections=tuple(_protections(given)),
        cases=_cases(given["cases"], ()),
    )


def _text_rule(given: dict[str, Any]) -> TextRule:
    return TextRule(
        id=given["id"],
        tool=given["tool"],
        words=frozenset(given["words"]),
        path=re.compile(given["path"]),
        pattern=re.compile(given["lines"], re.MULTILINE),
        command=_command(given),
        protections=tuple(_protections(given)),
        cases=_cases(given["cases"], ()),
    )


def _command(given: dict[str, Any]) -> tuple[str, ...] | None:
    return tuple(given["command"].split()) if "command" in given else None


def _started(given: dict[str, Any]) -> tuple[str, Literal["object", "module"]] | None:
    started = given.get("started", {})
    if "object" in started:
        return started["object"], "object"
    return (started["module"], "module") if "module" in started else None


def _protections(given: dict[str, Any]) -> Iterator[Protection]:
    for protection in given.get("protected", ()):
        scope = next(scope for scope in ("match", "file", "project") if scope in protection)
        yield Protection(
            by=protection["by"],
            pattern=re.compile(str(protection[scope]), re.MULTILINE),
            unless=re.compile(protection["unless"]) if "unless" in protection else None,
            scope=scope,  # type: ignore[arg-type]  # one of the three
            words=frozenset(protection.get("words", ())),
        )


def _statement(given: dict[str, Any] | None) -> Statement | None:
    if given is None:
        return None
    scope: Literal["match", "file"] = "match" if "match" in given else "file"
    return Statement(
        pattern=re.compile(given[scope]), scope=scope, default=given["default"], fix=given.get("fix", "").rstrip()
    )


def _cases(given: dict[str, Any], languages: Sequence[str]) -> Cases:
    return Cases(
        path=given.get("path"),
        languages=tuple(given.get("languages", languages)),
        found=tuple(given.get("found", ())),
        protected=tuple(given.get("protected", ())),
        not_found=tuple(given["not_found"]),
    )
