"""The example of `run_once`'s docstring does what it says."""

from __future__ import annotations

import doctest
import os
from typing import TYPE_CHECKING

from cronce.guard import once

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_the_example_of_run_once_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an empty folder and a task's environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "environ", os.environ.copy())
    (example,) = [found for found in doctest.DocTestFinder().find(once.run_once, "run_once") if found.examples]
    runner = doctest.DocTestRunner()
    assert runner.run(example) == (0, len(example.examples))
