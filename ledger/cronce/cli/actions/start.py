"""Start tasks for a person: check the ledger first, then ask ECS."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from cronce.cli.actions.follow import StartedAttempt
from cronce.cli.actions.may_start import Refuse, Start, in_words
from cronce.client.ledger import Ledger
from cronce.operate.advice import Commands
from cronce.protocol.by_person import variables_of
from cronce.protocol.records import RunRecord
from cronce.protocol.requests import RefusalReason
from cronce.vocabulary.errors import RecordUnreadableError
from cronce.vocabulary.names import checked_line
from cronce.vocabulary.states import Trigger

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cronce.cli.actions.follow import Tasks
    from cronce.ecs import Launched, NotLaunched
    from cronce.ecs.eligibility import StartableJob


class StartsRuns(Protocol):
    """Starts the work of a run: `Launcher`, or one of `cli.actions.host_start`."""

    def run(
        self,
        definition: Any,  # noqa: ANN401  # of its own kind
        period: str,
        *,
        scheduled_at: datetime | None,
        trigger: Trigger,
        attempt: int,
        environment: Mapping[str, str],
    ) -> Launched | NotLaunched:
        """Start the work, with these variables for its claim."""


class Starter:
    """Starts runs of one job."""

    def __init__(
        self,
        ledger: Ledger,
        launcher: StartsRuns,
        definition: StartableJob,
        commands: Commands,
        *,
        tasks: Tasks | None,
        trigger: Trigger,
        actor: str,
        reason: str | None = None,
        force: bool = False,
    ) -> None:
        """Check the reason and the name; nothing is read or started yet.

        Args:
            ledger: The runs.
            launcher: Starts the work.
            definition: The job.
            commands: The command lines to suggest; their period is replaced.
            tasks: Says what became of started tasks; None if nothing can.
            trigger: MANUAL or BACKFILL.
            actor: The person; recorded.
            reason: Why; recorded.
            force: True to repeat successes and to take over held runs.

        Raises:
            InputInvalidError: The reason or the name is too long.
        """
        for what, text in (("--reason", reason), ("--actor", actor)):
            if text is not None:
                checked_line(text, what=what)
        self.ledger, self.definition = ledger, definition
        self._launcher, self._tasks, self._commands = launcher, tasks, commands
        self._trigger, self._actor, self._reason, self._force = trigger, actor, reason, force

    def may_start(self, period: str) -> Start | Refuse:
        """Whether the task of that run would get its claim now."""
        from cronce.ecs.eligibility import person_may_start  # noqa: PLC0415  # only what is used is loaded

        now = datetime.now(UTC)
        try:
            decision = person_may_start(self.ledger, self.definition, period, force=self._force, now=now)
        except RecordUnreadableError as error:
            return Refuse(run=None, reason=RefusalReason.HELD, why=str(error))
        return in_words(decision, now, replace(self._commands, period=period))

    def start(self, period: str, start: Start) -> StartedAttempt | str:
        """Start the work, or return the reason why that failed.

        Raises:
            CallUnavailableError: ECS did not answer. Starting again with the same arguments starts no second task.
        """
        from cronce.ecs import NotLaunched  # noqa: PLC0415  # only what is used is loaded
        from cronce.ecs.eligibility import nominal_time  # noqa: PLC0415

        given = variables_of(start.run, forced=start.forced, actor=self._actor, reason=self._reason)
        launched = self._launcher.run(
            self.definition,
            period,
            scheduled_at=nominal_time(self.definition, start.run, period),
            trigger=self._trigger,
            attempt=start.attempt,
            environment=given,
        )
        if isinstance(launched, NotLaunched):
            return launched.reason
        return self.attempt(period, start.run, start.attempt, launched.task_arn)

    def attempt(self, period: str, run: RunRecord | None, attempt: int, task: str | None = None) -> StartedAttempt:
        """Follows that attempt; `task` is None for one that another start began."""
        return StartedAttempt(
            self.ledger,
            self._tasks,
            job=self.definition.job,
            period=period,
            attempt=attempt,
            before=run,
            task=task,
        )
