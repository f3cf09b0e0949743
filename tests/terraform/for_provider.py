"""A plan's resources as a configuration for another version of the provider: what that version knows of them.

The values are those of the plan, so the configuration has no expressions: each resource depends on those whose name or
ARN it has.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.terraform import REGION

REPLACED = {("aws_lambda_function", "runtime"): "python3.8"}
"""Values that the provider of 2021 does not know."""

_LEFT_OUT = ("id", "arn", "arn_without_revision", "region", "tags_all", "url", "name_prefix")
"""What the provider computes, what came with version 6, and what excludes a name that the plan has computed."""

_ARN_OF_ANOTHER = ("aws_cloudwatch_event_target",)


def provider(**more: object) -> dict[str, Any]:
    """The provider's block, without a call to AWS that nobody asked for."""
    given = {
        "region": REGION,
        "access_key": "test",
        "secret_key": "test",
        "skip_credentials_validation": True,
        "skip_metadata_api_check": True,
        "skip_requesting_account_id": True,
    }
    return {
        "terraform": {"required_providers": {"aws": {"source": "hashicorp/aws"}}},
        "provider": {"aws": given | more},
    }


def configuration(
    resources: Mapping[str, Mapping[str, Any]], schema: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """The configuration as JSON, and what that version does not know: types, and arguments of types.

    Args:
        resources: The planned resources by address.
        schema: The schema of each type that the provider knows.
    """
    written: dict[str, dict[str, Any]] = {}
    unknown: dict[str, set[str]] = {}
    known = {address: each for address, each in resources.items() if each["type"] in schema}
    for address, resource in resources.items():
        kind = resource["type"]
        if address not in known:
            unknown.setdefault(kind, set())
            continue
        body, left_out = _body(kind, schema[kind], resource["values"])
        if left_out:
            unknown.setdefault(kind, set()).update(left_out)
        needed = [f"{known[each]['type']}.{_label(each)}" for each in _needed(address, known)]
        written.setdefault(kind, {})[_label(address)] = body | ({"depends_on": needed} if needed else {})
    return {"resource": written}, {kind: sorted(names) for kind, names in sorted(unknown.items())}


def _body(kind: str, block: Mapping[str, Any], values: Mapping[str, Any]) -> tuple[dict[str, Any], set[str]]:
    """The arguments of a block, and those that the schema does not have."""
    body: dict[str, Any] = {}
    unknown: set[str] = set()
    for name, planned in values.items():
        value = REPLACED.get((kind, name), planned)
        attribute = block.get("attributes", {}).get(name)
        required = bool(attribute and attribute.get("required"))
        if value in (None, [], {}) or (name in _LEFT_OUT and not required):
            continue
        if attribute and not (attribute.get("optional") or required):
            continue  # computed
        if attribute:
            body[name] = _literal(value)
        elif name in block.get("block_types", {}):
            inner = block["block_types"][name]["block"]
            parts = [_body(kind, inner, each) for each in value]
            body[name] = [part for part, _ in parts]
            unknown |= {f"{name}.{each}" for _, left_out in parts for each in left_out}
        else:
            unknown.add(name)
    return body, unknown


def _literal(value: Any) -> Any:  # noqa: ANN401  # JSON
    """The value, with what would be a template in a string escaped."""
    match value:
        case str():
            return value.replace("${", "$${").replace("%{", "%%{")
        case dict():
            return {name: _literal(part) for name, part in value.items()}
        case list():
            return [_literal(part) for part in value]
        case _:
            return value


def _needed(address: str, resources: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """The addresses of the other resources that it names."""
    text = json.dumps(resources[address]["values"])
    words = {*_texts(resources[address]["values"])}
    own = _names(resources[address])
    for other, resource in resources.items():
        arn = None if resource["type"] in _ARN_OF_ANOTHER else resource["values"].get("arn")
        if other != address and ((arn and arn in text) or (_names(resource) - own) & words):
            yield other


def _texts(value: Any) -> Iterator[str]:  # noqa: ANN401  # JSON
    """Every string in the value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


def _names(resource: Mapping[str, Any]) -> set[str]:
    """By what other resources refer to it."""
    values = resource["values"]
    named = {"aws_lambda_function": "function_name", "aws_ecs_task_definition": "family"}.get(resource["type"], "name")
    return {name for name in (values.get(named), values.get("url")) if name}


def _label(address: str) -> str:
    return re.sub(r"\W+", "_", address).strip("_")
