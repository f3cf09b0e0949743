"""A held attempt: what the process gets that is to do the work.

How its lease is kept, and how it ends, is drawn in `cronce.client.heartbeat`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from cronce.client.driver import Driver
from cronce.client.heartbeat import Heartbeat
from cronce.client.reporting import report
from cronce.protocol.holding import Held, Lost, Outcome, finish, renew
from cronce.protocol.operations import Steps
from cronce.protocol.records import RunRecord
from cronce.protocol.transitions import Event
from cronce.vocabulary.errors import InputInvalidError, LeaseLostError, LedgerUnavailableError, StopRequestedError
from cronce.vocabulary.names import checked_exit_code
from cronce.vocabulary.payloads import (
    decode_json,
    described,
    encode_checkpoint,
    encode_checkpoint_text,
    encode_result,
    shortened,
)
from cronce.vocabulary.policy import Policy
from cronce.vocabulary.states import Reason
from cronce.vocabulary.values import checked_member

if TYPE_CHECKING:
    from cronce.client.effects import Effect, Effects
    from cronce.protocol.effects import OnUnknown

__all__ = ["Claim"]

T = TypeVar("T")

_NOT_IN_TIME = "its lease could not be renewed in time"


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
        self._failing = False  # a request failed while the claim was trusted, and none has succeeded since
        self._waking = False  # the one try after the trust has ended is under way
        self._after: Callable[[], None] = lambda: None
        self._may_go_on: Callable[[], bool] = lambda: True
        self._heartbeat: Heartbeat | None = None
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
        """True if this process must not act now: the claim is lost, or its trusted time has passed. Makes no request.

        After this process was frozen it may be True although the lease can still be renewed; `is_lost` finds out.
        """
        return self._lost_why is not None or (not self._settled and self.trust_left <= 0)

    def is_lost(self) -> bool:
        """True once this process must no longer act. A lost claim stays lost.

        The first call after this process was frozen makes one request, which renews the lease if nobody has taken the
        run over.
        """
        if not self._settled and self._lost_why is None and self.trust_left <= 0:
            self._wake_up()
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
        imposed = reason in (Reason.INTERRUPTED, Reason.REPLACED, Reason.LEASE_LOST)
        text = None if error is None else shortened(error if isinstance(error, str) else described(error))
        self._settle(Outcome(event=Event.FAIL, reason=reason, counts=not imposed, exit_code=exit_code, error=text))

    def interrupt(self, error: str | None = None) -> None:
        """Record that the attempt was stopped from outside; it does not count, and the next claim wins at once.

        Raises:
            LeaseLostError: This claim no longer holds the run; nothing was recorded.
        """
        self.fail(error, reason=Reason.INTERRUPTED)

    def give_up(self) -> None:
        """Record FAILED(lease_lost) once the work has stopped because the claim is lost: a successor need not wait.

        Nothing is written over what another process wrote, and nothing if the ledger does not answer. Never raises.
        """
        if self._settled:
            return
        self._lost_why = self._lost_why or _NOT_IN_TIME
        with suppress(Exception):  # then the run is free when its lease expires
            self.fail(self._lost_why, reason=Reason.LEASE_LOST)

    def start_heartbeat(
        self, after: Callable[[], None] = lambda: None, *, may_go_on: Callable[[], bool] = lambda: True
    ) -> None:
        """Renew the lease every quarter of its length from a thread, until the claim is settled or lost.

        Args:
            after: Called after each heartbeat, which may have found the claim lost or a request to stop; from any
                thread.
            may_go_on: Called if this process was frozen until its trust had ended. False if the work has been stopped
                meanwhile, so that the lease must not be renewed.
        """
        if self._heartbeat is None:
            self._after, self._may_go_on = after, may_go_on
            self._heartbeat = Heartbeat(self._held, self._driver.clock, self._ended, renew=self._beat, after=after)
            self._heartbeat.start()

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
            case LeaseLostError() if self.is_lost():
                self.give_up()
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
                if not self.is_lost():
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
            if not ends:
                self._check_held()
            try:
                self._perform(operation)
            finally:
                if ends:
                    self._ended.set()
            self._settled = ends

    def _perform(self, operation: Callable[[Held], Steps[Held | Lost]]) -> None:
        try:
            try:
                answer = self._driver.run(operation(self._held), self._patience)
            except LedgerUnavailableError:
                if self._failing or self._waking:
                    raise
                with self._last_try():  # no try failed while the claim was trusted: this process was frozen in the call
                    answer = self._driver.run(operation(self._held), self._patience)
        except LedgerUnavailableError as error:
            self._lost_why = f"its lease expired while the ledger was unavailable ({error.cause})"
            raise self._lease_lost() from error
        self._failing = False
        if isinstance(answer, Lost):
            self._lost_why = answer.why
            raise self._lease_lost()
        self._held = answer

    def _wake_up(self) -> None:
        """The trust has ended: if this process was frozen until now, renew the lease once, else the claim is lost.

        If a try failed while the claim was trusted, the ledger is away, and another one would only delay the stop.
        """
        if not self._failing and self._may_go_on():
            with self._lock:
                if self._settled or self._lost_why is not None or self.trust_left > 0:
                    return  # another thread was first
                with self._last_try(), suppress(LeaseLostError):
                    self._perform(renew)
                if self.trust_left > 0:
                    self._after()
                    return
        self._lost_why = self._lost_why or _NOT_IN_TIME

    @contextmanager
    def _last_try(self) -> Iterator[None]:
        self._waking = True
        try:
            yield
        finally:
            self._waking = False

    def _patience(self, error: LedgerUnavailableError, waited: float) -> float:  # noqa: ARG002  # a `Patience`
        """Retry any error, missing credentials too, until trust ends."""
        left = self._driver.clock.seconds_until(self._held.trusted_until)
        self._failing = self._failing or (left > 0 and not self._waking)
        return left

    def _patience_if_transient(self, error: LedgerUnavailableError, waited: float) -> float:
        return self._patience(error, waited) if error.transient else 0.0

    def _beat(self) -> Held:
        self._check_held()
        self.heartbeat()
        return self._held

    def _check_held(self) -> None:
        if self.is_lost():
            raise self._lease_lost()

    def _already_settled(self) -> RuntimeError:
        return RuntimeError(f"the claim of {self.job} {self.period} is already settled")

    def _lease_lost(self) -> LeaseLostError:
        return LeaseLostError(self.job, self.period, self.attempt, self._lost_why or "")


class Terminated(SystemExit):
    """SIGTERM, as an exception in the main thread."""
