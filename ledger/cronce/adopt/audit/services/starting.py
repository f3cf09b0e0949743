"""What a container's command ends up starting: scripts, `package.json`, supervisord and Procfiles are followed."""

from __future__ import annotations

import configparser
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from cronce.adopt.audit.files import Files, located
from cronce.adopt.audit.model import Place
from cronce.adopt.audit.services.commands import Argv, option, program, shell_words, unwrapped
from cronce.adopt.audit.services.scripts import commands_of_script

_DEEPEST = 6
_MOST = 50
_PROCFILE_RUNNERS = frozenset({"honcho", "foreman", "forego", "overmind", "hivemind", "goreman"})
_PROCFILE_LINE = re.compile(r"(?P<name>[A-Za-z0-9_-]+):\s*(?P<command>.+)")
_PACKAGE_RUNNERS = frozenset({"npm", "yarn", "pnpm", "bun"})
_SEVERAL_SCRIPTS = frozenset({"npm-run-all", "npm-run-all2", "run-s", "run-p"})
_SHEBANG = re.compile(r"#!.*\b(?:ba|da|a|z)?sh\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedProgram:
    """One program that is started, and where that is written."""

    argv: Argv
    place: Place
    copies: int = 1


def started(argv: Argv, place: Place, folder: PurePosixPath | None, files: Files) -> list[StartedProgram]:
    """The programs that a command starts, in order, each once.

    Args:
        argv: The command, with shells and wrappers.
        place: Where it is written.
        folder: The folder that the image is built from; None if unknown: then nothing is followed.
        files: The project.
    """
    found: dict[Argv, StartedProgram] = {}
    for start in _follow(StartedProgram(argv=argv, place=place), folder, files, _DEEPEST):
        found.setdefault(start.argv, start)
        if len(found) == _MOST:
            break
    return list(found.values())


def procfile_entries(text: str) -> list[tuple[int, str, str]]:
    """Line, name and command of each process type of a Procfile."""
    lines = enumerate(text.splitlines(), start=1)
    return [(n, m["name"], m["command"]) for n, line in lines if (m := _PROCFILE_LINE.fullmatch(line.strip()))]


def _follow(start: StartedProgram, folder: PurePosixPath | None, files: Files, depth: int) -> Iterator[StartedProgram]:
    for argv in unwrapped(start.argv):
        inner = None if folder is None or depth == 0 else _inside(argv, start, folder, files)
        if inner is None:
            yield StartedProgram(argv=argv, place=start.place, copies=start.copies)
            continue
        for each in inner:
            yield from _follow(each, folder, files, depth - 1)


def _inside(argv: Argv, start: StartedProgram, folder: PurePosixPath, files: Files) -> list[StartedProgram] | None:
    """What a program starts in its turn; None if it is no such program, or its file is not in the project."""
    name = program(argv)
    if name == "supervisord":
        return _supervised(argv, folder, files)
    if name == "init":
        return _supervised_by_s6(folder, files)
    if name in _PROCFILE_RUNNERS and argv[1:2] in (("start",), ("s",), ()):
        return _from_procfile(argv, folder, files)
    if name in _PACKAGE_RUNNERS:
        return _from_package(argv, start, folder, files)
    if name in _SEVERAL_SCRIPTS:
        every = [_from_package((name, "run", word), start, folder, files) for word in argv[1:] if word[0] != "-"]
        return [each for found in every if found is not None for each in found] or None
    if name == "concurrently":
        return [StartedProgram(argv=("sh", "-c", word), place=start.place) for word in argv[1:] if " " in word] or None
    path = located(argv[0], folder, files)
    if path is None:
        return None
    text = files.text(path) or ""
    if path.suffix not in (".sh", ".bash") and not _SHEBANG.match(text):
        return None
    return list(_script(text, path, argv))


def _script(text: str, path: PurePosixPath, argv: Argv) -> Iterator[StartedProgram]:
    for line, words in commands_of_script(text, argv):
        yield StartedProgram(argv=words, place=Place(path=path, line=line))


def _supervised(argv: Argv, folder: PurePosixPath, files: Files) -> list[StartedProgram] | None:
    named = option(argv, "-c", "--configuration")
    path = located(named or "supervisord.conf", folder, files)
    text = files.text(path) if path is not None else None
    if path is None or text is None:
        return None
    parser = configparser.RawConfigParser(strict=False, inline_comment_prefixes=(";",), allow_no_value=True)
    try:
        parser.read_string(text)
    except configparser.Error:
        return None
    found = []
    for section in parser.sections():
        if not section.startswith("program:") or not (command := parser.get(section, "command", fallback=None)):
            continue
        words = shell_words(command)
        number = parser.get(section, "numprocs", fallback="1") or "1"
        copies = int(number) if re.fullmatch(r"[0-9]{1,4}", number) else 1
        if words:
            line = _line_of(text, f"[{section}]", "command")
            found.append(StartedProgram(argv=words, place=Place(path=path, line=line), copies=copies))
    return found


def _supervised_by_s6(folder: PurePosixPath, files: Files) -> list[StartedProgram] | None:
    """The services of s6-overlay, whose entrypoint is `/init`: a script `run` each, in a folder of a fixed name.

    A oneshot, by convention `init-...`, ends before the services start.
    """
    scripts = [
        path
        for path in files.named("run", folder)
        if path.parent.parent.name in ("s6-rc.d", "services.d") and not path.parent.name.startswith("init-")
    ]
    found: list[StartedProgram] = []
    for path in scripts:
        found += _script(files.text(path) or "", path, (str(path),))
    return found or None


def _from_procfile(argv: Argv, folder: PurePosixPath, files: Files) -> list[StartedProgram] | None:
    path = located(option(argv, "-f", "--procfile") or "Procfile", folder, files)
    text = files.text(path) if path is not None else None
    if path is None or text is None:
        return None
    wanted = {word for word in argv[2:] if not word.startswith("-")}
    entries = procfile_entries(text)
    names = {name for _, name, _ in entries}
    wanted &= names
    return [
        StartedProgram(argv=("sh", "-c", command), place=Place(path=path, line=line))
        for line, name, command in entries
        if not wanted or name in wanted
    ]


def _from_package(
    argv: Argv, start: StartedProgram, folder: PurePosixPath, files: Files
) -> list[StartedProgram] | None:
    """`npm start`, `npm run NAME`, `yarn NAME`: the script of that name in `package.json`."""
    words = [word for word in argv[1:] if not word.startswith("-")]
    name = words[1] if words[:1] == ["run"] and len(words) > 1 else (words[0] if words else "")
    path = folder / "package.json"
    text = files.text(path)
    try:
        package = json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None
    scripts = package.get("scripts") if isinstance(package, dict) else None
    script = scripts.get(name) if isinstance(scripts, dict) else None
    if not isinstance(script, str):
        runs_a_binary = program(argv) in ("yarn", "pnpm") and words[:1] != ["run"] and len(words) > 0
        return [StartedProgram(argv=argv[1:], place=start.place)] if runs_a_binary else None
    return [
        StartedProgram(argv=("sh", "-c", script), place=Place(path=path, line=_line_of(text or "", f'"{name}"', "")))
    ]


def _line_of(text: str, after: str, word: str) -> int:
    """The line of `word` at or after the line that has `after`; 1 if there is none."""
    seen = False
    for number, line in enumerate(text.splitlines(), start=1):
        seen = seen or after in line
        if seen and word in line:
            return number
    return 1
