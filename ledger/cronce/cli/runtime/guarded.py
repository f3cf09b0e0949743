"""What `cronce exec` does between its options and its exit code: claim, and run the command or say why not."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from cronce.client.claim import Refusal
from cronce.client.ledger import Ledger
from cronce.client.reporting import report
from cronce.client.settings import TaskSettings
from cronce.guard.signals import SignalQueue
from cronce.protocol.requests import RefusalReason
from cronce.vocabulary import exit_codes
from cronce.vocabulary.durations import parse_duration
from cronce.vocabulary.environment import LEDGER
from cronce.vocabulary.errors import InputInvalidError, InputMissingError, LedgerUnavailableError
from cronce.vocabulary.policy import Policy

if TYPE_CHECKING:
    from cronce.cli.runtime.exec import ExecOptions

_POLICY_OPTIONS = (
    "concurrency_policy",
    "starting_deadline",
    "active_deadline",
    "backoff_limit",
    "on_lost",
    "lease",
)


def guarded(options: ExecOptions, command: list[str], signals: SignalQueue) -> int:
    """Run the command under the guard; the exit code, see `exit_codes`."""
    try:
        settings, grace, refused_code = _settings(options)
        job, period = settings.required_job(), settings.required_period()
        force = settings.forced() if options.force is None else options.force
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
            force=force,
            actor=settings.actor,
            note=settings.note,
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
    from cronce.guard.run_command import run  # noqa: PLC0415  # nearly all who ask are refused, and need none of it

    return run(claim, [argument.replace("{period}", period) for argument in command], signals, grace)


def _settings(options: ExecOptions) -> tuple[TaskSettings, float, int]:
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
