"""A held attempt with its heartbeat, and what the others get instead.

The ledger's row decides who holds the run. The claim trusts its own copy only for a part of the lease:

      request sent                     trusted_until          lease_until   + clock skew
      |--- heartbeat every quarter ---------|--- margin: a fifth ---|--- 5 s ---|
      | the work may go on                  | stop the work         | others    | others
      |                                     | (SIGTERM, SIGKILL)    | wait      | may take over

              start_heartbeat           complete, fail, interrupt
      HELD ------------------> HELD ------------------------------> SETTLED
       |                         |                                     ^
       |                         | not renewed by trusted_until,       | my own final record
       |                         | or the row is another attempt's     | is found: an answer was lost
       |                         v                                     |
       +---------------------> LOST -----------------------------------+

A failed heartbeat is retried until `trusted_until`, whatever the error is. A lost claim is never held again: `check`
raises, `cronce exec` stops its command. Trust is counted from when the request was sent, on the monotonic clock, so a
slow answer or a stepped wall clock does not extend it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from cronce.client.driver import Driver
from cronce.client.reporting import report
from cronce.protocol.holding import Held, Lost, Outcome, finish, renew
from cronce.protocol.operations import Steps
from cronce.protocol.records import RunRecord
from cronce.protocol.requests import RefusalReason
from cronce.protocol.transitions import Event
from cronce.vocabulary.errors import InputInvalidError, LeaseLostError, LedgerUnavailableError, StopRequestedError
from cronce.vocabulary.names import checked_exit_code
from cronce.vocabulary.payloads import (
    decode_json,
    encode_checkpoint,
    encode_checkpoint_text,
    encode_result,
    shortened,
)
from cronce.vocabulary.policy import Policy
from cronce.vocabulary.states import Reason, Status
from cronce.vocabulary.values import checked_member, value_class

if TYPE_CHECKING:
    from cronce.client.effects import Effect, Effects
    from cronce.protocol.effects import OnUnknown

__all__ = ["Claim", "Refusal"]

T = TypeVar("T")

_EXPLANATIONS = {
    RefusalReason.ALREADY_SUCCEEDED: "already done",
    RefusalReason.RUNNING_ELSEWHERE: "already running elsewhere",
    RefusalReason.HELD: "held for a person; 'cronce release' releases it",
    RefusalReason.ATTEMPTS_EXHAUSTED: "it failed, and no retry is left (backoff_limit); a person may run it again",
    RefusalReason.OVERLAPPING: "another run of the job is running",
    RefusalReason.TOO_LATE: "its starting deadline has passed",
    RefusalReason.SUSPENDED: "the job is suspended",
    RefusalReason.REPLACED: "a newer run replaced it (REPLACE); a person may run it again",
    RefusalReason.INTERRUPTED: "this process was asked to stop before the work began",
    RefusalReason.LEASE_LOST: "this process was too slow; its run was taken over before the work began",
}


@value_class(kw_only=True)
class Refusal:
    """Why the work must not start here. A value, not an error, and falsy.

    Attributes:
        reason: Stable, for scripts.
        record: The current row of the run; None if there is none.
    """

    job: str
    period: str
    reason: RefusalReason
    record: RunRecord | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", checked_member(RefusalReason, self.reason, what="reason"))

    def __bool__(self) -> Literal[False]:
        return False

    def __str__(self) -> str:
        """One sentence for a person: what, why, and who holds the run."""
        text = f"{self.job} {self.period} is not started: {_EXPLANATIONS[self.reason]}"
        if self.record is None:
            return text
        if self.record.blocked_by:
            return f"{text} ({self.record.blocked_by})"
        if self.reason is RefusalReason.INTERRUPTED or self.record.status in (Status.SKIPPED, Status.MISSED):
            return text  # no attempt started, and the row names the refused process
        return f"{text} (attempt {self.record.attempt} by {self.record.owner})"


class Claim:
    """A held attempt of a run. Truthy; single use.

    As a context manager it renews the lease, and settles the run at the end: success, or failure with the exception.
    Without `with`, call `heartbeat` at least every quarter of the lease and `complete` or `fail` at the end. Methods
    may be called from any thread.
    """

    def __init__(self, held: Held, driver: Driver, policy: Policy) -> None:
        """Made by `Ledger.claim`."""
        self._held = held
        self._driver = driver
        self._policy = policy
        self._claimed_at = driver.clock.now()
        self._lock = threading.RLock()
        self._lost_why: str | None = None
        self._settled = False
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._after_beat: Callable[[], None] | None = None
        self._effects: Effects | None = None

    def __bool__(self) -> Literal[True]:
        return True

    @property
    def job(self) -> str:
        """Name of the job."""
        return self._held.run.job

    @property
    def period(self) -> str:
        """The interval that this run is for. The work is for this interval, not for the current time."""
        return self._held.run.period

    @property
    def attempt(self) -> int:
        """Number of this attempt of the run, from 1."""
        return self._held.run.attempt

    @property
    def fence(self) -> int:
        """Rises with every holder of the job, so that a store of effects can refuse a smaller one."""
        return self._held.fence

    @property
    def resume_from(self) -> object:
        """The last checkpoint of an earlier attempt, or of this one; None if there is none."""
        return decode_json(self._held.run.checkpoint)

    @property
    def record(self) -> RunRecord:
        """The run as last written or seen."""
        return self._held.run

    @property
    def lease(self) -> timedelta:
        """How long the claim of a dead process is respected."""
        return self._held.lease

    @property
    def trusted_until(self) -> datetime:
        """Until when the work may go on without an answer from the ledger."""
        return self._held.trusted_until

    @property
    def trust_left(self) -> float:
        """Seconds until `trusted_until`, on the monotonic clock; 0 once the claim is lost."""
        if self._lost_why is not None:
            return 0.0
        return max(0.0, self._driver.clock.seconds_until(self._held.trusted_until))

    @property
    def settled(self) -> bool:
        """True once the end of the attempt is recorded."""
        return self._settled

    @property
    def lost(self) -> bool:
        """True once this process must no longer act. A lost claim stays lost."""
        if not self._settled and self._lost_why is None and self.trust_left <= 0:
            self._lost_why = "its lease could not be renewed in time"
        return self._lost_why is not None

    @property
    def stop_requested(self) -> Reason | None:
        """Why the work should stop although the claim is held: `replaced`, `active_deadline` or None."""
        if self._held.run.cancel_requested is not None:
            return Reason.REPLACED
        left = self.active_for
        return Reason.ACTIVE_DEADLINE if left is not None and left <= 0 else None

    @property
    def active_for(self) -> float | None:
        """Seconds until the active deadline; None without one."""
        deadline = self._policy.active_deadline
        return None if deadline is None else self._driver.clock.seconds_until(self._claimed_at + deadline)

    def check(self) -> None:
        """Return if the work may go on. Call it between the steps of long work.

        Raises:
            LeaseLostError: The claim is lost; stop at once.
            StopRequestedError: The claim is held, but the work should stop now.
        """
        self._check_held()
        if reason := self.stop_requested:
            msg = f"attempt {self.attempt} of {self.job} {self.period} should stop now: {reason}"
            raise StopRequestedError(msg)

    def heartbeat(self) -> None:
        """Renew the lease.

        Raises:
            LeaseLostError: The run is no longer this claim's, or could not be renewed in time.
        """
        self._hold(renew)

    def checkpoint(self, value: object) -> bool:
        """Store a small cursor, read back as `resume_from` by the next attempt.

        A value that cannot be stored is reported, and the earlier checkpoint stays: the work goes on.

        Returns:
            True if it was stored; False if it is not JSON or larger than 32 KB.

        Raises:
            LeaseLostError: This claim no longer holds the run.
        """
        try:
            text = encode_checkpoint(value)
        except InputInvalidError as error:
            report("checkpoint_refused", level="ERROR", job=self.job, period=self.period, message=str(error))
            return False
        self._hold(lambda held: renew(held, checkpoint=text))
        return True

    def checkpoint_text(self, text: str) -> None:
        """Store a cursor that a child of `cronce exec` sent: JSON, or any other text as a string.

        Raises:
            InputInvalidError: It is too large; nothing was written.
            LeaseLostError: This claim no longer holds the run.
        """
        encoded = encode_checkpoint_text(text)
        self._hold(lambda held: renew(held, checkpoint=encoded))

    def once(self, key: str, *, on_unknown: OnUnknown | str = "skip") -> Effect:
        """Begin an effect that must not happen twice inside this run, or learn that it must not be tried again.

        It is noted in the ledger before this returns, and again when the `with` block ends. An effect whose process
        died in between, or whose block raised an error, is UNKNOWN: it may have happened.

        Args:
            key: Name of the effect inside the run, at most 1,024 bytes, such as a customer's id.
            on_unknown: `skip` for at most once, `repeat` for at least once.

        Raises:
            InputInvalidError: The key cannot be used.
            LeaseLostError: This claim no longer holds the run; do not try the effect.
            LedgerUnavailableError: The effects of the run cannot be read or written.

        Example:
            >>> from cronce import Ledger
            >>> claim = Ledger.from_url("sqlite:///runs.db").claim("daily-digest", "2026-11-29")
            >>> with claim:
            ...     for customer in ("ann", "ben", "ann"):
            ...         with claim.once(customer) as effect:
            ...             if effect:
            ...                 print("mail to", customer)
            mail to ann
            mail to ben
        """
        return self._open_effects().once(key, on_unknown)

    def once_each(
        self,
        items: Iterable[T],
        *,
        key: Callable[[T], str] | None = None,
        batch: int = 1,
        on_unknown: OnUnknown | str = "skip",
    ) -> Iterator[T]:
        """The items whose effects are to be tried now, one after the other; for a loop in one thread.

        When the loop asks for the next item, the effect of the last one is done. One write notes that, and the next
        batch. After a crash, up to `batch` effects are UNKNOWN.

        Args:
            items: What to loop over.
            key: Makes the effect's key of an item; None if the items are the keys.
            batch: How many effects are noted with one write before they are tried.
            on_unknown: As in `once`.

        Raises:
            InputInvalidError: A value cannot be used.
            LeaseLostError: This claim no longer holds the run.
            LedgerUnavailableError: The effects of the run cannot be read or written.
        """
        return self._open_effects().once_each(items, key, batch, on_unknown)

    def step(self, name: str, work: Callable[[], Any]) -> Any:  # noqa: ANN401  # what `work` returns, as JSON keeps it
        """The result of that step of the run: of an earlier attempt if that finished it, else of `work`, called now.

        A step that an attempt did not finish is repeated by the next one.

        Args:
            name: Name of the step inside the run, at most 1,024 bytes.
            work: Does the step; returns a small JSON value, at most 32 KB.

        Raises:
            InputInvalidError: The name cannot be used, or the result cannot be stored.
            LeaseLostError: This claim no longer holds the run.
            LedgerUnavailableError: The steps of the run cannot be read or written.
        """
        return self._open_effects().step(name, work)

    def complete(self, result: object = None) -> None:
        """Record the success, and release the job for its next run.

        Args:
            result: A small JSON value; one that does not fit is truncated or omitted, and flagged.

        Raises:
            LeaseLostError: The success could not be recorded, because this claim no longer holds the run or the
                ledger was unavailable until the lease expired. The run may be repeated.
        """
        text, flag = encode_result(result)
        self._settle(Outcome(event=Event.COMPLETE, result=text, result_flag=flag))

    def fail(self, error: object = None, *, reason: Reason = Reason.ERROR, exit_code: int | None = None) -> None:
        """Record the failure, and release the job. It counts against `backoff_limit` unless the process was stopped.

        Args:
            error: What failed: a text, or an exception.
            reason: Why the attempt ended.
            exit_code: Exit code of the command, if there was one.

        Raises:
            LeaseLostError: This claim no longer holds the run; nothing was recorded.
        """
        reason = checked_member(Reason, reason, what="reason")
        exit_code = checked_exit_code(exit_code)
        imposed = reason in (Reason.INTERRUPTED, Reason.REPLACED)
        text = None if error is None else shortened(error if isinstance(error, str) else _told(error))
        self._settle(Outcome(event=Event.FAIL, reason=reason, counts=not imposed, exit_code=exit_code, error=text))

    def interrupt(self, error: str | None = None) -> None:
        """Record that the attempt was stopped from outside; it does not count, and the next claim wins at once.

        Raises:
            LeaseLostError: This claim no longer holds the run; nothing was recorded.
        """
        self.fail(error, reason=Reason.INTERRUPTED)

    def start_heartbeat(self, after: Callable[[], None] | None = None) -> None:
        """Renew the lease every quarter of its length from a thread, until the claim is settled or lost.

        Args:
            after: Called from the thread after each heartbeat, which may have found the claim lost or a request to
                stop.
        """
        self._after_beat = after
        if self._thread is None:
            self._thread = threading.Thread(target=self._beat, name="cronce-heartbeat", daemon=True)
            self._thread.start()

    def __enter__(self) -> Self:
        self.check()
        self.start_heartbeat()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if not self._settled:
                self.settle(error)
        finally:
            self._ended.set()

    def settle(self, error: BaseException | None) -> None:
        """Record the end of work that returned, or raised `error`; nothing if the claim is settled already.

        Raises:
            LeaseLostError: The success could not be recorded. Where the work failed, `error` gets a note instead.
        """
        if self._settled:
            return
        match error:
            case None:
                self.complete()
                return
            case SystemExit(code=None | 0):
                self.complete()
                return
            case LeaseLostError():
                return
            case KeyboardInterrupt() | Terminated():
                outcome = Reason.INTERRUPTED
            case StopRequestedError():
                outcome = self.stop_requested or Reason.INTERRUPTED
            case _:
                outcome = Reason.ERROR
        exit_code = error.code if isinstance(error, SystemExit) and isinstance(error.code, int) else None
        try:
            self.fail(error, reason=outcome, exit_code=exit_code)
        except LeaseLostError as lost:
            error.add_note(f"also, {lost}")

    def _open_effects(self) -> Effects:
        if self._effects is None:  # looked at first: who waits here for another thread's write cannot share it
            with self._lock:
                if self._effects is None:
                    from cronce.client.effects import Effects  # noqa: PLC0415  # only for work that uses them

                    self._effects = Effects(self._ask, self._check_held)
        return self._effects

    def _settle(self, outcome: Outcome) -> None:
        if self._effects is not None and not self._settled:
            with suppress(LeaseLostError, LedgerUnavailableError):  # what is not noted stays UNKNOWN
                self._effects.write()
        self._hold(lambda held: finish(held, outcome), ends=True)

    def _ask(self, operation: Callable[[Held], Steps[T | Lost]]) -> T:
        """Perform an operation under the held claim; its answer.

        Raises:
            LeaseLostError: The claim is lost.
            LedgerUnavailableError: The store refused the request.
        """
        with self._lock:
            if self._settled:
                raise self._already_settled()
            self._check_held()
            try:
                answer = self._driver.run(operation(self._held), self._patience_if_transient)
            except LedgerUnavailableError as error:
                if not self.lost:
                    raise
                raise self._lease_lost() from error
            if isinstance(answer, Lost):
                self._lost_why = answer.why
                raise self._lease_lost()
            return answer

    def _hold(self, operation: Callable[[Held], Steps[Held | Lost]], *, ends: bool = False) -> None:
        """Perform an operation on the held run; after it the run is renewed, settled or lost."""
        with self._lock:
            if self._settled:
                raise self._already_settled()
            if self._lost_why is not None and not ends:
                raise self._lease_lost()
            try:
                answer = self._driver.run(operation(self._held), self._patience)
            except LedgerUnavailableError as error:
                self._lost_why = f"its lease expired while the ledger was unavailable ({error.cause})"
                raise self._lease_lost() from error
            finally:
                if ends:
                    self._ended.set()
            if isinstance(answer, Lost):
                self._lost_why = answer.why
                raise self._lease_lost()
            self._held = answer
            self._settled = ends

    def _patience(self, error: LedgerUnavailableError, waited: float) -> float:  # noqa: ARG002  # a `Patience`
        """Retry any error, missing credentials too, until trust ends."""
        return self._driver.clock.seconds_until(self._held.trusted_until)

    def _patience_if_transient(self, error: LedgerUnavailableError, waited: float) -> float:
        return self._patience(error, waited) if error.transient else 0.0

    def _check_held(self) -> None:
        if self.lost:
            raise self._lease_lost()

    def _already_settled(self) -> RuntimeError:
        return RuntimeError(f"the claim of {self.job} {self.period} is already settled")

    def _lease_lost(self) -> LeaseLostError:
        return LeaseLostError(self.job, self.period, self.attempt, self._lost_why or "")

    def _beat(self) -> None:
        """Renew until settled or lost. An unexpected error is retried like any other."""
        clock = self._driver.clock
        due_in = clock.seconds_until(self._held.sent_at + self._held.lease / 4)
        while not clock.wait(self._ended, max(0.0, due_in)):
            try:
                with self._lock:
                    if self._ended.is_set() or self.lost:
                        return
                    self.heartbeat()
            except LeaseLostError:
                return
            except Exception as error:  # noqa: BLE001  # whatever it is, a retry may still renew the lease
                report("heartbeat_failed", level="ERROR", job=self.job, period=self.period, error=repr(error))
                due_in = self._held.lease.total_seconds() / 16
            else:
                due_in = clock.seconds_until(self._held.sent_at + self._held.lease / 4)
            finally:
                if self._after_beat is not None:
                    self._after_beat()


def _told(error: object) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001  # a foreign class may raise anything; the failure is recorded all the same
        return type(error).__name__


class Terminated(SystemExit):
    """SIGTERM, as an exception in the main thread."""
