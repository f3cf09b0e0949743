"""What one leader tells the next: how far the ticks of each job are settled."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

from cronce.clock.config import ClockJob
from cronce.protocol.records import RunRecord
from cronce.vocabulary.states import Status

_FIELD = "cursors"
_ONE_SECOND = timedelta(seconds=1)


def to_checkpoint(cursors: Mapping[ClockJob, datetime]) -> dict[str, dict[str, list[object]]]:
    """The cursors as a checkpoint: job -> [epoch seconds, fingerprint of its timetable].

    A cursor is cut to whole seconds. Ticks lie on whole seconds, so it covers the same ones.
    """
    return {_FIELD: {job.name: [int(at.timestamp()), _fingerprint(job)] for job, at in cursors.items()}}


def from_checkpoint(jobs: Iterable[ClockJob], checkpoint: object, now: datetime) -> dict[str, datetime] | None:
    """Where each job goes on after another leader; None if the checkpoint is not a clock's.

    A job that the checkpoint does not know is new and misses nothing: it begins now. One whose
    timetable was changed goes on from the cursor, because its next tick may fall into the change of
    clocks, but what is older than its starting deadline was not due under this timetable.
    """
    told = checkpoint.get(_FIELD) if isinstance(checkpoint, dict) else None
    if not isinstance(told, dict):
        return None
    cursors = {}
    for job in jobs:
        match told.get(job.name):
            case [int(seconds), str(fingerprint)] if 0 <= seconds <= now.timestamp():
                at = datetime.fromtimestamp(seconds, UTC)
                same = fingerprint == _fingerprint(job)
                cursors[job.name] = at if same else max(at, now - job.starting_deadline)
            case _:
                cursors[job.name] = now
    return cursors


def from_rows(job: ClockJob, newest: Iterable[RunRecord], now: datetime) -> datetime:
    """Where a job goes on if no leader left word: after its newest row; now, if there is none.

    Args:
        job: The job.
        newest: Its latest rows.
        now: The time.
    """
    rows = [
        (row.scheduled_at, row.status) for row in newest if row.scheduled_at is not None and row.scheduled_at <= now
    ]
    if not rows:
        return now
    open_since = now - job.starting_deadline
    # What failed may have tries left, and what runs may have died.
    unsettled = [at for at, status in rows if status in (Status.RUNNING, Status.FAILED) and at >= open_since]
    return min([max(at for at, _ in rows), *(at - _ONE_SECOND for at in unsettled)])


def _fingerprint(job: ClockJob) -> str:
    return hashlib.sha256(job.when.encode()).hexdigest()[:8]
