"""Item <-> DynamoDB's attribute values, and the condition under which a row stands as expected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cronce.stores.codec import Item
from cronce.vocabulary.values import value_class

if TYPE_CHECKING:
    from cronce.protocol.records import Record

Attributes = dict[str, dict[str, Any]]


@value_class
class Verbatim:
    """An attribute of a kind that cronce never writes, or a number that is not an integer, as it came."""

    attribute: dict[str, Any]


def to_attributes(item: Item) -> Attributes:
    """The item as DynamoDB takes it."""
    return {name: _to_attribute(value) for name, value in item.items()}


def from_attributes(attributes: Attributes) -> Item:
    """The item that DynamoDB gave."""
    return {name: _from_attribute(attribute) for name, attribute in attributes.items()}


def condition(expected: Record | None) -> dict[str, Any]:
    """The parameters of a PutItem that say how the row must stand; see `Store.swap`."""
    if expected is None:
        return {"ConditionExpression": "attribute_not_exists(#job)", "ExpressionAttributeNames": {"#job": "job"}}
    parts = ["attribute_exists(#job)"]
    for name, value in (("version", expected.version), ("token", expected.token)):
        # Read generously, a row without it and a row with nothing in it look alike.
        parts.append(f"#{name} = :{name}" if value else f"(attribute_not_exists(#{name}) OR #{name} = :{name})")
    return {
        "ConditionExpression": " AND ".join(parts),
        "ExpressionAttributeNames": {"#job": "job", "#version": "version", "#token": "token"},
        "ExpressionAttributeValues": {
            ":version": _to_attribute(expected.version),
            ":token": _to_attribute(expected.token or ""),
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


def _from_attribute(attribute: dict[str, Any]) -> object:
    ((kind, value),) = attribute.items()
    match kind:
        case "S" | "BOOL":
            return value
        case "N" if value.lstrip("-").isdigit():
            return int(value)
        case "L":
            return [_from_attribute(element) for element in value]
        case "M":
            return {name: _from_attribute(element) for name, element in value.items()}
        case _:
            return Verbatim(attribute)
