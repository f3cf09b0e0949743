"""What observers of tasks and ticks write: the recorder, the watchdog, the clock and a sweep."""

from __future__ import annotations

from datetime import datetime

from cronce.client.ledger import Ledger, new_token
from cronce.protocol.observing import (
    Sighting,
    give_up,
    mark_all_lost,
    mark_lost,
    mark_missed,
    mark_not_started,
    mark_paused,
    mark_stopped,
    remember,
)
from cronce.protocol.operations import get_run
from cronce.protocol.records import Pause, RunRecord
from cronce.vocabulary.names import (
    RunName,
    checked_exit_code,
    checked_job,
    checked_period,
    checked_words,
    optional_words,
)
from cronce.vocabulary.payloads import encode_checkpoint
from cronce.vocabulary.states import Reason, Trigger


class Observer:
    """Records what became of runs in the ledger, in the name of the ledger's owner."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def mark_paused(self, job: str, period: str, pause: Pause, *, scheduled_at: datetime | None) -> RunRecord:
        """Record that the tick was skipped because its job is paused, if it has no row; return the run after that.

        Raises:
            InputInvalidError: A name or time cannot be used; nothing was written.
            LedgerUnavailableError: The store did not answer; call again.
        """
        seen = Sighting(
            run=RunName.of(job, period, scheduled_at),
            token=new_token(),
            owner=self._ledger.owner,
            reason=Reason.PAUSED,
            actor=pause.by,
            note=pause.why,
        )
        return self._ledger.perform(mark_paused(seen))

    def mark_stopped(
        self, job: str, period: str, *, owner: str, exit_code: int | None = None, error: str | None = None
    ) -> RunRecord | None:
        """Settle the run of a task that stopped without reporting an outcome; returns the current row.

        Args:
            job: Name of the job.
            period: Its period.
            owner: The task; the run of another owner is left unchanged.
            exit_code: Exit code of the job's container, None if it has none.
            error: The platform's reason.

        Raises:
            LedgerUnavailableError: The store did not answer; call again.
        """
        steps = mark_stopped(
            checked_job(job),
            checked_period(period),
            owner=checked_words(owner, what="owner", allowed="the name of the task"),
            exit_code=checked_exit_code(exit_code),
            error=optional_words(error, what="error"),
        )
        return self._ledger.perform(steps)

    def mark_lost(self, job: str, period: str) -> RunRecord | None:
        """Mark the run FAILED(lease_lost) if its lease has expired; returns the current row, None if there is none.

        Raises:
            InputInvalidError: A name cannot be used.
            LedgerUnavailableError: The store did not answer; call again.
        """
        run = self._ledger.perform(get_run(checked_job(job), checked_period(period)))
        return run and self._ledger.perform(mark_lost(run))

    def mark_all_lost(self, job: str) -> tuple[RunRecord, ...]:
        """Mark the runs of the job FAILED(lease_lost) whose leases have expired; returns those.

        For a job that no watchdog looks at, for instance one without a schedule.

        Raises:
            InputInvalidError: The name cannot be used.
            LedgerUnavailableError: The store did not answer; call again.
        """
        return self._ledger.perform(mark_all_lost(checked_job(job)))

    def mark_missed(
        self, job: str, period: str, *, reason: str, scheduled_at: datetime | None, error: str | None = None
    ) -> RunRecord:
        """Record that the tick was not delivered, unless its row says more; return the run after that.

        Args:
            job: Name of the job.
            period: Its period.
            reason: `never_delivered`, `never_claimed`, or `launch_failed` and what the platform said.
            scheduled_at: The nominal time of the tick; None to take it from a period that is one.
            error: What the platform said at length.

        Raises:
            InputInvalidError: A name or time cannot be used; nothing was written.
            LedgerUnavailableError: The store did not answer; call again.
        """
        seen = self._sighting(
            job, period, owner=self._ledger.owner, reason=reason, scheduled_at=scheduled_at, error=error
        )
        return self._ledger.perform(mark_missed(seen))

    def mark_not_started(
        self,
        job: str,
        period: str,
        *,
        owner: str,
        error: str | None,
        scheduled_at: datetime | None,
        trigger: Trigger,
        exit_code: int | None = None,
        reason: Reason = Reason.LAUNCH_FAILED,
    ) -> RunRecord:
        """Record that a task stopped before it claimed its run, unless its row says more; return the run after that.

        Args:
            job: Name of the job.
            period: Its period.
            owner: The task.
            error: Why the platform says that it stopped.
            scheduled_at: The nominal time of the tick; None to take it from a period that is one.
            trigger: Who asked for the task.
            exit_code: Exit code of the job's container, None if it has none.
            reason: `launch_failed`, or `unclaimed` if the task ended as if its work were done.

        Raises:
            InputInvalidError: A name or time cannot be used; nothing was written.
            LedgerUnavailableError: The store did not answer; call again.
        """
        seen = self._sighting(
            job,
            period,
            owner=owner,
            reason=reason,
            scheduled_at=scheduled_at,
            error=error,
            exit_code=exit_code,
            trigger=trigger,
        )
        return self._ledger.perform(mark_not_started(seen))

    def give_up(self, run: RunRecord, note: str) -> RunRecord | None:
        """Note in a failed or missed run that no machine starts it again; return the run after that.

        Args:
            run: The run as it was read; if its row has changed since, nothing is written.
            note: Why; recorded, with this ledger's owner as the actor.

        Raises:
            LedgerUnavailableError: The store did not answer; call again.
        """
        steps = give_up(run, actor=self._ledger.owner, note=checked_words(note, what="note"))
        return self._ledger.perform(steps)

    def remember(self, run: RunRecord, value: object) -> bool:
        """Give a run that has ended another checkpoint, in one write; False if its row has changed since it was read.

        Args:
            run: The row of a memory, as it was read.
            value: A small JSON value.

        Raises:
            InputInvalidError: The value cannot be stored.
            LedgerUnavailableError: The store did not answer; call again.
        """
        return run.finished_at is not None and self._ledger.perform(remember(run, encode_checkpoint(value)))

    def _sighting(
        self,
        job: str,
        period: str,
        *,
        owner: str,
        reason: str,
        scheduled_at: datetime | None,
        error: str | None,
        exit_code: int | None = None,
        trigger: Trigger = Trigger.SCHEDULE,
    ) -> Sighting:
        return Sighting(
            run=RunName.of(job, period, scheduled_at),
            token=new_token(),
            owner=owner,
            reason=reason,
            error=error,
            exit_code=exit_code,
            trigger=trigger,
        )
