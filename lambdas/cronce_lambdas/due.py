"""Which ticks of a job a look must judge, and what the row of a tick says. Pure.

A schedule may change at any time, and the watchdog may not run for hours. Therefore the watchdog remembers when
each job was due at the last look, and up to which time its ticks are judged. If the schedule changed since then:

- A tick that was due before the last look is judged by the remembered timing.
- If only the target changed (a deployment), every tick is judged.
- After any other change, including one that left no trace (disabled and enabled again), nobody knows when the job
  was due between the last look and the change. Ticks in between are not judged.

With one look per minute, that is a minute at most. No tick is marked missed on a guess.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Any

from cronce import Status
from cronce.ecs import JobDefinition
from cronce.protocol.records import RunRecord
from cronce.protocol.retrying import never_began
from cronce.schedule import ScheduleInvalidError
from cronce.vocabulary.names import scheduled_time_of
from cronce_lambdas.memory import Memory, Pending, Timing

_FURTHEST = timedelta(days=370)
"""Older ticks are not judged: rows expire after 400 days."""

_SURE_BEFORE = timedelta(seconds=5)
"""Margin for clock differences and stale replicas: what a look reads was true this long before the look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """The ticks to judge in one look.

    Attributes:
        ticks: Oldest first.
        left_out: The number of older ticks that are not judged; those of a cron are counted up to 20,000.
        memory: What to remember after the ticks are judged.
    """

    ticks: tuple[datetime, ...]
    left_out: int
    memory: Memory


def due(
    memory: Memory | None, job: JobDefinition, *, looked_at: datetime | None, now: datetime, missed_after: timedelta
) -> Due:
    """The ticks of the job to judge now.

    Args:
        memory: What the last look remembered; None if the job is new.
        job: Its definition.
        looked_at: When the last look began.
        now: When this look began.
        missed_after: How long after the end of its window a tick may still be delivered.

    Raises:
        ScheduleInvalidError: The expression cannot be parsed, or the zone has no data.
    """
    memory = _up_to_date(memory, job, looked_at)
    late_before = now - missed_after
    until = late_before - memory.timing.window
    ticks, left_out = memory.timing.ticks(max(memory.since, until - _FURTHEST), until)
    old = [pending.tick for pending in memory.pending if pending.window_ends_at <= late_before]
    after = replace(
        memory,
        since=until if ticks else memory.since,
        pending=tuple(pending for pending in memory.pending if pending.window_ends_at > late_before),
    )
    return Due(ticks=tuple(sorted({*old, *ticks})), left_out=left_out, memory=after)


class Verdict(Enum):
    """What happened to a tick."""

    DELIVERED = auto()
    MISSED = auto()
    """No row exists; the watchdog writes one."""
    MARKED = auto()
    """The row says that the tick was missed."""


def verdict(run: RunRecord | None) -> Verdict:
    """What the row of a tick says; None means that no row exists."""
    if run is None:
        return Verdict.MISSED
    return Verdict.MARKED if run.status is Status.MISSED and never_began(run) else Verdict.DELIVERED


def names_its_own_periods(runs: Sequence[RunRecord], since: datetime) -> bool:
    """True if machines started runs of the job since then whose periods are not ticks.

    Such a job chooses its periods itself, so a missing row says nothing about a tick.

    Args:
        runs: The newest runs of the job.
        since: The oldest tick without a row.
    """
    return any(
        scheduled_time_of(run.period) is None
        and not run.trigger.by_person
        and (run.claimed_at or run.finished_at or since) >= since
        for run in runs
    )


def _up_to_date(memory: Memory | None, job: JobDefinition, looked_at: datetime | None) -> Memory:
    timing, target = Timing.of(job), _fingerprint(job.target)
    new = Memory(timing=timing, target=target, modified_at=job.modified_at, since=job.modified_at)
    if memory is None or job.created_at > memory.modified_at:
        return new
    if job.modified_at <= memory.modified_at:
        return memory
    if timing == memory.timing and target != memory.target:
        return replace(memory, target=target, modified_at=job.modified_at)
    # If the last look began after the change and did not see it, that look read stale data: nothing is sure.
    sure_until = memory.since
    if looked_at is not None and looked_at < job.modified_at:
        sure_until = max(sure_until, min(looked_at - _SURE_BEFORE, job.modified_at))
    try:
        sure, _ = memory.timing.ticks(memory.since, sure_until)
    except ScheduleInvalidError:  # only an earlier version could parse it
        sure = ()
    more = (Pending(tick, tick + memory.timing.window) for tick in sure)
    return replace(new, pending=(*memory.pending, *more), backlog=memory.backlog, launched_at=memory.launched_at)


def _fingerprint(target: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(target, sort_keys=True, default=str).encode()).hexdigest()[:12]
