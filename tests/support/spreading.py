"""The order of the tests for several workers: those that wait lie evenly among those that compute.

pytest-xdist gives each worker a part of the list in one piece. In alphabetical order the tests that wait for processes
come last, so that all workers compute first and all wait afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import PurePath
from typing import TypeVar

T = TypeVar("T")

_WAITING = {"chaos", "demo", "processes"}


def spread(tests: Sequence[T], file_of: Callable[[T], PurePath]) -> list[T]:
    """The same tests; those of one file stay together and in their order, for the fixtures that they share.

    Args:
        tests: In the order of their files.
        file_of: The path of a test's file, from the root of the project.
    """
    waiting: list[T] = []
    computing: list[T] = []
    for test in tests:
        (waiting if file_of(test).parts[1] in _WAITING else computing).append(test)
    files = sorted([*_placed(waiting, file_of), *_placed(computing, file_of)], key=lambda placed: placed[0])
    return [test for _, of_file in files for test in of_file]


def _placed(tests: list[T], file_of: Callable[[T], PurePath]) -> Iterator[tuple[float, list[T]]]:
    """The tests of each file, with the part of all tests that come before it: 0 for the first file, less than 1."""
    done = 0
    for _, group in groupby(tests, key=file_of):
        of_file = list(group)
        yield done / len(tests), of_file
        done += len(of_file)
