"""What a container's command ends up starting: scripts, `package.json`, PM2, supervisord and Procfiles are followed."""

from __future__ import annotations

import configparser
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from types import MappingProxyType

from ast_grep_py import SgNode, SgRoot

from cronce.adopt.audit.files import ROOT, Files, located
from cronce.adopt.audit.model import Place
from cronce.adopt.audit.services.commands import Argv, option, program, shell_words, unwrapped
from cronce.adopt.audit.services.scripts import commands_of_script
from cronce.adopt.audit.services.tasks import named_commands

_CD = re.compile(r"\s*cd\s+[\"']?([\w./@-]+)[\"']?\s*(?:&&|;)")
_DEEPEST = 6
_MOST = 50
_PROCFILE_RUNNERS = frozenset({"honcho", "foreman", "forego", "overmind", "hivemind", "goreman"})
_PROCFILE_LINE = re.compile(r"(?P<name>[A-Za-z0-9_-]+):\s*(?P<command>.+)")
_PACKAGE_RUNNERS = frozenset({"npm", "yarn", "pnpm", "bun"})
_SEVERAL_SCRIPTS = frozenset({"npm-run-all", "npm-run-all2", "run-s", "run-p"})
_SHEBANG = re.compile(r"#!.*\b(?:ba|da|a|z)?sh\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedProgram:
    """One program that is started, and where that is written.

    Attributes:
        argv: The program with its arguments.
        place: Where it is written.
        copies: How often it is started.
        stated: What states that number.
        folder: The folder that it is started in; None for that of the image.
        environment: Its settings: those of the container, and those that it gets besides.
    """

    argv: Argv
    place: Place
    copies: int = 1
    stated: str = ""
    folder: PurePosixPath | None = None
    environment: tuple[tuple[str, str], ...] = ()


def started(
    argv: Argv,
    place: Place,
    folder: PurePosixPath | None,
    files: Files,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> list[StartedProgram]:
    """The programs that a command starts, in order, each once.

    Args:
        argv: The command, with shells and wrappers.
        place: Where it is written.
        folder: The folder that the image is built from; None if unknown: then nothing is followed.
        files: The project.
        environment: The settings of the container.
    """
    found: dict[Argv, StartedProgram] = {}
    first = StartedProgram(argv=argv, place=place, environment=tuple(environment.items()))
    for start in _follow(first, folder, files, _DEEPEST):
        found.setdefault(start.argv, start)
        if len(found) == _MOST:
            break
    return list(found.values())


def procfile_entries(text: str) -> list[tuple[int, str, str]]:
    """Line, name and command of each process type of a Procfile."""
    lines = enumerate(text.splitlines(), start=1)
    return [(n, m["name"], m["command"]) for n, line in lines if (m := _PROCFILE_LINE.fullmatch(line.strip()))]


def _follow(start: StartedProgram, folder: PurePosixPath | None, files: Files, depth: int) -> Iterator[StartedProgram]:
    folder = start.folder or folder
    if folder is not None and (inside := _changed_to(start.argv, folder, files)) is not None:
        start, folder = replace(start, folder=inside), inside
    for argv in unwrapped(start.argv):
        inner = None if folder is None or depth == 0 else _inside(argv, start, folder, files)
        if inner is None:
            yield replace(start, argv=argv)
            continue
        for each in inner:
            kept = replace(
                each,
                copies=each.copies * start.copies,
                stated=each.stated if each.copies > 1 else start.stated,
                folder=each.folder or start.folder,
                environment=(*start.environment, *each.environment),
            )
            yield from _follow(kept, folder, files, depth - 1)


def _changed_to(argv: Argv, folder: PurePosixPath, files: Files) -> PurePosixPath | None:
    """The folder of the project that a shell's text goes to first: `cd apps/api && ...`."""
    text = argv[-1] if len(argv) > 1 and argv[-2].endswith("c") else ""
    target = _CD.match(text)
    return folder_of(target[1], folder, files) if target is not None else None


def folder_of(text: str, folder: PurePosixPath, files: Files) -> PurePosixPath | None:
    """The folder with a `package.json` that a container knows as `text`; None if it is the whole folder, or unknown."""
    parts = [part for part in text.split("/") if part not in ("", ".", "..")]
    for start in range(len(parts)):
        path = folder.joinpath(*parts[start:])
        if path / "package.json" in files:
            return path
    return None


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
    if name in ("turbo", "lerna"):
        return _from_workspaces(argv, start, folder, files)
    if name in ("pm2", "pm2-runtime"):
        return _from_pm2(argv, folder, files)
    if name in _SEVERAL_SCRIPTS:
        every = [_from_package((name, "run", word), start, folder, files) for word in argv[1:] if word[0] != "-"]
        return [each for found in every if found is not None for each in found] or None
    if name == "concurrently":
        return [StartedProgram(argv=("sh", "-c", word), place=start.place) for word in argv[1:] if " " in word] or None
    path = located(argv[0], folder, files)
    if path is None:
        named = named_commands(argv, folder, files)
        return [StartedProgram(argv=("sh", "-c", text), place=place) for text, place in named] if named else None
    text = files.text(path) or ""
    if path.suffix not in (".sh", ".bash") and not _SHEBANG.match(text):
        return None
    return list(_script(text, path, argv, start))


def _script(text: str, path: PurePosixPath, argv: Argv, start: StartedProgram) -> Iterator[StartedProgram]:
    for line, words in commands_of_script(text, argv, dict(start.environment)):
        yield StartedProgram(argv=words, place=Place(path=path, line=line) if line else start.place)


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
            found.append(
                StartedProgram(
                    argv=words, place=Place(path=path, line=line), copies=copies, stated=f"numprocs={copies}"
                )
            )
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
        here = Place(path=path, line=1)
        found += _script(files.text(path) or "", path, (str(path),), StartedProgram(argv=(), place=here))
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
    """`npm start`, `npm run NAME`, `yarn NAME`: the script of that name in `package.json`, here or of a workspace."""
    given = next((value for name in _IN_FOLDER if (value := option(argv, name))), None)
    wanted = next((value for name in _OF_WORKSPACE if (value := option(argv, name))), None)
    words = [word for word in argv[1:] if not word.startswith("-") and word not in (given, wanted)]
    if words[:1] == ["workspace"] and len(words) > 2:  # yarn workspace NAME SCRIPT
        wanted, words = words[1], words[2:]
    inside = folder
    if given is not None:
        inside = folder_of(given, folder, files) or folder
    elif wanted is not None:
        inside = workspace(wanted, files) or folder
    name = words[1] if words[:1] in (["run"], ["run-script"]) and len(words) > 1 else (words[0] if words else "")
    path = inside / "package.json"
    script = _scripts(path, files).get(name)
    if not isinstance(script, str):
        runs_a_binary = program(argv) in ("yarn", "pnpm") and words[:1] != ["run"] and len(words) > 0
        return (
            [replace(start, argv=tuple(words), folder=inside)]
            if runs_a_binary and words[0] != name
            else ([replace(start, argv=argv[1:])] if runs_a_binary else None)
        )
    line = _line_of(files.text(path) or "", f'"{name}"', "")
    return [
        StartedProgram(
            argv=("sh", "-c", script),
            place=Place(path=path, line=line),
            folder=inside if inside != folder else start.folder,
        )
    ]


_IN_FOLDER = ("--prefix", "--cwd", "-C", "--dir")
_OF_WORKSPACE = ("--filter", "-F", "--workspace", "-w", "--scope")


def _scripts(path: PurePosixPath, files: Files) -> dict[str, object]:
    """The scripts of a `package.json`; nothing if it cannot be read."""
    try:
        package = json.loads(files.text(path) or "{}")
    except (ValueError, RecursionError):
        return {}
    scripts = package.get("scripts") if isinstance(package, dict) else None
    return scripts if isinstance(scripts, dict) else {}


def workspace(name: str, files: Files) -> PurePosixPath | None:
    """The folder of the package of that name, or the folder that the name is (`./apps/api`)."""
    plain = name.strip("{}.^/")
    for path in files.named("package.json", ROOT):
        if re.search(rf'"name"\s*:\s*"{re.escape(plain)}"', files.text(path) or ""):
            return path.parent
    return folder_of(plain, ROOT, files)


def _from_workspaces(
    argv: Argv, start: StartedProgram, folder: PurePosixPath, files: Files
) -> list[StartedProgram] | None:
    """`turbo run start --filter=api`: the script in the workspaces that are named, else in all that have it."""
    words = [word for word in argv[1:] if not word.startswith("-") and word != "run"]
    wanted = next((value for name in _OF_WORKSPACE if (value := option(argv, name))), None)
    named = workspace(wanted, files) if wanted is not None else None
    if not words or (wanted is not None and named is None):
        return None
    every = [named] if named is not None else [path.parent for path in files.named("package.json", folder)]
    found: list[StartedProgram] = []
    for each in every:
        if isinstance(_scripts(each / "package.json", files).get(words[0]), str):
            found += _from_package(("npm", "run", words[0]), replace(start, folder=each), each, files) or []
    return [replace(each, folder=each.folder or named) for each in found] or None


def _from_pm2(argv: Argv, folder: PurePosixPath, files: Files) -> list[StartedProgram] | None:
    """The programs of an ecosystem file, each with its number of instances and its settings."""
    named = next((word for word in argv[1:] if PM2_FILE.fullmatch(word)), None)
    path = located(named, folder, files) if named is not None else None
    text = files.text(path) if path is not None else None
    if path is None or text is None:
        return None
    wanted = {name for name in (option(argv, "--only") or "").split(",") if name}
    stage = option(argv, "--env")
    root = SgRoot(f"({text})" if path.suffix == ".json" else text, "javascript").root()
    found: list[StartedProgram] = []
    for node in root.find_all(kind="object"):
        given = _members(node)
        if "script" not in given or (wanted and _text_of(given.get("name")) not in wanted):
            continue
        instances = _text_of(given.get("instances")) or "1"
        place = Place(path=path, line=given["script"].range().start.line + 1)
        count = int(instances) if instances.isdigit() else _PER_CPU
        inside = _text_of(given.get("cwd"))
        environment = _members(given["env"]) if "env" in given else {}
        environment |= _members(given[f"env_{stage}"]) if f"env_{stage}" in given else {}
        script, arguments = _text_of(given["script"]), shell_words(_text_of(given.get("args")))
        is_file = script.endswith((".js", ".mjs", ".cjs", ".ts")) or "/" in script
        found.append(
            StartedProgram(
                argv=(*(("node",) if is_file else ()), script, *(arguments or ())),
                place=place,
                copies=max(count, 1) if count else _PER_CPU,
                stated=f"instances: {instances}",
                folder=folder_of(inside, folder, files) if inside else None,
                environment=tuple((name, _text_of(value)) for name, value in environment.items()),
            )
        )
    return found or None


PM2_FILE = re.compile(r".*(?:ecosystem|process|pm2)[\w.-]*\.[cm]?js(?:on)?")
_PER_CPU = 2
"""What "one per CPU" counts as: more than one."""


def _members(node: SgNode) -> dict[str, SgNode]:
    """The values of an object of JavaScript by their keys."""
    found: dict[str, SgNode] = {}
    for pair in node.children() if node.kind() == "object" else ():
        key, value = pair.field("key"), pair.field("value")
        if pair.kind() == "pair" and key is not None and value is not None:
            found[key.text().strip("\"'`")] = value
    return found


def _text_of(node: SgNode | None) -> str:
    """The text of an expression; a string without its quotes, the default of `process.env.X || 4`."""
    if node is None:
        return ""
    return re.split(r"\|\||\?\?", node.text())[-1].strip().strip("\"'`")


def _line_of(text: str, after: str, word: str) -> int:
    """The line of `word` at or after the line that has `after`; 1 if there is none."""
    seen = False
    for number, line in enumerate(text.splitlines(), start=1):
        seen = seen or after in line
        if seen and word in line:
            return number
    return 1
