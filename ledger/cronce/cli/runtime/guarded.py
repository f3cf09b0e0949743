"""What `cronce exec` does between its options and its exit code: claim, and run the command or say why not."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from cronce.client.claim import Refusal
from cronce.client.ledger import Ledger, new_token
from cronce.client.reporting import report
from cronce.client.settings import TaskSettings
from cronce.guard.signals import SignalQueue
from cronce.protocol.requests import RefusalReason
from cronce.vocabulary import exit_codes
from cronce.vocabulary.durations import parse_duration
from cronce.vocabulary.errors import InputInvalidError, InputMissingError, LedgerUnavailableError


def guarded(options: Mapping[str, str], command: list[str], signals: SignalQueue) -> int:
    """Run the command under the guard; the exit code, see `exit_codes`."""
    try:
        settings = TaskSettings.from_environ(os.environ, options)
        grace = parse_duration(options.get("grace", "20s"), what="--grace").total_seconds()
        refused_code = _exit_code(options.get("refused_exit_code", "0"))
        run_name = settings.run_name()
        ledger = Ledger.from_settings(settings)
        claim = ledger.submit(settings.claim_request(token=new_token(), owner=ledger.owner), stop=signals)
    except (InputInvalidError, InputMissingError) as error:
        sys.stderr.write(f"cronce exec: {error}\n")
        return exit_codes.USAGE
    except LedgerUnavailableError as error:
        message = f"{error}; {run_name} was not started"
        report("unavailable", level="ERROR", job=run_name.job, period=run_name.period, message=message)
        return exit_codes.UNAVAILABLE
    if isinstance(claim, Refusal):
        return _refused(claim, signals, refused_code)
    report(
        "claimed",
        job=claim.job,
        period=claim.period,
        attempt=claim.attempt,
        fence=claim.fence,
        owner=claim.record.owner,
    )
    from cronce.guard.run_command import run  # noqa: PLC0415  # nearly all who ask are refused, and need none of it

    return run(claim, [argument.replace("{period}", claim.period) for argument in command], signals, grace)


def _exit_code(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 3 and int(text) <= 255):
        raise InputInvalidError("--refused-exit-code", text, "a whole number from 0 to 255")
    return int(text)


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
