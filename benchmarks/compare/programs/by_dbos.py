"""DBOS: a scheduled workflow with one step."""

from __future__ import annotations

import os
import threading
from datetime import datetime
from typing import Any

from dbos import DBOS
from story import INTERVAL, work

DBOS(
    config={
        "name": "story",
        "system_database_url": os.environ["STORY_URL"],
        "log_level": "WARNING",
        "application_version": "1",
        "executor_id": os.environ["STORY_PROCESS"],
    }
)


@DBOS.step()
def digest(tick: int) -> None:
    """Do the work."""
    work(tick)


@DBOS.workflow()
def scheduled(scheduled_time: datetime, context: Any) -> None:  # noqa: ARG001  # the library's signature
    """Start the step."""
    digest(int(scheduled_time.timestamp()))


DBOS.launch()
SCHEDULE = {
    "schedule_name": "tick",
    "workflow_fn": scheduled,
    "schedule": f"*/{INTERVAL} * * * * *",
    "context": None,
}
DBOS.apply_schedules([SCHEDULE])
threading.Event().wait()
