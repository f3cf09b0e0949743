"""What `cronce pin` does between its options and its exit code: stand by, lead, release the lease."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Sequence
from typing import Any

from cronce.client.claim import Claim
from cronce.client.leadership import Leadership
from cronce.client.reporting import report
from cronce.guard.attempt import insist
from cronce.guard.child import Ended, Ending, under_claim
from cronce.guard.signals import SignalQueue
from cronce.vocabulary import exit_codes
from cronce.vocabulary.environment import ATTEMPT, FENCE, METRICS
from cronce.vocabulary.errors import LeaseLostError, LedgerUnavailableError
from cronce.vocabulary.states import Reason

_UNHEALTHY_AFTER = 60.0
"""Seconds without an answer from the ledger until a standby is unhealthy: replacing it might help."""

_BETWEEN_METRICS = 60.0
"""Seconds between two metrics of a leader: an alarm on their absence says that nobody leads."""


class Pinned:
    """A command that runs here for as long as this process leads."""

    def __init__(self, leadership: Leadership, command: Sequence[str], *, grace: float) -> None:
        """Take what is needed; nothing happens yet.

        Args:
            leadership: Takes the lease.
            command: What to run.
            grace: Seconds between SIGTERM and SIGKILL.
        """
        self._leadership = leadership
        self._command = command
        self._grace = grace
        self._claim: Claim | None = None

    def run(self, signals: SignalQueue) -> int:
        """Stand by and lead in turn until the command ends or a signal asks to stop; the exit code.

        Raises:
            InputInvalidError: The store's time limits do not fit in the lease.
        """
        if os.environ.get(METRICS) == "emf":
            threading.Thread(target=self._report_leading, name="cronce-leads", daemon=True).start()
        while (claim := self._leadership.wait(signals)) is not None:
            self._claim = claim
            try:
                code = self._lead(claim, signals)
            finally:
                self._claim = None
            if code is not None:
                return code
        return exit_codes.BY_SIGNAL + (signals.stopping or signal.SIGTERM)

    def trouble(self) -> str | None:
        """Why this process is not healthy; None if it is. From any thread."""
        claim = self._claim
        if claim is not None:
            return "its lease is lost, the command is being stopped" if claim.is_lost() else None
        silent = self._leadership.silent_for
        return None if silent < _UNHEALTHY_AFTER else f"standing by, but the ledger has not answered for {silent:.0f} s"

    def _lead(self, claim: Claim, signals: SignalQueue) -> int | None:
        """Run the command for one term; the exit code, or None to stand by again."""
        began = time.monotonic()
        try:
            ended = self._run(claim, signals)
        except Exception as error:  # noqa: BLE001  # whatever it is, the lease is released; the command has ended
            ended = Ended(Ending.GUARD, exit_codes.GUARD_FAILED, f"the guard failed: {error!r}")
        if ended.ending is Ending.LOST:
            return _lose(claim, began)
        why = "the command ended" if ended.ending is Ending.ITSELF else "the command was stopped"
        ran = ended.error is None or ended.ending is Ending.ITSELF
        _release(claim, ended.error or why, began, exit_code=ended.code if ran else None)
        return ended.exit_code

    def _run(self, claim: Claim, signals: SignalQueue) -> Ended:
        while signals.next(0) is not None:
            """What arrived while there was no command is not for it; a request to stop is remembered."""
        if signals.stopping:
            error = f"{signals.stopping.name} before the command started"
            return Ended(Ending.INTERRUPTED, exit_codes.BY_SIGNAL + signals.stopping, error)
        report("leading", job=claim.job, attempt=claim.attempt, fence=claim.fence, owner=claim.record.owner)
        environ = os.environ | {ATTEMPT: str(claim.attempt), FENCE: str(claim.fence)}
        return under_claim(claim, self._command, environ, signals, grace=self._grace, leave_nothing=True)

    def _report_leading(self) -> None:
        while True:
            time.sleep(_BETWEEN_METRICS)
            claim = self._claim
            if claim is not None and not claim.is_lost():
                report("leads", job=claim.job, attempt=claim.attempt)


def _release(claim: Claim, why: str, began: float, *, exit_code: int | None) -> None:
    """Release the lease now. If that write fails, the next process leads when the lease expires."""
    try:
        insist(claim, lambda: claim.fail(why, reason=Reason.INTERRUPTED, exit_code=exit_code))
    except LeaseLostError as error:
        _report_lost(claim, error, began)
    else:
        report("released", message=why, exit_code=exit_code, **_term(claim, began))


def _lose(claim: Claim, began: float) -> int | None:
    """Report what became of the lease, after the command was stopped: 70 if somebody took it, else None.

    If the ledger was unavailable, or this process was stopped for too long, nobody took it. Then this process
    stands by again, and leads as soon as it may.
    """
    try:
        insist(claim, lambda: claim.interrupt("its lease could not be renewed in time"))
    except LeaseLostError as error:
        _report_lost(claim, error, began)
        return None if isinstance(error.__cause__, LedgerUnavailableError) else exit_codes.LEASE_LOST
    reason = claim.record.reason
    if reason == Reason.RELEASED:
        message = f"{claim.record.actor or 'a person'} released it: {claim.record.note or 'no reason given'}"
        report("lost", level="ERROR", reason=reason, message=message, **_term(claim, began))
        return exit_codes.LEASE_LOST
    report("lost", level="ERROR", message="its lease could not be renewed in time", **_term(claim, began))
    return None


def _report_lost(claim: Claim, error: LeaseLostError, began: float) -> None:
    report("lost", level="ERROR", message=str(error), **_term(claim, began))


def _term(claim: Claim, began: float) -> dict[str, Any]:
    return {"job": claim.job, "attempt": claim.attempt, "duration": round(time.monotonic() - began, 3)}
