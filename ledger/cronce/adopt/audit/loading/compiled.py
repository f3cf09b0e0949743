"""Java, .NET, Go, Elixir, Rust: the process is built from the folder, so it loads the folder's code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from cronce.adopt.audit.files import MODULES_OF_JVM, ROOT, Files, below
from cronce.adopt.audit.loading.loaded import Loaded, followed
from cronce.adopt.audit.services.commands import Argv, program

_JVM = (".java", ".kt", ".scala", ".groovy")
_GO_IMPORT = re.compile(r"\"(?P<module>[\w./~-]+)\"")
_RELEASE_STARTS = ("start", "start_iex", "daemon", "daemon_iex", "foreground")
_SYSTEM = frozenset(
    {"nginx", "redis-server", "postgres", "mysqld", "mongod", "httpd", "apache2-foreground", "php-fpm", "cron", "crond"}
)


def loaded_by_compiled(command: Argv, folder: PurePosixPath, files: Files) -> Loaded | None:
    """What a compiled program was built from; None if the folder has no such code."""
    name = program(command)
    match name:
        case "java" | "run-java.sh" | "mvn" | "mvnw" | "gradle" | "gradlew" | "catalina.sh":
            return _jvm(command, folder, files)
        case "dotnet":
            return _dotnet(command, folder, files)
        case "mix" | "elixir" | "iex":
            return _all(folder, files, (".ex", ".exs"), "the application starts with its whole folder")
        case "cargo":
            return _all(folder, files, (".rs",), "the program is built from the whole folder")
        case "go":
            return _go(command[-1] if command[1:2] == ("run",) else "", folder, files)
        case _ if name.endswith(".jar"):  # the entrypoint of the base image is java
            return _jvm(command, folder, files)
        case _ if name in _SYSTEM:
            return None
        case _:
            return _binary(command, folder, files)


def _all(folder: PurePosixPath, files: Files, suffixes: tuple[str, ...], why: str) -> Loaded | None:
    code = [path for path in files.inside(folder) if path.suffix in suffixes and "test" not in path.parts]
    return Loaded(by=dict.fromkeys(code), whole=why) if code else None


def _jvm(command: Argv, folder: PurePosixPath, files: Files) -> Loaded | None:
    """A module and those of the project that it depends on, if the folder or the jar's name is a module's."""
    modules = {path.parent: path for path in files if path.name in MODULES_OF_JVM}
    jar = next((word.rpartition("/")[2] for word in command if word.endswith(".jar")), "")
    inner = [each for each in modules if each != folder and (folder == ROOT or folder in each.parents)]
    named = [each for each in inner if re.match(rf"{re.escape(each.name)}(?:-[\d*].*)?\.jar$", jar)]
    start = named[0] if len(named) == 1 else folder
    if start not in modules or (start == folder and inner):
        return _all(folder, files, _JVM, "the program is built from the whole folder")
    by_name = {each.name: build for each, build in modules.items()}

    def dependencies(path: PurePosixPath) -> Iterator[PurePosixPath]:
        for match in _DEPENDENCY.finditer(files.text(path) or ""):
            name = re.sub(r"(?<=[a-z])([A-Z])", lambda upper: "-" + upper[1].lower(), match[match.lastindex or 0])
            if name.rpartition(".")[2] in by_name:
                yield by_name[name.rpartition(".")[2]]

    parts = [path.parent for path in followed([modules[start]], dependencies)]
    code = [path for part in parts for path in files.inside(part) if path.suffix in _JVM]
    return Loaded(by=dict.fromkeys(code), whole=f"it is part of module {start}") if code else None


_DEPENDENCY = re.compile(
    r"project\(\s*(?:path\s*[:=]\s*)?[\"']:(?:[\w-]+:)*([\w-]+)[\"']|\bprojects\.([\w.]+)|<artifactId>([\w.-]+)</artifactId>"
)


def _dotnet(command: Argv, folder: PurePosixPath, files: Files) -> Loaded | None:
    """`dotnet Shop.Web.dll`: the folder of `Shop.Web.csproj` and those of the projects that it refers to."""
    dll = next((word for word in command[1:] if word.endswith(".dll")), "")
    name = f"{dll.rpartition('/')[2].removesuffix('.dll')}.csproj"
    projects = (files.named(name, folder) or files.named(name, ROOT)) if dll else ()
    if not projects:
        return _all(folder, files, (".cs",), "the program is built from the whole folder")

    def references(path: PurePosixPath) -> Iterator[PurePosixPath]:
        for match in re.finditer(r"<ProjectReference\s+Include=\"([^\"]+)\"", files.text(path) or ""):
            if (other := below(path.parent, match[1].replace("\\", "/"))) in files and other is not None:
                yield other

    parts = followed(projects[:1], references)
    code = [path for project in parts for path in files.inside(project.parent) if path.suffix == ".cs"]
    return Loaded(by=dict.fromkeys(code), whole=f"it is part of {projects[0].name}")


def _go(target: str, folder: PurePosixPath, files: Files) -> Loaded | None:
    """A package `main` and the packages of the same module that it imports."""
    start = folder
    for part in target.split("/"):
        start = start if part in ("", ".", "...") else start / part
    start = start.parent if start.suffix == ".go" else start
    module_file = next((base / "go.mod" for base in (start, *start.parents) if base / "go.mod" in files), None)
    module = re.search(r"^module\s+(\S+)", files.text(module_file) or "", re.MULTILINE) if module_file else None

    def sources(package: PurePosixPath) -> list[PurePosixPath]:
        return [p for p in files.inside(package) if p.parent == package and p.suffix == ".go"]

    def imports(path: PurePosixPath) -> Iterator[PurePosixPath]:
        if module is None or module_file is None:
            return
        for match in _GO_IMPORT.finditer(files.text(path) or ""):
            name = match["module"]
            if name == module[1] or name.startswith(module[1] + "/"):
                yield from sources(module_file.parent / name[len(module[1]) :].lstrip("/"))

    by = followed(sources(start), imports)
    return Loaded(by=by) if by else None


def _binary(command: Argv, folder: PurePosixPath, files: Files) -> Loaded | None:
    """A program of an unknown kind: Go's `cmd/NAME`, or the only package `main`; Rust's `src`; a release of Elixir."""
    name = program(command)
    if (folder / "Cargo.toml") in files:
        return _all(folder, files, (".rs",), "the program is built from the whole folder")
    if (folder / "mix.exs") in files and command[1:2] and command[1] in _RELEASE_STARTS:
        return _all(folder, files, (".ex", ".exs"), "the release starts with its whole folder")
    if folder / "go.mod" not in files:
        if f"{name}.csproj" in {path.name for path in files.named(f"{name}.csproj", ROOT)}:
            return _dotnet((name, f"{name}.dll"), folder, files)
        if any(folder / build in files for build in MODULES_OF_JVM):  # a native image, or the script of a distribution
            return _jvm(command, folder, files)
        return None
    for path in (folder / "cmd" / name, folder / name):
        if any(each.suffix == ".go" for each in files.inside(path)):
            return _go("/".join(path.relative_to(folder).parts), folder, files)
    mains = {
        path.parent
        for path in files.inside(folder)
        if path.suffix == ".go" and re.search(r"^package main\b", files.text(path) or "", re.MULTILINE)
    }
    if len(mains) != 1:
        return None
    return _go("/".join(next(iter(mains)).relative_to(folder).parts), folder, files)
