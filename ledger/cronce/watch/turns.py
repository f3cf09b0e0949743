"""One look at a time: the row that a watchdog claims for a look, and what looks leave for the next one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime

from cronce.client.claim import Claim
from cronce.client.leadership import LEADER, Leadership
from cronce.client.ledger import Ledger
from cronce.client.reporting import report
from cronce.protocol.records import RunRecord
from cronce.vocabulary.errors import CronceError, LedgerUnavailableError, RecordUnreadableError
from cronce.vocabulary.payloads import decode_json
from cronce.watch.jobs import WatchedJob
from cronce.watch.look_at_job import LEASE_OF_LOOK, SPARE, Look
from cronce.watch.memory import Memory, from_value
from cronce.watch.readable_rows import Rows

OWNER = "cronce:watchdog"
"""The owner in the rows that a watchdog writes."""


def begin_look(ledger: Ledger, job: str, rows: Rows) -> tuple[Claim | None, bool]:
    """The claim of the look's row, or of a spare one if that is unreadable; False if it is the spare one.

    Args:
        ledger: Where the row is.
        job: The job of the row.
        rows: Reports an unreadable row.
    """
    for period in (LEADER, LEADER + SPARE):
        try:
            claim = Leadership(ledger, job, period=period, lease=LEASE_OF_LOOK).try_once()
        except RecordUnreadableError as error:
            rows.report(error)
        else:
            return claim, period == LEADER
    return None, False


def left_by_the_last(claim: Claim) -> Mapping[str, object]:
    """What the last look left in the row."""
    return claim.resume_from if isinstance(claim.resume_from, Mapping) else {}


def time_in(text: object) -> datetime | None:
    """The time in a value that a look left; None if there is none."""
    try:
        return datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None


def end_look(claim: Claim) -> None:
    """Release the row for the next look; if that fails, the next look begins when the lease expires."""
    try:
        claim.interrupt()
    except CronceError as error:
        report("look_not_ended", level="ERROR", error=str(error))


def look_at_one(
    look: Look,
    define: Callable[[Memory | None], WatchedJob],
    row: RunRecord | None,
    *,
    job: str,
    schedule: str,
) -> None:
    """Look at one job. A failure there is reported and counted, and stops no other job.

    Args:
        look: The look.
        define: The job as it is defined now, with what is remembered of it.
        row: The row of that memory.
        job: Its name, for the report.
        schedule: The name under which it is remembered.

    Raises:
        LedgerUnavailableError: The ledger did not answer.
    """
    look.found["jobs"] += 1
    try:
        memory = None if row is None else from_value(decode_json(row.checkpoint))
        look.at(define(memory), memory, row)
    except RecordUnreadableError as error:
        look.rows.report(error)
        look_failed(job, schedule, error, look.found)
    except LedgerUnavailableError:
        raise
    except Exception as error:  # noqa: BLE001  # one job must not stop the others
        look_failed(job, schedule, error, look.found)


def look_failed(job: str | None, schedule: str, error: Exception, found: Counter[str]) -> None:
    """Count and report a job at which the look failed."""
    found["failed"] += 1
    told = str(error) if isinstance(error, CronceError) else repr(error)
    report("look_failed", level="ERROR", job=job, schedule=schedule, error=told)
