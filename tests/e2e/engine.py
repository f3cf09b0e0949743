"""A Docker engine: the machine's own if it answers, else one that lives as long as the `with` block.

Ours is private: it has its own socket, process ID file and data, no default bridge and no firewall rules. So it leaves
nothing behind, and its containers reach only this machine.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self

from tests.e2e.steps import CACHE, LOGS, StepFailedError, run, step
from tests.support.lanes import LaneUnavailableError
from tests.support.tied import TIED_TO_STARTER

if TYPE_CHECKING:
    from types import TracebackType

DATA = CACHE / "engine"
"""Images and layers; kept between runs."""

_DEBIAN_PACKAGES = {"dockerd": "docker.io", "docker": "docker.io", "debootstrap": "debootstrap"}
_STORAGE_DRIVERS = ("overlay2", "vfs")
"""The second works on any file system, and copies every layer."""

_START_TIMEOUT = 60.0
_STOP_TIMEOUT = 60.0


def prepare() -> None:
    """The commands that the lane needs are there, installed from Debian's packages where they were missing.

    Raises:
        LaneUnavailableError: They cannot be installed, or this user may not start an engine.
    """
    if not sys.platform.startswith("linux"):
        raise LaneUnavailableError("containers on an address of this machine need Linux")
    if os.geteuid() != 0:
        raise LaneUnavailableError("starting a Docker engine and `debootstrap` need root")
    missing = {package for command, package in _DEBIAN_PACKAGES.items() if shutil.which(command) is None}
    if not missing:
        return
    if shutil.which("apt-get") is None:
        raise LaneUnavailableError(f"{', '.join(sorted(missing))} missing, and there is no apt-get to install them")
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    try:
        with step(f"apt-get install {' '.join(sorted(missing))}"):
            run("apt-get", "update", "-qq", log="apt")
            run("apt-get", "install", "-y", "-qq", "--no-install-recommends", *sorted(missing), env=quiet, log="apt")
    except StepFailedError as error:
        raise LaneUnavailableError(str(error)) from error


class Engine:
    """A Docker engine that answers, for as long as the `with` block lasts; one lane at a time has one.

    Attributes:
        socket: Its Unix socket.
        own: True if it was started here, and ends with the block.
    """

    def __init__(self) -> None:
        prepare()
        self.socket = Path("/var/run/docker.sock")
        self.own = False
        self._dockerd: subprocess.Popen[bytes] | None = None
        self._leaving = ExitStack()

    def __enter__(self) -> Self:
        """Take the machine's engine, or start one."""
        # Not in the session's own temporary folder: two checkouts would take the same address.
        lock = self._leaving.enter_context(Path("/tmp/cronce-e2e.lock").open("w"))
        fcntl.flock(lock, fcntl.LOCK_EX)
        if self._answers():
            return self
        # The path must be short enough for a socket's address, wherever the project is.
        scratch = Path(self._leaving.enter_context(tempfile.TemporaryDirectory(prefix="cronce-engine-")))
        self.socket = scratch / "docker.sock"
        self.own = True
        for driver in _STORAGE_DRIVERS:
            with step(f"start a Docker engine ({driver})"):
                if self._start(scratch, driver):
                    return self
        self.__exit__(None, None, None)
        raise StepFailedError(f"dockerd did not start; the end of its log:\n{self._log_end()}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop the engine if it is ours."""
        if self._dockerd is not None:
            with step("stop the Docker engine"):
                self._stop()
        self._leaving.close()

    def docker(self, *arguments: str | Path, log: str = "docker", timeout: float = 300) -> str:
        """What the `docker` command printed.

        Raises:
            StepFailedError: It failed.
        """
        return run("docker", *arguments, env=self.environment, log=log, timeout=timeout)

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables with which `docker` uses this engine. The classic builder needs no plugin."""
        return {"DOCKER_HOST": f"unix://{self.socket}", "DOCKER_BUILDKIT": "0"}

    def _start(self, scratch: Path, driver: str) -> bool:
        LOGS.mkdir(parents=True, exist_ok=True)
        with (LOGS / "engine.log").open("wb") as log:
            self._dockerd = self._spawn(scratch, driver, log)
        deadline = time.monotonic() + _START_TIMEOUT
        while time.monotonic() < deadline and self._dockerd.poll() is None:
            if self._answers():
                return True
            time.sleep(0.2)
        self._stop()
        return False

    def _spawn(self, scratch: Path, driver: str, log: IO[bytes]) -> subprocess.Popen[bytes]:
        command = [
            "dockerd",
            f"--host=unix://{self.socket}",
            f"--data-root={DATA}",
            f"--exec-root={scratch / 'exec'}",
            f"--pidfile={scratch / 'dockerd.pid'}",
            f"--storage-driver={driver}",
            "--bridge=none",
            "--iptables=false",
            "--ip6tables=false",
            "--ip-masq=false",
        ]
        return subprocess.Popen(
            [*TIED_TO_STARTER, *command],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C goes to the starter, which then stops the engine
        )

    def _stop(self) -> None:
        """End the engine by closing the pipe; it ends its containers first."""
        dockerd, self._dockerd = self._dockerd, None
        if dockerd is None:
            return
        if dockerd.stdin:
            dockerd.stdin.close()
        try:
            dockerd.wait(_STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            dockerd.kill()
            dockerd.wait()

    def _answers(self) -> bool:
        try:
            self.docker("version", timeout=30)
        except StepFailedError:
            return False
        return True

    @staticmethod
    def _log_end() -> str:
        return (LOGS / "engine.log").read_text(errors="replace")[-3000:]
