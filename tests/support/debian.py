"""Debian's packages, downloaded and unpacked into a folder of the cache instead of being installed."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from itertools import pairwise
from pathlib import Path

from tests.support.lanes import LaneUnavailableError

CACHE = Path(__file__).parents[2] / ".cache"


def unpacked(name: str, *packages: str, with_libraries_of: str | None = None) -> Path:
    """The folder of the cache with the files of these packages; they are downloaded once.

    Args:
        name: The folder's name.
        packages: The packages.
        with_libraries_of: One of them whose direct dependencies on libraries are unpacked too.

    Raises:
        LaneUnavailableError: This is no Debian, or there is no network.
    """
    for tool in ("apt-get", "apt-cache", "dpkg-deb"):
        if shutil.which(tool) is None:
            raise LaneUnavailableError(f"there is no `{tool}`: this is no Debian")
    cache = CACHE / name
    if not cache.exists():
        CACHE.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as temporary:
            folder = Path(temporary)
            folder.chmod(0o755)  # apt downloads as a user of its own
            _download(folder, packages, with_libraries_of)
            for package in folder.glob("*.deb"):
                _run("dpkg-deb", "-x", str(package), str(folder / "unpacked"))
            if not cache.exists():  # another worker was faster
                (folder / "unpacked").rename(cache)
    return cache


def unpacked_root(name: str, architecture: str, *packages: str) -> Path:
    """A root file system in the cache, for that architecture, with the packages and all that they depend on.

    They are unpacked and not configured: good enough for programs. `build` in it is an empty folder.

    Raises:
        LaneUnavailableError: This is no Debian, or there is no network.
    """
    cache = CACHE / name
    if not cache.exists():
        CACHE.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as temporary:
            folder, root = Path(temporary), Path(temporary) / "root"
            folder.chmod(0o755)
            for each in ("state/lists/partial", "archives/partial", "root/proc", "root/build", "root/usr"):
                (folder / each).mkdir(parents=True)
            for each in ("bin", "lib", "sbin"):
                (root / "usr" / each).mkdir()
                (root / each).symlink_to(f"usr/{each}")
            apt = _apt_of(folder, architecture)
            try:
                _run(*apt, "update", "-qq")
                _run(*apt, "install", "-qq", "-y", "--download-only", "--no-install-recommends", *packages)
            except (OSError, subprocess.CalledProcessError) as error:
                raise LaneUnavailableError(f"apt-get cannot download {packages} for {architecture}: {error}") from error
            for package in sorted((folder / "archives").glob("*.deb")):
                with subprocess.Popen(("dpkg-deb", "--fsys-tarfile", package), stdout=subprocess.PIPE) as unpacking:
                    into = ("tar", "--extract", "--keep-directory-symlink", f"--directory={root}")
                    subprocess.run(into, check=True, stdin=unpacking.stdout)
            if not cache.exists():
                root.rename(cache)
    return cache


def _apt_of(folder: Path, architecture: str) -> tuple[str, ...]:
    """apt-get with the sources of this machine and a state of its own: nothing is installed."""
    (folder / "state" / "status").touch()
    settings = (
        f'APT::Architecture "{architecture}"; APT::Architectures {{ "{architecture}"; }}; APT::Sandbox::User "root";',
        f'Dir::State "{folder}/state"; Dir::State::status "{folder}/state/status";',
        f'Dir::Cache "{folder}"; Dir::Cache::archives "{folder}/archives";',
    )
    (folder / "apt.conf").write_text("\n".join(settings))
    return ("env", f"APT_CONFIG={folder}/apt.conf", "apt-get")


def _download(folder: Path, packages: tuple[str, ...], with_libraries_of: str | None) -> None:
    for update_first in (False, True):
        try:
            if update_first:
                _run("apt-get", "update", "-qq")
            libraries = _libraries_of(with_libraries_of) if with_libraries_of else []
            _run("apt-get", "download", "-qq", *packages, *libraries, cwd=folder)
        except subprocess.CalledProcessError as error:
            if update_first:
                raise LaneUnavailableError(f"apt-get cannot download {packages}: {error.stderr[-300:]}") from error
        else:
            return


def _libraries_of(package: str) -> list[str]:
    words = _run("apt-cache", "depends", "--important", package).split()
    named = [word for before, word in pairwise(words) if before == "Depends:"]
    return [word for word in named if word.startswith("lib") and word != "libc6"]


def _run(*command: str, cwd: Path | None = None) -> str:
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=cwd, timeout=300)
    return done.stdout
