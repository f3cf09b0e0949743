"""Python: modules that a command names, and what they import."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import PurePosixPath

from cronce.adopt.audit.files import Files, located
from cronce.adopt.audit.loading.loaded import Loaded, followed
from cronce.adopt.audit.services.commands import Argv, option, program
from cronce.adopt.audit.services.web_servers import with_ini

_PYTHON = re.compile(r"python[0-9.]*|pypy[0-9.]*")
_SERVERS = frozenset(
    {"gunicorn", "uvicorn", "hypercorn", "daphne", "granian", "waitress-serve", "uwsgi", "flask", "fastapi"}
    | {"celery", "dramatiq", "arq", "huey_consumer", "huey_consumer.py", "rq", "faststream", "taskiq", "streamlit"}
)
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<base>\.*[\w.]*)[ \t]+import[ \t]*(?:\((?P<many>[^)]*)\)|(?P<names>[^\n#]+))"
    r"|import[ \t]+(?P<modules>[\w. \t,]+))",
    re.MULTILINE,
)
_NAMED_MODULE = re.compile(r"[\"'](?P<module>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)(?::[\w.]+)?[\"']")
_APPLICATION = re.compile(r"(?P<module>[A-Za-z_][\w.]*)(?::[\w.()]+)?")
_DJANGO_LOADS = frozenset({"apps.py", "urls.py", "models.py", "admin.py", "signals.py", "__init__.py"})
_DEFAULT_APPLICATIONS = ("app.py", "wsgi.py", "main.py", "asgi.py", "app/__init__.py", "app/main.py")


def loaded_by_python(command: Argv, folder: PurePosixPath, files: Files) -> Loaded | None:
    """What a Python command loads; None for another language, or a module that is not in the folder."""
    name = program(command)
    is_python = _PYTHON.fullmatch(name) is not None
    roots = _roots(folder, files)
    if "manage.py" in (name, *(word.rpartition("/")[2] for word in command[1:2])):
        return _django(command, folder, files, roots)
    if is_python:
        entries = list(_of_interpreter(command, folder, files, roots))
    elif name in _SERVERS:
        entries = list(_of_server(command, folder, files, roots))
    elif name.endswith(".py") or _is_script(command[0], folder, files):
        entries = [path] if (path := located(command[0], folder, files)) is not None else []
    else:
        entries = list(_of_script(name, folder, files, roots))
    if not entries:
        return None
    if name == "gunicorn":
        settings = located(option(command, "-c", "--config") or "gunicorn.conf.py", folder, files)
        entries += [settings] if settings is not None and settings.suffix == ".py" else []
    by = followed(entries, lambda path: _imports(path, files, roots))
    if any(path.name in ("wsgi.py", "asgi.py") and "django" in (files.text(path) or "") for path in entries):
        by = followed([*by, *_django_apps(folder, files)], lambda path: _imports(path, files, roots))
    is_run = is_python or name.endswith(".py") or _is_script(command[0], folder, files)
    named = " ".join((*command, _script_target(name, folder, files) or ""))
    names = frozenset(re.findall(r":([A-Za-z_]\w*)", named))
    return Loaded(by=by, entries=frozenset(entries) if is_run else frozenset(), names=names)


def _is_script(text: str, folder: PurePosixPath, files: Files) -> bool:
    """Whether it is a file of the project that begins with `#!/usr/bin/env python3`."""
    path = located(text, folder, files)
    return path is not None and not path.suffix and re.match(r"#!.*\bpython", files.text(path) or "") is not None


def _roots(folder: PurePosixPath, files: Files) -> tuple[PurePosixPath, ...]:
    """Where modules are looked for: the folder, `src`, and each folder directly below that is no package."""
    inner = [folder / name for name in files.folders_in(folder) if folder / name / "__init__.py" not in files]
    return (folder, folder / "src", *(each for each in inner if each.name != "src"))


def _module(name: str, files: Files, roots: tuple[PurePosixPath, ...]) -> PurePosixPath | None:
    """The file of a module; for a package, its `__init__.py`."""
    parts = name.split(".")
    if not all(parts):
        return None
    for root in roots:
        base = root.joinpath(*parts)
        for path in (base.with_name(base.name + ".py"), base / "__init__.py"):
            if path in files:
                return path
    return None


def _with_parents(name: str, files: Files, roots: tuple[PurePosixPath, ...]) -> Iterator[PurePosixPath]:
    """The file of a module and those of the packages that it is in: importing `a.b` runs `a/__init__.py` first."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        if (path := _module(".".join(parts[:end]), files, roots)) is not None:
            yield path


def _of_interpreter(
    command: Argv, folder: PurePosixPath, files: Files, roots: tuple[PurePosixPath, ...]
) -> Iterator[PurePosixPath]:
    words = list(command[1:])
    while words and words[0].startswith("-"):
        flag = words.pop(0)
        if flag == "-m" and words:
            main = _module(f"{words[0]}.__main__", files, roots)
            yield from [main] if main is not None else []
            yield from _with_parents(words[0], files, roots)
            return
        if flag == "-c":
            return
        if flag in ("-W", "-X") and words:
            words.pop(0)
    if words and (path := located(words[0], folder, files)) is not None:
        yield path
    elif words and (main := located(words[0].rstrip("/") + "/__main__.py", folder, files)) is not None:
        yield main


def _of_server(
    command: Argv, folder: PurePosixPath, files: Files, roots: tuple[PurePosixPath, ...]
) -> Iterator[PurePosixPath]:
    command = with_ini(command, folder, files) if program(command) == "uwsgi" else command
    base = option(command, "--chdir", "--app-dir", "--workdir", "--wd")
    if base:
        roots = (*(folder / part for part in (base.strip("/"), base.rpartition("/")[2]) if part), *roots)
    given = option(command, "-A", "--app", "--module", "-w", "--wsgi-file", "--call")
    words = [word for word in (given, *command[1:]) if word and not word.startswith("-")]
    seen = False
    for word in words:
        if word.endswith(".py") and (path := located(word, folder, files)) is not None:
            yield path
            seen = True
        match = _APPLICATION.fullmatch(word)
        if match is None or word in ("run", "worker", "beat", "scheduler", "dev"):
            continue
        for path in _with_parents(match["module"].removesuffix(".py"), files, roots):
            yield path
            seen = True
            if path.name == "__init__.py" and program(command) == "celery":
                yield from (found for end in ("celery", "tasks") if (found := path.parent / f"{end}.py") in files)
    if not seen and program(command) in ("flask", "fastapi"):
        yield from [folder / name for name in _DEFAULT_APPLICATIONS if folder / name in files][:1]


def _of_script(
    name: str, folder: PurePosixPath, files: Files, roots: tuple[PurePosixPath, ...]
) -> Iterator[PurePosixPath]:
    """The module behind a command that the project itself declares."""
    if (target := _script_target(name, folder, files)) is not None:
        yield from _with_parents(target.partition(":")[0], files, roots)


def _script_target(name: str, folder: PurePosixPath, files: Files) -> str | None:
    """`module:function` of a command in `pyproject.toml`, `setup.cfg` or `setup.py`."""
    try:
        project = tomllib.loads(files.text(folder / "pyproject.toml") or "")
    except (tomllib.TOMLDecodeError, RecursionError):
        return None
    for table in (project.get("project"), (project.get("tool") or {}).get("poetry")):
        scripts = table.get("scripts") if isinstance(table, dict) else None
        target = scripts.get(name) if isinstance(scripts, dict) else None
        if isinstance(target, str):
            return target
    entry = re.compile(rf"^\s*[\"']?{re.escape(name)}\s*=\s*(?P<target>[\w.]+:\w+)", re.MULTILINE)
    texts = (files.text(folder / each) or "" for each in ("setup.cfg", "setup.py"))
    return next((match["target"] for text in texts if (match := entry.search(text))), None)


def _django(command: Argv, folder: PurePosixPath, files: Files, roots: tuple[PurePosixPath, ...]) -> Loaded | None:
    """`manage.py NAME`: the command's own module, and what Django loads of every app by its name."""
    manage = located("manage.py", folder, files)
    if manage is None:
        return None
    at = next(index for index, word in enumerate(command) if word.rpartition("/")[2] == "manage.py")
    name = command[at + 1] if at + 1 < len(command) else ""
    own = [p for p in files.named(f"{name}.py", folder) if p.parts[-3:-1] == ("management", "commands")]
    roots = (manage.parent, *roots)
    starts = [manage, *own, *_django_apps(manage.parent, files)]
    return Loaded(by=followed(starts, lambda path: _imports(path, files, roots)), entries=frozenset({manage}))


def _django_apps(folder: PurePosixPath, files: Files) -> Iterator[PurePosixPath]:
    for path in files.inside(folder):
        if path.name in _DJANGO_LOADS and "management" not in path.parts and "migrations" not in path.parts:
            yield path


def _imports(path: PurePosixPath, files: Files, roots: tuple[PurePosixPath, ...]) -> Iterator[PurePosixPath]:
    """The modules of the project that a file imports, or names in a string (`import_module`, `include=[...]`)."""
    if path.suffix not in (".py", ""):
        return
    text = files.text(path) or ""
    # A script finds its neighbours first, and so does the folder of a package that is started by a path.
    nearby = (*roots, path.parent)
    for match in _IMPORT.finditer(text):
        if match["modules"] is not None:
            for part in match["modules"].split(","):
                if words := part.split():
                    yield from _with_parents(words[0], files, nearby)
            continue
        base = match["base"]
        dots = len(base) - len(base.lstrip("."))
        where, prefix = nearby, base.lstrip(".")
        if dots:
            parents = [path.parent, *path.parent.parents]
            if dots > len(parents):
                continue
            where = (parents[dots - 1],)
            if not prefix and (package := where[0] / "__init__.py") in files:
                yield package
        yield from _with_parents(prefix, files, where) if prefix else ()
        for name in re.split(r"[,\s]+", re.sub(r"#[^\n]*|\bas\s+\w+", "", match["many"] or match["names"] or "")):
            if name.isidentifier() and (found := _module(f"{prefix}.{name}".lstrip("."), files, where)) is not None:
                yield found
    for match in _NAMED_MODULE.finditer(text):
        if (found := _module(match["module"], files, roots)) is not None:
            yield found
