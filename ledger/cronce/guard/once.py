"""`run_once`: the whole guard in one call, for a task that is a Python program."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Self, TypeVar

from cronce.client.claim import Claim, Refusal, Terminated
from cronce.client.ledger import Ledger, new_token
from cronce.client.reporting import report
from cronce.client.settings import TaskSettings
from cronce.vocabulary.states import Status

__all__ = ["run_once"]

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
    if ledger is None:
        ledger = Ledger.from_settings(settings)
    ask = settings.claim_request(token=new_token(), owner=ledger.owner)
    with _Sigterm() as sigterm:
        claim = ledger.submit(ask, stop=sigterm.received)
        if not claim:
            report("refused", job=claim.job, period=claim.period, reason=claim.reason, message=str(claim))
            sigterm.raise_if_received()
            return claim
        report("claimed", job=claim.job, period=claim.period, attempt=claim.attempt, owner=claim.record.owner)
        try:
            with claim:
                sigterm.raise_from_now()
                result = work(claim)
                sigterm.hold()
                claim.complete(result)
        finally:
            _report_end(claim)
        return result


def _report_end(claim: Claim) -> None:
    """Report what the ledger now says of the run, whatever ended the work."""
    run = claim.record
    event = {Status.SUCCEEDED: "succeeded", Status.FAILED: "failed"}.get(run.status, "lost")
    report(
        event,
        level="INFO" if run.status is Status.SUCCEEDED else "ERROR",
        job=run.job,
        period=run.period,
        attempt=run.attempt,
        reason=run.reason,
        error=run.error,
    )


class _Sigterm:
    """SIGTERM inside the block: an event first, an exception while the work runs.

    Recording the claim or its end is not torn apart by it. A program that handles SIGTERM itself,
    or calls from another thread, keeps its own way.
    """

    def __init__(self) -> None:
        self.received = threading.Event()
        self._raises = False
        self._ours = (
            threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
        )

    def __enter__(self) -> Self:
        if self._ours:
            signal.signal(signal.SIGTERM, self._receive)
        return self

    def __exit__(self, *_: object) -> None:
        if self._ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def raise_from_now(self) -> None:
        """Let the signal end what runs, at once if it came already."""
        self._raises = True
        self.raise_if_received()

    def hold(self) -> None:
        """Let the signal wait again."""
        self._raises = False

    def raise_if_received(self) -> None:
        """End the program as the signal would have."""
        if self.received.is_set():
            self.hold()
            raise Terminated(128 + signal.SIGTERM)

    def _receive(self, _signum: int, _frame: FrameType | None) -> None:
        self.received.set()
        if self._raises:
            self.raise_if_received()
