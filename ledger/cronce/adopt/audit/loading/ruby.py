"""Ruby: a script and what it requires; Rails loads its whole application in every process."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from cronce.adopt.audit.files import Files, below, located
from cronce.adopt.audit.loading.loaded import Loaded, followed
from cronce.adopt.audit.services.commands import Argv, option, program

_SERVERS = frozenset(
    {"rails", "puma", "unicorn", "unicorn_rails", "passenger", "rackup", "thin", "falcon", "sidekiq", "resque"}
)
_SERVERS |= {
    "good_job",
    "que",
    "shoryuken",
    "rake",
    "delayed_job",
    "solid_queue",
    "jobs",
    "sneakers",
    "pitchfork",
    "karafka",
}
_LOADED_BY_RAILS = ("config", "app", "lib", "engines", "packs")
_NOT_LOADED = ("tasks", "schedule.rb", "generators", "deploy", "puma.rb", "unicorn.rb")
_REQUIRE = re.compile(r"^\s*(?P<how>require_relative|require|load)[ (]+[\"'](?P<target>[^\"'\n]+)[\"']", re.MULTILINE)


def loaded_by_ruby(command: Argv, folder: PurePosixPath, files: Files) -> Loaded | None:
    """What a command of Ruby loads; None for another language, or a file that is not in the folder."""
    name = program(command)
    if name in ("ruby", "clockwork", "jruby"):
        given = next((word for word in command[1:] if not word.startswith("-")), "")
        path = located(given, folder, files) if given else None
        entries = [path] if path is not None else []
    elif (script := located(command[0], folder, files)) is not None and _is_script(script, files):
        entries = [script]
    elif name in _SERVERS:
        given = option(command, "-r", "--require") or ""
        path = located(given, folder, files) if given.endswith(".rb") else None
        entries = [each for each in (path, folder / "config.ru") if each is not None and each in files]
        tasks = list(_tasks(command, folder, files)) if name in ("rake", "rails") else []
        entries += tasks
        if (application := folder / "config" / "application.rb") in files:
            return _rails(application, folder, files, tasks)
    else:
        return None
    if not entries:
        return None
    by = followed(entries, lambda each: _requires(each, folder, files))
    application = folder / "config" / "application.rb"
    if any(path in by for path in (application, folder / "config" / "environment.rb")) and application in files:
        return _rails(application, folder, files, entries)
    return Loaded(by=by)


_ONLY_IN = (
    (re.compile(r"Sidekiq\.server\?|Sidekiq\.configure_server"), frozenset({"sidekiq", "sidekiqswarm"})),
    (
        re.compile(r"defined\?[( ]*(?:::)?(?:Rails::Server|Puma|Unicorn|PhusionPassenger)"),
        frozenset({"rails", "puma", "unicorn", "unicorn_rails", "passenger", "rackup", "thin", "falcon", "pitchfork"}),
    ),
)


def runs_in_ruby(text: str, command: Argv) -> bool:
    """Whether a file lets its code run in that program: `if Sidekiq.server?`, `if defined?(Rails::Server)`."""
    name = program(command)
    return all(name in programs for pattern, programs in _ONLY_IN if pattern.search(text))


def _is_script(path: PurePosixPath, files: Files) -> bool:
    """Whether it is a program of the project's own; `bin/rails` and the like only start what they are called after."""
    if path.name in _SERVERS or path.suffix not in ("", ".rb"):
        return False
    return re.match(r"#!.*\bruby\b", files.text(path) or "") is not None


def _tasks(command: Argv, folder: PurePosixPath, files: Files) -> Iterator[PurePosixPath]:
    """The files that define the task of `rake NAME`, `rails NAMESPACE:NAME`."""
    given = next((word for word in command[1:] if not word.startswith("-") and "=" not in word), "")
    name = re.escape(re.split(r"[:\[]", given)[-1]) if "[" not in given else re.escape(re.split(r"[:\[]", given)[-2])
    defines = re.compile(rf"^\s*task[ (]+(?::\"?{name}\b|[\"']{name}[\"']|{name}:)", re.MULTILINE)
    for path in files.inside(folder) if given else ():
        if (path.suffix == ".rake" or path.name == "Rakefile") and defines.search(files.text(path) or ""):
            yield path


def _rails(
    application: PurePosixPath, folder: PurePosixPath, files: Files, also: list[PurePosixPath] | None = None
) -> Loaded:
    code = [
        path
        for path in files.inside(folder)
        if path.suffix == ".rb"
        and path.relative_to(folder).parts[0] in _LOADED_BY_RAILS
        and not set(_NOT_LOADED) & set(path.relative_to(folder).parts)
    ]
    return Loaded(
        by=dict.fromkeys([*(also or []), *code]),
        whole=f"every process of Rails loads {application.parent.name}, app and lib",
    )


def _requires(path: PurePosixPath, folder: PurePosixPath, files: Files) -> Iterator[PurePosixPath]:
    for match in _REQUIRE.finditer(files.text(path) or ""):
        target = match["target"]
        bases = (
            [path.parent] if match["how"] == "require_relative" or target.startswith(".") else [folder, folder / "lib"]
        )
        for base in bases:
            found = below(base, target)
            for candidate in () if found is None or not found.name else (found, found.with_name(found.name + ".rb")):
                if candidate in files and candidate.suffix in (".rb", ".ru"):
                    yield candidate
