"""Ruby of Debian 12, downloaded and unpacked into the cache: 25 MB."""

from __future__ import annotations

import os
import platform
import shlex
from typing import TYPE_CHECKING

from tests.support.debian import CACHE, unpacked
from tests.support.lanes import LaneUnavailableError

if TYPE_CHECKING:
    from pathlib import Path

_VERSION = "3.1"


def prepare() -> Path:
    """The folder of a program `ruby`, to put into PATH.

    Raises:
        LaneUnavailableError: This is no Debian 12, or there is no network.
    """
    if platform.machine() != "x86_64":
        raise LaneUnavailableError("its packages are those of x86_64, as far as this lane knows")
    library = unpacked(f"ruby-{_VERSION}", f"ruby{_VERSION}", f"libruby{_VERSION}") / "usr" / "lib"
    binaries, folder = library / "x86_64-linux-gnu", CACHE / "ruby-program"
    folder.mkdir(exist_ok=True)
    paths = (library / "ruby" / f"{_VERSION}.0", binaries / "ruby" / f"{_VERSION}.0")
    ruby = library.parent / "bin" / f"ruby{_VERSION}"
    variables = {"LD_LIBRARY_PATH": str(binaries), "RUBYLIB": ":".join(map(str, paths)), "RUBYOPT": "--disable-gems"}
    words = ["exec", "env", *(f"{name}={value}" for name, value in variables.items()), str(ruby)]
    new = folder / f"ruby.{os.getpid()}"
    new.write_text(f'#!/bin/sh\n{shlex.join(words)} "$@"\n')
    new.chmod(0o755)
    new.rename(folder / "ruby")  # complete or not there
    return folder
