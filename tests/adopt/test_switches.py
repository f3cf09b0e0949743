"""Code behind an environment variable: which variable, and which services have it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cronce.adopt.audit.run import audit
from cronce.adopt.audit.switches import is_on

CRON = """const cron = require('node-cron');
{}cron.schedule('0 6 * * *', job, {{ noOverlap: true }});
function job() {{}}
"""
COMPOSE = """services:
  web: {{build: ., command: node index.js, scale: 4}}
  cron: {{build: ., command: node index.js, environment: {{{}}}}}
"""


def _severities(tmp_path: Path, condition: str, settings: str) -> list[str]:
    (tmp_path / "index.js").write_text(CRON.format(condition))
    (tmp_path / "compose.yaml").write_text(COMPOSE.format(settings))
    return [finding.severity.value for finding in audit(tmp_path).findings]


@pytest.mark.parametrize(
    ("condition", "settings"),
    [
        ("if (process.env.RUN_CRON) ", "RUN_CRON: 1"),
        ("if (process.env.RUN_CRON === 'true') ", "RUN_CRON: 'true'"),
        ("if (process.env['RUN_CRON'] == '1') ", "RUN_CRON: '1'"),
    ],
)
def test_a_clock_behind_a_variable_runs_where_it_is_set(tmp_path: Path, condition: str, settings: str) -> None:
    """One copy has it, so the four others do no harm."""
    assert _severities(tmp_path, condition, settings) == ["info"]


@pytest.mark.parametrize(
    ("condition", "settings"),
    [
        ("", "RUN_CRON: 1"),
        ("if (!process.env.NO_CRON) ", "NO_CRON: 1"),
        ("if (process.env.RUN_CRON !== 'false') ", "RUN_CRON: 'true'"),
        ("if (process.env.RUN_CRON) { } else ", "RUN_CRON: 1"),
        ("if (process.env.RUN_CRON) ", "OTHER: 1"),
        ("if (process.env.NODE_ENV === 'production') ", "NODE_ENV: production"),
    ],
)
def test_a_condition_that_is_not_that_simple_changes_nothing(tmp_path: Path, condition: str, settings: str) -> None:
    """A variable that switches off, one that no file gives, one that names a stage."""
    assert _severities(tmp_path, condition, settings) == ["error"]


@pytest.mark.parametrize(
    ("value", "on"), [("true", True), ("1", True), ("worker", True), ("false", False), ("0", False), ("", False)]
)
def test_a_value_switches_on_or_off(value: str, on: bool) -> None:  # noqa: FBT001  # a column of the table
    """As people write it."""
    assert is_on("X", [("X", value)]) is on
    assert not is_on("Y", [("X", value)])
