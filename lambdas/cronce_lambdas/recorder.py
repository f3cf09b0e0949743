"""A task stopped, or could not start: settle its run, and arrange the next task if the run needs one.

Subscribe `handler` to the EventBridge events "ECS Task State Change" with `lastStatus` STOPPED, and map
the ledger's dead-letter queue to it, with `ReportBatchItemFailures`. Events may be late, duplicate, out of
order, foreign or forged; none of these changes a final run.

What an event says is only a hint. The row of a run that the stopped task itself claimed is evidence, and is settled
whatever else the event says. Everything else follows from the job's own definition: an event that does not fit it
changes nothing, and is counted (`event_check`).

The next task starts through a one-shot schedule whose name is derived from the launch. A duplicate event
therefore arranges nothing twice (docs/adr/0007-one-shot-launches.md).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from typing import Any

from cronce import CronceError, Ledger, LedgerUnavailableError, RecordUnreadableError, Status
from cronce.client.leadership import LEADER
from cronce.client.observer import Observer
from cronce.client.reporting import report
from cronce.client.time_source import Clock, SystemClock
from cronce.ecs import CallUnavailableError, JobDefinition, Launcher
from cronce.operate.event_bus import EventBus
from cronce.protocol.records import RunRecord
from cronce.protocol.retrying import after_attempt, never_began
from cronce.vocabulary.payloads import shortened
from cronce.vocabulary.states import Reason, Trigger
from cronce.watch.due_ticks import names_its_own_periods
from cronce.watch.notices import ignored, missed
from cronce.watch.one_shots import OneShots
from cronce_lambdas.dead_letter_queue import Letters, beginning_of
from cronce_lambdas.dead_letters import dead_letter, returned_event
from cronce_lambdas.event_check import account_of, foreign_task, in_the_future, is_settled, no_tick
from cronce_lambdas.relaunch import FailedLaunch, after_launch, may_have_been_refused
from cronce_lambdas.settings import Settings
from cronce_lambdas.stopped_task import StoppedTask, stopped_replica, stopped_task

OWNER = "cronce:recorder"
"""The owner in the rows that the recorder writes."""

_NEWEST = 100
"""How many of a job's runs are read to find the one that a task claimed under a period of its own choice."""

Answer = dict[str, Any]


def handler(event: Mapping[str, Any], context: object) -> Answer:
    """Process an event about a stopped task, or messages of the dead-letter queue; return what was done.

    Raises:
        LedgerUnavailableError: The ledger did not answer; Lambda delivers the event again.
        CallUnavailableError: EventBridge Scheduler did not answer; as above.
    """
    account = account_of(str(getattr(context, "invoked_function_arn", "")))
    recorder = _recorder(Settings.from_environ(os.environ), account)
    return recorder.sort(event["Records"]) if isinstance(event.get("Records"), list) else recorder.settle(event)


class Recorder:
    """Settles runs in a ledger, and starts tasks through its schedule group."""

    def __init__(
        self,
        settings: Settings,
        *,
        ledger: Ledger,
        launcher: Launcher,
        bus: EventBus,
        clock: Clock | None = None,
        account: str = "",
    ) -> None:
        """Use the parts; nothing is called yet.

        Args:
            settings: Which ledger, and what is pinned.
            ledger: The ledger.
            launcher: Finds the jobs' definitions.
            bus: Where events go.
            clock: Where time comes from; None for this host's clock.
            account: The account that this runs in; empty if unknown.
        """
        self._settings = settings
        self._ledger = ledger
        self._launcher = launcher
        self._clock = clock or SystemClock()
        self._account = account
        self._bus = bus
        self._launches = OneShots(ledger=ledger, launcher=launcher, bus=bus, name=settings.ledger_name)
        self._letters = Letters(ledger=ledger, launcher=launcher, launches=self._launches, bus=bus, clock=self._clock)

    def settle(self, event: Mapping[str, Any]) -> Answer:
        """Settle the run of the stopped task, and arrange its next task if it needs one.

        Raises:
            LedgerUnavailableError: The ledger did not answer.
            CallUnavailableError: EventBridge Scheduler did not answer.
        """
        task = stopped_task(event)
        if task is not None and self._account and task.account != self._account:
            return ignored("it is of another account", task.job, task.period, task.arn)
        try:
            return self._settle_leader(event) if task is None else self._settle_task(task)
        except RecordUnreadableError as error:
            report("row_unreadable", level="ERROR", ledger=self._settings.ledger_name, error=str(error))
            return {"ignored": str(error)}

    def sort(self, records: list[Mapping[str, Any]]) -> Answer:
        """Process messages of the dead-letter queue; the answer names those to deliver again.

        The Lambda Developer Guide, "Implementing partial batch responses", documents the answer.
        A message that cannot be used is reported and dropped. One that fails never fails another.
        """
        again: list[dict[str, str]] = []
        for record in records:
            try:
                self._sort_one(record)
            except RecordUnreadableError as error:
                report("row_unreadable", level="ERROR", ledger=self._settings.ledger_name, error=str(error))
            except (LedgerUnavailableError, CallUnavailableError) as error:
                report("unavailable", level="ERROR", error=str(error))
                again.append({"itemIdentifier": str(record.get("messageId", ""))})
            except CronceError as error:
                report("dead_letter_let_go", level="ERROR", error=str(error), body=beginning_of(record))
            except Exception as error:  # noqa: BLE001  # a defect must not hold up the other messages
                report("dead_letter_failed", level="ERROR", error=repr(error), body=beginning_of(record))
                again.append({"itemIdentifier": str(record.get("messageId", ""))})
        return {"batchItemFailures": again}

    def _settle_task(self, task: StoppedTask) -> Answer:
        run = self._ledger.run(task.job, task.period)
        if run is not None and is_settled(run, task.arn):
            self._tell_of_lateness(run, task)
            return {"status": run.status.value}
        job = self._launcher.known(task.job)
        if job is None:
            return self._settle_without_definition(task, run)
        why = foreign_task(task, job)
        if why is None and in_the_future(task.period, task.scheduled_at, self._clock.now()):
            why = "its period has not come yet"
        if why is not None:
            return ignored(why, task.job, task.period, task.arn)
        known = run is not None
        if run is None or never_began(run):
            found = self._record_unclaimed(task, job, run)
        else:
            found = self._record_stopped(task, run)
        if isinstance(found, RunRecord):
            return {"status": found.status.value, **self._go_on(task, found, job, known=known)}
        return found

    def _tell_of_lateness(self, run: RunRecord, task: StoppedTask) -> None:
        """Report, once, a run that this very task did not start because it came after its starting deadline."""
        if run.reason == Reason.TOO_LATE and run.owner == task.arn and not run.note:
            self._bus.put([missed(run, ledger=self._settings.ledger_name)])
            Observer(self._ledger).give_up(run, "no machine starts it again: it came after its starting deadline")

    def _settle_without_definition(self, task: StoppedTask, run: RunRecord | None) -> Answer:
        """Settle a run that the task itself claimed. A job without a schedule gets no other row, and no other task."""
        if run is None or run.owner != task.arn:
            return ignored("no schedule of the group runs its job", task.job, task.period, task.arn)
        run = self._record_stopped(task, run)
        return {"status": run.status.value, "left": "no schedule of the group runs its job"}

    def _record_stopped(self, task: StoppedTask, run: RunRecord) -> RunRecord:
        """The run that this task claimed, settled if the task did not settle it."""
        run = (
            Observer(self._ledger).mark_stopped(
                run.job, run.period, owner=task.arn, exit_code=task.exit_code, error=shortened(task.cause)
            )
            or run
        )
        self._report("recorded", run, task)
        return run

    def _record_unclaimed(self, task: StoppedTask, job: JobDefinition, run: RunRecord | None) -> RunRecord | Answer:
        """The row of a tick that no task claimed, with what this task says about it."""
        if run is None and (why := no_tick(job, task.period, task.scheduled_at)):
            return self._claimed_otherwise(task, job) or ignored(why, task.job, task.period, task.arn)
        if run is None and (found := self._claimed_otherwise(task, job)):
            return found
        done = task.exit_code == 0 and task.may_have_worked
        if done and run is not None and may_have_been_refused(run, job.policy, self._clock.now()):
            return {"status": run.status.value, "left": "its task may have asked, and been refused"}
        before = run
        run = Observer(self._ledger).mark_not_started(
            job.job,
            task.period,
            owner=task.arn,
            error=task.cause,
            scheduled_at=task.scheduled_at,
            trigger=task.trigger,
            exit_code=task.exit_code,
            reason=Reason.UNCLAIMED if done else Reason.LAUNCH_FAILED,
        )
        started = run.owner == task.arn and run.reason == Reason.LAUNCH_FAILED
        self._report("launch_failed" if started and run != before else "recorded", run, task)
        return run

    def _claimed_otherwise(self, task: StoppedTask, job: JobDefinition) -> RunRecord | Answer | None:
        """The run that the task claimed under a period of its own choice; None if the job takes its ticks' periods."""
        runs = self._ledger.page(task.job, limit=_NEWEST).runs
        for run in runs:
            if run.owner == task.arn:
                return self._record_stopped(task, run)
        if task.scheduled_at and names_its_own_periods(job, runs, task.scheduled_at):
            report("not_judged", level="ERROR", job=task.job, period=task.period, owner=task.arn, error=task.cause)
            return {"ignored": "the job names its own periods, and the task claimed none"}
        return None

    def _go_on(self, task: StoppedTask, run: RunRecord, job: JobDefinition, *, known: bool) -> Answer:
        """Arrange the next task of the run, if it gets one; the answer says what and why."""
        if run.status not in (Status.FAILED, Status.MISSED):
            return {}
        now = self._clock.now()
        if run.owner == task.arn and run.attempt > 0:
            decision = after_attempt(run, policy=job.policy, enabled=job.enabled)
        else:
            failed = FailedLaunch.of_task(task, known=known)
            decision = after_launch(failed, run, policy=job.policy, enabled=job.enabled, now=now)
        return self._launches.carry_out(decision, run, job, trigger=Trigger.RETRY, now=now)

    def _sort_one(self, record: Mapping[str, Any]) -> None:
        event = returned_event(record)
        if event is not None:
            self.settle(event)
            return
        letter = dead_letter(record)
        if letter is None:
            report("dead_letter_let_go", level="ERROR", error="it names no tick of a job", body=beginning_of(record))
            return
        self._letters.process(letter, record)

    def _settle_leader(self, event: Mapping[str, Any]) -> Answer:
        """Settle the leader's row of a pinned service now, so that its standby need not wait for the lease."""
        replica = stopped_replica(event)
        for pinned in self._settings.pinned if replica else ():
            if (
                replica
                and pinned.job
                and (pinned.cluster, pinned.service) == (replica.cluster, replica.service)
                and replica.account == (account_of(pinned.cluster) or replica.account)
            ):
                run = Observer(self._ledger).mark_stopped(
                    pinned.job, LEADER, owner=replica.arn, exit_code=replica.exit_code, error=replica.cause
                )
                return {"leader": pinned.job, "status": run.status.value if run else "unknown"}
        return {"ignored": "not a stopped task of a job"}

    def _report(self, event: str, run: RunRecord, task: StoppedTask) -> None:
        report(
            event,
            job=run.job,
            period=run.period,
            ledger=self._settings.ledger_name,
            owner=task.arn,
            status=run.status,
            reason=run.reason,
            error=run.error,
        )


@cache
def _recorder(settings: Settings, account: str) -> Recorder:
    """One recorder for the life of this process: it keeps connections and the schedules it has read."""
    return Recorder(
        settings,
        ledger=Ledger.from_url(settings.url, owner=OWNER),
        launcher=Launcher(group=settings.group),
        bus=EventBus(),
        account=account,
    )
