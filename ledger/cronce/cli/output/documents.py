"""The JSON documents that commands print with `--json`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from cronce.cli.actions.fill import Backfill, Gap
from cronce.cli.actions.find_jobs import KnownJob
from cronce.cli.actions.ticks import local_of
from cronce.protocol.records import PastAttempt, RunRecord
from cronce.stores.codec import encode, encode_time
from cronce.vocabulary.names import period_of
from cronce.vocabulary.states import Status
from cronce.vocabulary.values import field_names

if TYPE_CHECKING:
    from cronce.ecs import WaitingTask
    from cronce.schedule import Preview


def run_document(run: RunRecord) -> dict[str, Any]:
    """The run with every attribute of its row by name, null where it has no value; times are ISO 8601 in UTC.

    That includes `expires_at`, which the row stores in epoch seconds for DynamoDB. A success has the exit code 0,
    which its row does not store.
    """
    item = encode(run)
    if run.status is Status.SUCCEEDED:
        item.setdefault("exit_code", 0)
    document = dict.fromkeys(name for name in field_names(RunRecord) if name != "extra") | item
    document["attempts"] = [dict.fromkeys(field_names(PastAttempt)) | past for past in item["attempts"]]
    if run.expires_at is not None:
        document["expires_at"] = encode_time(run.expires_at)
    return document


def tick_document(tick: Preview, period: str) -> dict[str, str]:
    """The period of the tick's run, its local time, and how daylight saving affects it."""
    return {"period": period, "local": tick.local.isoformat(), "note": tick.note}


def waiting_document(task: WaitingTask) -> dict[str, str]:
    """A task that a machine has arranged."""
    return {"period": task.period, "trigger": task.trigger, "starts_at": period_of(task.starts_at)}


def backfill_document(
    job: str,
    span: tuple[datetime, datetime],
    gaps: Sequence[Gap],
    timezone: str,
    filling: Backfill | None,
) -> dict[str, Any]:
    """Every tick of the span with its state before and, if the backfill ran, its outcome."""
    ticks = [
        {
            "period": gap.period,
            "local": local_of(gap.tick, timezone).isoformat(),
            "was": gap.state,
            "result": filling and filling.result_of(gap),
        }
        for gap in gaps
    ]
    counts = Counter(str(filling.result_of(gap) if filling else gap.state) for gap in gaps)
    since, until = (period_of(at) for at in span)
    return {"job": job, "from": since, "to": until, "ticks": ticks, "counts": counts}


def job_document(job: KnownJob) -> dict[str, str | None]:
    """The job with its schedule; null where it has none."""
    definition = job.definition
    return {
        "job": job.name,
        "schedule": definition.expression if definition else None,
        "timezone": definition.timezone if definition else None,
        "state": job.state,
    }


def as_json(document: object) -> str:
    """The document as ASCII text, so that no character in it can control a terminal."""
    return json.dumps(document, indent=2, default=str)
