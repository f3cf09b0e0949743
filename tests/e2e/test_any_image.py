"""Digests in Ruby, in Node.js and as a static binary: unmodified images without Python, under the same guarantees."""

from __future__ import annotations

import re
import shlex
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from cronce import Reason, Status, Trigger
from cronce.vocabulary.version import VERSION
from tests.e2e.names import GUARD_IMAGE, LANGUAGES_IMAGE, WITHOUT_PYTHON
from tests.e2e.steps import ROOT, StepFailedError

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from tests.e2e.world import World

CUSTOMERS = 3_100
BATCH = 100

pytestmark = pytest.mark.usefixtures("docker")


def mails(world: World, tick: datetime, *tasks: str) -> list[str]:
    """The mails of the period that the tasks printed."""
    period = f"{tick:%Y-%m-%dT%H:%M:%SZ}"
    return [line for task in tasks for line in world.printed(task) if line.endswith(f"your digest of {period}.")]


def test_the_image_has_no_python(world: World) -> None:
    """Nor did anybody put cronce into it."""
    for program in ("python3", "cronce"):
        with pytest.raises(StepFailedError, match="executable file not found"):
            world.engine.docker("run", "--rm", "--network=none", "--entrypoint", program, LANGUAGES_IMAGE, "--version")


def test_docker_alone_does_what_the_page_says(world: World, tmp_path: Path) -> None:
    """The commands of docs/any-image.md, with a line of Ruby for Rails: the second start is refused."""
    page = (ROOT / "docs" / "any-image.md").read_text().replace("\\\n", "")
    fill, start = re.findall(r"^docker (run .*)$", page, re.MULTILINE)
    volume = f"cronce-e2e-{uuid.uuid4().hex}"
    here = {
        "cronce": GUARD_IMAGE,
        "shop:1": LANGUAGES_IMAGE,
        "cronce:/cronce": f"{volume}:/cronce",
        "cronce:/cronce:ro": f"{volume}:/cronce:ro",
        "$PWD/runs:/runs": f"{tmp_path}/runs:/runs",
    }

    def typed(line: str, *work: str) -> str:
        words = shlex.split(line, comments=True)
        words = words[: words.index("bundle")] if work else words
        return world.engine.docker("run", "--network=none", *(here.get(word, word) for word in words[1:]), *work)

    assert typed(fill) == f"cronce {VERSION}\n"
    assert "\n42\n" in typed(start, "ruby", "-e", "puts 6 * 7")
    again = typed(start, "ruby", "-e", "puts 6 * 7")
    assert "ALREADY_SUCCEEDED" in again
    assert "\n42\n" not in again


@pytest.mark.parametrize("job", WITHOUT_PYTHON)
def test_a_tick_that_is_delivered_four_times_at_once_is_one_digest(world: World, job: str) -> None:
    """Four tasks start, each fills its volume; one prints every mail, three are refused."""
    tick = world.new_tick()
    with ThreadPoolExecutor(4) as deliveries:
        tasks = list(deliveries.map(lambda _: world.deliver(job, tick), range(4)))
    stopped = world.stopped(tasks)
    assert [container["exitCode"] for task in stopped for container in task["containers"]] == [0] * 8
    events = sorted([line["cronce.event"] for line in world.log(task)] for task in tasks)
    assert events == [["claimed", "succeeded"], ["refused"], ["refused"], ["refused"]]
    world.eventually(lambda: len(mails(world, tick, *tasks)) == CUSTOMERS, "every mail")
    assert len({*mails(world, tick, *tasks)}) == CUSTOMERS
    run = world.settled(job, tick)
    assert (run.status, run.attempt, run.checkpoint) == (Status.SUCCEEDED, 1, str(CUSTOMERS))


@pytest.mark.parametrize("job", WITHOUT_PYTHON)
def test_a_killed_container_is_resumed_and_a_third_start_is_refused(world: World, job: str) -> None:
    """The next attempt begins at the last checkpoint: at most one batch is printed twice."""
    tick = world.new_tick()
    killed = world.deliver(job, tick)
    world.working(job, tick, sent=2 * BATCH)
    world.kill(killed)
    failed = world.attempt(job, tick, 1)
    assert (failed.status, failed.reason, failed.exit_code) == (Status.FAILED, Reason.TASK_STOPPED, 137)

    run = world.done(job, tick)
    assert (run.attempt, run.trigger) == (2, Trigger.RETRY)
    [relaunch] = world.relaunches(job, tick)
    world.stopped([killed, *relaunch.tasks])
    world.eventually(
        lambda: len({*mails(world, tick, killed, *relaunch.tasks)}) == CUSTOMERS, "every mail of both attempts"
    )
    printed = mails(world, tick, killed, *relaunch.tasks)
    assert len(printed) - CUSTOMERS <= BATCH

    third = world.deliver(job, tick)
    world.stopped([third])
    assert ([line["cronce.event"] for line in world.log(third)], mails(world, tick, third)) == (["refused"], [])
