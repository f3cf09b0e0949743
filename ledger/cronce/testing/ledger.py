"""A ledger in memory with a clock that a test turns, and the two misfortunes that are hard to arrange."""

from __future__ import annotations

from datetime import timedelta

from cronce.client.claim import Claim
from cronce.client.ledger import Ledger
from cronce.client.observer import Observer
from cronce.client.refusal import Refusal
from cronce.protocol.records import MAX_CLOCK_SKEW
from cronce.stores.memory import MemoryStore
from cronce.testing.clocks import ManualClock
from cronce.testing.lossy_store import LossyStore
from cronce.vocabulary.policy import Policy


class InMemoryLedger(Ledger):
    """A `Ledger` without a database, for tests of code that uses cronce.

    Its rules are the real ones, and its store passes the same conformance suite as the databases.

    Attributes:
        clock: The time of this ledger: `ledger.clock.advance(timedelta(hours=1))`.
        store: Where the rows are.
    """

    def __init__(self, *, policy: Policy | None = None, owner: str = "test") -> None:
        """Make an empty ledger.

        Args:
            policy: The policy of claims that give none.
            owner: The name of this process in the ledger.
        """
        self.clock = ManualClock()
        self.store = LossyStore(MemoryStore())
        super().__init__(self.store, policy=policy, owner=owner, clock=self.clock, stop_task=_stop_nothing)

    def simulate_loss(self, claim: Claim) -> Claim | Refusal:
        """Let the lease expire, let an observer mark the run lost, and let another process take it over.

        Returns:
            What the other process got: its claim, or under `on_lost=HOLD` a refusal.
        """
        self.clock.advance(claim.lease + MAX_CLOCK_SKEW + timedelta(milliseconds=1))
        other = Ledger(self.store, policy=self._policy, owner="successor", clock=self.clock, stop_task=_stop_nothing)
        Observer(other).mark_lost(claim.job, claim.period)
        return other.claim(claim.job, claim.period)

    def simulate_lost_answer(self, times: int = 1) -> None:
        """Lose the answers of the next writes: they are carried out, and their writer gets an error."""
        self.store.losing = times


def _stop_nothing(owner: str, reason: str) -> None:
    """There is no task."""
