"""`run_once`: the whole guard in one call, for a task that is a Python program."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType, TracebackType
from typing import Any, Self, TypeVar

from cronce.client.claim import Claim, Terminated
from cronce.client.ledger import Ledger, new_token
from cronce.client.refusal import Refusal
from cronce.client.reporting import report, warn_of_unknown_variables
from cronce.client.settings import TaskSettings
from cronce.guard.attempt import asked, attempt, holding
from cronce.vocabulary import exit_codes
from cronce.vocabulary.errors import (
    CronceError,
    InputInvalidError,
    InputMissingError,
    LeaseLostError,
    LedgerUnavailableError,
)
from cronce.vocabulary.names import RunName
from cronce.vocabulary.values import replace

__all__ = ["once", "run_once"]

T = TypeVar("T")
E = TypeVar("E", bound=CronceError)


def run_once(work: Callable[[Claim], T], *, ledger: Ledger | None = None) -> T | Refusal:
    """Do the work if this process is the one to do it; the others get a `Refusal`.

    Job, period, policy and ledger come from the task's environment, as `ScheduledTask` sets it.
    What `work` returns is stored as the run's result, if it is small and JSON. An exception is
    recorded as the failure and passes on. SIGTERM and Ctrl-C end the work at once, and the run
    is recorded as interrupted.

    Example:
        >>> import os
        >>> from cronce import run_once
        >>> os.environ |= {
        ...     "CRONCE_LEDGER": "sqlite:///runs.db",
        ...     "CRONCE_JOB": "daily-digest",
        ...     "CRONCE_SCHEDULED_TIME": "2026-11-29T06:00:00Z",
        ... }
        >>> def send_digest(claim):
        ...     return {"sent": 3100, "day": claim.period}
        >>> run_once(send_digest)
        {'sent': 3100, 'day': '2026-11-29T06:00:00Z'}
        >>> print(run_once(send_digest).reason)  # a second delivery of the same tick
        ALREADY_SUCCEEDED

    Args:
        work: Called with the claim. The work is for `claim.period`, not for the current time.
        ledger: The ledger to use instead of the one of `CRONCE_LEDGER`.

    Returns:
        What `work` returned, or the refusal. The reason of a refusal is logged.

    Raises:
        InputInvalidError: A variable of the environment is not usable. Uncaught, it ends the program with code 64.
        InputMissingError: A variable of the environment is missing. Likewise 64.
        LedgerUnavailableError: The ledger cannot be used; the work did not start. Likewise 69.
        LeaseLostError: The work has ended, but its run belongs to another process. Likewise 70.
    """
    try:
        return _run(work, ledger)
    except (InputInvalidError, InputMissingError) as error:
        report("unusable", level="ERROR", message=str(error))
        raise _with_exit_code(error, exit_codes.USAGE) from None
    except LedgerUnavailableError as error:
        raise _with_exit_code(error, exit_codes.UNAVAILABLE) from error.__cause__
    except LeaseLostError as error:
        raise _with_exit_code(error, exit_codes.LEASE_LOST) from error.__cause__


def once(job: str, period: str, *, ledger: Ledger | None = None) -> OnceBlock:
    """A block, or a call, that exactly one caller enters for this job and period; the others get a `Refusal` at once.

    Unlike a lock, it is not free again when the block ends: the row of the period remembers the success. See
    docs/effects.md. It handles no signals; for the program of a task use `run_once`.

    Example:
        >>> from cronce import Ledger, once
        >>> ledger = Ledger.from_url("sqlite:///runs.db")
        >>> with once("daily-digest", "2026-11-29", ledger=ledger) as claim:
        ...     if claim:
        ...         print("digest for", claim.period)
        digest for 2026-11-29
        >>> once("daily-digest", "2026-11-29", ledger=ledger)(print).reason.value
        'ALREADY_SUCCEEDED'

    Args:
        job: Name of the work, at most 2,048 bytes in UTF-8.
        period: The interval that the work is for, the same for every caller.
        ledger: The ledger with its policy; None for `CRONCE_LEDGER` and `CRONCE_POLICY`.

    Raises:
        InputInvalidError: A name or variable cannot be used.
        InputMissingError: No ledger is given.
    """
    return OnceBlock(RunName.of(job, period), Ledger.from_env() if ledger is None else ledger)


class OnceBlock:
    """Made by `once`; a context manager or a call, single use.

    Entering it claims the run, and raises `LedgerUnavailableError` if that is not possible. The end of the block
    records the success, an exception the failure; `LeaseLostError` says that another process may have the run.
    """

    def __init__(self, run: RunName, ledger: Ledger) -> None:
        """Made by `once`."""
        self._run = run
        self._ledger = ledger
        self._block: AbstractContextManager[None] = nullcontext()

    def __enter__(self) -> Claim | Refusal:
        token = new_token()
        claim = asked(
            self._run,
            lambda: self._ledger.claim(
                self._run.job, self._run.period, scheduled_at=self._run.scheduled_at, token=token
            ),
        )
        if isinstance(claim, Claim):
            self._block = holding(claim, lambda: None if claim.settled else claim.complete())
            self._block.__enter__()
            claim.start_heartbeat()
        return claim

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._block.__exit__(kind, error, trace)

    def __call__(self, work: Callable[[Claim], T]) -> T | Refusal:
        """Do the work if this caller is the one; what `work` returned, or the refusal."""
        with self as claim:
            return work(claim) if isinstance(claim, Claim) else claim


def _run(work: Callable[[Claim], T], ledger: Ledger | None) -> T | Refusal:
    warn_of_unknown_variables(os.environ)
    settings = replace(TaskSettings.from_environ(os.environ), has_options=False)
    settings.run_name()
    open_ledger = Ledger.from_settings(settings) if ledger is None else ledger
    request = settings.claim_request(token=new_token(), owner=open_ledger.owner, ran=open_ledger.ran)

    def guarded(claim: Claim) -> T:
        claim.start_heartbeat()
        claim.check()  # this process may have been stopped since the claim, for longer than its lease
        with signals.raised():
            return work(claim)

    def settle(claim: Claim, result: T) -> None:
        if not claim.settled:  # the work may have done it itself
            claim.complete(result)

    with _StopSignals() as signals:
        result = attempt(request.run, lambda: open_ledger.submit(request, stop=signals.received), guarded, settle)
        if isinstance(result, Refusal):
            signals.raise_if_received()
    return result


def _with_exit_code(error: E, code: int) -> E:
    """The error, of a kind that ends the program with that code and no traceback if nobody catches it."""
    kind: Any = type(type(error).__name__, (type(error), SystemExit), {"__module__": type(error).__module__})
    ending = kind.__new__(kind)
    ending.args, ending.code = error.args, code
    ending.__dict__.update(error.__dict__)
    result: E = ending
    return result


class _StopSignals:
    """Signals that end a program, inside the block: an event first, an exception while the work runs.

    So they never interrupt a call that records the claim or its end. A program that handles a signal
    itself, or calls from another thread, keeps its own way.
    """

    def __init__(self) -> None:
        self.received = threading.Event()
        self._number: int | None = None
        self._raises = False
        self._before: dict[int, object] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT):
                handler = signal.getsignal(number)
                if handler in (signal.SIG_DFL, signal.default_int_handler):
                    self._before[number] = signal.signal(number, self._receive)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, self._before)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            if signal.getsignal(number) == self._receive:
                signal.signal(number, handler)  # type: ignore[arg-type]  # what `signal.signal` returned

    @contextmanager
    def raised(self) -> Iterator[None]:
        """Let a signal end what runs in the block, at once if it has arrived already."""
        self._raises = True
        try:
            self.raise_if_received()
            yield
        finally:
            self._raises = False

    def raise_if_received(self) -> None:
        """End the program as the signal would have."""
        if self._number is not None:
            self._raises = False
            if self._number == signal.SIGINT:
                raise KeyboardInterrupt
            raise Terminated(128 + self._number)

    def _receive(self, number: int, _frame: FrameType | None) -> None:
        self._number = number
        self.received.set()
        if self._raises:
            self.raise_if_received()
