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
from cronce.operate.overview import Overview
from cronce.protocol.records import PastAttempt, Pause, RunRecord, UnreadableRow
from cronce.stores.codec import encode, encode_time
from cronce.vocabulary.names import period_of
from cronce.vocabulary.states import Status
from cronce.vocabulary.values import field_names

if TYPE_CHECKING:
    from cronce.ecs import WaitingTask
    from cronce.operate.checks import Review
    from cronce.operate.diagnosis import Diagnosis, Explanation
    from cronce.operate.facts import Facts
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


def pause_document(pause: Pause) -> dict[str, str | None]:
    """The pause of a job; times are ISO 8601 in UTC."""
    until = None if pause.until is None else encode_time(pause.until)
    return {"at": encode_time(pause.at), "by": pause.by, "why": pause.why, "until": until}


def job_document(job: KnownJob, seen: Overview) -> dict[str, Any]:
    """The job with its schedule, null where it has none, and how it is doing; times are ISO 8601 in UTC."""
    definition, newest = job.definition, seen.newest
    return {
        "job": job.name,
        "schedule": definition.expression if definition else None,
        "timezone": definition.timezone if definition else None,
        "state": job.state,
        "paused": seen.pause and pause_document(seen.pause),
        "last": None if newest is None else _newest_document(newest),
        "next": _time_text(seen.next_at),
        "overdue_since": _time_text(seen.overdue_since),
        "late_by": None if seen.late_by is None else seen.late_by.total_seconds(),
        "ended": seen.ended,
        "succeeded": seen.succeeded,
        "succeeded_at": _time_text(seen.succeeded_at),
        "problem": seen.problem,
    }


def _newest_document(newest: RunRecord | UnreadableRow) -> dict[str, Any]:
    if isinstance(newest, UnreadableRow):
        return {"period": newest.period, "status": "UNREADABLE", "reason": newest.problem, "claimed_at": None}
    claimed_at = _time_text(newest.claimed_at)
    return {"period": newest.period, "status": newest.status, "reason": newest.reason, "claimed_at": claimed_at}


def _time_text(at: datetime | None) -> str | None:
    return None if at is None else encode_time(at)


def explanation_document(facts: Facts, explanation: Explanation) -> dict[str, Any]:
    """Why a run is as it is: the cause first, then what else matters, and what could not be found out."""
    row = facts.row
    return {
        "job": facts.job,
        "period": facts.period,
        "status": row.status if isinstance(row, RunRecord) else None,
        "cause": diagnosis_document(explanation.cause),
        "also": [diagnosis_document(each) for each in explanation.also],
        "not_known": [str(each) for each in explanation.not_known],
    }


def diagnosis_document(finding: Diagnosis) -> dict[str, Any]:
    """A finding with its evidence and its next steps."""
    return {
        "code": finding.code,
        "sentence": finding.sentence,
        "more": finding.more,
        "evidence": [{"what": each.what, "value": each.value} for each in finding.evidence],
        "next": [{"text": each.text, "command": each.command} for each in finding.steps],
    }


def check_document(check: Review) -> dict[str, str | None]:
    """A check of `cronce doctor`."""
    return {
        "name": check.name,
        "state": check.state,
        "sentence": check.sentence,
        "why": check.why,
        "next": check.command,
    }


def as_json(document: object) -> str:
    """The document as ASCII text, so that no character in it can control a terminal."""
    return json.dumps(document, indent=2, default=str)
