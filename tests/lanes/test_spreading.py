"""The order of the tests for several workers."""

from __future__ import annotations

from pathlib import PurePath

from tests.support.spreading import spread


def _order(*files: str) -> list[str]:
    return [str(path) for path in spread([PurePath(file) for file in files], lambda path: path)]


def test_files_that_wait_lie_evenly_among_those_that_compute() -> None:
    """By their share of the tests: the second of two begins after half of the others."""
    computing = [f"tests/cli/test_{number}.py" for number in range(4)]
    waiting = [f"tests/processes/test_{number}.py" for number in range(2)]

    order = _order(*computing, *waiting)

    assert [order.index(file) for file in waiting] == [0, 3]


def test_the_tests_of_a_file_stay_together_and_none_is_lost() -> None:
    """Fixtures of a file are made once."""
    files = ["tests/cli/test_a.py"] * 3 + ["tests/demo/test_b.py"] * 2 + ["tests/unit/test_c.py"]

    assert _order(*files) == ["tests/demo/test_b.py"] * 2 + ["tests/cli/test_a.py"] * 3 + ["tests/unit/test_c.py"]
