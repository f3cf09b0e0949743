"""A job that is due every hour, for the tests of the watchdog."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.lambdas.events import SETTINGS, World
from tests.support.cloud import T0


def hourly(**changes: Any) -> World:  # noqa: ANN401
    """A world with a job that is due every hour and was created just before T0."""
    world = World(policy=changes.pop("policy", None), settings=changes.pop("settings", SETTINGS))
    just_before = T0 - timedelta(minutes=1)
    made = {"CreationDate": just_before, "LastModificationDate": just_before}
    world.define(**{"policy": world.policy, "ScheduleExpression": "cron(0 * * * ? *)"} | made | changes)
    return world
