"""Follow a task that was started until its run is settled, one look at a time."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import Protocol

from cronce.aws.errors import CallRefusedError, CallUnavailableError
from cronce.cli.output.wording import length, short_owner, visible, why_ended
from cronce.protocol.records import Liveness, RunRecord
from cronce.vocabulary.errors import LedgerUnavailableError
from cronce.vocabulary.states import Reason, Status
from cronce.vocabulary.values import value_class

_LOOKS_PER_QUESTION = 5
"""At every so many looks ECS is asked whether a task that did not claim yet has stopped."""

_LOOKS_AFTER_STOP = 3
"""So many looks the recorder has, to settle the run of a task that stopped."""

_MOST_FAILED_LOOKS = 30
"""So many looks in a row may fail before the ledger counts as away; each insists for seconds itself."""


class Runs(Protocol):
    """What is asked of the ledger."""

    def run(self, job: str, period: str) -> RunRecord | None:
        """The run as it stands."""


class Tasks(Protocol):
    """What is asked of ECS."""

    def stop_reason(self, task_arn: str) -> str | None:
        """Why the task stopped; None while it lives, or where that cannot be known."""


@value_class
class Outcome:
    """How the attempt ended.

    Attributes:
        ok: True for a success.
        text: For a person: `SUCCEEDED, took 1m 20s`.
    """

    ok: bool
    text: str


def outcome_of(run: RunRecord | None, *, attempt: int, before: RunRecord | None, now: datetime) -> Outcome | None:
    """How that attempt of the run ended; None while it is open.

    A later attempt counts too: somebody else's start, or a retry, has then taken the run on.

    Args:
        run: The run as it stands.
        attempt: The number that the started attempt was to have.
        before: The run as it stood before the start.
        now: Aware.
    """
    if run is None:
        return None
    is_news = before is None or run.version > before.version
    never_came_up = is_news and run.status is Status.FAILED and (run.reason or "").startswith(Reason.LAUNCH_FAILED)
    if run.attempt < attempt and not never_came_up:
        return None
    match run.status:
        case Status.RUNNING:
            if run.liveness(now) is Liveness.EXPIRED:
                return Outcome(ok=False, text="lost: its owner fell silent and its lease is over")
            return None
        case Status.SUCCEEDED:
            return Outcome(ok=True, text=f"SUCCEEDED{_took(run)}")
        case _:
            return Outcome(ok=False, text=f"{run.status}{_why(run)}{_took(run)}")


class StartedAttempt:
    """An attempt whose task was started, or that was found at work.

    Attributes:
        run: The run as last seen.
        outcome: How it ended; None while it is open.
    """

    def __init__(
        self,
        runs: Runs,
        tasks: Tasks,
        *,
        job: str,
        period: str,
        attempt: int,
        before: RunRecord | None,
        task: str | None,
    ) -> None:
        """Nothing is asked yet.

        Args:
            runs: The ledger.
            tasks: ECS.
            job: Name of the job.
            period: Its period.
            attempt: The number that the attempt will have.
            before: The run as it stood before the start.
            task: ARN of the task; None for an attempt that somebody else began.
        """
        self.job, self.period, self.attempt, self.task = job, period, attempt, task
        self.run = before
        self.outcome: Outcome | None = None
        self._runs, self._tasks, self._before = runs, tasks, before
        self._looks = self._failed_looks = self._looks_after_stop = 0
        self._stopped: str | None = None

    @property
    def claimed(self) -> bool:
        """True once the ledger has the attempt."""
        return self.run is not None and self.run.attempt >= self.attempt

    def look(self, now: datetime) -> Outcome | None:
        """Ask once; the outcome, None while it is open.

        Raises:
            LedgerUnavailableError: The store did not answer for many looks on end.
        """
        self._looks += 1
        try:
            self.run = self._runs.run(self.job, self.period)
        except LedgerUnavailableError as error:
            self._failed_looks += 1
            if not error.transient or self._failed_looks >= _MOST_FAILED_LOOKS:
                raise
            return None
        self._failed_looks = 0
        self.outcome = outcome_of(self.run, attempt=self.attempt, before=self._before, now=now)
        if self.outcome is None and not self.claimed and self.task is not None:
            self.outcome = self._never_claimed(self.task)
        return self.outcome

    def _never_claimed(self, task: str) -> Outcome | None:
        """Not for ever: a task that stopped before it claimed leaves the row as it was."""
        if self._stopped is None and self._looks % _LOOKS_PER_QUESTION == 0:
            with suppress(CallUnavailableError, CallRefusedError):
                self._stopped = self._tasks.stop_reason(task)
        if self._stopped is None:
            return None
        self._looks_after_stop += 1
        if self._looks_after_stop <= _LOOKS_AFTER_STOP:
            return None
        return Outcome(ok=False, text=f"not run: its {short_owner(task)} stopped before it claimed: {self._stopped}")


def _took(run: RunRecord) -> str:
    if run.claimed_at is None or run.finished_at is None or run.status in (Status.SKIPPED, Status.MISSED):
        return ""
    return f", took {length(run.finished_at - run.claimed_at)}"


def _why(run: RunRecord) -> str:
    blocked_by = f" with {visible(run.blocked_by)}" if run.blocked_by else ""
    why = why_ended(run.reason, run.exit_code, run.error) + blocked_by
    return f": {why}" if why else ""
