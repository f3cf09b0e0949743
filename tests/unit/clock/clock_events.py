"""The events that a clock logged."""

from __future__ import annotations

import json
from typing import Any

import pytest


def events(capsys: pytest.CaptureFixture[str], name: str) -> list[dict[str, Any]]:
    """The log lines about an event so far, without the prefix of the keys."""
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    stripped = [{key.removeprefix("cronce."): value for key, value in line.items()} for line in lines]
    return [line for line in stripped if line["event"] == name]
