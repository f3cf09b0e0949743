"""A lane that cannot run is seen: in the last lines everywhere, as a failure in CI."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
CONFTEST = """
import pytest
from tests.support.lane_plugin import LanePlugin
from tests.support.lanes import Lane, LaneUnavailableError

def broken():
    raise LaneUnavailableError("the engine is missing")

def pytest_configure(config):
    config.addinivalue_line("markers", "lane(name): a lane")
    lanes = [Lane(name="good-engine", prepare=lambda: None), Lane(name="bad-engine", prepare=broken),
             Lane(name="idle-engine", prepare=broken)]
    config.pluginmanager.register(LanePlugin(lanes), "lanes")

@pytest.fixture
def good_engine():
    return 1
"""
TESTS = """
import pytest

def test_by_fixture(good_engine):
    assert good_engine

@pytest.mark.parametrize("engine", [pytest.param("good", marks=pytest.mark.lane("good-engine")), "none"])
def test_by_marker(engine):
    assert engine

@pytest.mark.lane("bad-engine")
def test_on_what_is_missing():
    assert True
"""


@pytest.fixture(params=[(), ("-n2",)], ids=["alone", "xdist"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    """A pytest command line for a suite with three lanes."""
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_lanes.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return [sys.executable, "-m", "pytest", "--rootdir", str(tmp_path), str(tmp_path), *request.param]


def _run(session: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name not in ("CI", "CRONCE_REQUIRE_LANES")}
    return subprocess.run(session, cwd=ROOT, env=clean | environment, capture_output=True, text=True, check=False)


def test_the_summary_says_of_each_lane_whether_it_ran(session: list[str]) -> None:
    """Ran, did not run with the reason, and not selected are three different lines."""
    lines = _run(session).stdout.splitlines()
    assert [line for line in lines if line.startswith("lane ")] == [
        "lane good-engine: ran 2 tests",
        "lane bad-engine: did NOT run: the engine is missing",
        "lane idle-engine: no test of it was selected",
    ]


def test_a_missing_lane_is_skipped_on_a_developers_machine(session: list[str]) -> None:
    """The other tests still decide the outcome."""
    done = _run(session)
    assert done.returncode == 0
    assert "3 passed, 1 skipped" in done.stdout


@pytest.mark.parametrize("environment", [{"CI": "true"}, {"CRONCE_REQUIRE_LANES": "1"}], ids=str)
def test_a_missing_lane_fails_where_lanes_are_required(session: list[str], environment: dict[str, str]) -> None:
    """A lane that did not run cannot look green there."""
    done = _run(session, **environment)
    assert done.returncode == 1
    assert "lane bad-engine cannot run: the engine is missing" in done.stdout
    assert "3 passed, 1 error" in done.stdout


def test_an_unknown_lane_is_an_error(session: list[str], tmp_path: Path) -> None:
    """A typo in a marker does not remove a test from its lane."""
    (tmp_path / "test_typo.py").write_text(TESTS.replace("bad-engine", "bad-engin"))
    assert "unknown lane {'bad-engin'}" in _run(session).stdout
