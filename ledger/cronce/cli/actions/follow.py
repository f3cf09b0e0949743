"""Follow an attempt until it has ended, one look at a time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from cronce.aws.errors import CallRefusedError, CallUnavailableError
from cronce.operate.wording import length, short_owner, visible, why_ended
from cronce.protocol.records import Liveness, RunRecord
from cronce.vocabulary.errors import LedgerUnavailableError
from cronce.vocabulary.states import Reason, Status

_LOOKS_PER_QUESTION = 5
"""ECS is asked at every fifth look whether a task that has not claimed yet has stopped."""

_LOOKS_AFTER_STOP = 3
"""How many looks to wait for the recorder to settle the run of a task that stopped."""

_LONGEST_UNSEEN = timedelta(minutes=10)
"""How long to wait for the claim of a task that ECS does not show, or whose ARN is not known."""

_NOTICEABLE = timedelta(seconds=15)
"""After this time without a claim a person wants to know what is waited for."""

_MOST_FAILED_LOOKS = 30
"""How many looks in a row may fail before the ledger counts as unavailable; each retries for seconds itself."""


class Runs(Protocol):
    """What this module needs of the ledger."""

    def run(self, job: str, period: str) -> RunRecord | None:
        """The run, or None."""


class Tasks(Protocol):
    """What this module needs of ECS."""

    def stop_reason(self, task_arn: str) -> str | None:
        """Why the task stopped; None while it runs. Raises `CallRefusedError` if ECS does not say."""


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """How the attempt ended.

    Attributes:
        ok: True for a success.
        text: For a person: `SUCCEEDED, took 1m 20s`.
    """

    ok: bool
    text: str


def result_of_attempt(
    run: RunRecord | None, *, attempt: int, before: RunRecord | None, now: datetime
) -> AttemptResult | None:
    """How that attempt of the run ended; None while it is open.

    A later attempt counts too: another start, or a retry, has then taken over the run.

    Args:
        run: The run as it is now.
        attempt: The number that the started attempt was to have.
        before: The run as it was before the start.
        now: Aware.
    """
    if run is None:
        return None
    is_news = before is None or run.version > before.version
    reason = (run.reason or "").partition(":")[0]
    never_came_up = is_news and run.status is Status.FAILED and reason in (Reason.LAUNCH_FAILED, Reason.UNCLAIMED)
    if run.attempt < attempt and not never_came_up:
        return None
    match run.status:
        case Status.RUNNING:
            if run.liveness(now) is Liveness.EXPIRED:
                return AttemptResult(ok=False, text="lost: its lease has expired without a heartbeat")
            return None
        case Status.SUCCEEDED:
            return AttemptResult(ok=True, text=f"SUCCEEDED{_took(run)}")
        case _:
            return AttemptResult(ok=False, text=f"{run.status}{_why(run)}{_took(run)}")


class StartedAttempt:
    """An attempt whose task was started, or that was found active.

    Attributes:
        run: The run as last seen.
        outcome: How it ended; None while it is open.
        warning: What keeps this from seeing the task; None for nothing.
    """

    def __init__(
        self,
        runs: Runs,
        tasks: Tasks | None,
        *,
        job: str,
        period: str,
        attempt: int,
        before: RunRecord | None,
        task: str | None,
    ) -> None:
        """Prepare to follow; nothing is read yet.

        Args:
            runs: The ledger.
            tasks: ECS; it is asked about `task` only, so None will do without one.
            job: Name of the job.
            period: Its period.
            attempt: The number that the attempt will have.
            before: The run as it was before the start.
            task: ARN of the task; None for an attempt that another start began, or that is arranged.
        """
        self.job, self.period, self.attempt, self.task = job, period, attempt, task
        self.run = before
        self.outcome: AttemptResult | None = None
        self._runs, self._tasks, self._before = runs, tasks, before
        self._looks = self._failed_looks = self._looks_after_stop = 0
        self._stopped: str | None = None
        self._unseen_since: datetime | None = None
        self._unseen_why = ""
        self.warning: str | None = None

    @property
    def claimed(self) -> bool:
        """True once the ledger has the attempt."""
        return self.run is not None and self.run.attempt >= self.attempt

    def look(self, now: datetime) -> AttemptResult | None:
        """Read the run once; the outcome, or None while it is open.

        Raises:
            LedgerUnavailableError: The store did not answer at many looks in a row.
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
        self.outcome = result_of_attempt(self.run, attempt=self.attempt, before=self._before, now=now)
        if self.outcome is None and not self.claimed:
            if self._tasks is None or self.task is None:
                self.outcome = self._unseen(now)
            else:
                self.outcome = self._never_claimed(self._tasks, self.task, now)
        return self.outcome

    def _unseen(self, now: datetime) -> AttemptResult | None:
        self._unseen_since = self._unseen_since or now
        if self.task is not None and now - self._unseen_since >= _NOTICEABLE:
            self.warning = (
                f"No claim has come yet. Work that does not ask the ledger makes none; this waits"
                f" {length(_LONGEST_UNSEEN)} at most."
            )
        if now - self._unseen_since <= _LONGEST_UNSEEN:
            return None
        why = (
            "Its work was not started, or did not ask the ledger."
            if self.task is not None
            else "Its task could not be started, or stopped before it claimed; the recorder's log says which."
        )
        text = (
            f"unknown: no claim came within {length(_LONGEST_UNSEEN)}. {why}"
            f" To see the run: cronce show {self.job} {self.period}"
        )
        return AttemptResult(ok=False, text=text)

    def _never_claimed(self, tasks: Tasks, task: str, now: datetime) -> AttemptResult | None:
        """A task that stopped before it claimed leaves the row as it was, so ECS is asked."""
        if self._stopped is None and self._looks % _LOOKS_PER_QUESTION == 0:
            try:
                self._stopped = tasks.stop_reason(task)
                self._unseen_since = None
            except (CallUnavailableError, CallRefusedError) as error:
                self._unseen_since, self._unseen_why = self._unseen_since or now, str(error)
                if isinstance(error, CallRefusedError) and error.code:
                    self.warning = f"ECS does not say whether the task is alive, so this waits for a claim: {error}"
        if self._unseen_since is not None and now - self._unseen_since > _LONGEST_UNSEEN:
            text = (
                f"unknown: no claim came within {length(_LONGEST_UNSEEN)}, and ECS does not say whether the task is"
                f" alive: {self._unseen_why}. Look for {short_owner(task)} in ECS; to see the run:"
                f" cronce show {self.job} {self.period}"
            )
            return AttemptResult(ok=False, text=text)
        if self._stopped is None:
            return None
        self._looks_after_stop += 1
        if self._looks_after_stop <= _LOOKS_AFTER_STOP:
            return None
        text = f"not claimed: its {short_owner(task)} stopped before it claimed the run: {self._stopped}"
        if "exit code 0" in self._stopped:
            text += ". Without 'cronce exec' before its command, its work may be done"
        return AttemptResult(ok=False, text=text)


def _took(run: RunRecord) -> str:
    if run.claimed_at is None or run.finished_at is None or run.status in (Status.SKIPPED, Status.MISSED):
        return ""
    return f", took {length(run.finished_at - run.claimed_at)}"


def _why(run: RunRecord) -> str:
    blocked_by = f" with {visible(run.blocker)}" if run.blocker else ""
    why = why_ended(run.reason, run.exit_code, run.error) + blocked_by
    return f": {why}" if why else ""
