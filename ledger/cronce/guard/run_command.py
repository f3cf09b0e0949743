"""A command as guarded work: run it under a held claim, and settle the claim by its end."""

from __future__ import annotations

import os
import sys

from cronce.client.claim import Claim
from cronce.guard.attempt import has_collector
from cronce.guard.child import Ended, Ending, under_claim
from cronce.guard.signals import SignalQueue
from cronce.vocabulary import exit_codes
from cronce.vocabulary.environment import ATTEMPT, FENCE, FORCE, JOB, PERIOD, RESUME_FROM, SCHEDULED_TIME
from cronce.vocabulary.names import period_of
from cronce.vocabulary.states import Reason


def guard_command(claim: Claim, command: list[str], signals: SignalQueue, grace: float) -> Ended:
    """Run the command; how it ended. Afterwards nothing acts for the claim any more.

    Args:
        claim: Held, without a heartbeat yet.
        command: Program and arguments.
        signals: What this process receives.
        grace: Seconds from SIGTERM to SIGKILL.
    """
    if signals.stopping:
        error = f"{signals.stopping.name} before the command started"
        return Ended(Ending.INTERRUPTED, exit_codes.BY_SIGNAL + signals.stopping, error)
    return under_claim(claim, command, _environ(claim), signals, grace=grace, checkpoints=sys.platform == "linux")


def settle(claim: Claim, ended: Ended) -> int:
    """Record how the command ended; returns its exit code, for the log.

    Raises:
        LeaseLostError: The run is no longer this claim's.
    """
    code = ended.code
    match ended.ending:
        case Ending.LOST:
            claim.give_up()
            claim.check()
        case Ending.GUARD:
            claim.interrupt(ended.error)
        case Ending.DEADLINE:
            claim.fail("the active deadline has passed", reason=Reason.ACTIVE_DEADLINE, exit_code=code)
        case Ending.INTERRUPTED if code:
            claim.fail(ended.error, reason=Reason.INTERRUPTED, exit_code=code)
        case Ending.REPLACED if code:
            claim.fail(reason=Reason.REPLACED, exit_code=code)
        case Ending.ITSELF if code:
            claim.fail(ended.error, reason=Reason.ERROR if ended.error else Reason.EXIT_CODE, exit_code=code)
        case _:
            claim.complete()
    return code


def _environ(claim: Claim) -> dict[str, str]:
    environ = os.environ | {
        JOB: claim.job,
        PERIOD: claim.period,
        ATTEMPT: str(claim.attempt),
        FENCE: str(claim.fence),
    }
    for about_another_run in (RESUME_FROM, SCHEDULED_TIME):
        environ.pop(about_another_run, None)
    environ.pop(FORCE, None)  # it applies to this run only; a nested `cronce exec` must not inherit it
    if claim.record.scheduled_at is not None:
        environ[SCHEDULED_TIME] = period_of(claim.record.scheduled_at)
    if claim.record.checkpoint is not None:
        environ[RESUME_FROM] = claim.record.checkpoint
    if has_collector(environ):
        from cronce.guard.trace_context import TRACEPARENT, trace_context  # noqa: PLC0415  # only where it is wanted

        environ[TRACEPARENT] = str(trace_context(claim.record, os.environ))
    return environ
