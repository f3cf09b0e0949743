"""Record <-> item: the plain form in which every store keeps a row.

An item maps attribute names to str, int, or (for `attempts`) a list of such dicts. Times are ISO 8601 in UTC with
milliseconds, `expires_at` is in epoch seconds, and None is omitted. Effects and steps are one text each, with a
line per key: the key, a tab, and its state or result. A person can read it in the console.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from cronce.protocol.records import (
    EFFECT_PREFIX,
    GROUP_SCHEMA,
    PAUSED_SCHEMA,
    RUN_PREFIX,
    SCHEMA,
    SLOT_KEY,
    EffectsRecord,
    GroupSlotRecord,
    PastAttempt,
    Record,
    RunRecord,
    SlotRecord,
    Waiter,
    whole_milliseconds,
)
from cronce.vocabulary.errors import RecordUnreadableError
from cronce.vocabulary.names import GROUP_PREFIX
from cronce.vocabulary.states import Status, Trigger
from cronce.vocabulary.values import field_names, field_values

Item = dict[str, Any]


def encode_time(at: datetime) -> str:
    """The time as stored: `2026-11-29T06:00:00.000Z`."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def encode(record: Record) -> Item:
    """The record as an item."""
    item = dict(record.extra)
    item["key"] = record.key
    kind = type(record)
    for name, value in zip(field_names(kind), field_values(record), strict=True):
        if value is not None and name in _WRITTEN[kind] and (value or name not in _OMITTED_IF_EMPTY):
            item[name] = _encode_value(name, value)
    return item


def decode(item: Mapping[str, Any]) -> Record:
    """The item as a record.

    Another program may have written it: missing attributes get their defaults, unknown ones are kept in `extra`.

    Raises:
        RecordUnreadableError: The row has a newer schema, or an attribute has no usable value.
    """
    job, key = str(item.get("job")), str(item.get("key"))
    schema = item.get("schema", SCHEMA)
    kind = _kind_of(job, key)
    known_schema = _NEWEST_SCHEMA.get(kind, SCHEMA)
    if not isinstance(schema, int) or schema > known_schema:
        raise RecordUnreadableError(job, key, f"schema {schema!r} is newer than {known_schema}")
    if kind is GroupSlotRecord and schema != GROUP_SCHEMA:
        raise RecordUnreadableError(job, key, f"schema {schema!r} is not that of an exclusion group's slot")
    known = _WRITTEN[kind]
    values: dict[str, Any] = {}
    for name, value in item.items():
        if name in known:
            try:
                values[name] = _decode_value(name, value)
            except (ValueError, TypeError, AttributeError, KeyError, OverflowError, OSError):
                raise RecordUnreadableError(job, key, f"attribute {name} holds {value!r}") from None
    extra = {name: value for name, value in item.items() if name not in known and name != "key"}
    values.setdefault("version", 0)
    if kind is SlotRecord:
        return SlotRecord(**values, extra=extra)
    if kind is GroupSlotRecord:
        return GroupSlotRecord(**values, extra=extra)
    if kind is EffectsRecord:
        return _decode_segment(job, key, values, extra)
    if not key.startswith(RUN_PREFIX):
        raise RecordUnreadableError(job, key, f"the key is neither {SLOT_KEY!r} nor {RUN_PREFIX!r} and a period")
    if "status" not in values:
        raise RecordUnreadableError(job, key, "attribute status is missing")
    values["period"] = key.removeprefix(RUN_PREFIX)
    for name, default in (("attempt", 1), ("token", ""), ("owner", "unknown")):
        values.setdefault(name, default)
    return RunRecord(**values, extra=extra)


def to_json(record: Record) -> str:
    """The record as a JSON text, in ASCII: not every database accepts every character."""
    return json.dumps(encode(record), separators=(",", ":"))


def from_json(job: str, key: str, text: str | bytes) -> Record:
    """The record in a JSON text.

    Raises:
        RecordUnreadableError: It is not a JSON object, or `decode` cannot read it.
    """
    try:
        item = json.loads(text)
    except (ValueError, RecursionError):
        item = None
    if not isinstance(item, dict):
        raise RecordUnreadableError(job, key, "the row is not a JSON object")
    return decode(item)


def _kind_of(job: str, key: str) -> type[Record]:
    if key == SLOT_KEY:
        return GroupSlotRecord if job.startswith(GROUP_PREFIX) else SlotRecord
    return EffectsRecord if key.startswith(EFFECT_PREFIX) else RunRecord


def _decode_segment(job: str, key: str, values: dict[str, Any], extra: Item) -> EffectsRecord:
    values["period"], _, number = key.removeprefix(EFFECT_PREFIX).rpartition("#")
    if not values["period"] or not number.isdecimal():
        raise RecordUnreadableError(job, key, "the key has no period and number")
    for name in ("attempt", "token"):
        if name not in values:
            raise RecordUnreadableError(job, key, f"attribute {name} is missing")
    return EffectsRecord(**values | {"number": int(number)}, extra=extra)


_WRITTEN: dict[type, frozenset[str]] = {
    RunRecord: frozenset(field_names(RunRecord)) - {"extra"},
    SlotRecord: frozenset(field_names(SlotRecord)) - {"extra"},
    EffectsRecord: frozenset(field_names(EffectsRecord)) - {"extra"},
    GroupSlotRecord: frozenset(field_names(GroupSlotRecord)) - {"extra"},
}
_NEWEST_SCHEMA: dict[type, int] = {SlotRecord: PAUSED_SCHEMA, GroupSlotRecord: GROUP_SCHEMA}
_NUMBERS = frozenset({"version", "attempt", "failures", "exit_code", "fence", "schema", "number"})
_OMITTED_IF_EMPTY = frozenset({"waiting", "effects", "steps"})


def _encode_value(name: str, value: Any) -> Any:
    if name in _NUMBERS:
        return value
    form = _FORMS.get(name)
    return str(value) if form is None else form[0](value)


def _decode_value(name: str, value: Any) -> Any:
    form = _FORMS.get(name)
    if form is not None:
        return form[1](value)
    wanted = int if name in _NUMBERS else str
    if not isinstance(value, wanted) or isinstance(value, bool):
        raise TypeError
    return value


def _decode_time(value: str) -> datetime:
    at = datetime.fromisoformat(value)
    if at.tzinfo is None:
        raise ValueError
    return whole_milliseconds(at.astimezone(UTC))


def _encode_epoch(at: datetime) -> int:
    return int(at.timestamp())


def _decode_epoch(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _encode_lines(lines: Mapping[str, str]) -> str:
    return "\n".join(map("\t".join, lines.items()))


def _decode_lines(text: str) -> dict[str, str]:
    lines = (line.partition("\t") for line in text.split("\n"))
    return {key: value for key, _, value in lines}


def _encode_parts(parts: tuple[PastAttempt | Waiter, ...]) -> list[Item]:
    return [
        {
            name: _encode_value(name, value)
            for name, value in zip(field_names(type(part)), field_values(part), strict=True)
            if value is not None
        }
        for part in parts
    ]


def _decode_attempts(items: list[Item]) -> tuple[PastAttempt, ...]:
    return tuple(PastAttempt(**_decode_part(item, field_names(PastAttempt))) for item in items)


def _decode_waiting(items: list[Item]) -> tuple[Waiter, ...]:
    return tuple(Waiter(**_decode_part(item, field_names(Waiter))) for item in items)


def _decode_part(item: Item, names: tuple[str, ...]) -> Item:
    return {name: _decode_value(name, item[name]) for name in names if name in item}


_TIME = (encode_time, _decode_time)
_FORMS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "status": (str, Status),
    "trigger": (str, Trigger),
    "attempts": (_encode_parts, _decode_attempts),
    "waiting": (_encode_parts, _decode_waiting),
    "effects": (_encode_lines, _decode_lines),
    "steps": (_encode_lines, _decode_lines),
    "newest_at": _TIME,
    "paused_at": _TIME,
    "paused_until": _TIME,
    "scheduled_at": _TIME,
    "claimed_at": _TIME,
    "heartbeat_at": _TIME,
    "lease_until": _TIME,
    "finished_at": _TIME,
    "expires_at": (_encode_epoch, _decode_epoch),
}
"""How the values of an attribute are stored and read. Every other attribute is a text, or one of `_NUMBERS`."""
