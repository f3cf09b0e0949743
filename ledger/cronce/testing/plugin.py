"""A plugin for pytest: `pytest_plugins = ["cronce.testing.plugin"]` in your `conftest.py`."""

from __future__ import annotations

import pytest

from cronce.testing.ledger import InMemoryLedger

pytest.register_assert_rewrite("cronce.testing.conformance")  # so that a failure shows the values


@pytest.fixture
def memory_ledger() -> InMemoryLedger:
    """An empty ledger in memory, whose clock the test turns."""
    return InMemoryLedger()
