"""A task stopped, or could not start: settle its run, and arrange the next task if the run needs one.

Subscribe `handler` to the EventBridge events "ECS Task State Change" with `lastStatus` STOPPED, and map
the ledger's dead-letter queue to it, with `ReportBatchItemFailures`. Events may be late, duplicate, out of
order, or about foreign tasks; none of these changes a final run.

The next task starts through a one-shot schedule whose name is derived from the launch. A duplicate event
therefore arranges nothing twice (docs/adr/0007-one-shot-launches.md).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from typing import Any

from cronce import CronceError, InputInvalidError, Ledger, LedgerUnavailableError, Status, Trigger
from cronce.client.leadership import LEADER
from cronce.client.reporting import report
from cronce.client.time_source import Clock, SystemClock
from cronce.ecs import CallRefusedError, CallUnavailableError, JobDefinition, JobUnknownError, Launcher
from cronce.protocol.records import RunRecord
from cronce.protocol.retrying import Leave, Relaunch, after_attempt, never_began
from cronce.vocabulary.states import Reason
from cronce_lambdas.dead_letters import dead_letter, returned_event
from cronce_lambdas.notices import Bus, missed
from cronce_lambdas.relaunch import after_launch
from cronce_lambdas.settings import Settings
from cronce_lambdas.stopped import StoppedTask, stopped_replica, stopped_task

OWNER = "cronce:recorder"
"""The owner in the rows that the recorder writes."""

Answer = dict[str, Any]


def handler(event: Mapping[str, Any], _context: object) -> Answer:
    """Process an event about a stopped task, or messages of the dead-letter queue; return what was done.

    Raises:
        LedgerUnavailableError: The ledger did not answer; Lambda delivers the event again.
        CallUnavailableError: EventBridge Scheduler did not answer; as above.
    """
    recorder = _recorder(Settings.from_environ(os.environ))
    return recorder.sort(event["Records"]) if isinstance(event.get("Records"), list) else recorder.settle(event)


class Recorder:
    """Settles runs in a ledger, and starts tasks through its schedule group."""

    def __init__(
        self, settings: Settings, *, ledger: Ledger, launcher: Launcher, bus: Bus, clock: Clock | None = None
    ) -> None:
        self._settings = settings
        self._ledger = ledger
        self._launcher = launcher
        self._bus = bus
        self._clock = clock or SystemClock()

    def settle(self, event: Mapping[str, Any]) -> Answer:
        """Settle the run of the stopped task, and arrange its next task if it needs one.

        Raises:
            LedgerUnavailableError: The ledger did not answer.
            CallUnavailableError: EventBridge Scheduler did not answer.
        """
        task = stopped_task(event)
        if task is None:
            return self._settle_leader(event)
        run = self._ledger.mark_stopped(
            task.job, task.period, owner=task.arn, exit_code=task.exit_code, error=task.cause
        )
        if run is None or never_began(run):
            if run is None and task.exit_code == 0:
                report("unclaimed", level="ERROR", job=task.job, period=task.period, owner=task.arn)
                return {"ignored": "the task never claimed its run, and calls itself done"}
            run = self._ledger.mark_not_started(
                task.job,
                task.period,
                owner=task.arn,
                error=task.cause,
                scheduled_at=task.scheduled_at,
                trigger=task.trigger,
                exit_code=task.exit_code,
            )
            event_name = "launch_failed" if run.owner == task.arn else "recorded"
        else:
            event_name = "recorded"
        report(
            event_name,
            job=task.job,
            period=task.period,
            ledger=self._settings.ledger_name,
            owner=task.arn,
            status=run.status,
            reason=run.reason,
            error=run.error,
        )
        return {"status": run.status.value, **self._go_on(task, run)}

    def sort(self, records: list[Mapping[str, Any]]) -> Answer:
        """Process messages of the dead-letter queue; the answer names those to deliver again.

        The Lambda Developer Guide, "Implementing partial batch responses", documents the answer.
        A message that cannot be used is reported and dropped.
        """
        again: list[dict[str, str]] = []
        for record in records:
            try:
                self._sort_one(record)
            except (LedgerUnavailableError, CallUnavailableError) as error:
                report("unavailable", level="ERROR", error=str(error))
                again.append({"itemIdentifier": str(record.get("messageId", ""))})
            except CronceError as error:
                report("dead_letter_let_go", level="ERROR", error=str(error), body=_beginning(record))
        return {"batchItemFailures": again}

    def _sort_one(self, record: Mapping[str, Any]) -> None:
        event = returned_event(record)
        if event is not None:
            self.settle(event)
            return
        letter = dead_letter(record)
        job = None if letter is None else letter.job or self._job_of(letter.schedule)
        if letter is None or job is None:
            report("dead_letter_let_go", level="ERROR", error="it names no tick of a job", body=_beginning(record))
            return
        reason = f"{Reason.LAUNCH_FAILED}: {letter.code}"
        run = self._ledger.mark_missed(
            job, letter.period, reason=reason, scheduled_at=letter.scheduled_at, error=letter.message or None
        )
        if run.status is Status.MISSED and run.reason == reason:
            self._bus.put([missed(run, ledger=self._settings.ledger_name)])
        else:
            report("dead_letter", level="ERROR", job=job, period=run.period, status=run.status, error=letter.message)

    def _job_of(self, schedule: str) -> str | None:
        definition = self._launcher.defined_by(schedule)
        return None if definition is None else definition.job

    def _settle_leader(self, event: Mapping[str, Any]) -> Answer:
        """Settle the leader's row of a pinned service now, so that its standby need not wait for the lease."""
        replica = stopped_replica(event)
        for pinned in self._settings.pinned if replica else ():
            if replica and pinned.job and (pinned.cluster, pinned.service) == (replica.cluster, replica.service):
                run = self._ledger.mark_stopped(
                    pinned.job, LEADER, owner=replica.arn, exit_code=replica.exit_code, error=replica.cause
                )
                return {"leader": pinned.job, "status": run.status.value if run else "unknown"}
        return {"ignored": "not a stopped task of a job"}

    def _go_on(self, task: StoppedTask, run: RunRecord) -> Answer:
        """Arrange the next task of the run, if it gets one; the answer says what and why."""
        if run.status not in (Status.FAILED, Status.MISSED):
            return {}
        claimed = run.owner == task.arn and run.attempt > 0
        try:
            definition = self._launcher.find(task.job)
            decision = self._decision(task, run, definition, claimed=claimed)
            if isinstance(decision, Leave):
                report("not_relaunched", job=task.job, period=task.period, why=decision.why)
                return {"left": decision.why}
            self._launcher.run_later(
                definition,
                task.period,
                scheduled_at=run.scheduled_at or task.scheduled_at,
                trigger=Trigger.RETRY,
                attempt=decision.attempt,
                launch=decision.launch,
                not_before=self._clock.now() + decision.delay,
            )
        except (JobUnknownError, CallRefusedError, InputInvalidError) as error:
            report("not_relaunched", level="ERROR", job=task.job, period=task.period, error=str(error))
            return {"left": str(error)}
        report(
            "relaunched",
            job=task.job,
            period=task.period,
            ledger=self._settings.ledger_name,
            attempt=decision.attempt,
            launch=decision.launch,
        )
        return {"relaunched": {"attempt": decision.attempt, "launch": decision.launch}}

    def _decision(
        self, task: StoppedTask, run: RunRecord, definition: JobDefinition, *, claimed: bool
    ) -> Relaunch | Leave:
        policy, enabled = definition.policy, definition.enabled
        if claimed:
            return after_attempt(run, policy=policy, enabled=enabled)
        return after_launch(task, run, policy=policy, enabled=enabled, now=self._clock.now())


@cache
def _recorder(settings: Settings) -> Recorder:
    """One recorder for the life of this process: it keeps connections and the schedules it has read."""
    return Recorder(
        settings,
        ledger=Ledger.from_url(settings.url, owner=OWNER),
        launcher=Launcher(group=settings.group),
        bus=Bus(),
    )


def _beginning(record: Mapping[str, Any]) -> str:
    return str(record.get("body"))[:1000]
