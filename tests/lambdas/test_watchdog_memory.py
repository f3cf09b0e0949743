"""The watchdog's memory of a job survives as JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from cronce.watch.memory import MOST_JUDGED, Memory, Pending, Timing, from_value, to_value
from tests.lambdas.test_due_ticks import remembered
from tests.support.cloud import T0

HOUR, DAY, MINUTE, SECOND = timedelta(hours=1), timedelta(days=1), timedelta(minutes=1), timedelta(seconds=1)
TICKS = (T0, T0 + HOUR, T0 + 2 * HOUR)

FULL = Memory(
    timing=Timing(
        expression="cron(0 6 * * ? *)",
        timezone="Europe/Berlin",
        start=T0 - DAY,
        end=T0 + DAY,
        enabled=True,
        window=15 * MINUTE,
    ),
    target="0123456789ab",
    modified_at=T0 + timedelta(microseconds=123456),
    since=T0,
    pending=(Pending(T0, T0 + 15 * MINUTE),),
    backlog=TICKS,
    launched_at=T0 + SECOND / 3,
    success_at=T0,
    searched="2026-11-28T06:00:00Z",
)


@pytest.mark.parametrize("memory", [FULL, remembered(T0 + HOUR), remembered(T0, State="DISABLED")])
def test_a_memory_survives_a_round_trip_through_json(memory: Memory) -> None:
    """As a checkpoint, which is JSON."""
    assert from_value(json.loads(json.dumps(to_value(memory)))) == memory


def test_a_full_memory_fits_into_a_checkpoint() -> None:
    """32 KB are allowed."""
    ticks = tuple(T0 + n * MINUTE for n in range(MOST_JUDGED))
    memory = replace(FULL, pending=tuple(Pending(tick, tick + DAY) for tick in ticks) * 3, backlog=ticks)
    assert len(json.dumps(to_value(memory))) < 20_000


@pytest.mark.parametrize(
    "value",
    [
        None,
        "text",
        7,
        [],
        {},
        to_value(FULL) | {"since": "soon"},
        to_value(FULL) | {"since": None},
        to_value(FULL) | {"pending": [["2026"]]},
        to_value(FULL) | {"backlog": ["06:00"]},
        to_value(FULL) | {"window": None},
        to_value(FULL) | {"start": 7},
        to_value(FULL) | {"job": ""},
        to_value(FULL) | {"job": 7},
    ],
)
def test_an_invalid_checkpoint_is_not_a_memory(value: object) -> None:
    """The job is then seen for the first time."""
    assert from_value(value) is None


def test_a_checkpoint_with_times_without_a_zone_is_not_a_memory() -> None:
    """They could not be compared."""
    assert from_value(to_value(FULL) | {"since": "2026-11-29T06:00:00"}) is None
