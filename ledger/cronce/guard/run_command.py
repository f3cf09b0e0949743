"""Runs the guarded command under a held claim, and records how it ended."""

from __future__ import annotations

import os
import sys
import time

from cronce.client.claim import Claim
from cronce.client.reporting import report
from cronce.guard.checkpoints import CheckpointServer
from cronce.guard.child import Child, Ended, Ending, supervise
from cronce.guard.signals import SignalQueue
from cronce.vocabulary import exit_codes
from cronce.vocabulary.environment import ATTEMPT, CHECKPOINT_SOCKET, FENCE, FORCE, JOB, PERIOD, RESUME_FROM
from cronce.vocabulary.errors import LeaseLostError
from cronce.vocabulary.states import Reason


def run(claim: Claim, command: list[str], signals: SignalQueue, grace: float) -> int:
    """Run the command, and settle the claim by its end; the exit code, see `exit_codes`.

    Args:
        claim: Held, without a heartbeat yet.
        command: Program and arguments.
        signals: What this process receives.
        grace: Seconds from SIGTERM to SIGKILL.
    """
    began = time.monotonic()
    try:
        if signals.stopping:
            claim.interrupt(f"{signals.stopping.name} before the command started")
            _report_end(claim, Reason.INTERRUPTED, began)
            return exit_codes.BY_SIGNAL + signals.stopping
        try:
            ended = _run_child(claim, command, signals, grace)
        except OSError as error:
            code = exit_codes.NOT_FOUND if isinstance(error, FileNotFoundError) else exit_codes.NOT_EXECUTABLE
            claim.fail(f"{command[0]}: {error.strerror}", exit_code=code)
            _report_end(claim, Reason.ERROR, began, exit_code=code, error=f"{command[0]}: {error.strerror}")
            return code
        return _settle(claim, ended, began)
    except LeaseLostError as error:
        report("lost", level="ERROR", job=claim.job, period=claim.period, attempt=claim.attempt, message=str(error))
        return exit_codes.LEASE_LOST


def _run_child(claim: Claim, command: list[str], signals: SignalQueue, grace: float) -> Ended:
    environ = os.environ | {
        JOB: claim.job,
        PERIOD: claim.period,
        ATTEMPT: str(claim.attempt),
        FENCE: str(claim.fence),
    }
    environ.pop(RESUME_FROM, None)
    environ.pop(FORCE, None)  # it was for this run: what the command guards in turn is not forced
    if claim.record.checkpoint is not None:
        environ[RESUME_FROM] = claim.record.checkpoint
    server = None
    if sys.platform == "linux":
        server = CheckpointServer(claim.checkpoint_text, name=claim.record.token)
        environ[CHECKPOINT_SOCKET] = server.address
    claim.check()  # this process may have been stopped since the claim, for longer than its lease
    child = Child(command, environ)
    claim.start_heartbeat(after=signals.wake)
    if server is not None:
        server.start()
    return supervise(child, claim, signals, grace=grace)


def _settle(claim: Claim, ended: Ended, began: float) -> int:
    """Write how the command ended, and turn it into our exit code."""
    code = ended.code
    match ended.ending:
        case Ending.LOST:
            claim.check()
            return exit_codes.LEASE_LOST
        case Ending.DEADLINE:
            claim.fail("the active deadline is over", reason=Reason.ACTIVE_DEADLINE, exit_code=code)
            _report_end(claim, Reason.ACTIVE_DEADLINE, began, exit_code=code)
            return exit_codes.DEADLINE
        case _ if code == 0:
            claim.complete()
            _report_end(claim, None, began, exit_code=code)
        case Ending.ITSELF:
            claim.fail(reason=Reason.EXIT_CODE, exit_code=code)
            _report_end(claim, Reason.EXIT_CODE, began, exit_code=code)
        case Ending.INTERRUPTED | Ending.REPLACED:
            reason = Reason.INTERRUPTED if ended.ending is Ending.INTERRUPTED else Reason.REPLACED
            claim.fail(reason=reason, exit_code=code)
            _report_end(claim, reason, began, exit_code=code)
    return code


def _report_end(claim: Claim, reason: Reason | None, began: float, **fields: object) -> None:
    report(
        "failed" if reason else "succeeded",
        level="ERROR" if reason else "INFO",
        job=claim.job,
        period=claim.period,
        attempt=claim.attempt,
        reason=reason,
        duration=round(time.monotonic() - began, 3),
        **fields,
    )
