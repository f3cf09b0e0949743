"""Node.js: the file that a command names, and what it requires or imports."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import PurePosixPath

from cronce.adopt.audit.files import ROOT, Files, below, located
from cronce.adopt.audit.loading.loaded import Loaded, followed
from cronce.adopt.audit.services.commands import Argv, program

_RUNNERS = frozenset(
    {"node", "nodejs", "ts-node", "ts-node-dev", "tsx", "nodemon", "bun", "deno", "pm2-runtime", "pm2", "swc-node"}
)
_FRAMEWORKS = frozenset(
    {"next", "nuxt", "nest", "strapi", "medusa", "sails", "adonis", "keystone", "directus", "remix-serve"}
)
_SUFFIXES = (".ts", ".js", ".mjs", ".cjs", ".mts", ".cts", ".tsx", ".jsx")
_BUILT = frozenset({"dist", "build", "lib", "out", "output", ".build"})
_TAKES_VALUE = frozenset(
    {"-r", "--require", "--import", "--loader", "--env-file", "-P", "--project", "--exec", "-w", "--watch", "-i"}
)
_VERBS = frozenset({"run", "start", "watch", "exec"})
_IMPORT = re.compile(
    r"(?:\bfrom|\bimport|\brequire\s*\(|\bimport\s*\(|\bnew\s+Worker\s*\()\s*[\"'`](?P<target>[^\"'`\n]+)[\"'`]"
)


_LOADS_FOLDERS = re.compile(
    r"@fastify/autoload|\breaddir(?:Sync)?\(|\b(?:glob|fast-glob|require-all|globby)\b|import\.meta\.glob"
)
_FOLDER = re.compile(
    r"(?:\b__dirname\s*,\s*|\bimport\.meta\.(?:dirname|url)\s*,\s*|new URL\(\s*|(?:readdirSync|glob|sync)\(\s*)"
    r"[\"'`](?P<target>\.{0,2}/?[\w@/.-]+?)(?:/\*[^\"'`]*)?[\"'`]"
)
"""Folders whose files a program loads one by one."""


def loaded_by_node(command: Argv, folder: PurePosixPath, files: Files) -> Loaded | None:
    """What a command of Node.js loads; None for another language, or a file that is not in the folder."""
    name = program(command)
    if name in _FRAMEWORKS:
        code = [path for path in files.inside(folder) if path.suffix in _SUFFIXES]
        return Loaded(by=dict.fromkeys(code), whole=f"{name} loads the files of its folder by itself") if code else None
    if name == "fastify":  # fastify-cli: `fastify start app.js`
        command = ("node", *(word for word in command[1:] if word.endswith(_SUFFIXES)))
        name = "node"
    if name not in _RUNNERS:
        return None
    entries = list(dict.fromkeys(_entries(command, folder, files)))
    if not entries and (built := _built_by_framework(folder, files)) is not None:
        code = [path for path in files.inside(folder) if path.suffix in _SUFFIXES]
        return Loaded(by=dict.fromkeys(code), whole=f"{built} builds it from its folder")
    return Loaded(by=followed(entries, lambda path: _imports(path, folder, files))) if entries else None


def _built_by_framework(folder: PurePosixPath, files: Files) -> str | None:
    """The framework whose build writes the program that a command names: Next's `server.js`, Nuxt's `.output`."""
    for name in ("next", "nuxt", "svelte", "astro", "remix", "vinxi", "app"):
        if any(folder / f"{name}.config.{suffix}" in files for suffix in ("js", "mjs", "ts", "cjs", "mts")):
            return name.capitalize()
    return None


def _entries(command: Argv, folder: PurePosixPath, files: Files) -> Iterator[PurePosixPath]:
    words = list(command[1:])
    while words:
        word = words.pop(0)
        if word in ("-r", "--require", "--import") and words:
            yield from _file(words.pop(0), folder, files)
        elif word in _TAKES_VALUE and words:
            words.pop(0)
        elif not word.startswith("-") and word not in _VERBS:
            if word in (".", "./"):
                yield from _main(folder, files)
            else:
                yield from _file(word, folder, files)
            return
    if program(command) not in ("pm2", "pm2-runtime"):
        yield from _main(folder, files)


def _file(text: str, folder: PurePosixPath, files: Files) -> Iterator[PurePosixPath]:
    """The source of a file: `dist/main.js` is built from `src/main.ts`."""
    path = located(text, folder, files)
    if path is not None and path.suffix in _SUFFIXES:
        yield path
        return
    parts = [part for part in text.split("/") if part not in ("", ".", "..")]
    while parts:
        stem = PurePosixPath(*parts).with_suffix("") if PurePosixPath(*parts).suffix else PurePosixPath(*parts)
        candidates = [folder / stem]
        if parts[0] in _BUILT and len(parts) > 1:
            rest = PurePosixPath(*stem.parts[1:])
            candidates += [folder / "src" / rest, folder / rest, folder / rest.parent / "src" / rest.name]
        elif len(parts) == 1:
            candidates.append(folder / "src" / stem)
        for candidate in candidates:
            if (found := _source(candidate, files)) is not None:
                yield found
                return
        parts.pop(0)


def _source(base: PurePosixPath, files: Files) -> PurePosixPath | None:
    """The file that an import without a suffix means."""
    if base in files and base.suffix in _SUFFIXES:
        return base
    if not base.name:
        return None
    stems = [base]
    if base.suffix in (".js", ".mjs", ".cjs", ".jsx"):  # in TypeScript, `./a.js` may be `a.ts`
        stems.append(base.with_suffix(""))
    for stem in stems:
        for suffix in _SUFFIXES:
            for path in (stem.with_name(stem.name + suffix), stem / f"index{suffix}"):
                if path in files:
                    return path
    return None


def _main(folder: PurePosixPath, files: Files) -> Iterator[PurePosixPath]:
    main = _package(folder, files).get("main")
    yield from _file(main if isinstance(main, str) else "index.js", folder, files)


def _package(folder: PurePosixPath, files: Files) -> dict[str, object]:
    """What the folder's `package.json` has; nothing if there is none that can be read."""
    try:
        package = json.loads(files.text(folder / "package.json") or "{}")
    except (ValueError, RecursionError):
        return {}
    return package if isinstance(package, dict) else {}


def _imports(path: PurePosixPath, folder: PurePosixPath, files: Files) -> Iterator[PurePosixPath]:
    """The files of the project that a file imports: by a relative path, an alias, or the name of a package."""
    text = files.text(path) or ""
    if _LOADS_FOLDERS.search(text):
        for match in _FOLDER.finditer(text):
            inside = below(path.parent, match["target"])
            if inside is not None and files.is_folder(inside):
                yield from (each for each in files.inside(inside) if each.suffix in _SUFFIXES)
    for match in _IMPORT.finditer(text):
        target = match["target"]
        candidates: list[PurePosixPath | None] = []
        if target.startswith("."):
            candidates.append(below(path.parent, target))
        elif target.startswith(("@/", "~/")):
            candidates += [folder / "src" / target[2:], folder / target[2:]]
        elif target.startswith(("src/", "app/")):
            candidates.append(folder / target)
        else:
            candidates += _in_workspace(target, files)
        for candidate in candidates:
            if candidate is not None and (found := _source(candidate, files)) is not None:
                yield found
                break


def _in_workspace(target: str, files: Files) -> Iterator[PurePosixPath]:
    """The file or folder that a name means in a workspace: a package's name, or a path of `tsconfig.json`."""
    name, rest = target, ""
    while name:
        for place in _workspace(files).get(name, ()):
            yield place / rest if rest else place
        name, slash, last = name.rpartition("/")
        rest = f"{last}/{rest}".rstrip("/") if slash else ""


@lru_cache(maxsize=4)
def _workspace(files: Files) -> Mapping[str, tuple[PurePosixPath, ...]]:
    """Each name with the file that it means, and the folder that longer names begin in."""
    found: dict[str, tuple[PurePosixPath, ...]] = {}
    for path in files.named("package.json", ROOT):
        if isinstance(name := _package(path.parent, files).get("name"), str):
            found[name] = (*_main(path.parent, files), path.parent / "src", path.parent)
    for path in files:
        if path.name.startswith("tsconfig") and path.suffix == ".json":
            for alias, given in _PATHS.findall(files.text(path) or ""):
                if (place := below(path.parent, given.removesuffix("/*"))) is not None:
                    found.setdefault(alias.removesuffix("/*"), (place,))
    return found


_PATHS = re.compile(r'"([\w@$/.*~-]+)"\s*:\s*\[\s*"([^"\n]+)"')
