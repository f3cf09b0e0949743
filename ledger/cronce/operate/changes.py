"""What has happened to runs since the last look."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cronce.client.at_once import at_once
from cronce.client.ledger import Ledger
from cronce.protocol.records import RunRecord

_NEWEST = 20
"""How many rows of a job are looked at."""

_State = tuple[str, int, str]
"""Status, attempt and token: what a heartbeat, a checkpoint and a request to stop leave as it is."""


@dataclass(frozen=True, slots=True)
class Transition:
    """A run as it is now.

    Attributes:
        was: Its status before; None for a run that is new.
    """

    run: RunRecord
    was: str | None


class Watch:
    """Looks at the newest rows of jobs, again and again."""

    def __init__(self, ledger: Ledger, jobs: Sequence[str]) -> None:
        """Read nothing yet.

        Args:
            ledger: Where the rows are.
            jobs: Names of the jobs.
        """
        self._ledger, self._jobs = ledger, jobs
        self._known: dict[str, dict[str, _State]] = {}

    def look(self) -> list[Transition]:
        """The changes since the last look, oldest period first within a job; one request per job.

        Raises:
            LedgerUnavailableError: The store did not answer; the next look finds the same changes.
        """
        pages = at_once(lambda job: self._ledger.page(job, limit=_NEWEST).runs, self._jobs)
        return [change for job, runs in zip(self._jobs, pages, strict=True) for change in self._changes(job, runs)]

    def _changes(self, job: str, runs: Sequence[RunRecord]) -> list[Transition]:
        before = self._known.get(job, {})
        self._known[job] = {run.period: (run.status, run.attempt, run.token) for run in runs}
        oldest = min(before, default="")  # what a shorter page did not reach is not new
        return [
            Transition(run, before[run.period][0] if run.period in before else None)
            for run in reversed(runs)
            if before.get(run.period) != self._known[job][run.period]
            and (run.period in before or len(before) < _NEWEST or run.period > oldest)
        ]
