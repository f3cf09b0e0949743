"""Celery beat with RedBeat, and workers that acknowledge late: what the documents of Celery advise against lost tasks.

A task gets no nominal time. The time of its first delivery, in milliseconds, takes its place.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from celery import Celery
from story import INTERVAL, since_boot, work

URL = os.environ["STORY_URL"]
MESSAGES = Path(os.environ["STORY_LOG"] + ".messages")
app = Celery("by_celery", broker=URL)
app.conf.update(
    timezone="UTC",
    redbeat_redis_url=URL,
    redbeat_lock_timeout=5,
    beat_max_loop_interval=1,
    broker_connection_retry_on_startup=True,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    broker_transport_options={"visibility_timeout": 10},
    worker_prefetch_multiplier=1,
    beat_schedule={"tick": {"task": "by_celery.tick", "schedule": float(INTERVAL)}},
)


@app.task(name="by_celery.tick", bind=True)
def tick(self: Any) -> None:
    """Do the work."""
    MESSAGES.mkdir(exist_ok=True)
    first = MESSAGES / self.request.id
    with suppress(FileExistsError), first.open("x") as file:
        file.write(str(int(since_boot() * 1000)))
    work(int(first.read_text() or 0))
