"""Builds the portable folder from the Python that runs this, with gcc for the launcher."""

from __future__ import annotations

import py_compile
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_STANDARD = Path(sysconfig.get_path("stdlib")).resolve()
_LEFT_OUT = ("portable", "demo", "board", "adopt", "testing", "cli/actions", "cli/commands", "cli/output")
_KEPT = ("cli/output/__init__.py", "cli/output/streams.py")
"""What is for people or for building is left out, except for what the clock uses of it."""

_LOADED_LATE = ("_strptime", "calendar", "encodings.ascii", "encodings.idna", "encodings.latin_1", "traceback")
"""What the standard library imports inside functions, on the paths of the runtime commands."""

_LOADED_BY_LIBC = ("libgcc_s.so.1", "libnss_dns.so.2", "libnss_files.so.2", "libresolv.so.2")
"""Libraries that libc opens when it needs them: the end of a thread, and names of hosts before glibc 2.34."""

# Other packages, such as click and botocore, are not in the folder; what needs them says so in one line.
_PROBE = """
import importlib, sys
sys.path.insert(0, sys.argv[1])
for name in sys.argv[2].split():
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in {"cronce", *sys.stdlib_module_names}:
            raise
for name, module in list(sys.modules.items()):
    print(name, getattr(module, "__file__", None) or "", sep="\t")
"""


class CannotBuildError(Exception):
    """The folder cannot be built; the message says what is missing. Nothing was written."""


def build(folder: Path) -> None:
    """Build the folder: complete afterwards, or not there.

    Raises:
        CannotBuildError: The folder has something in it, or this system lacks a tool or has no glibc.
    """
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise CannotBuildError(f"{folder} is not an empty folder; name one that does not exist")
    if sys.platform != "linux":
        raise CannotBuildError(f"this system is {sys.platform}; the folder is built on Linux, e.g. with the Dockerfile")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as temporary:
        new = Path(temporary) / "folder"
        _fill(new)
        new.rename(folder)


def _fill(folder: Path) -> None:
    (folder / "bin").mkdir(parents=True)
    _run("cc", "-static", "-O2", "-Wall", "-o", str(folder / "cronce"), str(Path(__file__).with_name("launcher.c")))
    python = folder / "bin" / "python3"
    shutil.copy2(_interpreter(), python)
    standard = _standard_modules()
    _copy_modules(folder / "lib" / _STANDARD.name, standard)
    _copy_libraries(folder, [_interpreter(), *(path for path in standard if path.suffix == ".so")])
    binaries = [folder / "cronce", python, *folder.rglob("*.so"), *folder.glob("lib/*.so.*")]
    _run("strip", "--strip-unneeded", *map(str, binaries))
    # Every module is loaded once more, from the folder alone.
    loader = (folder / "ld.so", "--inhibit-cache", "--library-path", folder / "lib")
    list(_loaded(*map(str, (*loader, python)), packages=folder / "lib" / _STANDARD.name))


def _interpreter() -> Path:
    return Path(getattr(sys, "_base_executable", sys.executable)).resolve()


def _copy_modules(library: Path, standard: Iterable[Path]) -> None:
    """Write the byte code of every module, and copy the extensions."""
    (library / "lib-dynload").mkdir(parents=True)  # the interpreter looks for it
    for path in standard:
        target = library / path.relative_to(_STANDARD)
        if path.suffix == ".py":
            _compile(path, target)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target)
    for path in _own_modules():
        _compile(path, library / "cronce" / path.relative_to(_PACKAGE))
    for path in _PACKAGE.rglob("*.pem"):
        shutil.copy2(path, library / "cronce" / path.relative_to(_PACKAGE))


def _compile(path: Path, target: Path) -> None:
    """Byte code that is never compared with its source: there is none, and times differ between image layers."""
    target.parent.mkdir(parents=True, exist_ok=True)
    py_compile.compile(
        str(path),
        cfile=str(target.with_suffix(".pyc")),
        dfile=path.name,
        doraise=True,
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )


def _own_modules() -> Iterator[Path]:
    for path in sorted(_PACKAGE.rglob("*.py")):
        name = path.relative_to(_PACKAGE)
        if str(name) in _KEPT or not any(name.is_relative_to(left_out) for left_out in _LEFT_OUT):
            yield path


def _standard_modules() -> list[Path]:
    """The files of the standard library that the modules of cronce load."""
    paths: set[Path] = set()
    for name, file in _loaded(str(_interpreter()), packages=_PACKAGE.parent):
        # Python 3.13's collections/abc.py puts another module in its own place, so a name has its file too.
        own = _STANDARD.joinpath(*name.split("."))
        paths.update(path for path in (Path(file).resolve(), own.with_name(f"{own.name}.py")) if path.is_file())
    return sorted(path for path in paths if path.is_relative_to(_STANDARD) and not path.is_relative_to(_PACKAGE))


def _loaded(*interpreter: str, packages: Path) -> Iterator[tuple[str, str]]:
    """Name and file of each module that an interpreter has after it has loaded those of the folder."""
    parts = [path.relative_to(_PACKAGE.parent).with_suffix("").parts for path in _own_modules()]
    names = [".".join(part[:-1] if part[-1] == "__init__" else part) for part in parts]
    said = _run(*interpreter, "-I", "-S", "-c", _PROBE, str(packages), " ".join([*names, *_LOADED_LATE]))
    for line in said.splitlines():
        name, _, file = line.partition("\t")
        yield name, file


def _copy_libraries(folder: Path, binaries: Iterable[Path]) -> None:
    """Copy the loader, and every library that the binaries need."""
    needed: set[Path] = set()
    for binary in binaries:
        needed.update(Path(name) for name in re.findall(r"(/\S+) \(0x", _run("ldd", str(binary))))
    loader = next((path for path in needed if path.name.startswith("ld-linux")), None)
    if loader is None:
        raise CannotBuildError("this Python is not linked with glibc; use the Python of Debian, or the Dockerfile")
    beside = next(path.parent for path in needed if path.name == "libc.so.6")
    needed.update(beside / name for name in _LOADED_BY_LIBC if (beside / name).exists())
    for path in needed - {loader}:
        shutil.copy2(path.resolve(), folder / "lib" / path.name)
    shutil.copy2(loader.resolve(), folder / "ld.so")


def _run(*command: str) -> str:
    """Run a tool; its output.

    Raises:
        CannotBuildError: There is no such tool, or it failed.
    """
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603  # our own words
    except FileNotFoundError:
        hint = "on Debian: apt-get install gcc libc6-dev binutils"
        raise CannotBuildError(f"there is no '{command[0]}' ({hint})") from None
    except subprocess.CalledProcessError as error:
        raise CannotBuildError(f"'{command[0]}' failed: {error.stderr.strip()}") from None
