"""The default event bus, on which the recorder and the watchdog put events."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from cronce.aws.sdk import Service
from cronce.client.reporting import report
from cronce.ecs import CallRefusedError, CallUnavailableError
from cronce.watch.notices import Notice

SOURCE = "cronce"
"""The `source` of every event that is sent."""

_MOST_ENTRIES = 10
"""The limit of one PutEvents call (EventBridge API Reference)."""


def _detail(notice: Notice) -> str:
    """What the event says, as JSON: docs/events.schema.json."""
    from cronce.operate.event_text import cause_of, text_for_people  # noqa: PLC0415  # most invocations send none

    cause = cause_of(notice)
    return json.dumps(notice.detail | {"cause": cause, "text": text_for_people(notice, cause)})


class EventBus:
    """The default event bus."""

    def __init__(self, client: Any = None) -> None:  # noqa: ANN401  # a boto client, made at run time
        self._events = Service("events", client=client)

    def put(self, notices: Sequence[Notice]) -> None:
        """Send the events. A failure is reported and not retried: the ledger and the metric have the facts too."""
        for first in range(0, len(notices), _MOST_ENTRIES):
            batch = notices[first : first + _MOST_ENTRIES]
            entries = [{"Source": SOURCE, "DetailType": each.detail_type, "Detail": _detail(each)} for each in batch]
            try:
                answer = self._events.call("put_events", f"{len(entries)} events", Entries=entries)
            except (CallUnavailableError, CallRefusedError) as error:
                report("event_not_sent", level="ERROR", count=len(entries), error=str(error))
                continue
            # Status 200 does not mean that every event was sent.
            if failed := [entry for entry in answer.get("Entries", ()) if entry.get("ErrorCode")]:
                told = f"{failed[0]['ErrorCode']}: {failed[0].get('ErrorMessage', '')}"
                report("event_not_sent", level="ERROR", count=len(failed), error=told)
