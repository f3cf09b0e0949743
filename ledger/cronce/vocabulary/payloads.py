"""What a job may store with its run: a result, a checkpoint, the text of an error."""

from __future__ import annotations

from cronce.vocabulary.errors import InputInvalidError

MAX_TEXT_BYTES = 4096
MAX_JSON_BYTES = 32 * 1024
"""Far below DynamoDB's limit of 400 KB per item, because every heartbeat rewrites the row."""


def shortened(text: str, most: int = MAX_TEXT_BYTES) -> str:
    """The text as valid UTF-8 of at most `most` bytes, cut between characters."""
    data = text.encode("utf-8", "replace")
    return data[:most].decode("utf-8", "ignore") if len(data) > most else data.decode()


def encode_result(value: object) -> tuple[str | None, str | None]:
    """The result as JSON text, and a flag if it is not stored in full.

    A result that cannot be stored does not turn a success into a failure: one that is too large is truncated
    (`TRUNCATED`), one that is not JSON is omitted (`NOT_JSON`).
    """
    if value is None:
        return None, None
    try:
        text = _json(value)
    except Exception:  # noqa: BLE001  # a foreign class may raise anything; the work is done all the same
        return None, "NOT_JSON"
    cut = shortened(text, MAX_JSON_BYTES)
    return (text, None) if cut == text else (cut, "TRUNCATED")


def encode_checkpoint(value: object) -> str:
    """The checkpoint as JSON text.

    Raises:
        InputInvalidError: It is not JSON, or too large; a truncated cursor would be wrong.
    """
    allowed = f"a small cursor: JSON (no NaN, no None alone), at most {MAX_JSON_BYTES} bytes"
    if value is None:
        raise InputInvalidError("checkpoint", value, allowed)
    return _small_json(value, "checkpoint", allowed)


def encode_step(name: str, value: object) -> str:
    """The result of a step as JSON text.

    Raises:
        InputInvalidError: It is not JSON, or too large; a truncated result would be wrong.
    """
    allowed = f"a small value: JSON (no NaN), at most {MAX_JSON_BYTES} bytes; store what is larger elsewhere"
    return _small_json(value, f"result of step {name!r}", allowed)


def encode_checkpoint_text(text: str) -> str:
    """The checkpoint of a command as JSON text: the text's own JSON if it is that, else the text as a string.

    Raises:
        InputInvalidError: It is too large.
    """
    value = decode_json(text)
    try:
        return encode_checkpoint(value)
    except InputInvalidError:
        if isinstance(value, str):
            raise
        return encode_checkpoint(text)  # null, NaN and infinities in any depth, nesting without end


def decode_json(text: str | None) -> object:
    """The value that was stored, or the text itself if it is not complete JSON."""
    if text is None:
        return None
    import json  # noqa: PLC0415  # with the store; `from cronce import Ledger` alone has no use for it

    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value


def _small_json(value: object, what: str, allowed: str) -> str:
    try:
        text = _json(value)
    except Exception:  # noqa: BLE001  # a foreign class may raise anything
        raise InputInvalidError(what, value, allowed) from None
    if len(text) > MAX_JSON_BYTES:
        raise InputInvalidError(what, value, allowed)
    return text


def _json(value: object) -> str:
    import json  # noqa: PLC0415  # same

    # ASCII only: one byte per character, and a lone surrogate is kept as an escape.
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def described(error: object) -> str:
    """The exception's type and message, whatever it raises when it is asked for them."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001  # a foreign class may raise anything; the failure is recorded all the same
        return type(error).__name__
