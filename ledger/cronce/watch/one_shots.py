"""The next task of a run, through a one-shot schedule of EventBridge: arrange it, or leave the run to a person."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cronce.aws.errors import CallRefusedError
from cronce.client.ledger import Ledger
from cronce.client.reporting import report
from cronce.ecs import JobDefinition, Launcher
from cronce.protocol.records import RunRecord
from cronce.protocol.retrying import Leave, Relaunch
from cronce.vocabulary.errors import InputInvalidError
from cronce.vocabulary.states import Trigger
from cronce.watch.launches import Bus, leave_run_to_a_person


@dataclass(frozen=True, kw_only=True)
class OneShots:
    """Arranges tasks through one-shot schedules.

    Attributes:
        name: The table's name, a dimension of the metrics.
    """

    ledger: Ledger
    launcher: Launcher
    bus: Bus
    name: str

    def carry_out(
        self, decision: Relaunch | Leave, run: RunRecord, job: JobDefinition, *, trigger: Trigger, now: datetime
    ) -> dict[str, Any]:
        """Do it, and say what was done. A run that no machine starts again is left to a person.

        Raises:
            LedgerUnavailableError: The ledger did not answer; doing it again is safe.
            CallUnavailableError: EventBridge Scheduler did not answer; as above.
        """
        if isinstance(decision, Relaunch):
            try:
                self.arrange(decision, run, job, trigger=trigger, now=now)
            except (CallRefusedError, InputInvalidError) as error:
                report("not_relaunched", level="ERROR", job=job.job, period=run.period, error=str(error))
                decision = Leave(str(error), for_person=True)
        if isinstance(decision, Leave):
            report("not_relaunched", job=job.job, period=run.period, why=decision.why)
            if decision.for_person:
                self.leave_to_a_person(run, decision.why, job)
            return {"left": decision.why}
        attempt, launch = decision.attempt, decision.launch
        report("relaunched", job=job.job, period=run.period, ledger=self.name, attempt=attempt, launch=launch)
        return {"relaunched": {"attempt": attempt, "launch": launch}}

    def arrange(
        self, decision: Relaunch, run: RunRecord, job: JobDefinition, *, trigger: Trigger, now: datetime
    ) -> None:
        """Create the one-shot schedule, by the job's current definition; that it exists already is no error.

        Raises:
            CallUnavailableError: EventBridge Scheduler did not answer.
            CallRefusedError: EventBridge Scheduler rejects the schedule.
        """
        self.launcher.run_later(
            job,
            run.period,
            scheduled_at=run.scheduled_at,
            trigger=trigger,
            attempt=decision.attempt,
            launch=decision.launch,
            not_before=now + decision.delay,
        )

    def leave_to_a_person(self, run: RunRecord, why: str, job: JobDefinition) -> None:
        """See `leave_run_to_a_person`.

        Raises:
            LedgerUnavailableError: The ledger did not answer; calling again is safe.
        """
        leave_run_to_a_person(self.ledger, self.bus, run, why, job, name=self.name)
