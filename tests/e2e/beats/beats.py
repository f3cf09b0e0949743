"""A Celery application whose beat asks for a task every second; nothing in it knows of cronce."""

from __future__ import annotations

import os

from celery import Celery  # type: ignore[import-not-found,import-untyped,unused-ignore]  # in its image alone

QUEUE = "celery"

app = Celery("beats", broker="sqs://")
app.conf.update(
    broker_transport_options={
        "region": os.environ["AWS_REGION"],
        "predefined_queues": {QUEUE: {"url": os.environ["BEATS_QUEUE"]}},
    },
    task_default_queue=QUEUE,
    beat_schedule={"every-second": {"task": "beats.beat", "schedule": 1.0}},
)
