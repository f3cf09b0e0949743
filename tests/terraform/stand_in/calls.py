"""How the stand-in calls AWS, for every type."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import boto3
from botocore.config import Config

Values = dict[str, Any]


def _cannot_update(values: Values, prior: Values) -> Values:
    changed = sorted(name for name in values if values[name] != prior.get(name))
    raise NotImplementedError(f"an update of {', '.join(changed)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """The calls for one type. An update that is not here fails; what is read is what the stand-in compares."""

    create: Callable[[Values], Values]
    delete: Callable[[Values], object] = lambda _values: None
    update: Callable[[Values, Values], Values] = _cannot_update
    read: Callable[[Values], Values | None] = lambda values: values


@cache
def aws(service: str) -> Any:
    """A client with the environment's endpoint, Region and credentials."""
    config = Config(proxies={}, retries={"total_max_attempts": 2})
    return boto3.client(service, region_name=os.environ["AWS_REGION"], config=config)  # type: ignore[call-overload]


def one(blocks: list[Values] | None) -> Values:
    """The block that there can be one of; empty if there is none."""
    return blocks[0] if blocks else {}


def given(**values: object) -> dict[str, object]:
    """What has a value."""
    return {name: value for name, value in values.items() if value is not None}


def listed_tags(values: Values) -> list[dict[str, str]]:
    """The tags as a list."""
    return [{"Key": name, "Value": value} for name, value in (values.get("tags") or {}).items()]


def unique_name(values: Values) -> str:
    """The name, or one that begins with the prefix."""
    unique = f"{time.strftime('%Y%m%d%H%M%S')}{uuid.uuid4().hex[:8]}"
    return str(values.get("name") or f"{values.get('name_prefix') or 'terraform-'}{unique}")


def only(values: Values, prior: Values, *names: str) -> None:
    """Refuse an update of anything else."""
    others = sorted(name for name in values if values[name] != prior.get(name) and name not in names)
    if others:
        raise NotImplementedError(f"an update of {', '.join(others)}")
