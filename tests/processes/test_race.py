"""Many processes ask for the same run at once; `race.py` starts them and counts who worked."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cronce import Ledger
from tests.processes.conftest import table_url

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.redis_server import RedisServer

PROCESSES = 16

REFUSALS = {"ALREADY_SUCCEEDED", "RUNNING_ELSEWHERE"}


@pytest.fixture(params=["sqlite", "dynamodb", "postgres", "valkey"])
def ledger_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A ledger to race for."""
    if request.param == "valkey":
        valkey: RedisServer = request.getfixturevalue("valkey")
        return f"{valkey.url}?prefix={tmp_path.name}"
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/race.db"
    if request.param == "postgres":
        url: str = request.getfixturevalue("postgres").url()
        ledger = Ledger.from_url(url)
        ledger.create()
        ledger.close()
        return url
    return table_url(request.getfixturevalue("table"), request.getfixturevalue("dynamodb_local"))


@pytest.fixture
def raced() -> Callable[..., dict[str, Any]]:
    """Runs the script; its result."""

    def run(ledger_url: str, *options: str) -> dict[str, Any]:
        command = [sys.executable, "-m", "tests.processes.race", "--ledger", ledger_url, "--processes", str(PROCESSES)]
        root = Path(__file__).parents[2]
        done = subprocess.run([*command, *options], check=False, cwd=root, stdout=subprocess.PIPE)
        result: dict[str, Any] = json.loads(done.stdout)
        sys.stdout.write(f"{result}\n")
        assert (done.returncode, result["problems"]) == (0, [])
        return result

    return run


@pytest.mark.parametrize(
    ("ledger_url", "periods"),
    [
        pytest.param("sqlite", 20, id="sqlite"),
        pytest.param("dynamodb", 8, id="dynamodb-local", marks=pytest.mark.lane("dynamodb-local")),
    ],
    indirect=["ledger_url"],
)
def test_processes_that_ask_within_milliseconds_start_one_child_a_period(
    ledger_url: str, periods: int, raced: Callable[..., dict[str, Any]]
) -> None:
    """Everybody has loaded everything before the gun; one works, the others exit 0 with a reason."""
    result = raced(ledger_url, "--periods", str(periods), "--warm")
    expect_one_child_a_period(result, periods)
    assert result["answers"]["RUNNING_ELSEWHERE"] > 0, "nobody met the winner at work: that was no race"


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("ledger_url", "periods"),
    [
        pytest.param("dynamodb", 200, id="dynamodb-local", marks=pytest.mark.lane("dynamodb-local")),
        pytest.param("sqlite", 40, id="sqlite"),
        pytest.param("postgres", 40, id="postgres", marks=pytest.mark.lane("postgres")),
        pytest.param("valkey", 40, id="valkey", marks=pytest.mark.lane("valkey")),
    ],
    indirect=["ledger_url"],
)
def test_sixteen_commands_race_on_each_period_and_one_child_a_period_runs(
    ledger_url: str, periods: int, raced: Callable[..., dict[str, Any]]
) -> None:
    """The console script itself, up to 3,200 times: none works twice, none has trouble."""
    expect_one_child_a_period(raced(ledger_url, "--periods", str(periods)), periods)


def expect_one_child_a_period(result: dict[str, Any], periods: int) -> None:
    """One child a period; every other process was refused for one of the two usual reasons."""
    assert (result["children"], result["periods_worked"], result["periods_worked_twice"]) == (periods, periods, [])
    answers = result["answers"]
    assert answers["worked"] == periods
    assert answers.keys() - {"worked"} <= REFUSALS
    assert sum(answers.values()) == periods * PROCESSES
