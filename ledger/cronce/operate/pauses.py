"""Whether a job is paused, for the commands that show it."""

from __future__ import annotations

from datetime import datetime

from cronce.client.ledger import Ledger
from cronce.operate.wording import pause_in_words, visible
from cronce.vocabulary.errors import RecordUnreadableError


def pause_remark(ledger: Ledger, job: str, now: datetime) -> str | None:
    """A sentence about the job's pause; None if it is not paused.

    Raises:
        LedgerUnavailableError: The store did not answer.
    """
    try:
        pause = ledger.pause_of(job)
    except RecordUnreadableError as error:
        return f"The slot of {visible(job)} cannot be read, so no machine starts its runs: {visible(error.problem)}"
    return None if pause is None else f"{visible(job)} is {pause_in_words(pause, now=now)}"
