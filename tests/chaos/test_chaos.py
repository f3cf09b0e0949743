"""Minutes of chaos, in which no promise is broken."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.chaos import clocks
from tests.chaos.play import play
from tests.chaos.programs import dynamodb_url

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS = 15 * 60 if os.environ.get("LONG") == "1" else 60


@pytest.mark.prove
@pytest.mark.timeout(3 * SECONDS + 600)
@pytest.mark.skipif(sys.platform != "linux", reason="work that dies with its guard, and /proc, need Linux")
@pytest.mark.parametrize(
    "store", [pytest.param(store, marks=pytest.mark.lane(store)) for store in ("dynamodb-local", "postgres", "valkey")]
)
def test_no_chaos_breaks_a_promise(
    store: str, tmp_path: Path, request: pytest.FixtureRequest, record_property: Callable[[str, object], None]
) -> None:
    """A minute of kills, stops, clock jumps, network faults and crashes of the server, or 15 with LONG=1."""
    server = request.getfixturevalue(store.replace("-", "_"))
    match store:
        case "postgres":
            url, crash = server.url(table="chaos"), server.crash
        case "valkey":
            url, crash = f"{server.url}?prefix=chaos", server.restart
        case _:  # it keeps its tables in memory
            url, crash = dynamodb_url("runs", server), None
    outcome = play(tmp_path, url, seed=int.from_bytes(os.urandom(3)), seconds=SECONDS, crash=crash)
    record_property("chaos", str(outcome))
    record_property("seconds of chaos", SECONDS)
    record_property("programs", outcome.started)
    record_property("blows", outcome.blows.total())
    record_property("attempts at work", outcome.verdict.attempts)

    assert outcome.violations == []
    assert outcome.verdict.attempts > outcome.periods, "no attempt ever had a successor: this was no chaos"


@pytest.mark.prove
@pytest.mark.timeout(3 * SECONDS + 600)
@pytest.mark.skipif(sys.platform != "linux", reason="commands that die with their clock need Linux")
def test_no_step_of_a_wall_clock_loses_doubles_or_advances_a_tick(
    tmp_path: Path, dynamodb_local: str, record_property: Callable[[str, object], None]
) -> None:
    """Steps of seconds to hours, in both directions, around ticks, while leaders are killed and terminated."""
    outcome = clocks.play(tmp_path, dynamodb_local, seed=int.from_bytes(os.urandom(3)), seconds=SECONDS)
    record_property("clocks", str(outcome))
    record_property("seconds of chaos", SECONDS)
    record_property("clock steps", outcome.steps.total())

    assert outcome.violations == []
    assert outcome.steps.total() > 0
    assert outcome.ticks > SECONDS
