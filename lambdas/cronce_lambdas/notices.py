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

SOURCE = "cronce"
"""The `source` of every event that is sent."""

RUN_MISSED = "Cronce Run Missed"
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


def missed(run: RunRecord, *, ledger: str) -> Notice:
    """Count a missed tick, and return its event.

    Args:
        run: Its row.
        ledger: The table's name.
    """
    report("missed", level="ERROR", job=run.job, period=run.period, ledger=ledger, reason=run.reason, error=run.error)
    scheduled_at = None if run.scheduled_at is None else period_of(run.scheduled_at)
    told = {"ledger": ledger, "job": run.job, "period": run.period, "scheduledTime": scheduled_at}
    told |= {"reason": run.reason, "error": run.error}
    return Notice(RUN_MISSED, {name: value for name, value in told.items() if value is not None})
