"""One temporary folder per test session, for the tests and everything they start, that is gone afterwards.

Also after Ctrl-C: then the processes that tests started and could not stop are ended first. The files of a session with
failed tests are kept in `.cache/failed-tests` until the next such session.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter


KEPT = Path(__file__).parents[2] / ".cache" / "failed-tests"


class Scratch:
    """The plugin of the process that a person started; workers and children inherit the folder as `TMPDIR`."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="cronce-tests-"))
        self._folder.chmod(0o711)  # PostgreSQL, which does not run as root, has a folder in it
        self._outer = os.environ.get("TMPDIR")
        self._kept = False
        self._use(str(self._folder))

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter, exitstatus: int) -> None:
        """Say where the files of failed tests will be."""
        self._kept = exitstatus == pytest.ExitCode.TESTS_FAILED
        if self._kept:
            terminalreporter.write_line(f"the files of the failed tests go from {self._folder} to {KEPT}")

    @pytest.hookimpl(trylast=True)  # xdist stops its workers first
    def pytest_unconfigure(self) -> None:
        """Remove the folder, and whatever still runs in it."""
        for pid in self._living():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._use(self._outer)
        if self._kept:
            shutil.rmtree(KEPT, ignore_errors=True)
            with suppress(OSError, shutil.Error):
                shutil.move(self._folder, KEPT)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _living(self) -> list[int]:
        """Every process of the session but this one; only Linux tells (man 5 proc)."""
        mark = f"TMPDIR={self._folder}".encode()
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if int(process.name) != os.getpid() and mark in (process / "environ").read_bytes().split(b"\0"):
                    found.append(int(process.name))
        return found

    @staticmethod
    def _use(folder: str | None) -> None:
        if folder is None:
            os.environ.pop("TMPDIR", None)
        else:
            os.environ["TMPDIR"] = folder
        tempfile.tempdir = None  # looked up anew
