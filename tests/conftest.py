"""What every test gets: the environment's tools in PATH, no access to a real AWS account, and the lanes."""

from __future__ import annotations

import os
import signal
import sys
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cronce.client import reporting
from tests.support import arm64, go, postgres_server, roots
from tests.support import browser as browser_lane
from tests.support import dynamodb_local as dynamodb_local_server
from tests.support import pgbouncer as pgbouncer_server
from tests.support import ruby as ruby_lane
from tests.support import terraform as terraform_lane
from tests.support.lane_plugin import LanePlugin
from tests.support.lanes import Lane, prepare_pid_namespace, prepare_terminal
from tests.support.log_lines import MAKES, checked
from tests.support.redis_server import SAFE, RedisServer, one_node_cluster, redis_program, valkey_program
from tests.support.scratch import Scratch
from tests.support.spreading import spread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytest_plugins = ["cronce.testing.plugin"]

LANES = (
    Lane(name="browser", prepare=browser_lane.prepare),
    Lane(name="dynamodb-local", prepare=dynamodb_local_server.prepare),
    Lane(name="postgres", prepare=postgres_server.prepare),
    Lane(name="pgbouncer", prepare=pgbouncer_server.prepare),
    Lane(name="pid-namespace", prepare=prepare_pid_namespace),
    Lane(name="roots", prepare=roots.prepare),
    Lane(name="go", prepare=go.prepare),
    Lane(name="arm64", prepare=arm64.prepare),
    Lane(name="ruby", prepare=ruby_lane.prepare),
    Lane(name="terminal", prepare=prepare_terminal),
    Lane(name="terraform", prepare=terraform_lane.prepare),
    Lane(name="redis", prepare=redis_program),
    Lane(name="valkey", prepare=valkey_program),
)


def pytest_configure(config: pytest.Config) -> None:
    """Set the environment that all tests and their children share."""
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:  # started in the background; children inherit that
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    for name in [name for name in os.environ if name.startswith(("AWS_", "CRONCE_", "ECS_"))]:
        if name != "CRONCE_REQUIRE_LANES":
            del os.environ[name]
    os.environ |= {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "NO_PROXY": "127.0.0.1,localhost",
    }
    config.pluginmanager.register(LanePlugin(LANES), "lanes")
    if hasattr(config, "workerinput"):
        os.setpgid(0, 0)  # Ctrl-C is for the process that was started, which then ends its workers
    else:
        config.pluginmanager.register(Scratch(), "scratch")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give each worker tests that wait and tests that compute."""
    if hasattr(config, "workerinput"):
        items[:] = spread(items, lambda item: item.path.relative_to(config.rootpath))


@pytest.fixture(autouse=True)
def lines_agree(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every line that the test has this process log agrees with `docs/schemas/log-line.json`."""
    wrong: list[str] = []
    monkeypatch.setattr(reporting, MAKES, checked(getattr(reporting, MAKES), wrong))
    yield
    assert wrong == []


@pytest.fixture(scope="session")
def browser() -> browser_lane.Browser:
    """A real Chromium, and what drives it."""
    return browser_lane.prepare()


@pytest.fixture(scope="session")
def dynamodb_local() -> Iterator[str]:
    """The endpoint of a real DynamoDB Local, one per session (and worker)."""
    with dynamodb_local_server.DynamoDbLocal() as server:
        yield server.endpoint


@pytest.fixture(scope="session")
def postgres() -> Iterator[postgres_server.PostgresServer]:
    """A real PostgreSQL, one per session (and worker)."""
    with postgres_server.PostgresServer() as server:
        yield server


@pytest.fixture(scope="session")
def pgbouncer(postgres: postgres_server.PostgresServer) -> Iterator[pgbouncer_server.PgBouncer]:
    """A real PgBouncer before that PostgreSQL, in transaction mode."""
    with pgbouncer_server.PgBouncer(postgres) as server:
        yield server


@pytest.fixture(scope="session")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A real Redis that keeps every answered write, one per session (and worker)."""
    with RedisServer(redis_program(), tmp_path_factory.mktemp("redis"), *SAFE) as server:
        yield server


@pytest.fixture(scope="session")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A real Valkey that keeps every answered write, one per session (and worker)."""
    with RedisServer(valkey_program(), tmp_path_factory.mktemp("valkey"), *SAFE) as server:
        yield server


@pytest.fixture(scope="session")
def valkey_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A cluster of one Valkey."""
    folder = tmp_path_factory.mktemp("valkey-cluster")
    with RedisServer(valkey_program(), folder, *SAFE, "--cluster-enabled", "yes") as server:
        one_node_cluster(server)
        yield server


@pytest.fixture
def new_table_name() -> Callable[[], str]:
    """Makes table names that no other test uses."""
    return lambda: f"runs-{uuid.uuid4().hex[:12]}"
