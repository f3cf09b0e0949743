"""The one path of guarded work: claim, report, work, settle, report. `run_once`, `once`, `exec` and `pin` use it.

The rule between the claim and the end: **whatever fails, the claim is settled or given back while its
lease lasts, and the process ends with a documented exit code.** It follows from four parts:

1. What can fail apart from the work is done before the work starts: processes, threads, sockets, imports.
2. Work that has ended is recorded as it ended. A call that fails is repeated until the trust in the claim ends.
3. If the guard itself fails, it stops the work, and the run is given back; that does not count as a failure.
4. A log line that cannot be written is lost, and nothing else.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from cronce.client.claim import Claim
from cronce.client.refusal import Refusal
from cronce.client.reporting import report
from cronce.protocol.records import RunRecord
from cronce.protocol.requests import RefusalReason
from cronce.vocabulary.environment import ATTEMPT, JOB, LEDGER, PERIOD
from cronce.vocabulary.errors import CronceError, InputInvalidError, LeaseLostError, LedgerUnavailableError
from cronce.vocabulary.names import RunName, ledger_name
from cronce.vocabulary.states import Status

T = TypeVar("T")

Ask = Callable[[], "Claim | Refusal"]
"""Asks the ledger for the run, each time with the same token."""

_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 2.0

_COLLECTORS = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
)

_ENDS = {Status.SUCCEEDED: ("succeeded", "INFO"), Status.FAILED: ("failed", "ERROR")}


def attempt(
    run: RunName,
    ask: Ask,
    work: Callable[[Claim], T],
    settle: Callable[[Claim, T], int | None],
    *,
    errors_are_ours: bool = False,
) -> T | Refusal:
    """Claim the run, do the work under the claim, and settle it; or report why the work must not start.

    Args:
        run: The run, for the log.
        ask: Asks the ledger.
        work: Does the work. An exception is recorded, and passes on.
        settle: Records what `work` returned; returns an exit code for the log.
        errors_are_ours: True if an exception of `work` is a failure of the guard: then the run is given back.

    Returns:
        What `work` returned, or the refusal.

    Raises:
        LedgerUnavailableError: The ledger cannot be used; the work did not start. Reported.
        LeaseLostError: Another process may have the run. Reported.
    """
    claim = asked(run, ask)
    if isinstance(claim, Refusal):
        return claim
    values: list[T] = []
    with holding(claim, lambda: settle(claim, values[0]), errors_are_ours=errors_are_ours):
        values.append(work(claim))
    return values[0]


def asked(run: RunName, ask: Ask) -> Claim | Refusal:
    """Ask the ledger for the run, and report the answer.

    Raises:
        LedgerUnavailableError: The ledger cannot be used; the work must not start. Reported.
        InputInvalidError: The guard that holds the run started this process.
    """
    began = time.monotonic()
    try:
        claim = _claim(ask)
    except LedgerUnavailableError as error:
        message = f"{error}; {run} was not started"
        report("unavailable", level="ERROR", job=run.job, period=run.period, duration=_since(began), message=message)
        raise
    if isinstance(claim, Refusal):
        _report_refused(claim)
        _check_not_nested(claim)
        return claim
    report(
        "claimed", job=run.job, period=run.period, attempt=claim.attempt, fence=claim.fence, owner=claim.record.owner
    )
    return claim


@contextmanager
def holding(claim: Claim, settle: Callable[[], int | None], *, errors_are_ours: bool = False) -> Iterator[None]:
    """Settle the claim at the end of the block, and report how it ended.

    Args:
        claim: Held.
        settle: Records the end of a block without an error; returns an exit code for the log.
        errors_are_ours: As in `attempt`.

    Raises:
        LeaseLostError: Another process may have the run. Reported.
    """
    began = time.monotonic()
    code = None
    try:
        try:
            yield
        except BaseException as error:
            _settle_error(claim, error, errors_are_ours)
            raise
        code = insist(claim, settle)
    except LeaseLostError as error:
        report(
            "lost",
            level="ERROR",
            job=claim.job,
            period=claim.period,
            attempt=claim.attempt,
            duration=_since(began),
            message=str(error),
        )
        raise
    finally:
        run = claim.record
        if run.status in _ENDS:
            event, level = _ENDS[run.status]
            report(
                event,
                level=level,
                job=run.job,
                period=run.period,
                attempt=run.attempt,
                reason=run.reason,
                duration=_since(began),
                exit_code=run.exit_code if code is None else code,
                error=run.error,
            )
            if has_collector(os.environ):
                _send_telemetry(run)


def has_collector(environ: Mapping[str, str]) -> bool:
    """True if the variables of OpenTelemetry name a collector, which gets a span and metrics after the run."""
    return any(map(environ.get, _COLLECTORS))


def insist(claim: Claim, record: Callable[[], T]) -> T:
    """Repeat a call that settles the claim, whatever its error, until the trust in the claim ends.

    Raises:
        LeaseLostError: It could not be recorded.
    """
    pause = _FIRST_PAUSE
    while True:
        try:
            return record()
        except LeaseLostError:
            raise
        except Exception as error:
            if claim.trust_left <= pause:
                why = f"its end could not be recorded ({error!r})"
                raise LeaseLostError(claim.job, claim.period, claim.attempt, why) from error
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)


def _claim(ask: Ask) -> Claim | Refusal:
    """The ledger's answer. An unforeseen error may hide a claim that was written: the same token finds it."""
    try:
        return ask()
    except CronceError:
        raise
    except Exception:  # noqa: BLE001  # whatever it is
        return ask()


def _settle_error(claim: Claim, error: BaseException, ours: bool) -> None:  # noqa: FBT001  # private
    insist(claim, lambda: claim.interrupt(f"the guard failed: {error!r}") if ours else claim.settle(error))


def _report_refused(refusal: Refusal) -> None:
    record = refusal.record
    report(
        "refused",
        job=refusal.job,
        period=refusal.period,
        reason=refusal.reason,
        holder=record.owner if record else None,
        blocked_by=record.blocked_by if record else None,
        blocked_by_job=record.blocked_by_job if record else None,
        message=str(refusal),
    )


def _check_not_nested(refusal: Refusal) -> None:
    """Refuse a second guard around the same work: its refusal would end it with 0, which the first takes for a success.

    Raises:
        InputInvalidError: The guard that holds the run started this process.
    """
    run = refusal.record
    if run is None or refusal.reason is not RefusalReason.RUNNING_ELSEWHERE:
        return
    if [os.environ.get(name) for name in (JOB, PERIOD, ATTEMPT)] == [run.job, run.period, str(run.attempt)]:
        allowed = f"one guard per run: the guard that holds {run.job} {run.period} started this process; remove one"
        raise InputInvalidError(ATTEMPT, str(run.attempt), allowed)


def _send_telemetry(run: RunRecord) -> None:
    try:
        from cronce.guard.telemetry import send_telemetry  # noqa: PLC0415  # half a second of CPU, and an extra
    except ImportError:
        message = "no span is sent: OpenTelemetry is not installed; pip install 'cronce[otel]'"
        report("telemetry_off", job=run.job, period=run.period, message=message)
        return
    if lost := send_telemetry(run, os.environ, ledger=ledger_name(os.environ.get(LEDGER, "")) or "unknown"):
        report("telemetry_lost", level="WARNING", job=run.job, period=run.period, attempt=run.attempt, message=lost)


def _since(began: float) -> float:
    return round(time.monotonic() - began, 3)
