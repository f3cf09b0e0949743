"""How many processes of a web server load the code. A server that loads it once and then forks counts as one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from cronce.adopt.audit.files import Files, located
from cronce.adopt.audit.services.commands import Argv, names, option, program, shell_words
from cronce.adopt.audit.services.reading import count_of

_PER_CPU = 2
"""What "one per CPU" counts as: more than one."""

WEB_SERVERS = names(
    "gunicorn uvicorn hypercorn daphne granian waitress-serve uwsgi flask fastapi puma unicorn unicorn_rails passenger "
    "rackup thin next nuxt nest php-fpm apache2-foreground httpd streamlit"
)


def is_web(argv: Argv, folder: PurePosixPath, files: Files) -> bool:
    """Whether the command is a web server's: by its name, its arguments, or the program of Python that it runs."""
    is_python = re.fullmatch(r"python[0-9.]*", program(argv)) is not None
    if is_python and any(_SERVES.search(text) for _, text in _main_of_python(argv, folder, files)):
        return True
    return is_named_as_web(argv)


def is_named_as_web(argv: Argv) -> bool:
    """Whether the command's own words say that it is a web server's."""
    name = program(argv)
    if name in WEB_SERVERS:
        return True
    return argv[1:2] in (("server",), ("s",), ("runserver",), ("phx.server",), ("serve",)) and not name.startswith(
        "sidekiq"
    )


def workers(argv: Argv, environment: Mapping[str, str], folder: PurePosixPath, files: Files) -> tuple[int, str]:
    """Processes that load the code per container, and the words that state it; (1, "") if there is one."""
    match program(argv):
        case "gunicorn":
            return _gunicorn(argv, environment, folder, files)
        case "uvicorn" | "fastapi" | "granian":
            return _counted(option(argv, "--workers"), "--workers", environment)
        case "hypercorn":
            return _counted(option(argv, "-w", "--workers"), "--workers", environment)
        case "uwsgi":
            return _uwsgi(with_ini(argv, folder, files))
        case "puma":
            return _puma(argv, folder, files)
        case "unicorn" | "unicorn_rails":
            return _unicorn(argv, folder, files)
        case "passenger" if option(argv, "--spawn-method") == "direct":
            return _counted(option(argv, "--max-pool-size") or "6", "--max-pool-size", {})
        case "rails" if argv[1:2] in (("server",), ("s",)):
            return _puma(argv[:1], folder, files)
        case "pm2-runtime" | "pm2":
            return _pm2(argv)
        case name if re.fullmatch(r"python[0-9.]*", name):
            return _run_by_python(argv, folder, files)
        case _:
            return 1, ""


def with_ini(argv: Argv, folder: PurePosixPath, files: Files) -> Argv:
    """The command with the options of the `.ini` files that it names (uWSGI)."""
    found = list(argv)
    for word in argv[1:]:
        path = located(word.partition("=")[2] or word, folder, files) if word.endswith(".ini") else None
        for match in _INI_OPTION.finditer((files.text(path) or "") if path is not None else ""):
            value = match["value"].strip()
            found += [f"--{match['name']}"] if value == "true" else [f"--{match['name']}", value]
    return tuple(found)


_INI_OPTION = re.compile(r"^[ \t]*(?P<name>[a-z][\w-]*)[ \t]*=[ \t]*(?P<value>[^\n]+)$", re.MULTILINE)
_SERVES = re.compile(
    r"\b(?:uvicorn|granian|hypercorn|web)\.run(?:_app)?\(|^\s*(?:app|socketio)\.run\(|\bserve\(app\b", re.MULTILINE
)
_RUN = re.compile(r"\b(?:uvicorn|granian)\.run\((?P<arguments>(?:[^()]|\([^()]*\))*)\)")


def _run_by_python(argv: Argv, folder: PurePosixPath, files: Files) -> tuple[int, str]:
    """The workers of `uvicorn.run(..., workers=4)` in the file that is run."""
    for path, text in _main_of_python(argv, folder, files):
        run = _RUN.search(text)
        if run is not None and (setting := re.search(r"\bworkers\s*=\s*([^,\n]+)", run["arguments"])):
            return _setting(setting[1].strip(), f"workers in {path}")
    return 1, ""


def _main_of_python(argv: Argv, folder: PurePosixPath, files: Files) -> Iterator[tuple[PurePosixPath, str]]:
    """The file that `python FILE` or `python -m MODULE` runs, with its text."""
    words = [word for word in argv[1:] if word == "-m" or not word.startswith("-")]
    base = words[1].replace(".", "/") if words[:1] == ["-m"] and len(words) > 1 else ""
    for name in [f"{base}/__main__.py", f"{base}.py"] if base else words[:1]:
        path = located(name, folder, files)
        if path is not None and (text := files.text(path)) is not None:
            yield path, text


def _counted(text: str | None, name: str, environment: Mapping[str, str]) -> tuple[int, str]:
    if text is None and (shared := environment.get("WEB_CONCURRENCY")) is not None:
        text, name = shared, "WEB_CONCURRENCY"
    count = count_of(text)
    if count is None or count.most == 1:
        return 1, ""
    return count.most or _PER_CPU, f"{name} {text}" if name.startswith("-") else f"{name}={text}"


def _gunicorn(argv: Argv, environment: Mapping[str, str], folder: PurePosixPath, files: Files) -> tuple[int, str]:
    argv = (*argv, *(shell_words(environment.get("GUNICORN_CMD_ARGS", "")) or ()))
    path = located((option(argv, "-c", "--config") or "gunicorn.conf.py").removeprefix("file:"), folder, files)
    text = (files.text(path) or "") if path is not None else ""
    if "--preload" in argv or re.search(r"^\s*preload_app\s*=\s*True", text, re.MULTILINE):
        return 1, ""
    given = option(argv, "-w", "--workers")
    if given is None and (setting := re.search(r"^workers\s*=\s*(.+?)\s*(?:#.*)?$", text, re.MULTILINE)):
        return _setting(setting[1], f"workers in {path}")
    return _counted(given, "--workers", environment)


def _setting(expression: str, where: str) -> tuple[int, str]:
    if re.fullmatch(r"[0-9]{1,4}", expression):
        return max(int(expression), 1), f"{where}: {expression}" if int(expression) > 1 else ""
    if "cpu_count" in expression or "processor" in expression.lower():
        return _PER_CPU, f"{where}: {expression}"
    if default := re.search(r"(?:environ|getenv|ENV|fetch)\b.*?[,{(]\s*[\"']?([0-9]{1,4})[\"']?\s*[)}]", expression):
        number = int(default[1])
        return max(number, 1), f"{where}: {expression}" if number > 1 else ""
    return 1, ""


def _uwsgi(argv: Argv) -> tuple[int, str]:
    """One, because the application is loaded once and then forked; except with --lazy or --lazy-apps."""
    if not {"--lazy", "--lazy-apps"} & set(argv):
        return 1, ""
    return _counted(option(argv, "-p", "--processes", "--workers"), "--processes", {})


def _puma(argv: Argv, folder: PurePosixPath, files: Files) -> tuple[int, str]:
    path = located(option(argv, "-C", "--config") or "config/puma.rb", folder, files)
    text = (files.text(path) or "") if path is not None else ""
    if "--preload" in argv or re.search(r"^\s*preload_app!(?!\s*\(?false)", text, re.MULTILINE):
        return 1, ""
    if (given := option(argv, "-w", "--workers")) is not None:
        return _counted(given, "--workers", {})
    if setting := re.search(r"^\s*workers[ (]+(.+?)\)?\s*(?:#.*)?$", text, re.MULTILINE):
        return _setting(setting[1], f"workers in {path}")
    return 1, ""


def _unicorn(argv: Argv, folder: PurePosixPath, files: Files) -> tuple[int, str]:
    path = located(option(argv, "-c", "--config-file") or "config/unicorn.rb", folder, files)
    text = (files.text(path) or "") if path is not None else ""
    if re.search(r"^\s*preload_app\s+true", text, re.MULTILINE):
        return 1, ""
    setting = re.search(r"^\s*worker_processes[ (]+(.+?)\)?\s*(?:#.*)?$", text, re.MULTILINE)
    return _setting(setting[1], f"worker_processes in {path}") if setting else (1, "")


def _pm2(argv: Argv) -> tuple[int, str]:
    """The option; the programs of an ecosystem file have their own numbers."""
    given = option(argv, "-i", "--instances")
    if given in ("max", "0", "-1"):
        return _PER_CPU, f"-i {given}"
    return _counted(given, "-i", {})
