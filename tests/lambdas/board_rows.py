"""Rows of many jobs for the board function: what the watchdog remembers of each, and its runs."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from cronce.protocol.records import RunRecord
from cronce.vocabulary.names import period_of
from cronce.vocabulary.payloads import encode_checkpoint
from cronce.vocabulary.states import Status
from cronce.watch.look_at_job import MEMORY
from cronce.watch.memory import Memory, Timing, to_value
from tests.support.builders import run
from tests.support.cloud import T0

if TYPE_CHECKING:
    from collections.abc import Iterator

DAY = timedelta(days=1)


def remembered(job: str, schedule: str, *, since: datetime = T0 - 30 * DAY) -> RunRecord:
    """The watchdog's memory of a job at 06:00 of every day."""
    timing = Timing(expression="cron(0 6 * * ? *)", timezone="UTC", start=None, end=None, enabled=True)
    memory = Memory(timing=timing, target="0123456789ab", modified_at=since, since=since, job=job)
    return run(
        job=MEMORY,
        period=schedule,
        status=Status.FAILED,
        reason="interrupted",
        checkpoint=encode_checkpoint(to_value(memory)),
    )


def history(job: str, *, days: int, bad: bool = False) -> Iterator[RunRecord]:
    """A run on each of the days until T0; the newest one failed if it is to be bad."""
    for back in range(days):
        at = T0 - back * DAY
        about: dict[str, object] = {"scheduled_at": at, "claimed_at": at, "finished_at": at + timedelta(seconds=20)}
        if bad and back == 0:
            yield run(job=job, period=period_of(at), status=Status.FAILED, reason="error", error="no server", **about)
        else:
            yield run(job=job, period=period_of(at), status=Status.SUCCEEDED, **about)
