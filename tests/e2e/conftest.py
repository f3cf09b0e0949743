"""The lane `docker`: one engine, one emulated AWS and one deployed stack for all scenarios.

It takes minutes and starts a container engine, so it runs only on request: `make e2e`, or a path below
`tests/e2e` given to pytest.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.e2e import images
from tests.e2e.emulator import ADDRESS, Emulator
from tests.e2e.engine import Engine, prepare
from tests.e2e.names import BEATS_IMAGE, IMAGE, STACK
from tests.e2e.steps import steps_taken
from tests.e2e.world import World
from tests.support.lane_plugin import LanePlugin
from tests.support.lanes import Lane

if TYPE_CHECKING:
    from collections.abc import Iterator

_HERE = Path(__file__).parent


@pytest.hookimpl(trylast=True)  # after the environment of all tests is set
def pytest_configure(config: pytest.Config) -> None:
    """Register the lane if it was requested; the fixture `docker` puts a test into it."""
    if not _asked_for(config):
        return
    os.environ["NO_PROXY"] += f",{ADDRESS}"
    config.pluginmanager.register(LanePlugin((Lane(name="docker", prepare=prepare),)), "lane-docker")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Collect the scenarios only if a path here was given."""
    return None if _asked_for(config) or _HERE not in collection_path.parents else True


def _asked_for(config: pytest.Config) -> bool:
    return any(_HERE in (path := Path(given.split("::")[0]).resolve(), *path.parents) for given in config.args)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how long each step took."""
    for what, seconds in steps_taken():
        terminalreporter.write_line(f"{seconds:8.1f} s  {what}")


@pytest.fixture(scope="session")
def docker() -> Iterator[Engine]:
    """A Docker engine with the images."""
    with Engine() as engine:
        images.build_base(engine)
        images.build_emulator(engine)
        images.build_digest(engine)
        images.build_beats(engine)
        images.build_any_images(engine)
        yield engine


@pytest.fixture(scope="session")
def aws(docker: Engine) -> Iterator[Emulator]:
    """The emulated AWS, ready for CDK; the scenarios' own clients use it too."""
    with Emulator(docker) as aws, pytest.MonkeyPatch.context() as here:
        for name, value in aws.environment.items():
            here.setenv(name, value)
        aws.bootstrap()
        yield aws


@pytest.fixture(scope="session")
def world(docker: Engine, aws: Emulator) -> Iterator[World]:
    """The deployed stack in the emulated AWS."""
    app = f"{sys.executable} -m tests.e2e.stack {STACK}"
    outputs = aws.deploy(STACK, app=app, env={IMAGE: images.DIGEST, BEATS_IMAGE: images.BEATS})
    with World(aws, docker, outputs) as world:
        yield world
        assert not world.denials(), "a role lacks something that the project asked for"
