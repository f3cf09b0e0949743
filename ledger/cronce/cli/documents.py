"""Runs as JSON documents, for `--json`: every attribute of the table under its own name."""

from __future__ import annotations

import json
from typing import Any

from cronce.protocol.records import PastAttempt, RunRecord
from cronce.stores.codec import encode, encode_time
from cronce.values import field_names


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


def as_json(document: object) -> str:
    """The document as text, in ASCII: nothing in it can act on a terminal."""
    return json.dumps(document, indent=2, default=str)
