"""How a watchdog has work started, and leaves a run to a person where no machine starts it again."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from typing import Any, Protocol

from cronce.client.ledger import Ledger
from cronce.client.observer import Observer
from cronce.protocol.observing import LOST_REASONS
from cronce.protocol.records import RunRecord
from cronce.protocol.retrying import Relaunch
from cronce.vocabulary.policy import OnLost
from cronce.vocabulary.states import Trigger
from cronce.watch.jobs import WatchedJob
from cronce.watch.notices import Notice, left_to_a_person

OBSERVERS = "cronce:"
"""How the owner names of recorder and watchdog begin, and so the actor of their notes."""

WATCHDOG_LOOK = "cronce:watchdog:look"
"""The job of the row that a watchdog of a schedule group holds while it looks."""

LONGEST_WAIT = timedelta(hours=1)
"""How long work that is seen, but has not claimed, may hold up the judgement of its tick, or its catch-up."""


class Bus(Protocol):
    """Where events go."""

    def put(self, notices: Sequence[Notice]) -> None:
        """Send the events. A failure is reported and not retried: the ledger and the metric have the facts too."""


class AtWork(Protocol):
    """Knows the work that has started, although the ledger may have no row for it."""

    def periods(self, job: Any) -> AbstractSet[str]:  # noqa: ANN401  # a job of its own kind
        """The periods of the job that are at work."""


class Launches(Protocol):
    """Starts the next attempt of a run.

    Attributes:
        name: The ledger's name, a dimension of the metrics.
    """

    @property
    def name(self) -> str:
        """See above."""

    def arrange(
        self,
        decision: Relaunch,
        run: RunRecord,
        job: Any,  # noqa: ANN401  # of its own kind
        *,
        trigger: Trigger,
        now: datetime,
    ) -> None:
        """Start it, or have it started; that this was done before is no error.

        Raises:
            CallUnavailableError: What starts it did not answer.
            CallRefusedError: It cannot be started.
        """

    def leave_to_a_person(self, run: RunRecord, why: str, job: Any) -> None:  # noqa: ANN401  # of its own kind
        """See `leave_run_to_a_person`."""


def leave_run_to_a_person(ledger: Ledger, bus: Bus, run: RunRecord, why: str, job: WatchedJob, *, name: str) -> None:
    """Report the run once, and note in its row that no machine starts it again.

    The note comes last: if a look dies before the note, the next one reports the run again.

    Raises:
        LedgerUnavailableError: The ledger did not answer; calling again is safe.
    """
    if run.note and (run.actor or "").startswith(OBSERVERS):
        return
    held = run.reason in LOST_REASONS and job.policy.on_lost is OnLost.HOLD
    bus.put([left_to_a_person(run, why, held=held, ledger=name)])
    Observer(ledger).give_up(run, f"no machine starts it again: {why}")
