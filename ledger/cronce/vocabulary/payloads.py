"""What a job may store beside its run: a result, a checkpoint, an error's text."""

from __future__ import annotations

import json

from cronce.vocabulary.errors import InputInvalidError

MAX_TEXT_BYTES = 4096
MAX_JSON_BYTES = 32 * 1024
"""Far below DynamoDB's 400 KB an item, because every heartbeat writes the row again."""


def shortened(text: str, most: int = MAX_TEXT_BYTES) -> str:
    """The text as valid UTF-8 of at most `most` bytes, cut between characters."""
    data = text.encode("utf-8", "replace")
    return data[:most].decode("utf-8", "ignore") if len(data) > most else data.decode()


def encode_result(value: object) -> tuple[str | None, str | None]:
    """The result as JSON text, and a flag where it could not be stored whole.

    A result never costs the success it belongs to: one that is too large is cut
    (`TRUNCATED`), one that is not JSON is left out (`NOT_JSON`).
    """
    if value is None:
        return None, None
    try:
        text = _json(value)
    except (TypeError, ValueError, RecursionError):
        return None, "NOT_JSON"
    cut = shortened(text, MAX_JSON_BYTES)
    return (text, None) if cut == text else (cut, "TRUNCATED")


def encode_checkpoint(value: object) -> str:
    """The checkpoint as JSON text.

    Raises:
        InputInvalidError: It is not JSON, or too large; a cursor that came back cut would be wrong.
    """
    allowed = f"a small cursor: JSON (no NaN, no None alone), at most {MAX_JSON_BYTES} bytes"
    try:
        text = _json(value)
    except (TypeError, ValueError, RecursionError):
        raise InputInvalidError("checkpoint", value, allowed) from None
    if value is None or len(text) > MAX_JSON_BYTES:
        raise InputInvalidError("checkpoint", value, allowed)
    return text


def decode_json(text: str | None) -> object:
    """The value that was stored, or the text itself where it is not whole JSON."""
    if text is None:
        return None
    try:
        value: object = json.loads(text)
    except ValueError:
        return text
    return value


def _json(value: object) -> str:
    # ASCII: then a byte is a character, and a lone surrogate survives as an escape.
    return json.dumps(value, allow_nan=False, separators=(",", ":"))
