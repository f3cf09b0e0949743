"""A real PgBouncer in transaction mode before a real PostgreSQL; the program comes from Debian's package."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tests.support.certificates import self_signed
from tests.support.debian import unpacked
from tests.support.dynamodb_local import free_port
from tests.support.postgres_server import AS_NOBODY, NOBODY, PASSWORD, USERS
from tests.support.tied import TIED_TO_STARTER

if TYPE_CHECKING:
    from types import TracebackType

    from tests.support.postgres_server import PostgresServer

SERVER_CONNECTIONS = 2
"""More clients than that share them."""

_SETTINGS = """
[databases]
runs = host={server} port={server_port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
pool_mode = transaction
default_pool_size = {connections}
auth_type = hba
auth_hba_file = {folder}/hba.conf
auth_file = {folder}/users.txt
client_tls_sslmode = allow
client_tls_cert_file = {folder}/certificate.pem
client_tls_key_file = {folder}/key.pem
"""
_ACCESS = """
host all cronce 127.0.0.1/32 trust
host all scram 127.0.0.1/32 scram-sha-256
host all old 127.0.0.1/32 md5
host all plain 127.0.0.1/32 password
"""
_START_TIMEOUT = 30.0
_STOP_TIMEOUT = 10.0


class PgBouncer:
    """A PgBouncer that runs as long as the `with` block lasts; it offers TLS for the name `localhost`."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._temporary = tempfile.TemporaryDirectory(prefix="cronce-pgbouncer-")
        self._folder = Path(self._temporary.name)
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def certificate(self) -> Path:
        """The certificate that a client must trust."""
        return self._folder / "certificate.pem"

    def url(self, *, user: str = "cronce", host: str = "127.0.0.1", **options: str) -> str:
        """The URL of a ledger behind it."""
        return self._server.url(user=user, host=host, port=self._port, **options)

    def __enter__(self) -> Self:
        """Write the configuration and start."""
        programs = self._folder / "programs"
        shutil.copytree(prepare(), programs, symlinks=True)  # the cache may be in a folder of root
        self_signed(self._folder)
        words = {"folder": self._folder, "port": self._port, "connections": SERVER_CONNECTIONS}
        words |= {"server": self._server.folder, "server_port": self._server.port}
        (self._folder / "settings.ini").write_text(_SETTINGS.format(**words))
        (self._folder / "hba.conf").write_text(_ACCESS)
        self.set_password(PASSWORD)
        if AS_NOBODY:
            for path in (self._folder, *self._folder.glob("*.*")):
                os.chown(path, NOBODY, NOBODY)
        libraries = ":".join(str(path) for path in programs.glob("**/*-linux-gnu"))
        command = [*AS_NOBODY, str(programs / "usr" / "sbin" / "pgbouncer"), str(self._folder / "settings.ini")]
        with (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [*TIED_TO_STARTER, *command],
                env=os.environ | {"LD_LIBRARY_PATH": libraries},
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + _START_TIMEOUT
        while not self._listens():
            if self._process.poll() is not None or time.monotonic() > deadline:
                message = f"PgBouncer did not start: {(self._folder / 'log').read_text()}"
                self.__exit__(None, None, None)
                raise RuntimeError(message)
            time.sleep(0.02)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop it."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(_STOP_TIMEOUT)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            if self._process.stdin:
                self._process.stdin.close()
        self._temporary.cleanup()

    def set_password(self, password: str) -> None:
        """Set every user's password; a running PgBouncer reads it a moment later."""
        quoted = password.replace('"', '""')
        (self._folder / "users.txt").write_text("".join(f'"{user}" "{quoted}"\n' for user in USERS))
        if self._process is not None:
            self._process.send_signal(signal.SIGHUP)

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self._port), 5).close()
        except OSError:
            return False
        return True


def prepare() -> Path:
    """The files of Debian's package, downloaded once.

    Raises:
        LaneUnavailableError: This is no Debian, or there is no network.
    """
    return unpacked("pgbouncer", "pgbouncer", with_libraries_of="pgbouncer")
