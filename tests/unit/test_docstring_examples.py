"""The examples in docstrings work as they are written."""

from __future__ import annotations

import doctest
from typing import TYPE_CHECKING

import pytest

from cronce import Ledger
from cronce.client.leadership import Leadership

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES = {"Ledger.claim": Ledger.claim, "Leadership": Leadership}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_of_a_docstring_works(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder without a ledger, as for a new user."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CRONCE_LEDGER", raising=False)
    [example] = doctest.DocTestFinder(recurse=False).find(EXAMPLES[name], name, globs={})
    assert example.examples
    failures, _ = doctest.DocTestRunner().run(example)
    assert failures == 0
