"""Notices of the recorder and the watchdog: a metric for alarms, and an event on the default bus."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cronce.aws.sdk import Service
from cronce.client.reporting import report
from cronce.ecs import CallRefusedError, CallUnavailableError
from cronce.protocol.records import RunRecord
from cronce.vocabulary.names import period_of
from cronce.vocabulary.payloads import shortened
from cronce.vocabulary.states import Reason

SOURCE = "cronce"
"""The `source` of every event that is sent."""

RUN_MISSED = "Cronce Run Missed"
RUN_HELD = "Cronce Run Held"
RUN_GIVEN_UP = "Cronce Run Given Up"
RUN_UNCLAIMED = "Cronce Run Unclaimed"
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
