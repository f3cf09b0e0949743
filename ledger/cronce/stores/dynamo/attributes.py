"""Item <-> DynamoDB's attribute values, and the conditions of a swap and a take."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from cronce.stores.codec import Item
from cronce.vocabulary.values import value_class

if TYPE_CHECKING:
    from cronce.protocol.records import Record

Attributes = dict[str, dict[str, Any]]


@value_class
class Verbatim:
    """An attribute of a type that cronce never writes, or a number that is not an integer, exactly as received."""

    attribute: dict[str, Any]


def to_attributes(item: Item) -> Attributes:
    """The item as DynamoDB's API represents it."""
    return {name: {"S": value} if type(value) is str else _to_attribute(value) for name, value in item.items()}


def from_attributes(attributes: Attributes) -> Item:
    """The item in an answer of DynamoDB.

    Raises:
        ValueError: An attribute is not one of DynamoDB; the text names it.
    """
    item: Item = {}
    for name, attribute in attributes.items():
        try:
            item[name] = _from_attribute(attribute)
        except ValueError:
            raise ValueError(f"attribute {name} is not an attribute value of DynamoDB") from None
    return item


def condition(expected: Record | None) -> dict[str, Any]:
    """The parameters of a PutItem that make it conditional on the expected row; see `Store.swap`."""
    if expected is None:
        return {"ConditionExpression": "attribute_not_exists(#job)", "ExpressionAttributeNames": {"#job": "job"}}
    parts = ["attribute_exists(#job)"]
    for name, value in (("version", expected.version), ("token", expected.token)):
        # The codec reads a missing attribute and an empty one alike.
        parts.append(f"#{name} = :{name}" if value else f"(attribute_not_exists(#{name}) OR #{name} = :{name})")
    return {
        "ConditionExpression": " AND ".join(parts),
        "ExpressionAttributeNames": {"#job": "job", "#version": "version", "#token": "token"},
        "ExpressionAttributeValues": {
            ":version": _to_attribute(expected.version),
            ":token": _to_attribute(expected.token or ""),
        },
    }


def taking(slot: Item, *, due: str | None) -> dict[str, Any]:
    """The parameters of an UpdateItem that acquires a slot if it is free; see `Store.take`.

    Args:
        slot: The slot as it would be if none existed before. Attributes that it lacks keep their values.
        due: The run's nominal time, as stored.
    """
    conditions = [f"attribute_not_exists(#{name})" for name in _ABSENT_IF_FREE]
    conditions.append("(attribute_not_exists(#schema) OR #schema <= :schema)")
    values = {name: value for name, value in slot.items() if name not in ("job", "key", *_COUNTERS)}
    assignments = [f"#{name} = :{name}" for name in values if name != "schema"]
    if due is not None:
        conditions.append("(attribute_not_exists(#newest_at) OR #newest_at <= :newest_at)")
        values["newest_at"] = due
    names = {*values, *_COUNTERS, *_ABSENT_IF_FREE}
    return {
        "ConditionExpression": " AND ".join(conditions),
        "UpdateExpression": f"ADD {', '.join(f'#{name} :one' for name in _COUNTERS)}"
        f" SET #schema = if_not_exists(#schema, :schema), {', '.join(assignments)}",
        "ExpressionAttributeNames": {f"#{name}": name for name in names},
        "ExpressionAttributeValues": {
            f":{name}": _to_attribute(value) for name, value in ({"one": 1} | values).items()
        },
    }


def _to_attribute(value: object) -> dict[str, Any]:
    match value:
        case str():
            return {"S": value}
        case bool():
            return {"BOOL": value}
        case int():
            return {"N": str(value)}
        case list():
            return {"L": [_to_attribute(element) for element in value]}
        case dict():
            return {"M": {name: _to_attribute(element) for name, element in value.items()}}
        case Verbatim():
            return value.attribute
        case _:
            raise TypeError(type(value).__name__)


def _from_attribute(attribute: Any, depth: int = 0) -> object:  # JSON
    """The attribute's value.

    Raises:
        ValueError: It is not an attribute value of DynamoDB.
    """
    if not isinstance(attribute, dict) or len(attribute) != 1 or depth > _DEEPEST:
        raise ValueError
    kind, value = next(iter(attribute.items()))
    if type(value) not in _TYPES.get(kind, ()):
        raise ValueError
    match kind:
        case "S" | "BOOL":
            return value
        case "N" if _INTEGER.fullmatch(value):
            return int(value)
        case "N" if not _NUMBER.fullmatch(value):
            raise ValueError
        case "L":
            return [_from_attribute(element, depth + 1) for element in value]
        case "M":
            return {name: _from_attribute(element, depth + 1) for name, element in value.items()}
        case "SS" | "NS" | "BS" if any(type(element) not in _TYPES[kind[0]] for element in value):
            raise ValueError
        case _:
            return Verbatim(attribute)


_ABSENT_IF_FREE = ("period", "mode", "waiting", "paused_at")
_COUNTERS = ("version", "fence")
"""What rises by one each time the slot is acquired."""
_DEEPEST = 32
"""Levels of nested attributes (Developer Guide, "Constraints")."""
_INTEGER = re.compile(r"-?[0-9]{1,127}")
_NUMBER = re.compile(r"[+-]?(?=\.?[0-9])[0-9]*\.?[0-9]*([eE][+-]?[0-9]{1,3})?")
_TYPES: dict[str, tuple[type, ...]] = {
    "S": (str,),
    "N": (str,),
    "B": (str,),  # in Base64
    "BOOL": (bool,),
    "NULL": (bool,),
    "L": (list,),
    "M": (dict,),
    "SS": (list,),
    "NS": (list,),
    "BS": (list,),
}
