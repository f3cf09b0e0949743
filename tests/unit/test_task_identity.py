"""The name of this process: the ECS task, else host and process id. Never late, and never an error."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from cronce.aws.stop_task import stop_ecs_task
from cronce.aws.task_identity import TaskIdentity, task_identity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ARN = "arn:aws:ecs:eu-west-1:123456789012:task/jobs/158d1c8083dd49d6b527399fd6414f5c"
HOST_AND_PID = f"{os.uname().nodename}:{os.getpid()}"
LATEST = 4.0
"""Two seconds, and as many again for a slow machine."""


def answer(body: object, *, status: str = "200 OK") -> bytes:
    """A whole HTTP answer; `body` as JSON unless it is bytes."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(data)}\r\nConnection: close\r\n\r\n".encode() + data


@contextmanager
def serving(speak: Callable[[socket.socket, bytes], None]) -> Iterator[str]:
    """A server on this machine; `speak` gets each connection and its request. Gives its URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            try:
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        speak(connection, connection.recv(65536))
            except OSError:
                return  # the test is over, or the client has hung up

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v4/0123"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(10)


def say(data: bytes) -> Callable[[socket.socket, bytes], None]:
    """Answer everything with this."""
    return lambda connection, _request: connection.sendall(data)


def identity_at(uri: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Who this process is with that endpoint, and never late."""
    return whole_identity_at(uri, monkeypatch).name


def whole_identity_at(uri: str, monkeypatch: pytest.MonkeyPatch) -> TaskIdentity:
    """The same, and what it runs."""
    monkeypatch.setenv("ECS_CONTAINER_METADATA_URI_V4", uri)
    began = time.monotonic()
    identity = task_identity()
    assert time.monotonic() - began < LATEST
    return identity


def test_an_ecs_task_is_its_arn(monkeypatch: pytest.MonkeyPatch) -> None:
    """From `/task` of the endpoint."""
    requests: list[bytes] = []

    def speak(connection: socket.socket, request: bytes) -> None:
        requests.append(request)
        connection.sendall(answer({"Cluster": "jobs", "TaskARN": ARN}))

    with serving(speak) as uri:
        assert identity_at(uri, monkeypatch) == ARN
    assert requests[0].startswith(b"GET /v4/0123/task HTTP/1.1\r\n")


def test_elsewhere_it_is_host_and_pid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the variable, and with an empty one."""
    monkeypatch.delenv("ECS_CONTAINER_METADATA_URI_V4", raising=False)
    assert task_identity() == TaskIdentity(name=HOST_AND_PID)
    assert identity_at("", monkeypatch) == HOST_AND_PID


def test_proxies_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """The endpoint is link-local: a proxy would answer for another task, or not at all."""
    with (
        serving(say(answer({"TaskARN": ARN.replace("jobs", "proxied")}))) as proxy,
        serving(say(answer({"TaskARN": ARN}))) as uri,
    ):
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy)
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        assert identity_at(uri, monkeypatch) == ARN


GARBAGE = {
    "no HTTP": b"\x00\xff\x00\xff\r\n\r\n",
    "nothing": b"",
    "not found": answer({"TaskARN": ""}, status="404 Not Found"),
    "no JSON": answer(b"<html>"),
    "not UTF-8": answer(b'{"TaskARN": "\xff\xfe"}'),
    "a list": answer([ARN]),
    "no ARN": answer({"Cluster": "jobs"}),
    "an ARN that is a number": answer({"TaskARN": 7}),
    "an ARN of something else": answer({"TaskARN": "arn:aws:ecs:eu-west-1:123456789012:cluster/jobs"}),
    "an ARN with a line break": answer({"TaskARN": ARN + "\nx"}),
    "less than it promised": answer({"TaskARN": ARN})[:-5],
    "a pit": answer(b"[" * 100_000),
    "too much": answer(b'{"x": "' + b"x" * 2_000_000 + b'"}'),
}


@pytest.mark.parametrize("data", GARBAGE.values(), ids=GARBAGE)
def test_garbage_is_no_error(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then it is host and pid."""
    with serving(say(data)) as uri:
        assert identity_at(uri, monkeypatch) == HOST_AND_PID


def test_a_server_that_trickles_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte every tenth of a second keeps every socket timeout happy, for a minute."""
    over = threading.Event()

    def drip(connection: socket.socket, _request: bytes) -> None:
        for byte in answer({"TaskARN": ARN, "x": "x" * 500}):
            if over.wait(0.1):
                return
            connection.sendall(bytes([byte]))

    with serving(drip) as uri:
        assert identity_at(uri, monkeypatch) == HOST_AND_PID
        over.set()


def test_a_server_that_says_nothing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """It took the connection, and that is all."""
    over = threading.Event()

    def say_nothing(_connection: socket.socket, _request: bytes) -> None:
        over.wait(60)

    with serving(say_nothing) as uri:
        assert identity_at(uri, monkeypatch) == HOST_AND_PID
        over.set()


@pytest.mark.parametrize(
    "uri",
    [
        "http://127.0.0.1:1/v4",
        "http://",
        "nonsense",
        "http://127.0.0.1:99999/",
        "http://[::1",
        "http://a b/",
        "http://127.0.0.1:1/\u2603",
    ],
)
def test_a_bad_address_is_no_error(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused, impossible, or no URL at all."""
    assert identity_at(uri, monkeypatch) == HOST_AND_PID


@pytest.mark.parametrize(
    "owner",
    [
        pytest.param(HOST_AND_PID, id="host and pid"),
        "",
        "other",
        pytest.param(ARN + "\n", id="a line break"),
        "arn:aws:ecs:eu-west-1:1:task/x",
    ],
)
def test_an_owner_that_is_no_task_is_not_stopped(owner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No client is made for it."""
    monkeypatch.setattr("botocore.session.get_session", lambda: pytest.fail("a client was made"))
    stop_ecs_task(owner, "replaced")


SHA = "sha256:" + "0123456789abcdef" * 4
JOB = {"DockerId": "0123", "Name": "digest", "Image": "shop/digest:7", "ImageID": SHA, "Type": "NORMAL"}
PAUSE = JOB | {"DockerId": "9", "Type": "CNI_PAUSE"}
BESIDE = JOB | {"DockerId": "4567", "ImageID": "sha256:" + "f" * 64}
OF = {"TaskARN": ARN, "Family": "digest", "Revision": "17"}
IMAGES = {
    "the revision and the image": (OF | {"Containers": [PAUSE, JOB]}, "digest:17 sha256:0123456789ab"),
    "of several containers the one of the address": (
        OF | {"Containers": [BESIDE, JOB]},
        "digest:17 sha256:0123456789ab",
    ),
    "one container, whose id is not in the address": (
        OF | {"Containers": [PAUSE, JOB | {"DockerId": "ea32192c8553fbff"}]},
        "digest:17 sha256:0123456789ab",
    ),
    "several, none of which is in the address": (
        OF | {"Containers": [BESIDE, JOB | {"DockerId": "ea32192c8553fbff"}]},
        "digest:17",
    ),
    "no containers": (OF, "digest:17"),
    "an image by its name": (OF | {"Containers": [JOB | {"ImageID": "shop/digest:7"}]}, "digest:17"),
    "no revision": ({"TaskARN": ARN, "Family": "digest", "Containers": [JOB]}, "sha256:0123456789ab"),
    "values of other kinds": (OF | {"Family": ["digest"], "Containers": {"a": 1}}, None),
    "containers that are none": (OF | {"Containers": [7, None, {}]}, "digest:17"),
    "a family with a control character": (OF | {"Family": "a\x1b[31m"}, None),
}


@pytest.mark.parametrize(("body", "image"), IMAGES.values(), ids=IMAGES)
def test_what_a_task_runs_is_in_the_same_answer(
    body: object, image: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As ECS documents version 4 of the endpoint; whatever else it says, the task has its name."""
    with serving(say(answer(body))) as uri:
        assert whole_identity_at(uri, monkeypatch) == TaskIdentity(name=ARN, image=image)
