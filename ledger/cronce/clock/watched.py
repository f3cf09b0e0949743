"""A clock's jobs as a watchdog sees them, and one watchdog over them, for ledgers without Lambda functions."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from cronce.client.ledger import Ledger
from cronce.client.reporting import report
from cronce.client.time_source import Clock, SystemClock
from cronce.clock.config import ClockJob
from cronce.clock.dispatch import Delivery, DispatchFailedError, Send
from cronce.protocol.records import RunRecord
from cronce.protocol.retrying import Relaunch
from cronce.schedule import PeriodForm
from cronce.vocabulary.environment import TRIGGER
from cronce.vocabulary.names import scheduled_time_of
from cronce.vocabulary.policy import Policy
from cronce.vocabulary.states import Trigger
from cronce.vocabulary.values import replace
from cronce.watch.launches import Bus, leave_run_to_a_person
from cronce.watch.look_at_job import Look, memories_of
from cronce.watch.memory import Memory, Timing, fingerprint
from cronce.watch.notices import Notice
from cronce.watch.readable_rows import Rows
from cronce.watch.turns import begin_look, end_look, left_by_the_last, look_at_one, time_in

_LOOK = "cronce:watchdog:clock:look"
"""The job of the row that allows one look at a time."""

_MEMORIES = "cronce:watchdog:clock"
"""The job of the rows that hold the memories. The Lambda function has others, so that both may look at one ledger."""


@dataclass(frozen=True, kw_only=True)
class WatchedClockJob:
    """A job of a clock's configuration; a `WatchedJob`. Its runs are those of the work, under the job's own name.

    Attributes:
        policy: The policy with which its work claims, with what the configuration says of catch-ups and pauses.
        created_at: When a watchdog saw it first.
        modified_at: When a watchdog first saw it as it is now.
    """

    configured: ClockJob
    policy: Policy
    created_at: datetime
    modified_at: datetime
    enabled: bool = True

    @classmethod
    def of(cls, job: ClockJob, memory: Memory | None, *, policy: Policy, now: datetime) -> WatchedClockJob:
        """The job as the configuration defines it now; a file has no dates, so they follow from the memory."""
        policy = replace(policy, catch_up=job.catch_up, suspend=policy.suspend or job.suspend)
        if memory is None:
            return cls(configured=job, policy=policy, created_at=now, modified_at=now)
        as_remembered = cls(
            configured=job, policy=policy, created_at=memory.modified_at, modified_at=memory.modified_at
        )
        same = Timing.of(as_remembered) == memory.timing and fingerprint(as_remembered.target) == memory.target
        return (
            as_remembered
            if same
            else cls(configured=job, policy=policy, created_at=memory.modified_at, modified_at=now)
        )

    @property
    def job(self) -> str:
        """The name of the work in the ledger."""
        return self.configured.name

    @property
    def schedule_name(self) -> str:
        """Its name, with an end that no spare row has."""
        return f"{self.configured.name}:"

    @property
    def expression(self) -> str:
        """When it is due."""
        return "" if self.configured.timetable is None else self.configured.timetable.expression

    @property
    def timezone(self) -> str:
        """The zone of the expression."""
        return "UTC" if self.configured.timetable is None else self.configured.timetable.timezone

    @property
    def start(self) -> datetime | None:
        """What a rate counts from."""
        return None if self.configured.timetable is None else self.configured.timetable.start

    @property
    def end(self) -> datetime | None:
        """None: a configuration has no end."""
        return None if self.configured.timetable is None else self.configured.timetable.end

    @property
    def no_success_for(self) -> timedelta | None:
        """How long it may be without a success, as the configuration says it."""
        return self.configured.alert_without_success_for

    @property
    def flexible_window(self) -> timedelta:
        """How late the clock still dispatches a tick."""
        return self.configured.starting_deadline

    @property
    def date_in(self) -> str | None:
        """The zone of whose days the periods are."""
        return self.timezone if self.configured.period_form is PeriodForm.DATE else None

    @property
    def delivers_ticks(self) -> bool:
        """True: the clock does."""
        return True

    @property
    def ticks_are_known(self) -> bool:
        """False for a job that only people start."""
        return self.configured.timetable is not None

    @property
    def target(self) -> Mapping[str, Any]:
        """What the clock calls."""
        return {"target": str(self.configured.target)}

    def period_of(self, tick: datetime) -> str:
        """The period of the run of this tick."""
        return self.configured.period(tick)

    def is_period(self, period: str) -> bool:
        """True if the period has the form of those of ticks."""
        if scheduled_time_of(period) is not None:
            return True
        try:
            return self.date_in is not None and date.fromisoformat(period).isoformat() == period
        except ValueError:
            return False


class _LogOnly:
    """The bus of a ledger without one: the line that counts a notice is its event."""

    def put(self, notices: Sequence[Notice]) -> None:
        """Do nothing more."""


class _NobodySeen:
    """Nothing lists the work of a host before it claims."""

    def periods(self, job: Any) -> frozenset[str]:  # noqa: ANN401, ARG002  # as `AtWork` has it
        """None."""
        return frozenset()


@dataclass(kw_only=True)
class _Later:
    """Calls the targets of runs after the look; the claim of the work decides whether it is needed."""

    ledger: Ledger
    bus: Bus
    name: str
    send: Send
    arranged: list[Delivery] = field(default_factory=list)

    def arrange(
        self,
        decision: Relaunch,  # noqa: ARG002  # the lease or the look was the delay
        run: RunRecord,
        job: WatchedClockJob,
        *,
        trigger: Trigger,
        now: datetime,  # noqa: ARG002
    ) -> None:
        """Note it. A target that then fails is reported; a catch-up without a claim is given up by a later look."""
        self.arranged.append(
            Delivery(
                job=job.configured,
                period=run.period,
                scheduled_at=run.scheduled_at,
                trigger=trigger,
                give_up=threading.Event(),
                environment={TRIGGER: trigger.value},
            )
        )

    def leave_to_a_person(self, run: RunRecord, why: str, job: WatchedClockJob) -> None:
        """See `leave_run_to_a_person`."""
        leave_run_to_a_person(self.ledger, self.bus, run, why, job, name=self.name)

    def call_targets(self) -> None:
        """Call each target once."""
        for delivery in self.arranged:
            try:
                self.send(delivery)
            except DispatchFailedError as error:
                job, period = delivery.job.name, delivery.period
                report("not_relaunched", level="ERROR", job=job, period=period, ledger=self.name, error=str(error))
            else:
                report("relaunched", job=delivery.job.name, period=delivery.period, ledger=self.name)


class ClockWatchdog:
    """Looks at the runs of a clock's jobs: ticks without a run, runs whose owner died, ticks to catch up."""

    def __init__(
        self,
        jobs: Sequence[ClockJob],
        *,
        ledger: Ledger,
        name: str,
        policy: Policy,
        send: Send,
        missed_after: timedelta,
        clock: Clock | None = None,
    ) -> None:
        """Make no request yet.

        Args:
            jobs: The jobs.
            ledger: Where the runs are; its owner is written into marked rows.
            name: The ledger's name, a dimension of the metrics.
            policy: The policy with which the work claims.
            send: Calls the targets.
            missed_after: How long after the clock's starting deadline a run may be claimed.
            clock: The source of time; None for this host's clock.
        """
        self._jobs, self._ledger, self._name, self._policy = tuple(jobs), ledger, name, policy
        self._send, self._missed_after, self._clock = send, missed_after, clock or SystemClock()

    def look(self) -> dict[str, int]:
        """Look at every job once, and start what is to be started; how many of each kind were found.

        Raises:
            LedgerUnavailableError: The ledger did not answer.
        """
        claim, _ = begin_look(self._ledger, _LOOK, Rows(self._ledger, self._name))
        if claim is None:
            return {"skipped": 1}
        bus = _LogOnly()
        later = _Later(ledger=self._ledger, bus=bus, name=self._name, send=self._send)
        claim.start_heartbeat()
        try:
            now = self._clock.now()
            look = Look(
                ledger=self._ledger,
                ledger_name=self._name,
                missed_after=self._missed_after,
                launches=later,
                at_work=_NobodySeen(),
                bus=bus,
                now=now,
                looked_at=time_in(left_by_the_last(claim).get("looked_at")),
                memories=_MEMORIES,
            )
            memories = memories_of(look.rows, _MEMORIES)
            for job in self._jobs:

                def define(memory: Memory | None, job: ClockJob = job) -> WatchedClockJob:
                    return WatchedClockJob.of(job, memory, policy=self._policy, now=now)

                look_at_one(look, define, memories.get(f"{job.name}:"), job=job.name, schedule=f"{job.name}:")
                claim.check()
            claim.checkpoint({"looked_at": now.isoformat()})
            look.found["unreadable"] += look.rows.unreadable
        finally:
            end_look(claim)
        later.call_targets()
        return dict(+look.found)
