"""What the rows of a DynamoDB table are, beyond what every store must keep."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from cronce import Claim
from cronce.protocol.records import SLOT_KEY, RunRecord, run_key
from cronce.protocol.transitions import Event
from cronce.testing.records import PERIOD, T0
from cronce.testing.records import run as any_run
from cronce.vocabulary.errors import RecordUnreadableError
from tests.conformance.stores import DYNAMO_STORES, TABLE

if TYPE_CHECKING:
    from tests.conformance.stores import DynamoLab

RUN_KEY = run_key(PERIOD)
pytestmark = pytest.mark.parametrize("lab", DYNAMO_STORES, indirect=True)


def test_unknown_attributes_of_odd_kinds_survive(lab: DynamoLab) -> None:
    """DynamoDB has kinds that no other store has; they are written back as they came."""
    client = lab.client
    odd: dict[str, Any] = {
        "binary": {"B": b"\x00\xff"},
        "null": {"NULL": True},
        "number": {"N": "1.50"},
        "huge": {"N": "1E+100"},
        "strings": {"SS": ["a", "b"]},
        "numbers": {"NS": ["1", "2.5"]},
        "binaries": {"BS": [b"\x00"]},
        "nested": {"M": {"list": {"L": [{"B": b"x"}, {"NULL": True}, {"N": "0.1"}]}}},
    }
    key = {"job": {"S": lab.job}, "key": {"S": RUN_KEY}}
    client.put_item(TableName=TABLE, Item={**key, "status": {"S": "RUNNING"}, **odd})

    def standing() -> dict[str, Any]:
        item: dict[str, Any] = dict(client.get_item(TableName=TABLE, Key=key, ConsistentRead=True)["Item"])
        return {name: {k: sorted(v) if k in {"SS", "NS"} else v for k, v in item[name].items()} for name in odd}

    before = standing()
    seen = lab.store.get(lab.job, RUN_KEY)
    assert isinstance(seen, RunRecord)
    assert lab.store.swap(seen.after(Event.RENEW), seen).written
    assert standing() == before
    # The refusal brings them back too, equal to the record that wrote them.
    assert lab.store.swap(seen.after(Event.RENEW), seen).current == seen.after(Event.RENEW)


@pytest.mark.parametrize("attributes", [{"schema": 99}, {"newest_at": "soon"}, {"mode": 7}, {"period": 7}], ids=str)
def test_the_refused_update_of_an_unreadable_slot_changes_nothing(lab: DynamoLab, attributes: dict[str, Any]) -> None:
    """Its counters are those that somebody wrote."""
    lab.put({"job": lab.job, "key": SLOT_KEY, "version": 1, "fence": 1} | attributes)
    with pytest.raises(RecordUnreadableError):
        lab.store.take(any_run(job=lab.job, scheduled_at=T0), T0)
    key = {"job": {"S": lab.job}, "key": {"S": SLOT_KEY}}
    item = lab.client.get_item(TableName=TABLE, Key=key, ConsistentRead=True)["Item"]
    assert (item["version"], item["fence"]) == ({"N": "1"}, {"N": "1"})


def test_a_row_reads_as_documented(lab: DynamoLab) -> None:
    """Times are ISO in UTC, the rest plain."""
    mine = lab.ledger().claim(lab.job, PERIOD, scheduled_at=datetime(2026, 11, 29, 6, tzinfo=UTC))
    assert isinstance(mine, Claim)
    mine.complete({"sent": 3})
    item = lab.client.get_item(TableName=TABLE, Key={"job": {"S": lab.job}, "key": {"S": RUN_KEY}})["Item"]
    assert item["status"] == {"S": "SUCCEEDED"}
    assert item["scheduled_at"] == {"S": "2026-11-29T06:00:00.000Z"}
    assert item["result"] == {"S": json.dumps({"sent": 3}, separators=(",", ":"))}
    assert item["version"] == {"N": "2"}
    assert set(item["expires_at"]) == {"N"}
