"""Go's compiler of Debian 12, downloaded and unpacked into the cache: 80 MB."""

from __future__ import annotations

import os
import platform
import subprocess
from typing import TYPE_CHECKING

from tests.support.debian import CACHE, unpacked
from tests.support.lanes import LaneUnavailableError

if TYPE_CHECKING:
    from pathlib import Path

_VERSION = "1.19"


def prepare() -> Path:
    """The compiler's folder.

    Raises:
        LaneUnavailableError: This is no Debian 12, or there is no network.
    """
    if platform.machine() != "x86_64":
        raise LaneUnavailableError("its packages are those of x86_64, as far as this lane knows")
    folder = unpacked(f"go-{_VERSION}", f"golang-{_VERSION}-go", f"golang-{_VERSION}-src")
    return folder / "usr" / "lib" / f"go-{_VERSION}"


def compile_go(source: Path) -> None:
    """A program that needs nothing of the system, beside its source and without the suffix."""
    own = {"GOROOT": str(prepare()), "GOCACHE": str(CACHE / "go-build"), "GO111MODULE": "off", "CGO_ENABLED": "0"}
    command = [f"{own['GOROOT']}/bin/go", "build", "-o", str(source.with_suffix("")), source.name]
    done = subprocess.run(command, cwd=source.parent, env=os.environ | own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
