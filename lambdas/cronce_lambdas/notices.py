"""Notices of the recorder and the watchdog: a metric for alarms, and an event on the default bus."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cronce.aws.sdk import Service
from cronce.client.reporting import report
from cronce.ecs import CallRefusedError, CallUnavailableError, JobDefinition
from cronce.protocol.records import RunRecord
from cronce.vocabulary.names import period_of
from cronce.vocabulary.payloads import shortened
from cronce.vocabulary.states import Reason
from cronce_lambdas.due_ticks import Due
from cronce_lambdas.watchdog_memory import Timing

SOURCE = "cronce"
"""The `source` of every event that is sent."""

RUN_MISSED = "Cronce Run Missed"
RUN_HELD = "Cronce Run Held"
RUN_GIVEN_UP = "Cronce Run Given Up"
RUN_UNCLAIMED = "Cronce Run Unclaimed"
TICKS_NOT_JUDGED = "Cronce Ticks Not Judged"
SCHEDULE_CHANGED = "Cronce Schedule Changed"
SCHEDULE_GONE = "Cronce Schedule Gone"
PINNED_COUNT_WRONG = "Cronce Pinned Count Wrong"

_MOST_ENTRIES = 10
"""The limit of one PutEvents call (EventBridge API Reference)."""


@dataclass(frozen=True, slots=True)
class Notice:
    """An event for the default bus."""

    detail_type: str
    detail: dict[str, Any]


class Bus:
    """The default event bus."""

    def __init__(self, client: Any = None) -> None:  # noqa: ANN401  # a boto client, made at run time
        self._events = Service("events", client=client)

    def put(self, notices: Sequence[Notice]) -> None:
        """Send the events. A failure is reported and not retried: the ledger and the metric have the facts too."""
        for first in range(0, len(notices), _MOST_ENTRIES):
            batch = notices[first : first + _MOST_ENTRIES]
            entries = [
                {"Source": SOURCE, "DetailType": each.detail_type, "Detail": json.dumps(each.detail)} for each in batch
            ]
            try:
                answer = self._events.call("put_events", f"{len(entries)} events", Entries=entries)
            except (CallUnavailableError, CallRefusedError) as error:
                report("event_not_sent", level="ERROR", count=len(entries), error=str(error))
                continue
            # Status 200 does not mean that every event was sent.
            if failed := [entry for entry in answer.get("Entries", ()) if entry.get("ErrorCode")]:
                told = f"{failed[0]['ErrorCode']}: {failed[0].get('ErrorMessage', '')}"
                report("event_not_sent", level="ERROR", count=len(failed), error=told)


def missed(run: RunRecord, *, ledger: str, counted: bool = False) -> Notice:
    """Count a missed tick, and return its event.

    Args:
        run: Its row.
        ledger: The table's name.
        counted: True if the tick was counted before, and only its cause is new.
    """
    event = "missed_cause" if counted else "missed"
    report(event, level="ERROR", job=run.job, period=run.period, ledger=ledger, reason=run.reason, error=run.error)
    return Notice(RUN_MISSED, _about(run, ledger))


def left_to_a_person(run: RunRecord, why: str, *, held: bool, ledger: str) -> Notice:
    """Count a run that no machine starts again, and return its event.

    Args:
        run: Its row.
        why: Why no machine starts it.
        held: True if that is so because of `on_lost=HOLD`.
        ledger: The table's name.
    """
    if run.reason == Reason.UNCLAIMED:
        event, detail_type = "unclaimed", RUN_UNCLAIMED
    elif held:
        event, detail_type = "run_held", RUN_HELD
    else:
        event, detail_type = "run_given_up", RUN_GIVEN_UP
    report(event, level="ERROR", job=run.job, period=run.period, ledger=ledger, owner=run.owner, why=why)
    return Notice(detail_type, _about(run, ledger) | {"why": why, "attempt": run.attempt})


def not_judged(job: str, todo: Due, *, ledger: str) -> Notice:
    """Count ticks that are too many, or older than the ledger, to be judged, and return their event.

    Args:
        job: The job.
        todo: With a number of ticks left out.
        ledger: The table's name.
    """
    before = period_of(todo.ticks[0]) if todo.ticks else None
    report("ticks_not_judged", level="ERROR", job=job, ledger=ledger, count=todo.left_out, before=before)
    return Notice(TICKS_NOT_JUDGED, {"ledger": ledger, "job": job, "count": todo.left_out, "before": before})


def schedule_changed(job: JobDefinition, before: Timing, *, ledger: str) -> Notice:
    """Report that the schedule was moved, and return the event, with the ticks around the change.

    Args:
        job: The job as it is now.
        before: When it was due before.
        ledger: The table's name.
    """
    last, following = before.last_tick(job.modified_at), Timing.of(job).next_tick(job.modified_at)
    old, new = f"{before.expression} {before.timezone}", f"{job.expression} {job.timezone}"
    last_tick, next_tick = (None if tick is None else period_of(tick) for tick in (last, following))
    report(
        "schedule_changed", job=job.job, ledger=ledger, before=old, after=new, last_tick=last_tick, next_tick=next_tick
    )
    about = {"before": old, "after": new, "lastTick": last_tick, "nextTick": next_tick}
    return Notice(SCHEDULE_CHANGED, {"ledger": ledger, "job": job.job} | about)


def schedule_gone(job: str | None, schedule: str, *, ledger: str) -> Notice:
    """Count a job whose schedule does not exist any more, and return its event.

    Args:
        job: The job; None if an earlier version did not remember it.
        schedule: Name of the schedule.
        ledger: The table's name.
    """
    report("schedule_gone", level="ERROR", job=job, schedule=schedule, ledger=ledger)
    return Notice(SCHEDULE_GONE, {"ledger": ledger, "job": job, "schedule": schedule})


def ignored(why: str, job: str, period: str, source: str) -> dict[str, Any]:
    """Count a hint that changes nothing, and return the answer for it. Its texts are no dimensions of the metric.

    Args:
        why: Why it is ignored.
        job: The job that it names.
        period: The period that it names.
        source: The task or schedule that it is about.
    """
    report("event_ignored", level="ERROR", why=why, hint=shortened(f"{job!r} {period!r} {source!r}", 500))
    return {"ignored": why}


def _about(run: RunRecord, ledger: str) -> dict[str, Any]:
    scheduled_at = None if run.scheduled_at is None else period_of(run.scheduled_at)
    about = {"ledger": ledger, "job": run.job, "period": run.period, "scheduledTime": scheduled_at}
    about |= {"reason": run.reason, "error": run.error}
    return {name: value for name, value in about.items() if value is not None}
