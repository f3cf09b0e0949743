"""docs/comparison.md is what its record says, and the log's lines are counted as the page explains."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from benchmarks.compare.count import Counted, count, count_messages
from benchmarks.compare.page import PAGE, RECORDED, rendered
from benchmarks.compare.peers import PEERS
from benchmarks.compare.stories import STORIES

if TYPE_CHECKING:
    from collections.abc import Sequence

DUE = (100, 102)
NONE = dict.fromkeys(Counted.__dataclass_fields__, 0) | {"ticks": 2, "resumed_after": 0.0}


def test_the_page_is_the_one_of_its_record() -> None:
    """`python -m benchmarks.compare --record` writes both; it has every story and every contender."""
    record = json.loads(RECORDED.read_text())
    assert PAGE.read_text() == rendered(record)
    assert list(record["stories"]) == list(STORIES)
    assert all(list(story["counts"]) == [peer.key for peer in PEERS] for story in record["stories"].values())


def lines(*attempts: tuple[int, str, float, float | None]) -> list[str]:
    """The log of attempts: tick, process, begin and end."""
    found = []
    for mark, (tick, process, begin, end) in enumerate(attempts):
        found.append(f"begin {tick} {process} {begin} {mark}")
        if end is not None:
            found.append(f"end {tick} {process} {end} {mark}")
    return found


@pytest.mark.parametrize(
    ("attempts", "says"),
    [
        ([], {"missed": 2}),
        ([(100, "a", 100, 101), (102, "b", 102, 103)], {"once": 2, "at_once": 1}),
        ([(100, "a", 100, 103), (102, "b", 102, 103)], {"once": 2, "at_once": 2}),
        ([(100, "a", 100, 101), (100, "b", 100, 101), (102, "a", 102, 103)], {"once": 1, "doubled": 1, "at_once": 2}),
        ([(100, "a", 100, None), (102, "b", 102, 103)], {"once": 1, "cut": 1, "lost": 1, "at_once": 1}),
        (
            [(100, "a", 100, None), (102, "b", 102, 103), (100, "b", 107, 108)],
            {"once": 1, "cut": 1, "resumed": 1, "resumed_after": 7, "at_once": 1},
        ),
        ([(100, "a", 98.5, 99), (102, "b", 101.5, 103)], {"once": 2, "early": 1, "at_once": 1}),
        ([(98, "a", 98, 99), (104, "b", 104, 105)], {"missed": 2, "at_once": 1}),
    ],
)
def test_ticks_are_counted_from_the_lines(
    attempts: Sequence[tuple[int, str, float, float | None]], says: dict[str, Any]
) -> None:
    """Once, twice, never, cut off, resumed, lost, early; ticks outside of the story are not counted."""
    found = count(lines(*attempts), due=DUE, boot=0, killed={"a": [100.5]})
    assert found.as_json() == NONE | says


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        ((100.3, 102.3), {"once": 2}),
        ((100.3, 100.6, 102.3), {"once": 1, "doubled": 1}),
        ((101.0,), {"once": 1, "missed": 1}),
        ((99.0, 101.0, 103.0, 105.0), {"once": 2}),
    ],
)
def test_messages_are_counted_by_their_first_delivery(messages: Sequence[float], says: dict[str, Any]) -> None:
    """Where the work is told no nominal time."""
    attempts = lines(*((int(at * 1000), "a", at, at + 0.1) for at in messages))
    found = count_messages(attempts, due=DUE, interval=2, boot=0, killed={})
    assert found.as_json() == NONE | says | {"at_once": 1}
