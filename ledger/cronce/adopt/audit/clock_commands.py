"""Clocks that are commands: in Dockerfiles, Compose files, Procfiles, units, shell scripts, task definitions."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from cronce.adopt.audit.rules import CommandRule, command_rules
from cronce.adopt.audit.tree import SourceFile
from cronce.adopt.audit.words import DEPLOYS

_COMMENT = re.compile(r"\s*(#|//|;|--|<!--|REM\b)")
_ITEM = re.compile(r"""\s*-\s+(?!\w+:\s)(?:"([^"]*)"|'([^']*)'|([^#{\[]*?))\s*(?:#.*)?""")
_ELEMENT = re.compile(r"""\s*"((?:[^"\\]|\\.)*)"\s*,?\s*""")
_PUNCTUATION = re.compile(r"""["'\[\],]|\\(?=\s*$)""")
_SECTION = re.compile(r"\s*\[[^\]\"',]*\]\s*")
_CONTINUED = re.compile(r"\\\s*$")
_LONGEST = 1_000
_NO_COMMANDS = re.compile(
    r".*\.env(\..*)?|.*\.(sql|properties|tfvars|csproj|sln|slnx|gradle)|pyproject\.toml|setup\.cfg|tox\.ini|Gemfile"
)
_INERT = re.compile(
    r"\s*((RUN|&&|-)\s+)*((COPY|ADD|FROM|ENV|ARG|LABEL|WORKDIR|EXPOSE|VOLUME|USER|STOPSIGNAL)\s"
    r"|(echo|printf|apt-get|apt|apk|yum|dnf|pip3?|gem|npm|brew|which|man|pkill|killall|rm|chmod|chown|mkdir|touch)\s"
    r"(?!.*(&&|;))|description\b|name\s*:)"
)
"""Lines that install, copy, print or name, and start nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCommand:
    """A command in a file.

    Attributes:
        line: From 1.
        text: Its words, joined by single blanks.
        through: Its last line, if it has several that are commands of their own: a loop of a script.
    """

    line: int
    text: str
    through: int = 0


def clock_of_command(words: Sequence[str]) -> CommandRule | None:
    """The rule for a command that is a clock; None if it is none."""
    text = " ".join(" ".join(words).split())[:_LONGEST]
    return next((rule for rule in command_rules() if _is(rule, text)), None)


def command_clocks(file: SourceFile) -> Iterator[tuple[CommandRule, FoundCommand]]:
    """Every command in the file that is a clock."""
    if not may_have_commands(file):
        return
    candidates = [rule for rule in command_rules() if file.has_any(rule.words)]
    if not candidates:
        return
    words = frozenset().union(*(rule.words for rule in candidates))
    for command in (*commands_in(file.text, words), *loops_in(file.text)):
        for rule in candidates:
            if _is(rule, command.text):
                yield rule, command
                break


def may_have_commands(file: SourceFile) -> bool:
    """True for what builds, starts or deploys, code that deploys included; other code starts other clocks."""
    if file.language in ("python", "typescript", "javascript", "go"):
        return file.has_any(DEPLOYS)
    return file.language is None and not _NO_COMMANDS.fullmatch(file.path.name)


def commands_in(text: str, wanted: Collection[str]) -> Iterator[FoundCommand]:
    """The lines of a file that have a wanted word, as commands: lists of words are joined, as are lines that go on."""
    words: list[str] = []
    start, going_on = 0, ""
    for number, line in enumerate([*text.split("\n"), ""], 1):
        item = _ITEM.fullmatch(line) or _ELEMENT.fullmatch(line)
        if item and len(words) < 64:
            start = start if words else number
            words.append(next((group for group in item.groups() if group is not None), "").strip())
            if len(words) == 1 and " " in words[0]:  # a list of whole commands
                yield _command(number, words.pop())
            continue
        if len(words) > 1:  # a single word names something
            yield _command(start, " ".join(words))
        words = []
        if _CONTINUED.search(line) and len(going_on) < _LONGEST:
            start = start if going_on else number
            going_on += _CONTINUED.sub(" ", line)
            continue
        whole, at = going_on + line, start if going_on else number
        going_on = ""
        if (
            not any(word in whole for word in wanted)
            or _COMMENT.match(whole)
            or _INERT.match(whole)
            or _SECTION.fullmatch(whole)
        ):
            continue
        yield _command(at, whole)


_LOOP = re.compile(r"\s*(while|until)\b")
_LOOP_ENDS = re.compile(r"\s*done\b")
_LONGEST_LOOP = 60


def loops_in(text: str) -> Iterator[FoundCommand]:
    """The loops of a shell script that take several lines and sleep, each as one command."""
    if "sleep" not in text:
        return
    lines = text.split("\n")
    for start, line in enumerate(lines):
        if not _LOOP.match(line):
            continue
        for end in range(start + 1, min(start + _LONGEST_LOOP, len(lines))):
            if _LOOP_ENDS.match(lines[end]):
                body = [each for each in lines[start : end + 1] if not _COMMENT.match(each)]
                found = _command(start + 1, " ; ".join(body))
                yield FoundCommand(line=found.line, text=found.text, through=end + 1)
                break


def _command(line: int, text: str) -> FoundCommand:
    return FoundCommand(line=line, text=" ".join(_PUNCTUATION.sub(" ", text[:_LONGEST]).split()))


def split_command(text: str) -> tuple[str, ...]:
    """The words of a command as a person wrote it."""
    try:
        return tuple(shlex.split(text))
    except ValueError:
        return tuple(text.split())


def _is(rule: CommandRule, text: str) -> bool:
    return any(word in text for word in rule.words) and rule.pattern.search(text) is not None
