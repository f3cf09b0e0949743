"""The clocks of a project: what its code and its commands start at set times, and what keeps copies of them apart."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import PurePosixPath
from typing import Literal

from cronce.adopt.audit.clock_commands import FoundCommand, command_clocks, split_command
from cronce.adopt.audit.elsewhere import Elsewhere
from cronce.adopt.audit.leaders import NamedLocks, held_lock, in_code, is_once_per_host
from cronce.adopt.audit.matching import Match, matches
from cronce.adopt.audit.model import FoundClock, Place, StartCall
from cronce.adopt.audit.rules import AnyRule, CommandRule, Protection, TextRule, every_rule, text_rules
from cronce.adopt.audit.tree import LANGUAGES, SourceFile, source

_MANIFESTS = re.compile(
    r"package\.json|pyproject\.toml|setup\.(py|cfg)|go\.mod|Gemfile|composer\.json|Cargo\.toml|mix\.exs"
)
_MODULES = re.compile(r"pom\.xml|(settings|build)\.gradle(\.kts)?|.*\.(sln|slnx|csproj)")
"""Manifests of modules that are built together: the project is the topmost folder that has one."""
_LONGEST_TEXT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """What was found.

    Attributes:
        found: One clock per file, tool and protection, in the order of places.
        matches: Every match of a rule with its file, for the checks on the jobs.
    """

    found: tuple[FoundClock, ...]
    matches: tuple[tuple[SourceFile, Match], ...]


def find_clocks(
    files: Iterable[SourceFile],
    *,
    elsewhere: Elsewhere | None = None,
    done: Callable[[int], object] = lambda _: None,
) -> Clocks:
    """Find every clock.

    Args:
        files: The project's files.
        elsewhere: What modules of settings say of intervals.
        done: Called with the number of files judged, now and then.
    """
    projects = _Projects()
    locks = NamedLocks()
    all_matches: list[tuple[SourceFile, Match]] = []
    all_commands: list[tuple[SourceFile, CommandRule, FoundCommand]] = []
    all_texts: list[tuple[SourceFile, TextRule, int]] = []
    for number, file in enumerate(files, 1):
        if number % 256 == 0:
            done(number)
        projects.see(file)
        locks.see(file)
        all_matches += [(file, match) for match in matches(file, elsewhere)]
        all_commands += [(file, rule, command) for rule, command in command_clocks(file)]
        all_texts += [(file, rule, line) for rule, line in _text_clocks(file)]
    groups: dict[tuple[PurePosixPath, str, str | None], FoundClock] = {}
    for file, match in all_matches:
        rule = match.rule
        by = _protected(rule.protections, match.text, file, projects) or held_lock(file) or locks.used_in(file)
        defines = rule.command is not None
        _add(
            groups, file, rule, match.line, rule.command, by=by, defines=defines, switch=match.switch, start=match.start
        )
    for file, command_rule, command in all_commands:
        by = _protected(command_rule.protections, command.text, file, projects)
        for line in (command.line, *range(command.line + 1, command.through + 1)):
            words = split_command(command.text)
            _add(groups, file, command_rule, line, words, by=by, defines=False, first=command.line)
    for file, text_rule, line in all_texts:
        by = _protected(text_rule.protections, file.text, file, projects)
        _add(groups, file, text_rule, line, text_rule.command, by=by, defines=text_rule.command is not None)
    fillers = _fillers(all_matches, all_texts)
    groups = {
        key: replace(clock, defines=True) if (clock.place.path, clock.rule) in fillers else clock
        for key, clock in groups.items()
    }
    clocks = _with_definitions(groups.values())
    return Clocks(
        found=tuple(sorted(clocks, key=lambda clock: (clock.place.path, clock.place.line))), matches=tuple(all_matches)
    )


def _text_clocks(file: SourceFile) -> Iterator[tuple[TextRule, int]]:
    for rule in text_rules():
        if file.has_any(rule.words) and rule.path.search(str(file.path)):
            for match in rule.pattern.finditer(file.text):
                yield rule, file.text.count("\n", 0, match.start()) + 1


def _add(
    groups: dict[tuple[PurePosixPath, str, str | None], FoundClock],
    file: SourceFile,
    rule: AnyRule,
    line: int,
    command: tuple[str, ...] | None,
    *,
    by: str | None,
    defines: bool,
    switch: str | None = None,
    start: StartCall | None = None,
    first: int | None = None,
) -> None:
    """A clock, or one more line of one: a file, a tool and a protection are one clock, each command is one."""
    key = (file.path, f"{rule.id} {'' if defines or command is None else first or line}", by)
    if (known := groups.get(key)) is not None:
        if line not in (known.place.line, *known.also):
            same = known.switch if known.switch == switch else None
            groups[key] = replace(known, also=(*known.also, line), switch=same, start=known.start or start)
        return
    groups[key] = FoundClock(
        rule=rule.id,
        tool=rule.tool,
        place=Place(path=file.path, line=line),
        text=file.text.split("\n")[line - 1].strip()[:_LONGEST_TEXT],
        command=command,
        defines=defines,
        protected=by,
        switch=switch,
        start=start,
        is_once_per_host=command is None and is_once_per_host(file),
    )


def _fillers(
    matches: Iterable[tuple[SourceFile, Match]], texts: Iterable[tuple[SourceFile, TextRule, int]]
) -> set[tuple[PurePosixPath, str]]:
    """The files that only give jobs to a clock that another file makes, each with its rule."""
    every = {(file.path, match.rule.id) for file, match in matches} | {(file.path, rule.id) for file, rule, _ in texts}
    made = {(file.path, match.rule.id) for file, match in matches if match.is_made}
    return {(path, rule) for path, rule in every - made if any(rule == other for _, other in made)}


def _with_definitions(clocks: Iterable[FoundClock]) -> list[FoundClock]:
    """The clocks; a command whose definitions are all protected is protected by the same."""
    found = list(clocks)
    definitions: dict[str, list[str | None]] = defaultdict(list)
    for clock in found:
        if clock.defines:
            definitions[clock.rule].append(clock.protected)
    return [
        replace(clock, protected=locks[0])
        if not clock.defines
        and clock.command
        and clock.protected is None
        and (locks := definitions[clock.rule])
        and all(locks)
        else clock
        for clock in found
    ]


def _protected(protections: Iterable[Protection], text: str, file: SourceFile, projects: _Projects) -> str | None:
    for protection in protections:
        looked = {"match": text, "file": file.text}.get(protection.scope)
        holds = protection.pattern.search(looked) if looked is not None else projects.has(protection.pattern, file.path)
        if holds and not (protection.unless and projects.has(protection.unless, file.path)):
            return protection.by
    return None


class _Projects:
    """Which patterns of a whole project were seen, and where.

    A project is the nearest folder above a file with a manifest (`package.json`, `pom.xml`, ...); a pattern counts for
    a file if it was seen in the same project, or in a folder above it.
    """

    def __init__(self) -> None:
        self._roots: set[PurePosixPath] = set()
        self._modules: set[PurePosixPath] = set()
        self._seen: dict[str, list[PurePosixPath]] = defaultdict(list)

    def see(self, file: SourceFile) -> None:
        """Take note of a file."""
        if _MANIFESTS.fullmatch(file.path.name):
            self._roots.add(file.path.parent)
        elif _MODULES.fullmatch(file.path.name):
            self._modules.add(file.path.parent)
        for pattern, words in _project_patterns():
            if file.has_any(words) and in_code(pattern, file):
                self._seen[pattern.pattern].append(file.path)

    def has(self, pattern: re.Pattern[str], path: PurePosixPath) -> bool:
        """True if the pattern was seen in the project of that file."""
        modules = [parent for parent in path.parents if parent in self._modules]
        root = modules[-1] if modules else next((each for each in path.parents if each in self._roots), PurePosixPath())
        return any(root in seen.parents or seen.parent in path.parents for seen in self._seen.get(pattern.pattern, ()))


@cache
def _project_patterns() -> tuple[tuple[re.Pattern[str], frozenset[str]], ...]:
    """Each pattern to look for in the whole project, with words of which one is in every file that has it."""
    every = [protection for rule in every_rule() for protection in rule.protections]
    return (
        *{(protection.pattern, protection.words) for protection in every if protection.scope == "project"},
        *{(protection.unless, protection.words) for protection in every if protection.unless},
    )


_SUFFIX = {language: suffix for suffix, language in reversed(LANGUAGES.items())}

CaseVerdict = Literal["found", "protected", "not_found"]


def verdict_of_case(rule: AnyRule, text: str, language: str | None = None) -> CaseVerdict:
    """What the rule says to one of its cases."""
    name = "Procfile" if language is None else f"app/main{_SUFFIX[language]}"
    file = source(PurePosixPath(rule.cases.path or name), text)
    clocks = [clock for clock in find_clocks([file]).found if clock.rule == rule.id]
    if not clocks:
        return "not_found"
    return "protected" if all(clock.protected for clock in clocks) else "found"
