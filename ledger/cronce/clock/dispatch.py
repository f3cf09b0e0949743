"""One tick, from the ledger's yes to its end: claim, call the target, complete."""

from __future__ import annotations

from datetime import datetime
from enum import Enum, auto

from cronce.client.claim import Claim, Refusal
from cronce.client.ledger import Ledger
from cronce.client.reporting import report
from cronce.client.time_source import Clock, StopSignal
from cronce.clock.config import SEPARATOR, ClockJob
from cronce.clock.delivery import Delivery, DispatchFailedError, DispatchGivenUpError, Send
from cronce.clock.plan import Verdict, dispatch_lease, judge, pause_before
from cronce.protocol.records import may_be_claimed
from cronce.protocol.requests import RefusalReason
from cronce.vocabulary.errors import LeaseLostError, LedgerUnavailableError
from cronce.vocabulary.names import period_of
from cronce.vocabulary.policy import ConcurrencyPolicy, Policy
from cronce.vocabulary.states import Reason, Status, Trigger
from cronce.vocabulary.values import value_class

_BETWEEN_RECORDINGS = 1.0


class Ending(Enum):
    """What a try has come to."""

    SETTLED = auto()
    """The tick needs nothing any more."""
    AGAIN = auto()
    """Nothing came of it; it has to be tried again."""
    FAILED = auto()
    """The target did not take it; it has to be tried again."""
    UNRESOLVED = auto()
    """Its row says that a dispatch is under way; it has to be looked at again."""


@value_class
class Outcome:
    """The end of a try.

    Attributes:
        answered: True if the target took the tick, False if it said nothing in time; None if neither.
    """

    ending: Ending
    answered: bool | None = None


@value_class(kw_only=True)
class Order:
    """A tick to be brought to its end.

    Attributes:
        tries: Which try this is, from 1.
        failed_at: When a try failed first; None if none did.
    """

    job: ClockJob
    tick: datetime
    verdict: Verdict
    tries: int = 1
    failed_at: datetime | None = None
    unresolved: bool = False


class Dispatcher:
    """Carries out orders, each in a call that takes a while. Safe to use from several threads."""

    def __init__(
        self, ledger: Ledger, *, clock_name: str, send: Send, clock: Clock, stop: StopSignal, give_up: StopSignal
    ) -> None:
        """Take what is needed.

        Args:
            ledger: Where the rows are.
            clock_name: The clock's name; rows are those of `<clock>:<job>`.
            send: Calls the targets.
            clock: Where time comes from.
            stop: Set when this process is asked to stop; the ledger is then not insisted on for long.
            give_up: Set when it cannot wait any longer.
        """
        self._ledger = ledger
        self._clock_name = clock_name
        self._send = send
        self._clock = clock
        self._stop = stop
        self._give_up = give_up

    def row_job(self, job: ClockJob) -> str:
        """What the job is called in the ledger, in log lines and as a metric's dimension."""
        return f"{self._clock_name}{SEPARATOR}{job.name}"

    def carry_out(self, order: Order) -> Outcome:
        """Bring the tick as far as it comes now; what happened to it is in the log. Never raises."""
        try:
            if order.unresolved and not self._may_be_free(order):
                return Outcome(Ending.UNRESOLVED)
            match order.verdict:
                case Verdict.MISS:
                    return self._miss(order)
                case Verdict.ON_TIME | Verdict.CATCH_UP:
                    return self._dispatch(order)
        except LedgerUnavailableError as error:
            if order.tries == 1:
                self._tell("unavailable", order, level="ERROR", message=f"{error}; the tick waits")
        except Exception as error:  # noqa: BLE001  # whatever it is, the other ticks go on
            self._tell("tick_unclear", order, level="ERROR", error=repr(error))
        return Outcome(Ending.AGAIN)

    def _may_be_free(self, order: Order) -> bool:
        """A read costs less than a claim that is refused."""
        return may_be_claimed(self._ledger.run(self.row_job(order.job), period_of(order.tick)), self._clock.now())

    def _miss(self, order: Order) -> Outcome:
        row = self._ledger.mark_missed(
            self.row_job(order.job), period_of(order.tick), reason=Reason.TOO_LATE, scheduled_at=order.tick
        )
        match row.status:
            case Status.MISSED:
                self._tell("tick_missed", order, level="ERROR", reason=Reason.TOO_LATE)
            case Status.RUNNING:
                return Outcome(Ending.UNRESOLVED)
            case Status.FAILED if row.failures <= order.job.backoff_limit:
                self._tell("tick_failed", order, level="ERROR", attempt=row.attempt, error=row.error or row.reason)
            case _:
                self._tell("tick_refused", order, reason=row.status)
        return Outcome(Ending.SETTLED)

    def _dispatch(self, order: Order) -> Outcome:
        job, caught_up = order.job, order.verdict is Verdict.CATCH_UP
        policy = Policy(
            concurrency_policy=ConcurrencyPolicy.ALLOW,
            starting_deadline=None if caught_up else job.starting_deadline,
            backoff_limit=job.backoff_limit,
            lease=dispatch_lease(job),
        )
        claim = self._ledger.claim(
            self.row_job(job),
            period_of(order.tick),
            policy=policy,
            scheduled_at=order.tick,
            trigger=Trigger.CATCH_UP if caught_up else Trigger.SCHEDULE,
            stop=self._stop,
        )
        return self._refused(order, claim) if isinstance(claim, Refusal) else self._call(order, claim)

    def _refused(self, order: Order, refusal: Refusal) -> Outcome:
        match refusal.reason:
            case RefusalReason.RUNNING_ELSEWHERE:
                return Outcome(Ending.UNRESOLVED)
            case RefusalReason.INTERRUPTED | RefusalReason.LEASE_LOST:
                return Outcome(Ending.AGAIN)
            case RefusalReason.TOO_LATE:
                self._tell("tick_missed", order, level="ERROR", reason=Reason.TOO_LATE)
            case RefusalReason.ALREADY_SUCCEEDED:
                self._tell("tick_refused", order, reason=refusal.reason)
            case _:
                self._tell("tick_refused", order, level="ERROR", reason=refusal.reason, message=str(refusal))
        return Outcome(Ending.SETTLED)

    def _call(self, order: Order, claim: Claim) -> Outcome:
        try:
            # This process may have been stopped since the claim: it acts only on one that lasts long enough.
            if claim.lost or claim.trust_left < order.job.timeout.total_seconds() or self._give_up.is_set():
                claim.interrupt("the clock was stopped before it called the target")
                return Outcome(Ending.AGAIN)
            try:
                receipt = self._send(
                    Delivery(
                        job=order.job,
                        period=claim.period,
                        scheduled_at=order.tick,
                        trigger=claim.record.trigger,
                        give_up=self._give_up,
                    )
                )
            except DispatchGivenUpError as error:
                claim.interrupt(str(error))
                return Outcome(Ending.AGAIN)
            except DispatchFailedError as error:
                return self._failed(order, claim, str(error), timed_out=error.timed_out)
            except Exception as error:  # noqa: BLE001  # an SDK's own, or ours: the tick failed
                return self._failed(order, claim, repr(error), timed_out=False)
        except LeaseLostError as lost:
            self._tell("tick_unclear", order, level="ERROR", attempt=claim.attempt, error=str(lost))
            return Outcome(Ending.UNRESOLVED)
        lateness = round((self._clock.now() - order.tick).total_seconds(), 3)
        self._record(order, claim, receipt)
        trigger = claim.record.trigger
        self._tell("tick_dispatched", order, attempt=claim.attempt, trigger=trigger, lateness=lateness, receipt=receipt)
        return Outcome(Ending.SETTLED, answered=True)

    def _record(self, order: Order, claim: Claim, receipt: str | None) -> None:
        """Complete the row, however long the ledger is away: what was dispatched must not be dispatched again."""
        while True:
            try:
                claim.complete(receipt)
            except LeaseLostError as lost:
                if isinstance(lost.__cause__, LedgerUnavailableError) and not self._give_up.is_set():
                    self._clock.wait(self._give_up, _BETWEEN_RECORDINGS)
                    continue
                self._tell("tick_unclear", order, level="ERROR", attempt=claim.attempt, error=f"dispatched, but {lost}")
            return

    def _failed(self, order: Order, claim: Claim, error: str, *, timed_out: bool) -> Outcome:
        claim.fail(error)
        answered = False if timed_out else None
        now = self._clock.now()
        again = judge(order.job, order.tick, now + pause_before(order.tries), failed_at=order.failed_at or now)
        if claim.record.failures > order.job.backoff_limit or again is Verdict.MISS:
            self._tell("tick_failed", order, level="ERROR", attempt=claim.attempt, error=error)
            return Outcome(Ending.SETTLED, answered)
        self._tell("tick_retrying", order, attempt=claim.attempt, error=error)
        return Outcome(Ending.FAILED, answered)

    def _tell(self, event: str, order: Order, *, level: str = "INFO", **fields: object) -> None:
        period = period_of(order.tick)
        report(event, level=level, clock=self._clock_name, job=self.row_job(order.job), period=period, **fields)
