"""A stack with a hundred jobs deploys."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from tests.e2e import images
from tests.e2e.aws_parts.schedules import Schedules
from tests.e2e.names import HUNDRED, IMAGE

if TYPE_CHECKING:
    import pytest

    from tests.e2e.emulator import Emulator


def test_a_hundred_jobs_in_one_stack_deploy(aws: Emulator, capsys: pytest.CaptureFixture[str]) -> None:
    """CloudFormation takes them, and EventBridge Scheduler has a schedule for each."""
    began = time.monotonic()
    app = f"{sys.executable} -m tests.e2e.stack {HUNDRED}"
    outputs = aws.deploy(HUNDRED, app=app, env={IMAGE: images.DIGEST})
    seconds = time.monotonic() - began
    schedules = Schedules(aws, group=outputs["ScheduleGroupName"]).names()
    with capsys.disabled():
        sys.stderr.write(f"e2e: 100 jobs deployed in {seconds:.1f} s, synth included\n")
    assert len(schedules) == 100
    assert {name.rpartition("-")[0] for name in schedules} == {f"job-{number}" for number in range(100)}
