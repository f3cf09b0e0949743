"""The portable folder in root file systems without Python."""

from __future__ import annotations

import os
import shutil
import signal
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cronce.vocabulary.version import VERSION
from tests.processes.conftest import table_url
from tests.support.certificates import self_signed
from tests.support.host import JOB, PERIOD, Host, until
from tests.support.hostile_server import hostile
from tests.support.roots import CHROOT, KINDS, make_root

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tests.support.host import Command
    from tests.support.hostile_server import Peer

pytestmark = pytest.mark.lane("roots")

LEDGER = "sqlite:////data/runs.db"
KEYS = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing"}
ADDED = {"CRONCE_JOB", "CRONCE_PERIOD", "CRONCE_ATTEMPT", "CRONCE_FENCE", "CRONCE_CHECKPOINT_SOCKET"}
OF_AN_IMAGE = {
    "PATH": "/bin",
    "PYTHONHOME": "/nowhere",
    "PYTHONPATH": "/nowhere",
    "LD_LIBRARY_PATH": "/opt/own",
    "LD_BIND_NOW": "1",
    "GEM_HOME": "/gems",
    "EMPTY": "",
    "OPTIONS": "a=b",
}


class Root:
    """One root, and its ledger as the test sees it."""

    def __init__(self, kind: str, path: Path, host: Host) -> None:
        self.kind, self.path, self._host = kind, path, host

    def exec(
        self,
        *command: str,
        env: Mapping[str, str] | None = None,
        options: str = "",
        ledger: str = LEDGER,
        proc: bool = True,
        read_only: bool = False,
    ) -> Command:
        """Start `cronce exec` in a container of the root."""
        words = ["exec", "--ledger", ledger, "--job", JOB, "--period", PERIOD, *options.split(), "--", *command]
        return self.start("/cronce/cronce", *words, env=env, proc=proc, read_only=read_only)

    def start(
        self, *words: str, env: Mapping[str, str] | None = None, proc: bool = True, read_only: bool = False
    ) -> Command:
        """Start a program of the root as PID 1 with exactly this environment; read only: also as nobody."""
        path, steps = str(self.path), []
        if proc:
            steps.append(f"mount -t proc proc {path}/proc")
        if read_only:
            steps += [f"mount --bind {path} {path}", f"mount -o remount,bind,ro {path}"]
        user = ["--userspec=65534:65534"] if read_only else []
        script = " && ".join([*steps, 'exec env -i "$@"'])
        container = ["unshare", "--pid", "--mount", "--fork", "sh", "-c", script, "sh"]
        given = [f"{name}={value}" for name, value in (env or {}).items()]
        return self._host.start(*container, *given, CHROOT, *user, path, *words)

    def pid_1(self, command: Command) -> int:
        """The number of the container's PID 1 outside."""
        children = Path(f"/proc/{command.pid}/task/{command.pid}/children")
        return int(until(children.read_text, "a child of unshare"))

    def run(self) -> tuple[str, str | None]:
        """Status and reason of the run."""
        return self._host.ended_run()


@contextmanager
def rooted(kind: str, portable: Path, tmp_path: Path) -> Iterator[Root]:
    """A root of that kind with a ledger of its own."""
    path = tmp_path / "root"
    make_root(kind, path, portable)
    with Host(tmp_path, LEDGER, watch_url=f"sqlite:///{path}/data/runs.db") as host:
        yield Root(kind, path, host)


@pytest.fixture(params=KINDS)
def root(request: pytest.FixtureRequest, portable: Path, tmp_path: Path) -> Iterator[Root]:
    """A root of each kind."""
    with rooted(request.param, portable, tmp_path) as root:
        yield root


@pytest.fixture
def scratch(portable: Path, tmp_path: Path) -> Iterator[Root]:
    """A root with nothing but a static program."""
    with rooted("scratch", portable, tmp_path) as root:
        yield root


def test_the_command_runs_once_with_exactly_the_environment_of_its_image(root: Root) -> None:
    """The guard reads none of it that changes Python or the loader, and adds its own variables only."""
    first = root.exec("/app", "env", env=OF_AN_IMAGE)
    assert first.wait() == 0, first.err
    seen = dict(line.split("=", 1) for line in first.out.decode().splitlines())
    of_its_shell = {"PWD", "SHLVL"} if root.kind == "busybox" else set()
    assert seen.keys() - of_its_shell == OF_AN_IMAGE.keys() | ADDED
    assert {name: seen[name] for name in OF_AN_IMAGE} == OF_AN_IMAGE
    second = root.exec("/app", "env", env=OF_AN_IMAGE)
    assert (second.wait(), second.out) == (0, b"")
    assert second.event("refused")["reason"] == "ALREADY_SUCCEEDED"


def test_the_commands_exit_code_is_the_containers(root: Root) -> None:
    """Without /proc too."""
    assert root.exec("/app", "exit", "3", proc=False).wait() == 3
    assert root.run() == ("FAILED", "exit_code")


def test_as_pid_1_it_forwards_sigterm_and_settles_the_run(root: Root) -> None:
    """As ECS stops a task."""
    container = root.exec("/app", "wait")
    until(lambda: b"ready" in container.out, "the command")
    os.kill(root.pid_1(container), signal.SIGTERM)
    assert container.wait() == 15
    assert root.run() == ("FAILED", "interrupted")


def test_after_a_sigkill_the_next_attempt_resumes_from_the_checkpoint(root: Root) -> None:
    """`/cronce/cronce checkpoint` stores it from inside the image; the lease expires and the run is taken over."""
    container = root.exec("/app", "store", "1500", options="--lease 2s")
    until(lambda: b"ready" in container.out, "a checkpoint")
    os.kill(root.pid_1(container), signal.SIGKILL)
    container.wait()

    def resumed() -> Command | None:
        again = root.exec("/app", "env")
        again.wait()
        return again if again.out else None

    found = until(resumed, "the lease to expire", every=0.3)
    assert found is not None
    assert "CRONCE_RESUME_FROM=1500" in found.out.decode().splitlines()
    assert root.run() == ("SUCCEEDED", None)


def test_a_preloaded_library_of_the_image_is_loaded_into_the_command_only(portable: Path, tmp_path: Path) -> None:
    """Images with Rails set LD_PRELOAD to jemalloc; in the guard it could meet another libc."""
    with rooted("glibc", portable, tmp_path) as root:
        container = root.exec("/app", "exit", "0", env={"LD_PRELOAD": "/preloaded.so"})
        assert (container.wait(), container.out) == (0, b"preloaded\n"), container.err


def test_read_only_as_nobody_with_the_ledger_in_dynamodb(scratch: Root, dynamodb_local: str, table: str) -> None:
    """A task with a user and `readonlyRootFilesystem`."""
    first = scratch.exec("/app", "env", env=KEYS, ledger=table_url(table, dynamodb_local), read_only=True)
    assert first.wait() == 0, first.err
    assert first.event("succeeded")["attempt"] == 1
    assert "CRONCE_FENCE=1" in first.out.decode().splitlines()


def test_over_tls_it_trusts_the_bundle_that_it_is_given(
    scratch: Root, dynamodb_local: str, table: str, tmp_path: Path
) -> None:
    """And without that bundle it starts nothing: in a scratch image there are Amazon's roots, and no others."""
    context, certificate = self_signed(tmp_path)
    shutil.copy(certificate, scratch.path / "ca.pem")
    (scratch.path / "etc").mkdir()
    (scratch.path / "etc" / "hosts").write_text("127.0.0.1 localhost\n")
    with hostile(relay_to(dynamodb_local), tls=context) as server:
        url = table_url(table, server.endpoint.replace("http://127.0.0.1", "https://localhost"))
        refused = scratch.exec("/app", "env", env=KEYS, ledger=url)
        assert (refused.wait(), refused.out) == (69, b"")
        assert "certificate verify failed" in refused.event("unavailable")["message"]
        trusted = scratch.exec("/app", "env", env=KEYS | {"AWS_CA_BUNDLE": "/ca.pem"}, ledger=url)
        assert trusted.wait() == 0, trusted.err


@pytest.mark.parametrize(
    ("env", "why"),
    [
        ({}, "needed for credentials other than a task role or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
        (KEYS | {"HTTPS_PROXY": "http://proxy:3128"}, "needed for HTTPS_PROXY"),
        (KEYS | {"AWS_ENDPOINT_URL": "ftp://x"}, "needed for the endpoint of this Region or ledger"),
    ],
    ids=["no credentials", "a proxy", "an endpoint"],
)
def test_what_needs_botocore_is_one_line_and_exit_code_69(scratch: Root, env: dict[str, str], why: str) -> None:
    """The folder has no botocore."""
    refused = scratch.exec("/app", "env", env=env, ledger="dynamodb://runs?region=eu-west-1")
    assert (refused.wait(), refused.out) == (69, b"")
    assert why in refused.event("unavailable")["message"]
    assert len(refused.err.splitlines()) == 1


def test_the_other_runtime_commands_work_there_too(scratch: Root) -> None:
    """A pinned command with its health, the clock's check, the version, and what the folder does not have."""
    pinned = scratch.start("/cronce/cronce", "pin", "--ledger", LEDGER, "--job", "beat", "--", "/app", "wait")
    until(lambda: b"ready" in pinned.out, "the command")
    health = scratch.start("/cronce/cronce", "health", "--ledger", LEDGER, "--name", "beat")
    assert (health.wait(), health.out) == (0, b"healthy\n"), health.err
    os.kill(scratch.pid_1(pinned), signal.SIGTERM)
    assert pinned.wait() == 15

    clock = '{"jobs": {"digest": {"schedule": "0 6 * * *", "target": {"command": ["/app"]}}}}'
    checked = scratch.start("/cronce/cronce", "clock", "--check", env={"CRONCE_CLOCK": clock})
    assert checked.wait() == 0, checked.err
    assert checked.out.startswith(b"digest: ")

    version = scratch.start("/cronce/cronce", "--version")
    assert (version.wait(), version.out) == (0, f"cronce {VERSION}\n".encode())
    for people in ("runs", "demo"):
        refused = scratch.start("/cronce/cronce", people)
        assert refused.wait() == 64
        assert refused.err == f"cronce: '{people}' needs the extra 'cli': pip install 'cronce[cli]'\n"


def relay_to(endpoint: str) -> Callable[[Peer, bytes], bool]:
    """Passes each request on, and its answer back."""

    def speak(peer: Peer, request: bytes) -> bool:
        head, _, body = request.partition(b"\r\n\r\n")
        with closing(HTTPConnection(endpoint.removeprefix("http://"))) as connection:
            headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
            connection.request("POST", "/", body, headers)
            answer = connection.getresponse()
            data = answer.read()
        lines = [f"HTTP/1.1 {answer.status} OK", *(f"{name}: {value}" for name, value in answer.getheaders()), "", ""]
        peer.send("\r\n".join(lines).encode() + data)
        return True

    return speak
