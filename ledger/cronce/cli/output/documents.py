"""What commands print with `--json`: a run has every attribute of the table under its own name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cronce.protocol.records import PastAttempt, RunRecord
from cronce.stores.codec import encode, encode_time
from cronce.vocabulary.names import period_of
from cronce.vocabulary.values import field_names

if TYPE_CHECKING:
    from cronce.schedule import Preview


def run_document(run: RunRecord) -> dict[str, Any]:
    """The run with every attribute, null where it has none; all times are ISO 8601 in UTC.

    So `expires_at` is a time too, although the table has it in epoch seconds for DynamoDB.
    """
    item = encode(run)
    document = dict.fromkeys(name for name in field_names(RunRecord) if name != "extra") | item
    document["attempts"] = [dict.fromkeys(field_names(PastAttempt)) | past for past in item["attempts"]]
    if run.expires_at is not None:
        document["expires_at"] = encode_time(run.expires_at)
    return document


def tick_document(tick: Preview) -> dict[str, str]:
    """The tick in UTC, spelled as the period of its run; on its zone's clocks; and what is odd about it."""
    return {"utc": period_of(tick.utc), "local": tick.local.isoformat(), "note": tick.note}


def as_json(document: object) -> str:
    """The document as text, in ASCII: nothing in it can act on a terminal."""
    return json.dumps(document, indent=2, default=str)
