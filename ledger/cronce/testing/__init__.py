"""For tests of code that uses cronce, and of stores; see docs/testing.md.

Only `plugin` and `conformance` need pytest.
"""

from cronce.testing.clocks import ManualClock
from cronce.testing.ledger import InMemoryLedger
from cronce.testing.lossy_store import LossyStore
from cronce.testing.resumable import Resumed, assert_resumable

__all__ = ["InMemoryLedger", "LossyStore", "ManualClock", "Resumed", "assert_resumable"]
