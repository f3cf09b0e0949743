"""EventBridge invoking the functions of its rules: for an event that a pattern matches, and each minute."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tests.e2e.emulator import ACCOUNT, REGION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.e2e.emulator import Emulator


class Rules:
    """The rules of the default bus. Functions are invoked one after the other, synchronously."""

    def __init__(self, aws: Emulator) -> None:
        self._events, self._lambda = aws.client("events"), aws.client("lambda")

    def close(self) -> None:
        """End the connections."""
        self._events.close()
        self._lambda.close()

    def tell(self, source: str, kind: str, detail: Mapping[str, Any], *, about: str) -> list[object]:
        """Put the event on the bus; return the answers of the functions whose rules match it."""
        text = json.dumps(_event(source, kind, detail, about), default=datetime.isoformat)
        matching = [
            rule["Name"]
            for rule in self._all()
            if "EventPattern" in rule
            and self._events.test_event_pattern(EventPattern=rule["EventPattern"], Event=text)["Result"]
        ]
        return [self._invoke(target, text) for rule in matching for target in self._targets(rule)]

    def pass_a_minute(self, function: str) -> list[object]:
        """Let a minute pass; return the function's answer for each rule with a rate of one minute."""
        due = [rule for rule in self._all() if rule.get("ScheduleExpression") == "rate(1 minute)"]
        return [
            self._invoke(target, json.dumps(_event("aws.events", "Scheduled Event", {}, rule["Arn"])))
            for rule in due
            for target in self._targets(rule["Name"])
            if target.endswith(f":{function}")
        ]

    def _all(self) -> list[dict[str, Any]]:
        rules: list[dict[str, Any]] = self._events.list_rules()["Rules"]
        return [rule for rule in rules if rule["State"] == "ENABLED"]

    def _targets(self, rule: str) -> list[str]:
        """The ARNs of the rule's functions; the emulator itself serves targets that are queues."""
        targets = self._events.list_targets_by_rule(Rule=rule)["Targets"]
        return [target["Arn"] for target in targets if ":function:" in target["Arn"]]

    def _invoke(self, function: str, event: str) -> object:
        answer = self._lambda.invoke(FunctionName=function, Payload=event.encode())
        payload = json.loads(answer["Payload"].read())
        assert "FunctionError" not in answer, payload
        return payload


def _event(source: str, kind: str, detail: Mapping[str, Any], about: str) -> dict[str, object]:
    """The shape of the EventBridge User Guide, "Events"."""
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": kind,
        "source": source,
        "account": ACCOUNT,
        "time": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": REGION,
        "resources": [about],
        "detail": detail,
    }
