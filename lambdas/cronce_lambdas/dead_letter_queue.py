"""Messages of the dead-letter queue: record ticks that could not be started, and arrange a machine's launch again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cronce import Ledger, Status
from cronce.client.observer import Observer
from cronce.client.reporting import report
from cronce.client.time_source import Clock
from cronce.ecs import JobDefinition, Launcher
from cronce.operate.event_bus import EventBus
from cronce.protocol.records import RunRecord
from cronce.vocabulary.states import Reason
from cronce.watch.notices import ignored, missed
from cronce.watch.one_shots import OneShots
from cronce_lambdas.dead_letters import DeadLetter
from cronce_lambdas.event_check import foreign_letter, in_the_future, no_tick
from cronce_lambdas.relaunch import FailedLaunch, after_launch


class Letters:
    """Processes what EventBridge Scheduler could not deliver. A letter is only a hint (`event_check`)."""

    def __init__(self, *, ledger: Ledger, launcher: Launcher, launches: OneShots, bus: EventBus, clock: Clock) -> None:
        self._ledger = ledger
        self._launcher = launcher
        self._launches = launches
        self._bus = bus
        self._clock = clock

    def process(self, letter: DeadLetter, record: Mapping[str, Any]) -> None:
        """Record the letter, if it fits the definition of the job that it names.

        Raises:
            CronceError: It could not be done.
        """
        job = self._launcher.known(letter.job) if letter.job else self._launcher.defined_by(letter.schedule)
        if job is not None and letter.job is None and letter.scheduled_at is not None:
            letter = replace(letter, period=job.period_of(letter.scheduled_at))
        if job is None:
            why: str | None = "no schedule of the group is for its job"
            run = None
        else:
            run = self._ledger.run(job.job, letter.period)
            why = self._unfit(letter, job, run)
        if job is None or why is not None:
            report("dead_letter_let_go", level="ERROR", error=why, body=beginning_of(record))
            ignored(str(why), letter.job or "", letter.period, letter.schedule_arn)
            return
        self._record(letter, job, run)

    def _unfit(self, letter: DeadLetter, job: JobDefinition, run: RunRecord | None) -> str | None:
        if in_the_future(letter.period, letter.scheduled_at, self._clock.now()):
            return "its period has not come yet"
        return foreign_letter(letter, job) or (
            no_tick(job, letter.period, letter.scheduled_at) if run is None else None
        )

    def _record(self, letter: DeadLetter, job: JobDefinition, before: RunRecord | None) -> None:
        reason = f"{Reason.LAUNCH_FAILED}: {letter.code}"
        run = Observer(self._ledger).mark_missed(
            job.job, letter.period, reason=reason, scheduled_at=letter.scheduled_at, error=letter.message or None
        )
        if run.status is Status.MISSED and run.reason == reason:
            guessed = before is not None and before.reason in (Reason.NEVER_DELIVERED, Reason.NEVER_CLAIMED)
            self._bus.put([missed(run, ledger=self._launches.name, counted=guessed)])
        else:
            error = letter.message
            report("dead_letter", level="ERROR", job=job.job, period=run.period, status=run.status, error=error)
        failed = FailedLaunch.of_letter(letter, known=before is not None)
        if failed.by_machine and run.status in (Status.FAILED, Status.MISSED):
            now = self._clock.now()
            decision = after_launch(failed, run, policy=job.policy, enabled=job.enabled, now=now)
            self._launches.carry_out(decision, run, job, trigger=letter.trigger, now=now)


def beginning_of(record: Mapping[str, Any]) -> str:
    """The beginning of a message's body, for the log."""
    return str(record.get("body"))[:1000]
