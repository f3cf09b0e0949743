"""What docs/clock.md and the example say is what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cronce.clock import config
from cronce.clock.config import config_from_toml
from cronce.clock.plan import MOST_OF_A_JOB, MOST_TICKS, MOST_WORKERS
from cronce.schedule import MOST_COUNTED
from cronce.vocabulary.durations import format_duration
from cronce.vocabulary.metrics import METRIC_OF_EVENT

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "clock.md").read_text()
CRONCE = ROOT / "ledger/cronce"
OF_THE_WATCHDOG = CRONCE / "clock/watched.py"
SOURCES = [
    *({*(CRONCE / "clock").glob("*.py")} - {OF_THE_WATCHDOG}),
    CRONCE / "client/leadership.py",
    CRONCE / "cli/runtime/clock.py",
]


def test_every_setting_is_described_with_its_default() -> None:
    """And no other."""
    rows = dict(re.findall(r"^\| `(\w+)` \|[^|]*\|([^|]*)\|[^|]*\|$", PAGE, re.MULTILINE))
    assert set(rows) == set(config._FIELDS)
    defaults = {name: text.strip(" `") for name, text in rows.items() if text.strip()}
    assert defaults == {
        "timezone": "UTC",
        "period": "time",
        "suspend": "false",
        "starting_deadline": format_duration(config.STARTING_DEADLINE),
        "catch_up": "NONE",
        "timeout": format_duration(config.TIMEOUT),
        "backoff_limit": str(config.BACKOFF_LIMIT),
    }


def test_every_target_is_described() -> None:
    """And no other."""
    assert set(re.findall(r"^\| `\{ (\w+) = ", PAGE, re.MULTILINE)) == set(config._TARGETS)


def test_every_event_is_described_with_its_metric() -> None:
    """The clock's own, and those of leadership."""
    said = {name for source in SOURCES for name in re.findall(r'(?:report|_log)\(\s*"(\w+)"', source.read_text())}
    section = PAGE[PAGE.index("## Log and metrics") :].partition("\n## ")[0]
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| ((?:`\w+`(?: \(seconds\))?(?:, )?)*) ?\|", section, re.MULTILINE)
    described = {name: metrics for names, metrics in rows for name in re.findall(r"`(\w+)`", names)}
    assert said == set(described)
    for name in said & set(METRIC_OF_EVENT):
        assert f"`{METRIC_OF_EVENT[name]}`" in described[name]


def test_the_bounds_are_the_codes() -> None:
    """Numbers in sentences."""
    for number in (
        MOST_TICKS,
        f"{MOST_COUNTED:,}",
        f"{MOST_OF_A_JOB} a job",
        f"{MOST_WORKERS} in all",
        config.MOST_JOBS,
    ):
        assert str(number) in PAGE


def test_every_test_that_a_promise_names_exists() -> None:
    """`tests/path.py::test_name`."""
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)
    assert named
    assert [(path, test) for path, test in named if f"def {test}(" not in (ROOT / path).read_text()] == []


@pytest.mark.parametrize(
    "text", [(ROOT / "examples/clock/clock.toml").read_text(), *re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)]
)
def test_the_examples_are_good_configurations(text: str) -> None:
    """The file and the one of the page."""
    assert config_from_toml(text, what="example")
