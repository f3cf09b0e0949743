"""What `cronce exec` does between its options and its exit code: claim, run, settle, report."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from cronce.checkpoints import CheckpointServer
from cronce.claim import Claim, Refusal
from cronce.cli import exit_codes
from cronce.durations import parse_duration
from cronce.environment import (
    ATTEMPT,
    CHECKPOINT_SOCKET,
    FENCE,
    JOB,
    LEDGER,
    PERIOD,
    RESUME_FROM,
    TaskSettings,
)
from cronce.errors import InputInvalidError, InputMissingError, LeaseLostError, LedgerUnavailableError
from cronce.ledger import Ledger
from cronce.policy import Policy
from cronce.protocol.requests import RefusalReason
from cronce.protocol.states import Reason
from cronce.reporting import report
from cronce.signals import SignalQueue
from cronce.supervise import Child, Ended, Ending, supervise

if TYPE_CHECKING:
    from argparse import Namespace

_POLICY_OPTIONS = (
    "concurrency_policy",
    "starting_deadline",
    "active_deadline",
    "backoff_limit",
    "on_lost",
    "lease",
)


def guarded(options: Namespace, command: list[str], signals: SignalQueue) -> int:
    """Run the command under the guard; the exit code, see `exit_codes`."""
    try:
        settings, grace, refused_code = _settings(options)
        job, period = settings.required_job(), settings.required_period()
        ledger = Ledger.from_url(
            settings.required_ledger(),
            policy=settings.policy,
            what="--ledger" if options.ledger is not None else LEDGER,
        )
        claim = ledger.claim(
            job,
            period,
            scheduled_at=settings.scheduled_at,
            trigger=settings.trigger,
            force=options.force,
            stop=signals,
        )
    except (InputInvalidError, InputMissingError) as error:
        sys.stderr.write(f"cronce exec: {error}\n")
        return exit_codes.USAGE
    except LedgerUnavailableError as error:
        message = f"{error}; {job} {period} was not started"
        report("unavailable", level="ERROR", job=job, period=period, message=message)
        return exit_codes.UNAVAILABLE
    if isinstance(claim, Refusal):
        return _refused(claim, signals, refused_code)
    report("claimed", job=job, period=period, attempt=claim.attempt, fence=claim.fence, owner=claim.record.owner)
    return _run(claim, [argument.replace("{period}", period) for argument in command], signals, grace)


def _settings(options: Namespace) -> tuple[TaskSettings, float, int]:
    """The environment's settings, overridden by the options."""
    base = TaskSettings.from_environ(os.environ)
    policy = base.policy
    given = {name: getattr(options, name) for name in _POLICY_OPTIONS if getattr(options, name) is not None}
    if given:
        policy = Policy.from_fields(policy.to_fields() | given, what="option")
    settings = base.overridden(
        ledger=options.ledger,
        job=options.job,
        period=options.period,
        scheduled_time=options.scheduled_time,
        trigger=options.trigger,
        policy=policy,
    )
    if options.force is not None and not options.force.strip():
        raise InputInvalidError("--force", options.force, "the reason for repeating a success, in words")
    code = options.refused_exit_code
    if not (code.isascii() and code.isdigit() and len(code) <= 3 and int(code) <= 255):
        raise InputInvalidError("--refused-exit-code", code, "a whole number from 0 to 255")
    return settings, parse_duration(options.grace, what="--grace").total_seconds(), int(code)


def _refused(refusal: Refusal, signals: SignalQueue, refused_code: int) -> int:
    record = refusal.record
    report(
        "refused",
        job=refusal.job,
        period=refusal.period,
        reason=refusal.reason,
        holder=record.owner if record else None,
        blocked_by=record.blocked_by if record else None,
        message=str(refusal),
    )
    if refusal.reason is RefusalReason.LEASE_LOST:
        return exit_codes.LEASE_LOST
    if refusal.reason is RefusalReason.INTERRUPTED and signals.stopping:
        return exit_codes.BY_SIGNAL + signals.stopping
    return refused_code


def _run(claim: Claim, command: list[str], signals: SignalQueue, grace: float) -> int:
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
