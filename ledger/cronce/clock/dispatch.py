"""One tick from the claim to its end: claim the row, call the target, complete the row."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, auto
from itertools import count
from typing import Protocol

from cronce.client.claim import Claim
from cronce.client.ledger import Ledger, new_token
from cronce.client.observer import Observer
from cronce.client.refusal import Refusal
from cronce.client.reporting import report
from cronce.client.time_source import Clock, StopSignal
from cronce.clock.agenda import Tick
from cronce.clock.config import SEPARATOR, ClockJob
from cronce.clock.plan import Verdict, dispatch_lease, judge, pause_before
from cronce.protocol.records import MAX_CLOCK_SKEW, Pause, RunRecord, may_be_claimed
from cronce.protocol.requests import ClaimRequest, RefusalReason
from cronce.vocabulary.errors import CronceError, LeaseLostError, LedgerUnavailableError, RecordUnreadableError
from cronce.vocabulary.names import RunName, period_of
from cronce.vocabulary.policy import ConcurrencyPolicy, Policy
from cronce.vocabulary.states import Reason, Status, Trigger

_TO_STOP = timedelta(seconds=2)
"""For stopping a command, and for the answer of the ledger."""

_BETWEEN_RECORDINGS = 1.0
_MOST_RECORDINGS = 5
_MOMENT = timedelta(milliseconds=100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What a target is given: one claimed tick.

    Attributes:
        job: The job of the tick.
        period: The period of its run.
        scheduled_at: Its nominal time; None for a person's period that is no tick.
        trigger: `schedule`, `catch_up` for a late one, or a person's.
        give_up: Set when this process cannot wait any longer.
        environment: The variables with which the work claims its run, if a person starts it.
    """

    job: ClockJob
    period: str
    scheduled_at: datetime | None
    trigger: Trigger
    give_up: StopSignal
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def nominal_time(self) -> str | None:
        """`scheduled_at` as text: `2026-11-29T06:00:00Z`."""
        return None if self.scheduled_at is None else period_of(self.scheduled_at)

    @property
    def message(self) -> str:
        """The JSON text for queues, functions and buses."""
        message = {"job": self.job.name, "period": self.period, "scheduled_at": self.nominal_time}
        return json.dumps(message | ({"environment": dict(self.environment)} if self.environment else {}))


class Send(Protocol):
    """Calls the target of a delivery, within the job's `timeout`."""

    def __call__(self, delivery: Delivery) -> str | None:
        """Return the target's receipt, if it gives one.

        Raises:
            DispatchFailedError: The target did not accept the delivery.
            DispatchGivenUpError: `give_up` was set before the target accepted it.
        """


class DispatchFailedError(CronceError):
    """The target refused the tick or did not answer in time.

    Attributes:
        timed_out: True if it did not answer.
    """

    def __init__(self, message: str, *, timed_out: bool = False) -> None:
        self.timed_out = timed_out
        super().__init__(message)


class DispatchGivenUpError(CronceError):
    """The dispatch was aborted because this process ends."""


class TickEnding(Enum):
    """The result of one try."""

    SETTLED = auto()
    """Nothing is left to do."""
    AGAIN = auto()
    """Nothing happened; try again."""
    FAILED = auto()
    """The target did not accept it; try again."""
    UNRESOLVED = auto()
    """Its row says that a dispatch is in progress; look again."""


class _GiveUp:
    """Set when this process cannot wait any longer, or no longer holds the tick."""

    def __init__(self, claim: Claim, give_up: StopSignal) -> None:
        self._claim, self._give_up = claim, give_up

    def is_set(self) -> bool:
        return self._give_up.is_set() or self._claim.is_lost()

    def wait(self, timeout: float) -> bool:
        return self._give_up.wait(timeout) or self.is_set()


class Dispatcher:
    """Dispatches ticks, each in one blocking call. Safe to use from several threads.

    Attributes:
        silent: Names of the jobs whose target did not answer in time at the last try.
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        clock_name: str,
        send: Send,
        clock: Clock,
        stop: StopSignal,
        give_up: StopSignal,
        lease: timedelta = timedelta.max,
    ) -> None:
        """Make no request yet.

        Args:
            ledger: Where the rows are.
            clock_name: The clock's name; the rows are those of `<clock>:<job>`.
            send: Calls the targets.
            clock: The source of time.
            stop: Set when this process is asked to stop; a failing ledger is then not retried for long.
            give_up: Set when this process cannot wait any longer.
            lease: The clock's lease; the dispatch of a command or a task has none that is longer.
        """
        self._lease = lease
        self._ledger = ledger
        self._clock_name = clock_name
        self._send = send
        self._clock = clock
        self._stop = stop
        self._give_up = give_up
        self.silent: set[str] = set()
        self._unseen: set[str] = set()

    def row_job(self, job: ClockJob) -> str:
        """The job's name in the ledger, in log lines and as a metric's dimension."""
        return f"{self._clock_name}{SEPARATOR}{job.name}"

    def carry_out(self, tick: Tick, verdict: Verdict) -> TickEnding:
        """Do as much for the tick as is possible now, and log the result. Never raises."""
        try:
            if tick.unresolved and not self._may_be_free(tick):
                return TickEnding.UNRESOLVED
            match verdict:
                case Verdict.MISS:
                    return self._miss(tick)
                case Verdict.ON_TIME | Verdict.CATCH_UP:
                    return self._dispatch(tick, caught_up=verdict is Verdict.CATCH_UP)
        except RecordUnreadableError as error:
            self._log("tick_refused", tick, level="ERROR", reason="UNREADABLE", message=str(error))
            return TickEnding.SETTLED
        except LedgerUnavailableError as error:
            if tick.tries <= 1:
                self._log("unavailable", tick, level="ERROR", message=f"{error}; the tick waits")
        except Exception as error:  # noqa: BLE001  # whatever it is, the other ticks go on
            self._log("tick_unclear", tick, level="ERROR", error=repr(error))
        return TickEnding.AGAIN

    def _may_be_free(self, tick: Tick) -> bool:
        """A read costs less than a claim that is refused."""
        row = self._ledger.run(self.row_job(tick.job), tick.period)
        tick.free_at = _free_at(row)
        return may_be_claimed(row, self._clock.now())

    def _miss(self, tick: Tick) -> TickEnding:
        row = Observer(self._ledger).mark_missed(
            self.row_job(tick.job), tick.period, reason=Reason.TOO_LATE, scheduled_at=tick.at
        )
        match row.status:
            case Status.MISSED:
                self._log("tick_missed", tick, level="ERROR", reason=Reason.TOO_LATE)
            case Status.RUNNING:
                return TickEnding.UNRESOLVED
            case Status.FAILED if row.failures <= tick.job.backoff_limit:
                self._log("tick_failed", tick, level="ERROR", attempt=row.attempt, error=row.error or row.reason)
            case _:
                self._log("tick_refused", tick, reason=row.status)
        return TickEnding.SETTLED

    def _dispatch(self, tick: Tick, *, caught_up: bool) -> TickEnding:
        job = tick.job
        row_job = self.row_job(job)
        try:  # the claim of a dispatch reads no slot
            pause = self._ledger.pause_of(row_job) or self._pause_of_started(tick)
        except RecordUnreadableError as error:
            if tick.tries <= 1:
                self._log("unavailable", tick, level="ERROR", message=f"{error}; the tick waits")
            return TickEnding.AGAIN
        if pause is not None:
            row = Observer(self._ledger).mark_paused(row_job, tick.period, pause, scheduled_at=tick.at)
            self._log("tick_refused", tick, reason=RefusalReason.PAUSED, actor=pause.by, note=pause.why)
            return TickEnding.UNRESOLVED if row.status is Status.RUNNING else TickEnding.SETTLED
        policy = Policy(
            concurrency_policy=ConcurrencyPolicy.ALLOW,
            starting_deadline=None if caught_up else job.starting_deadline,
            backoff_limit=job.backoff_limit,
            suspend=job.suspend,
            lease=dispatch_lease(job, self._lease),
        )
        ask = ClaimRequest(
            run=RunName.of(row_job, tick.period, tick.at),
            token=new_token(),
            owner=self._ledger.owner,
            policy=policy,
            trigger=Trigger.CATCH_UP if caught_up else Trigger.SCHEDULE,
            has_slot=False,
        )
        claim = self._ledger.submit(ask, stop=self._stop)
        return self._refused(tick, claim) if isinstance(claim, Refusal) else self._call(tick, claim)

    def _pause_of_started(self, tick: Tick) -> Pause | None:
        """The pause of the job that the target starts; None also if this process may not read that job's slot.

        In that case the claim of the started work decides: it is refused while its job is paused.

        Raises:
            RecordUnreadableError: That slot cannot be read. No machine starts a run of the job then.
            LedgerUnavailableError: The store did not answer.
        """
        started = tick.job.started
        try:
            return self._ledger.pause_of(started)
        except RecordUnreadableError:
            raise
        except LedgerUnavailableError as error:
            if error.transient:
                raise
            if started not in self._unseen:
                self._unseen.add(started)
                self._log("pause_not_seen", tick, level="WARNING", started=started, message=str(error))
            return None

    def _refused(self, tick: Tick, refusal: Refusal) -> TickEnding:
        match refusal.reason:
            case RefusalReason.RUNNING_ELSEWHERE:
                tick.free_at = _free_at(refusal.record)
                return TickEnding.UNRESOLVED
            case RefusalReason.INTERRUPTED | RefusalReason.LEASE_LOST:
                return TickEnding.AGAIN
            case RefusalReason.TOO_LATE:
                self._log("tick_missed", tick, level="ERROR", reason=Reason.TOO_LATE)
            case RefusalReason.ALREADY_SUCCEEDED | RefusalReason.SUSPENDED:
                self._log("tick_refused", tick, reason=refusal.reason)
            case _:
                self._log("tick_refused", tick, level="ERROR", reason=refusal.reason, message=str(refusal))
        return TickEnding.SETTLED

    def _call(self, tick: Tick, claim: Claim) -> TickEnding:
        try:
            # The process may have been paused since the claim. Call the target only if the claim lasts long enough.
            whole_try = tick.job.timeout
            if claim.lease * 4 / 5 < whole_try + _TO_STOP:  # a command or a task, see `dispatch_lease`
                claim.start_heartbeat()
                whole_try = timedelta(0)
            if claim.is_lost() or claim.trust_left < whole_try.total_seconds() or self._give_up.is_set():
                claim.interrupt("the clock was stopped before it called the target")
                return TickEnding.AGAIN
            try:
                receipt = self._send(
                    Delivery(
                        job=tick.job,
                        period=claim.period,
                        scheduled_at=tick.at,
                        trigger=claim.record.trigger,
                        give_up=_GiveUp(claim, self._give_up),
                    )
                )
            except DispatchGivenUpError as error:
                claim.interrupt(str(error))
                return TickEnding.AGAIN
            except DispatchFailedError as error:
                if error.timed_out:
                    self.silent.add(tick.job.name)
                return self._failed(tick, claim, str(error))
            except Exception as error:  # noqa: BLE001  # an SDK's own, or ours: the try failed
                return self._failed(tick, claim, repr(error))
        except LeaseLostError as lost:
            self._log("tick_unclear", tick, level="ERROR", attempt=claim.attempt, error=str(lost))
            return TickEnding.UNRESOLVED
        self.silent.discard(tick.job.name)
        lateness = round((self._clock.now() - tick.at - tick.job.delay).total_seconds(), 3)
        self._record(tick, claim, receipt)
        trigger = claim.record.trigger
        self._log("tick_dispatched", tick, attempt=claim.attempt, trigger=trigger, lateness=lateness, receipt=receipt)
        return TickEnding.SETTLED

    def _record(self, tick: Tick, claim: Claim, receipt: str | None) -> None:
        """Complete the row: a dispatched tick must not be dispatched again. Never raises.

        Retries while the ledger is away, and a few times after an error that is nobody's.
        """
        for tries in count(1):
            try:
                claim.complete(receipt)
            except LeaseLostError as lost:
                if _may_pass(lost.__cause__) and not self._give_up.is_set():
                    self._clock.wait(self._give_up, _BETWEEN_RECORDINGS)
                    continue
                self._log("tick_unclear", tick, level="ERROR", attempt=claim.attempt, error=f"dispatched, but {lost}")
            except Exception as error:  # noqa: BLE001  # the tick was dispatched, whatever this is
                if tries < _MOST_RECORDINGS and not self._give_up.is_set():
                    self._clock.wait(self._give_up, _BETWEEN_RECORDINGS)
                    continue
                message = f"dispatched, but not recorded: {error!r}"
                self._log("tick_unclear", tick, level="ERROR", attempt=claim.attempt, error=message)
            return

    def _failed(self, tick: Tick, claim: Claim, error: str) -> TickEnding:
        claim.fail(error)
        now = self._clock.now()
        again = judge(tick.job, tick.at, now + pause_before(tick.tries), failed_at=tick.failed_at or now)
        if claim.record.failures > tick.job.backoff_limit or again is Verdict.MISS:
            self._log("tick_failed", tick, level="ERROR", attempt=claim.attempt, error=error)
            return TickEnding.SETTLED
        self._log("tick_retrying", tick, attempt=claim.attempt, error=error)
        return TickEnding.FAILED

    def _log(self, event: str, tick: Tick, *, level: str = "INFO", **fields: object) -> None:
        report(event, level=level, clock=self._clock_name, job=self.row_job(tick.job), period=tick.period, **fields)


def _may_pass(cause: BaseException | None) -> bool:
    """True if the ledger was away; False if the row is somebody else's or cannot be read."""
    return isinstance(cause, LedgerUnavailableError) and not isinstance(cause, RecordUnreadableError)


def _free_at(row: RunRecord | None) -> datetime | None:
    """When the row may be taken over if its owner renews it no more."""
    expires = row.lease_until if row is not None else None
    return None if expires is None else expires + MAX_CLOCK_SKEW + _MOMENT
