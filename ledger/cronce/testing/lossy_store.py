"""A store between the ledger and the real store that loses answers, and lets a test act in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cronce.stores.passing import PassingStore
from cronce.vocabulary.errors import LedgerUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from cronce.protocol.operations import Swapped
    from cronce.stores.store import Store


class LossyStore(PassingStore):
    """Passes every call on; some writes are carried out, but their answers are lost.

    Attributes:
        losing: The number of the next writes whose answers are lost.
        after_next_swap: What happens before the next write's answer arrives.
    """

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.losing = 0
        self.after_next_swap: Callable[[], None] | None = None

    def _write(self, call: Callable[[], Swapped]) -> Swapped:
        answer = call()
        if action := self.after_next_swap:
            self.after_next_swap = None
            action()
        if self.losing:
            self.losing -= 1
            raise LedgerUnavailableError(self.where, "the answer was lost", transient=True)
        return answer
