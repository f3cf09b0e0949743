"""`run_once`: the whole guard in one call, for a task that is a Python program."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

from cronce.claim import Claim, Refusal, Terminated
from cronce.environment import TaskSettings
from cronce.errors import LeaseLostError
from cronce.ledger import Ledger
from cronce.reporting import report

T = TypeVar("T")


def run_once(work: Callable[[Claim], T], *, ledger: Ledger | None = None) -> T | Refusal:
    """Do the work if this process is the one to do it; the others get a `Refusal`.

    Job, period, policy and ledger come from the task's environment, as `ScheduledTask` sets it.
    What `work` returns is stored as the run's result, as far as it is small and JSON. An
    exception is recorded as the failure and passes on. SIGTERM ends the work with the run
    recorded as interrupted, at once.

    Args:
        work: Called with the claim; it is for `claim.period`, whatever the clock says.
        ledger: The ledger to use instead of the one of `CRONCE_LEDGER`.

    Returns:
        What `work` returned, or the refusal. The reason of a refusal is logged.

    Raises:
        InputInvalidError: A variable of the environment is missing or not usable.
        LedgerUnavailableError: The ledger cannot be used; the work did not start.
        LeaseLostError: The work is over, but another process took the run.
    """
    settings = TaskSettings.from_environ(os.environ)
    job, period = settings.required_job(), settings.required_period()
    if ledger is None:
        ledger = Ledger.from_url(settings.required_ledger(), policy=settings.policy)
    with _sigterm_as_exception():
        claim = ledger.claim(
            job, period, policy=settings.policy, scheduled_at=settings.scheduled_at, trigger=settings.trigger
        )
        if not claim:
            report("refused", job=job, period=period, reason=claim.reason, message=str(claim))
            return claim
        report("claimed", job=job, period=period, attempt=claim.attempt, owner=claim.record.owner)
        try:
            with claim:
                result = work(claim)
                claim.complete(result)
        except LeaseLostError as lost:
            report("lost", level="ERROR", job=job, period=period, attempt=claim.attempt, message=str(lost))
            raise
        except BaseException as error:
            report("failed", level="ERROR", job=job, period=period, attempt=claim.attempt, error=repr(error))
            raise
        report("succeeded", job=job, period=period, attempt=claim.attempt)
        return result


@contextmanager
def _sigterm_as_exception() -> Iterator[None]:
    """Turn SIGTERM into an exception in the main thread, unless the program handles it itself."""
    ours = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    if not ours:
        yield
        return
    signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _terminate(signum: int, _frame: FrameType | None) -> None:
    # A second SIGTERM must not hit while the first is being recorded.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Terminated(128 + signum)
